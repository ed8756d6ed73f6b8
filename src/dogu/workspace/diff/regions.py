"""Where two long texts differ, found by comparing memory before anything is split into lines."""

from __future__ import annotations

from typing import NamedTuple

_CHUNK_CHARS = 1 << 16
_LARGE_CHARS = 1 << 20
_PROBE_CHARS = 1 << 10
_PROBE_DISTANCES = (1 << 12, 1 << 16, 1 << 20)


class Change(NamedTuple):
    """[old_start, old_end) gave way to [new_start, new_end); counted from 0; either may be empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def differing_regions(old: str, new: str) -> list[Change]:
    r"""Return regions in characters, in order, outside of which the texts are equal; each from line start to line end.

    Lines end at `\n`. One region from the first difference to the last; a large one is split where the texts are found
    to run together again, so that edits far apart in a large file cost what they are, not what lies between.
    """
    start = _line_start(old, _common_prefix(old, new, 0, 0))
    tail = _common_suffix(old, new, start)
    old_end, new_end = len(old) - tail, len(new) - tail
    taken = _line_end(old, old_end) - old_end
    end = Change(start, old_end + taken, start, new_end + taken)
    regions: list[Change] = []
    old_at = new_at = start
    while max(end.old_end - old_at, end.new_end - new_at) > _LARGE_CHARS:
        met = _meeting(old, new, old_at, new_at)
        if met is None or met[0] >= end.old_end or met[1] >= end.new_end:
            break
        regions.append(Change(old_at, met[0], new_at, met[1]))
        common = min(_common_prefix(old, new, *met), end.old_end - met[0], end.new_end - met[1])
        old_at = _line_start(old, met[0] + common)
        new_at = met[1] + old_at - met[0]
    return [*regions, Change(old_at, end.old_end, new_at, end.new_end)]


def _meeting(old: str, new: str, old_at: int, new_at: int) -> tuple[int, int] | None:
    """Find line starts behind a difference from where the texts are equal again for a good while."""
    for distance in _PROBE_DISTANCES:
        there = _line_end(old, old_at + distance)
        probe = old[there : there + _PROBE_CHARS]
        if len(probe) < _PROBE_CHARS:
            return None
        expected = new_at + there - old_at
        # What stayed in place is the usual case, and the right one in a file that repeats itself.
        if new.startswith(probe, expected) and new[expected - 1] == "\n":
            return there, expected
        found = new.find(probe, max(new_at, expected - distance), expected + distance + _PROBE_CHARS)
        if found > 0 and new[found - 1] == "\n":
            return there, found
    return None


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    feed = text.find("\n", at)
    return feed + 1 if feed >= 0 else len(text)


def _common_prefix(old: str, new: str, old_at: int, new_at: int) -> int:
    """Return how many characters are equal from the two positions on."""
    length, limit, step = 0, min(len(old) - old_at, len(new) - new_at), _CHUNK_CHARS
    while length < limit and step:
        same = (
            length + step <= limit
            and old[old_at + length : old_at + length + step] == new[new_at + length : new_at + length + step]
        )
        if same:
            length += step
        else:
            step //= 2
    return length


def _common_suffix(old: str, new: str, floor: int) -> int:
    """Return how many characters both end with, leaving the first `floor` alone."""
    length, limit, step = 0, min(len(old), len(new)) - floor, _CHUNK_CHARS
    while length < limit and step:
        grown = length + step
        same = grown <= limit and old[len(old) - grown : len(old) - length] == new[len(new) - grown : len(new) - length]
        if same:
            length = grown
        else:
            step //= 2
    return length
