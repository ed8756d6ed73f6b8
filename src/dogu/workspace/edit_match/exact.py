"""Stage "exact": `old` is in the file as it was sent."""

from __future__ import annotations

from dogu.workspace.edit_match.result import OVERLAP, TOO_MANY, Found, Outcome, Refused, Replacement, Why, lie_apart

MOST_PLACES = 10_000


def occurrences(text: str, old: str) -> list[int]:
    """Return where `old` begins in `text`, overlapping occurrences too; no more than one beyond `MOST_PLACES`."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0 and len(found) <= MOST_PLACES:
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
    if len(spans) > MOST_PLACES:
        return Refused(Why.AMBIGUOUS, "exact", TOO_MANY, spans)
    if not lie_apart(spans) or (expected is not None and len(spans) != expected):
        return Refused(Why.AMBIGUOUS, "exact", "" if lie_apart(spans) else OVERLAP, spans)
    return Found("exact", spans, tuple(Replacement(start, end, new) for start, end in spans))
