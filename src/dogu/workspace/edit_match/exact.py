"""Stage "exact": `old` is in the file as it was sent."""

from __future__ import annotations

from itertools import pairwise

from dogu.workspace.edit_match.result import Found, Outcome, Refused, Replacement, Why

MOST_PLACES = 10_000


def occurrences(text: str, old: str) -> list[int]:
    """Return where `old` begins in `text`, overlapping occurrences too; at most `MOST_PLACES`."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0 and len(found) < MOST_PLACES:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def find_exact(text: str, old: str, new: str, expected: int | None) -> Outcome:
    """Find `old` as it is; None when it is nowhere.

    Forgives nothing, so `new` is written as it is. Occurrences that overlap make no set of places and are refused.
    """
    at = occurrences(text, old)
    if not at:
        return None
    spans = tuple((start, start + len(old)) for start in at)
    overlap = any(left[1] > right[0] for left, right in pairwise(spans))
    if overlap or (expected is not None and len(spans) != expected):
        return Refused(Why.AMBIGUOUS, "exact", "the places overlap" if overlap else "", spans)
    return Found("exact", spans, tuple(Replacement(start, end, new) for start, end in spans))
