"""Where `old_string` comes nearest to the file, to show with a refusal."""

from __future__ import annotations

from dogu.workspace.diff import changed_ranges
from dogu.workspace.edit_match.folding import fold
from dogu.workspace.edit_match.line_index import LineIndex, likely_starts

_MOST_LINES = 12
_LONGEST_LINE_CHARS = 200
_LEAST_ALIKE_PERCENT = 60
_MOST_SEARCHED_LINES = 200_000


def nearest(index: LineIndex, old: str) -> tuple[tuple[tuple[int, int], ...], str]:
    """Return the span of the file most like `old` (none: empty) and a small diff: `-` what `old` has, `+` what the
    file has.
    """
    lines = [line for line in old.split("\n") if fold(line)]
    keys = [fold(line) for line in lines]
    if not keys or not index.keys:
        return (), ""
    start = _start(index, keys)
    if start is None:
        return (), ""
    first = min(max(start, 0), len(index.keys) - 1)
    last = min(start + len(keys), len(index.keys)) - 1
    if last < first:
        return (), ""
    theirs = [index.line(number) for number in range(first, last + 1)]
    return ((index.starts[first], index.ends[last]),), _diff(lines, theirs)


def _start(index: LineIndex, keys: list[str]) -> int | None:
    starts = likely_starts(index, keys)
    if starts:
        return starts[0]
    from rapidfuzz import fuzz, process

    longest = max(range(len(keys)), key=lambda i: len(keys[i]))
    found = process.extractOne(
        keys[longest], index.keys[:_MOST_SEARCHED_LINES], scorer=fuzz.ratio, score_cutoff=_LEAST_ALIKE_PERCENT
    )
    return None if found is None else found[2] - longest


def _diff(ours: list[str], theirs: list[str]) -> str:
    out: list[str] = []
    for change in changed_ranges([line.rstrip() for line in ours], [line.rstrip() for line in theirs]):
        out += [f"- {line}" for line in ours[change.old_start : change.old_end]]
        out += [f"+ {line}" for line in theirs[change.new_start : change.new_end]]
    cut = [
        line if len(line) <= _LONGEST_LINE_CHARS else line[:_LONGEST_LINE_CHARS] + "..." for line in out[:_MOST_LINES]
    ]
    return "\n".join(cut + (["..."] if len(out) > _MOST_LINES else []))
