"""Line differences: Myers' algorithm in linear space, on interned lines, with a bound on its cost.

Where two long texts differ is found by comparing memory, before anything is split into lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from dogu.workspace.diff.myers import mark_changes

_CHUNK_CHARS = 1 << 16
_LARGE_CHARS = 1 << 20
_PROBE_CHARS = 1 << 10
_PROBE_DISTANCES = (1 << 12, 1 << 16, 1 << 20)
_NO_NEWLINE = "\\ No newline at end of file\n"


class Change(NamedTuple):
    """[old_start, old_end) gave way to [new_start, new_end); counted from 0; either may be empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def changed_ranges(old_lines: Sequence[str], new_lines: Sequence[str]) -> list[Change]:
    """Return what changed between two lists of lines (0-based indexes), in order; between two changes all is equal."""
    # As numbers, because the search compares each line many times, and two long ones may differ at their ends only.
    numbers: dict[str, int] = {}
    old = [numbers.setdefault(line, len(numbers)) for line in old_lines]
    new = [numbers.setdefault(line, len(numbers)) for line in new_lines]
    old_changed, new_changed = mark_changes(old, new)
    changes: list[Change] = []
    old_at = new_at = 0
    while old_at < len(old) or new_at < len(new):
        old_start, new_start = old_at, new_at
        old_at = _run_end(old_changed, old_at)
        new_at = _run_end(new_changed, new_at)
        if old_at > old_start or new_at > new_start:
            changes.append(Change(old_start, old_at, new_start, new_at))
        kept = min(_gap(old_changed, old_at), _gap(new_changed, new_at))
        old_at, new_at = old_at + kept, new_at + kept
    return _joined(changes, old, new)


def _joined(changes: list[Change], old: list[int], new: list[int]) -> list[Change]:
    """Make one of two insertions, or of two deletions, that are one where the equal lines between them are taken for
    those before or after both.
    """
    joined: list[Change] = []
    for change in changes:
        last = joined[-1] if joined else None
        if last and last.old_start == last.old_end and change.old_start == change.old_end:
            span = _one_span(new, last[2:], change[2:])
            at = last.old_start if span and span[0] == last.new_start else change.old_start
            one = span and Change(at, at, *span)
        elif last and last.new_start == last.new_end and change.new_start == change.new_end:
            span = _one_span(old, last[:2], change[:2])
            at = last.new_start if span and span[0] == last.old_start else change.new_start
            one = span and Change(*span, at, at)
        else:
            one = None
        if one:
            joined.pop()
        joined.append(one or change)
    return joined


def _one_span(lines: list[int], first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int] | None:
    """Return the span of both where one of them can be moved to the other: what it leaves is what it comes to be on."""
    between = second[0] - first[1]
    if lines[second[1] - between : second[1]] == lines[first[1] : second[0]]:
        return first[0], second[1] - between
    if lines[first[0] : first[0] + between] == lines[first[1] : second[0]]:
        return first[0] + between, second[1]
    return None


def unified_diff(old: str, new: str, path: str, context: int = 3) -> str:
    r"""Return a unified diff that `git apply` and `patch -p1` accept; empty when nothing changed.

    Lines end at `\n` only, so a changed `\r` is a changed line. `path` is relative to where the diff would be applied.
    """
    if old == new:
        return ""
    parts = [f"--- {_file_name('a', path)}\n", f"+++ {_file_name('b', path)}\n"]
    old_line = new_line = 0
    at = (0, 0)
    for region in _regions_with_context(old, new, context):
        old_line += old.count("\n", at[0], region.old_start)
        new_line += new.count("\n", at[1], region.new_start)
        at = region.old_start, region.new_start
        old_lines = _lines(old[region.old_start : region.old_end])
        new_lines = _lines(new[region.new_start : region.new_end])
        for group in _grouped(changed_ranges(old_lines, new_lines), context):
            parts += _hunk(group, (old_lines, new_lines), (old_line, new_line), context)
    return "".join(parts)


def _run_end(changed: bytearray, at: int) -> int:
    end = changed.find(0, at)
    return len(changed) if end < 0 else end


def _gap(changed: bytearray, at: int) -> int:
    end = changed.find(1, at)
    return (len(changed) if end < 0 else end) - at


def changed_regions(old: str, new: str) -> list[Change]:
    """Return what changed between two texts, in characters: whole lines, in order; between two changes all is equal."""
    changes: list[Change] = []
    for region in differing_regions(old, new):
        old_lines = _lines(old[region.old_start : region.old_end])
        new_lines = _lines(new[region.new_start : region.new_end])
        old_at = list(accumulate(map(len, old_lines), initial=region.old_start))
        new_at = list(accumulate(map(len, new_lines), initial=region.new_start))
        changes += [
            Change(old_at[one.old_start], old_at[one.old_end], new_at[one.new_start], new_at[one.new_end])
            for one in changed_ranges(old_lines, new_lines)
        ]
    return changes


def _regions_with_context(old: str, new: str, context: int) -> list[Change]:
    """Return the differing regions (in characters, at line starts) with their context; those that meet are one."""
    regions: list[Change] = []
    for region in differing_regions(old, new):
        old_start = _lines_back(old, region.old_start, context)
        new_start = region.new_start - (region.old_start - old_start)
        old_end = _lines_on(old, region.old_end, context)
        new_end = region.new_end + (old_end - region.old_end)
        # A line is in one hunk only: `patch` refuses hunks that overlap.
        if regions and old_start <= regions[-1].old_end:
            old_start, new_start = regions[-1].old_start, regions[-1].new_start
            regions.pop()
        regions.append(Change(old_start, old_end, new_start, new_end))
    return regions


def _lines_back(text: str, at: int, count: int) -> int:
    for _ in range(count):
        at = text.rfind("\n", 0, max(at - 1, 0)) + 1
    return at


def _lines_on(text: str, at: int, count: int) -> int:
    for _ in range(count):
        feed = text.find("\n", at)
        at = feed + 1 if feed >= 0 else len(text)
    return at


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    kept = [line + "\n" for line in lines]
    return [*kept, last] if last else kept


def _grouped(changes: list[Change], context: int) -> list[list[Change]]:
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change.old_start - groups[-1][-1].old_end <= 2 * context:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(group: list[Change], sides: tuple[list[str], list[str]], before: tuple[int, int], context: int) -> list[str]:
    old, new = sides
    old_start = max(group[0].old_start - context, 0)
    new_start = group[0].new_start - (group[0].old_start - old_start)
    old_end = min(group[-1].old_end + context, len(old))
    new_end = group[-1].new_end + (old_end - group[-1].old_end)
    lines = [f"@@ -{_range(old_start, old_end, before[0])} +{_range(new_start, new_end, before[1])} @@\n"]
    at = old_start
    for change in group:
        lines += _prefixed(" ", old[at : change.old_start])
        lines += _prefixed("-", old[change.old_start : change.old_end])
        lines += _prefixed("+", new[change.new_start : change.new_end])
        at = change.old_end
    return lines + _prefixed(" ", old[at:old_end])


def _range(start: int, end: int, before: int) -> str:
    first = before + start + (1 if end > start else 0)
    return f"{first}" if end - start == 1 else f"{first},{end - start}"


def _prefixed(sign: str, lines: list[str]) -> list[str]:
    return [f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}" for line in lines]


def _file_name(side: str, path: str) -> str:
    """Write a name as git does: quoted when it holds what would break the line, with a tab after one with a space."""
    name = f"{side}/{path.lstrip('/')}"
    if any(character in '"\\' or character < " " or character == "\x7f" for character in name):
        escapes = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b",
                   "\f": "\\f", "\v": "\\v"}  # fmt: skip
        return '"' + "".join(escapes.get(c) or (f"\\{ord(c):03o}" if c < " " or c == "\x7f" else c) for c in name) + '"'
    return f"{name}\t" if " " in name else name


def differing_regions(old: str, new: str) -> list[Change]:
    r"""Return regions in characters, in order, outside of which the texts are equal; each from line start to line end.

    Lines end at `\n`. One region from the first difference to the last; a large one is split where the texts are found
    to run together again, so that edits far apart in a large file cost what they are, not what lies between.
    """
    # By comparing memory: an edit of a file of 100 MB touches a few lines, and splitting it would cost seconds.
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
