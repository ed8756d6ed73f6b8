"""The map from a model's indentation to the file's, learnt from the lines that align."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

Pair = tuple[str, str]  # the model's indentation of a line, the file's
IndentMap = Callable[[str], str | None]  # None: can't be told
Texts = Callable[[], tuple[str, str]]  # the model's strings, and the file around the place


_INDENT = re.compile(r"^([^\S\n]*)[^\s*]", re.MULTILINE)  # lines of a comment begin with a star, a blank deeper
_HEADS = frozenset("async class def elif else except finally for if match try while with".split())
OPENERS = (":", "{", "(", "[")  # what deeper lines may follow
_TAB_WIDTHS = (2, 3, 4, 8)
_STEPS = (1, 2, 3, 4, 8)  # by how many characters people indent
_SCALES = frozenset(Fraction(one, other) for one in _STEPS for other in _STEPS)
_TAB_SHARE = Fraction(1, 2)  # a tab stands for two blanks or more
_MOST = Fraction(2, 3)  # of the lines must follow a map that not all of them do


def indent_of(line: str) -> str:
    """Return the blanks a line begins with; a blank line has none."""
    stripped = line.lstrip()
    return line[: len(line) - len(stripped)] if stripped else ""


def is_head(line: str) -> bool:
    """Whether the line is the head of a block in Python."""
    return line.endswith(":") and line.split(maxsplit=1)[0].rstrip(":") in _HEADS


def indent_unit(text: str) -> int:
    """Return by how many characters the text indents a block: the commonest step deeper; 0 when there is none."""
    depths = [*map(len, _INDENT.findall(text))]
    steps = Counter(deep - less for less, deep in pairwise(depths) if deep - less in _STEPS)
    return steps.most_common(1)[0][0] if steps else 0


def indentation_map(pairs: Sequence[Pair], texts: Texts, *, may_lose_head: bool) -> tuple[IndentMap, bool]:
    """Return how to indent new lines, and whether the first line alone lost its indentation (`old` was stripped).

    `pairs` are those of all aligned lines, in order. Where no map fits them all, an indentation is mapped as most of
    the lines that have it agree to, and any other as the map says that fits most lines.
    """
    loses_head = may_lose_head and len(pairs) > 1 and not pairs[0][0] and bool(pairs[0][1])
    if loses_head and all(ours == theirs for ours, theirs in pairs[1:]):
        return _same, True
    found = learn_indentation(pairs, texts)
    if found is not None:
        return found, False
    found = learn_indentation(pairs[1:], texts) if loses_head else None
    if found is not None:
        return found, True
    return _as_most(pairs, texts), False


def learn_indentation(pairs: Sequence[Pair], texts: Texts) -> IndentMap | None:
    """Return the simplest map that takes every pair: the same, a prefix more or less, a scale; None when none does.

    One indentation alone fits both a prefix and a scale; then the steps both sides indent by decide, and where they
    don't, only that indentation is mapped (and, off by an odd number, the file's own: then that line was a slip).
    """
    seen = list(dict.fromkeys(pairs))
    if all(ours == theirs for ours, theirs in seen):
        return _same
    steps = _Steps(*texts())
    if len(seen) == 1 and all(seen[0]) and set(seen[0][0]) == set(seen[0][1]):
        return _by_steps(seen[0], steps, often=len(pairs) > 1)
    if steps.mixes(seen):
        return steps.map(seen)
    return _shift(seen) or _retab(seen) or _scale(seen) or steps.map(seen)


class _Steps:
    """By how much and by which character the model and the file indent a block; 0 and empty where that isn't plain."""

    def __init__(self, model: str, file: str) -> None:
        depths = sorted({*map(len, _INDENT.findall(model))})
        step = min((deep - less for less, deep in pairwise(depths)), default=0)
        self.model = step if step > 1 or "\t" in model else 0  # one blank is a slip rather
        unit, deep = indent_unit(file), [*map(len, _INDENT.findall(file))]
        is_step = unit > 1 or "\t" in file  # one blank is a comment's rather
        self.file = unit if unit and is_step and sum(not depth % unit for depth in deep) >= _MOST * len(deep) else 0
        self.model_char = _only_char("".join(_INDENT.findall(model)))
        self.file_char = _only_char("".join(_INDENT.findall(file)))

    def mixes(self, seen: Sequence[Pair]) -> bool:
        """Whether a prefix of the file's before the model's blanks would mix tabs and blanks."""
        return all(not ours for ours, _ in seen) and "" not in (self.model_char, self.file_char) and self._differ

    @property
    def _differ(self) -> bool:
        return self.model_char != self.file_char and self.model > 0

    def map(self, seen: Sequence[Pair]) -> IndentMap | None:
        """Return the map of the model's steps to the file's that takes every pair, None when none does."""
        if not self.model or not self.file or not self.model_char or not self.file_char:
            return None
        slope = Fraction(self.file, self.model)
        offset = len(seen[0][1]) - slope * len(seen[0][0])
        char, own = self.file_char, self.model_char

        def step(indent: str) -> str | None:
            length = slope * len(indent) + offset
            fits = not indent.strip(own) and length.denominator == 1 and length >= 0
            return char * int(length) if fits else None

        return step if slope in _SCALES and all(step(ours) == theirs for ours, theirs in seen) else None


def _same(indent: str) -> str | None:
    return indent


def _by_steps(pair: Pair, steps: _Steps, *, often: bool) -> IndentMap | None:
    model, file = pair
    ours, theirs = steps.model, steps.file
    if ours and theirs and ours != theirs and len(model) * theirs == len(file) * ours and _scale([pair]):
        return _scale([pair])
    odd = abs(len(model) - len(file)) % 2 == 1 and "\t" not in model  # a tab more is a level more
    if often or abs(len(model) - len(file)) % (odd + 1 if ours == theirs else theirs or ours) == 0:
        return _shift([pair])
    return lambda indent: file if indent == model or (odd and indent == file) else None


def _as_most(pairs: Sequence[Pair], texts: Texts) -> IndentMap:
    known: dict[str, str | None] = {}
    model, around = texts()
    most, unit = _commonest(pairs, _Steps(model, around)), indent_unit(around)
    for ours in {ours for ours, _ in pairs}:
        theirs = Counter(file for model, file in pairs if model == ours)
        commonest, count = theirs.most_common(1)[0]
        usual = most(ours) if most is not None and theirs.total() == 1 else None
        if usual is not None and unit and len(usual) % unit == 0:
            known[ours] = usual  # a line that goes on from another stands as deep as its author likes
        else:
            known[ours] = commonest if len(theirs) == 1 or (count > 1 and count >= _MOST * theirs.total()) else None
    return lambda indent: known[indent] if indent in known else most(indent) if most else None


def _commonest(pairs: Sequence[Pair], steps: _Steps) -> IndentMap | None:
    """Return the map that most of the lines follow, None when none is followed by enough of them."""
    best, most = None, 1
    for pair in dict.fromkeys(pairs):
        for found in (_shift([pair]), steps.map([pair])):
            follow = sum(found(ours) == theirs for ours, theirs in pairs) if found else 0
            if follow > most and follow >= _MOST * len(pairs):
                best, most = found, follow
    return best


def _shift(seen: Sequence[Pair]) -> IndentMap | None:
    """Return the map that adds or takes away one prefix, or changes nothing, and fits all; None when none does."""
    if all(ours == theirs for ours, theirs in seen):
        return _same
    ours, theirs = seen[0]
    more, less = theirs.removesuffix(ours), ours.removesuffix(theirs)
    alike = len(seen) > 1 or not ours or set(ours) == set(more)
    if theirs.endswith(ours) and alike and all(file == more + model for model, file in seen):
        return lambda indent: more + indent
    if ours.endswith(theirs) and all(model == less + file for model, file in seen):
        return lambda indent: indent[len(less) :] if indent.startswith(less) else None
    return None


def _retab(seen: Sequence[Pair]) -> IndentMap | None:
    """Return the map from tabs to blanks or back, of the one width that fits all; None when none or several do."""
    to_blanks = [width for width in _TAB_WIDTHS if all(ours.expandtabs(width) == theirs for ours, theirs in seen)]
    if len(to_blanks) == 1:
        return lambda indent: indent.expandtabs(to_blanks[0])
    to_tabs = [width for width in _TAB_WIDTHS if all(theirs == _tabbed(ours, width) for ours, theirs in seen)]
    return (lambda indent: _tabbed(indent, to_tabs[0])) if len(to_tabs) == 1 else None


def _tabbed(indent: str, width: int) -> str | None:
    if indent.strip(" ") or 0 < len(indent) < width:
        return None
    return "\t" * (len(indent) // width) + " " * (len(indent) % width)


def _scale(seen: Sequence[Pair]) -> IndentMap | None:
    """Return the map by a straight line from length to length, each side of one character; None when none fits."""
    model_char = _only_char("".join(ours for ours, _ in seen))
    file_char = _only_char("".join(theirs for _, theirs in seen))
    points = {len(ours): len(theirs) for ours, theirs in seen}
    if not model_char or not file_char or any(points[len(ours)] != len(theirs) for ours, theirs in seen):
        return None
    line = _line(points)
    if line is None:
        return None
    slope, offset = line
    if model_char != file_char and not (slope <= _TAB_SHARE if file_char == "\t" else slope >= 1 / _TAB_SHARE):
        return None

    def scale(indent: str) -> str | None:
        length = slope * len(indent) + offset
        fits = not indent.strip(model_char) and length.denominator == 1 and length >= 0
        return file_char * int(length) if fits else None

    return scale


def _only_char(indents: str) -> str:
    """Return the one character these indentations are made of (a blank when of none); empty when of several."""
    kinds = set(indents) or {" "}
    return kinds.pop() if len(kinds) == 1 else ""


def _line(points: dict[int, int]) -> tuple[Fraction, Fraction] | None:
    """Return slope and offset of the line through all points; one point is a scale, two make a scale or a shift."""
    (x0, y0), *rest = sorted({0: 0, **points}.items() if len(points) == 1 else points.items())
    if not rest:
        return None
    slope = Fraction(rest[-1][1] - y0, rest[-1][0] - x0)
    offset = y0 - slope * x0
    if slope not in _SCALES or any(slope * x + offset != y for x, y in rest):
        return None
    return None if offset and slope != 1 and len(rest) < 2 else (slope, offset)
