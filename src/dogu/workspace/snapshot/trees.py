"""What the roots hold, remembered from one look to the next, with the content of what may yet change.

A look costs a read of each file that is new or changed since the last one, and a stat of each entry in the folders
that were touched (`folder_events`), or in all of them where that isn't known; where a file has several names, the
folders of its other names count as touched. What the folders held stays in memory, packed (`rows`), and is noted in a
scratch file (`index`); contents are kept beside it (`contents`). Symbolic links are noted, never followed. Left out:
other file systems mounted inside, and `exclude`.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence

import msgspec

from dogu.language import told
from dogu.workspace import fs, openat
from dogu.workspace.snapshot.contents import Contents
from dogu.workspace.snapshot.folder_events import FolderEvents
from dogu.workspace.snapshot.index import Index
from dogu.workspace.snapshot.limits import SnapshotLimits
from dogu.workspace.snapshot.rows import (
    BY_LINK,
    SnapshotRow,
    TreeChange,
    changes_of,
    packed,
    stamp_of_status,
    unpacked,
)
from dogu.workspace.xattrs import read_xattrs

_COMES_LAST = frozenset(
    ("node_modules", ".venv", "venv", "target", "build", "dist", ".tox", ".cache", "__pycache__", "vendor")
)
_RACY_NS = 50_000_000
_ITSELF = "."  # a root, among what is in it


_Rows = dict[str, SnapshotRow]


class _Look(msgspec.Struct):
    """One look under way: what changed, by path, and the folders to look into, those of `later` at the end; the folders
    `seen`, and the `inodes` whose other names were looked for.

    What the first one finds is no change: it is what later ones compare with.
    """

    is_full: bool
    is_first: bool
    is_late: bool = False
    root: str = ""
    changes: dict[str, tuple[SnapshotRow | None, SnapshotRow | None]] = msgspec.field(
        default_factory=dict[str, tuple[SnapshotRow | None, SnapshotRow | None]]
    )
    seen: set[str] = msgspec.field(default_factory=set[str])
    inodes: set[int] = msgspec.field(default_factory=set[int])
    todo: deque[str] = msgspec.field(default_factory=deque[str])
    later: deque[str] = msgspec.field(default_factory=deque[str])
    now_ns: int = msgspec.field(default_factory=time.time_ns)

    def note(self, path: str, before: SnapshotRow | None, after: SnapshotRow | None) -> None:
        """Note a change; with one noted already, from before the first to after the last."""
        if self.is_first:
            return
        self.changes[path] = (self.changes[path][0] if path in self.changes else before, after)

    def go_into(self, path: str) -> None:
        is_later = not _COMES_LAST.isdisjoint(path[len(self.root) :].split("/"))
        (self.later if is_later else self.todo).append(path)

    def next_folder(self) -> str | None:
        self.is_late = not self.todo
        if self.todo:
            return self.todo.popleft()
        return self.later.popleft() if self.later else None


class TooManyEntriesError(Exception):
    """The roots hold more entries than are watched."""


class TreeSnapshots:
    """The state of the trees below `roots` (absolute), kept in `folder`; `notes` tell what isn't covered.

    `contents` has what the files held.
    """

    def __init__(
        self,
        folder: str,
        roots: Sequence[str],
        exclude: Sequence[str] = (),
        limits: SnapshotLimits | None = None,
    ) -> None:
        self._roots = [root for root in roots if not any(_is_inside(root, other) for other in roots)]
        self._exclude = {(each.st_dev, each.st_ino) for each in map(os.stat, exclude)}  # however they are spelled
        self._limits = limits or SnapshotLimits()
        self._closed = openat.Closed(self._roots)
        self._folders: dict[str, bytes] = {}
        self._devices: dict[str, int] = {}
        self._count = 0
        self._lost = 0
        self._least_lost_bytes: int | None = None
        self._is_first = True
        self._is_complete = False
        self._events = FolderEvents()
        self._index = Index(os.path.join(folder, "tree.index"))
        self.contents = Contents(folder, self._limits)
        self.position = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be kept, in words for a user."""
        if not self._lost:
            return ()
        return (
            told(
                "{count} files are too large or too many to be kept for undo (limits: {file_mb} MB a file, "
                "{all_mb} MB in all, {rebuilt_mb} MB in folders such as node_modules).",
                count=self._lost,
                file_mb=self._limits.file_bytes >> 20,
                all_mb=self._limits.bytes >> 20,
                rebuilt_mb=self._limits.rebuilt_bytes >> 20,
            ),
        )

    def look(self, also: Collection[str] = ()) -> list[TreeChange]:
        """Look at what may have changed, and in the folders `also`; return what did since the last look, by path:
        nothing for the first one.

        Raises `TooManyEntriesError`, or OSError for a root that isn't there; then what was known is forgotten.
        """
        self.contents.open()
        touched = self._events.touched() if self._is_complete else None
        found = _Look(touched is None, self._is_first)
        self._is_complete = False
        if found.is_full:
            self._count = 0
        if found.is_first:
            self._index.note("", None)
        try:
            folders = {*(touched or ()), *also}
            for root in self._roots:
                self._look_below(root, sorted(folders), found)
            while not found.is_full and (folders := self._with_other_names(found)):
                for root in self._roots:
                    self._look_below(root, sorted(folders), found)
            self.contents.flush()
            self.position = self._index.flush()
        except (TooManyEntriesError, OSError):
            self._forget_all()
            raise
        finally:
            self._closed.close()
        self._is_first = False
        self._is_complete = True
        return changes_of(found.changes)

    @property
    def least_lost_bytes(self) -> int | None:
        """How many bytes a file has at least whose content isn't kept; None where all are."""
        return self._least_lost_bytes if self._lost else None

    def rows(self) -> Iterator[tuple[str, SnapshotRow]]:
        """Give all that is known, by path."""
        for folder, rows in self._folders.items():
            for name, row in unpacked(rows).items():
                yield _join(folder, name), row

    def names_of(self, inodes: Collection[int]) -> dict[int, list[str]]:
        """Return the paths at which files lie now, by inode."""
        found: dict[int, list[str]] = {}
        if inodes:
            for path, row in self.rows():
                if row.kind == "file" and row.stamp[2] in inodes:
                    found.setdefault(row.stamp[2], []).append(path)
        return found

    def load(self, position: int) -> None:
        """Take up what another process saw, as of its `position`. Raises OSError."""
        folders: dict[str, _Rows] = {}
        for folder, noted in self._index.read(position):
            if noted is None:
                folders.pop(folder, None) if folder else folders.clear()
                continue
            rows = folders.setdefault(folder, {})
            for name, row in noted.items():
                rows.pop(name, None)
                if row is not None:
                    rows[name] = row
        for folder, rows in folders.items():
            self._put(folder, rows, {})
        self.position = position
        self._is_first = False

    def discard(self) -> None:
        """Remove the scratch files."""
        self.contents.discard()
        self._events.close()
        self._index.discard()
        self._forget_all()

    def _forget_all(self) -> None:
        self._folders = {}
        self._lost = 0
        self._is_first = True

    def _look_below(self, root: str, touched: Sequence[str], found: _Look) -> None:
        handle = openat.open_root(root)
        try:
            self._devices[root] = os.fstat(handle).st_dev
            found.root = root
            for path in [root] if found.is_full else touched:
                if found.is_full or (path in self._folders and _is_in(path, root)):
                    found.go_into(path)
            while (path := found.next_folder()) is not None:
                self._look_at_folder(root, handle, path, found)
                if self._count > self._limits.entries:
                    raise TooManyEntriesError(str(self._limits.entries))
        finally:
            os.close(handle)

    def _with_other_names(self, found: _Look) -> set[str]:
        """Return the folders, not seen yet, in which changed files of several names have others of these."""
        inodes = {
            row.stamp[2] for change in found.changes.values() for row in change if row is not None and row.links > 1
        }
        names = self.names_of(inodes - found.inodes)
        found.inodes |= inodes
        return {os.path.dirname(path) for paths in names.values() for path in paths} - found.seen

    def _look_at_folder(self, root: str, handle: int, path: str, found: _Look) -> None:
        """Look at the entries of one folder, and at those of the folders in it that are new, or all in a full look."""
        found.seen.add(path)
        folder = self._opened(handle, path, path[len(root) :].lstrip("/"), found)
        if folder < 0:
            return
        is_known = path in self._folders
        old = unpacked(self._folders[path]) if is_known else {}
        try:
            self._events.watch(folder, path)
            new = self._rows_in(folder, path, old, found)
        finally:
            os.close(folder)
        for name, row in old.items():
            if name not in new:
                found.note(_join(path, name), row, None)
                if row.kind == "folder":
                    self._forget(_join(path, name), found)
        self._count += len(new) - ((_ITSELF in new) if found.is_full else len(old))
        changed: dict[str, SnapshotRow | None] = {name: row for name, row in new.items() if old.get(name) is not row}
        changed.update(dict.fromkeys(old.keys() - new.keys()))
        if changed or not is_known:
            self._put(path, new, old)
            self._index.note(path, changed)

    def _rows_in(self, folder: int, path: str, old: _Rows, found: _Look) -> _Rows:
        new: _Rows = {}
        if path == found.root:
            new[_ITSELF] = self._see_root(path, folder, old.get(_ITSELF), found)
        for name, status in _entries(folder):
            if status.st_dev == self._devices[found.root] and (status.st_dev, status.st_ino) not in self._exclude:
                new[name] = self._see(path, name, folder, status, old.get(name), found)
        return new

    def _opened(self, handle: int, path: str, below: str, found: _Look) -> int:
        """Open a folder, `below` the one of the handle, to list it; its owner is let in. -1 where that can't be."""
        try:
            folder = openat.open_folder_below(handle, below)
            if openat.shuts_out(os.fstat(folder), stat.S_IXUSR):
                self._closed.let_in(path)
            return folder
        except PermissionError:
            if self._closed.let_in(path):
                return self._opened(handle, path, below, found)
        except OSError:
            self._forget(path, found)
        return -1  # what nobody may look into isn't gone

    def _put(self, path: str, new: _Rows, old: _Rows) -> None:
        self._folders[path] = packed(new)
        kept = {row.where for row in new.values()}
        self.contents.free(row for row in old.values() if row.where not in kept)
        lost = [row.size for row in new.values() if row.is_lost]
        self._lost += len(lost) - sum(row.is_lost for row in old.values())
        if lost:
            least = min(lost)
            self._least_lost_bytes = min(least, self._least_lost_bytes or least)

    def _forget(self, path: str, found: _Look) -> None:
        """Note that all below a folder is gone, unless it turns out to be there later in the look."""
        if path not in self._folders:
            return
        rows = unpacked(self._folders.pop(path))
        self._index.note(path, None)
        self._lost -= sum(row.is_lost for row in rows.values())
        self.contents.free(iter(rows.values()))
        self._count -= 0 if found.is_full else len(rows)
        for name, row in rows.items():
            found.note(_join(path, name), row, None)
            if row.kind == "folder":
                self._forget(_join(path, name), found)

    def _see(
        self, path: str, name: str, folder: int, status: os.stat_result, old: SnapshotRow | None, found: _Look
    ) -> SnapshotRow:
        is_folder = stat.S_ISDIR(status.st_mode)
        stamp = stamp_of_status(status)
        if old is not None and (old.stamp, old.mode, old.is_fresh) == (stamp, status.st_mode, False):
            row = _with_attributes(old, folder, name, status) if is_folder else old
            if row != old:
                found.note(_join(path, name), old, row)
        else:
            row = self._new_row(path, name, folder, status, old, found)
            row = _with_attributes(row, folder, name, status)
            if row.links > 1:
                self._events.watch(folder, path, name)
            if stamp[1] > found.now_ns - _RACY_NS:
                row = row._replace(is_fresh=True)
            found.note(_join(path, name), old, row)
        below = _join(path, name)
        is_other = old is None or old.kind != "folder" or old.stamp != stamp
        if is_other and old is not None and old.kind == "folder":
            self._forget(below, found)
        if is_folder and (found.is_full or is_other):
            found.go_into(below)
        return row

    def _see_root(self, root: str, handle: int, old: SnapshotRow | None, found: _Look) -> SnapshotRow:
        """Look at a root's own mode, owner and attributes, as its row among those in it; all others lie in a folder."""
        status = os.fstat(handle)
        mode = stat.S_IFDIR | self._closed.mode_of(root, stat.S_IMODE(status.st_mode))
        row = _with_attributes(SnapshotRow("folder", mode, 0, stamp_of_status(status)), handle, _ITSELF, status)
        if old != row:
            found.note(root, old, row)
        return row

    def _new_row(
        self, path: str, name: str, folder: int, status: os.stat_result, old: SnapshotRow | None, found: _Look
    ) -> SnapshotRow:
        if linked := self.contents.link(path, name, folder, status):
            return SnapshotRow("file", linked.st_mode, linked.st_size, stamp_of_status(linked), BY_LINK)
        stamp, mode = stamp_of_status(status), status.st_mode
        if stat.S_ISDIR(mode):
            return SnapshotRow("folder", mode, 0, stamp)
        if stat.S_ISLNK(mode):
            return SnapshotRow("link", mode, 0, stamp, -1, _link_target(name, folder))
        if not stat.S_ISREG(mode):
            return SnapshotRow("fifo" if stat.S_ISFIFO(mode) else "other", mode, 0, stamp)
        size, where = self.contents.take(name, folder, status.st_size, old, can_be_rebuilt=found.is_late)
        return SnapshotRow("file", mode, size, stamp, where)


def _entries(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    with fs.scandir(folder) as entries:
        for entry in entries:
            try:
                yield entry.name, entry.stat(follow_symlinks=False)
            except OSError:
                continue


def _join(folder: str, name: str) -> str:
    if name == _ITSELF:
        return folder
    return f"{folder}{name}" if folder.endswith("/") else f"{folder}/{name}"


def _link_target(name: str, folder: int) -> bytes:
    try:
        return os.fsencode(fs.readlink(name, dir_fd=folder))
    except OSError:
        return b""


def _is_in(path: str, root: str) -> bool:
    return path == root or _is_inside(path, root)


def _is_inside(path: str, other: str) -> bool:
    return path != other and path.startswith(other.rstrip("/") + "/")


def _with_attributes(row: SnapshotRow, folder: int, name: str, status: os.stat_result) -> SnapshotRow:
    return row._replace(
        owner=(status.st_uid, status.st_gid),
        links=1 if row.kind == "folder" else status.st_nlink - (row.where == BY_LINK),
        is_sparse=row.kind == "file" and fs.is_sparse(status),
        xattrs=() if row.kind == "link" else read_xattrs(folder, name),
    )
