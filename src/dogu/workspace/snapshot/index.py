"""One scratch file that says what the looks saw, folder by folder, so that another process can go on from there."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Generator, Mapping
from typing import BinaryIO

import msgspec

from dogu.workspace import fs
from dogu.workspace.snapshot.rows import SnapshotRow

_FLUSH_BYTES = 1 << 20
_HEAD = struct.Struct("<I")
_Note = tuple[bytes, list[tuple[bytes, SnapshotRow | None]] | None]


class Index:
    """The scratch file `path`, made with the first note; not synced, for it serves a session's life."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._waiting = bytearray()
        self._size_bytes = -1

    def note(self, folder: str, rows: Mapping[str, SnapshotRow | None] | None) -> None:
        """Note what became of entries of a folder (None: gone), or that the folder is gone; "" are all folders."""
        changed = None if rows is None else [(os.fsencode(name), row) for name, row in rows.items()]
        data = msgspec.msgpack.encode((os.fsencode(folder), changed))
        self._waiting += _HEAD.pack(len(data)) + data
        if len(self._waiting) > _FLUSH_BYTES:
            self.flush()

    def flush(self) -> int:
        """Hand what waits to the system, so that it survives this process; return the file's size. Raises OSError."""
        descriptor = fs.open(self._path, os.O_WRONLY | os.O_CREAT | fs.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as stream:
            if self._size_bytes < 0:
                self._size_bytes = os.fstat(descriptor).st_size
            stream.seek(self._size_bytes)
            while self._waiting:
                written = stream.write(self._waiting)
                self._size_bytes += written
                del self._waiting[:written]
        return self._size_bytes

    def read(self, position: int) -> Generator[tuple[str, dict[str, SnapshotRow | None] | None]]:
        """Yield the notes before a position, in order; what is noted next comes there. Raises OSError."""
        with open(self._path, "rb") as stream:
            while stream.tell() < position:
                folder, rows = _next(stream)
                yield os.fsdecode(folder), None if rows is None else {os.fsdecode(name): row for name, row in rows}
        self._size_bytes = position

    def discard(self) -> None:
        """Remove the file."""
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            return


def _next(stream: BinaryIO) -> _Note:
    try:
        (length,) = _HEAD.unpack(stream.read(_HEAD.size))
        return msgspec.msgpack.decode(stream.read(length), type=_Note)
    except (struct.error, msgspec.DecodeError) as error:
        raise OSError(errno.EINVAL, f"{stream.name} isn't whole") from error
