"""Text of a file with the way back to its bytes: exact decoding, byte spans, splicing.

`decode` always answers, whatever the bytes; whether they are text at all is `media.is_binary`'s question. A byte that
the encoding doesn't know becomes a lone surrogate (U+DC80..U+DCFF) and goes back as it came. Line endings stay as
they are in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.text.detect import Encoding, detect
from dogu.workspace.text.laying_out import lay_out
from dogu.workspace.text.layout import Layout, OneToOne


@dataclass(frozen=True, slots=True)
class DecodedText:
    """What a file says, and where each character stands in its bytes.

    `text` is without the BOM; `data` is the whole file. Positions in `text` count characters from 0, spans are
    half-open.
    """

    text: str
    data: bytes = field(repr=False)
    detected: Encoding
    _layout: Layout = field(repr=False)

    @property
    def encoding(self) -> str:
        """The codec's name, such as `utf-8` or `cp932`."""
        return self.detected.codec

    @property
    def bom(self) -> bytes:
        """The byte order mark the file begins with; empty when there is none."""
        return self.detected.bom

    @property
    def label(self) -> str:
        """The encoding's name for people and models, such as `UTF-16LE with BOM`."""
        return self.detected.label

    @property
    def is_utf8(self) -> bool:
        """Whether the file is UTF-8, with or without a BOM."""
        return self.detected.codec == "utf-8"

    def byte_span(self, start: int, end: int) -> tuple[int, int]:
        """Return where the characters [start, end) stand in the file's bytes, half-open."""
        if not 0 <= start <= end <= len(self.text):
            raise ValueError(f"span [{start}, {end}) is not within 0..{len(self.text)}")
        first, last = self._layout.byte_span(self.text, start, end)
        return first + len(self.bom), last + len(self.bom)

    def encode(self, text: str) -> bytes:
        """Encode a text by itself, without a BOM.

        Raises `ToolError` (UNENCODABLE) naming the first character the encoding can't hold, and its line.
        """
        return self._encoded(text, None)

    def splice(self, replacements: Sequence[tuple[int, int, str]]) -> bytes:
        """Return the file's bytes with each character span [start, end) replaced; every other byte stays.

        Spans may come in any order but must not overlap. Raises `ToolError` (UNENCODABLE) as `encode` does.
        """
        view = memoryview(self.data)
        parts: list[bytes | memoryview] = []
        done_chars = done_bytes = 0
        for start, end, new in sorted(replacements, key=lambda item: item[:2]):
            if start < done_chars:
                raise ValueError(f"replacement at {start} overlaps the one before it")
            first, last = self.byte_span(start, end)
            parts += (view[done_bytes:first], self._encoded(new, (start, end)))
            done_chars, done_bytes = end, last
        parts.append(view[done_bytes:])
        return b"".join(parts)

    def rewrite(self, text: str) -> bytes:
        """Return the file's bytes with its whole text given anew: lines that stay keep their bytes, the BOM stays.

        That matters where one character has several codes, or the file holds stray bytes. Raises as `encode`.
        """
        if isinstance(self._layout, OneToOne):
            return self.bom + self.encode(text)
        from dogu.workspace.diff import changed_regions

        changes = changed_regions(self.text, text)
        for one in changes:
            self._encoded(text[one.new_start : one.new_end], (one.old_start, one.old_end), text, one.new_start)
        return self.splice([(one.old_start, one.old_end, text[one.new_start : one.new_end]) for one in changes])

    def _encoded(self, text: str, place: tuple[int, int] | None, whole: str = "", start: int = 0) -> bytes:
        """Encode; an error counts lines in `whole`, where the text starts at `start`."""
        try:
            return self._layout.encode(text, place)
        except UnicodeEncodeError as error:
            raise _unencodable(whole or text, start + error.start, self.label) from error


def decode(data: bytes, encoding: Encoding | None = None) -> DecodedText:
    """Decode a file's bytes, whatever they are; `encoding` spares the detection."""
    found = encoding or detect(data)
    text, layout = lay_out(data[len(found.bom) :] if found.bom else data, found.codec)
    return DecodedText(text, data, found, layout)


def line_ending_at(text: str, position: int) -> str:
    r"""Return the line ending (`\n`, `\r\n` or `\r`) in force at a position.

    That of its own line; on a last line without one, that of the line before; in a text without any, `\n`.
    """
    feed, carriage = text.find("\n", position), text.find("\r", position)
    here = _ending_of(text, feed, carriage)
    if here:
        return here
    feed, carriage = text.rfind("\n", 0, position), text.rfind("\r", 0, position)
    if feed > carriage:
        return "\r\n" if feed > 0 and text[feed - 1] == "\r" else "\n"
    return "\r" if carriage >= 0 else "\n"


def dominant_line_ending(text: str) -> str:
    r"""Return the line ending that most lines have; `\n` when there is none or they tie with it."""
    pairs = text.count("\r\n")
    counts = {"\n": text.count("\n") - pairs, "\r\n": pairs, "\r": text.count("\r") - pairs}
    return max(counts, key=counts.__getitem__)


def _ending_of(text: str, feed: int, carriage: int) -> str:
    r"""Name the first ending of the two positions found; -1 is none. A position between `\r` and `\n` is in a pair."""
    if feed < 0 and carriage < 0:
        return ""
    if carriage < 0 or 0 <= feed < carriage:
        return "\r\n" if feed > 0 and text[feed - 1] == "\r" else "\n"
    return "\r\n" if feed == carriage + 1 else "\r"


def _unencodable(text: str, position: int, label: str) -> ToolError:
    character = text[position]
    shown = "a lone surrogate" if 0xD800 <= ord(character) <= 0xDFFF else f"'{character}'"
    line = text.count("\n", 0, position) + 1
    return ToolError(
        ErrorKind.UNENCODABLE,
        f"Nothing was written: the file is in {label}, which can't hold U+{ord(character):04X} {shown} "
        f"(line {line} of the new text). Use characters that {label} has, or convert the file to UTF-8 first.",
    )
