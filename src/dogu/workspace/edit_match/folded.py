"""Stage "white space and look-alikes": `old` is in the file but for white space, zero-width characters and
look-alikes.

Forgives indentation, trailing blanks, blank lines, spacing between words and signs, wrapping at white space, quotes,
dashes, width and normal forms. Safe because the folded texts are equal character by character, so nothing is missing,
added or moved; because words stay whole and lines that end in a comment end where they did; and because the folded
text occurs exactly as often as expected.
"""

from __future__ import annotations

from dogu.language import sentence
from dogu.workspace.edit_match.alignment import Place, align_folded, differences, words_agree
from dogu.workspace.edit_match.apply import weave
from dogu.workspace.edit_match.breaks import breaks_agree
from dogu.workspace.edit_match.exact import occurrences
from dogu.workspace.edit_match.folding import FoldedText, fold
from dogu.workspace.edit_match.result import OVERLAP, TOO_MANY, Found, Outcome, Refused, UncleanError, Why, lie_apart
from dogu.workspace.edit_match.words import is_comment_mark, joined, word_chars

STAGE = sentence("white space and look-alikes")
FEWEST_WORD_CHARS = 2
_MORE_PLACES = 20
_MOST_PLACES = 10_000


def find_folded(folded: FoldedText, old: str, new: str, expected: int | None) -> Outcome:
    """Find `old` in the folded view; None when it is nowhere."""
    # A few more than wanted are enough to refuse; only "as many as there are" needs them all.
    places = folded_places(folded, old, _MOST_PLACES + 1 if expected is None else expected + _MORE_PLACES)
    if not places:
        return None
    spans = tuple((place.start, place.end) for place in places)
    if len(places) > _MOST_PLACES:
        return Refused(Why.AMBIGUOUS, STAGE, TOO_MANY, spans)
    if not lie_apart(spans) or (expected is not None and len(places) != expected):
        return Refused(Why.AMBIGUOUS, STAGE, "" if lie_apart(spans) else OVERLAP, spans)
    forgiven = tuple(dict.fromkeys(word for place in places for word in differences(place)))
    try:
        written = [piece for place in places for piece in weave(place, new)]
    except UncleanError as error:
        return Refused(Why.UNCLEAR, STAGE, str(error), spans)
    return Found(STAGE, spans, tuple(written), forgiven)


def folded_places(folded: FoldedText, old: str, at_most: int | None = None) -> list[Place]:
    """Return the places whose folded text is that of `old`, with whole words and lines; `at_most` the first so many.

    None are there for an `old` of hardly any words.
    """
    key = fold(old)
    if word_chars(key) < FEWEST_WORD_CHARS:
        return []
    places: list[Place] = []
    for at in occurrences(folded.folded, key):
        span = folded.locate(at, at + len(key))
        units = align_folded(folded.text, old, *span) if span else None
        if units:
            place = Place(folded.text, old, units)
            if _is_whole(place) and words_agree(place) and breaks_agree(place):
                places.append(place)
        if len(places) == at_most:
            break
    return places


def _is_whole(place: Place) -> bool:
    """Whether the place cuts no word, number or comment mark, and is whole lines where `old` is."""
    text, start, end = place.text, place.start, place.end
    if (start and joined(text[start - 1], text[start : start + 2])) or joined(text[end - 1], text[end : end + 2]):
        return False
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    before = text[line_start:start]
    after = text[end : line_end if line_end >= 0 else len(text)]
    if fold(before) and (place.old[0].isspace() or is_comment_mark(before)):
        return False
    return not (fold(after) and "\n" in place.old[place.units[-1].old_end :])
