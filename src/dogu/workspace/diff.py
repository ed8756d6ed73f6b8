"""Line differences: Myers' algorithm in linear space, on interned lines, with a bound on its cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dogu.workspace.diff_myers import mark_changes

_CHUNK_CHARS = 1 << 16
_NO_NEWLINE = "\\ No newline at end of file\n"


class Change(NamedTuple):
    """Lines [old_start, old_end) gave way to lines [new_start, new_end); 0-based; either may be empty, not both."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def changed_ranges(old_lines: Sequence[str], new_lines: Sequence[str]) -> list[Change]:
    """Return what changed between two lists of lines, in order; lines between two changes are equal."""
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
    return changes


def unified_diff(old: str, new: str, path: str, context: int = 3) -> str:
    r"""Return a unified diff that `git apply` and `patch -p1` accept; empty when nothing changed.

    Lines end at `\n` only, so a changed `\r` is a changed line. `path` is relative to where the diff would be applied.
    """
    if old == new:
        return ""
    before, old_lines, new_lines = _differing_lines(old, new, context)
    changes = changed_ranges(old_lines, new_lines)
    parts = [f"--- {_file_name('a', path)}\n", f"+++ {_file_name('b', path)}\n"]
    for group in _grouped(changes, context):
        parts += _hunk(group, old_lines, new_lines, before, context)
    return "".join(parts)


def _run_end(changed: bytearray, at: int) -> int:
    end = changed.find(0, at)
    return len(changed) if end < 0 else end


def _gap(changed: bytearray, at: int) -> int:
    end = changed.find(1, at)
    return (len(changed) if end < 0 else end) - at


def _differing_lines(old: str, new: str, context: int) -> tuple[int, list[str], list[str]]:
    """Split only what differs and `context` lines around it; returns also how many lines were left off before it."""
    start = _common_start(old, new)
    start = old.rfind("\n", 0, start) + 1
    end = _common_end(old, new, start)
    for _ in range(context):
        start = old.rfind("\n", 0, max(start - 1, 0)) + 1
    old_end, new_end = len(old) - end, len(new) - end
    for _ in range(context + 1):
        feed = old.find("\n", old_end)
        taken = (feed + 1 if feed >= 0 else len(old)) - old_end
        old_end, new_end = old_end + taken, new_end + taken
    return old.count("\n", 0, start), _lines(old[start:old_end]), _lines(new[start:new_end])


def _common_start(old: str, new: str) -> int:
    at, limit, step = 0, min(len(old), len(new)), _CHUNK_CHARS
    while at < limit and step:
        if old[at : at + step] == new[at : at + step] and at + step <= limit:
            at += step
        else:
            step //= 2
    return at


def _common_end(old: str, new: str, floor: int) -> int:
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


def _hunk(group: list[Change], old: list[str], new: list[str], before: int, context: int) -> list[str]:
    old_start = max(group[0].old_start - context, 0)
    new_start = group[0].new_start - (group[0].old_start - old_start)
    old_end = min(group[-1].old_end + context, len(old))
    new_end = group[-1].new_end + (old_end - group[-1].old_end)
    lines = [f"@@ -{_range(old_start, old_end, before)} +{_range(new_start, new_end, before)} @@\n"]
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
