"""What a command changed, for a user: each file as a diff while they are few, and all of it in a line."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

import msgspec

from dogu.contract.display import FileDiff, PatchDiff
from dogu.language import joined, told
from dogu.workspace.diff import unified_diff
from dogu.workspace.staged import StagedChange

_MOST_DIFFS = 100
_MOST_BYTES = 256 * 1024  # of one file; in all four times as much
_MOST_FOLDERS = 40
_KINDS = {stat.S_IFLNK: "link", stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket", stat.S_IFDIR: "folder"}


class Shown(msgspec.Struct, frozen=True):
    """Changes as a user sees them: `display` in full, `summary` in one line ("" where nothing was changed)."""

    display: PatchDiff | str
    summary: str


def shown(changes: Sequence[StagedChange], root: str) -> Shown:
    """Work out what to show; before the changes are kept. `root` is what paths are shown relative to."""
    files = [change for change in changes if not change.is_folder]
    diffs: list[FileDiff] = []
    left_bytes = 4 * _MOST_BYTES
    for change in files[:_MOST_DIFFS]:
        diff, size = _diff(change, root, left_bytes)
        diffs.append(diff)
        left_bytes -= size
    display: PatchDiff | str = PatchDiff(tuple(diffs)) if len(files) <= _MOST_DIFFS else _tree(files, root)
    return Shown(display, _summary(changes, files, diffs))


def _summary(changes: Sequence[StagedChange], files: Sequence[StagedChange], diffs: Sequence[FileDiff]) -> str:
    gone = sum(not change.source for change in changes)
    written = sum(bool(change.source) for change in files)
    words: list[str] = []
    if written:
        words.append(told("{count:,} files changed", count=written))
        if len(files) <= _MOST_DIFFS:
            lines = [line for diff in diffs for line in diff.unified.splitlines() if line[:3] not in ("+++", "---")]
            added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
            words += [f"+{added} -{removed}"] if added or removed else []
    if gone:
        words.append(told("{count} deleted", count=f"{gone:,}"))
    if moved := sum(bool(change.moved_from) for change in changes):
        words.append(told("{count} folders moved", count=moved))
    if not words and changes:
        words.append(told("only folders changed"))
    return joined(", ", words)


def _diff(change: StagedChange, root: str, left_bytes: int) -> tuple[FileDiff, int]:
    """Return a change as a diff, and how much was read for it."""
    path = os.path.relpath(change.path, root)
    if not change.source and os.path.isdir(change.path) and not os.path.islink(change.path):
        return FileDiff(path, "", "", "", (told("A folder, removed with all that is in it."),)), 0
    old, new = _text(change.path, left_bytes), _text(change.source, left_bytes) if change.source else ""
    if old is None or new is None:
        return FileDiff(path, None, "", "", (_in_words(change),)), 0
    notes = () if change.source else (told("Removed."),)
    before, after = _status(change.path), _status(change.source)
    if before is not None and after is not None and before.st_mode != after.st_mode:
        modes = f"{stat.S_IMODE(before.st_mode):o}", f"{stat.S_IMODE(after.st_mode):o}"
        notes = (told("Mode {old}, now {new}.", old=modes[0], new=modes[1]),)
    is_new = before is None
    return FileDiff(path, None if is_new else old, new, unified_diff(old, new, path), notes), len(old) + len(new)


def _text(path: str, most_bytes: int) -> str | None:
    """Return a file's text, "" where nothing is; None for what is better told in words."""
    status = _status(path)
    if status is None:
        return ""
    if not stat.S_ISREG(status.st_mode) or status.st_size > min(most_bytes, _MOST_BYTES):
        return None
    try:
        with open(path, "rb") as file:
            content = file.read()
            return None if b"\0" in content else content.decode()
    except (OSError, UnicodeDecodeError):
        return None


def _in_words(change: StagedChange) -> str:
    after, before = _status(change.source), _status(change.path)
    if after is None:
        size = before.st_size if before is not None else 0
        return told("Removed ({size:,} bytes).", size=size)
    kind = _KINDS.get(stat.S_IFMT(after.st_mode))
    if kind == "link":
        return told("A link to {target}.", target=os.readlink(change.source))
    if kind is not None:
        return told("A {kind}.", kind=kind)
    if before is None:
        return told("New, {size:,} bytes.", size=after.st_size)
    return told("{old:,} bytes, now {new:,}.", old=before.st_size, new=after.st_size)


def _tree(files: Sequence[StagedChange], root: str) -> str:
    """Show very many changes as folders with counts."""
    counts: dict[str, list[int]] = {}
    prefix = f"{root.rstrip('/')}/"
    for change in files:
        is_inside = change.path.startswith(prefix)
        path = change.path[len(prefix) :] if is_inside else os.path.relpath(change.path, root)
        top = os.path.dirname(path).split("/", 2)[:2]
        count = counts.setdefault("/".join(top) or ".", [0, 0])
        count[0 if change.source else 1] += 1
    rows = sorted(counts.items(), key=lambda item: -sum(item[1]))
    lines = [
        told("- {folder}: {written} written, {gone} deleted", folder=folder, written=written, gone=gone)
        for folder, (written, gone) in rows[:_MOST_FOLDERS]
    ]
    if len(rows) > _MOST_FOLDERS:
        lines.append(told("- and {count} folders more", count=len(rows) - _MOST_FOLDERS))
    return "\n".join(lines)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path) if path else None
    except OSError:
        return None
