"""From a file's bytes to its text and the layout that finds the bytes again, exactly, whatever the bytes are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dogu.workspace.text.layout import Layout, OneToOne, Piece, Pieces, decode_jis_pair, stray

_BLOCK_BYTES = 1 << 16
_LONGEST_CHARACTER_BYTES = 4


# ISO-2022-JP, whose bytes mean what the last escape sequence said. Source: RFC 1468, RFC 1554; JIS X 0201 katakana
# (`ESC ( I`) and the vendors' row 13 as mail programs write them.
_ASCII = b"\x1b(B"
_ROMAN = b"\x1b(J"
_KATAKANA = b"\x1b(I"
_KANJI = b"\x1b$B"
_KANJI_1978 = b"\x1b$@"
_EXTRA_KANJI = b"\x1b$(D"
_ESCAPE = re.compile(rb"\x1b(?:\$[@B]|\([BJI]|\$\(D)")
_PAIR = re.compile(rb"(?:[\x21-\x7e]{2})+")
_SINGLE = {_KATAKANA: re.compile(rb"[\x21-\x5f]+"), _ROMAN: re.compile(rb"[\x00-\x1a\x1c-\x7f]+")}
_ROMAN_DIFFERS = {0x5C: "\xa5", 0x7E: "\u203e"}
_ROMAN_BACK = {"\xa5": b"\\", "\u203e": b"~"}


def lay_out(body: bytes, codec: str) -> tuple[str, Layout]:
    """Decode exactly: the text, and the layout that finds its bytes again."""
    if codec == "iso2022_jp":
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


def lay_out_iso_2022_jp(body: bytes) -> tuple[str, Layout]:
    """Decode exactly; as `text_layout.lay_out`."""
    texts: list[str] = []
    pieces: list[Piece] = []
    shift, at, chars = _ASCII, 0, 0
    for escape in [*_ESCAPE.finditer(body), None]:
        end = escape.start() if escape else len(body)
        while at < end:
            text, width = _run(body, at, end, shift)
            pieces.append(Piece(chars, at, width, shift))
            texts.append(text)
            chars, at = chars + len(text), at + len(text) * width
        if escape:
            shift, at = escape[0], escape.end()
    return "".join(texts), _Shifting(pieces, Piece(chars, at, 1, shift))


def _run(body: bytes, at: int, end: int, shift: bytes) -> tuple[str, int]:
    """Read characters of one width from `at`: at least one, which may be a stray byte."""
    if shift in (_KANJI, _KANJI_1978, _EXTRA_KANJI):
        pairs = _PAIR.match(body, at, end)
        text = _pairs(pairs[0], shift) if pairs else ""
        return (text, 2) if text else (_plain(body[at]), 1)
    if shift == _ASCII:
        text = body[at:end].decode("ascii", "surrogateescape")
        return text, 1
    singles = _SINGLE[shift].match(body, at, end)
    if not singles:
        return _plain(body[at]), 1
    if shift == _KATAKANA:
        return "".join(chr(byte + 0xFF40) for byte in singles[0]), 1
    return "".join(_ROMAN_DIFFERS.get(byte) or chr(byte) for byte in singles[0]), 1


def _plain(byte: int) -> str:
    """A byte with no meaning in the present state: a control character or space is itself."""
    return chr(byte) if byte <= 0x20 else stray(byte)


def _pairs(data: bytes, shift: bytes) -> str:
    """Decode pairs up to the first that is no character."""
    high = bytes(byte | 0x80 for byte in data)
    if shift == _EXTRA_KANJI:
        high = b"".join(b"\x8f" + high[at : at + 2] for at in range(0, len(high), 2))
    try:
        return high.decode("euc_jp")
    except UnicodeDecodeError as error:
        text = high[: error.start].decode("euc_jp")
    if not text and shift != _EXTRA_KANJI:
        return decode_jis_pair(data[0], data[1])
    return text


class _Shifting(Pieces):
    """Pieces with a state each; new text begins in the state of its place and ends in the one that follows it needs."""

    __slots__ = ("_end",)

    def __init__(self, pieces: list[Piece], end: Piece) -> None:
        """`end` is an empty piece behind the last escape sequence."""
        super().__init__("ascii", pieces)
        self._end = end

    def byte_span(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Return the characters' bytes; for an empty span, where the state suits an insertion best."""
        if start < end:
            return self.start_of(text, start), self.end_of(text, end)
        at = self._insertion(start)[0]
        return at, at

    def encode(self, text: str, place: tuple[int, int] | None) -> bytes:
        """Encode from the state before the place to the state of its last character."""
        if place is None:
            return _encode(text, _ASCII, _ASCII)
        start, end = place
        if start < end:
            return _encode(text, self.piece_at(start).shift, self.piece_at(end - 1).shift)
        shift = self._insertion(start)[1]
        return _encode(text, shift, shift)

    def _insertion(self, position: int) -> tuple[int, bytes]:
        """Choose between behind the character before and before the one behind: where it is ASCII, else the first."""
        behind = (self.end_of("", position), self.piece_at(position - 1).shift) if position else (0, _ASCII)
        if behind[1] == _ASCII:
            return behind
        is_last = position == self._end.char_start
        next_piece = self._end if is_last else self.piece_at(position)
        before = (self._end.byte_start if is_last else self.start_of("", position), next_piece.shift)
        return before if before[1] == _ASCII else behind


def _encode(text: str, shift: bytes, last: bytes) -> bytes:
    """Encode from state `shift` to state `last`. Raises `UnicodeEncodeError`."""
    parts: list[bytes] = []
    for at, character in enumerate(text):
        if 0xDC80 <= ord(character) <= 0xDCFF:
            parts.append(bytes([ord(character) - 0xDC00]))
            continue
        wanted, encoded = _choose_state(character, shift)
        is_escape = character == "\x1b" and _ESCAPE.match(text[at : at + 4].encode("ascii", "replace"))
        if not encoded or is_escape:
            raise UnicodeEncodeError("iso2022_jp", text, at, at + 1, "not in ISO-2022-JP")
        if wanted != shift:
            parts.append(wanted)
            shift = wanted
        parts.append(encoded)
    if shift != last:
        parts.append(last)
    return b"".join(parts)


def _choose_state(character: str, shift: bytes) -> tuple[bytes, bytes]:
    """Return a state that has the character, and its bytes there (none: no state has it); the present one if it can."""
    for wanted in (shift, _ASCII, _KANJI, _KATAKANA):
        encoded = _in_state(character, wanted)
        if encoded:
            return wanted, encoded
    return shift, b""


def _in_state(character: str, shift: bytes) -> bytes:
    """Return the character's bytes in a state; empty when it has none there."""
    code = ord(character)
    if shift == _ASCII:
        return character.encode() if code < 0x80 else b""
    if shift == _ROMAN:
        if code >= 0x80:
            return _ROMAN_BACK.get(character, b"")
        return character.encode() if code >= 0x20 and code not in _ROMAN_DIFFERS else b""
    if shift == _KATAKANA:
        return bytes([code - 0xFF40]) if 0xFF61 <= code <= 0xFF9F else b""
    return _in_double(character, shift == _EXTRA_KANJI)


def _in_double(character: str, is_extra: bool) -> bytes:
    code = ord(character)
    if code < 0x80 or 0xFF61 <= code <= 0xFF9F:
        return b""
    try:
        high = character.encode("euc_jp")
    except UnicodeEncodeError:
        return b""
    if is_extra:
        return bytes(byte & 0x7F for byte in high[1:]) if len(high) == 3 else b""
    return bytes(byte & 0x7F for byte in high) if len(high) == 2 else b""
