"""Where characters stand in bytes, for codecs that map one to one and for bytes that don't.

Below `text`: knows codecs and offsets, nothing of files, BOMs or messages. Offsets here count from after the BOM.
"""

from __future__ import annotations

from typing import Protocol

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

    def __init__(self, codec: str, errors: str, width: int = 0) -> None:
        """`width` is the bytes of every character of the text, 0 when they differ."""
        self._codec = codec
        self._errors = errors
        self._width = width

    def byte_span(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Measure by encoding what stands before: a bounded piece at a time."""
        if self._width:
            return start * self._width, end * self._width
        first = self._length(text, 0, start)
        return first, first + self._length(text, start, end)

    def encode(self, text: str, place: tuple[int, int] | None) -> bytes:
        """Encode; the place doesn't matter to a stateless codec."""
        return text.encode(self._codec, self._errors)

    def _length(self, text: str, start: int, end: int) -> int:
        return sum(
            len(text[at : min(at + _STEP_CHARS, end)].encode(self._codec, self._errors))
            for at in range(start, end, _STEP_CHARS)
        )


def lay_out(body: bytes, codec: str) -> tuple[str, Layout]:
    """Decode exactly: the text, and the layout that finds its bytes again."""
    errors = "surrogatepass" if codec.startswith(("utf-16", "utf-32")) else "surrogateescape"
    text = body.decode(codec, errors)
    return text, OneToOne(codec, errors, 1 if codec == "utf-8" and text.isascii() else 0)
