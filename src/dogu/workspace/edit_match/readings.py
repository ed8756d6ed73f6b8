r"""Stage "garbling undone": the strings are right but for one thing that models are known to do to all of a string.

Forgives a Markdown fence around them, line numbers or diff signs before their lines, or one level of escapes too many
(JSON, `\n`, quotes, backslashes, `$` and backticks, `\uXXXX`, HTML entities). Safe because `old` so read must be in
the file character by character, because only one way to read both strings may fit, and because `new` is read so only
where what it repeats of `old` shows that it was garbled too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from dogu.language import sentence
from dogu.workspace.edit_match.exact import find_exact
from dogu.workspace.edit_match.result import Found, Outcome, Refused, Why

_JSON_STAGE = sentence("JSON escapes")


class Reading(NamedTuple):
    """Both strings with one garbling undone; `is_sure` is False where `new` may be meant as it was sent."""

    stage: str
    forgiven: str
    old: str
    new: str
    is_sure: bool


def find_read(text: str, old: str, new: str, expected: int | None) -> Outcome:
    """Find `old` with one garbling undone; None when no reading of it is there."""
    found = _fitting(text, old, new)
    if not found:
        return None
    reading = next(iter(found.values()))
    outcome = find_exact(text, reading.old, reading.new, expected)
    if not isinstance(outcome, Found) or len(found) > 1:
        ways = ", ".join(dict.fromkeys(other.stage for other in found.values()))
        reason = f"the strings can be read in several ways ({ways})" if len(found) > 1 else reading.forgiven
        why = Why.UNCLEAR if len(found) > 1 else Why.AMBIGUOUS
        return Refused(why, reading.stage, reason, outcome.spans if outcome else ())
    if not reading.is_sure:
        reason = f"{reading.forgiven} in old_string; whether in new_string too can't be told"
        return Refused(Why.UNCLEAR, reading.stage, reason, outcome.spans)
    if reading.old == reading.new:
        return Refused(Why.NO_CHANGE, reading.stage, "read so, old_string and new_string are the same", outcome.spans)
    return Found(reading.stage, outcome.spans, outcome.replacements, (reading.forgiven,))


def _fitting(text: str, old: str, new: str) -> dict[tuple[str, str], Reading]:
    """Return the readings whose `old` is in the text, by both strings."""
    found: dict[tuple[str, str], Reading] = {}
    for reading in readings(old, new):
        if reading.old not in text and reading.old.endswith("\n") and text.endswith(reading.old[:-1]):
            # the last line of a file without a final newline
            reading = reading._replace(old=reading.old[:-1], new=reading.new.removesuffix("\n"))
        if reading.old.strip() and reading.old in text:
            found.setdefault((reading.old, reading.new), reading)
    return _as_json(found) if len(found) > 1 else found


def _as_json(found: dict[tuple[str, str], Reading]) -> dict[tuple[str, str], Reading]:
    r"""Return the reading as JSON alone where the others leave `\"` with no other quote: no language is written so."""
    json = {strings: reading for strings, reading in found.items() if reading.stage == _JSON_STAGE}
    others = [reading for reading in found.values() if reading.stage != _JSON_STAGE]
    same = all(other.old == old for old, _ in json for other in others)
    left = all('\\"' in other.new and '"' not in other.new.replace('\\"', "") for other in others)
    return json if len(json) == 1 and same and left else found


def readings(old: str, new: str) -> Iterator[Reading]:
    """Yield every reading that undoes one garbling of `old`, and of `new` where it has it too."""
    for stage, forgiven, undo in _UNDO:
        read = undo(old)
        if read is not None and read != old:
            yield from _with_new(stage, forgiven, old, read, new, undo(new))
    for style in _NUMBERS:
        read = _without_numbers(old, style)
        if read is not None:
            yield from _with_new(
                sentence("line numbers"),
                sentence("line numbers before the lines"),
                old,
                read,
                new,
                _without_numbers(new, style),
            )
    yield from _without_diff_signs(old, new)


def _with_new(stage: str, forgiven: str, old: str, read: str, new: str, new_read: str | None) -> Iterator[Reading]:
    """Yield the reading with `new` as sent or read likewise, by what it repeats: garbled context, or the same context
    right.

    Where it repeats the garbled context but can't be read that way, this isn't what happened, and nothing is yielded.
    """
    if new_read == new or not new:
        yield Reading(stage, forgiven, read, new, True)
        return
    garbled, right = _repeats(old, read, new), _repeats(read, old, new)
    if garbled and not right:
        if new_read is not None:
            yield Reading(stage, forgiven, read, new_read, True)
    else:
        yield Reading(stage, forgiven, read, new, right and not garbled)


def _repeats(ours: str, other: str, new: str) -> bool:
    """Say whether `new` repeats, at its ends or as a whole line, a part of `ours` that is not in `other`."""
    if _common(ours, new) > _common(ours, other) or _common(ours[::-1], new[::-1]) > _common(ours[::-1], other[::-1]):
        return True
    repeated = set(new.split("\n")) - set(other.split("\n"))
    return any(line.strip() and line in repeated for line in ours.split("\n"))


def _common(one: str, two: str) -> int:
    """Count the characters both begin with."""
    return next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


# escapes

_JSON_BODY = re.compile(r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_JSON_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_JSON = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[^\n`]*\n(.*?\n?)[ \t]*\1[ \t]*\s*", re.DOTALL)


def _json(text: str) -> str | None:
    if "\\" not in text or not _JSON_BODY.fullmatch(text):
        return None
    return _whole(_JSON_ESCAPE.sub(lambda match: _JSON[match[1]] if match[1] else chr(int(match[2], 16)), text))


def _unicode(text: str) -> str:
    return _whole(_UNICODE.sub(lambda match: chr(int(match[1], 16)), text))


def _whole(text: str) -> str:
    """Join surrogate pairs."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _entities(text: str) -> str:
    from html import unescape

    return _ENTITY.sub(lambda match: unescape(match[0]), text)


def _fence(text: str) -> str | None:
    match = _FENCE.fullmatch(text)
    return match[2] if match else None


def _swap(*pairs: tuple[str, str]) -> Callable[[str], str]:
    def undo(text: str) -> str:
        for one, other in pairs:
            text = text.replace(one, other)
        return text

    return undo


_LINES = (("\\r\\n", "\n"), ("\\n", "\n"))
_UNDO: list[tuple[str, str, Callable[[str], str | None]]] = [
    (sentence("fence"), sentence("a Markdown fence around the strings"), _fence),
    (_JSON_STAGE, sentence("the strings were escaped as JSON once too often"), _json),
    (sentence("escaped newlines"), sentence("newlines were written as \\n"), _swap(*_LINES)),
    (
        sentence("escaped newlines"),
        sentence("newlines and tabs were written as \\n and \\t"),
        _swap(*_LINES, ("\\t", "\t")),
    ),
    (sentence("escaped quotes"), sentence("quotes had a backslash"), _swap(('\\"', '"'), ("\\'", "'"))),
    (sentence("escaped quotes"), sentence("double quotes had a backslash"), _swap(('\\"', '"'))),
    (sentence("escaped quotes"), sentence("single quotes had a backslash"), _swap(("\\'", "'"))),
    (sentence("escaped backslashes"), sentence("backslashes were doubled"), _swap(("\\\\", "\\"))),
    (sentence("escaped dollars"), sentence("dollars and backticks had a backslash"), _swap(("\\$", "$"), ("\\`", "`"))),
    (sentence("Unicode escapes"), sentence("characters were written as \\uXXXX"), _unicode),
    (sentence("HTML entities"), sentence("characters were written as HTML entities"), _entities),
]

# what stands before lines

_NUMBERS = [re.compile(r" *L?(\d+)" + mark) for mark in ("\t", "→", ": ", ":", r" \| ", r" \|", r"\| ", r"\|", " ")]


def _body(text: str) -> tuple[list[str], str]:
    """Return the lines of a text and the newline it ends with, if it does."""
    return text.removesuffix("\n").split("\n"), "\n" if text.endswith("\n") else ""


def _without_numbers(text: str, style: re.Pattern[str]) -> str | None:
    """Return the text without the numbers before its lines; None unless each line has one and they don't go down."""
    lines, end = _body(text)
    found = [style.match(line) or style.match(line + " ") for line in lines]
    numbers = [int(match[1]) for match in found if match]
    if len(numbers) < len(lines) or any(after < before for before, after in pairwise(numbers)):
        return None
    return "\n".join(line[match.end() :] for line, match in zip(lines, found, strict=True) if match) + end


def _without_diff_signs(old: str, new: str) -> Iterator[Reading]:
    """Yield both without the first column of a diff, when there is a sign in one of them."""
    forgiven = sentence("diff signs before the lines")
    read, new_read = _without_sign(old, "-"), _without_sign(new, "+")
    if read is None:
        return
    if new_read is not None and _signs(old, "-") + _signs(new, "+"):
        yield Reading(sentence("diff signs"), forgiven, read, new_read, True)
    elif _signs(old, "-"):
        yield from _with_new(sentence("diff signs"), forgiven, old, read, new, None)


def _without_sign(text: str, sign: str) -> str | None:
    lines, end = _body(text)
    return "\n".join(line[1:] for line in lines) + end if all(line[:1] in (sign, " ", "") for line in lines) else None


def _signs(text: str, sign: str) -> int:
    return sum(line.startswith(sign) for line in text.split("\n"))
