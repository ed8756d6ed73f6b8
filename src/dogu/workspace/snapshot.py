"""What the roots hold, remembered from one look to the next, with the content of what may yet change.

A look costs a stat of each entry and a read of each file that is new or changed since the last one; contents go to one
scratch file. Symbolic links are noted, never followed. Left out: git's object stores (only ever added to), other file
systems mounted inside, and `exclude`.
"""

from __future__ import annotations

import os
import stat
import struct
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec

from dogu.workspace import beneath

RowKind = Literal["file", "link", "folder", "other"]
_COMES_LAST = frozenset(
    ("node_modules", ".venv", "venv", "target", "build", "dist", ".tox", ".cache", "__pycache__", "vendor", ".git")
)
_RACY_NS = 50_000_000
_NO_STAMP = (0, 0, 0)
_FLUSH_BYTES = 4 << 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class SnapshotLimits:
    """How much is watched and kept: entries in all, bytes of one file, bytes in all."""

    entries: int = 200_000
    file_bytes: int = 8 << 20
    bytes: int = 512 << 20


class Row(NamedTuple):
    """One entry as last seen. `stamp` is mtime, ctime and inode; `where` the content's place, -1 when not kept.

    `is_fresh`: it changed so shortly before the look that the same stamp may yet come to mean another content.
    """

    kind: RowKind
    mode: int
    size: int
    stamp: tuple[int, int, int]
    where: int = -1
    target: bytes = b""
    is_fresh: bool = False


class TreeChange(NamedTuple):
    """What became of one path (absolute) between two looks; None is missing."""

    path: str
    before: Row | None
    after: Row | None


_Chunk = list[tuple[bytes, Row | None]]


@dataclass
class _Look:
    """One look under way."""

    rows: dict[str, Row] = field(default_factory=dict[str, Row])
    changes: list[TreeChange] = field(default_factory=list[TreeChange])
    touched: list[str] = field(default_factory=list[str])
    now_ns: int = field(default_factory=time.time_ns)


class TooManyEntriesError(Exception):
    """The roots hold more entries than are watched."""


class TreeSnapshots:
    """The state of the trees below `roots` (absolute), kept in `folder`; `notes` tell what isn't covered."""

    def __init__(
        self,
        folder: str,
        roots: Sequence[str],
        exclude: Sequence[str] = (),
        limits: SnapshotLimits | None = None,
    ) -> None:
        self._folder = folder
        self._roots = [root for root in roots if not any(_is_inside(root, other) for other in roots)]
        self._exclude = frozenset(exclude)
        self._limits = limits or SnapshotLimits()
        self._rows: dict[str, Row] = {}
        self._pack = -1
        self._pack_bytes = 0
        self._waiting: list[bytes] = []
        self._flushed_bytes = 0
        self.not_kept = 0
        self.position = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the last look could not keep, in words for a person."""
        if not self.not_kept:
            return ()
        return (
            f"{self.not_kept} files are too large or too many to be kept for undo (limits: "
            f"{self._limits.file_bytes >> 20} MB a file, {self._limits.bytes >> 20} MB in all).",
        )

    def look(self) -> list[TreeChange]:
        """Look at everything; return what changed since the last look, by path.

        Raises `TooManyEntriesError`; then what was known is forgotten.
        """
        found = _Look()
        self.not_kept = 0
        self._open_pack()
        try:
            for root in self._roots:
                self._look_below(root, found)
        except TooManyEntriesError:
            self._rows = {}
            raise
        for path, row in self._rows.items():
            if path not in found.rows:
                found.changes.append(TreeChange(path, row, None))
        self._rows = found.rows
        found.changes.sort()
        self._store(found)
        return found.changes

    def content(self, row: Row) -> bytes | None:
        """Return the content of a file as it was when `row` was taken, or None when it wasn't kept."""
        if row.where < 0:
            return None
        self._flush()
        return os.pread(self._pack, row.size, row.where) if row.size else b""

    def load(self, position: int) -> None:
        """Take up what another process saw, as of its `position`."""
        with open(self._path("tree.index"), "rb") as stream:
            while stream.tell() < position and (head := stream.read(4)):
                (length,) = struct.unpack("<I", head)
                chunk = msgspec.msgpack.decode(stream.read(length), type=_Chunk)
                for name, row in chunk:
                    path = os.fsdecode(name)
                    if row is None:
                        self._rows.pop(path, None)
                    else:
                        self._rows[path] = row
        self.position = position

    def discard(self) -> None:
        """Remove the scratch files."""
        if self._pack >= 0:
            os.close(self._pack)
            self._pack = -1
        self._rows = {}
        for name in ("tree.index", "tree.pack"):
            try:
                os.unlink(self._path(name))
            except FileNotFoundError:
                pass

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _look_below(self, root: str, found: _Look) -> None:
        handle = beneath.open_root(root)
        try:
            device = os.fstat(handle).st_dev
            todo: deque[str] = deque([""])
            last: deque[str] = deque()
            while todo or last:
                folder = todo.popleft() if todo else last.popleft()
                for name in self._look_at_folder(root, handle, folder, device, found):
                    into = f"{folder}/{name}" if folder else name
                    (last if name in _COMES_LAST else todo).append(into)
        finally:
            os.close(handle)

    def _look_at_folder(self, root: str, handle: int, folder: str, device: int, found: _Look) -> list[str]:
        """Look at the entries of one folder; return the names of the folders to go into."""
        try:
            descriptor = beneath.open_folder_below(handle, folder)
        except OSError:
            return []
        prefix = os.path.join(root, folder, "") if folder else os.path.join(root, "")
        folders: list[str] = []
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    path = prefix + entry.name
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    if path in self._exclude or status.st_dev != device:
                        continue
                    row = self._see(path, entry.name, descriptor, status, found)
                    if row.kind == "folder" and not _is_object_store(path):
                        folders.append(entry.name)
        finally:
            os.close(descriptor)
        if len(found.rows) > self._limits.entries:
            raise TooManyEntriesError(str(self._limits.entries))
        return folders

    def _see(self, path: str, name: str, folder: int, status: os.stat_result, found: _Look) -> Row:
        old = self._rows.get(path)
        is_folder = stat.S_ISDIR(status.st_mode)
        stamp = _NO_STAMP if is_folder else (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        if old is not None and (old.stamp, old.mode, old.is_fresh) == (stamp, status.st_mode, False):
            found.rows[path] = old
            self.not_kept += old.kind == "file" and old.where < 0
            return old
        row = self._new_row(name, folder, status, stamp, old)
        if status.st_ctime_ns > found.now_ns - _RACY_NS and not is_folder:
            row = row._replace(is_fresh=True)
        found.rows[path] = row
        if old is None or _differ(old, row):
            found.changes.append(TreeChange(path, old, row))
        found.touched.append(path)
        self.not_kept += row.kind == "file" and row.where < 0
        return row

    def _new_row(
        self, name: str, folder: int, status: os.stat_result, stamp: tuple[int, int, int], old: Row | None
    ) -> Row:
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            return Row("folder", mode, 0, stamp)
        if stat.S_ISLNK(mode):
            return Row("link", mode, 0, stamp, -1, _link_target(name, folder))
        if not stat.S_ISREG(mode):
            return Row("other", mode, 0, stamp)
        data = self._read(name, folder, status.st_size)
        if data is None:
            return Row("file", mode, status.st_size, stamp)
        if old is not None and old.kind == "file" and old.size == len(data) and self.content(old) == data:
            return Row("file", mode, len(data), stamp, old.where)
        return Row("file", mode, len(data), stamp, self._keep(data))

    def _read(self, name: str, folder: int, size: int) -> bytes | None:
        if size > self._limits.file_bytes or self._pack_bytes + size > self._limits.bytes:
            return None
        try:
            descriptor = os.open(name, _OPEN, dir_fd=folder)
        except OSError:
            return None
        try:
            parts: list[bytes] = []
            left = size
            while left > 0 and (part := os.read(descriptor, left)):
                parts.append(part)
                left -= len(part)
            after = os.fstat(descriptor)
        except OSError:
            return None
        finally:
            os.close(descriptor)
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        return data if stat.S_ISREG(after.st_mode) and after.st_size == len(data) else None

    def _keep(self, data: bytes) -> int:
        where = self._pack_bytes
        self._waiting.append(data)
        self._pack_bytes += len(data)
        if self._pack_bytes - self._flushed_bytes > _FLUSH_BYTES:
            self._flush()
        return where

    def _open_pack(self) -> None:
        if self._pack < 0:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._pack = os.open(self._path("tree.pack"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._pack_bytes = self._flushed_bytes = os.fstat(self._pack).st_size

    def _flush(self) -> None:
        if self._waiting:
            data = b"".join(self._waiting)
            self._waiting.clear()
            view = memoryview(data)
            while view:
                written = os.pwrite(self._pack, view, self._flushed_bytes)
                self._flushed_bytes += written
                view = view[written:]

    def _store(self, found: _Look) -> None:
        """Write down what is new, so that another process can tell what changed if this one dies."""
        self._flush()
        chunk: _Chunk = [(os.fsencode(path), found.rows[path]) for path in found.touched]
        chunk += [(os.fsencode(change.path), None) for change in found.changes if change.after is None]
        if not chunk:
            return
        data = msgspec.msgpack.encode(chunk)
        descriptor = os.open(self._path("tree.index"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "ab") as stream:
            stream.write(struct.pack("<I", len(data)) + data)
            self.position = stream.tell()


def _differ(old: Row, new: Row) -> bool:
    if (old.kind, old.mode, old.size, old.target) != (new.kind, new.mode, new.size, new.target):
        return True
    if new.kind != "file":
        return False
    return old.where != new.where or (new.where < 0 and old.stamp != new.stamp)


def _link_target(name: str, folder: int) -> bytes:
    try:
        return os.fsencode(os.readlink(name, dir_fd=folder))
    except OSError:
        return b""


def _is_object_store(path: str) -> bool:
    return path.endswith("/objects") and ("/.git/" in path or path.endswith(".git/objects"))


def _is_inside(path: str, other: str) -> bool:
    return path != other and path.startswith(other.rstrip("/") + "/")
