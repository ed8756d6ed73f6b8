"""From the bytes a command printed to text that a model and a user can read."""

from __future__ import annotations

import codecs
import locale
import re

from dogu.workspace.text import decode
from dogu.workspace.text.media import is_binary, sniff
from dogu.workspace.visible import strip_escapes

_SEAM_BYTES = 4096  # how far from a cut a line's end is looked for
_HELD_CHARS = 8192
_UNFINISHED = re.compile("\x1b(?:\\[[0-?]*[ -/]*|[\\]PX^_][^\x07\x1b\x9c]*\x1b?|[ -/]*)\\Z")
_STRAY = "[\ud800-\udfff]"


def readable(first: bytes, left_out_bytes: int, last: bytes, whole_in: str = "", code_page: int = 0) -> str:
    """Return a stream's output as plain text: decoded, without escape sequences; binary output is described.

    UTF-8, else the console's `code_page` (0: none), else the locale's encoding, else the detected one. Where
    `left_out_bytes` are missing between `first` and `last`, a line says so and names `whole_in`, the file that holds
    more. Bytes that are no text read `\\xNN`.
    """
    if is_binary(first):
        total_bytes = len(first) + left_out_bytes + len(last)
        what = sniff(first, "") or "binary"
        place = f"; kept in {whole_in}" if whole_in else ""
        return f"[{what} output, {total_bytes} bytes, not shown{place}]"
    if left_out_bytes:
        first, last, left_out_bytes = _at_seams(first, last, left_out_bytes)
        place = f"; more of it is in {whole_in}" if whole_in else ""
        first += f"\n[... {left_out_bytes} bytes left out{place} ...]\n".encode()
    return plain(_decoded(first + last, code_page))


def plain(text: str) -> str:
    """Return text as it reads without a terminal; what a lone carriage return would overwrite stays, as a line."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(_STRAY, _as_byte, strip_escapes(text))


class LiveText:
    """One stream, decoded as it comes: characters and escape sequences may be split anywhere."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder(_live_encoding())("replace")
        self._held = ""
        self._is_binary = False

    def feed(self, data: bytes) -> str:
        """Return the plain text that is certain by now; nothing more once the stream turned out to be binary."""
        self._is_binary = self._is_binary or b"\0" in data
        if self._is_binary:
            return ""
        text = self._held + self._decoder.decode(data)
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _HELD_CHARS))
        end = unfinished.start() if unfinished else len(text) - text.endswith("\r")
        self._held = text[end:]
        return plain(text[:end])


def _decoded(data: bytes, code_page: int = 0) -> str:
    for encoding in ("utf-8", f"cp{code_page}" if code_page else "utf-8", _locale_encoding()):
        try:
            if encoding != "ascii":
                return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue

    return decode(data).text


def _at_seams(first: bytes, last: bytes, left_out_bytes: int) -> tuple[bytes, bytes, int]:
    """Move both sides of the cut to a line's end where one is near, else off a split UTF-8 character."""
    end = first.rfind(b"\n", -_SEAM_BYTES)
    if end < 0:
        end = len(first) - 1
        while end > len(first) - 4 and first[end] & 0xC0 == 0x80:
            end -= 1
        end = end - 1 if first[end] >= 0xC0 else len(first) - 1
    start = last.find(b"\n", 0, _SEAM_BYTES) + 1
    if start == 0:
        while start < 3 and last[start] & 0xC0 == 0x80:
            start += 1
    return first[: end + 1], last[start:], left_out_bytes + len(first) - end - 1 + start


def _as_byte(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def _locale_encoding() -> str:
    try:
        return codecs.lookup(locale.getencoding()).name
    except LookupError:
        return "utf-8"


def _live_encoding() -> str:
    encoding = _locale_encoding()
    return "utf-8" if encoding == "ascii" else encoding
