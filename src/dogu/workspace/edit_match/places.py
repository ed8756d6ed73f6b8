"""Lines of a file as they are shown to a model: those an edit wrote, those that came into question."""

from __future__ import annotations

from collections.abc import Sequence

from dogu.workspace.edit_match.indentation import indent_of
from dogu.workspace.edit_match.result import Replacement, spliced

_MOST_LINES = 30
_MOST_PLACES = 20
_FARTHEST_LINES = 400
_LONGEST_CHARS = 300


def written_lines(text: str, pieces: Sequence[Replacement]) -> str:
    """Return the lines that the pieces (ascending and apart) leave in the text, with their numbers; at most 30."""
    after = spliced(text, pieces)
    lines = after.split("\n")
    numbers: dict[int, None] = {}
    grown = at = number = 0
    for start, end, body in pieces:
        first, last = start + grown, start + grown + len(body)
        number += after.count("\n", at, first)
        within = after[first:last]
        skips = within.startswith("\n")
        stop = number + within.count("\n") - (within.endswith("\n") and len(within) > 1)
        numbers |= dict.fromkeys(range(number + skips, max(stop, number + skips) + 1))
        grown += len(body) - (end - start)
        at = first
    out = [_numbered(number, lines[number]) for number in [*numbers][:_MOST_LINES] if number < len(lines)]
    return "\n".join(out + ["..."] * (len(numbers) > _MOST_LINES))


def places_shown(text: str, spans: Sequence[tuple[int, int]], *, whole: bool) -> str:
    """Return the lines of the first place (first and last, 1-based) with their numbers, or what each place is in."""
    lines = text.split("\n")
    if whole:
        out = [
            _numbered(number - 1, lines[number - 1]) for first, last in spans[:1] for number in range(first, last + 1)
        ]
        return "\n".join(out[:_MOST_LINES] + ["..."] * (len(out) > _MOST_LINES))
    within = [(first, _enclosing(lines, first - 1)) for first, _ in spans[:_MOST_PLACES]]
    return "\n".join(f"{first:6}  in {line}" for first, line in within if line)


def _enclosing(lines: Sequence[str], number: int) -> str:
    """Return the line above that the line is indented beneath, empty for none."""
    depth = len(indent_of(lines[number]))
    for line in reversed(lines[max(0, number - _FARTHEST_LINES) : number]):
        if len(indent_of(line)) < depth and any(map(str.isalnum, line)):
            return line.strip()[:_LONGEST_CHARS]
    return ""


def _numbered(number: int, line: str) -> str:
    shown = line.removesuffix("\r")
    return f"{number + 1:6}\t{shown if len(shown) <= _LONGEST_CHARS else shown[:_LONGEST_CHARS] + '...'}"
