"""What files held when they were looked at, kept for as long as undo may ask for it, within limits.

Contents are put one behind another into a scratch file, which isn't synced: it serves a session's life. Git's objects,
which are never written to again, get a second name in a folder beside it instead.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
from collections.abc import Iterable

from dogu.workspace import fs
from dogu.workspace.snapshot.limits import SnapshotLimits
from dogu.workspace.snapshot.rows import BY_LINK, SnapshotRow
from dogu.workspace.system import IS_LINUX

_OPEN = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC
_FLUSH_BYTES = 4 << 20
_WORTH_FREEING_BYTES = 16 << 10
_PUNCH_HOLE = 0x3  # with the size left as it is: fallocate(2)


class Contents:
    """The contents that are kept in `folder`, and what of `limits` they take."""

    def __init__(self, folder: str, limits: SnapshotLimits) -> None:
        self._limits = limits
        self._pack = _Pack(os.path.join(folder, "tree.pack"))
        self._objects = os.path.join(folder, "tree.objects")
        self._kept_bytes = self._rebuilt_bytes = 0

    def open(self) -> None:
        """Make ready to take contents, and give up the room of those freed. Raises OSError."""
        self._pack.open()
        self._pack.free()

    def flush(self) -> None:
        """Hand what waits to the system, so that it survives this process."""
        self._pack.flush()

    def discard(self) -> None:
        """Remove all of it."""
        self._pack.discard()
        shutil.rmtree(self._objects, ignore_errors=True)

    def of(self, row: SnapshotRow) -> bytes | None:
        """Return the content of a file as it was when `row` was taken, or None when it wasn't kept."""
        if row.where == BY_LINK:
            with open(self.file_of(row), "rb") as file:
                return file.read()
        return self._pack.content(row.where, row.size) if row.where >= 0 else None

    def file_of(self, row: SnapshotRow) -> str:
        """Return the second name of a file that has one."""
        return os.path.join(self._objects, f"{row.stamp[2]}")

    def take(
        self, name: str, folder: int, size: int, old: SnapshotRow | None, *, can_be_rebuilt: bool
    ) -> tuple[int, int]:
        """Keep what a file in an open folder holds; return how many bytes that is, and its place: -1 if it isn't kept.

        What is the same as in `old` stays where that has it.
        """
        data = _read(name, folder, size) if self._has_room(size, can_be_rebuilt) else None
        if data is None:
            return size, -1
        if old is not None and old.kind == "file" and old.size == len(data) and self.of(old) == data:
            return len(data), old.where
        self._rebuilt_bytes += len(data) * can_be_rebuilt
        self._kept_bytes += len(data)
        return len(data), self._pack.keep(data)

    def link(self, path: str, name: str, folder: int, status: os.stat_result) -> os.stat_result | None:
        """Give one of git's objects in a folder a second name; return its new status.

        None for what is none, and where it can't be.
        """
        if not stat.S_ISREG(status.st_mode) or not _is_in_object_store(path):
            return None
        try:
            os.makedirs(self._objects, mode=0o700, exist_ok=True)
            fs.link(name, os.path.join(self._objects, f"{status.st_ino}"), src_dir_fd=folder, follow_symlinks=False)
            return fs.stat(name, dir_fd=folder, follow_symlinks=False)  # its change time is another one now
        except FileExistsError:
            return status
        except OSError:
            return None

    def free(self, rows: Iterable[SnapshotRow]) -> None:
        """Give back, with the next look, the room of contents that are no longer the last known ones."""
        for row in rows:
            if row.where >= 0:
                self._kept_bytes -= row.size
                self._pack.free_later(row.where, row.size)

    def _has_room(self, size: int, can_be_rebuilt: bool) -> bool:
        if size > self._limits.file_bytes or self._kept_bytes + size > self._limits.bytes:
            return False
        return not can_be_rebuilt or self._rebuilt_bytes + size <= self._limits.rebuilt_bytes


class _Pack:
    """The scratch file `path`, made when it is opened; goes on where another process stopped."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1
        self._waiting: list[bytes] = []
        self._written_bytes = 0
        self._unwanted: list[tuple[int, int]] = []
        self.size_bytes = 0

    def open(self) -> None:
        """Open the file, unless it is open. Raises OSError."""
        if self._descriptor < 0:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            self._descriptor = fs.open(self._path, os.O_RDWR | os.O_CREAT | fs.O_CLOEXEC, 0o600)
            self.size_bytes = self._written_bytes = os.fstat(self._descriptor).st_size

    def keep(self, data: bytes) -> int:
        """Put a content in and return its place."""
        where = self.size_bytes
        self._waiting.append(data)
        self.size_bytes += len(data)
        if self.size_bytes - self._written_bytes > _FLUSH_BYTES:
            self.flush()
        return where

    def free_later(self, where: int, length: int) -> None:
        """Take note that a content will no longer be wanted when `free` is called next."""
        if length >= _WORTH_FREEING_BYTES:
            self._unwanted.append((where, length))

    def free(self) -> None:
        """Give the room of what is no longer wanted back to the disk, where the system can."""
        unwanted, self._unwanted = self._unwanted, []
        if not IS_LINUX or not unwanted:
            return
        fallocate = ctypes.CDLL(None, use_errno=True).fallocate
        fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
        self.flush()
        for where, length in unwanted:
            fallocate(self._descriptor, _PUNCH_HOLE, where, length)

    def content(self, where: int, length: int) -> bytes:
        """Return what was put in at a place."""
        self.flush()
        return fs.pread(self._descriptor, length, where) if length else b""

    def flush(self) -> None:
        """Hand what waits to the system, so that it survives this process."""
        view = memoryview(b"".join(self._waiting))
        self._waiting.clear()
        while view:
            written = fs.pwrite(self._descriptor, view, self._written_bytes)
            self._written_bytes += written
            view = view[written:]

    def discard(self) -> None:
        """Close and remove the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            return


def _read(name: str, folder: int, size: int) -> bytes | None:
    try:
        descriptor = fs.open_own(name, _OPEN, dir_fd=folder)
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


def _is_in_object_store(folder: str) -> bool:
    head, found, _ = folder.partition("/objects")
    return bool(found) and (head.endswith(".git") or "/.git/" in head)
