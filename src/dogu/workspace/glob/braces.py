"""Expand `{a,b}` and `{1..3}` in globs, nested ones too, within bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dogu.contract.errors import ErrorKind, ToolError

_MOST_EXPANDED = 1_000
_DEEPEST = 20
_RANGE = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})\Z")


def expand_braces(glob: str) -> list[str]:
    """Return what the braces of `glob` stand for, in order; braces without a comma or range are literal.

    Raises `ToolError` (BAD_PATTERN) past 1,000 results or 20 levels.
    """
    expanded = list(dict.fromkeys(_expanded(glob, 0)))
    if len(expanded) > _MOST_EXPANDED:
        raise _too_many()
    return expanded


def _too_many() -> ToolError:
    return ToolError(
        ErrorKind.BAD_PATTERN,
        f"The braces of the glob stand for more than {_MOST_EXPANDED} patterns or are nested too deeply. "
        "Use fewer alternatives.",
    )


def _expanded(glob: str, depth: int) -> list[str]:
    if depth > _DEEPEST:
        raise _too_many()
    results = [""]
    at = 0
    for start, end, choices in _groups(glob):
        options = [inner for choice in choices for inner in _expanded(choice, depth + 1)]
        before = glob[at:start]
        if len(results) * len(options) > _MOST_EXPANDED:
            raise _too_many()
        results = [result + before + option for result in results for option in options]
        at = end
    return [result + glob[at:] for result in results]


def _groups(glob: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield start, end and alternatives of each outermost group in braces."""
    at = 0
    while (start := _next(glob, at)) >= 0:
        closing = _closing(glob, start)
        if closing is None:
            at = start + 1
            continue
        end, choices = closing
        choices = choices if len(choices) > 1 else _range(choices[0])
        if choices:
            yield start, end, choices
            at = end
        else:
            at = start + 1


def _next(glob: str, at: int) -> int:
    while at < len(glob):
        if glob[at] == "\\":
            at += 1
        elif glob[at] == "{":
            return at
        at += 1
    return -1


def _closing(glob: str, start: int) -> tuple[int, list[str]] | None:
    level = 0
    choices: list[str] = []
    piece = start + 1
    at = start
    while at < len(glob):
        character = glob[at]
        if character == "\\":
            at += 1
        elif character == "{":
            level += 1
        elif character == "," and level == 1:
            choices.append(glob[piece:at])
            piece = at + 1
        elif character == "}":
            level -= 1
            if level == 0:
                return at + 1, [*choices, glob[piece:at]]
        at += 1
    return None


def _range(text: str) -> list[str]:
    match = _RANGE.match(text)
    if match is None:
        return []
    first, last = int(match[1]), int(match[2])
    if abs(last - first) >= _MOST_EXPANDED:
        raise _too_many()
    step = 1 if last >= first else -1
    return [str(number) for number in range(first, last + step, step)]
