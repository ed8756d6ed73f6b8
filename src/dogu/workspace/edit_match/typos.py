"""Stage "near": two lines or more, all but one or two of them in the file, the others off by a slip of the pen.

Forgives, on a line whose neighbours are right: one typing error in a longish word, letter case, the style of quotes,
a sign at the end, a comment told in other words, a comment left out. Never a digit, never a line of code more or
less. Safe because the lines that match name the place, because nothing else in the file comes near it, and because a
line with a slip keeps the file's text where the change doesn't replace it; a comment in other words may only stay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rapidfuzz.distance import OSA, Indel

from dogu.language import sentence
from dogu.workspace.edit_match.alignment import Place, Unit, align_folded, word_chars
from dogu.workspace.edit_match.apply import split_lines, weave
from dogu.workspace.edit_match.nearest import LineIndex, likely_starts
from dogu.workspace.edit_match.result import Found, Outcome, Refused, UncleanError, Why
from dogu.workspace.edit_match.views import fold

PARAPHRASE = sentence("a comment in other words")
LEFT_OUT = sentence("a comment left out")
_LETTER_CASE = sentence("letter case")
_END_SIGN = sentence("a sign at the end of a line")

_SHORTEST_WORD = 5
_SHORTEST_OF_OTHERS = 8
_ENDINGS = ("s", "d", "r", "y")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^A-Za-z_]+")
_FEWEST_WORDS = 5
_LEAST_ALIKE_COMMENT = 0.6
_LEAST_ALIKE_PROSE = 0.8
_ESCAPED = re.compile(r"\\[\"'`$\\]|&\w+;")
_DIGIT = re.compile(r"\d")
_QUOTES = re.compile("[\"'`]")
_WORDS = re.compile(r"\w+")
_WIDE = re.compile(r"[^\x00-\x7f]+")
_BARE = re.compile("\\s*[^\\s@#<].*[\\w)\\]\"'`]$")  # no decorator, directive or tag: these end so
_ARTICLE = re.compile(r"\b(?:a|an|the)\s+(?=\S)", re.IGNORECASE)
_CONTRACTION = re.compile(r"['\u2019](s|re)\b")
_COMMENT_BEHIND = re.compile(r"\s+(?:#|//|--|/\*.*\*/$|<!--.*-->$)\s?")
_PREPROCESSOR = r"(?:\s*(?:include|define|undef|ifdef|ifndef|endif|elif|pragma)|if|else|line|!)\b"
# A mark that begins names in some languages (`#id`, `#private`, `%element`) has a blank behind it.
_COMMENT = re.compile(
    rf"\s*(?://|#+(?!{_PREPROCESSOR})(?=\s|!|$)|--\s|<!--|;+(?=\s|$)|%+(?=\s|$)|/\*|\*(?:\s|/|$)|\"\"\"|''')"
)


def slip_between(ours: str, theirs: str, text: str) -> str:
    """Name the slip that makes the file's line `theirs` the model's `ours`; empty when it is more than one. `text` is
    the file's.
    """
    one, other = fold(ours), fold(theirs)
    if _ESCAPED.search(ours) and not _ESCAPED.search(theirs):
        return ""
    if _DIGIT.findall(one) != _DIGIT.findall(other):
        return ""
    if one.casefold() == other.casefold():
        return "" if _names_another(ours, theirs, text) else _LETTER_CASE
    if _QUOTES.sub("'", one) == _QUOTES.sub("'", other):
        return sentence("the style of quotes")
    if one.rstrip(",;.:") == other.rstrip(",;.:"):
        return _END_SIGN
    if typing_error(ours, theirs, text):
        return sentence("a typing error")
    if _is_without_comment(ours, theirs):
        return LEFT_OUT
    return PARAPHRASE if _is_paraphrase(ours.strip(), theirs.strip()) else ""


def _is_without_comment(ours: str, theirs: str) -> bool:
    """Whether the file's line is the model's and a comment behind it, which begins outside of quotes."""
    line, rest = ours.strip(), theirs.strip()
    if not rest.startswith(line) or not _COMMENT_BEHIND.match(rest, len(line)):
        return False
    return word_chars(line) > 0 and not any(line.count(quote) % 2 for quote in "\"'`")


def _names_another(ours: str, theirs: str, text: str) -> bool:
    """Whether a word that differs is another one that the file has."""
    differing = set(_WORDS.findall(ours)) - set(_WORDS.findall(theirs))
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in differing)


def typing_error(ours: str, theirs: str, text: str) -> tuple[str, str] | None:
    """Return the model's word and the file's when one word is all that differs, by one letter more, less, other or
    two swapped.

    The file's word has five letters or more, and the model's is nowhere in the file.
    """
    if _WORDS.sub("", fold(ours)) != _WORDS.sub("", fold(theirs)):
        return None
    one, other = _WORDS.findall(ours), _WORDS.findall(theirs)
    if len(one) != len(other):
        return None
    differing = [(wrong, right) for wrong, right in zip(one, other, strict=True) if wrong != right]
    if len(differing) != 1:
        return None
    wrong, right = differing[0]
    if not _is_slip(wrong, right):
        return None
    known = wrong in text and re.search(rf"(?<!\w){re.escape(wrong)}(?!\w)", text)
    return None if known else (wrong, right)


def _is_slip(wrong: str, right: str) -> bool:
    """Whether one longish word is the other but for a letter: no ending (`item`, `items`), and no other letter in a
    short part of it (`get`, `set`; `upload`, `unload`), for these make names of other things.
    """
    if len(right) < _SHORTEST_WORD or OSA.distance(wrong, right, score_cutoff=1) != 1:
        return False
    one, other = _PARTS.findall(wrong), _PARTS.findall(right)
    differing = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    if len(one) == len(other) and len(differing) == 1:
        wrong, right = differing[0]
    if len(wrong) != len(right):
        return not any(wrong in (right + end, right.removesuffix(end)) for end in _ENDINGS)
    return sorted(wrong) == sorted(right) or len(right) >= _SHORTEST_OF_OTHERS


def is_whole_comment(line: str) -> bool:
    """Whether the line is a comment that opens and closes nothing beyond itself."""
    if not _COMMENT.match(line) or line.count('"""') % 2 or line.count("'''") % 2:
        return False
    return line.count("/*") == line.count("*/") and line.count("<!--") == line.count("-->")


def _is_paraphrase(ours: str, theirs: str) -> bool:
    if _COMMENT.match(ours) and _COMMENT.match(theirs):
        return Indel.normalized_similarity(ours, theirs) >= _LEAST_ALIKE_COMMENT
    if len(ours.split()) > _FEWEST_WORDS and _plain_words(ours) == _plain_words(theirs):
        return True
    one, other = _WIDE.sub("\x00", ours), _WIDE.sub("\x00", theirs)
    return "\x00" in one and one == other and Indel.normalized_similarity(ours, theirs) >= _LEAST_ALIKE_PROSE


def _plain_words(line: str) -> str:
    """Return the line without articles, contractions written out, so that two ways to say it are equal."""
    written = _CONTRACTION.sub(lambda match: " is" if match[1] == "s" else " are", line)
    return fold(_ARTICLE.sub("", written))


STAGE = sentence("near")
_FEWEST_LINES = 2
_BESIDE_LINES = 30
_FEWEST_WORD_CHARS = 4
_FEWEST_EXACT_LINES = 2
_FEWEST_EXACT_WORD_CHARS = 8
_FEWEST_TELLING_CHARS = 15
_MOST_SLIPS = 2
_STATEMENT_ENDS = ";,"
_MOST_LEFT_OUT = 3
_CANDIDATES = 6
_LEAST_GAP_CHARS = 6
_LEAST_GAP_SHARE = 8  # and an eighth of the text


class _Line(NamedTuple):
    """A line of `old` that isn't blank: its text, its folded text, and where it begins in `old`."""

    text: str
    key: str
    offset: int


class _Pair(NamedTuple):
    """A line of `old`, the number of the line of the file it stands on, and the slip between them, empty for none."""

    line: _Line
    number: int
    slip: str


@dataclass(frozen=True)
class _Window:
    pairs: list[_Pair]
    left_out: int

    @property
    def slips(self) -> list[_Pair]:
        return [pair for pair in self.pairs if pair.slip]


def find_near(index: LineIndex, old: str, new: str, expected: int | None) -> Outcome:
    """Find `old` where all but a slip or two of its lines are; None when that is nowhere."""
    lines = _lines(old, new)
    if len(lines) < _FEWEST_LINES or expected not in (1, None):
        return None
    starts = likely_starts(index, [line.key for line in lines])[:_CANDIDATES]
    windows = [window for start in starts if (window := _fit(index, lines, start))]
    if not windows:
        return None
    spans = tuple(sorted({_span(index, window) for window in windows}))
    window = windows[0]
    if len(spans) > 1 or not _stands_out(index, lines, window, starts):
        return Refused(Why.AMBIGUOUS, STAGE, "more than one place is nearly the same", spans)
    try:
        written = weave(_align(index, old, window), new)
    except UncleanError as error:
        return Refused(Why.UNCLEAR, STAGE, str(error), spans)
    if _may_lack_signs(index, window, old, new):
        reason = "old_string lacks signs that the file has at the ends of lines; whether new lines do can't be told"
        return Refused(Why.UNCLEAR, STAGE, reason, spans)
    forgiven = [pair.slip for pair in window.slips] + [LEFT_OUT] * bool(window.left_out)
    return Found(STAGE, spans, tuple(written), tuple(dict.fromkeys(forgiven)))


def _lines(old: str, new: str) -> list[_Line]:
    found: list[_Line] = []
    offset = 0
    for text in split_lines(old, new)[0]:
        key = fold(text)
        if key:
            found.append(_Line(text, key, offset))
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
            is_other = line.key in known or line.key in index.keys[number + 1 : number + 1 + _MOST_LEFT_OUT]
            slip = "" if exact or is_other else slip_between(line.text, index.line(number), index.text)
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


def _is_likely(index: LineIndex, window: _Window) -> bool:
    """Whether slips are few and the lines without one are enough to know the place by: several, or one that is nowhere
    else beside one that says the same.
    """
    slips = window.slips
    exact = [pair for pair in window.pairs if not pair.slip]
    if len(window.pairs) == _FEWEST_LINES:
        return _is_known(index, window, exact)
    if not 1 <= len(slips) + bool(window.left_out) <= _MOST_SLIPS or len(exact) < _FEWEST_EXACT_LINES:
        return False
    if window.left_out and any(pair.slip == PARAPHRASE for pair in slips):
        return False  # one comment for two, or two for one, can't be told apart from these
    return sum(word_chars(pair.line.key) for pair in exact) >= _FEWEST_EXACT_WORD_CHARS


def _is_known(index: LineIndex, window: _Window, exact: Sequence[_Pair]) -> bool:
    """Whether two lines are those of the file but for a comment left out or the letter case of one, and one is nowhere
    else.
    """
    kinds = {pair.slip for pair in window.slips} | {LEFT_OUT for _ in range(window.left_out)}
    telling = [pair for pair in exact if index.keys.count(pair.line.key) == 1]
    is_sure = any(word_chars(pair.line.key) >= _FEWEST_TELLING_CHARS for pair in telling)
    return is_sure and len(kinds) == 1 and kinds <= {LEFT_OUT, _LETTER_CASE}


def _stands_out(index: LineIndex, lines: Sequence[_Line], window: _Window, starts: Sequence[int]) -> bool:
    """Whether every other likely place differs far more than this one."""
    whole = "\n".join(line.key for line in lines)
    first, last = window.pairs[0].number, window.pairs[-1].number
    own = Indel.distance(whole, "\n".join(index.keys[first : last + 1]))
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
    slips = ((pair.line.key, index.keys[pair.number]) for pair in window.slips if pair.slip == _END_SIGN)
    lacking = {file[-1] for ours, file in slips if file[:-1] == ours} - ends
    known = {line.strip() for line in before}
    added = (line for line in after if line.strip() not in known and not is_whole_comment(line))
    return not lacking.isdisjoint(_STATEMENT_ENDS if len(after) <= len(before) else lacking) and any(
        map(_BARE.match, added)
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
    fixed = frozenset(unit for unit, pair in slips.items() if pair.slip in (PARAPHRASE, LEFT_OUT))
    return Place(index.text, old, units, frozenset(slips), fixed, tuple(words))


def _slipped_words(pair: _Pair, index: LineIndex) -> list[tuple[str, str]]:
    """Return each word that the model has otherwise than the file, and the file's."""
    line = index.line(pair.number)
    if pair.line.text.casefold().split() != line.casefold().split():
        error = typing_error(pair.line.text, line, index.text)
        return [error] if error else []
    both = zip(_WORDS.findall(pair.line.text), _WORDS.findall(line), strict=False)
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
