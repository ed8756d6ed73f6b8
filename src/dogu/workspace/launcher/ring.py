"""What a command printed, in one file of bounded size: the beginning, then a ring that holds the end.

The first `HEAD_BYTES` of a stream stay where they are; what follows goes round in the rest of `RING_BYTES`. Written by
the command's supervisor, read by this program; both know the layout from the number of bytes written in all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

RING_BYTES = 16 * 1024 * 1024
HEAD_BYTES = RING_BYTES // 5
_TURN_BYTES = RING_BYTES - HEAD_BYTES
_COPY_BYTES = 256 * 1024


class OutputRing:
    """The writing side. `total_bytes` counts every byte; `failure` says why some could not be kept, "" otherwise.

    `descriptor` is the file's, its maker's to close.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.total_bytes = 0
        self.failure = ""

    def write(self, data: bytes) -> None:
        """Add to the end. A full disk loses bytes and is told by `failure`; it never raises."""
        rest = memoryview(data)
        while rest:
            offset, room = _place(self.total_bytes)
            chunk = rest[:room]
            try:
                written = len(chunk) if self.failure else write_at(self.descriptor, chunk, offset)
            except OSError as error:
                self.failure = error.strerror or str(error)
                written = len(chunk)
            self.total_bytes += written
            rest = rest[written:]

    def copy_to(self, descriptor: int) -> None:
        """Copy what is kept, in the same layout. Raises `OSError`."""
        kept_bytes, offset = min(self.total_bytes, RING_BYTES), 0
        while offset < kept_bytes and (data := _read_at(self.descriptor, _COPY_BYTES, offset)):
            offset += write_at(descriptor, data, offset)

    def go_on_in(self, descriptor: int) -> None:
        """Write to another file from now on, which holds a copy."""
        os.close(self.descriptor)
        self.descriptor = descriptor


if sys.platform == "win32":
    import threading

    _SEEKING = threading.Lock()  # a file has one position, whichever thread reads

    def _read_at(descriptor: int, length: int, offset: int) -> bytes:
        with _SEEKING:
            os.lseek(descriptor, offset, os.SEEK_SET)
            return os.read(descriptor, length)

    def write_at(descriptor: int, data: bytes | memoryview, offset: int) -> int:
        """Write to a place of a file."""
        with _SEEKING:
            os.lseek(descriptor, offset, os.SEEK_SET)
            return os.write(descriptor, data)
else:
    _read_at, write_at = os.pread, os.pwrite


def read_ends(descriptor: int, total_bytes: int, max_bytes: int) -> tuple[bytes, int, bytes]:
    """Return (first, bytes left out between, last): all of it as `first` when it fits into `max_bytes`."""
    if total_bytes <= min(max_bytes, RING_BYTES):
        return _read(descriptor, 0, total_bytes), 0, b""
    first_bytes = min(max_bytes // 5, HEAD_BYTES)
    last_bytes = min(max_bytes - first_bytes, _TURN_BYTES)
    first = _read(descriptor, 0, first_bytes)
    return first, total_bytes - first_bytes - last_bytes, _read(descriptor, total_bytes - last_bytes, last_bytes)


def read_from(descriptor: int, total_bytes: int, position: int) -> bytes:
    """Return what was printed from `position` on, as far as it is kept; at most `RING_BYTES`."""
    oldest = total_bytes - _TURN_BYTES if total_bytes > RING_BYTES else 0
    position = max(position, oldest)
    return _read(descriptor, position, total_bytes - position)


def in_order(descriptor: int, total_bytes: int) -> Iterator[bytes]:
    """Yield what is kept in the order it was printed, with a line that says so where the middle is missing."""
    if total_bytes <= RING_BYTES:
        yield from _stretch(descriptor, 0, total_bytes)
        return
    yield from _stretch(descriptor, 0, HEAD_BYTES)
    yield b"\n[... %d bytes are missing here: only the ends were kept ...]\n" % (total_bytes - RING_BYTES)
    yield from _stretch(descriptor, total_bytes - _TURN_BYTES, _TURN_BYTES)


def _place(position: int) -> tuple[int, int]:
    """Where byte `position` of the stream lies in the file, and how many bytes fit there in one piece."""
    if position < HEAD_BYTES:
        return position, HEAD_BYTES - position
    turned = (position - HEAD_BYTES) % _TURN_BYTES
    return HEAD_BYTES + turned, _TURN_BYTES - turned


def _stretch(descriptor: int, position: int, length: int) -> Iterator[bytes]:
    while length > 0:
        offset, room = _place(position)
        data = _read_at(descriptor, min(length, room, _COPY_BYTES), offset)
        if not data:
            return
        yield data
        position += len(data)
        length -= len(data)


def _read(descriptor: int, position: int, length: int) -> bytes:
    return b"".join(_stretch(descriptor, position, length))
