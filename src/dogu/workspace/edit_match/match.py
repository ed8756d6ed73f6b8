r"""Find, read, align, write, verify: the stages in order; the first that finds `old` anywhere decides.

`exact`; then one known garbling of the strings undone (`unescape`), one of what the file has (`variants`), white space
and look-alikes (`folded`); then two of these at once; then what formatters add (`layout`, `wrapped`), lines left out
(`elided`) and slips (`near`). Each states what it forgives and why that can neither lose nor move content; what an
inexact one would write is checked by `verify`, which knows nothing of how it came about. Several ways to read the
strings are judged by the text they lead to: where that is the same they agree, where it isn't the edit is refused.

All of them see text whose lines end in `\n`; what they write gets the line endings of its place here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

from dogu.language import sentence
from dogu.workspace.edit_match.alignment import PROSE, TRAILING, word_chars
from dogu.workspace.edit_match.depths import check_shift
from dogu.workspace.edit_match.find import find_elided, find_exact, find_folded, folded_places
from dogu.workspace.edit_match.garbled import fence_within, garbled_copy, is_garbled_alone
from dogu.workspace.edit_match.layout import half_made, laid_out
from dogu.workspace.edit_match.lost_depth import restored_head
from dogu.workspace.edit_match.nearest import LineIndex, nearest, places_shown
from dogu.workspace.edit_match.parses import hangs_together, is_broken_itself, still_parses
from dogu.workspace.edit_match.result import (
    OVERLAP,
    Found,
    Outcome,
    Refused,
    Replacement,
    UncleanError,
    Why,
    lie_apart,
    spliced,
)
from dogu.workspace.edit_match.unescape import (
    DIFF_STAGE,
    ESCAPE_STAGES,
    FENCE_STAGE,
    JSON_STAGE,
    NUMBERS_STAGE,
    Reading,
    check_escapes,
    fills_fence,
    is_fenced,
    is_json,
    readings,
    ungarbled,
)
from dogu.workspace.edit_match.variants import find_variant
from dogu.workspace.edit_match.views import FoldedText, fold, settle_endings, with_newlines
from dogu.workspace.edit_match.wrapped import rewrapped
from dogu.workspace.text.omission import find_dots, find_emptied, find_left_out, find_omission

LineSpan = tuple[int, int]
_TELLING_CHARS = 10
_LONGEST_SHOWN = 80
_MOST_MADE = 3
_MANY_CHARS = 20
_BESIDE_CHARS = 500
_INDENTATION = sentence("indentation")
_ZERO_WIDTH = sentence("zero-width characters")
# Which garbling is looked for within which: numbers within numbered lines are the file's, and so are escapes within
# escapes, where a fence is text in quotes.
_TWICE: tuple[tuple[Callable[[str], bool], Callable[[str], bool]], ...] = (
    (lambda outer: outer not in {*ESCAPE_STAGES, NUMBERS_STAGE}, lambda _: True),
    (lambda outer: outer == NUMBERS_STAGE, lambda inner: inner != NUMBERS_STAGE),
    (lambda outer: outer in ESCAPE_STAGES, lambda inner: inner in (NUMBERS_STAGE, DIFF_STAGE)),
)
_BROUGHT = "\ufeff\u200b\u2060"  # what joins nothing
_UNSEEN = "\ufeff\u200b\u200c\u200d\u200e\u200f\u2060"


class Wanted(NamedTuple):
    """An edit as a model asks for it; `expected` is how often `old` must be there, None for as often as it is."""

    old: str
    new: str
    expected: int | None = 1


@dataclass(frozen=True)
class Edit:
    """What to write, and how it was found.

    `replacements` are in positions of the text given, ascending and apart; `lines` are first and last line (1-based)
    of each place; `forgiven` says in words how the file's text differs from `old_string` there.
    """

    stage: str
    replacements: tuple[Replacement, ...]
    lines: tuple[LineSpan, ...]
    forgiven: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether `old_string` was found as it was sent, and `new_string` written as it was."""
        return self.stage == "exact" and not self.forgiven


@dataclass(frozen=True)
class Edits:
    """Several edits of one text, each found in that text as it is: `each` as asked for, `replacements` of all,
    ascending and apart.
    """

    each: tuple[Edit, ...]
    replacements: tuple[Replacement, ...]


@dataclass(frozen=True)
class Refusal:
    """Why nothing is written, for the model to act on.

    `reason` is a sentence or empty; `lines` are the places that came into question, first and last line (1-based);
    `nearest` is a small diff from `old_string` to the file where nothing was found, `shown` what stands at the places.
    `index` is the number (from 0) of the edit that is refused where several were asked for.
    """

    why: Why
    reason: str = ""
    stage: str = ""
    lines: tuple[LineSpan, ...] = ()
    nearest: str = ""
    shown: str = ""
    index: int = 0


def match_edit(
    text: str, old: str, new: str, expected: int | None = 1, *, path: str = "", exact_only: bool = False
) -> Edit | Refusal:
    """Find what `old` means in `text` and work out what to write there for `new`, or refuse.

    `expected` is how often `old` must be there, None for as often as it is. `path` says by its ending what language
    the text is in. With `exact_only` no stage but the first is tried.
    """
    return _Matcher(text, path).match(Wanted(old, new, expected), exact_only=exact_only)


def match_edits(text: str, wanted: Sequence[Wanted], *, path: str = "", exact_only: bool = False) -> Edits | Refusal:
    """Find all edits in the same `text`; refuse all where one is refused or two change the same place.

    Edits may share lines of context, which neither changes. `path` and `exact_only` are as in `match_edit`.
    """
    matcher = _Matcher(text, path)
    found: list[Edit] = []
    for index, one in enumerate(wanted):
        edit = matcher.match(one, exact_only=exact_only, alone=len(wanted) == 1)
        if isinstance(edit, Refusal):
            return replace(edit, index=index)
        found.append(edit)
    pieces = sorted((_trimmed(text, piece), index) for index, edit in enumerate(found) for piece in edit.replacements)
    for (left, _), (right, index) in pairwise(pieces):
        if left.end > right.start or left.start == right.start:
            return Refusal(Why.OVERLAP, lines=found[index].lines, index=index)
    made = tuple(piece for piece, _ in pieces)
    inexact = [index for index, edit in enumerate(found) if edit.forgiven]
    if len(found) > 1 and inexact and not still_parses(path, text, spliced(text, made)):
        return replace(_unparsable(found[inexact[0]].stage, found[inexact[0]].lines), index=inexact[0])
    return Edits(tuple(found), made)


def _trimmed(text: str, piece: Replacement) -> Replacement:
    """Return the replacement without whole lines at its ends that stay as they are."""
    start, end, body = piece
    ours, theirs = text[start:end].splitlines(keepends=True), body.splitlines(keepends=True)
    head = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    ours, theirs, start = ours[head:], theirs[head:], start + sum(map(len, ours[:head]))
    while ours and theirs and ours[-1] == theirs[-1]:
        end -= len(ours.pop())
        theirs.pop()
    return Replacement(start, end, "".join(theirs))


class _Matcher:
    """A text that edits are found in."""

    def __init__(self, text: str, path: str) -> None:
        self._source = text
        self._path = path
        self._view = with_newlines(text)
        self._text = self._view.text
        self._folded = FoldedText(self._text, path)

    def match(self, wanted: Wanted, *, exact_only: bool = False, alone: bool = True) -> Edit | Refusal:
        """Find one edit; one that isn't `alone` may leave a text that can't be parsed without the others."""
        wanted = Wanted(self._with_breaks(wanted.old), self._with_breaks(wanted.new), wanted.expected)
        sent, wanted = wanted, wanted._replace(**self._without_unseen(wanted.old, wanted.new))
        whole, wanted = wanted, wanted._replace(new=restored_head(*wanted[:2]))
        refusal = self._refuse_strings(wanted)
        if refusal is not None:
            return refusal
        outcome = self._exact(wanted)
        if outcome is None and not exact_only:
            outcome = self._inexact(wanted, whole)
        if isinstance(outcome, Found):
            undone = [_INDENTATION] * (wanted != whole) + [_ZERO_WIDTH] * (sent != whole)
            outcome = replace(outcome, forgiven=tuple(dict.fromkeys([*outcome.forgiven, *undone])))
            outcome = self._refuse_garbled(whole, outcome) or self._refuse_made(wanted, outcome) or outcome
        if isinstance(outcome, Refused):
            lines = _line_spans(self._text, outcome.spans)
            shown = places_shown(self._text, lines, whole=outcome.why is Why.UNCLEAR)
            return Refusal(outcome.why, outcome.reason, outcome.stage, lines, shown=shown)
        if outcome is None:
            return self._nowhere(wanted)
        if alone and not self._parses(whole, outcome):
            return _unparsable(outcome.stage, _line_spans(self._text, outcome.spans))
        return self._edit(outcome)

    def _refuse_garbled(self, wanted: Wanted, found: Found) -> Refused | None:
        """Refuse a `new` that is garbled though `old` isn't, both as they were read."""
        old, new = found.read or wanted[:2]
        (start, end), text = found.spans[0], self._text
        head = text[max(0, start - _BESIDE_CHARS) : start].rpartition("\n")[2]
        rest = text[end : end + _BESIDE_CHARS].partition("\n")[0]
        head, rest = head if head.strip() and old[:1] != "\n" else "", rest if "\n" not in (old[-1:], new[-1:]) else ""
        number = text.count("\n", 0, start) + 1
        reason = is_garbled_alone(head + old + rest, head + new + rest, text, number, self._path)
        written = [piece.body for piece in found.replacements]
        if not reason and found.forgiven and fence_within(old, self._text, found.replacements, self._path):
            reason = "a fence of new_string would stand in a block of code: indent old_string as the file does"
        copied = not reason and garbled_copy(old, written, self._text)
        if copied:
            reason = f"a line of new_string is garbled, which the file has so: {copied[:_LONGEST_SHOWN]}"
        garbling = "" if reason or found.stage != "exact" else self._breaks_by(wanted, found)
        if garbling:
            reason = f"new_string can't be parsed there as it is, but it could without this: {garbling}"
        return Refused(Why.UNCLEAR, found.stage, reason, found.spans) if reason else None

    def _refuse_made(self, wanted: Wanted, found: Found) -> Refused | None:
        """Refuse a place that `old` isn't in as it was sent where what would be written stands elsewhere already.

        A short line must stand there as it was sent, and so must what only takes text away.
        """
        (start, end), old, new = found.spans[0], *(found.read or wanted[:2])
        if {*found.forgiven} <= {TRAILING} or len(found.spans) > 1 or wanted.old in self._text:
            return None
        low = min([start, *(piece.start for piece in found.replacements)])
        high = max([end, *(piece.end for piece in found.replacements)])
        moved = [Replacement(piece.start - low, piece.end - low, piece.body) for piece in found.replacements]
        made = spliced(self._text[low:high], moved)
        is_there = f"\n{new}\n" in f"\n{self._text}\n"
        for text in {made, new, wanted.new}:
            key = fold(text)
            if word_chars(key) < _TELLING_CHARS or key == fold(old):
                continue
            is_short = ("\n" not in text.strip("\n") and word_chars(key) < _MANY_CHARS) or key in fold(old)
            for place in folded_places(self._folded, text, at_most=_MOST_MADE) if is_there or not is_short else ():
                if self._text.count("\n", place.start, place.end) != text.strip().count("\n"):
                    continue
                is_beside = place.end <= start or end <= place.start
                is_around = place.start <= start and end <= place.end and len(key) > len(fold(self._text[start:end]))
                is_new = is_beside or (text is not made and key not in fold(old))
                if is_around or (is_new and old not in self._text):
                    reason = "new_string is there already; was this edit made before?"
                    return Refused(Why.UNCLEAR, found.stage, reason, ((place.start, place.end),))
        return None

    def _breaks_by(self, wanted: Wanted, found: Found) -> str:
        """Name the garbling of `new` without which the text can be parsed, and can't as it was sent; empty for none."""

        def parses(new: str) -> bool:
            pieces = [Replacement(*span, new) for span in found.spans]
            return still_parses(self._path, self._text, spliced(self._text, pieces))

        ways = [(forgiven, new) for forgiven, new in ungarbled(wanted.new) if new != wanted.new]
        if not ways or parses(wanted.new):
            return ""
        return next((forgiven for forgiven, new in ways if parses(new)), "")

    def _refuse_strings(self, wanted: Wanted) -> Refusal | None:
        if not wanted.old.strip():
            return Refusal(
                Why.NO_MATCH, "old_string is nothing but white space, which names no place: add the lines around it"
            )
        if wanted.old == wanted.new:
            return Refusal(Why.NO_CHANGE, "old_string and new_string are the same")
        reason = self._omission(wanted)
        return Refusal(Why.OMISSION, reason) if reason else None

    def _omission(self, wanted: Wanted) -> str:
        """Say where `new` stands for code left out; empty where it doesn't."""
        old, new = wanted.old, wanted.new
        omission = find_omission(new, old, self._path)
        omission = omission and find_omission(new, f"{old}\n{self._text}", self._path)
        omission = omission or find_dots(new, old, self._text) or find_emptied(new, old, self._text)
        omission = omission or find_left_out(new, old, self._text, self._path)
        return f"line {omission[0]} of new_string stands for code left out: {omission[1]!r}" if omission else ""

    # the stages

    def _exact(self, wanted: Wanted) -> Outcome:
        return find_exact(self._text, *wanted, self._path)

    def _normalised(self, wanted: Wanted) -> Outcome:
        """Find the strings but for white space; where two ways to indent `new` are left, the one that fits the text if
        the other doesn't.
        """
        outcome = find_folded(self._folded, *wanted)
        if not isinstance(outcome, Refused) or not outcome.has_two_ways:
            return outcome
        ways = (find_folded(self._folded, *wanted, as_file=as_file) for as_file in (False, True))
        fitting = [way for way in ways if isinstance(way, Found) and self._fits(way)]
        return fitting[0] if len(fitting) == 1 else outcome

    def _fits(self, found: Found) -> bool:
        return hangs_together(self._path, self._text, found.replacements)

    def _elided(self, wanted: Wanted) -> Outcome:
        return find_elided(self._folded, *wanted)

    def _read_twice(self, ways: Sequence[Reading], sent: Wanted) -> Outcome:
        """Find strings that are garbled in a second way, too, as `_TWICE` has it."""
        for is_outer, is_inner in _TWICE:

            def read_again(wanted: Wanted, is_inner: Callable[[str], bool] = is_inner) -> Outcome:
                again = [way for way in readings(wanted.old, wanted.new) if is_inner(way.stage)]
                return self._agreed(again, wanted, self._normalised)

            if outcome := self._agreed([way for way in ways if is_outer(way.stage)], sent, read_again):
                return outcome
        return None

    def _near(self, wanted: Wanted) -> Outcome:
        from dogu.workspace.edit_match.typos import LEFT_OUT, find_near  # with it comes rapidfuzz, which few edits need

        outcome = find_near(LineIndex(self._folded), *wanted)
        # What begins with `#` or `*` is a comment in programs; in prose it is a heading or one of a list.
        is_prose = PurePath(self._path).suffix.lower() in PROSE
        return None if is_prose and isinstance(outcome, Found) and LEFT_OUT in outcome.forgiven else outcome

    def _requoted(self, wanted: Wanted, *, is_found: bool = False) -> Outcome:
        from dogu.workspace.edit_match.quoted import requoted  # as above

        ways = requoted(LineIndex(self._folded), wanted.old, wanted.new) if wanted.expected in (1, None) else []
        if isinstance(ways, Refused):
            return ways
        if is_found:
            ways = [way for way in ways if _full_lines(way.old) != _full_lines(wanted.old)]
        return self._agreed(ways, wanted, lambda way: self._exact(way) or self._normalised(way) or self._near(way))

    def _reconsidered(self, outcome: Outcome, wanted: Wanted) -> Outcome:
        """Read the strings anew where the place is known, but what to write isn't: lines may be wrapped otherwise."""
        if not isinstance(outcome, Refused) or outcome.why is not Why.UNCLEAR:
            return outcome
        found = self._requoted(wanted, is_found=True)
        return found if isinstance(found, Found) else outcome

    def _inexact(self, wanted: Wanted, sent: Wanted) -> Outcome:
        ways = [*readings(sent.old, sent.new)]
        return (
            self._agreed(ways, sent, self._exact)
            or find_variant(self._text, *wanted, folds=False)
            or self._reconsidered(self._normalised(wanted), wanted)
            or self._agreed(ways, sent, self._normalised)
            or find_variant(self._text, *wanted, folds=True)
            or self._agreed([*laid_out(self._folded, *sent[:2])], sent, self._normalised)
            or self._agreed([*rewrapped(self._folded, *sent[:2])], sent, self._normalised)
            or self._agreed([*half_made(*sent[:2])], sent, self._normalised)
            or self._read_twice(ways, sent)
            or self._elided(wanted)
            or self._requoted(wanted)
            or self._near(wanted)
            or self._agreed(self._strange(ways, sent.old), sent, self._elided)
            or self._agreed(self._strange(ways, sent.old), sent, self._requoted)
            or self._agreed(self._strange(ways, sent.old), sent, self._near)
        )

    def _strange(self, ways: Sequence[Reading], old: str) -> list[Reading]:
        """Return the readings of what the file doesn't have as it was sent: a line of words that it has so isn't
        garbled.
        """
        sent = {line for line in map(str.strip, old.split("\n")) if word_chars(line)}
        alike = sent.intersection(map(str.strip, self._text.split("\n"))) if ways else set[str]()
        return [way for way in ways if alike <= {*map(str.strip, way.old.split("\n"))}]

    def _agreed(self, ways: Sequence[Reading], wanted: Wanted, find: Callable[[Wanted], Outcome]) -> Outcome:
        """Find the strings as one of `ways` reads them; refuse where ways that fit lead to different texts."""
        found: list[tuple[Reading, Found]] = []
        refused: Refused | None = None
        for way in map(self._without_final_newline, ways):
            way = way._replace(**self._without_unseen(way.old, way.new))
            way = way._replace(new=restored_head(way.old, way.new))
            read = Wanted(way.old, way.new, wanted.expected)
            outcome = find(read) if way.old.strip() else None
            if outcome is not None and way.stage == FENCE_STAGE and self._is_own_fence(wanted.old, outcome):
                continue
            if isinstance(outcome, Found):
                omission = self._omission(read)
                if omission:
                    return Refused(Why.OMISSION, way.stage, omission, outcome.spans)
                outcome = self._checked(outcome, way, wanted.new)
            if isinstance(outcome, Found):
                found.append((way, outcome))
            elif outcome is not None and refused is None:
                reason = "; ".join(filter(None, (way.forgiven, outcome.reason)))
                refused = Refused(outcome.why, way.stage, reason, outcome.spans)
        return self._choice(found, wanted.new) if found else refused

    def _is_own_fence(self, sent: str, outcome: Found | Refused) -> bool:
        """Whether the fence that was taken off `old` is the text's own, and none around the strings."""
        return is_fenced(sent) and any(fills_fence(self._text, *span) for span in outcome.spans)

    def _checked(self, found: Found, way: Reading, sent: str) -> Found | Refused:
        """What was read anew and then found as it is has passed no check: it must shift no lines."""
        try:
            if way.stage in ESCAPE_STAGES:
                check_escapes(way, sent, self._text)
            if not found.forgiven:
                check_shift(way.old, way.new)
        except UncleanError as error:
            return Refused(Why.UNCLEAR, found.stage, str(error), found.spans)
        return found

    def _choice(self, found: Sequence[tuple[Reading, Found]], sent: str) -> Found | Refused:
        texts = {spliced(self._text, outcome.replacements) for _, outcome in found}
        if len(texts) > 1:
            found = _likelier(found, sent)
            texts = {spliced(self._text, outcome.replacements) for _, outcome in found}
        way, outcome = found[0]
        if len(texts) == 1 and (way.is_sure or len([other for other, _ in found if other.old == way.old]) > 1):
            return replace(
                outcome,
                stage=way.stage,
                forgiven=(way.forgiven, *outcome.forgiven),
                read=outcome.read or (way.old, way.new),
            )
        stages = dict.fromkeys(other.stage for other, _ in found)
        reason = (
            f"the strings can be read in several ways ({', '.join(stages)})"
            if len(stages) > 1
            else f"{way.forgiven} in old_string; whether in new_string too can't be told"
        )
        return Refused(Why.UNCLEAR, way.stage, reason, outcome.spans)

    def _without_final_newline(self, way: Reading) -> Reading:
        """Return the reading without the final newline that the last line of the file doesn't have."""
        if way.old in self._text or not way.old.endswith("\n") or not self._text.endswith(way.old[:-1]):
            return way
        return way._replace(old=way.old[:-1], new=way.new.removesuffix("\n"))

    def _with_breaks(self, string: str) -> str:
        """Return a string with its line endings as `\\n`; a lone CR is one where the text has none."""
        string = string.replace("\r\n", "\n")
        return string if "\r" in self._text else string.replace("\r", "\n")

    def _without_unseen(self, old: str, new: str) -> dict[str, str]:
        """Return the strings without what reading a file shows of its first character, or copying brings along: where
        `old` has it and the text hasn't, wherever it is.
        """
        brought = {ord(char): None for char in _BROUGHT if char in old and char not in self._text}
        old, new = (old.translate(brought), new.translate(brought)) if brought else (old, new)
        if old in self._text:  # but a mark of direction may be meant
            return {"old": old, "new": new.lstrip(_BROUGHT)}
        is_odd = old[:1] in _UNSEEN or new[:1] in _UNSEEN
        return {"old": old.lstrip(_UNSEEN), "new": new.lstrip(_UNSEEN)} if is_odd else {"old": old, "new": new}

    # what comes of it

    def _parses(self, wanted: Wanted, found: Found) -> bool:
        """Whether the text can be parsed as before, as far as that is the engine's doing."""
        if not found.forgiven or still_parses(self._path, self._text, spliced(self._text, found.replacements)):
            return True
        old, new = found.read or (wanted.old, wanted.new)
        if new != wanted.new:
            return False
        as_sent = spliced(self._text, [Replacement(*span, new) for span in found.spans])
        return is_broken_itself(self._path, old, new, as_sent)

    def _edit(self, found: Found) -> Edit | Refusal:
        lines = _line_spans(self._text, found.spans)
        if not lie_apart([piece[:2] for piece in found.replacements]):
            return Refusal(Why.AMBIGUOUS, OVERLAP, found.stage, lines)
        settled = settle_endings(self._view, self._source, found.replacements)
        replacements = tuple(piece for piece in settled if self._source[piece.start : piece.end] != piece.body)
        if not replacements:
            return Refusal(Why.NO_CHANGE, "what new_string changes is so in the file already", found.stage, lines)
        return Edit(found.stage, replacements, lines, found.forgiven)

    def _nowhere(self, wanted: Wanted) -> Refusal:
        text, new = self._text, wanted.new
        if len(new.strip()) > _TELLING_CHARS and text.count(new) == 1 and new not in wanted.old:
            start = text.index(new)
            lines = _line_spans(text, ((start, start + len(new)),))
            return Refusal(Why.NO_MATCH, "new_string is there already; was this edit made before?", "", lines)
        spans, diff = nearest(LineIndex(self._folded), wanted.old)
        return Refusal(Why.NO_MATCH, "", "", _line_spans(text, spans), diff)


def _full_lines(string: str) -> list[str]:
    return ["".join(line.split()) for line in string.split("\n") if line.strip()]


def _likelier(found: Sequence[tuple[Reading, Found]], sent: str) -> Sequence[tuple[Reading, Found]]:
    """Return the readings that are left where one says more than the others: JSON where both strings are JSON as they
    were sent; of what stands before the lines, between a number and the line or as a diff's column, the most.
    """
    if {way.stage for way, _ in found} in ({NUMBERS_STAGE}, {DIFF_STAGE}):
        return found[:1]
    json = [one for one in found if one[0].stage == JSON_STAGE]
    same = all(way.old == json[0][0].old for way, _ in found) if json else False
    is_continued = "\\\\n" in sent and '\\"' not in sent  # a backslash, and then a line break or an n
    return json if same and is_json(sent) and not is_continued else found


def _unparsable(stage: str, lines: tuple[LineSpan, ...]) -> Refusal:
    return Refusal(Why.UNCLEAR, "written there, new_string would leave a file that can't be parsed", stage, lines)


def _line_spans(text: str, spans: tuple[tuple[int, int], ...]) -> tuple[LineSpan, ...]:
    """Return first and last line of each span; one that ends with a newline ends on the line of that."""
    found: list[LineSpan] = []
    number, done = 1, 0
    for start, end in spans:
        number += text.count("\n", done, start)
        done = start
        found.append((number, number + text.count("\n", start, max(end - 1, start))))
    return tuple(found)
