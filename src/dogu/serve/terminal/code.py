"""Source code in colors, a line at a time; any text is taken, and what can't be told stays as it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dogu.serve.terminal.style import Style

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_MOST_CHARS = 200_000
_COLORS = {
    "Comment": "dim",
    "Keyword": "magenta",
    "String": "yellow",
    "Number": "cyan",
    "Literal": "cyan",
    "Function": "blue",
    "Class": "blue",
    "Decorator": "blue",
    "Tag": "blue",
    "Attribute": "cyan",
    "Builtin": "cyan",
}

Span = tuple[str, str]
"""A stretch of a line, and the name of its color (empty for none)."""


def code_lines(text: str, path: str, style: Style) -> list[list[Span]]:
    """Return the lines of a source as spans; `path` says its language."""
    lexer = lexer_of(os.path.basename(path)) if style.has_color and len(text) <= _MOST_CHARS else None
    if lexer is None:
        return [[(line, "")] for line in text.split("\n")]
    lines: list[list[Span]] = [[]]
    for piece, kind in _tokens(lexer, text):
        first, *others = piece.split("\n")
        if first:
            lines[-1].append((first, kind))
        lines += [[(line, kind)] if line else [] for line in others]
    return lines


@cache
def lexer_of(name: str) -> Lexer | None:
    """Return what reads files of that name; None for a kind nobody knows."""
    from pygments.util import ClassNotFound

    lexers: Any = import_module("pygments.lexers")

    table: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = lexers.LEXERS
    for _module, _title, aliases, patterns, _types in table.values():
        if aliases and any(fnmatchcase(name, pattern) for pattern in patterns):
            try:
                return lexers.get_lexer_by_name(aliases[0], stripnl=False, ensurenl=False)
            except ClassNotFound:
                return None
    return None


def _tokens(lexer: Any, text: str) -> Iterator[Span]:
    for kind, piece in lexer.get_tokens(text):
        names = [str(name) for name in reversed(kind)]
        yield piece, next((_COLORS[name] for name in names if name in _COLORS), "")
