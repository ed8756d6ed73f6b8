"""One known garbling undone at a time: other readings of what the model sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dogu.workspace.edit_match.exact import find_exact
from dogu.workspace.edit_match.result import Found, Outcome, Refused, Why


class Reading(NamedTuple):
    """`old` and `new` with one garbling undone; `forgiven` names it in words."""

    name: str
    old: str
    new: str
    forgiven: str


Undo = Callable[[str], str | None]

_JSON = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_JSON_BODY = re.compile(r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*', re.DOTALL)
_JSON_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[^\n`]*\n(.*?\n?)[ \t]*\1[ \t]*\s*", re.DOTALL)


def _json(text: str) -> str | None:
    if "\\" not in text or not _JSON_BODY.fullmatch(text):
        return None
    return _surrogates(_JSON_ESCAPE.sub(lambda m: _JSON[m[1]] if m[1] else chr(int(m[2], 16)), text))


def _surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _unicode(text: str) -> str | None:
    return _surrogates(_UNICODE.sub(lambda m: chr(int(m[1], 16)), text))


def _newlines(text: str) -> str | None:
    return text.replace("\\r\\n", "\n").replace("\\n", "\n")


def _newlines_tabs(text: str) -> str | None:
    return text.replace("\\r\\n", "\n").replace("\\n", "\n").replace("\\t", "\t")


def _quotes(text: str) -> str | None:
    return text.replace('\\"', '"').replace("\\'", "'")


def _double(text: str) -> str | None:
    return text.replace('\\"', '"')


def _single(text: str) -> str | None:
    return text.replace("\\'", "'")


def _backslashes(text: str) -> str | None:
    return text.replace("\\\\", "\\")


def _shell(text: str) -> str | None:
    return re.sub(r"\\([$`])", r"\1", text)


def _html(text: str) -> str | None:
    if "&" not in text:
        return None
    from html import unescape

    return re.sub(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});", lambda m: unescape(m[0]), text)


def _fence(text: str) -> str | None:
    match = _FENCE.fullmatch(text)
    return match[2] if match else None


_NUMBER_STYLES = [re.compile(r" *L?(\d+)" + sep) for sep in ("\t", "→", ": ", ":", r" \| ", r" \|", r"\| ", r"\|", " ")]


def _numbers(text: str) -> Iterator[str]:
    lines = text.split("\n")
    tail = [""] if len(lines) > 1 and not lines[-1] else []
    body = lines[: len(lines) - len(tail)]
    for style in _NUMBER_STYLES:
        matches = [style.match(line) or style.match(line + " ") for line in body]
        if not all(matches):
            continue
        numbers = [int(m[1]) for m in matches if m]
        if all(b >= a for a, b in zip(numbers, numbers[1:], strict=False)):
            yield "\n".join([line[m.end() :] for line, m in zip(body, matches, strict=True) if m] + tail)


def _signs(text: str, sign: str) -> str | None:
    lines = text.split("\n")
    tail = [""] if len(lines) > 1 and not lines[-1] else []
    body = lines[: len(lines) - len(tail)]
    if not body or not any(line.startswith(sign) for line in body):
        return None
    if not all(line[:1] in (sign, " ", "") for line in body):
        return None
    return "\n".join([line[1:] for line in body] + tail)


_UNDO: list[tuple[str, str, Undo]] = [
    ("fence", "a Markdown fence around the strings", _fence),
    ("json escapes", "the strings were escaped as JSON once too often", _json),
    ("escaped newlines", "newlines were written as \\n", _newlines),
    ("escaped newlines", "newlines and tabs were written as \\n and \\t", _newlines_tabs),
    ("escaped quotes", "quotes had a backslash", _quotes),
    ("escaped quotes", "double quotes had a backslash", _double),
    ("escaped quotes", "single quotes had a backslash", _single),
    ("escaped backslashes", "backslashes were doubled", _backslashes),
    ("escaped dollars", "dollars or backticks had a backslash", _shell),
    ("unicode escapes", "characters were written as \\uXXXX", _unicode),
    ("html entities", "characters were written as HTML entities", _html),
]


def readings(old: str, new: str) -> Iterator[tuple[Reading, bool]]:
    """Yield every reading of `old` that undoes one garbling, with `new` read likewise where it has it too.

    The second value says whether the reading of `new` is sure.
    """
    for name, forgiven, undo in _UNDO:
        read = undo(old)
        if read is not None and read != old:
            new_read, sure = _read_new(old, read, new, undo(new))
            if new_read is not None:
                yield Reading(name, read, new_read, forgiven), sure
    for read in _numbers(old):
        plain = next(_numbers(new), None)
        new_read, sure = _read_new(old, read, new, plain)
        if new_read is None:
            continue
        yield Reading("line numbers", read, new_read, "line numbers before the lines"), sure or plain is not None
    read = _signs(old, "-")
    if read is not None:
        plus = _signs(new, "+")
        new_read, sure = (plus, True) if plus is not None else _read_new(old, read, new, _signs(new, " "))
        if new_read is not None:
            yield Reading("diff signs", read, new_read, "diff signs before the lines"), sure


def _read_new(old: str, read: str, new: str, new_read: str | None) -> tuple[str | None, bool]:
    """Decide whether `new` has the garbling too, by what it repeats: garbled context or the same context right.

    Only what `old` and `new` share can tell, so the second value is False where that is nothing, or both. None: `new` repeats
    the garbled context, but can't be read that way, so this isn't what happened.
    """
    if new_read == new:
        return new, True
    garbled = _repeats(old, read, new)
    right = _repeats(read, old, new)
    if garbled and not right:
        return new_read, True
    return new, right and not garbled or not new


def _repeats(ours: str, other: str, new: str) -> bool:
    """Say whether `new` repeats, at its ends or as a whole line, a part of `ours` that is not in `other`."""
    for one, two, three in ((ours, other, new), (ours[::-1], other[::-1], new[::-1])):
        if _common(one, three) > _common(one, two):
            return True
    lines = {line for line in new.split("\n") if line.strip()}
    others = set(other.split("\n"))
    return any(line in lines and line not in others for line in ours.split("\n"))


def _common(one: str, two: str) -> int:
    """Count the characters both begin with."""
    from os.path import commonprefix

    return len(commonprefix((one, two)))


def find_read(text: str, old: str, new: str, expected: int | None) -> Outcome:
    """Find `old` with one garbling undone; None when no reading of it is there.

    Safe because the reading must be in the file character by character, and only one reading may be.
    """
    found: dict[tuple[str, str], tuple[Reading, bool]] = {}
    for reading, sure in readings(old, new):
        if reading.old.strip() and reading.old in text:
            found.setdefault((reading.old, reading.new), (reading, sure))
    if not found:
        return None
    reading, sure = next(iter(found.values()))
    outcome = find_exact(text, reading.old, reading.new, expected)
    spans = outcome.spans if outcome else ()
    if len(found) > 1:
        names = ", ".join(dict.fromkeys(other.name for other, _ in found.values()))
        return Refused(Why.UNCLEAR, reading.name, f"the strings can be read in several ways ({names})", spans)
    if isinstance(outcome, Found) and not sure:
        reason = f"{reading.forgiven} in old_string; whether in new_string too can't be told"
        return Refused(Why.UNCLEAR, reading.name, reason, spans)
    if isinstance(outcome, Found) and reading.old == reading.new:
        return Refused(Why.NO_CHANGE, reading.name, "read so, old_string and new_string are the same", spans)
    if isinstance(outcome, Found):
        return Found(reading.name, spans, outcome.replacements, (reading.forgiven,))
    return Refused(Why.AMBIGUOUS, reading.name, reading.forgiven, spans)
