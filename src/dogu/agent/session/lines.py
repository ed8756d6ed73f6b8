"""The record's file: one JSON object a line, only ever added to, each chained to the one before.

    {"seq":7,"kind":"text","time":1732147200.123,"data":{"text":"Hello"},"hash":"<32 hex digits>"}

`seq` counts the lines from 1 and alone says their order; `time` (POSIX seconds) is for people. `hash` is BLAKE2b, keyed
with the user's own key (`runtime.sealing`), over the hash of the line before and this line up to its own hash. A last
line without its line break was never written. A seal beside the record says how far it had come after each turn.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import msgspec

from dogu.language import told
from dogu.runtime.sealing import SEAL_BYTES, Seal, chained, key_of, read_seal, write_seal
from dogu.runtime.session_folder import RECORD_SEAL_NAME as SEAL_NAME
from dogu.workspace import fs
from dogu.workspace.private_file import open_regular

VERSION = 1
_SEALED_AFTER = ("begun", "prompt", "turn_ended")
_HASH_BYTES = SEAL_BYTES
_TAIL = b',"hash":"%s"}\n'
_TAIL_BYTES = len(_TAIL) - 2 + 2 * _HASH_BYTES
_FIRST_HASH = "0" * 2 * _HASH_BYTES
_BLOCK_BYTES = 1 << 20


class RecordLine(msgspec.Struct, frozen=True):
    """One line, its data not yet looked at."""

    seq: int
    kind: str
    time: float
    data: msgspec.Raw
    hash: str


class InUseError(Exception):
    """Another process writes this record."""


class LineFile:
    """A record open for adding, which keeps other processes from writing it (by `flock`).

    A torn end, left by a kill or a full disk, is cut off. Raises `InUseError`, and OSError where it can't be written.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | fs.O_NOFOLLOW)
        try:
            fs.flock(self._descriptor, fs.LOCK_EX | fs.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._descriptor)
            raise InUseError(path) from error
        self.seq = 0
        self._hash = _FIRST_HASH
        self._size = 0
        self._seal_path = seal_path(path)
        self._key = key_of_record(path)
        self._is_sealed = True
        try:
            self._find_end()
        except OSError:
            os.close(self._descriptor)
            raise

    def add(self, kind: str, time_s: float, data: bytes) -> None:
        """Add a line whose `data` is JSON without line breaks; whole, or not at all. Raises OSError."""
        body = b'{"seq":%d,"kind":"%s","time":%.3f,"data":%s' % (self.seq + 1, kind.encode(), time_s, data)
        new_hash = _chained(self._key, self._hash, body)
        line = body + _TAIL % new_hash.encode()
        try:
            view = memoryview(line)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            raise
        self.seq += 1
        self._hash = new_hash
        self._size += len(line)
        self._is_sealed = False
        if kind in _SEALED_AFTER:
            self._seal()

    def close(self) -> None:
        """Let others write it."""
        if not self._is_sealed:
            self._seal()
        os.close(self._descriptor)

    def _seal(self) -> None:
        write_seal(self._seal_path, self._key, Seal(self._size, self._hash, self.seq))
        self._is_sealed = True

    def _find_end(self) -> None:
        """Find the last whole line from the end, and cut off what follows it."""
        self._size = os.fstat(self._descriptor).st_size
        for end, data in _lines_from_end(self._descriptor, self._size):
            line = parse_line(data)
            if line is not None:
                self.seq, self._hash = line.seq, line.hash
                self._cut(end)
                return
        self._cut(0)

    def _cut(self, size: int) -> None:
        if size != self._size:
            os.ftruncate(self._descriptor, size)
            self._size = size


def parse_line(line: bytes) -> RecordLine | None:
    """Return the line; None when it isn't one."""
    try:
        return msgspec.json.decode(line, type=RecordLine) if line.endswith(b"\n") else None
    except msgspec.DecodeError:
        return None


def raw_lines(path: str) -> Generator[bytes]:
    """Give the whole lines, with their line breaks. Raises OSError."""
    with open(path, "rb", buffering=_BLOCK_BYTES, opener=open_regular) as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line


def kind_of(line: bytes) -> bytes:
    """Return a line's kind without decoding it; empty when it isn't a line."""
    start = line.find(b'"kind":"', 0, 40) + 8
    return line[start : line.find(b'"', start)] if start >= 8 else b""


class ChainReport(msgspec.Struct, frozen=True):
    """What `verify` found: `lines` counts whole lines, `problems` are sentences, the first ones only."""

    lines: int
    problems: tuple[str, ...] = ()
    last_hash: str = ""


def verify(path: str) -> ChainReport:
    """Check that no line was changed, taken out, added or moved. Raises OSError.

    Lines cut off at the end leave no trace in a chain: the seal says how many there were when it was last written.
    """
    key = key_of_record(path)
    previous = _FIRST_HASH
    count = 0
    problems: list[str] = []
    for count, line in enumerate(raw_lines(path), 1):
        parsed = parse_line(line)
        problem = _chain_problem(key, line, parsed, previous, count)
        if problem and len(problems) < 10:
            problems.append(told("line {count}: {problem}", count=count, problem=problem))
        previous = parsed.hash if parsed else previous
    problem = _end_problem(path, key, count)
    return ChainReport(count, tuple([*problems, problem] if problem else problems), previous)


def seal_path(path: str) -> str:
    """Return where the seal of a record is."""
    return os.path.join(os.path.dirname(path), SEAL_NAME)


def key_of_record(path: str) -> bytes:
    """Return the key of the state folder that a session's record lies in; none for a record that lies elsewhere."""
    sessions = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    if os.path.basename(sessions) != "sessions":
        return b""
    try:
        return key_of(os.path.dirname(sessions))
    except OSError:
        return b""


def _end_problem(path: str, key: bytes, count: int) -> str:
    seal = read_seal(seal_path(path), key)
    if isinstance(seal, str):
        return seal
    if seal is None:
        return told("its seal is missing")
    if seal.lines > count:
        return told("its end is cut off: {count} of {sealed} lines are there", count=count, sealed=seal.lines)
    return ""


def _chain_problem(key: bytes, line: bytes, parsed: RecordLine | None, previous: str, count: int) -> str:
    if parsed is None:
        return told("it isn't a line of a record")
    if parsed.seq != count:
        return told("it is numbered {seq}", seq=parsed.seq)
    if _chained(key, previous, line[:-_TAIL_BYTES]) != parsed.hash:
        return told("it, or the one before it, was changed")
    return ""


def _chained(key: bytes, previous: str, body: bytes) -> str:
    return chained(key, previous.encode(), body).hex()


def _lines_from_end(descriptor: int, size: int) -> Generator[tuple[int, bytes]]:
    """Give where each line ends, and the line, the last first; a torn one has no line break."""
    start, rest, taken = size, b"", _BLOCK_BYTES
    while start:
        begin = max(0, start - taken)
        rest = fs.pread(descriptor, start - begin, begin) + rest
        start, taken = begin, taken * 2
        lines = _split(rest)
        rest = lines.pop(0) if start else b""
        end = start + len(rest) + sum(map(len, lines))
        for line in reversed(lines):
            yield end, line
            end -= len(line)


def _split(data: bytes) -> list[bytes]:
    lines = [part + b"\n" for part in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
