"""Write one line over another that `old_string` has otherwise than the file: the file's characters where both strings
agree, the new ones elsewhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from dogu.workspace.diff import changed_ranges
from dogu.workspace.edit_match.characters import CharacterMap
from dogu.workspace.edit_match.indentation import indent_of
from dogu.workspace.edit_match.result import UncleanError
from dogu.workspace.edit_match.rows import Row, opcodes

_TOKEN = re.compile(r"[A-Za-z0-9_]+|\s+|.")
_MOST_TOKENS = 2000
_MOST_TRIED = 20_000_000

Steps = Sequence[tuple[str, int, int, int, int]]


def merged(text: str, row: Row, body: str, characters: CharacterMap, *, keeps_spots: bool) -> str:
    """Return `body` as it is written over a row: in the file's characters where `old` has that, too.

    With `keeps_spots` each spot where `old` has the row otherwise than the file stays with what is beside it, or all
    go. Raises `UncleanError` where the change touches what `old` has otherwise.
    """
    token = _token_of(row)
    old = [(m.start(), m.end()) for m in token.finditer(row.text.rstrip(), len(indent_of(row.text)))]
    new = [m[0] for m in token.finditer(body)]
    # Aligning costs time in the product of both: in a minified file one line is the whole file.
    if max(len(old), len(new)) > _MOST_TOKENS:
        raise UncleanError("a long line that differs from old_string changes")
    steps = [*opcodes([row.text[start:end] for start, end in old], new)]
    cuts_slip = any(old[i1 - 1][1] in row.slips for _, i1, i2, _, _ in steps if i1 == i2 and i1)
    if cuts_slip or (keeps_spots and not _keeps_spots(text, row, [start for start, _ in old], steps)):
        raise UncleanError("a line changes just where old_string has it otherwise than the file")
    edges = {unit.old_start: unit.start for unit in row.units}, {unit.old_end: unit.end for unit in row.units}
    out = ""
    for number, (tag, i1, i2, j1, j2) in enumerate(steps):
        if tag != "equal":
            out += characters.apply("".join(new[j1:j2]), out, body)
            continue
        is_added = (number > 0 and j1 > steps[number - 1][3], _is_insertion(steps, number + 1))
        kept = _kept(text, edges, (old[i1][0], old[i2 - 1][1]), is_added)
        if not row.slips and characters.are_seen_in_two_ways(body, kept):
            raise UncleanError("a blank or a hyphen of a line that changes is another in the file, here and there")
        if is_added[0] and kept[:1].isspace():  # a blank that both bring is the file's
            out = out.rstrip()
        out += kept
    return out


def brought(ours: str, theirs: str) -> list[str]:
    """Return the stretches of a line that another one, in its place, doesn't have."""
    one, other = (_TOKEN.findall(line) for line in (ours, theirs))
    if max(len(one), len(other)) > _MOST_TOKENS:
        return [theirs]
    return ["".join(other[each.new_start : each.new_end]) for each in changed_ranges(one, other)]


def _is_insertion(steps: Steps, number: int) -> bool:
    return number < len(steps) and steps[number][1] == steps[number][2]


def _kept(
    text: str, edges: tuple[dict[int, int], dict[int, int]], span: tuple[int, int], is_added: tuple[bool, bool]
) -> str:
    """Return what the file has for a stretch of the row, whose units' `edges` lie in both; `is_added` says whether
    something new comes to stand before it, behind it.

    A gap belongs to what is before it: it may hold characters that `old` doesn't have. But one of blanks that `old`
    doesn't have at all stays before what follows, whatever comes to stand before that.
    """
    (begins, ends), (first, last) = edges, span
    start, end = begins.get(first, ends.get(first)), begins.get(last, ends.get(last))
    if is_added[0] and _is_gap(text, ends.get(first), start):
        start = ends[first]
    if is_added[1] and _is_gap(text, ends.get(last), end):
        end = ends[last]
    if start is None or end is None:
        raise UncleanError("a changed line differs from old_string inside a word")
    return text[start:end]


def _keeps_spots(text: str, row: Row, starts: list[int], steps: Steps) -> bool:
    """Whether each spot where `old` has the row otherwise than the file stays with what is beside it, or all go."""
    differing = (unit for unit in row.units if row.text[unit.old_start : unit.old_end] != text[unit.start : unit.end])
    spots = {bisect_right(starts, unit.old_start) - 1 for unit in differing}
    runs = [{*range(i1, i2)} for tag, i1, i2, _, _ in steps if tag == "equal"]
    stays = all(any({max(at - 1, 0), at, min(at + 1, len(starts) - 1)} <= run for run in runs) for at in spots)
    return stays or all(map(spots.isdisjoint, runs))


def _is_gap(text: str, start: int | None, end: int | None) -> bool:
    """Whether between both lies white space of the file, and nothing else."""
    return start is not None and end is not None and start < end and text[start:end].isspace()


def _token_of(row: Row) -> re.Pattern[str]:
    """Return what the pieces of a line are: words, blanks, signs, and what stands as a whole for some of the file."""
    long = {row.text[unit.old_start : unit.old_end] for unit in row.units if unit.old_end > unit.old_start + 1}
    if len(long) * len(row.text) > _MOST_TRIED:
        raise UncleanError("a long line that differs from old_string changes")
    whole = [re.escape(each) for each in sorted(long, key=len, reverse=True) if not _TOKEN.fullmatch(each)]
    return re.compile("|".join([*whole, _TOKEN.pattern])) if whole and not row.slips else _TOKEN
