"""What is in a layer, read back: which paths a command made, changed, moved and removed, and nothing that it didn't.

The kernel leaves a removed name as a device 0:0 ("whiteout"), marks a folder that hides what lies below ("opaque"), and
one that was renamed by where it lay ("redirect"). Source: Documentation/filesystems/overlayfs.rst.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

from dogu.workspace import fs
from dogu.workspace.layer.make import Layer, Layers
from dogu.workspace.staged import StagedChange

_MARKS = ("user.overlay.", "trusted.overlay.")
_REDIRECT = "trusted.overlay.redirect"


def changes_in(layers: Layers) -> list[StagedChange]:
    """Return what the command changed, each folder before what is in it; blocks, for as much as was changed."""
    return [change for layer in layers.all for change in _Reader(layer).changes()]


class _Reader:
    """Goes through one layer. `source` is an entry in it, `path` where it belongs, `lower` where what lies below it
    lies now: elsewhere for what is in a folder that the command has moved."""

    def __init__(self, layer: Layer) -> None:
        self._root = layer.root
        self._upper = layer.upper
        self._began_ns = layer.began_ns
        self._moved: set[str] = set()

    def changes(self) -> Iterator[StagedChange]:
        self._find_moved(self._upper, self._root)
        yield from self._attributes(self._upper, self._root, self._root)
        yield from self._in_folder(self._upper, self._root, self._root, is_opaque=False)

    def _find_moved(self, source: str, lower: str) -> None:
        with os.scandir(source) as entries:
            folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        for name in folders:
            below, moved_from = os.path.join(source, name), self._moved_from(os.path.join(source, name), lower)
            if moved_from:
                self._moved.add(moved_from)
            self._find_moved(below, moved_from or os.path.join(lower, name))

    def _moved_from(self, source: str, parent: str) -> str:
        """Return where a folder lay before; "" for one that wasn't renamed. `parent` is below its parent."""
        if _REDIRECT not in os.listxattr(source, follow_symlinks=False):
            return ""
        place = os.fsdecode(os.getxattr(source, _REDIRECT, follow_symlinks=False))
        return f"{self._root.rstrip('/')}{place}" if place.startswith("/") else os.path.join(parent, place)

    def _in_folder(self, upper: str, folder: str, lower: str, *, is_opaque: bool) -> Iterator[StagedChange]:
        """Go through a folder of the layer. `is_opaque`: nothing of the folder below shows through it."""
        names = sorted(os.listdir(upper))
        for name in names:
            source, path, below = (os.path.join(each, name) for each in (upper, folder, lower))
            status, old = os.lstat(source), self._below(below)
            if _is_whiteout(status):
                if old is not None:
                    yield StagedChange(path, was_there=True)
            elif stat.S_ISDIR(status.st_mode):
                yield from self._folder(source, path, below, is_opaque=is_opaque)
            else:
                yield from self._file(source, path, below, status, old)
        if is_opaque and self._below(lower) is not None and os.path.isdir(lower):
            for name in sorted(set(os.listdir(lower)).difference(names)):
                if os.path.join(lower, name) not in self._moved:
                    yield StagedChange(os.path.join(folder, name), was_there=True)

    def _folder(self, source: str, path: str, below: str, *, is_opaque: bool) -> Iterator[StagedChange]:
        marks = _marks(source)
        moved_from = self._moved_from(source, os.path.dirname(below))
        old = self._below(below)
        # A folder below may carry the mark itself, as containers' storage does, and it is copied up with the folder.
        is_marked = any(map(_is_opaque_mark, marks)) and not (
            old is not None and stat.S_ISDIR(old.st_mode) and any(map(_is_opaque_mark, _marks(below)))
        )
        is_opaque = not moved_from and (is_opaque or is_marked)
        if moved_from:
            yield StagedChange(path, source, moved_from=moved_from, has_marks=True)
            below = moved_from
        elif old is None or not stat.S_ISDIR(old.st_mode):
            yield StagedChange(path, source, has_marks=bool(marks), whole=old is None and _is_all_new(source))
        else:
            yield from self._attributes(source, path, below)
        yield from self._in_folder(source, path, below, is_opaque=is_opaque)

    def _attributes(self, source: str, path: str, below: str) -> Iterator[StagedChange]:
        """Yield a folder that stays where it is, if its mode, owner or attributes are other ones."""
        new, old = os.stat(source), _status(below)
        is_same = old is not None and (new.st_mode, new.st_uid, new.st_gid) == (old.st_mode, old.st_uid, old.st_gid)
        if not is_same or _extended(source) != _extended(below):
            yield StagedChange(path, source, has_marks=True, was_there=True)

    def _file(
        self, source: str, path: str, below: str, new: os.stat_result, old: os.stat_result | None
    ) -> Iterator[StagedChange]:
        marks = _marks(source)
        is_copied = any(mark.endswith("overlay.origin") for mark in marks)
        # Nothing below: it came here under another name, or what it was made of has been removed meanwhile by another.
        was_there = is_copied and (old is not None or self._is_touched(os.path.dirname(below)))
        is_same = (
            old is not None
            and is_copied
            and (new.st_nlink == 1 or old.st_nlink > 1)
            and old.st_ctime_ns <= self._began_ns
            and _identity(new) == _identity(old)
            and _extended(source) == _extended(below)
        )
        if is_same:  # opened for writing, and not written
            return
        is_written_to = is_copied and old is not None and stat.S_ISREG(old.st_mode)
        # Its other names, and whoever has it open to write on, are to have the same file as before.
        in_place = is_written_to and ((old is not None and old.st_nlink > 1) or fs.is_open_for_writing(below))
        yield StagedChange(path, source, was_there=was_there, in_place=in_place, has_marks=bool(marks))

    def _below(self, lower: str) -> os.stat_result | None:
        return None if lower in self._moved else _status(lower)

    def _is_touched(self, folder: str) -> bool:
        status = _status(folder)
        return status is not None and status.st_ctime_ns > self._began_ns


def _is_all_new(folder: str) -> bool:
    """Whether nothing in a new folder stems from one that was there: then it can be moved as it is."""
    with os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            if _is_whiteout(status) or _marks(entry.path):
                return False
            if stat.S_ISDIR(status.st_mode) and not _is_all_new(entry.path):
                return False
    return True


def _is_whiteout(status: os.stat_result) -> bool:
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _identity(status: os.stat_result) -> Sequence[int]:
    return status.st_mode, status.st_uid, status.st_gid, status.st_size, status.st_mtime_ns


def _marks(path: str) -> list[str]:
    return [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith(_MARKS)]


def _is_opaque_mark(name: str) -> bool:
    return name.endswith("overlay.opaque")


def _extended(path: str) -> dict[str, bytes]:
    names = [name for name in os.listxattr(path, follow_symlinks=False) if not name.startswith(_MARKS)]
    return {name: os.getxattr(path, name, follow_symlinks=False) for name in names}


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None
