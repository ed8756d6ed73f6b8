"""Stage "near": three lines or more, all but one or two of them in the file, the others off by a slip of the pen.

Forgives, on a line whose neighbours are right: one typing error in a longish word the file doesn't know, letter case, the style of quotes, a
sign at the end, a comment told in other words, a comment left out. Never a digit, never a line of code more or less. Safe because the
lines that match exactly name the place, because nothing else in the file comes near it, and because a line with a slip keeps the file's
text unless the change replaces it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

from dogu.workspace.edit_match.alignment import Place, Unit, align_folded
from dogu.workspace.edit_match.folding import fold
from dogu.workspace.edit_match.result import Found, Outcome, Refused, Why
from dogu.workspace.edit_match.weave import UncleanError, split_lines, weave
from dogu.workspace.edit_match.words import word_chars

STAGE = "near"
PARAPHRASE = "a comment in other words"
_FEWEST_LINES = 3
_MOST_SLIPS = 2
_MOST_LEFT_OUT = 3
_COMMON = 50  # a line that occurs oftener names no place
_CANDIDATES = 6
_FEWEST_WORDS = 5
_WORDS = re.compile(r"\w+")
_COMMENT = re.compile(
    r"\s*(//|#(?!(?:\s*(?:include|define|undef|ifdef|ifndef|endif|elif|pragma)|if|else|line|!)\b)|--\s|<!--|;|%|/\*|\*(?:\s|/|$)"
    r"|\"\"\"|''')"
)
_ARTICLE = re.compile(r"\b(?:a|an|the)\s+(?=\S)", re.IGNORECASE)
_CONTRACTION = re.compile(r"(?:'|\u2019)(s|re)\b")
_QUOTES = re.compile(r"[\"'`]")


class _Pair(NamedTuple):
    old: int
    file: int
    slip: str  # what is forgiven, empty for none


class _Window(NamedTuple):
    pairs: list[_Pair]
    left_out: int
    distance: int


class LineIndex:
    """The lines of a text that aren't blank, folded, and where each begins and ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.keys: list[str] = []
        position = 0
        for line in text.split("\n"):
            key = fold(line)
            if key:
                self.starts.append(position)
                self.ends.append(position + len(line))
                self.keys.append(key)
            position += len(line) + 1

    def line(self, number: int) -> str:
        """Return a line as it is in the text."""
        return self.text[self.starts[number] : self.ends[number]]


def likely_starts(index: LineIndex, keys: list[str]) -> list[tuple[int, int]]:
    """Return where in the file lines like `keys` may begin, as (weight, number of line), the likeliest first."""
    wanted: dict[str, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        wanted[key].append(i)
    places: dict[str, list[int]] = defaultdict(list)
    for number, key in enumerate(index.keys):
        if key in wanted and len(places[key]) <= _COMMON:
            places[key].append(number)
    votes: dict[int, int] = defaultdict(int)
    for key, numbers in places.items():
        if len(numbers) > _COMMON or len(wanted[key]) > _COMMON:
            continue
        weight = 1 + word_chars(key)
        for number in numbers:
            for i in wanted[key]:
                votes[number - i] += weight
    near: dict[int, int] = {}
    for start in votes:
        near[start] = sum(votes.get(start + shift, 0) for shift in range(_MOST_LEFT_OUT + 1))
    return sorted(((weight, start) for start, weight in near.items()), key=lambda vote: (-vote[0], vote[1]))


def find_near(index: LineIndex, old: str, new: str, expected: int | None) -> Outcome:
    """Find `old` where all but a slip or two of its lines are; None when that is nowhere or not sure."""
    lines, _ = split_lines(old, new)
    rows = [i for i, line in enumerate(lines) if fold(line)]
    if len(rows) < _FEWEST_LINES or (expected or 1) != 1:
        return None
    keys = [fold(lines[i]) for i in rows]
    starts = [start for _, start in likely_starts(index, keys)[:_CANDIDATES]]
    found: list[tuple[int, _Window]] = []
    for start in starts:
        window = _fit(index, [lines[i] for i in rows], keys, start)
        if window:
            found.append((start, window))
    if not found:
        return None
    start, best = min(found, key=lambda item: item[1].distance)
    spans = tuple(sorted(_span(index, window) for _, window in found))
    if len(set(spans)) > 1 or not _stands_out(index, keys, start, best, starts):
        return Refused(Why.AMBIGUOUS, STAGE, "more than one place is nearly the same", spans)
    units: list[Unit] = []
    slips: list[Unit] = []
    fixed: list[Unit] = []
    words: list[tuple[str, str]] = []
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    for pair in best.pairs:
        line = lines[rows[pair.old]]
        aligned, slip = _align_line(index, line, offsets[rows[pair.old]], pair)
        units += aligned
        if slip:
            slips.append(slip)
        word = typing_error(line, index.line(pair.file), index.text) if pair.slip else None
        if word:
            words.append(word)
        if slip and pair.slip == PARAPHRASE:
            fixed.append(slip)
    try:
        written = weave(Place(index.text, old, units, frozenset(slips), frozenset(fixed), tuple(words)), new)
    except UncleanError as error:
        return Refused(Why.UNCLEAR, STAGE, str(error), spans)
    forgiven = tuple(dict.fromkeys(pair.slip for pair in best.pairs if pair.slip))
    return Found(STAGE, spans, tuple(written), forgiven + (("a comment left out",) if best.left_out else ()))


def _span(index: LineIndex, window: _Window) -> tuple[int, int]:
    first, last = window.pairs[0].file, window.pairs[-1].file
    line = index.line(first)
    return index.starts[first] + len(line) - len(line.lstrip()), index.ends[last]


def _fit(index: LineIndex, lines: list[str], keys: list[str], start: int) -> _Window | None:
    """Pair every line with one of the file from `start` on, in order; None when that takes more than slips."""
    pairs: list[_Pair] = []
    number, left_out, distance, exact = start, 0, 0, 0
    for i, key in enumerate(keys):
        while True:
            if not 0 <= number < len(index.keys):
                return None
            if index.keys[number] == key:
                pairs.append(_Pair(i, number, ""))
                exact += 1
                break
            slip = slip_between(lines[i], index.line(number), index.text)
            if slip:
                pairs.append(_Pair(i, number, slip))
                distance += 1
                break
            if not (pairs and is_whole_comment(index.line(number))) or left_out == _MOST_LEFT_OUT:
                return None
            left_out += 1
            number += 1
        number += 1
    slips = len(pairs) - exact
    if left_out and any(pair.slip == PARAPHRASE for pair in pairs):
        return None
    if slips + bool(left_out) > _MOST_SLIPS or exact < 2 or slips + left_out == 0:
        return None
    if sum(word_chars(keys[pair.old]) for pair in pairs if not pair.slip) < 8:
        return None
    return _Window(pairs, left_out, distance + left_out)


def _stands_out(index: LineIndex, keys: list[str], start: int, best: _Window, starts: list[int]) -> bool:
    """Say whether every other likely place differs far more than the best one."""
    from rapidfuzz.distance import Indel

    whole = "\n".join(keys)
    last = best.pairs[-1].file
    own = Indel.distance(whole, "\n".join(index.keys[best.pairs[0].file : last + 1]))
    for other in starts:
        if best.pairs[0].file - len(keys) < other <= last:
            continue
        there = Indel.distance(whole, "\n".join(index.keys[max(other, 0) : other + len(keys)]))
        if there < own + max(6, len(whole) // 8):
            return False
    return True


def slip_between(ours: str, theirs: str, text: str) -> str:
    """Name the slip that makes the file's line `theirs` the model's `ours`; empty when it is more than one."""
    one, other = fold(ours), fold(theirs)
    if re.findall(r"\d", one) != re.findall(r"\d", other):
        return ""
    if one.casefold() == other.casefold():
        return "letter case"
    if _QUOTES.sub("'", one) == _QUOTES.sub("'", other):
        return "the style of quotes"
    if one.rstrip(",;.:") == other.rstrip(",;.:"):
        return "a sign at the end of a line"
    if typing_error(ours, theirs, text):
        return "a typing error"
    if _is_paraphrase(ours.strip(), theirs.strip()):
        return PARAPHRASE
    return ""


def typing_error(ours: str, theirs: str, text: str) -> tuple[str, str] | None:
    """Return the model's word and the file's, when that is all that differs: five letters or more, one letter more, less or other, or two
    swapped, and the file knows no such word."""
    from rapidfuzz.distance import OSA

    one, other = _WORDS.findall(ours), _WORDS.findall(theirs)
    if len(one) != len(other) or _WORDS.sub("", fold(ours)) != _WORDS.sub("", fold(theirs)):
        return None
    differing = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    if len(differing) != 1:
        return None
    wrong, right = differing[0]
    if len(right) < 5 or OSA.distance(wrong, right, score_cutoff=1) != 1:
        return None
    known = re.search(rf"(?<!\w){re.escape(wrong)}(?!\w)", text)
    return None if known else (wrong, right)


def is_whole_comment(line: str) -> bool:
    """Say whether the line is a comment that opens and closes nothing beyond itself."""
    if not _COMMENT.match(line) or line.count('"""') % 2 or line.count("'''") % 2:
        return False
    return line.count("/*") == line.count("*/") and line.count("<!--") == line.count("-->")


def _is_paraphrase(ours: str, theirs: str) -> bool:
    from rapidfuzz.distance import Indel

    if _COMMENT.match(ours) and _COMMENT.match(theirs):
        return Indel.normalized_similarity(ours, theirs) >= 0.6
    if len(ours.split()) > _FEWEST_WORDS and _plain_words(ours) == _plain_words(theirs):
        return True
    wide = [re.sub(r"[^\x00-\x7f]+", "\x00", line) for line in (ours, theirs)]
    if "\x00" in wide[0] and wide[0] == wide[1]:
        return Indel.normalized_similarity(ours, theirs) >= 0.8
    return False


def _plain_words(line: str) -> str:
    """Return the line without articles, contractions written out, so that two ways to say it are equal."""
    written = _CONTRACTION.sub(lambda match: " is" if match[1] == "s" else " are", line)
    return fold(_ARTICLE.sub("", written))


def _align_line(index: LineIndex, line: str, offset: int, pair: _Pair) -> tuple[list[Unit], Unit | None]:
    """Align a line with its line of the file; one with a slip up to the slip, over it, and from there on."""
    start, end = index.starts[pair.file], index.ends[pair.file]
    if not pair.slip:
        units = align_folded(index.text, line, start, end) or []
        return [unit._replace(old_start=unit.old_start + offset, old_end=unit.old_end + offset) for unit in units], None
    theirs = index.text[start:end]
    old_start, old_end = offset + len(line) - len(line.lstrip()), offset + len(line.rstrip())
    start, end = start + len(theirs) - len(theirs.lstrip()), start + len(theirs.rstrip())
    head = _common(line.strip(), theirs.strip())
    tail = _common(line.strip()[head:][::-1], theirs.strip()[head:][::-1])
    while head and (head == old_end - old_start - tail or head == end - start - tail):
        head -= 1  # the slip takes in a character that is there on both sides
    while tail and (head == old_end - old_start - tail or head == end - start - tail):
        tail -= 1
    slip = Unit(old_start + head, old_end - tail, start + head, end - tail)
    units = [Unit(old_start + k, old_start + k + 1, start + k, start + k + 1) for k in range(head)]
    units.append(slip)
    units += [Unit(old_end - k, old_end - k + 1, end - k, end - k + 1) for k in range(tail, 0, -1)]
    return units, slip


def _common(one: str, two: str) -> int:
    from os.path import commonprefix

    return len(commonprefix((one, two)))
