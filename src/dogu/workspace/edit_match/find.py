"""Find `old` as it is, but for white space and look-alikes, or with lines left out of both strings.

Exact forgives nothing but the indentation of a single line. The normalised texts of the second are equal character by
character, so nothing is missing, added or moved; words stay whole, lines that end in a comment end where they did, and
the text occurs exactly as often as expected. With lines left out, each part around the placeholder must be there
exactly once, in order, and is edited by itself.
"""

from __future__ import annotations

import re
from itertools import pairwise

from dogu.language import sentence
from dogu.workspace.edit_match.alignment import (
    Place,
    align_equal,
    align_folded,
    breaks_agree,
    differences,
    is_comment_mark,
    is_word,
    joined,
    opened,
    word_chars,
    words_agree,
)
from dogu.workspace.edit_match.apply import GOES_ON, weave
from dogu.workspace.edit_match.depths import check_indents, check_retabbed
from dogu.workspace.edit_match.indentation import OPENERS, indent_of, is_head
from dogu.workspace.edit_match.lost_depth import (
    block_indent,
    check_begin,
    has_empty_block,
    is_by_layout,
    lost_indent,
    opens_nothing,
)
from dogu.workspace.edit_match.neighbours import check_cut, check_neighbours, check_numbers, check_rest
from dogu.workspace.edit_match.parses import still_parses
from dogu.workspace.edit_match.result import (
    OVERLAP,
    TOO_MANY,
    Found,
    Outcome,
    Refused,
    Replacement,
    TwoWaysError,
    UncleanError,
    Why,
    lie_apart,
    spliced,
)
from dogu.workspace.edit_match.unescape import is_fenced
from dogu.workspace.edit_match.views import FoldedText, fold, is_blank
from dogu.workspace.text.omission import is_elision

MOST_PLACES = 100_000
_CLOSERS = ("}", ")", "]")
_GOES_ON_BEHIND = "([{,=+"
_AROUND_CHARS = 2000
_OPENS_NOTHING = "a line of new_string begins a block that has no lines deeper than it"
_COMMENT_BEHIND = re.compile(r"\s*(?:#|//|/\*|--\s|<!--)")


def occurrences(text: str, old: str) -> list[int]:
    """Return where `old` begins in `text`, overlapping occurrences too; no more than one beyond `MOST_PLACES`."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0 and len(found) <= MOST_PLACES:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def find_exact(text: str, old: str, new: str, expected: int | None, path: str = "") -> Outcome:
    """Find `old` as it is; None when it is nowhere.

    Forgives nothing but the indentation of a single line, so `new` is written as it is. Occurrences that overlap make
    no set of places and are refused.
    """
    at = occurrences(text, old)
    if not at:
        return None
    spans = tuple((start, start + len(old)) for start in at)
    if len(spans) > MOST_PLACES:
        return Refused(Why.AMBIGUOUS, "exact", TOO_MANY, spans)
    if not lie_apart(spans) or (expected is not None and len(spans) != expected):
        return Refused(Why.AMBIGUOUS, "exact", "" if lie_apart(spans) else OVERLAP, spans)
    try:
        head = text[text.rfind("\n", 0, at[0]) + 1 : at[0]]
        if is_by_layout(path):
            check_indents(text, spans[0], head + old, head + new)
        check_retabbed(old, new)
        check_cut(text, spans, old, new)
        for span in spans:
            check_numbers(text, span, old, new)
        for _, end in spans:
            check_rest(old, new, text[end : stop if (stop := text.find("\n", end)) >= 0 else len(text)])
        whole = [_unjoined(text, span, old, new) for span in spans]
        written = [
            lines
            or _deleted(text, span, old, new)
            or _outdented(text, span, old, new, path)
            or _in_its_line(text, span, old, new)
            or _reindented(text, span, old, new, path)
            or _as_sent(text, span, old, new, path)
            for lines, span in zip(whole, spans, strict=True)
        ]
    except UncleanError as error:
        return Refused(Why.UNCLEAR, "exact", str(error), spans)
    literal = [Replacement(*span, new) for span in spans]
    pieces = [piece for own, as_sent in zip(written, literal, strict=True) for piece in own or [as_sent]]
    forgiven = sentence("line breaks") if any(whole) else sentence("indentation")
    return Found("exact", spans, tuple(pieces), (forgiven,) if any(written) else ())


def _deleted(text: str, span: tuple[int, int], old: str, new: str) -> list[Replacement]:
    """Return what to delete where whole lines go but for the first one's indentation: it would indent the next line."""
    line_start = text.rfind("\n", 0, span[0]) + 1
    head = text[line_start : span[0]]
    is_left = not new and old.endswith("\n") and head and not head.strip()
    return [Replacement(line_start, span[1], "")] if is_left else []


def _as_sent(text: str, span: tuple[int, int], old: str, new: str, path: str) -> list[Replacement]:
    """Return nothing for what may be written as it was sent; raise `UncleanError` where its depth can't be meant."""
    head = text[text.rfind("\n", 0, span[0]) + 1 : span[0]]
    if head.strip() or not new.strip() or is_fenced(new):
        return []
    check_begin(head + old, head + new, path)
    is_whole = head and old[0].isspace() and indent_of(new) == head + indent_of(old)
    if is_whole and "\n" not in old + new:
        raise UncleanError("whether the line is to stand deeper can't be told: old_string lacks some of its blanks")
    is_empty = has_empty_block(head + new) and not has_empty_block(head + old)
    if is_empty and not still_parses(path, text, spliced(text, [Replacement(*span, new)])):
        raise UncleanError(_OPENS_NOTHING)
    return []


def _unjoined(text: str, span: tuple[int, int], old: str, new: str) -> list[Replacement]:
    """Return what to write where `new` lacks a line break at its edge that `old` has: behind whole lines, unless `new`
    ends as what goes on does, and before a line that is kept or begins alike; where nothing is left of lines with a
    break at both edges, one stays. Empty where it lacks none.

    Raises `UncleanError` where `new` brings the line beside it again.
    """
    start, end = span
    if start and not new and old[0] == old[-1] == "\n" and "\n" not in (text[start - 1 : start], text[end : end + 1]):
        return [Replacement(start + 1, end, "")]
    if not new.strip() or (old.strip() == new.strip() and not new == old.strip("\n") != old.rstrip("\n")):
        return []
    check_neighbours(text, span, old, new)
    ours, theirs = (string.strip("\n").split("\n") for string in (old, new))
    head = old[0] == "\n" != new[0] and start > 0 and text[start - 1] != "\n"
    below = text[end : end + 1]
    # Where lines go, `old` may end in the blank line below, without its break.
    tail = old[-1] == "\n" != new[-1] and bool(below) and (below != "\n" or len(theirs) >= len(ours))
    starts_alike = "" != indent_of(ours[0]) == indent_of(theirs[0]) or ours[0].split()[:1] == theirs[0].split()[:1]
    shared = {line.strip() for line in ours} & {line.strip() for line in theirs}
    is_whole = old[0] == "\n" or not text[text.rfind("\n", 0, start) + 1 : start].strip()
    is_begun = new[-1] in _GOES_ON_BEHIND and new[-1] != old.rstrip()[-1:] and not below.isspace()
    lacks_end = tail and is_whole and not (is_begun or new[-1].isspace())
    is_joined = lacks_end or (head and (starts_alike or any(map(word_chars, shared))))
    return [Replacement(start + head, end - tail, new)] if is_joined else []


def _outdented(text: str, span: tuple[int, int], old: str, new: str, path: str) -> list[Replacement]:
    """Return what to write where `new` has lost the indentation that `old` has, of its first line or of all: where the
    lines they share show it, or the text can't be parsed as it was sent; empty where it is meant so.

    Raises `UncleanError` where a whole block may be meant to stand less deep.
    """
    indent, lost = indent_of(old.partition("\n")[0]), lost_indent(old, new)
    if not new.strip() or is_fenced(new) or (span[0] and "\n" not in (old[0], text[span[0] - 1])):
        return []

    def parses(body: str) -> bool:
        return still_parses(path, text, spliced(text, [Replacement(*span, body)]))

    headed = indent + new if indent and not new[0].isspace() else ""
    rest, below = (block_indent(string.partition("\n")[2]) for string in (new, old))
    if lost and not (headed and rest == (below or indent)):
        whole = "\n".join(lost + line if line.strip() else line for line in new.split("\n"))
        if indent_of(whole.lstrip("\n").partition("\n")[0]) != indent or parses(new) or not parses(whole):
            raise UncleanError("how deep the new lines are to stand can't be told: new_string has another indentation")
        return [Replacement(*span, whole)]
    is_alike = headed and new[0].isalpha() == old.lstrip()[0].isalpha()
    if not is_alike or parses(new):
        return []
    if opens_nothing(headed):
        headed = "\n".join(indent + line if line.strip() else line for line in new.split("\n"))
        if not parses(headed) or block_indent(text[span[1] :].lstrip("\n").partition("\n")[0]) > indent:
            raise UncleanError(_OPENS_NOTHING)
    return [Replacement(*span, headed)] if parses(headed) else []


def _in_its_line(text: str, span: tuple[int, int], old: str, new: str) -> list[Replacement]:
    """Return what to write where `old` is a part of a line that `new` doesn't leave as a part; empty where it does.

    `new` may begin with the blanks before `old`, which it replaces then. A comment behind `old` stays beside the line
    that it is about. Raises `UncleanError` where the line's other part would come to stand beside another line.
    """
    line_start, line_end = text.rfind("\n", 0, span[0]) + 1, text.find("\n", span[1])
    before, after = text[line_start : span[0]], text[span[1] : line_end if line_end >= 0 else len(text)]
    lines = new.split("\n")
    is_headed = before != "" and not before.strip() and not old[0].isspace() and _brings_indent(before, old, new)
    start = line_start if is_headed else span[0]
    headed = [Replacement(start, span[1], new)] * is_headed
    if len(lines) < 2 or old.endswith("\n"):
        return headed
    begins = [line[: len(before)] for line in lines[1:]]
    if "\n" not in old and is_comment_mark(before) and not is_comment_mark(begins[-1]):
        raise UncleanError(f"old_string is behind {before.strip()!r} in its line: send whole lines")
    last = old.rsplit("\n", 1)[-1].strip()
    at = next((index for index in range(len(lines) - 1, -1, -1) if last and lines[index].strip() == last), None)
    if at is None or at == len(lines) - 1:
        return headed
    if _COMMENT_BEHIND.match(after):
        body = "\n".join([*lines[:at], lines[at] + after, *lines[at + 1 :]])
        return [Replacement(start, span[1] + len(after), body)]
    rest = after.strip()
    if rest and lines[-1].strip() and (is_comment_mark(last) or not _takes_over(lines, at, rest)):
        raise UncleanError(f"{rest[:20]!r}, behind old_string in its line, would end another: send whole lines")
    return headed


def _brings_indent(before: str, old: str, new: str) -> bool:
    """Whether `new` begins with the blanks `before` that its first line has in the file, or others instead of them."""
    if new[:1] == "\n":
        return new.lstrip("\n").startswith(before)
    own = indent_of(new.partition("\n")[0])
    is_moved = "\n" not in old and new.strip() == old.strip()  # and meant to be
    return not is_moved and (own == before or (own != "" and {*own}.isdisjoint(before)))


def _takes_over(lines: list[str], at: int, rest: str) -> bool:
    """Whether the lines below the one at `at` go on with it, so that its `rest` may stand behind the last of them."""
    below = lines[at + 1]
    if below.lstrip()[:1] in _CLOSERS and opened("\n".join(lines[:at])) > 0:
        return rest[0] not in "{;,\\"
    is_deeper = len(indent_of(below)) > len(indent_of(lines[at])) and not is_word(rest[0])
    return (is_deeper or GOES_ON.match(below) is not None) and rest != "\\"


def _reindented(text: str, span: tuple[int, int], old: str, new: str, path: str) -> list[Replacement]:
    """Return what to write for several new lines where the first line of `old` lies in the file without all of its
    indentation; empty where `new` is meant as it is, as where several lines were sent without any for the first.
    """
    line_start = text.rfind("\n", 0, span[0]) + 1
    lost = text[line_start : span[0]]
    several = not old[0].isspace() and len([line for line in old.split("\n") if line.strip()]) > 1
    if not lost or lost.strip() or "\n" not in new or several:
        return []
    is_plain = not (old[0].isspace() or new[0].isspace()) and not _is_shallow(text, span[1], lost, new)
    if is_plain and still_parses(path, text, spliced(text, [Replacement(*span, new)])):
        return []
    try:
        pieces = weave(Place(text, old, align_equal(old, span[0])), new)
    except UncleanError:
        if old[0].isspace():
            raise
        return []
    return [] if not old[0].isspace() and not still_parses(path, text, spliced(text, pieces)) else pieces


def _is_shallow(text: str, end: int, indent: str, new: str) -> bool:
    """Whether lines of `new`, as they are, would leave the block that its first line begins in at `indent`,
    without a reason.
    """
    lines = new.rstrip("\n").split("\n")
    if len(lines) < 2:
        return False
    if lines[0].rstrip().endswith(OPENERS) and lines[1].strip() and len(indent_of(lines[1])) <= len(indent):
        is_beside = lines[1].startswith(indent) and lines[0].split()[:1] == lines[1].split()[:1]
        return not is_beside and not (lines[1].lstrip().startswith(_CLOSERS) and lines[1].startswith(indent))
    leaving = next((i for i, line in enumerate(lines) if i and line.strip() and not line.startswith(indent)), None)
    if leaving is None:
        return False
    after = next((line for line in text[end : end + _AROUND_CHARS].split("\n")[1:] if line.strip()), "")
    if len(indent_of(after)) > len(indent_of(lines[-1])) and not _opens(lines[-1]):
        return True
    return bool(lines[leaving - 1].strip()) and not _has_sibling(
        text[max(0, end - _AROUND_CHARS) : end], lines[leaving]
    )


def _opens(line: str) -> bool:
    """Say whether deeper lines may follow: after an open bracket, or the head of a block."""
    text = line.strip()
    return text.endswith(OPENERS[1:]) or is_head(text)


def _has_sibling(above: str, line: str) -> bool:
    """Whether the last line above that is as deep begins with the same word or mark."""
    indent = indent_of(line)
    as_deep = (other for other in reversed(above.split("\n")) if other.strip() and indent_of(other) == indent)
    return next(as_deep, "").split()[:1] == line.split()[:1]


STAGE = sentence("white space and look-alikes")
FEWEST_WORD_CHARS = 2
_MORE_PLACES = 20
_MOST_PLACES = 10_000


def find_folded(
    folded: FoldedText, old: str, new: str, expected: int | None, *, as_file: bool | None = None
) -> Outcome:
    """Find `old` in the folded view; None when it is nowhere. `as_file` is as in `weave`."""
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
        written = [piece for place in places for piece in weave(place, new, as_file=as_file)]
    except UncleanError as error:
        return Refused(Why.UNCLEAR, STAGE, str(error), spans, isinstance(error, TwoWaysError))
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
            if _is_whole(place) and words_agree(place) and breaks_agree(place, folded.path):
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
    if not is_blank(before) and (place.old[0].isspace() or is_comment_mark(before)):
        return False
    return is_blank(after) or "\n" not in place.old[place.units[-1].old_end :]


_ELIDED = sentence("elision")


def find_elided(folded: FoldedText, old: str, new: str, expected: int | None) -> Outcome:
    """Find the parts of `old` around its placeholder lines; None when it has none, or a part is nowhere."""
    parts, marks = _split(old)
    if not marks or any(not part.strip() for part in parts):
        return None
    new_parts, new_marks = _split(new)
    if [mark.strip() for mark in marks] != [mark.strip() for mark in new_marks]:
        return Refused(
            Why.UNCLEAR, _ELIDED, "old_string leaves lines out that new_string doesn't: send the lines themselves"
        )
    found = _found(folded, parts, new_parts)
    if not all(found):
        return None
    places = [each[0] for each in found]
    spans = [(place.start, place.end) for each in found for place in each]
    if len(spans) > len(parts) or expected not in (1, None):
        reason = "the text around the lines left out is there more than once"
        return Refused(Why.AMBIGUOUS, _ELIDED, reason, tuple(sorted(spans)))
    if any(left.end > right.start for left, right in pairwise(places)):
        return Refused(
            Why.NO_MATCH, _ELIDED, "the parts of old_string are in the file in another order", tuple(sorted(spans))
        )
    try:
        written = [piece for place, part in zip(places, new_parts, strict=True) for piece in _write(place, part)]
    except UncleanError as error:
        return Refused(Why.UNCLEAR, _ELIDED, str(error), tuple(spans))
    return Found(_ELIDED, tuple(spans), tuple(written), (sentence("lines left out by a placeholder"),))


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


def _found(folded: FoldedText, parts: list[str], new_parts: list[str]) -> list[list[Place]]:
    """Return the places of each part; of one that stays, where nothing is written, the first behind the part before."""
    found: list[list[Place]] = []
    for part, new_part in zip(parts, new_parts, strict=True):
        behind = _places(folded, part, found[-1][0].end)[:1] if part == new_part and found and found[-1] else []
        found.append(behind or _places(folded, part))
    return found


def _places(folded: FoldedText, part: str, start: int = 0) -> list[Place]:
    """Return the place of a part from `start` on, the first two when it has more."""
    exact = [at for at in occurrences(folded.text, part) if at >= start][:2]
    if exact:
        return [Place(folded.text, part, align_equal(part, at)) for at in exact]
    return [place for place in folded_places(folded, part, at_most=_MORE_PLACES) if place.start >= start][:2]


def _write(place: Place, new: str) -> list[Replacement]:
    return [] if place.old == new else weave(place, new)
