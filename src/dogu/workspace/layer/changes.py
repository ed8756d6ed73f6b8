"""What is in a layer, read back: which paths a command made, changed, moved and removed, and nothing that it didn't.

The kernel leaves a removed name as a device 0:0 ("whiteout"), marks a folder that hides what lies below ("opaque"), and
one that was renamed by where it lay ("redirect"). Folders are gone through by handles: paths may be longer than the
kernel takes. Source: Documentation/filesystems/overlayfs.rst.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from dogu.workspace import fs
from dogu.workspace.launcher.layers import holds_renames
from dogu.workspace.layer.linked import written_by_other_names
from dogu.workspace.layer.make import Layer, Layers
from dogu.workspace.layer.marks import (
    attributes_of,
    is_copy_of,
    is_opaque_mark,
    is_origin_mark,
    is_unchanged,
    is_whiteout,
    marks_of,
    origin_of,
    own_attributes,
    path_in,
    status_of,
)
from dogu.workspace.openat import Closed, open_long, shuts_out
from dogu.workspace.staged import StagedChange

_REDIRECT = "trusted.overlay.redirect"
_MODE = "user.overlay.dogu.mode"  # ours: the mode of a folder that its owner was let into; the kernel hides it
_SKEW_NS = 10**9
_LIST = os.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def changes_in(layers: Layers) -> list[StagedChange]:
    """Return what the command changed, each folder before what is in it; blocks, for as much as was changed."""
    found: list[StagedChange] = []
    for layer in layers.all:
        changes = [*_Reader(layer).changes()]
        found += [*changes, *written_by_other_names(layer, changes)]
    return found


class _Folder(msgspec.Struct, frozen=True):
    """A folder of the layer: where it lies in it, where it belongs, and where what lies below it lies now, which is
    elsewhere for what is in a folder that the command has moved. `is_opaque`: nothing of that shows through.
    `identity` is that of the folder which was there when the command came."""

    upper: str
    path: str
    lower: str
    is_opaque: bool = False
    identity: bytes = b""

    @property
    def is_moved(self) -> bool:
        """Whether the command has moved it, or a folder that it lies in: nothing was there before."""
        return self.lower != self.path

    def of(self, name: str, lower: str = "", *, is_opaque: bool = False, identity: bytes = b"") -> _Folder:
        path, below = os.path.join(self.path, name), lower or os.path.join(self.lower, name)
        return _Folder(f"{self.upper}/{name}", path, below, is_opaque, identity)


class _Pair(msgspec.Struct, frozen=True):
    """A folder while it is gone through: `upper` is a handle of it, `lower` of what lies below it; -1 for nothing."""

    folder: _Folder
    upper: int
    lower: int


class _Reader:
    """Goes through one layer."""

    def __init__(self, layer: Layer) -> None:
        self._root = layer.root
        self._upper = layer.upper
        self._began_ns = layer.began_ns
        self._identity = layer.identity
        self._moved: set[str] = set()
        self._todo: list[_Folder] = []
        self._closed = Closed([layer.root])
        self._mixed: set[str] = set()
        self._tells_origins = holds_renames()  # of files with several names, too

    def changes(self) -> Iterator[StagedChange]:
        top = _Folder(self._upper, self._root, self._root, identity=self._identity)
        try:
            self._find_moved(top)
            yield from self._top(top)
            self._todo = [top]
            while self._todo:
                with self._opened(self._todo.pop()) as pair:
                    for change in self._in_folder(pair):
                        within = b"" if change.comes_along else pair.folder.identity
                        yield msgspec.structs.replace(change, within=within) if within else change
        finally:
            self._closed.close()

    def _find_moved(self, top: _Folder) -> None:
        """Find where folders lay before that were renamed, and open those that their mode closes."""
        todo = [top]
        while todo:
            folder = todo.pop()
            _let_in(folder.upper)
            with _listed(folder.upper) as handle, os.scandir(handle) as entries:
                for name in [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]:
                    moved_from = self._moved_from(handle, name, folder.lower)
                    if moved_from:
                        self._moved.add(moved_from)
                    todo.append(folder.of(name, moved_from))

    def _moved_from(self, upper: int, name: str, parent: str) -> str:
        """Return where a folder lay before; "" for one that wasn't renamed. `parent` is below its parent."""
        if _REDIRECT not in attributes_of(upper, name):
            return ""
        place = os.fsdecode(fs.getxattr(path_in(upper, name), _REDIRECT, follow_symlinks=False))
        return f"{self._root.rstrip('/')}{place}" if place.startswith("/") else os.path.join(parent, place)

    def _top(self, top: _Folder) -> Iterator[StagedChange]:
        with self._opened(top) as pair:
            mode = _closed_mode(pair.upper, ".")
            if not self._is_same_folder(pair, ".", mode):
                yield StagedChange(top.path, top.upper, has_marks=True, was_there=True, mode=mode, is_folder=True)

    def _in_folder(self, pair: _Pair) -> Iterator[StagedChange]:
        names = sorted(os.listdir(pair.upper))
        folders: list[_Folder] = []
        for name in names:
            status, old = status_of(pair.upper, name), self._below(pair, name)
            if status is None:
                continue
            if is_whiteout(status):
                if old is not None:
                    yield StagedChange(os.path.join(pair.folder.path, name), was_there=True)
            elif stat.S_ISDIR(status.st_mode):
                yield from self._folder(pair, name, old, folders)
            else:
                yield from self._file(pair, name, status, old)
        yield from self._hidden(pair, names)
        self._todo += reversed(folders)

    def _hidden(self, pair: _Pair, names: Sequence[str]) -> Iterator[StagedChange]:
        """Yield what a folder put in the place of another one doesn't have."""
        if pair.folder.is_opaque and pair.lower >= 0:
            for name in sorted(set(os.listdir(pair.lower)).difference(names)):
                if os.path.join(pair.folder.lower, name) not in self._moved:
                    yield StagedChange(os.path.join(pair.folder.path, name), was_there=True)

    def _folder(
        self, pair: _Pair, name: str, old: os.stat_result | None, within: list[_Folder]
    ) -> Iterator[StagedChange]:
        """Yield a folder's own change; what is in it comes later, unless all of it is new."""
        marks = marks_of(pair.upper, name)
        moved_from = self._moved_from(pair.upper, name, pair.folder.lower)
        is_below = old is not None and stat.S_ISDIR(old.st_mode)
        # A folder below may carry the mark itself, as containers' storage does, and it is copied up with the folder.
        is_marked = any(map(is_opaque_mark, marks)) and not (
            is_below and any(map(is_opaque_mark, marks_of(pair.lower, name)))
        )
        is_opaque = not moved_from and (pair.folder.is_opaque or is_marked)
        identity = origin_of(pair.upper, name) if is_below or moved_from else b""
        folder = pair.folder.of(name, moved_from, is_opaque=is_opaque, identity=identity)
        mode = _closed_mode(pair.upper, name)
        was_there = not moved_from and not pair.folder.is_moved
        own = StagedChange(folder.path, folder.upper, has_marks=True, was_there=was_there, mode=mode, is_folder=True)
        if moved_from:
            if is_below:  # what lay there has gone before, and shows through nothing that came
                yield StagedChange(folder.path, was_there=True)
            yield msgspec.structs.replace(own, moved_from=moved_from, origin=identity)
        elif is_below:
            is_same = self._is_same_folder(pair, name, mode)
            if not is_same or self._is_dated(folder.upper, status_of(pair.upper, name), old):
                yield msgspec.structs.replace(own, origin=identity)
        else:
            # Copied from one that is no longer there: somebody has removed it since, with all that was in it.
            was_there = was_there and old is None and any(map(is_origin_mark, marks))
            is_new = old is None and all(map(is_opaque_mark, marks)) and folder.upper not in self._mixed
            inside = _all_new(folder, self._mixed) if is_new else None
            is_whole = inside is not None
            yield msgspec.structs.replace(own, has_marks=bool(marks), was_there=was_there, whole=is_whole)
            if inside is not None:
                yield from inside
                return
        within.append(folder)

    def _file(self, pair: _Pair, name: str, new: os.stat_result, old: os.stat_result | None) -> Iterator[StagedChange]:
        marks = marks_of(pair.upper, name)
        is_copied = any(map(is_origin_mark, marks))
        # Nothing below: it came here under another name, or what it was made of has been removed meanwhile by another.
        was_there = is_copied and not pair.folder.is_moved and (old is not None or self._is_touched(pair.lower))
        is_same = (
            old is not None
            and is_copied
            and new.st_nlink
            <= (2 if old.st_nlink > 1 else 1)  # the kernel's own name of it counts; others are new ones
            and old.st_ctime_ns <= self._began_ns
            and is_unchanged((pair.upper, name), (pair.lower, name))
        )
        if is_same:  # opened for writing, and not written
            return
        is_it = old is not None and is_copied and is_copy_of(pair.upper, pair.lower, name, has_names=old.st_nlink > 1)
        # Its other names, and whoever has it open to write on, are to have the same file as before.
        in_place = (
            was_there
            and is_it
            and old is not None
            and (old.st_nlink > 1 or (stat.S_ISREG(old.st_mode) and fs.is_open_for_writing(path_in(pair.lower, name))))
        )
        links = 0 if old is None or stat.S_ISDIR(old.st_mode) else old.st_nlink
        has_names = links > 1 or (links == 1 and new.st_nlink > 1 and not is_it)
        # Of a file of one name it is known without the kernel's notes too: what wasn't copied is another one.
        parts = has_names and not in_place and (self._tells_origins or (links == 1 and not is_copied))
        yield StagedChange(
            os.path.join(pair.folder.path, name),
            f"{pair.folder.upper}/{name}",
            was_there=was_there,
            in_place=in_place,
            parts=parts,
            has_marks=bool(marks),
        )

    def _below(self, pair: _Pair, name: str) -> os.stat_result | None:
        is_moved = bool(self._moved) and os.path.join(pair.folder.lower, name) in self._moved
        return None if is_moved else status_of(pair.lower, name)

    def _is_dated(self, folder: str, new: os.stat_result | None, old: os.stat_result | None) -> bool:
        """Whether the command has set a folder's time, and didn't only change what is in it."""
        if new is None or old is None or new.st_mtime_ns == old.st_mtime_ns:
            return False
        time_ns = new.st_mtime_ns
        with _listed(folder) as handle:
            return not self._began_ns < time_ns < time.time_ns() + _SKEW_NS or not os.listdir(handle)

    def _is_touched(self, folder: int) -> bool:
        return folder >= 0 and os.fstat(folder).st_ctime_ns > self._began_ns

    @contextmanager
    def _opened(self, folder: _Folder) -> Generator[_Pair]:
        with _listed(folder.upper) as upper:
            lower = self._opened_lower(folder.lower)
            try:
                yield _Pair(folder, upper, lower)
            finally:
                if lower >= 0:
                    os.close(lower)

    def _opened_lower(self, path: str) -> int:
        for is_again in (False, True):
            try:
                return open_long(path, _LIST)
            except OSError as error:
                if error.errno in _NOT_THERE:
                    break
                if is_again or error.errno != errno.EACCES or not self._closed.let_in(path):
                    raise
        return -1

    def _is_same_folder(self, pair: _Pair, name: str, mode: int) -> bool:
        """Whether a folder that stays where it is has the mode, the owner and the attributes that it had.

        `mode` is its mode where it was opened, else -1.
        """
        path = os.path.normpath(os.path.join(pair.folder.lower, name))
        new, old = status_of(pair.upper, name), status_of(pair.lower, name)
        if new is None or old is None:
            return False
        if shuts_out(old, stat.S_IRWXU):
            self._closed.let_in(path)
        modes = new.st_mode if mode < 0 else stat.S_IFDIR | mode, stat.S_IFDIR | self._closed.mode_of(path, old.st_mode)
        is_same = modes[0] == modes[1] and (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid)
        return is_same and own_attributes(pair.upper, name) == own_attributes(pair.lower, name)


def _all_new(top: _Folder, mixed: set[str]) -> list[StagedChange] | None:
    """Return all that is in a new folder, if nothing of it stems from what was there: it can be moved as it is.

    Else the folder goes to the `mixed` ones, with those in it that lead to what does: they needn't be looked through.
    """
    found: list[StagedChange] = []
    todo = [top]
    while todo:
        folder = todo.pop()
        with _listed(folder.upper) as handle, os.scandir(handle) as entries:
            for entry in sorted(entries, key=_name_of):
                if marks_of(handle, entry.name) or is_whiteout(entry.stat(follow_symlinks=False)):
                    mixed.update(_way_to(folder.upper, top.upper))
                    return None
                within, is_folder = folder.of(entry.name), entry.is_dir(follow_symlinks=False)
                found.append(StagedChange(within.path, within.upper, comes_along=True, is_folder=is_folder))
                if is_folder:
                    todo.append(within)
    return found


def _way_to(folder: str, top: str) -> Iterator[str]:
    while len(folder) > len(top):
        yield folder
        folder = os.path.dirname(folder)
    yield top


def _name_of(entry: os.DirEntry[str]) -> str:
    return entry.name


@contextmanager
def _listed(path: str) -> Generator[int]:
    handle = open_long(path, _LIST)
    try:
        yield handle
    finally:
        os.close(handle)


def _let_in(path: str) -> None:
    """Open a folder of the layer that the command has closed to its owner, and note the mode that it has."""
    handle = open_long(path)
    try:
        status = os.fstat(handle)
        if shuts_out(status, stat.S_IRWXU):
            mode = stat.S_IMODE(status.st_mode)
            os.chmod(path_in(handle), mode | stat.S_IRWXU)
            fs.setxattr(path_in(handle), _MODE, b"%o" % mode)
    finally:
        os.close(handle)


def _closed_mode(folder: int, name: str) -> int:
    """Return the mode of a folder that was opened, as long as nobody has given it another one; else -1."""
    status = status_of(folder, name)
    if status is None or _MODE not in attributes_of(folder, name):
        return -1
    mode = int(fs.getxattr(path_in(folder, name), _MODE, follow_symlinks=False), 8)
    return mode if stat.S_IMODE(status.st_mode) == mode | stat.S_IRWXU else -1
