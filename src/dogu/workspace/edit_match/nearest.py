"""Where `old_string` comes nearest to the file, to show with a refusal."""

from __future__ import annotations

from collections.abc import Sequence

from dogu.workspace.edit_match.folding import fold
from dogu.workspace.edit_match.line_index import LineIndex, likely_starts
from dogu.workspace.edit_match.rows import opcodes, shared_lines

_MOST_LINES = 30
_LONGEST_LINE_CHARS = 300
_LEAST_ALIKE_PERCENT = 60
_MOST_SEARCHED_LINES = 200_000
_CANDIDATES = 6
_REACH_LINES = 8


def nearest(index: LineIndex, old: str) -> tuple[tuple[tuple[int, int], ...], str]:
    """Return the span of the file most like `old` (none: empty) and a small diff that makes it of `old`: `-` what `old`
    has, `+` what the file has, with a line of both beside each change.
    """
    keys = [fold(line) for line in old.split("\n") if fold(line)]
    if not keys or not index.keys:
        return (), ""
    window = _window(index, keys)
    if window is None:
        return (), ""
    span = index.starts[window[0]], index.ends[window[1]]
    return (span,), _diff(old.strip("\n").split("\n"), index.text[slice(*span)].split("\n"))


def _window(index: LineIndex, keys: list[str]) -> tuple[int, int] | None:
    """Return the first and the last line of the file that `keys` stand for, aligned line by line."""
    from rapidfuzz.distance import Indel

    whole = "\n".join(keys)
    windows = {_aligned(index, keys, start) for start in _starts(index, keys)}
    likest = sorted(
        (Indel.distance(whole, "\n".join(index.keys[first : last + 1])), first, last) for first, last in windows
    )
    return likest[0][1:] if likest else None


def _aligned(index: LineIndex, keys: list[str], start: int) -> tuple[int, int]:
    low = max(start - _REACH_LINES, 0)
    pairs = shared_lines(keys, index.keys[low : start + len(keys) + _REACH_LINES])
    last = len(index.keys) - 1
    if not pairs:
        return min(max(start, 0), last), min(max(start, 0) + len(keys) - 1, last)
    (head, first), (tail, end) = pairs[0], pairs[-1]
    return max(low + first - head, 0), min(low + end + len(keys) - 1 - tail, last)


def _starts(index: LineIndex, keys: list[str]) -> list[int]:
    starts = likely_starts(index, keys)[:_CANDIDATES]
    if starts:
        return starts
    from rapidfuzz import fuzz, process

    longest = max(range(len(keys)), key=lambda i: len(keys[i]))
    found = process.extractOne(
        keys[longest], index.keys[:_MOST_SEARCHED_LINES], scorer=fuzz.ratio, score_cutoff=_LEAST_ALIKE_PERCENT
    )
    return [] if found is None else [found[2] - longest]


def _diff(ours: Sequence[str], theirs: Sequence[str]) -> str:
    out: list[str] = []
    for tag, i1, i2, j1, j2 in opcodes(ours, theirs):
        if tag != "equal":
            out += [f"- {line}" for line in ours[i1:i2]] + [f"+ {line}" for line in theirs[j1:j2]]
            continue
        beside = [i1] * bool(j1 or i1) + [i2 - 1] * bool(i2 < len(ours) or j2 < len(theirs))
        out += [f"  {ours[i]}" for i in dict.fromkeys(beside)]
    cut = [
        line if len(line) <= _LONGEST_LINE_CHARS else line[:_LONGEST_LINE_CHARS] + "..." for line in out[:_MOST_LINES]
    ]
    return "\n".join(cut + (["..."] if len(out) > _MOST_LINES else []))
