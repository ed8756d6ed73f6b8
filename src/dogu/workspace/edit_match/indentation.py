"""The map from a model's indentation to the file's, learnt from the lines that align."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

IndentMap = Callable[[str], str | None]


def indent_of(line: str) -> str:
    """Return the blanks a line begins with; a blank line has none."""
    stripped = line.lstrip()
    return line[: len(line) - len(stripped)] if stripped else ""


def indent_unit(lines: Sequence[str]) -> int:
    """Return by how many characters the lines indent a block: the commonest step deeper; 0 when there is none."""
    steps = Counter[int]()
    depth = 0
    for line in lines:
        if line.strip():
            here = len(indent_of(line))
            if here > depth:
                steps[here - depth] += 1
            depth = here
    return steps.most_common(1)[0][0] if steps else 0


def learn_indentation(pairs: Sequence[tuple[str, str]], units: Callable[[], tuple[int, int]]) -> IndentMap | None:
    """Return the simplest map that takes every (model's, file's) indentation seen; None when none does.

    In order: the same; a prefix more or less; a straight line from columns to columns. One indentation alone fits both a prefix and a
    scale; then `units` (the steps both sides indent by) decide, and where they don't, only that indentation is mapped.
    """
    seen = list(dict.fromkeys(pairs))
    if len(seen) == 1 and seen[0][0] != seen[0][1] and all(seen[0]) and set(seen[0][0]) == set(seen[0][1]):
        return _by_units(seen[0], *units(), often=len(pairs) > 1)
    return shifted(seen) or _scaled(seen)


def _by_units(pair: tuple[str, str], ours: int, theirs: int, *, often: bool) -> IndentMap | None:
    model, file = pair
    if ours and theirs and ours != theirs and len(model) * theirs == len(file) * ours:
        return _scaled([pair])
    by = abs(len(model) - len(file))
    if ours == theirs or not ours or not theirs:
        if often or by % (theirs or ours or 2) == 0:
            return shifted([pair])
    return lambda indent: file if indent == model else None


def _same(indent: str) -> str | None:
    return indent


def shifted(seen: Sequence[tuple[str, str]]) -> IndentMap | None:
    """Return the map that adds or takes away one prefix and fits all lines seen; None when none does."""
    if all(ours == theirs for ours, theirs in seen):
        return _same
    ours, theirs = seen[0]
    if theirs.endswith(ours):
        more = theirs[: len(theirs) - len(ours)]
        if all(file == more + model for model, file in seen) and (len(seen) > 1 or not ours or set(ours) == set(more)):
            return lambda indent: more + indent
    if ours.endswith(theirs):
        less = ours[: len(ours) - len(theirs)]
        if all(model == less + file for model, file in seen):
            return lambda indent: indent[len(less) :] if indent.startswith(less) else None
    return None


def _scaled(seen: Sequence[tuple[str, str]]) -> IndentMap | None:
    model_tab = _unit("".join(ours for ours, _ in seen))
    file_tab = _unit("".join(theirs for _, theirs in seen))
    if model_tab is None or file_tab is None:
        return None
    points = {len(ours): len(theirs) for ours, theirs in seen}
    if any(points[len(ours)] != len(theirs) for ours, theirs in seen):
        return None
    line = _line(points)
    if line is None:
        return None
    slope, offset = line

    def scale(indent: str) -> str | None:
        if indent.strip(model_tab):
            return None
        length = slope * len(indent) + offset
        return file_tab * int(length) if length.denominator == 1 and length >= 0 else None

    return scale


def _unit(indents: str) -> str | None:
    """Return the one character these indentations are made of (a blank when of none); None when of several."""
    kinds = set(indents) or {" "}
    return kinds.pop() if len(kinds) == 1 else None


def _line(points: dict[int, int]) -> tuple[Fraction, Fraction] | None:
    """Return slope and offset of the straight line through all points; one point alone is taken as a scale."""
    (x0, y0), *rest = sorted(points.items())
    if not rest:
        return (Fraction(y0, x0), Fraction(0)) if x0 else None
    slope = Fraction(rest[-1][1] - y0, rest[-1][0] - x0)
    offset = y0 - slope * x0
    if slope <= 0 or any(slope * x + offset != y for x, y in rest):
        return None
    if offset and slope != 1 and len(rest) < 2:
        return None  # any two points lie on a line
    return slope, offset
