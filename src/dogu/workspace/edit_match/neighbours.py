"""Check that what stands beside the text an edit replaces neither is written again nor joined to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dogu.workspace.edit_match.alignment import Place, has_comment, is_word, joined, opened, word_chars
from dogu.workspace.edit_match.indentation import is_head
from dogu.workspace.edit_match.result import Replacement, UncleanError
from dogu.workspace.edit_match.views import fold

_WORD_AHEAD = re.compile(r"\w*")
_WORD_BEFORE = re.compile(r"\w+\Z")
_COMMENTED = re.compile(r"[ \t]*(?:#+|//+|;+|%+)")
_VERSION_AHEAD = re.compile(r"\.\d+\.")
_NUMBER_BEFORE = re.compile(r"[\d.]+\Z")
_LONGEST_WORD_CHARS = 50
_FEWEST_DOUBLED_CHARS = 6
_TELLING = re.compile(r"[\w.]{3,}\(.*\);?|([-=~*`])\1{2,}")  # a call, a rule or a fence
_MOST_BESIDE = 8
_CONDITION = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_CONDITION_END = re.compile(r"^[ \t]*#[ \t]*endif", re.MULTILINE)
_CLOSERS = ("}", ")", "]")
_QUOTES = str.maketrans('"`', "''")


def check_rest(old: str, new: str, rest: str) -> None:
    """Raise `UncleanError` where the last line of `new` brings the `rest` of the line that `old` ends in again."""
    sign, written = rest.strip(), new.rsplit("\n", 1)[-1]
    closes_again = sign.startswith(_CLOSERS) and written.endswith(sign[0])
    if closes_again and not opened(old + rest) and opened(new + rest) < 0:
        raise UncleanError(f"{sign!r}, behind old_string in its line, would close what isn't open: send whole lines")
    may_bring_it = len(sign) <= 2 * len(written) + _LONGEST_WORD_CHARS  # folding a file of one line takes long
    brings_it = may_bring_it and fold(written).translate(_QUOTES) == fold(old.rsplit("\n", 1)[-1] + rest).translate(
        _QUOTES
    )
    ends = (*"{([;,:",) if sign in (";", ",") else (sign,)
    is_closed = "\n" in old or word_chars(sign) > 1 or not sign.strip("{;,)]}")
    doubles_it = sign in (*"{;,:",) and written.rstrip().endswith(ends) and not old.endswith(ends)
    ends_it = "\n" in new and written.endswith(";") and not old.endswith((";", "\n"))
    doubles_it = doubles_it or (ends_it and sign[:1] not in ("", ";", *_CLOSERS) and not has_comment(sign))
    if (sign and brings_it and is_closed) or doubles_it:
        what = "stand there twice" if brings_it or written.rstrip().endswith(sign) else "end another"
        raise UncleanError(f"{sign!r}, behind old_string in its line, would {what}: send whole lines")


def check_cut(text: str, spans: Sequence[tuple[int, int]], old: str, new: str) -> None:
    """Raise `UncleanError` where `old` begins or ends inside a word that `new` has whole or doesn't go on with, where
    it is a word at one of the `spans` and a part of one at another, is all that stands behind the mark of a comment, or
    where `new` begins with the line that `old` has a part of.
    """
    (start, end), first = spans[0], text.rfind("\n", 0, spans[0][0]) + 1
    head, (left, right) = text[first:start].strip(), _cut_off(text, spans[0], old) if new else ("", "")
    is_several = " " in old.strip()
    begins_odd = new[:1].isspace() or new.startswith(left) or (is_several and joined(left[-1:], old))
    brings_left = left and not old.startswith(left) and begins_odd
    begun = _WORD_BEFORE.findall(old[-_LONGEST_WORD_CHARS:])[:1] if is_several else []
    is_other = not is_word(new[-1:]) or not all(map(new.endswith, begun))
    brings_right = right and not old.endswith(right) and (is_other or new.endswith(right))
    brings_head = head and new[:1].isspace() and not old[0].isspace() and new.lstrip().startswith(head)
    if brings_left or brings_right or brings_head:
        raise UncleanError("old_string is a part of a word or line that new_string has whole: send whole lines")
    if len(spans) > 1 and len({_is_within_word(text, span, old) for span in spans}) > 1:
        raise UncleanError("old_string is a word at some of its places and a part of one at others: send whole lines")
    stop = text.find("\n", end)
    is_all = not text[end : stop if stop >= 0 else None].strip() and is_word(old[0]) and "\n" not in old
    if is_all and _COMMENTED.fullmatch(text, first, start):
        raise UncleanError(f"old_string is behind {head!r} in its line: send whole lines")


def _cut_off(text: str, span: tuple[int, int], old: str) -> tuple[str, str]:
    """Return what of words stands before and behind a place, in its line."""
    start, end = span
    first = max(text.rfind("\n", 0, start) + 1, start - _LONGEST_WORD_CHARS)
    left = _WORD_BEFORE.findall(text[first:start])[:1] if is_word(old[0]) else []
    right = _WORD_AHEAD.findall(text, end, end + _LONGEST_WORD_CHARS)[:1] if is_word(old[-1]) else []
    return "".join(left), "".join(right)


def _is_within_word(text: str, span: tuple[int, int], old: str) -> bool:
    """Whether a place begins or ends inside a word, be that a part of a name; one in the plural counts as whole."""
    left, right = _cut_off(text, span, old)
    pairs = [(left[-1:], old[0]), (old[-1], right[:1] if right != "s" else "")]
    return any(one.isalpha() and other.isalpha() and one.islower() == other.islower() for one, other in pairs)


def check_numbers(text: str, span: tuple[int, int], old: str, new: str) -> None:
    """Raise `UncleanError` where `old` begins or ends inside a number that `new` has otherwise: `n = 3` of `n = 30`.

    A part of a version, as 1 or 1.4 of 1.4.2, is meant as such.
    """
    start, end = span
    before = _NUMBER_BEFORE.findall(text[max(0, end - _LONGEST_WORD_CHARS) : end])
    is_version = "." in "".join(before) or _VERSION_AHEAD.match(text, end) is not None
    goes_on = not is_version and joined(old[-1], text[end : end + 2])
    sides = ((old, new, text[end : end + 1]), (old[::-1], new[::-1], text[max(start - 1, 0) : start]))
    for ours, theirs, beside in sides:
        is_cut = (beside.isdigit() or (goes_on and ours is old)) and ours[-1].isdigit()
        if new and is_cut and _last_number(ours) != _last_number(theirs):
            raise UncleanError("old_string is a part of a number of the file: send whole lines")


def _last_number(text: str) -> str:
    """Return the digits that a text ends with."""
    return text[len(text.rstrip("0123456789")) :]


def check_neighbours(text: str, span: tuple[int, int], old: str, new: str) -> None:
    """Raise `UncleanError` where `new` begins or ends with lines of the file before or after those of `old`."""
    start, end = span
    ours, theirs = ([line.rstrip() for line in string.strip("\n").split("\n")] for string in (old, new))
    first = text.rfind("\n", 0, start) + 1
    if not text[first:start].strip() or old[0] == "\n":
        above = text[: first - 1 if old[0] != "\n" else start] if first or old[0] == "\n" else ""
        _check_beside(ours[::-1], theirs[::-1], above.split("\n")[-_MOST_BESIDE:][::-1], closes=False)
    stop = text.find("\n", end - (text[end - 1 : end] == "\n"))
    if stop >= 0 and not text[end:stop].strip():
        closes = (not new.endswith("\n") and opened(new) < opened(old)) or _conditions(new) < _conditions(old)
        _check_beside(ours, theirs, text[stop + 1 :].split("\n", _MOST_BESIDE)[:_MOST_BESIDE], closes=closes)


def _check_beside(ours: list[str], theirs: list[str], beside: list[str], *, closes: bool) -> None:
    """Raise where the last of `theirs` are the first lines `beside`, as deep, and aren't those of `ours`; one line
    alone, however deep, where it is none of `ours`.
    """
    line, known = theirs[-1].strip(), {other.strip() for other in ours}
    is_telling = word_chars(line) >= _FEWEST_DOUBLED_CHARS or _TELLING.fullmatch(line) or is_head(line)
    is_telling = is_telling or (closes and (line in _CLOSERS or line.startswith("#endif")))
    repeats = line == beside[0].strip() and line not in known and is_telling
    for count in range(2, min(len(beside), len(theirs)) + 1):
        edge = theirs[-count:]
        is_there = edge == [other.rstrip() for other in beside[:count]] and edge != ours[-count:]
        repeats = repeats or (is_there and sum(map(word_chars, edge)) > _FEWEST_DOUBLED_CHARS + 1)
    if repeats:
        raise UncleanError(f"{line[:40]!r}, beside old_string in the file, would stand there twice: made already?")


def _conditions(text: str) -> int:
    """Return how many conditions of a preprocessor more are opened than closed."""
    return len(_CONDITION.findall(text)) - len(_CONDITION_END.findall(text))


def check_doubled(place: Place, pieces: Sequence[Replacement]) -> None:
    """Lines put in beside the place aren't those that stand beside it: they would be there twice."""
    text = place.text
    for start, end, body in pieces:
        added = [line.strip() for line in body.split("\n") if line.strip()]
        if start != end or "\n" not in body or sum(map(word_chars, added)) < _FEWEST_DOUBLED_CHARS:
            continue
        above, below = text[: min(start, place.start)], text[max(end, place.end) :]
        beside: list[Iterable[str]] = []
        if not text[place.end : start].strip() and start >= place.end:
            beside.append(below.split("\n", 2 * len(added) + 2))
        if not text[end : place.start].strip() and end <= place.start:
            beside.append(above.rsplit("\n", 2 * len(added) + 2)[1:][::-1])
            added.reverse()
        for lines in beside:
            found = [line.strip() for line in lines if line.strip()][: len(added)]
            if found == added:
                raise UncleanError("the lines that new_string adds stand there already; was this edit made before?")
