"""An answer with its sources: citations put where they belong, in any script, and the list of what they cite."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import msgspec


class Source(msgspec.Struct, frozen=True):
    """Something that was read: its title, perhaps empty, and where it is."""

    title: str
    address: str


class Citation(msgspec.Struct, frozen=True):
    """The text up to `end` (in characters) is supported by sources, counted from 0."""

    end: int
    sources: tuple[int, ...]


class Grounded(msgspec.Struct, frozen=True):
    """A text with what it rests on. `unread` are addresses that were asked for and could not be read."""

    text: str
    sources: tuple[Source, ...] = ()
    citations: tuple[Citation, ...] = ()
    unread: tuple[str, ...] = ()


def with_citations(answer: Grounded) -> str:
    """Return the text with `[1][3]` after each stretch that sources support."""
    at: dict[int, set[int]] = {}
    for citation in answer.citations:
        known = {number for number in citation.sources if 0 <= number < len(answer.sources)}
        end = _whole_character(answer.text, min(max(citation.end, 0), len(answer.text)))
        if known and end:
            at.setdefault(end, set()).update(known)
    pieces: list[str] = []
    start = 0
    for end in sorted(at):
        marks = "".join(f"[{number + 1}]" for number in sorted(at[end]))
        pieces += [answer.text[start:end], marks]
        start = end
    return "".join([*pieces, answer.text[start:]])


def source_list(sources: Sequence[Source]) -> str:
    """Return the sources as lines, `[1] Title (https://...)`; empty when there are none."""
    lines = [
        f"[{number}] {_one_line(source.title) or 'Untitled'} ({_one_line(source.address)})"
        for number, source in enumerate(sources, 1)
    ]
    return "\n".join(["Sources:", *lines]) if lines else ""


def character_offset(encoded: bytes, offset: int) -> int:
    """Return which character an offset into UTF-8 stands before; one within a character stands after it."""
    offset = min(max(offset, 0), len(encoded))
    while offset < len(encoded) and encoded[offset] & 0xC0 == 0x80:
        offset += 1
    return len(encoded[:offset].decode("utf-8"))


def _whole_character(text: str, end: int) -> int:
    """Move an end behind what belongs to the character before it: accents, joiners, selectors."""
    while 0 < end < len(text) and (
        unicodedata.combining(text[end])
        or text[end] in "\u200d\ufe0e\ufe0f\u20e3"
        or text[end - 1] == "\u200d"
        or "\U0001f3fb" <= text[end] <= "\U0001f3ff"
    ):
        end += 1
    return end


def _one_line(text: str) -> str:
    return " ".join(text.split())
