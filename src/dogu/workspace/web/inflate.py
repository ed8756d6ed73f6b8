"""Decompresses a body in bounded pieces, and knows whether it came whole."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

ACCEPTED = "gzip, deflate"
"""What servers are told. Others compress worse bombs, and not every Python can read them."""

_PIECE_BYTES = 1 << 20
_KNOWN = frozenset(("gzip", "x-gzip", "deflate"))
# What servers say of a body that is as it is: the header is no place for a charset, but that is where some put it.
_NO_COMPRESSION = frozenset(("", "identity", "none", "utf-8", "utf8", "binary", "8bit", "7bit", "aws-chunked"))


class InflateError(Exception):
    """The bytes aren't what they were said to be."""


class UnaskedError(InflateError):
    """The body is compressed in a way that wasn't offered."""


def encoding_of(header: str) -> str:
    """Return the compression that a `Content-Encoding` names, `identity` for none."""
    names = [name.strip().lower() for name in header.split(",")]
    return ", ".join(name for name in names if name not in _NO_COMPRESSION) or "identity"


class Inflating:
    """A body as it comes, of one `Content-Encoding`; `identity` passes through."""

    def __init__(self, encoding: str) -> None:
        if encoding != "identity" and encoding not in _KNOWN:
            named = ascii(encoding)[1:-1][:60]
            raise UnaskedError(f"it is compressed as {named}, and only {ACCEPTED} were asked for")
        self._encoding = encoding
        self._inflater = zlib.decompressobj(47)  # gzip or zlib, whichever it is
        self._has_begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give what the data decompress to, at most a megabyte at a time. Raises `InflateError`."""
        if self._encoding == "identity":
            yield data
            return
        while data:
            if self._inflater.eof:
                if not data.startswith(b"\x1f\x8b"):
                    return  # what follows the end is padding
                self._inflater = zlib.decompressobj(47)
            try:
                piece = self._inflated(data)
            except zlib.error as error:
                raise InflateError(str(error)) from None
            self._has_begun = True
            data = self._inflater.unconsumed_tail or self._inflater.unused_data
            if piece:
                yield piece

    def check_whole(self) -> None:
        """Raise `InflateError` when the body ended before its end."""
        if self._encoding != "identity" and self._has_begun and not self._inflater.eof:
            raise InflateError("the body ends in the middle")

    def _inflated(self, data: bytes) -> bytes:
        try:
            return self._inflater.decompress(data, _PIECE_BYTES)
        except zlib.error:
            if self._has_begun or self._encoding != "deflate":
                raise
            # Some servers send deflate without its header.
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._inflater.decompress(data, _PIECE_BYTES)
