r"""What models are known to do to all of a string, undone: each way to read both strings is a `Reading`.

A Markdown fence around them, line numbers or diff signs before their lines, or one level of escapes too many (JSON,
`\n`, quotes, backslashes, `$` and backticks, `\uXXXX`, HTML entities). `new` is read so only where what it shares
with `old` shows that it was garbled too; where nothing shows it, both readings are given, and both must come to the
same text in the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from html import unescape
from itertools import pairwise
from typing import NamedTuple

from dogu.language import sentence
from dogu.workspace.diff import Change, changed_ranges
from dogu.workspace.edit_match.result import UncleanError
from dogu.workspace.edit_match.views import fold

JSON_STAGE = sentence("JSON escapes")
NUMBERS_STAGE = sentence("line numbers")
_MOST_CHARS = 100_000
_TOKEN = r"\w+|\s|."
_CLEARLY = 4


class Reading(NamedTuple):
    """Both strings with one garbling undone; `is_sure` is False where `new` may be meant as it was sent."""

    stage: str
    forgiven: str
    old: str
    new: str
    is_sure: bool


def _unquoted(text: str) -> str | None:
    """Return what a whole JSON string stands for; None for what is none."""
    match = _JSON_STRING.fullmatch(text)
    return _undone(match[1], _ESCAPES[0]) if match else None


def readings(old: str, new: str) -> Iterator[Reading]:
    """Yield every reading that undoes one garbling of `old`, and of `new` where it has it too."""
    fenced = _fence(old)
    if fenced is not None:
        inner = _fence(new)
        read = new if inner is None else inner
        # The line break before the closing fence is the fence's, unless `new` has it, or takes whole lines away.
        fenced = fenced if not read or read.endswith("\n") else fenced.removesuffix("\n")
        forgiven = sentence("a Markdown fence around the strings")
        yield Reading(sentence("fence"), forgiven, fenced, read, True)
    if (quoted := _unquoted(old)) is not None and (new_quoted := _unquoted(new)) is not None:
        yield Reading(JSON_STAGE, sentence("the strings were written as JSON strings"), quoted, new_quoted, True)
    for row in _ESCAPES:
        if row.whole and not row.whole.fullmatch(old):
            continue
        read = _undone(old, row)
        if read != old:
            yield from _with_new(row, old, read, new)
    listed = _LISTED_NUMBERS if "\n" in old.strip("\n") else ()
    for style in [*_NUMBERS, *(style for style in listed if _counts(old, style))]:
        read = _without_numbers(old, style)
        if read is not None:
            yield from _numbered(read, new, style)
    yield from _without_diff_signs(old, new)


# escapes


class _Escapes(NamedTuple):
    """One level of escapes: what one looks like, what it stands for, and what the whole string must be."""

    stage: str
    forgiven: str
    pattern: re.Pattern[str]
    meaning: Callable[[str], str]
    whole: re.Pattern[str] | None = None


_CONTROL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _meaning(escape: str) -> str:
    r"""Return what an escape that begins with a backslash stands for; `\r\n` is one line break."""
    if escape.startswith("\\u"):
        return chr(int(escape[2:], 16))
    return "\n" if escape == "\\r\\n" else _CONTROL.get(escape[1], escape[1])


_JSON = re.compile(r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_JSON_STRING = re.compile(rf'\s*"({_JSON.pattern})"\s*')
_ESCAPES = [
    _Escapes(
        JSON_STAGE,
        sentence("the strings were escaped as JSON once too often"),
        re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'),
        _meaning,
        _JSON,
    ),
    _Escapes(
        sentence("escaped newlines"),
        sentence("newlines were written as \\n"),
        re.compile(r"\\r\\n|\\n"),
        _meaning,
    ),
    _Escapes(
        sentence("escaped newlines"),
        sentence("newlines and tabs were written as \\n and \\t"),
        re.compile(r"\\r\\n|\\n|\\t"),
        _meaning,
    ),
    _Escapes(sentence("escaped quotes"), sentence("quotes had a backslash"), re.compile(r"\\[\"']"), _meaning),
    _Escapes(sentence("escaped quotes"), sentence("double quotes had a backslash"), re.compile(r'\\"'), _meaning),
    _Escapes(sentence("escaped quotes"), sentence("single quotes had a backslash"), re.compile(r"\\'"), _meaning),
    _Escapes(sentence("escaped backslashes"), sentence("backslashes were doubled"), re.compile(r"\\\\"), _meaning),
    _Escapes(
        sentence("escaped dollars"),
        sentence("dollars and backticks had a backslash"),
        re.compile(r"\\[$`]"),
        _meaning,
    ),
    _Escapes(
        sentence("Unicode escapes"),
        sentence("characters were written as \\uXXXX"),
        re.compile(r"\\u[0-9a-fA-F]{4}"),
        _meaning,
    ),
    _Escapes(
        sentence("HTML entities"),
        sentence("characters were written as HTML entities"),
        re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});"),
        unescape,
    ),
]


ESCAPE_STAGES = frozenset(row.stage for row in _ESCAPES[:7])
_PARTIAL_STAGES = frozenset(row.stage for row in _ESCAPES[1:7])
_BREAK = "\\n"


def check_escapes(way: Reading, sent: str, text: str) -> None:
    """Raise `UncleanError` where `new`, as it was read, is left with escapes that neither `old` nor the file has:
    whether those are one level too many as well can't be told.
    """
    is_written, is_there = (_WRITTEN_BREAK.search(_QUOTED.sub('""', each)) for each in (way.new, text))
    breaks = is_written and not is_there and (way.new == sent or way.stage in _PARTIAL_STAGES)
    marks = ("\\\\", '\\"', "\\r", "\n\\t") if way.new != sent and way.stage in _PARTIAL_STAGES else ("\n\\t",)
    left = [mark for mark in marks if mark in way.new and mark not in way.old and (mark not in text or mark == "\\\\")]
    if left or (breaks and _BREAK not in way.old):
        mark = left[0].strip() if left else _BREAK
        raise UncleanError(f"{way.forgiven}; whether {mark} in new_string is meant so can't be told")
    pairs = pairwise(way.new.split("\n")) if way.new.count("\n") > sent.count("\n") else ()
    for pair in {*pairs} - {*pairwise(way.old.split("\n"))}:
        if any(pair[1].startswith(mark) and all(line.count(mark) % 2 for line in pair) for mark in _STRAIGHT):
            raise UncleanError(f"{way.forgiven}; whether one within quotes is meant so can't be told")


def is_json(text: str) -> bool:
    """Whether the text is the inside of a JSON string."""
    return _JSON.fullmatch(text) is not None


def _undone(text: str, row: _Escapes) -> str:
    read = row.pattern.sub(lambda match: row.meaning(match[0]), text)
    # surrogates that two escapes stood for are one character
    return read.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass") if "\\u" in text else read


def _with_new(row: _Escapes, old: str, read: str, new: str) -> Iterator[Reading]:
    """Yield the reading with `new` as sent or read likewise, by what it shares with `old`: garbled spots, or the same
    spots right.
    """
    new_read = _undone(new, row)
    if new_read == new:
        yield Reading(row.stage, row.forgiven, read, new, True)
        return
    garbled, right = _evidence(row, old, new)
    if garbled > _CLEARLY * right or (not right and _is_one_line_alike(old, new, new_read)):
        yield Reading(row.stage, row.forgiven, read, new_read, True)
    elif right > _CLEARLY * garbled:
        yield Reading(row.stage, row.forgiven, read, new, True)
    else:
        yield Reading(row.stage, row.forgiven, read, new, False)
        yield Reading(row.stage, row.forgiven, read, new_read, False)


def _is_one_line_alike(old: str, new: str, new_read: str) -> bool:
    """Whether both are one line that stands for several: `new` as sent would put these into one."""
    return "\n" not in old and "\n" not in new and "\n" in new_read and "\\n" in old


def _evidence(row: _Escapes, old: str, new: str) -> tuple[int, int]:
    """Count the garbled spots of `old` that `new` shares, and those that it has right, each with what is beside it."""
    if len(old) + len(new) > _MOST_CHARS:
        return 0, 0
    token = re.compile(rf"{row.pattern.pattern}|{_TOKEN}", re.DOTALL)
    ours = token.findall(old)
    spots = [row.pattern.fullmatch(piece) is not None for piece in ours]
    garbled = sum(any(beside) for _, _, beside in _shared_spots(ours, token.findall(new), spots))
    meant, spots = _pieces(row, old, read=True)
    theirs, escaped = _pieces(row, new, read=False)
    right = sum(
        (all(beside) or i == j == 0) and (meant[i] == "\\" or not escaped[j])
        for i, j, beside in _shared_spots(meant, theirs, spots)
    )
    return garbled, right


def _pieces(row: _Escapes, text: str, *, read: bool) -> tuple[list[str], list[bool]]:
    """Return the pieces of a text, or of what it stands for, and of each whether something in it was escaped."""
    marks: list[bool] = []
    out: list[str] = []
    done = 0
    for match in row.pattern.finditer(text):
        meaning = row.meaning(match[0]) if read else match[0]
        out += text[done : match.start()], meaning
        marks += [False] * (match.start() - done) + [True] * len(meaning)
        done = match.end()
    marks += [False] * (len(text) - done)
    pieces = [*re.finditer(_TOKEN, "".join([*out, text[done:]]), re.DOTALL)]
    return [piece[0] for piece in pieces], [any(marks[piece.start() : piece.end()]) for piece in pieces]


def _shared_spots(
    ours: list[str], theirs: list[str], spots: list[bool]
) -> Iterator[tuple[int, int, tuple[bool, bool]]]:
    """Yield where the spots are that are in both lists at the same place, and whether what is before and after each is
    there too.
    """
    at = offset = 0
    for start, end, _, new_end in [*changed_ranges(ours, theirs), Change(len(ours), len(ours), 0, 0)]:
        for spot in range(at, start):
            if spots[spot]:
                before, after = spot, spot
                while before >= 0 and spots[before]:
                    before -= 1
                while after < len(spots) and spots[after]:
                    after += 1
                yield spot, spot + offset, (before >= at or before < 0 == at, after < start or after == len(ours))
        at, offset = end, new_end - end


_ENTITY = re.compile(r"&(?:lt|gt|amp);")
_ENTITY_RUN = re.compile(r"(?:[^\w\s&]|&(?:lt|gt|amp);)*&(?:lt|gt|amp);(?:[^\w\s&]|&(?:lt|gt|amp);)*")
_SIGN = re.compile("[<>&]")
_MIXED_WORD = re.compile(r"\w*(?:[A-Za-z][асеорхуіјѕАВЕКМНОРСТХ]|[асеорхуіјѕАВЕКМНОРСТХ][A-Za-z])\w*")
_OTHER_QUOTED = re.compile("'[^']*'|`[^`]*`")
_PLAIN = str.maketrans("“”„‘’\u00a0–—", '"""\'\' --')
_STRAIGHT = "\"'"
_CURLY = re.compile("[“”‘’]")
_ESCAPED_CURLY = re.compile(r"\\[“”‘’]")
_FEWEST_CHARS = 8
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3}|~{3})", re.MULTILINE)
_QUOTED = re.compile(r"""(['"`])(?>(?:\\.|(?!\1)[^\\]){0,1000})\1""", re.DOTALL)
# Not in a regular expression's slashes, nor a word of TeX's or a path's: what is before ends something, and what
# follows begins a line.
_WRITTEN_BREAK = re.compile(
    r"(?:[\w;{}()\[\],>:]|\*/)[ \t]*\\n(?:\\t|[ \t]|[\w<}\])@#.-])|[.!?'\"]\\n(?: {2,}|\t+)\S|\w[.!?]\\n[\w#/]"
)
_NO_COMMENT = r"^(?![ \t]*(?:[*#<%;]|//|/\*|--|>))"
_STATEMENT_GARBLINGS = [  # what text and markup have by right: what shows so, the garbled line, what it is
    (
        re.compile(r"&(?:amp|lt|gt|quot);|</|/>"),
        re.compile(
            rf"{_NO_COMMENT}[^\n\"'`]{{0,300}}(?:&amp;&amp;|\s&[lg]t;=?\s|[-=]&gt;)[^\n]{{0,300}}[:;{{(&|][ \t]*$",
            re.MULTILINE,
        ),
        "HTML entities",
    ),
    (
        re.compile(r"\\\""),
        re.compile(
            rf"{_NO_COMMENT}[^\"'`\n]{{0,300}}[=(\[,:|&?+{{]\s*\\\"(?:[^\"'`\n]{{0,300}}\\\"){{1,9}}[^\"'`\n]{{0,300}}$",
            re.MULTILINE,
        ),
        "quotes with a backslash before them",
    ),
    (
        re.compile("\u00a0"),
        re.compile(rf"{_NO_COMMENT}[^\n\"'`]{{0,300}}\w[ \u00a0][-+*/|&:]?=\u00a0", re.MULTILINE),
        "no-break spaces",
    ),
    (
        re.compile("[“”‘’]"),
        re.compile(rf"{_NO_COMMENT}[^\n\"'`]{{0,300}}\w[=(][“”‘’]", re.MULTILINE),
        "typographic quotes",
    ),
    (
        re.compile("[–—]"),
        re.compile(rf"{_NO_COMMENT}[^\n\"'`]{{0,300}}[\w)\]] [–—] [\w(][^\n\"'`]{{0,300}};[ \t]*$", re.MULTILINE),
        "dashes",
    ),
]
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[^\n`]*\n(.*?\n?)[ \t]*\1[ \t]*\s*", re.DOTALL)


def is_garbled_alone(old: str, new: str, text: str) -> str:
    r"""Say how `new` is garbled where `old` isn't and `text` has none of it; empty where it isn't, as far as is known.

    A fence around it, a number before each line, line breaks written as `\n` outside of quotes; in
    statements, entities, escaped quotes or no-break spaces.
    """
    if _fence(new) is not None and _fence(old) is None and not _FENCE_LINE.search(text):
        return "new_string has a Markdown fence around it that old_string doesn't have: send what the file is to hold"
    if any(_numbers_alone(old, new, style) for style in [*_NUMBERS, *_LISTED_NUMBERS]):
        return "new_string has line numbers before its lines that old_string doesn't have: send the lines alone"
    is_escaped = "\n" not in new or _has_escaped_quotes(new) or re.search(r"\\n {2,}\S", new)
    breaks = is_escaped and "\\n" not in old and _WRITTEN_BREAK.search(_QUOTED.sub('""', new))
    if breaks and not _WRITTEN_BREAK.search(_QUOTED.sub('""', text)):
        return "new_string has \\n written out where its lines should end: send line breaks"
    quotes = _odd_quotes(old, new, text)
    if quotes:
        return f"new_string has {quotes}, which old_string and the file there haven't"
    return _odd_signs(old, new, text)


def _odd_signs(old: str, new: str, text: str) -> str:
    """Say which signs and letters of `new` aren't those that `old` and `text` have; empty for none."""
    if _entities_alone(old, new, text):
        return "new_string has HTML entities for what old_string or the file has as signs: send the signs"
    known = {*old.split("\n")}
    for word in _MIXED_WORD.findall("\n".join(line for line in new.split("\n") if line not in known)):
        if word not in text:
            return f"{word} in new_string has letters of two alphabets that look alike"
    for trace, garbled, kind in _STATEMENT_GARBLINGS:
        if trace.search(new) and not trace.search(old) and garbled.search(new) and not trace.search(text):
            return f"new_string has {kind} in a statement, and the file has none: send the characters of the code"
    return ""


def _entities_alone(old: str, new: str, text: str) -> bool:
    """Whether every `<`, `>` and `&` of `new` is an entity, in a line too that `old` has with signs, or beside what the
    file has with signs, which has no entities.
    """
    meant = _undone(new, _ESCAPES[-1])
    if meant in (new, old) or _ENTITY.search(old) or _SIGN.search(_ENTITY.sub("", new)):
        return False
    known = {line.strip() for line in old.split("\n")}
    garbled = [line.strip() for line in new.split("\n") if _ENTITY.search(line)]
    if any(_undone(line, _ESCAPES[-1]) in known for line in garbled):
        return True
    return not _ENTITY.search(text) and any(_undone(run, _ESCAPES[-1]) in text for run in _ENTITY_RUN.findall(new))


def _odd_quotes(old: str, new: str, text: str) -> str:
    """Name the quotes that `new` has for straight ones, and neither `old` nor `text`; empty for none."""
    known = {line.strip() for line in old.split("\n")}
    escaped = {line.strip() for line in new.split("\n") if '\\"' in line} - known
    if escaped and new.replace('\\"', '"') != old:
        if any(line.replace('\\"', '"') in known for line in escaped):
            return "backslashes before the quotes of a line that both strings have"
        if '"' in text and _has_escaped_quotes(new) and not _has_escaped_quotes(f"{old}\n{text}"):
            return "a backslash before every quote of a line"
    if _ESCAPED_CURLY.search(new) and not _ESCAPED_CURLY.search(old + text):
        return "typographic quotes with a backslash before them"
    is_straight = sum(map(old.count, _STRAIGHT)) > 1 and not _CURLY.search(old + text)
    if is_straight and _CURLY.search(new) and not any(map(new.count, _STRAIGHT)) and fold(old) != fold(new):
        return "typographic quotes"
    return ""


def _has_escaped_quotes(text: str) -> bool:
    """Whether a line has quotes of one kind, all with a backslash before them."""
    lines = (_OTHER_QUOTED.sub("", line) for line in text.split("\n") if '\\"' in line) if '\\"' in text else ()
    return any(line.count('\\"') == line.count('"') > 1 and not {"'", "`"}.intersection(line) for line in lines)


def garbled_copy(old: str, written: Iterable[str], text: str) -> str:
    """Return the line of `text` that a line written is a copy of but for escapes, entities or typographic signs; empty
    for none. Lines that `old` has are meant to change.
    """
    known = {line.strip() for line in old.split("\n")}
    for line in {line.strip() for body in written for line in body.split("\n")} - known:
        meant = _plain(line)
        if meant != line and len(meant) >= _FEWEST_CHARS and meant not in known and _is_line(meant, text):
            return meant
    return ""


def _plain(line: str) -> str:
    """Return a line without any escapes, entities and typographic signs."""
    for row in _ESCAPES[3:7] if "\\" in line else ():
        line = _undone(line, row)
    return unescape(line).translate(_PLAIN).strip()


def _is_line(line: str, text: str) -> bool:
    return line in text and re.search(rf"^[ \t]*{re.escape(line)}[ \t]*$", text, re.MULTILINE) is not None


def _numbers_alone(old: str, new: str, style: re.Pattern[str]) -> bool:
    """Whether `new` has line numbers that `old` hasn't: surely so, or of lines that `old` has."""
    if not _counts(new, style) or _counts(old, style):
        return False
    lines = [line.strip() for line in (_without_numbers(new, style) or "").strip("\n").split("\n")]
    known = {line.strip() for line in old.split("\n")}
    fewest = 1 if len(lines) > 2 else _FEWEST_CHARS
    is_shared = any(len(line) >= fewest and line in known for line in lines)
    is_sure = style in _SURE_NUMBERS
    if style in _LIST_NUMBERS:  # a list may begin at one, has signs, and no number before a blank line
        is_list = style in _LISTED_NUMBERS and all(lines) and int(_first_number(new, style)) == 1
        return len(lines) > 1 and is_shared and not is_list
    return (is_shared and (is_sure or len(known) > 1)) if len(lines) == 1 else (is_sure or is_shared)


def _first_number(text: str, style: re.Pattern[str]) -> str:
    match = style.match(text)
    return match[1] if match else "0"


def _counts(text: str, style: re.Pattern[str]) -> bool:
    """Whether each line has a number before it, one more than the line above."""
    if not style.match(text):
        return False
    numbers = [int(match[1]) if (match := style.match(line)) else -1 for line in _body(text)[0]]
    return all(after == before + 1 for before, after in pairwise(numbers))


def _fence(text: str) -> str | None:
    match = _FENCE.fullmatch(text)
    return match[2] if match else None


# what stands before lines

_NUMBERS = [
    re.compile(r" *L?(\d+)" + mark) for mark in ("\t", "→", ": ", ":", r" \| ", r" \|", r"\| ", r"\|", "  ", " ")
]
_LISTED_NUMBERS = [  # what may be a list's too: for several lines, each with the number after that of the one above
    re.compile(rf" *{before}(\d+){after}{blank}")
    for before, after in (
        ("", r"\."), ("", r"\)"), (r"\[", r"\]"), ("", ">"), ("", "-"), ("", " ?[│┃]"), (r"\| *", r" *\|"),
        ("[Ll]ine ", ":"), (r"[\w./-]+:", ":"),
    )
    for blank in (" ", "")
]  # fmt: skip
_LIST_NUMBERS = [*_NUMBERS[-2:], *_LISTED_NUMBERS]
_SURE_NUMBERS = [style for style in _NUMBERS if style.pattern.endswith(("\t", "→", r"\|", r"\| "))]


def _numbered(read: str, new: str, style: re.Pattern[str]) -> Iterator[Reading]:
    stage, forgiven = NUMBERS_STAGE, sentence("line numbers before the lines")
    new_read = _without_numbers(new, style) if new else new
    if new_read is not None:
        yield Reading(stage, forgiven, read, new_read, True)
    elif not any(style.match(line) for line in new.split("\n")):
        yield Reading(stage, forgiven, read, new, True)


def _body(text: str) -> tuple[list[str], str]:
    """Return the lines of a text and the newline it ends with, if it does."""
    return text.removesuffix("\n").split("\n"), "\n" if text.endswith("\n") else ""


def _without_numbers(text: str, style: re.Pattern[str]) -> str | None:
    """Return the text without the numbers before its lines; None unless each line has one and they don't go down."""
    first = text.partition("\n")[0]
    if not style.match(first) and not style.match(first + "  "):
        return None
    lines, end = _body(text)
    found = [style.match(line) or style.match(line + "  ") for line in lines]
    numbers = [int(match[1]) for match in found if match]
    if len(numbers) < len(lines) or any(after < before for before, after in pairwise(numbers)):
        return None
    return "\n".join(line[match.end() :] for line, match in zip(lines, found, strict=True) if match) + end


def _without_diff_signs(old: str, new: str) -> Iterator[Reading]:
    """Yield both without the first column of a diff, when there is a sign in one of them."""
    stage, forgiven = sentence("diff signs"), sentence("diff signs before the lines")
    read, new_read = _without_sign(old, "-"), _without_sign(new, "+")
    if read is None:
        return
    if new_read is not None and _signs(old, "-") + _signs(new, "+"):
        yield Reading(stage, forgiven, read, new_read, True)
    elif _signs(old, "-"):
        yield Reading(stage, forgiven, read, new, True)


def _without_sign(text: str, sign: str) -> str | None:
    lines, end = _body(text)
    return "\n".join(line[1:] for line in lines) + end if all(line[:1] in (sign, " ", "") for line in lines) else None


def _signs(text: str, sign: str) -> int:
    return sum(line.startswith(sign) for line in text.split("\n"))
