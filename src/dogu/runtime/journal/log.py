"""The journal's file: records one after another, each whole or not there, with the contents they speak of.

A record is a head (lengths and a seal), a msgpack body and raw contents. Records are only ever added; a torn one at the
end, left by a kill or a crash, counts as not written and is cut off by the next writer. Each is sealed with a key of
the user's own over the one before (`sealing`), and its body holds its contents' digests: what was changed, taken out or
cut off afterwards is found. One that is damaged costs itself alone.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Literal, NamedTuple

import msgspec

from dogu.language import plain, told
from dogu.runtime.journal.states import NOT_KEPT, State
from dogu.runtime.recorded_messages import messages_data, said_again
from dogu.runtime.sealing import Seal, chained, read_seal, write_seal
from dogu.workspace import fs
from dogu.workspace.private_file import open_regular

FILE_NAME = "journal.log"
SEAL_NAME = "journal.seal"
_HEAD = struct.Struct("<4sIQ16s")
_MAGIC = b"dgj2"
_LONGEST_BODY_BYTES = 256 << 20
_SEARCH_BYTES = 1 << 20

RecordKind = Literal["look", "changes", "failed", "seen", "undone", "committed"]


class ChangeRecord(msgspec.Struct, frozen=True, array_like=True):
    """One path's change; `path` is absolute and without links. `is_outside`: it lies outside of the roots.

    `is_unsure`: it was found changed after a command, and nobody knows that the command did it. `source` is where
    the new entry lies before it is put at `path`; `is_in_place`: it is written to the file there, for its other names.
    """

    path: bytes
    before: State
    after: State
    is_outside: bool = False
    is_unsure: bool = False
    source: bytes = b""
    is_in_place: bool = False

    @property
    def is_loss(self) -> bool:
        """Whether what a file held before isn't kept, and is gone."""
        is_kept = self.before.where != NOT_KEPT or self.before.has_same_content(self.after)
        return self.before.kind == "file" and not is_kept


class Record(msgspec.Struct, frozen=True):
    """One step of the journal. `number` is the call's in this journal, counted from 1.

    `look`: a call began that is watched from outside, with `position` of the snapshot's index. `changes`: what is about
    to be done, or was seen. `seen`: all that such a call did has been noted. `failed`: the last change of `path` wasn't
    done. `committed`: changes that had a `source` are done, but those of the paths `left`. `undone`: this call undid
    the calls of `numbers`, but for the paths `left` and those where it `failed`, which may go well later and are now as
    `midway` says; `needs` pairs those of the paths left that the user can have with the word for it (None in journals
    of before). An undo's `changes` name in `numbers` what it is about to undo. `ended_s`: when a command had ended
    whose `changes` were seen. `job_of`: a job that this call had left made them, later. `is_commit`: the `changes` are
    what a command left in its layer, and done when they are noted as `committed`.
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
    is_redo: bool = False
    left: tuple[bytes, ...] = ()
    needs: tuple[tuple[bytes, str], ...] | None = None
    failed: tuple[bytes, ...] = ()
    midway: tuple[tuple[bytes, State], ...] = ()
    ended_s: float = 0.0
    job_of: int = 0
    is_commit: bool = False


class Damage(msgspec.Struct, frozen=True):
    """Where in the file something isn't as it was written, and what."""

    offset: int
    what: str


class _Found(NamedTuple):
    """A record in the file, where its contents begin and end, and what the next one may be sealed over.

    That is its seal; where it isn't as written, also the one that it would have to bear; nothing where nobody knows.
    """

    record: Record | None
    start: int
    end: int
    seals: tuple[bytes, ...]
    problem: str = ""


class JournalLog:
    """The file `path`; made when first written to. `key` seals its records; `damages` tell what was found broken."""

    def __init__(self, path: str, key: bytes = b"") -> None:
        self.path = path
        self.damages: list[Damage] = []
        self._key = key
        self._read_to = 0
        self._seals: tuple[bytes, ...] = ()
        self._holds_changes = False

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
            start, before = self._end_of_whole_records(descriptor)
            record = msgspec.structs.replace(record, said=messages_data(_words_of(record)))
            body = msgspec.msgpack.encode(record, enc_hook=plain)
            seal = chained(self._key, before, body)
            head = _HEAD.pack(_MAGIC, len(body), content_bytes, seal)
            if not start:  # from its first record on, a journal without a seal is one that somebody took it from
                write_seal(self._seal_path, self._key, Seal(0, ""))
            os.ftruncate(descriptor, start)
            try:
                end = start + len(head + body) + content_bytes
                _write_pieces(descriptor, chain((head + body,), contents), start, end)
                if durable:
                    fs.fsync(descriptor)
            except BaseException:
                os.ftruncate(descriptor, start)
                raise
            if durable:
                write_seal(self._seal_path, self._key, Seal(end, seal.hex()))

    def read_new(self) -> list[Record]:
        """Return the records added since the last call, whoever added them, with absolute places of contents."""
        try:
            descriptor = open_regular(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return []
        try:
            records: list[Record] = []
            while (found := self._next(descriptor, self._read_to, self._seals)) is not None:
                if found.problem:
                    self.damages.append(Damage(self._read_to, found.problem))
                if found.record is not None:
                    records.append(_placed(found.record, found.start))
                    self._holds_changes = self._holds_changes or bool(found.record.changes)
                self._read_to, self._seals = found.end, found.seals
            return records
        finally:
            os.close(descriptor)

    def problems(self) -> list[Damage]:
        """Say what isn't as it was written, so far as it was read: damaged records, and an end that was cut off."""
        sealed = read_seal(self._seal_path, self._key)
        if isinstance(sealed, str):
            return [*self.damages, Damage(0, sealed)]
        if sealed is None and self._holds_changes:
            return [
                *self.damages,
                Damage(self._read_to, told("its seal is gone, which tells whether an end is missing")),
            ]
        if sealed is None or sealed.size <= self._read_to:
            return self.damages
        size = self._size()
        if size >= sealed.size:
            what = told("{count} bytes aren't a record", count=sealed.size - self._read_to)
        elif size:
            what = told("its end is cut off: {size} of {sealed} bytes are there", size=size, sealed=sealed.size)
        else:
            what = told("all of its {count} bytes are gone", count=sealed.size)
        return [*self.damages, Damage(self._read_to, what)]

    def content(self, state: State) -> bytes:
        """Return what was kept in this file of a content, as it is there now."""
        with open(self.path, "rb") as stream:
            stream.seek(state.where)
            return stream.read(state.size)

    def remove(self) -> None:
        """Remove the file, if it is there."""
        for path in (self.path, self._seal_path):
            try:
                os.unlink(path)
            except FileNotFoundError:
                continue

    def _size(self) -> int:
        try:
            return os.stat(self.path).st_size
        except FileNotFoundError:
            return 0

    @property
    def _seal_path(self) -> str:
        return os.path.join(os.path.dirname(self.path), SEAL_NAME)

    @contextmanager
    def _locked(self) -> Generator[int]:
        descriptor = open_regular(self.path, os.O_RDWR | os.O_CREAT)
        try:
            fs.flock(descriptor, fs.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _end_of_whole_records(self, descriptor: int) -> tuple[int, bytes]:
        end, seals = self._read_to, self._seals
        while (found := self._next(descriptor, end, seals)) is not None:
            end, seals = found.end, found.seals
        if os.fstat(descriptor).st_size > end:
            # Torn off by a crash, or damaged since: what the seal covers was whole, and is not written over.
            sealed = read_seal(self._seal_path, self._key)
            if isinstance(sealed, Seal) and end < sealed.size <= os.fstat(descriptor).st_size:
                return sealed.size, b""
        return end, seals[0] if seals else b""

    def _next(self, descriptor: int, offset: int, before: Sequence[bytes]) -> _Found | None:
        """Return the record at `offset`, or what is damaged there up to the next one; None at the end."""
        found = self._record_at(descriptor, offset, before)
        if found is not None and (not found.problem or _ends_a_record(descriptor, found.end)):
            return found
        after = _next_record(descriptor, offset + 1)
        if after < 0:
            return found
        return _Found(None, after, after, (), told("{count} bytes aren't a record", count=after - offset))

    def _record_at(self, descriptor: int, offset: int, before: Sequence[bytes]) -> _Found | None:
        head = _head_at(descriptor, offset)
        if head is None:
            return None
        body_bytes, data_bytes, seal = head
        start = offset + _HEAD.size + body_bytes
        body = fs.pread(descriptor, body_bytes, offset + _HEAD.size)
        # Behind something that can't be read, there is nothing to check the next one by.
        wanted = [chained(self._key, each, body) for each in (before or ([] if offset else [b""]))]
        if wanted and seal not in wanted:
            why = told("a record, or the one before it, was changed")
            return _Found(None, start, start + data_bytes, (seal, *wanted), why)
        try:
            record = msgspec.msgpack.decode(body, type=Record)
        except msgspec.DecodeError:
            return _Found(None, start, start + data_bytes, (seal,), told("a record can't be read"))
        return _Found(said_again(record, record.said), start, start + data_bytes, (seal,))


def _words_of(record: Record) -> Record:
    """The record without what holds no sentences, of which there may be many thousands."""
    return msgspec.structs.replace(record, changes=(), left=(), needs=(), failed=(), midway=())


def _head_at(descriptor: int, offset: int) -> tuple[int, int, bytes] | None:
    head = fs.pread(descriptor, _HEAD.size, offset)
    if len(head) < _HEAD.size:
        return None
    magic, body_bytes, data_bytes, seal = _HEAD.unpack(head)
    if magic != _MAGIC or body_bytes > _LONGEST_BODY_BYTES:
        return None
    end = offset + _HEAD.size + body_bytes + data_bytes
    return (body_bytes, data_bytes, seal) if end <= os.fstat(descriptor).st_size else None


def _ends_a_record(descriptor: int, offset: int) -> bool:
    """Whether a record may end here: with the file, or where another begins."""
    return offset == os.fstat(descriptor).st_size or fs.pread(descriptor, len(_MAGIC), offset) == _MAGIC


def _next_record(descriptor: int, offset: int) -> int:
    """Find where the next whole record begins; -1 when there is none."""
    while block := fs.pread(descriptor, _SEARCH_BYTES + len(_MAGIC), offset):
        at = block.find(_MAGIC)
        while at >= 0:
            head = _head_at(descriptor, offset + at)
            if head is not None and _is_record(fs.pread(descriptor, head[0], offset + at + _HEAD.size)):
                return offset + at
            at = block.find(_MAGIC, at + 1)
        offset += _SEARCH_BYTES
    return -1


def _is_record(body: bytes) -> bool:
    try:
        msgspec.msgpack.decode(body, type=Record)
    except msgspec.DecodeError:
        return False
    return True


def _placed(record: Record, start: int) -> Record:
    changes = tuple(
        msgspec.structs.replace(change, before=_moved(change.before, start), after=_moved(change.after, start))
        for change in record.changes
    )
    return msgspec.structs.replace(record, changes=changes)


def _moved(state: State, start: int) -> State:
    return state if state.where <= NOT_KEPT else msgspec.structs.replace(state, where=state.where + start)


def _write_pieces(descriptor: int, pieces: Iterable[bytes], offset: int, end: int) -> None:
    for piece in pieces:
        _write_at(descriptor, piece, offset)
        offset += len(piece)
    if offset != end:
        raise OSError(errno.EIO, "A content has changed its length while it was kept")


def _write_at(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = fs.pwrite(descriptor, view, offset)
        view = view[written:]
        offset += written
