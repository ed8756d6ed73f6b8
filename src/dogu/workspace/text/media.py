"""What a file is by its first bytes: an image, audio, a PDF, another binary, or text.

Judged by content; a name only tips what content leaves open. SVG is XML, so text.
"""

from __future__ import annotations

import re

from dogu.workspace.text.detect import has_bom, wide_codec

HEAD_BYTES = 8192
"""How many of a file's first bytes `sniff` and `is_binary` want; fewer will do for a shorter file."""

_AT_START = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"fLaC", "audio/flac"),
    (b"ADIF", "audio/aac"),
)
_CHUNKED = {
    (b"RIFF", b"WEBP"): "image/webp",
    (b"RIFF", b"WAVE"): "audio/wav",
    (b"FORM", b"AIFF"): "audio/aiff",
    (b"FORM", b"AIFC"): "audio/aiff",
}
_BMP_HEADER_SIZES = (12, 16, 40, 52, 56, 64, 108, 124)
_PDF = re.compile(rb"%PDF-\d\.\d")
_ODD_CONTROLS = bytes({*range(32), 127} - {*b"\b\t\n\v\f\r\x1b"})


def sniff(head: bytes, name: str) -> str | None:
    """Return the media type of an image, audio or PDF file; None for anything else, text included."""
    for signature, media_type in _AT_START:
        if head.startswith(signature):
            return media_type
    chunked = _CHUNKED.get((head[:4], head[8:12]))
    if chunked:
        return chunked
    if _is_bmp(head):
        return "image/bmp"
    if _is_pdf(head, name):
        return "application/pdf"
    if head.startswith(b"OggS"):
        return None if b"\x80theora" in head[:512] else "audio/ogg"
    return _mpeg_audio(head, name)


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Return how many pixels a PNG, GIF, BMP, WebP or JPEG is wide and high; None where its head doesn't say."""
    width = height = 0
    if data.startswith(_AT_START[0][0]) and data[12:16] == b"IHDR":
        width, height = int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    elif data.startswith((b"GIF87a", b"GIF89a")):
        width, height = int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    elif _is_bmp(data[:HEAD_BYTES]) and data[14] != 12:
        width = int.from_bytes(data[18:22], "little", signed=True)
        height = abs(int.from_bytes(data[22:26], "little", signed=True))
    elif data[8:16] == b"WEBPVP8X":
        width, height = int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    elif data[8:16] == b"WEBPVP8L":
        bits = int.from_bytes(data[21:25], "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif data[8:16] == b"WEBPVP8 ":
        width = int.from_bytes(data[26:28], "little") & 0x3FFF
        height = int.from_bytes(data[28:30], "little") & 0x3FFF
    elif data.startswith(b"\xff\xd8"):
        width, height = _jpeg_dimensions(data)
    return (width, height) if width > 0 and height > 0 else None


def _jpeg_dimensions(data: bytes) -> tuple[int, int]:
    """Go from segment to segment until one begins a frame; (0, 0) where none does."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        at += 1 if marker == 0xFF else 2 + max(2, int.from_bytes(data[at + 2 : at + 4]))
    return 0, 0


def picture_words(data: bytes, media_type: str) -> str:
    """Name a picture by its kind, its size in pixels and its bytes: `PNG, 640 × 480, 12 KB`."""
    size = dimensions(data)
    kind = media_type.partition("/")[2].partition("+")[0].upper()
    weight = f"{len(data):,} B" if len(data) < 1_000 else f"{len(data) / 1_000:,.0f} KB"
    return ", ".join([kind, *([f"{size[0]} × {size[1]}"] if size else []), weight])


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so is neither text in any encoding nor worth showing as such.

    A stray NUL or control character among lines of UTF-8 doesn't make them binary; UTF-16 and UTF-32 are text.
    """
    if has_bom(head) or wide_codec(head):
        return False
    odd = len(head) - len(head.translate(None, _ODD_CONTROLS))
    if odd == 0:
        return False
    share = odd / len(head)
    if b"\0" in head:
        return share > (0.1 if b"\n" in head else 0.01) or not _is_utf_8(head)
    return share > (0.3 if _is_utf_8(head) else 0.05)


def _is_utf_8(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4 and error.reason == "unexpected end of data"
    return True


def _is_bmp(head: bytes) -> bool:
    return head.startswith(b"BM") and head[14:18] in [size.to_bytes(4, "little") for size in _BMP_HEADER_SIZES]


def _is_pdf(head: bytes, name: str) -> bool:
    """Readers accept a PDF header after some junk; only a name makes us believe it there."""
    if _PDF.match(head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0\t\n\f\r ")[:16]):
        return True
    return name.lower().endswith(".pdf") and _PDF.search(head[:1024]) is not None


def _mpeg_audio(head: bytes, name: str) -> str | None:
    """Tell MP3 and ADTS AAC, also behind an ID3 tag; without a tag, a second frame or the name must agree."""
    ending = name.lower().rpartition(".")[2]
    if head.startswith(b"ID3") and len(head) >= 10:
        size = (head[6] & 127) << 21 | (head[7] & 127) << 14 | (head[8] & 127) << 7 | head[9] & 127
        behind = head[10 + size :]
        if behind.startswith(b"fLaC") or (not behind and ending == "flac"):
            return "audio/flac"
        is_aac = _adts_frame(behind) > 0 if behind else ending == "aac"
        return "audio/aac" if is_aac else "audio/mpeg"
    for length, media_type, endings in (
        (_mp3_frame(head), "audio/mpeg", ("mp3", "mpga")),
        (_adts_frame(head), "audio/aac", ("aac", "adts")),
    ):
        if length and (ending in endings or head[length : length + 2][:1] == b"\xff"):
            return media_type
    return None


def _mp3_frame(head: bytes) -> int:
    """Return the length of the MPEG layer III frame the bytes begin with, 0 if none."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:
        return 0
    version, bitrate_index, rate_index = head[1] >> 3 & 3, head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or bitrate_index in (0, 15) or rate_index == 3:
        return 0
    first = version == 3
    kbits = ((32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320) if first else
             (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160))[bitrate_index - 1]  # fmt: skip
    rate = (44100, 48000, 32000)[rate_index] // {3: 1, 2: 2, 0: 4}[version]
    return (144 if first else 72) * kbits * 1000 // rate + (head[2] >> 1 & 1)


def _adts_frame(head: bytes) -> int:
    """Return the length of the ADTS frame the bytes begin with, 0 if none."""
    if len(head) < 7 or head[0] != 0xFF or head[1] & 0xF6 != 0xF0 or head[2] >> 2 & 15 > 12:
        return 0
    length = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5
    return length if length >= 7 else 0
