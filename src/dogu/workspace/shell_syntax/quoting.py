"""Quoting that is text for text: `$'...'` and backquotes. Source: bash(1), QUOTING."""

from __future__ import annotations

import re

from dogu.language import told
from dogu.workspace.shell_syntax.tree import UnprovenError

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
