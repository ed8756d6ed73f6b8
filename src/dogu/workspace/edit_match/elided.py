"""Stage "elision": `old` and `new` both leave lines out by the same placeholder (`// ... existing code ...`).

Forgives what the placeholder stands for. Safe because each part around it must be in the file exactly once, in order,
and is edited by itself: what lies between two parts isn't touched.
"""

from __future__ import annotations

import re
from itertools import pairwise

from dogu.language import sentence
from dogu.workspace.edit_match.alignment import Place, align_equal
from dogu.workspace.edit_match.apply import weave
from dogu.workspace.edit_match.exact import occurrences
from dogu.workspace.edit_match.folded import folded_places
from dogu.workspace.edit_match.folding import FoldedText
from dogu.workspace.edit_match.result import Found, Outcome, Refused, Replacement, UncleanError, Why
from dogu.workspace.text.omission import is_elision

STAGE = sentence("elision")


def find_elided(folded: FoldedText, old: str, new: str, expected: int | None) -> Outcome:
    """Find the parts of `old` around its placeholder lines; None when it has none, or a part is nowhere."""
    parts, marks = _split(old)
    if not marks or any(not part.strip() for part in parts):
        return None
    new_parts, new_marks = _split(new)
    if [mark.strip() for mark in marks] != [mark.strip() for mark in new_marks]:
        return Refused(
            Why.UNCLEAR, STAGE, "old_string leaves lines out that new_string doesn't: send the lines themselves"
        )
    spans: list[tuple[int, int]] = []
    places: list[Place] = []
    for part in parts:
        found = _places(folded, part)
        if not found:
            return None
        places.append(found[0])
        spans += [(place.start, place.end) for place in found]
    if len(spans) > len(parts) or expected not in (1, None):
        reason = "the text around the lines left out is there more than once"
        return Refused(Why.AMBIGUOUS, STAGE, reason, tuple(sorted(spans)))
    if any(left.end > right.start for left, right in pairwise(places)):
        return Refused(
            Why.NO_MATCH, STAGE, "the parts of old_string are in the file in another order", tuple(sorted(spans))
        )
    try:
        written = [piece for place, part in zip(places, new_parts, strict=True) for piece in _write(place, part)]
    except UncleanError as error:
        return Refused(Why.UNCLEAR, STAGE, str(error), tuple(spans))
    return Found(STAGE, tuple(spans), tuple(written), (sentence("lines left out by a placeholder"),))


def _split(text: str) -> tuple[list[str], list[str]]:
    """Split at placeholder lines into the parts around them, each with its final newline, and the placeholders."""
    parts: list[str] = [""]
    marks: list[str] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if is_elision(line):
            marks.append(line)
            parts.append("")
        else:
            parts[-1] += line
    return parts, marks


def _places(folded: FoldedText, part: str) -> list[Place]:
    """Return the place of a part, the first two when it has more."""
    exact = occurrences(folded.text, part)[:2]
    if exact:
        return [Place(folded.text, part, align_equal(part, at)) for at in exact]
    return folded_places(folded, part, at_most=2)


def _write(place: Place, new: str) -> list[Replacement]:
    return [] if place.old == new else weave(place, new)
