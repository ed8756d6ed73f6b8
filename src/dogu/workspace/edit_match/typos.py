"""Stage "near": two lines or more, all but one or two of them in the file, the others off by a slip of the pen.

Forgives, on a line whose neighbours are right: one typing error in a longish word, letter case, the style of quotes,
a sign at the end, a comment told in other words, a comment left out. Never a digit. Safe because the lines that match
name the place, because nothing else in the file comes near it, and because a line with a slip keeps the file's text
where the change doesn't replace it; a comment in other words may only stay.

What `new` only repeats is never written, so more is forgiven there where the lines that match name the place without
it: a word, some brackets. And in a long line a word that the change doesn't touch.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA, Indel

from dogu.language import sentence
from dogu.workspace.edit_match.alignment import Place, Unit, align_folded, word_chars
from dogu.workspace.edit_match.apply import split_lines, weave
from dogu.workspace.edit_match.indentation import indent_of
from dogu.workspace.edit_match.nearest import LineIndex, starts_of
from dogu.workspace.edit_match.result import Found, Outcome, Refused, UncleanError, Why
from dogu.workspace.edit_match.rows import opcodes
from dogu.workspace.edit_match.slips import (
    BARE,
    END_SIGN,
    LEFT_OUT,
    LETTER_CASE,
    OTHERWISE,
    PARAPHRASE,
    WORDS,
    Difference,
    difference,
    is_whole_comment,
    slip_between,
    typing_error,
)
from dogu.workspace.edit_match.tables import is_rule
from dogu.workspace.edit_match.unescape import is_in_fence
from dogu.workspace.edit_match.views import fold

STAGE = sentence("near")
_WIDTHS = sentence("the width of columns")
_FEWEST_LINES = 2
_BESIDE_LINES = 30
_FEWEST_WORD_CHARS = 4
_FEWEST_EXACT_LINES = 2
_FEWEST_EXACT_WORD_CHARS = 8
_FEWEST_TELLING_CHARS = 15
_MOST_SLIPS = 2
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([^`]*)")
_CODE = re.compile(r"[={};]|\w\(|->|::")
_STATEMENT_ENDS = ";,"
_MOST_LEFT_OUT = 3
_LEAST_GAP_CHARS = 6
_LEAST_GAP_SHARE = 8  # and an eighth of the text


class _Line(NamedTuple):
    """A line of `old` that isn't blank: its text, its folded text, and where it begins in `old`.

    It `stays` where `new` has it just so at the same place.
    """

    text: str
    key: str
    offset: int
    stays: bool


class _Pair(NamedTuple):
    """A line of `old`, the number of the line of the file it stands on, and the slip between them, empty for none."""

    line: _Line
    number: int
    slip: str


@dataclass(frozen=True)
class _Window:
    """Each line with its counterpart, and what lines of the file lie between them."""

    pairs: list[_Pair]
    left_out: int

    @property
    def slips(self) -> list[_Pair]:
        return [pair for pair in self.pairs if pair.slip]


def find_near(index: LineIndex, old: str, new: str, expected: int | None) -> Outcome:
    """Find `old` where all but a slip or two of its lines are; None when that is nowhere."""
    lines = _lines(old, new)
    if not lines or expected not in (1, None) or (len(lines) < _FEWEST_LINES and not _is_long(lines[0].text)):
        return None
    starts = starts_of(index, [line.key for line in lines])
    windows = [window for start in starts if (window := _fit(index, lines, start))]
    if not windows:
        return None
    spans = tuple(sorted({_span(index, window) for window in windows}))
    window = windows[0]
    if len(spans) > 1 or not _stands_out(index, lines, window, starts):
        return Refused(Why.AMBIGUOUS, STAGE, "more than one place is nearly the same", spans)
    try:
        _check_words(index, window, old, new)
        written = weave(_align(index, old, window), new)
    except UncleanError as error:
        return Refused(Why.UNCLEAR, STAGE, str(error), spans)
    if _may_lack_signs(index, window, old, new):
        reason = "old_string lacks signs that the file has at the ends of lines; whether new lines do can't be told"
        return Refused(Why.UNCLEAR, STAGE, reason, spans)
    forgiven = [pair.slip for pair in window.slips]
    forgiven += [LEFT_OUT] * bool(window.left_out)
    return Found(STAGE, spans, tuple(written), tuple(dict.fromkeys(forgiven)))


def _lines(old: str, new: str) -> list[_Line]:
    ours, theirs = ([line.rstrip() for line in lines] for lines in split_lines(old, new))
    stays = {i for tag, i1, i2, _, _ in opcodes(ours, theirs) if tag == "equal" for i in range(i1, i2)}
    found: list[_Line] = []
    offset = 0
    for number, text in enumerate(old.split("\n")[: len(ours)]):
        key = fold(text)
        if key:
            found.append(_Line(text, key, offset, number in stays))
        offset += len(text) + 1
    return found


def _span(index: LineIndex, window: _Window) -> tuple[int, int]:
    first, last = window.pairs[0].number, window.pairs[-1].number
    line = index.line(first)
    return index.starts[first] + len(line) - len(line.lstrip()), index.ends[last]


def _fit(index: LineIndex, lines: Sequence[_Line], start: int) -> _Window | None:
    """Pair every line with one of the file from `start` on, in order; None when that takes more than slips."""
    pairs: list[_Pair] = []
    number = start
    left_out = 0
    # A line that the file has nearby is no slip of another one.
    beside = index.keys[max(start - _BESIDE_LINES, 0) : max(start, 0) + len(lines) + _BESIDE_LINES]
    known = {key for key in beside if word_chars(key) >= _FEWEST_WORD_CHARS}
    for line in lines:
        while 0 <= number < len(index.keys):
            exact = index.keys[number] == line.key
            slip = _slip(index, line, number, is_known=line.key in known)
            if exact or slip:
                pairs.append(_Pair(line, number, slip))
                break
            if not pairs or left_out == _MOST_LEFT_OUT or not is_whole_comment(index.line(number)):
                return None
            left_out += 1
            number += 1
        number += 1
    window = _Window(pairs, left_out)
    return window if len(pairs) == len(lines) and _is_likely(index, window) else None


def _slip(index: LineIndex, line: _Line, number: int, *, is_known: bool) -> str:
    """Name the slip by which a line is otherwise than the file; empty for none, and where it is another line."""
    file = index.line(number)
    if index.keys[number] != line.key and is_rule(line.text, file):
        return _WIDTHS
    if index.keys[number] != line.key and line.stays and _begins_fence(index, line, number):
        return OTHERWISE
    is_other = is_known or line.key in index.keys[number : number + 1 + _MOST_LEFT_OUT]
    slip = "" if is_other else slip_between(line.text, file, index.text)
    return slip or _otherwise(index, line, number)


def _begins_fence(index: LineIndex, line: _Line, number: int) -> bool:
    """Whether the line and the file's begin the same fence but for the info word. A bare one may as well end a fence,
    unless it is the first of `old`; of the file's, what is above it tells.
    """
    ours, theirs = (_FENCE.fullmatch(each) for each in (line.text, index.line(number)))
    if not ours or not theirs or ours[1] != theirs[1] or ours[2] == theirs[2]:
        return False
    return bool(ours[2] or line.offset == 0) and not is_in_fence(index.text, index.starts[number])


def _otherwise(index: LineIndex, line: _Line, number: int) -> str:
    """Name the slip of a line that has a word or some brackets otherwise than the file, where the line only stays, or
    is so long that it is known by the rest; empty where it may be another line.
    """
    file = index.line(number)
    if line.key == index.keys[number]:  # but for a blank between ideographs
        return OTHERWISE if line.stays and _have_blanks_otherwise(line.text, file) else ""
    found = None if line.key in index.keys else difference(line.text, file)
    if found is None or not _is_enough(found, line, index, number):
        return ""
    least = 2 * Indel.distance(line.key, index.keys[number]) + _LEAST_GAP_CHARS
    peers = process.extract_iter(line.key, index.keys, scorer=Indel.distance, score_cutoff=least - 1)
    return OTHERWISE if all(key == index.keys[number] for key, _, _ in peers) else ""


def _is_enough(found: Difference, line: _Line, index: LineIndex, number: int) -> bool:
    """Whether the rest of a line is enough to know it by, and the word that differs names nothing else."""
    file = index.line(number)
    is_head = number + 1 < len(index.keys) and len(indent_of(index.line(number + 1))) > len(indent_of(file))
    if not line.stays:
        words, share = 8, 0.9
    elif found.ours or found.theirs:
        words, share = (4, 0.75) if found.is_close and not is_head else (6, 0.85)
    else:
        words, share = 2, 0.75
    if found.words < words or found.share < share or not (line.stays or _is_small(found, file)):
        return False
    if is_head and found.theirs and found.theirs in WORDS.findall(file.partition("(")[0]):
        return False  # what a block's head names
    counts = Counter(WORDS.findall(index.text))
    is_named = any(len(word) >= _FEWEST_EXACT_WORD_CHARS and counts[word] == 1 for word in WORDS.findall(line.text))
    return is_named or not (found.ours and found.theirs) or counts[found.ours] == 0


def _is_small(found: Difference, file: str) -> bool:
    """Whether a line that changes may have such a difference: a letter or the case of a word, in text a word lost."""
    if found.ours and found.theirs:
        return found.ours.lower() == found.theirs.lower() or OSA.distance(found.ours, found.theirs) <= 1
    return found.theirs != "" and _CODE.search(file) is None


def _have_blanks_otherwise(ours: str, theirs: str) -> bool:
    """Whether two lines that are the same but for blanks differ by those between ideographs."""
    one, other = (["".join(filter(str.isascii, word)) for word in WORDS.findall(line)] for line in (ours, theirs))
    return WORDS.findall(ours) != WORDS.findall(theirs) and [*filter(None, one)] == [*filter(None, other)]


def _is_long(line: str) -> bool:
    return len(WORDS.findall(line)) > 8


def _is_likely(index: LineIndex, window: _Window) -> bool:
    """Whether slips are few and the lines without one are enough to know the place by: several, or one that is nowhere
    else beside one that says the same.
    """
    slips = window.slips
    exact = [pair for pair in window.pairs if not pair.slip]
    if any(pair.slip == OTHERWISE for pair in slips):
        return len(slips) + bool(window.left_out) <= _MOST_SLIPS and _is_placed(index, window)
    if len(window.pairs) <= _FEWEST_LINES:
        return _is_known(index, window, exact) or (
            len(slips) == 1 and not window.left_out and _is_placed(index, window)
        )
    if not 1 <= len(slips) + bool(window.left_out) <= _MOST_SLIPS or len(exact) < _FEWEST_EXACT_LINES:
        return False
    if window.left_out and any(pair.slip == PARAPHRASE for pair in slips):
        return False  # one comment for two, or two for one, can't be told apart from these
    return sum(word_chars(pair.line.key) for pair in exact) >= _FEWEST_EXACT_WORD_CHARS


def _is_placed(index: LineIndex, window: _Window) -> bool:
    """Whether lines that are just so in the file, one behind the other, are enough to know the place by, or a long one
    that changes is.
    """
    for pair in window.slips:
        if not pair.line.stays:
            is_one = index.keys.count(index.keys[pair.number]) == 1
            return is_one and _otherwise(index, pair.line, pair.number) != ""
    for run in _runs(window):
        keys = [pair.line.key for pair in run]
        times = (index.keys[at : at + len(keys)] == keys for at, key in enumerate(index.keys) if key == keys[0])
        if sum(map(word_chars, keys)) >= _FEWEST_TELLING_CHARS and sum(times) == 1:
            return True
    return False


def _runs(window: _Window) -> Iterator[list[_Pair]]:
    """Yield the stretches of lines without a slip that lie together in the file."""
    run: list[_Pair] = []
    for pair in window.pairs:
        if run and (pair.slip or pair.number != run[-1].number + 1):
            yield run
            run = []
        run += [pair] * (not pair.slip)
    if run:
        yield run


def _check_words(index: LineIndex, window: _Window, old: str, new: str) -> None:
    """Raise `UncleanError` where the change has to do with a word that `old` has otherwise than the file: new lines
    bring it, or it goes, or what is beside it does.
    """
    ours, theirs = (WORDS.findall(string) for string in (old, new))
    brought = Counter(theirs) - Counter(ours)
    written = f" {' '.join(theirs)} "
    for pair in window.slips:
        found = difference(pair.line.text, index.line(pair.number)) if pair.slip == OTHERWISE else None
        if found is None:
            continue
        stays = pair.line.stays or all(f" {mine} " in written or f" {file} " in written for mine, file in found.spots)
        is_elsewhere = ours.count(found.ours) > WORDS.findall(pair.line.text).count(found.ours)
        if brought[found.ours] or not stays or (is_elsewhere and not pair.line.stays):
            raise UncleanError("new_string changes a line just where old_string has another word than the file")


def _is_known(index: LineIndex, window: _Window, exact: Sequence[_Pair]) -> bool:
    """Whether two lines are those of the file but for a comment left out or the letter case of one, and one is nowhere
    else.
    """
    kinds = {pair.slip for pair in window.slips} | {LEFT_OUT for _ in range(window.left_out)}
    telling = [pair for pair in exact if index.keys.count(pair.line.key) == 1]
    is_sure = any(word_chars(pair.line.key) >= _FEWEST_TELLING_CHARS for pair in telling)
    return is_sure and len(kinds) == 1 and kinds <= {LEFT_OUT, LETTER_CASE}


def _stands_out(index: LineIndex, lines: Sequence[_Line], window: _Window, starts: Sequence[int]) -> bool:
    """Whether every other likely place differs far more than this one."""
    whole = "\n".join(line.key for line in lines)
    first, last = window.pairs[0].number, window.pairs[-1].number
    own = Indel.distance(whole, "\n".join(index.keys[pair.number] for pair in window.pairs))
    least = own + max(_LEAST_GAP_CHARS, len(whole) // _LEAST_GAP_SHARE)
    others = [start for start in starts if not first - len(lines) < start <= last]
    return all(
        Indel.distance(whole, "\n".join(index.keys[max(start, 0) : start + len(lines)])) >= least for start in others
    )


def _may_lack_signs(index: LineIndex, window: _Window, old: str, new: str) -> bool:
    """Whether lines of `old` lack a sign that the file ends them with, and that every statement ends with or no line of
    either string does, and new lines end with none.
    """
    before, after = ([line.rstrip() for line in lines if line.strip()] for lines in split_lines(old, new))
    ends = {line[-1] for line in [*before, *after]} - {*_STATEMENT_ENDS}
    slips = ((pair.line.key, index.keys[pair.number]) for pair in window.slips if pair.slip == END_SIGN)
    lacking = {file[-1] for ours, file in slips if file[:-1] == ours} - ends
    known = {line.strip() for line in before}
    added = (line for line in after if line.strip() not in known and not is_whole_comment(line))
    return not lacking.isdisjoint(_STATEMENT_ENDS if len(after) <= len(before) else lacking) and any(
        map(BARE.match, added)
    )


def _align(index: LineIndex, old: str, window: _Window) -> Place:
    units: list[Unit] = []
    slips: dict[Unit, _Pair] = {}
    for pair in window.pairs:
        start, end = index.starts[pair.number], index.ends[pair.number]
        if pair.slip:
            aligned, slip = _align_slip(index.text, pair.line, start, end)
            slips[_moved(slip, pair.line.offset)] = pair
        else:
            aligned = align_folded(index.text, pair.line.text, start, end)
        units += [_moved(unit, pair.line.offset) for unit in aligned]
    words = [word for pair in slips.values() for word in _slipped_words(pair, index)]
    fixed = frozenset(unit for unit, pair in slips.items() if _is_fixed(pair))
    return Place(index.text, old, units, frozenset(slips), fixed, tuple(words))


def _is_fixed(pair: _Pair) -> bool:
    """Whether the line may only stay as the file has it."""
    return pair.slip in (PARAPHRASE, LEFT_OUT) or (pair.slip == OTHERWISE and pair.line.stays)


def _slipped_words(pair: _Pair, index: LineIndex) -> list[tuple[str, str]]:
    """Return each word that the model has otherwise than the file, and the file's."""
    if pair.slip == OTHERWISE:
        found = None if pair.line.stays else difference(pair.line.text, index.line(pair.number))
        return [(found.ours, found.theirs)] if found and found.ours and found.theirs else []
    line = index.line(pair.number)
    if pair.line.text.casefold().split() != line.casefold().split():
        error = typing_error(pair.line.text, line, index.text)
        return [error] if error else []
    both = zip(WORDS.findall(pair.line.text), WORDS.findall(line), strict=False)
    return [(wrong, right) for wrong, right in both if wrong != right]


def _moved(unit: Unit, by: int) -> Unit:
    return unit._replace(old_start=unit.old_start + by, old_end=unit.old_end + by)


def _align_slip(text: str, line: _Line, start: int, end: int) -> tuple[list[Unit], Unit]:
    """Align a line with `text[start:end]` up to its slip, over it in one unit, and from there on; old positions in
    the line.
    """
    ours, theirs = line.text.strip(), text[start:end].strip()
    old_start, start = line.text.index(ours), start + text[start:end].index(theirs)
    old_end, end = old_start + len(ours), start + len(theirs)
    shortest = min(len(ours), len(theirs))
    head = next((k for k in range(shortest) if ours[k] != theirs[k]), shortest)
    tail = next((k for k in range(shortest - head) if ours[-1 - k] != theirs[-1 - k]), shortest - head)
    if head + tail == shortest:  # one side has nothing there: let the slip take in a character that both have
        head, tail = (head - 1, tail) if head else (head, tail - 1)
    slip = Unit(old_start + head, old_end - tail, start + head, end - tail)
    before = [Unit(old_start + k, old_start + k + 1, start + k, start + k + 1) for k in range(head)]
    after = [Unit(old_end - k, old_end - k + 1, end - k, end - k + 1) for k in range(tail, 0, -1)]
    return [*before, slip, *after], slip
