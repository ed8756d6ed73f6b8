"""ISO-2022-JP, whose bytes mean what the last escape sequence said: decoding with the state at each place.

Source: RFC 1468, RFC 1554; JIS X 0201 katakana (`ESC ( I`) and the vendors' row 13 as mail programs write them.
"""

from __future__ import annotations

import re

from dogu.workspace.text.layout import Layout, Piece, Pieces, decode_jis_pair, stray

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
