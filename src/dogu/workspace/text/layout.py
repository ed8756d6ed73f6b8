"""Where characters stand in bytes, for codecs that map one to one and for bytes that don't.

Below `text`: knows codecs and offsets, nothing of files, BOMs or messages. Offsets here count from after the BOM.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple, Protocol

_STEP_CHARS = 1 << 20
_BLOCK_BYTES = 1 << 16
_LONGEST_CHARACTER_BYTES = 4


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


def lay_out(body: bytes, codec: str) -> tuple[str, Layout]:
    """Decode exactly: the text, and the layout that finds its bytes again."""
    if codec == "iso2022_jp":
        from dogu.workspace.text.iso_2022_jp import lay_out_iso_2022_jp

        return lay_out_iso_2022_jp(body)
    if codec in ("utf-8", "cp1252"):
        # One to one by construction: what isn't valid becomes surrogates byte by byte.
        text = body.decode(codec, "surrogateescape")
        return text, OneToOne(codec, 1 if len(text) == len(body) else 0)
    try:
        text = body.decode(codec, "surrogatepass" if codec.startswith("utf-") else "strict")
    except UnicodeDecodeError:
        return _in_pieces(body, codec)
    if not codec.startswith("utf-") and text.encode(codec) != body:
        return _in_pieces(body, codec)
    return text, OneToOne(codec, len(body) // len(text) if _is_even(codec, text, body) else 0)


def _is_even(codec: str, text: str, body: bytes) -> bool:
    """Whether all characters take the same number of bytes (for certain, not by chance)."""
    narrowest = {"utf-16": 2, "utf-32": 4}.get(codec[:6], 1)
    return len(text) * narrowest == len(body) > 0


def _in_pieces(body: bytes, codec: str) -> tuple[str, Layout]:
    texts: list[str] = []
    pieces: list[Piece] = []
    chars = at = 0
    for text, length, width in _runs(body, codec):
        if not (pieces and pieces[-1].width == width):
            pieces.append(Piece(chars, at, width))
        texts.append(text)
        chars, at = chars + len(text), at + length
    return "".join(texts), Pieces(codec, pieces)


def _runs(body: bytes, codec: str) -> Iterator[tuple[str, int, int]]:
    """Give text, its bytes and the bytes of each character (0: the encoder's), from block to line to character."""
    for block in _blocks(body, codec):
        text = _exact(block, codec)
        if text is not None:
            yield text, len(block), 0
            continue
        lines = [block] if codec.startswith("utf-") else block.splitlines(keepends=True)
        for line in lines:
            text = _exact(line, codec)
            if text is not None:
                yield text, len(line), 0
            else:
                yield from _characters(line, codec)


def _blocks(body: bytes, codec: str) -> Iterator[bytes]:
    """Cut where a character surely ends: behind a line feed, or behind a whole unit of UTF-16 or UTF-32."""
    at = 0
    while at < len(body):
        end = at + _BLOCK_BYTES
        if not codec.startswith("utf-"):
            feed = body.find(b"\n", end)
            end = feed + 1 if feed >= 0 else len(body)
        elif codec.startswith("utf-16"):
            # Only an odd last byte is ever wrong in UTF-16.
            end = len(body) & ~1 if at < len(body) & ~1 else len(body)
        yield body[at:end]
        at = end


def _exact(data: bytes, codec: str) -> str | None:
    """Decode, unless the bytes are invalid or wouldn't come back."""
    is_wide = codec.startswith("utf-")
    try:
        text = data.decode(codec, "surrogatepass" if is_wide else "strict")
    except UnicodeDecodeError:
        return None
    return text if is_wide or text.encode(codec) == data else None


def _characters(data: bytes, codec: str) -> Iterator[tuple[str, int, int]]:
    unit = {"utf-16": 2, "utf-32": 4}.get(codec[:6], 1)
    at = 0
    while at < len(data):
        for width in range(unit, _LONGEST_CHARACTER_BYTES + 1, unit):
            character = _single(data[at : at + width], codec, width)
            if character:
                yield character, width, width
                at += width
                break
        else:
            yield stray(data[at]), 1, 1
            at += 1


def _single(data: bytes, codec: str, width: int) -> str:
    try:
        text = data.decode(codec, "surrogatepass" if codec.startswith("utf-") else "strict")
    except UnicodeDecodeError:
        text = _beyond(data, codec)
    return text if len(text) == 1 and len(data) == width else ""


def _beyond(data: bytes, codec: str) -> str:
    """Read the vendors' row 13 and its like, which EUC-JP files hold and its codec lacks, as CP932 has them."""
    if codec != "euc_jp" or len(data) != 2 or min(data) < 0xA1:
        return ""
    return decode_jis_pair(data[0] & 0x7F, data[1] & 0x7F)


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
