"""From a file's bytes to its text and the layout that finds the bytes again, exactly, whatever the bytes are."""

from __future__ import annotations

from collections.abc import Iterator

from dogu.workspace.text.layout import Layout, OneToOne, Piece, Pieces, decode_jis_pair, stray

_BLOCK_BYTES = 1 << 16
_LONGEST_CHARACTER_BYTES = 4


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
