"""A change made to one text carried over to another that has changed meanwhile, where the two changes lie apart."""

from __future__ import annotations

from itertools import accumulate

from dogu.workspace.diff import Change, changed_ranges


def carry_over(base: str, ours: str, theirs: str) -> list[tuple[int, int, str]] | None:
    """Return what to put for which characters of `theirs`, to make the change from `base` to `ours` there.

    None where `theirs` changed the same place.

    Changes are of whole lines (ending at newlines); ones that touch count as the same place.
    """
    base_lines, our_lines, their_lines = (text.splitlines(keepends=True) for text in (base, ours, theirs))
    our_changes, their_changes = changed_ranges(base_lines, our_lines), changed_ranges(base_lines, their_lines)
    starts = [0, *accumulate(map(len, their_lines))]
    out: list[tuple[int, int, str]] = []
    for change in our_changes:
        shift = _shift(change, their_changes)
        if shift is None:
            return None
        first, last = change.old_start + shift, change.old_end + shift
        out.append((starts[first], starts[last], "".join(our_lines[change.new_start : change.new_end])))
    return out


def _shift(ours: Change, theirs: list[Change]) -> int | None:
    """Return by how many lines the place of our change has moved; None when one of theirs touches it."""
    shift = 0
    for change in theirs:
        if change.old_end < ours.old_start:
            shift += (change.new_end - change.new_start) - (change.old_end - change.old_start)
        elif change.old_start <= ours.old_end:
            return None
    return shift
