"""A slice of a file's lines, whatever the file's size: memory grows with the slice only.

A line ends at a line feed (in the file's encoding); where the first block has none but has carriage returns, at those.
The stream is read up to the size it has at the start, so that one who appends can't hold the reader.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from dogu.workspace.text.detect import Encoding, detect
from dogu.workspace.text.laying_out import lay_out
from dogu.workspace.truncation import LONGEST_LINE_CHARS, cut_line

COUNTED_REST_BYTES = 128 << 20
"""How much is read, behind the slice or of one line, only to tell the number of lines; that runs at about 2 GB/s."""

_HEAD_BYTES = 64 << 10
_BLOCK_BYTES = 256 << 10
# No encoding takes more bytes for a character, so a line kept this far can be cut at its characters.
_KEPT_LINE_BYTES = 4 * LONGEST_LINE_CHARS + 8


class LineSlice(msgspec.Struct):
    """Lines [first, first + len(lines)) of a file, 0-based, each with its ending, long ones cut (`cut_lines` of them).

    `total_lines` is None when counting on would have taken long; then at least `known_lines` are there. A last line
    without an ending counts, an empty one behind the last ending doesn't.
    """

    first: int
    encoding: Encoding
    lines: list[str] = msgspec.field(default_factory=list[str])
    cut_lines: int = 0
    total_lines: int | None = None
    known_lines: int = 0

    @property
    def end(self) -> int:
        """The line the slice ends before: the offset that continues."""
        return self.first + len(self.lines)

    @property
    def is_whole(self) -> bool:
        """Whether the slice is all of the file, uncut."""
        return self.first == 0 and self.end == self.total_lines and not self.cut_lines


class LinePiece(msgspec.Struct, frozen=True):
    """Characters [start, start + len(text)) of a line (0-based), without its ending."""

    start: int
    text: str
    encoding: Encoding
    is_last: bool


def slice_of_bytes(data: bytes, first: int, limit: int, max_chars: int) -> LineSlice:
    """Return at most `limit` whole lines and `max_chars` characters of a file's bytes; see `slice_of_stream`."""
    return slice_of_stream(io.BytesIO(data), first, limit, max_chars, detect(data))


def _go_on() -> bool:
    return True


def slice_of_stream(
    stream: BinaryIO,
    first: int,
    limit: int,
    max_chars: int,
    encoding: Encoding | None = None,
    go_on: Callable[[], bool] = _go_on,
) -> LineSlice:
    """Return at most `limit` whole lines from line `first` on, at most `max_chars` characters of them (one at least).

    Without `encoding`, that of the first block, or of the slice where that block tells nothing. A `first` past the end
    gives no lines and the total. `go_on` is asked between blocks; once it says no, the result is whatever was read.
    """
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    head = stream.read(min(_HEAD_BYTES, size))
    found = encoding or detect(head)
    reader = _Lines(stream, size, _Unit(found.codec, head), go_on)
    start, lines_before = reader.find_line(first, len(found.bom))
    if lines_before < first or start >= size:
        return LineSlice(first, found, total_lines=lines_before, known_lines=lines_before)
    raw_lines = reader.take(start, limit, 4 * max_chars)
    if encoding is None and found.codec == "utf-8" and head.isascii():
        found = detect(b"".join(raw for raw, _ in raw_lines))
    result = LineSlice(first, found)
    _add_lines(result, [raw for raw, _ in raw_lines], max_chars)
    result.known_lines = result.end
    at = raw_lines[len(result.lines) - 1][1] if raw_lines else size
    if size - at <= COUNTED_REST_BYTES:
        result.known_lines += reader.count_lines(at)
        result.total_lines = result.known_lines
    return result


def piece_of_line(
    stream: BinaryIO, line: int, start: int, max_chars: int, go_on: Callable[[], bool] = _go_on
) -> LinePiece | None:
    """Return at most `max_chars` characters of one line from character `start` on; None where there is no such line.

    A `start` past the line's end gives an empty text. Stray bytes become U+FFFD. `go_on` as for `slice_of_stream`.
    """
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    head = stream.read(min(_HEAD_BYTES, size))
    encoding = detect(head)
    reader = _Lines(stream, size, _Unit(encoding.codec, head), go_on)
    at, lines_before = reader.find_line(line, len(encoding.bom))
    if lines_before < line or at >= size:
        return None
    decoder = codecs.getincrementaldecoder(encoding.codec)("replace")
    text, skipped = "", 0
    for piece, behind in reader.pieces(at):
        text += decoder.decode(piece, final=behind == size)
        is_over = reader.ends(piece) or behind == size
        if is_over:
            text = text.rstrip("\r\n")
        # Only what may be wanted is kept: the line may be longer than memory.
        gone = min(start - skipped, len(text))
        text, skipped = text[gone:], skipped + gone
        if is_over or len(text) > max_chars:
            return LinePiece(start, text[:max_chars], encoding, is_over and len(text) <= max_chars)
    return LinePiece(start, text[:max_chars], encoding, is_last=True)


def _add_lines(result: LineSlice, raw_lines: list[bytes], max_chars: int) -> None:
    for raw in raw_lines:
        text = lay_out(raw, result.encoding.codec)[0]
        content = text.rstrip("\r\n")
        is_long = len(content) > LONGEST_LINE_CHARS
        if is_long:
            text = cut_line(content) + text[len(content) :]
        max_chars -= len(text)
        if max_chars < 0 and result.lines:
            return
        result.cut_lines += is_long
        result.lines.append(text)


class _Unit:
    """How a line ends in an encoding's bytes."""

    def __init__(self, codec: str, head: bytes) -> None:
        self._codec = codec
        self._width = {"utf-16": 2, "utf-32": 4}.get(codec[:6], 1)
        self.ending = "\n".encode(codec)
        if self.find(head, 0) < 0:
            carriage = "\r".encode(codec)
            self.ending = carriage if carriage in head else self.ending

    def ending_of(self, line: bytes) -> bytes:
        """Return the ending of a line, with the carriage return before it."""
        pair = "\r\n".encode(self._codec)
        return pair if line.endswith(pair) else self.ending

    def find(self, block: bytes, start: int) -> int:
        """Return where the next ending begins, at a whole unit; -1 if there is none."""
        at = block.find(self.ending, start)
        while at % self._width and at >= 0:
            at = block.find(self.ending, at + 1)
        return at

    def count(self, block: bytes) -> int:
        """Count the endings."""
        if self._width == 1:
            return block.count(self.ending)
        return block.decode(self._codec, "replace").count(self.ending.decode(self._codec))

    def behind(self, block: bytes, count: int) -> int:
        """Return the position behind the `count`th ending of the block, which has that many."""
        at = 0
        # Halving needs a count of each half only: quicker than finding one by one.
        low, high = 0, len(block)
        while self._width == 1 and high - low > 4096:
            middle = (low + high) // 2
            there = block.count(self.ending, low, middle)
            low, high, count = (low, middle, count) if there >= count else (middle, high, count - there)
        at = low
        for _ in range(count):
            at = self.find(block, at) + len(self.ending)
        return at


class _Lines:
    """Walks a stream by its line endings, a block at a time."""

    def __init__(self, stream: BinaryIO, size: int, unit: _Unit, go_on: Callable[[], bool]) -> None:
        self._stream = stream
        self._go_on = go_on
        self._size = size
        self._unit = unit

    def find_line(self, number: int, start: int) -> tuple[int, int]:
        """Return where the line `number` lines behind `start` begins, and `number`; past the end, how many lines."""
        seen, at, block = 0, start, b""
        if number == 0:
            return start, 0
        for block in self._blocks(start):
            there = self._unit.count(block)
            if seen + there >= number:
                return at + self._unit.behind(block, number - seen), number
            seen += there
            at += len(block)
        is_open = len(block) > 0 and not block.endswith(self._unit.ending)
        return at, seen + is_open

    def count_lines(self, start: int) -> int:
        """Count the lines from `start` on."""
        return self.find_line(1 << 62, start)[1]

    def take(self, start: int, limit: int, max_bytes: int) -> list[tuple[bytes, int]]:
        """Return lines from `start` on, long ones with their middle left out, each with where the next one begins."""
        taken: list[tuple[bytes, int]] = []
        line, left_out = bytearray(), 0
        for piece, at in self.pieces(start):
            room = max(_KEPT_LINE_BYTES - len(line), 0)
            line += piece[:room]
            left_out += len(piece[room:])
            if left_out > COUNTED_REST_BYTES:
                # A hole, or a dump on one line: where it ends is not worth finding out; all behind it counts as rest.
                return [*taken, (bytes(line), 0)]
            if not piece.endswith(self._unit.ending):
                continue
            if left_out:
                line += self._unit.ending_of(piece)
            taken.append((bytes(line), at))
            max_bytes -= len(line)
            line, left_out = bytearray(), 0
            if len(taken) == limit or max_bytes < 0:
                return taken
        return [*taken, (bytes(line), self._size)] if line else taken

    def ends(self, piece: bytes) -> bool:
        """Whether a line ends with this piece."""
        return piece.endswith(self._unit.ending)

    def pieces(self, start: int) -> Iterator[tuple[bytes, int]]:
        """Give the stream in pieces that end where a line or a block does, each with the position behind it."""
        at = start
        for block in self._blocks(start):
            done = 0
            while done < len(block):
                found = self._unit.find(block, done)
                end = found + len(self._unit.ending) if found >= 0 else len(block)
                yield block[done:end], at + end
                done = end
            at += len(block)

    def _blocks(self, start: int) -> Iterator[bytes]:
        self._stream.seek(start)
        left = self._size - start
        while left > 0 and self._go_on():
            block = self._stream.read(min(_BLOCK_BYTES, left))
            if not block:
                return
            left -= len(block)
            yield block
