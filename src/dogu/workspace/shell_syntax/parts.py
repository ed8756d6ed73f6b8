"""A word's parts while it is being read, and quoting that is text for text. Source: bash(1), QUOTING."""

from __future__ import annotations

import re

from dogu.language import told
from dogu.workspace.shell_syntax.tree import Part, PartKind, UnprovenError

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}
_ESCAPE = re.compile(
    r"\\(?:x\{?(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<four>[0-9A-Fa-f]{1,4})|U(?P<eight>[0-9A-Fa-f]{1,8})"
    r"|(?P<octal>[0-7]{1,3})|c(?P<control>\\\\|.)|(?P<other>.))",
    re.DOTALL,
)


def decode_ansi_c(text: str) -> str:
    """Return what bash makes of the inside of `$'...'`. Raises `UnprovenError` for a NUL, at which bash cuts."""
    return _ESCAPE.sub(_decoded, text)


def _decoded(match: re.Match[str]) -> str:
    group = match.lastgroup or "other"
    found = match[group]
    if group == "other":
        return _SIMPLE.get(found, "\\" + found)
    if "{" in match[0]:
        raise UnprovenError(told("\\x{...} in $'...'"))
    code = ord(found[0]) & 0x1F if group == "control" else int(found, 8 if group == "octal" else 16)
    if group == "octal":
        code &= 0xFF
    if code == 0 or code > 0x10FFFF:
        raise UnprovenError(told("a NUL or no character in $'...'"))
    if group in ("hex", "octal") and code > 0x7F:
        return chr(0xDC00 + code)
    return chr(code)


def unescape_backquotes(text: str, in_double_quotes: bool) -> str:
    """Return the commands between two backquotes as bash would read them."""
    return re.sub(r'\\([\\$`"])' if in_double_quotes else r"\\([\\$`])", r"\1", text)


class PartList:
    """Collects parts; neighbouring literal text of one quoting is joined."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._text: list[str] = []
        self._quoted = False
        self._has_text = False

    def add(self, text: str, *, quoted: bool) -> None:
        """Add literal text."""
        if self._has_text and quoted != self._quoted:
            self._flush()
        self._quoted = quoted
        self._has_text = True
        self._text.append(text)

    def append(self, part: Part) -> None:
        """Add an expansion."""
        self._flush()
        self._parts.append(part)

    def bare_text(self) -> str | None:
        """Return the text so far when all of it is literal and unquoted (as a name must be), else None."""
        if self._parts or (self._has_text and self._quoted):
            return None
        self._text = ["".join(self._text)]  # asked again and again while a long word is read
        return self._text[0]

    def finished(self) -> tuple[Part, ...]:
        """Return all parts."""
        self._flush()
        return tuple(self._parts)

    def _flush(self) -> None:
        if self._has_text:
            self._parts.append(Part(PartKind.LITERAL, "".join(self._text), self._quoted))
            self._text.clear()
            self._has_text = False
