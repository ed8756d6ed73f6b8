"""The journal's file: records one after another, each whole or not there, with the contents they speak of.

A record is a head (lengths and a checksum), a msgpack body and raw contents. Records are only ever added; a torn one at
the end, left by a kill or a crash, counts as not written and is cut off by the next writer.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import zlib
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from itertools import chain
from typing import Any, Literal

import msgspec

from dogu.language import plain
from dogu.runtime.recorded_messages import messages_data, said_again

FILE_NAME = "journal.log"
_HEAD = struct.Struct("<4sIQI")
_MAGIC = b"dgj1"
_LONGEST_BODY_BYTES = 256 << 20

StateKind = Literal["missing", "file", "link", "folder", "other"]
RecordKind = Literal["look", "changes", "failed", "seen", "undone"]


class State(msgspec.Struct, frozen=True, array_like=True):
    """What a path holds: `mode` are permission bits, `digest` tells a file's content, `target` a link's.

    `where` is the content's place in the log, -1 when it wasn't kept. A mode of -1 is one nobody has looked at.
    """

    kind: StateKind = "missing"
    mode: int = 0
    size: int = 0
    digest: str = ""
    target: bytes = b""
    where: int = -1

    def is_same_as(self, other: State) -> bool:
        """Whether both say the same of the path, wherever the content is kept; a link's mode means nothing."""
        if (self.kind, self.digest, self.target) != (other.kind, other.digest, other.target):
            return False
        return self.kind == "link" or self.mode == other.mode or UNKNOWN_MODE in (self.mode, other.mode)


UNKNOWN_MODE = -1
MISSING = State()


class ChangeRecord(msgspec.Struct, frozen=True, array_like=True):
    """One path's change; `path` is absolute and without links. `is_outside`: it lies outside of the roots."""

    path: bytes
    before: State
    after: State
    is_outside: bool = False


class Record(msgspec.Struct, frozen=True):
    """One step of the journal. `number` is the call's in this journal, counted from 1.

    `look`: a call began that is watched from outside, with `position` of the snapshot's index. `changes`: what is about
    to be done, or was seen. `seen`: all that such a call did has been noted. `failed`: the last change of `path` wasn't
    done. `undone`: this call undid the calls of `numbers`.
    """

    kind: RecordKind
    number: int
    call_id: str = ""
    title: str = ""
    turn: int = 0
    time_s: float = 0.0
    is_undo: bool = False
    changes: tuple[ChangeRecord, ...] = ()
    path: bytes = b""
    numbers: tuple[int, ...] = ()
    position: int = 0
    notes: tuple[str, ...] = ()
    said: list[Any] = msgspec.field(default_factory=list[Any])  # what the title and notes were made of


class JournalLog:
    """The file `path`; made when first written to."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._read_to = 0

    def append(
        self, record: Record, contents: Iterable[bytes] = (), *, durable: bool = False, content_bytes: int | None = None
    ) -> None:
        """Add a record. A file state's `where` in it counts from the beginning of `contents` and is made absolute.

        With `durable` it is on the disk when this returns. Contents that are made as they are taken need their
        `content_bytes` told; an error in making them leaves no record. Raises OSError when they are more or fewer.
        """
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        if content_bytes is None:
            contents = [*contents]
            content_bytes = sum(map(len, contents))
        with self._locked() as descriptor:
            start = self._end_of_whole_records(descriptor)
            record = msgspec.structs.replace(record, said=messages_data(record))
            body = msgspec.msgpack.encode(record, enc_hook=plain)
            head = _HEAD.pack(_MAGIC, len(body), content_bytes, zlib.crc32(body))
            os.ftruncate(descriptor, start)
            try:
                end = start + len(head + body) + content_bytes
                _write_pieces(descriptor, chain((head + body,), contents), start, end)
                if durable:
                    os.fsync(descriptor)
            except BaseException:
                os.ftruncate(descriptor, start)
                raise

    def read_new(self) -> list[Record]:
        """Return the records added since the last call, whoever added them, with absolute places of contents."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return []
        try:
            records: list[Record] = []
            while (found := _record_at(descriptor, self._read_to)) is not None:
                record, start, end = found
                records.append(_placed(record, start))
                self._read_to = end
            return records
        finally:
            os.close(descriptor)

    def content(self, state: State) -> bytes | None:
        """Return a file's content, or None when it wasn't kept."""
        if state.where < 0:
            return None
        with open(self.path, "rb") as stream:
            stream.seek(state.where)
            return stream.read(state.size)

    def remove(self) -> None:
        """Remove the file, if it is there."""
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            return

    @contextmanager
    def _locked(self) -> Generator[int]:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _end_of_whole_records(self, descriptor: int) -> int:
        end = self._read_to
        while (found := _record_at(descriptor, end)) is not None:
            end = found[2]
        return end


def _record_at(descriptor: int, offset: int) -> tuple[Record, int, int] | None:
    """Read the record at `offset`; also say where its contents begin and end."""
    head = os.pread(descriptor, _HEAD.size, offset)
    if len(head) < _HEAD.size:
        return None
    magic, body_bytes, data_bytes, checksum = _HEAD.unpack(head)
    start = offset + _HEAD.size + body_bytes
    if magic != _MAGIC or body_bytes > _LONGEST_BODY_BYTES or os.fstat(descriptor).st_size < start + data_bytes:
        return None
    body = os.pread(descriptor, body_bytes, offset + _HEAD.size)
    if zlib.crc32(body) != checksum:
        return None
    record = msgspec.msgpack.decode(body, type=Record)
    return said_again(record, record.said), start, start + data_bytes


def _placed(record: Record, start: int) -> Record:
    changes = tuple(
        ChangeRecord(change.path, _moved(change.before, start), _moved(change.after, start), change.is_outside)
        for change in record.changes
    )
    return msgspec.structs.replace(record, changes=changes)


def _moved(state: State, start: int) -> State:
    return state if state.where < 0 else msgspec.structs.replace(state, where=state.where + start)


def _write_pieces(descriptor: int, pieces: Iterable[bytes], offset: int, end: int) -> None:
    for piece in pieces:
        _write_at(descriptor, piece, offset)
        offset += len(piece)
    if offset != end:
        raise OSError(errno.EIO, "A content has changed its length while it was kept")


def _write_at(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view = view[written:]
        offset += written
