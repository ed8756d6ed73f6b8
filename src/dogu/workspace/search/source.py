"""Open files to be searched or shown: by descriptor from a folder's handle, never through a symbolic link.

A file in an encoding that the engine can't read is handed to it as UTF-8 in memory.
"""

from __future__ import annotations

import os
import stat

import msgspec

from dogu.workspace import fs, openat
from dogu.workspace.search.query import LONGEST_LINE_CHARS
from dogu.workspace.text import decode
from dogu.workspace.text.detect import detect

_READ = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC | fs.O_NONBLOCK | fs.O_NOCTTY
_LARGEST_DECODED_BYTES = 64 << 20
_WINDOW_BYTES = 4 * LONGEST_LINE_CHARS
_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


class Source(msgspec.Struct):
    """An open file: `encoding` is set when `descriptor` holds its text as UTF-8 instead of its own bytes."""

    path: str
    descriptor: int
    encoding: str = ""
    _codec: str = ""

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)

    def text_of(self, line: bytes) -> str:
        """Return a line of it as text, in the file's own encoding where the line isn't UTF-8."""
        if b"\x1b$" not in line:
            try:
                return line.decode("utf-8")
            except UnicodeDecodeError:
                pass
        if not self._codec:
            self._detect()
        return line.decode(self._codec, "replace")

    def around(self, position: int) -> tuple[bytes, bytes]:
        """Return what is before and after a position in what the descriptor holds: some kilobytes of its line."""
        start = max(0, position - _WINDOW_BYTES)
        data = fs.pread(self.descriptor, 2 * _WINDOW_BYTES, start)
        before, after = data[: position - start], data[position - start :]
        return before[before.rfind(b"\n") + 1 :], after.partition(b"\n")[0].removesuffix(b"\r")

    def _detect(self) -> None:
        found = detect(_whole(self.descriptor))
        self._codec = found.codec
        if found.codec != "utf-8" and not self.encoding:
            self.encoding = found.label


def open_beneath(folder: int, path: str) -> int:
    """Open a regular file below a folder's handle for reading. Raises OSError, also for links and devices."""
    parts = path.split("/")
    here = openat.enter(folder, parts[:-1])
    try:
        descriptor = fs.open(parts[-1], _READ, dir_fd=here)
    finally:
        os.close(here)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"not a regular file: {path}")
    return descriptor


def source_of(path: str, descriptor: int, decode_legacy: bool) -> Source:
    """Make a source of an open file, whose descriptor it takes over.

    UTF-16 and UTF-32 with a BOM are decoded always, other encodings when `decode_legacy` (the pattern isn't ASCII).
    """
    has_mark = fs.pread(descriptor, 4, 0).startswith(_MARKS)
    if not (has_mark or decode_legacy) or os.fstat(descriptor).st_size > _LARGEST_DECODED_BYTES:
        return Source(path, descriptor)
    data = _whole(descriptor)
    if not has_mark and _is_utf8(data):
        return Source(path, descriptor)
    decoded = decode(data)
    text = decoded.text.encode("utf-8", "surrogateescape")
    os.close(descriptor)
    return Source(path, _in_memory(text), decoded.label)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\x1b$" not in data


def _whole(descriptor: int) -> bytes:
    return fs.pread(descriptor, _LARGEST_DECODED_BYTES, 0)


def _in_memory(data: bytes) -> int:
    descriptor = fs.unnamed("dogu-text")
    written = 0
    while written < len(data):
        written += fs.pwrite(descriptor, data[written:], written)
    return descriptor


def cut_around(text: str, at: int) -> str:
    """Return at most 2,000 characters of a line around position `at`, with `...` where something is left out."""
    if len(text) <= LONGEST_LINE_CHARS:
        return text
    start = max(0, min(at - LONGEST_LINE_CHARS // 2, len(text) - LONGEST_LINE_CHARS))
    end = start + LONGEST_LINE_CHARS
    return ("..." if start else "") + text[start:end] + ("..." if end < len(text) else "")
