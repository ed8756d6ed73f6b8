"""Check a result of the inexact stages, knowing nothing of how it was made; what fails is refused, never written.

The laws on lines are here: none is doubled or put beside one that `old_string` lacks. Those on words and signs are in
`signs`, those on depth in `depths`, whether a text that could be parsed still can in `parses`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from dogu.workspace.edit_match.alignment import Place
from dogu.workspace.edit_match.depths import check_depths
from dogu.workspace.edit_match.neighbours import check_doubled, check_neighbours, check_rest
from dogu.workspace.edit_match.result import Replacement, UncleanError
from dogu.workspace.edit_match.rows import shared_lines
from dogu.workspace.edit_match.signs import check_columns, check_kept, check_signs, check_spacing, check_tokens
from dogu.workspace.edit_match.views import fold

_NO_SIGN = re.compile(r"\w+")
_DANGLING = re.compile(r"\\\n[ \t]*$", re.MULTILINE)


def verify(place: Place, new: str, pieces: Sequence[Replacement]) -> None:
    """Raise `UncleanError` where what is written at a place isn't the change from `place.old` to `new`."""
    _check_skipped(place, pieces)
    end = place.text.find("\n", place.end)
    rest = place.text[place.end : end if end >= 0 else None]
    check_rest(place.old.rstrip(), new.rstrip(), rest)
    if "\n" in place.old.strip() and rest.strip() and not _NO_SIGN.search(place.old.rstrip().rsplit("\n", 1)[-1]):
        raise UncleanError(f"{rest.strip()[:20]!r} is behind old_string in its last line: send whole lines")
    check_doubled(place, pieces)
    region = _region(place, pieces)
    before, after = place.text[region[0] : region[1]], _written(place.text, pieces, region)
    check_neighbours(place.text, region, before.removesuffix("\n"), after.removesuffix("\n"))
    _check_parted(place, region, before, after)
    check_tokens(place, new, before, after)
    check_spacing(place, before, after)
    check_columns(place, before, after)
    check_signs(place, new, before, after)
    check_kept(place, new, before, after)
    if place.old != new:
        check_depths(place, new, before, after)


def check_continued(place: Place, pieces: Sequence[Replacement]) -> None:
    """Raise `UncleanError` where a line that stays no longer goes on from the one before it, or does so now."""
    text = place.text
    start, end = _region(place, pieces)
    start, end = text.rfind("\n", 0, max(start - 1, 0)) + 1, len(text) if (stop := text.find("\n", end)) < 0 else stop
    before = text[start:end]
    after = _written(text, [piece for piece in pieces if start <= piece.start <= piece.end <= end], (start, end))
    ours, theirs = before.split("\n"), after.split("\n")
    goes_on = [[False, *(line.rstrip().endswith("\\") for line in lines)] for lines in (ours, theirs)]
    dangles = len(_DANGLING.findall(before)) < len(_DANGLING.findall(after))
    if dangles or any(goes_on[0][i] != goes_on[1][j] for i, j in shared_lines(ours, theirs)):
        raise UncleanError("a line that goes on in the next one would lose its backslash, or get one")


def _check_skipped(place: Place, pieces: Sequence[Replacement]) -> None:
    """Lines aren't added beside a line of the file that `old` leaves out: they may be meant for it. Before a blank line
    that they bring they aren't, nor behind a line that stays in part where it was.
    """
    text = place.text
    for left, right in pairwise(place.units):
        if right.start - left.end > 1 and text[left.end : right.start].strip():
            start, end = text.find("\n", left.end), text.rfind("\n", 0, right.start)
            skipped = {fold(line) for line in text[left.end : right.start].split("\n")} - {""}
            for piece in pieces:
                if not skipped.isdisjoint(map(fold, piece.body.split("\n"))):
                    raise UncleanError("new_string brings a line that the file has there, and old_string hasn't")
                replaced, first = text[piece.start : piece.end], piece.body.partition("\n")[0]
                is_parted = piece.body.endswith("\n\n") and not text[start : piece.end].strip()
                if is_parted or (piece.start == end + 1 and first.strip() and replaced.startswith(first.rstrip())):
                    continue
                if piece.start <= end + 1 and piece.end >= start and replaced.count("\n") < piece.body.count("\n"):
                    raise UncleanError("lines are added beside a line of the file that old_string doesn't have")


def _check_parted(place: Place, region: tuple[int, int], before: str, after: str) -> None:
    """New lines aren't last beside a line that a blank one parted from those of `old`: they may not belong there."""
    behind = place.text[place.end :].split("\n", 2)
    rest = place.text[region[1] :] if after.endswith("\n") else place.text[region[1] :].partition("\n")[2]
    below, last = rest.partition("\n")[0], after.removesuffix("\n").rpartition("\n")[2].strip()
    was_parted = len(behind) > 2 and not behind[1].strip()
    if was_parted and _NO_SIGN.search(last) and below.strip() and last not in map(str.strip, before.split("\n")):
        raise UncleanError("lines are added beside one that old_string doesn't have, without the blank line between")


def _region(place: Place, pieces: Sequence[Replacement]) -> tuple[int, int]:
    """Return the whole lines that the place and the pieces lie on."""
    text = place.text
    start = min([place.start, *(piece.start for piece in pieces)])
    end = max([place.end, *(piece.end for piece in pieces)])
    stop = text.find("\n", max(end - 1, 0) if end and text[end - 1] == "\n" else end)
    return text.rfind("\n", 0, start) + 1, len(text) if stop < 0 else stop + 1


def _written(text: str, pieces: Sequence[Replacement], region: tuple[int, int]) -> str:
    at, end = region
    out: list[str] = []
    for piece in pieces:
        out += text[at : piece.start], piece.body
        at = piece.end
    return "".join([*out, text[at:end]])
