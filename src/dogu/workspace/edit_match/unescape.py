r"""What models are known to do to all of a string, undone: each way to read both strings is a `Reading`.

A Markdown fence around them that is none of the file's, line numbers or diff signs before their lines, or one level of
escapes too many (JSON, `\n`, quotes, backslashes, `$` and backticks, `\uXXXX`, HTML entities). `new` is read so only
where what it shares with `old` shows that it was garbled too; where nothing shows it, both readings are given, and both
must come to the same text in the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from itertools import pairwise
from typing import NamedTuple

from dogu.language import sentence
from dogu.workspace.diff import Change, changed_ranges
from dogu.workspace.edit_match.result import UncleanError

FENCE_STAGE = sentence("fence")
JSON_STAGE = sentence("JSON escapes")
NUMBERS_STAGE = sentence("line numbers")
DIFF_STAGE = sentence("diff signs")
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


def unquoted(text: str) -> str | None:
    """Return what a whole JSON string stands for; None for what is none."""
    match = _JSON_STRING.fullmatch(text)
    return _undone(match[1], _ESCAPES[0]) if match else None


def readings(old: str, new: str) -> Iterator[Reading]:
    """Yield every reading that undoes one garbling of `old`, and of `new` where it has it too."""
    yield from _without_wrapper(old, new)
    if (quoted := unquoted(old)) is not None and (new_quoted := unquoted(new)) is not None:
        yield Reading(JSON_STAGE, sentence("the strings were written as JSON strings"), quoted, new_quoted, True)
    for row in _ESCAPES:
        if row.whole and not row.whole.fullmatch(old.removesuffix("\n")):
            continue
        read = _undone(old, row)
        if read != old:
            yield from _with_new(row, old, read, new)
    listed = _LISTED_NUMBERS if "\n" in old.strip("\n") else ()
    for style in [*_NUMBERS, *(style for style in listed if _counts(old, style))]:
        read = _without_numbers(old, style)
        if read is not None:
            yield from _numbered(old, read, new, style)
    yield from _without_diff_signs(old, new)


def _without_wrapper(old: str, new: str) -> Iterator[Reading]:
    yield from _without_fence(old, new)
    if (marked := _MARKED.fullmatch(old)) is not None and (given := _GIVEN.fullmatch(new)) is not None:
        yield Reading(FENCE_STAGE, sentence("marks of search and replace"), marked[1], given[1], True)
    wrapped, given = (_of_call(string) for string in (old, new))
    if wrapped != old and given != new:
        yield Reading(FENCE_STAGE, sentence("tags of the call"), wrapped, given, True)


def _of_call(string: str) -> str:
    """Return a string without the tags that a call is written with."""
    match = _CDATA.fullmatch(string)
    return match[1] if match else _CALL_END.sub("", string)


def ungarbled(new: str) -> Iterator[tuple[str, str]]:
    """Yield what a string may be garbled by, and the string without it: one level of escapes, or signs of a diff."""
    yield from ((row.forgiven, _undone(new, row)) for row in _ESCAPES)
    yield sentence("diff signs before the lines"), _without_sign(new, "+") or new


# escapes


class _Escapes(NamedTuple):
    """One level of escapes: what one looks like, what it stands for, and what the whole string must be."""

    stage: str
    forgiven: str
    pattern: re.Pattern[str]
    meaning: Callable[[str], str]
    whole: re.Pattern[str] | None = None


_ARROWS = {"→": "->", "⇒": "=>", "←": "<-", "≤": "<=", "≥": ">=", "≠": "!=", "…": "..."}
_TYPED = (  # what a model typesets: in code, on a command line, in TeX
    _ARROWS,
    {"—": "--"},
    {"—": "---", "–": "--", "“": "``", "”": "''"},
)
ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_CONTROL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _meaning(escape: str) -> str:
    r"""Return what an escape that begins with a backslash stands for; `\r\n` is one line break."""
    if escape.startswith("\\u"):
        return chr(int(escape[2:], 16))
    return "\n" if escape == "\\r\\n" else _CONTROL.get(escape[1], escape[1])


def _without_backslash(escape: str) -> str:
    return escape.replace("\\", "")


_JSON = re.compile(r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_JSON_STRING = re.compile(rf'\s*"({_JSON.pattern})"\s*')
_JSON_LINES = re.compile(  # but for line breaks; then more than one kind of escape shows it
    rf'{_JSON.pattern}|(?s:(?=.*\\\\)(?=.*\\")){_JSON.pattern}(?:[\n\t]{_JSON.pattern})*'
)
_ESCAPES = [
    _Escapes(
        JSON_STAGE,
        sentence("the strings were escaped as JSON once too often"),
        re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'),
        _meaning,
        _JSON_LINES,
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
    _Escapes(
        sentence("escaped quotes"), sentence("quotes and dollars had a backslash"), re.compile(r"\\[\"$`]"), _meaning
    ),
    _Escapes(sentence("escaped backslashes"), sentence("backslashes were doubled"), re.compile(r"\\\\"), _meaning),
    _Escapes(
        sentence("escaped dollars"),
        sentence("dollars and backticks had a backslash"),
        re.compile(r"\\[$`]|\$\\\{"),
        _without_backslash,
    ),
    *(
        _Escapes(
            sentence("look-alikes"),
            sentence("signs of ASCII were sent as characters"),
            re.compile(f"[{''.join(row)}]"),
            row.__getitem__,
        )
        for row in _TYPED
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
        ENTITY,
        unescape,
    ),
]


ESCAPE_STAGES = frozenset(row.stage for row in _ESCAPES[:8])
_PARTIAL_STAGES = frozenset(row.stage for row in _ESCAPES[1:8])
_BREAK = "\\n"
_BEFORE = ("\\\\", '\\"')  # the file may have it anywhere, which says nothing of new lines
_STRAIGHT = "\"'"
_FENCE = re.compile(r"\s*(`{3,}(?!`)|~{3,}(?!~))[^\n`]*\n(.*?\n?)[ \t]*\1[`~]*[ \t]*\s*", re.DOTALL)
FENCE_LINE = re.compile(r"^[ \t]*(?:`{3}|~{3})[^`\n]*$", re.MULTILINE)
_BESIDE_CHARS = 500
_MARKED = re.compile(r"\s*<{5,} ?SEARCH\n(.*\n)={5,}\s*", re.DOTALL)
_GIVEN = re.compile(r"(?:={5,}\n)?(.*\n|)>{5,} ?REPLACE\s*", re.DOTALL)
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_CALL_END = re.compile(r"\n?</(?:old_string|new_string|parameter)>\s*\Z")
_QUOTED = re.compile(r"""(['"`])(?>(?:\\.|(?!\1)[^\\]){0,1000})\1""", re.DOTALL)
_QUOTED_IN_LINE = re.compile(r"""(['"`])(?>(?:\\.|(?!\1)[^\\\n]){0,1000})\1""")
# Not in a regular expression's slashes, nor a word of TeX's or a path's: what is before ends something, and what
# follows begins a line.
_WRITTEN_BREAK = re.compile(
    r"(?:[\w;{}()\[\],>:]|\*/)[ \t]*(?:\\n)+(?:\\t|[ \t]|[\w<}\])@#.-])|[.!?'\"]\\n(?: {2,}|\t+)\S|\w[.!?]\\n[\w#/]"
)
_SURELY_WRITTEN_BREAK = re.compile(
    r"[\w;{})\],>:=.'\"/*][ \t]*\\n(?: {4,}|\t+|(?:\\t)+)\S|[;{})\],>:]\\n {2}\S|[;{})\]]\\n[\w<}@#]|\\n\\n {4,}\S"
)


def brings_breaks(new: str, text: str, *, is_escaped: bool = True) -> bool:
    r"""Whether `new` has line breaks written as `\n` outside of quotes, as the text hasn't; where it has others too and
    isn't known to be escaped, only sure ones count.
    """
    if _BREAK not in new:
        return False
    if _outside(_SURELY_WRITTEN_BREAK, new) - _outside(_SURELY_WRITTEN_BREAK, text):
        return True
    loosely = is_escaped or "\n" not in new.strip("\n")
    return loosely and bool(_outside(_WRITTEN_BREAK, new)) and not _outside(_WRITTEN_BREAK, text)


def _outside(style: re.Pattern[str], text: str) -> set[str]:
    """Return what the text has of the pattern outside of quotes, be they within a line or over several."""
    text = text.replace("\\r\\n", _BREAK)
    bare = (quoted.sub('""', text) for quoted in (_QUOTED_IN_LINE, _QUOTED))
    within, over = ({match[0] for match in style.finditer(each)} for each in bare)
    return within & over


def check_escapes(way: Reading, sent: str, text: str) -> None:
    """Raise `UncleanError` where `new`, as it was read, is left with escapes that neither `old` nor the file has:
    whether those are one level too many as well can't be told.
    """
    breaks = (way.new == sent or way.stage in _PARTIAL_STAGES) and brings_breaks(way.new, text)
    marks = ("\\\\", '\\"', "\\r", "\n\\t") if way.stage in _PARTIAL_STAGES else ("\n\\t",)
    marks = marks if way.new != sent else tuple(mark for mark in marks if mark != '\\"')
    left = [mark for mark in marks if mark in way.new and mark not in way.old and (mark not in text or mark in _BEFORE)]
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


def without_escapes(line: str) -> str:
    """Return a line without any backslashes that escape quotes or backslashes."""
    for row in _ESCAPES[3:8] if "\\" in line else ():
        line = _undone(line, row)
    return line


def without_entities(text: str) -> str:
    r"""Return a text with its HTML entities and `\uXXXX` as the characters they stand for."""
    return _undone(_undone(text, _ESCAPES[-1]), _ESCAPES[-2])


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


def _counts(text: str, style: re.Pattern[str]) -> bool:
    """Whether each line has a number before it, one more than the line above."""
    if not style.match(text):
        return False
    numbers = [int(match[1]) if (match := style.match(line)) else -1 for line in _body(text)[0]]
    return all(after == before + 1 for before, after in pairwise(numbers))


def _fence(text: str) -> str | None:
    match = _FENCE.fullmatch(text)
    return match[2] if match else None


def _without_fence(old: str, new: str) -> Iterator[Reading]:
    """Yield both without the fence around them; none where fences would be left in `new` that aren't in `old`: then
    it has talk beside its fence.
    """
    fenced, inner = _fence(old), _fence(new)
    read = new if inner is None else inner
    if fenced is None or (FENCE_LINE.search(read) and not FENCE_LINE.search(fenced)):
        return
    # The line break before the closing fence is the fence's, unless `new` has it, too, or takes whole lines away.
    if inner is None and read and _breaks_at_end(read) < _breaks_at_end(fenced):
        fenced = fenced.removesuffix("\n")
    yield Reading(FENCE_STAGE, sentence("a Markdown fence around the strings"), fenced, read, True)


def is_in_fence(text: str, at: int) -> bool:
    """Whether a position of a text is within a fence: as many begin above it as end there, and one more."""
    return len(FENCE_LINE.findall(text, 0, at)) % 2 == 1


def fills_fence(text: str, start: int, end: int) -> bool:
    """Whether a place in the text begins or ends as the fence does that it is in, but for blank lines."""
    above = text[max(0, start - _BESIDE_CHARS) : start].rstrip().rpartition("\n")[2]
    below = text[end : end + _BESIDE_CHARS].lstrip().partition("\n")[0]
    return any(map(FENCE_LINE.fullmatch, (above, below))) and is_in_fence(text, start)


def _breaks_at_end(text: str) -> int:
    return len(text) - len(text.rstrip("\n"))


def is_fenced(text: str) -> bool:
    """Whether the text is a Markdown fence and what is in it."""
    return _fence(text) is not None


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


def _numbered(old: str, read: str, new: str, style: re.Pattern[str]) -> Iterator[Reading]:
    """Yield both without numbers, and of whole lines: a blank one that `old` ends in is what `new` ends in."""
    stage, forgiven = NUMBERS_STAGE, sentence("line numbers before the lines")
    new_read = _without_numbers(new, style) if new else new
    if new_read is None and not old.startswith("\n") and not any(style.match(line) for line in new.split("\n")):
        is_cut = not old.endswith("\n") and 0 < _breaks_at_end(new) < _breaks_at_end(read)
        new_read = f"{new}\n" if is_cut else new
    if new_read is not None:
        new_read = new_read if new_read.strip("\n") else ""  # one empty line with a number is what is left of none
        yield Reading(stage, forgiven, read, _whole(new_read), True)


def _whole(lines: str) -> str:
    return f"{lines}\n" if lines and not lines.endswith("\n") else lines


def _body(text: str) -> tuple[list[str], str]:
    """Return the lines of a text and the newline it ends with, if it does."""
    return text.removesuffix("\n").split("\n"), "\n" if text.endswith("\n") else ""


def _without_numbers(text: str, style: re.Pattern[str]) -> str | None:
    """Return the lines of a text, whole, without the numbers before them; None unless each line has one, but for empty
    ones around all, and they don't go down.
    """
    text = text.strip("\n")
    first = text.partition("\n")[0]
    if not style.match(first) and not style.match(first + "  "):
        return None
    lines = text.split("\n")
    found = [style.match(line) or style.match(line + "  ") for line in lines]
    numbers = [int(match[1]) for match in found if match]
    if len(numbers) < len(lines) or any(after < before for before, after in pairwise(numbers)):
        return None
    return "".join(f"{line[match.end() :]}\n" for line, match in zip(lines, found, strict=True) if match)


def _without_diff_signs(old: str, new: str) -> Iterator[Reading]:
    """Yield both without the first column of a diff, when there is a sign in one of them; and without the signs where
    the lines that differ have one each, and no others a blank.
    """
    stage, forgiven = DIFF_STAGE, sentence("diff signs before the lines")
    read, new_read = _without_sign(old, "-"), _without_sign(new, "+")
    if read is not None and new_read is not None and _signs(old, "-") + _signs(new, "+"):
        yield Reading(stage, forgiven, read, new_read, True)
    elif read is not None and _signs(old, "-") and ({*old.split("\n")} - {""}).isdisjoint(new.split("\n")):
        yield Reading(stage, forgiven, read, new, True)
    marked, given = old.split("\n"), new.split("\n")
    changes = [*changed_ranges(marked, given)]
    if all(_take_off(marked, "-", each[:2]) and _take_off(given, "+", each[2:]) for each in changes):
        yield Reading(stage, forgiven, "\n".join(marked), "\n".join(given), True)


def _take_off(lines: list[str], sign: str, span: tuple[int, int]) -> bool:
    """Take the sign off the lines of a span; False where one has none."""
    start, end = span
    is_marked = all(line.startswith(sign) for line in lines[start:end])
    lines[start:end] = [line[1:] for line in lines[start:end]]
    return is_marked


def _without_sign(text: str, sign: str) -> str | None:
    lines, end = _body(text)
    return "\n".join(line[1:] for line in lines) + end if all(line[:1] in (sign, " ", "") for line in lines) else None


def _signs(text: str, sign: str) -> int:
    return sum(line.startswith(sign) for line in text.split("\n"))
