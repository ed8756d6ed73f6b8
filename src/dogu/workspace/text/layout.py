"""Where characters stand in bytes, for codecs that map one to one and for bytes that don't.

Below `text`: knows codecs and offsets, nothing of files, BOMs or messages. Offsets here count from after the BOM.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple, Protocol

_STEP_CHARS = 1 << 20


class Layout(Protocol):
    """Finds bytes for characters and makes bytes of new text."""

    def byte_span(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Return the bytes of the characters [start, end) of the decoded text."""
        ...

    def encode(self, text: str, place: tuple[int, int] | None) -> bytes:
        """Encode new text: by itself, or to stand in the place of the characters [start, end).

        Raises `UnicodeEncodeError`.
        """
        ...


class OneToOne:
    """A stateless codec whose encoder gives back exactly the bytes that were decoded."""

    __slots__ = ("_codec", "_errors", "_width")

    def __init__(self, codec: str, width: int = 0) -> None:
        """`width` is the bytes of every character of the text, 0 when they differ."""
        self._codec = codec
        self._errors = errors_of(codec)
        self._width = width

    def byte_span(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Measure by encoding what stands before: a bounded stretch at a time."""
        if self._width:
            return start * self._width, end * self._width
        first = self.length(text, 0, start)
        return first, first + self.length(text, start, end)

    def encode(self, text: str, place: tuple[int, int] | None) -> bytes:
        """Encode; the place doesn't matter to a stateless codec."""
        return text.encode(self._codec, self._errors)

    def length(self, text: str, start: int, end: int) -> int:
        """Return how many bytes the characters [start, end) take."""
        return sum(
            len(text[at : min(at + _STEP_CHARS, end)].encode(self._codec, self._errors))
            for at in range(start, end, _STEP_CHARS)
        )


class Piece(NamedTuple):
    """Characters from `char_start` on, up to the next piece, whose bytes begin at `byte_start`.

    `width` is the bytes of each of its characters, 0 when the codec's encoder knows. `shift` is the state of a stateful
    encoding.
    """

    char_start: int
    byte_start: int
    width: int
    shift: bytes = b""


class Pieces:
    """A text whose bytes the encoder wouldn't give back by itself: a list of pieces says where they are.

    Bytes between two pieces (escape sequences) belong to no character.
    """

    __slots__ = ("_codec", "_pieces", "_starts")

    def __init__(self, codec: str, pieces: list[Piece]) -> None:
        self._codec = OneToOne(codec)
        self._pieces = pieces
        self._starts = [piece.char_start for piece in pieces]

    def byte_span(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Return from the first byte of the first character to the last byte of the last."""
        if start == end:
            at = self.end_of(text, start)
            return at, at
        return self.start_of(text, start), self.end_of(text, end)

    def encode(self, text: str, place: tuple[int, int] | None) -> bytes:
        """Encode; the place doesn't matter to a stateless codec."""
        return self._codec.encode(text, place)

    def piece_at(self, position: int) -> Piece:
        """Return the piece that holds the character at `position`."""
        return self._pieces[bisect_right(self._starts, position) - 1]

    def start_of(self, text: str, position: int) -> int:
        """Return the first byte of the character at `position`."""
        piece = self.piece_at(position)
        return piece.byte_start + self._length(piece, text, position)

    def end_of(self, text: str, position: int) -> int:
        """Return the byte behind the character before `position`; 0 at the start."""
        if position == 0:
            return 0
        piece = self.piece_at(position - 1)
        return piece.byte_start + self._length(piece, text, position)

    def _length(self, piece: Piece, text: str, position: int) -> int:
        if piece.width:
            return (position - piece.char_start) * piece.width
        return self._codec.length(text, piece.char_start, position)


def errors_of(codec: str) -> str:
    """Return how stray bytes or code units go through a codec of the standard library."""
    return "surrogatepass" if codec.startswith(("utf-16", "utf-32")) else "surrogateescape"


def decode_jis_pair(row: int, cell: int) -> str:
    """Return the character of a JIS X 0208 position (both 0x21..0x7E) with the vendors' additions; empty if none."""
    lead = (row + 1) // 2 + (0x70 if row < 0x5F else 0xB0)
    trail = cell + (0x7E if row % 2 == 0 else 0x20 if cell >= 0x60 else 0x1F)
    try:
        return bytes([lead, trail]).decode("cp932")
    except UnicodeDecodeError:
        return ""


def stray(byte: int) -> str:
    """Return the lone surrogate that stands for a byte the encoding doesn't know."""
    return chr(0xDC00 + byte)
