"""One scratch file in which contents are put one behind another; not synced, for it serves a session's life."""

from __future__ import annotations

import ctypes
import os

from dogu.workspace import fs
from dogu.workspace.system import IS_LINUX

_FLUSH_BYTES = 4 << 20
_WORTH_FREEING_BYTES = 16 << 10
_PUNCH_HOLE = 0x3  # with the size left as it is: fallocate(2)


class Pack:
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
