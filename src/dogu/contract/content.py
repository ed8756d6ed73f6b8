"""What the model reads: text and media, before any wire's encoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec


class Text(msgspec.Struct, frozen=True):
    """A stretch of text."""

    text: str


class Blob(msgspec.Struct, frozen=True):
    """Raw bytes of a media type (`image/png`); base64 only on the wire. `name` is what the model may call it."""

    media_type: str
    data: bytes
    name: str = ""


Part: TypeAlias = Text | Blob
Content: TypeAlias = str | Sequence[Part]


def parts_of(content: Content) -> list[Part]:
    """Return the content as a list of parts; a plain string is one `Text`, an empty one none."""
    if isinstance(content, str):
        return [Text(content)] if content else []
    return list(content)


def text_of(content: Content) -> str:
    """Join the texts of the content with newlines; a blob is named as `[image/png, 1234 bytes]`."""
    if isinstance(content, str):
        return content
    return "\n".join(
        part.text if isinstance(part, Text) else f"[{part.media_type}, {len(part.data)} bytes]" for part in content
    )
