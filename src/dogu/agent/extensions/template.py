r"""The prompt of a command of one's own: text with `{{args}}`, `!{shell}` and `@{path}` in it, taken apart once.

What a file or a command puts into the prompt is never searched for placeholders again. Pure.
Source: Gemini CLI's documentation of custom commands (docs/cli/custom-commands.md), format version 1.
"""

from __future__ import annotations

import re
import shlex
from typing import TypeAlias

import msgspec

from dogu.language import told

ARGS = "{{args}}"
_OPENING = re.compile(r"[!@]\{")


class TemplateError(Exception):
    """A command file that can't be understood; `near` is the text at which, to be found in the file."""

    def __init__(self, message: str, near: str) -> None:
        super().__init__(message)
        self.near = near


class Words(msgspec.Struct, frozen=True):
    """Text of the prompt; `{{args}}` in it stands for what was typed, as typed."""

    text: str


class Shell(msgspec.Struct, frozen=True):
    """A command line; `{{args}}` in it stands for what was typed, as one word of the shell's."""

    command: str


class File(msgspec.Struct, frozen=True):
    """A file or folder to be read into the prompt."""

    path: str


Piece: TypeAlias = Words | Shell | File


def parse_template(prompt: str) -> tuple[Piece, ...]:
    """Take a prompt apart. Raises `TemplateError` for braces that don't balance and for nothing between them."""
    pieces: list[Piece] = []
    start = 0
    while (opening := _OPENING.search(prompt, start)) is not None:
        end = _closing(prompt, opening.end())
        inside = prompt[opening.end() : end].strip()
        near = prompt[opening.start() :].split("\n", 1)[0]
        if not inside:
            raise TemplateError(told("{opening}}} is empty", opening=opening[0]), near)
        if opening.start() > start:
            pieces.append(Words(prompt[start : opening.start()]))
        pieces.append(_shell(inside, near) if opening[0] == "!{" else File(inside))
        start = end + 1
    if start < len(prompt):
        pieces.append(Words(prompt[start:]))
    return tuple(pieces)


def _closing(prompt: str, start: int) -> int:
    """Find the brace that closes the one before `start`: those between must balance."""
    depth = 1
    for position in range(start, len(prompt)):
        letter = prompt[position]
        depth += (letter == "{") - (letter == "}")
        if not depth:
            return position
    near = prompt[start - 2 :].split("\n", 1)[0]
    raise TemplateError(
        told("{opening} is never closed: the braces inside it must balance", opening=prompt[start - 2 : start]), near
    )


def _shell(command: str, near: str) -> Shell:
    with_args(command, "x", near)
    return Shell(command)


def takes_args(pieces: tuple[Piece, ...]) -> bool:
    """Whether the template says itself where the arguments go."""
    return any(
        ARGS in (piece.text if isinstance(piece, Words) else piece.command)
        for piece in pieces
        if not isinstance(piece, File)
    )


def with_args(command: str, args: str, near: str = "") -> str:
    """Put the arguments into a command line as one word, whatever quotes the placeholder stands in; no words, nothing.

    Raises `TemplateError` where no quoting would hold: in a here-document.
    """
    parts = command.split(ARGS)
    if len(parts) == 1:
        return command
    if any("<<" in part and "<<<" not in part for part in parts[:-1]):
        raise TemplateError(
            told("{{args}} can't be used in or after a here-document: pipe it in with printf"), near or command
        )
    word = shlex.quote(args) if args else ""
    quotes = _Quotes()
    made = parts[0]
    quotes.read(parts[0])
    for part in parts[1:]:
        around = quotes.open
        made += f"{around}{word}{around}" if word else ""
        made += part
        quotes.read(part)
    return made


class _Quotes:
    """Which quotes are open where a command line has been read to; `$(...)`, `` `...` `` and `${...}` begin anew."""

    def __init__(self) -> None:
        self._stack: list[str] = []

    @property
    def open(self) -> str:
        """The quote to close before a word and to open again after it; empty outside of quotes."""
        top = self._stack[-1] if self._stack else ""
        return top if top in ("'", '"') else ""

    def read(self, text: str) -> None:
        """Read on."""
        position = 0
        while position < len(text):
            position += self._step(text[position], text[position : position + 2])

    def _step(self, letter: str, two: str) -> int:
        top = self._stack[-1] if self._stack else ""
        if top == "'":
            if letter == "'":
                self._stack.pop()
            return 1
        if letter == "\\":
            return 2
        if letter == top:
            self._stack.pop()
        elif two in ("$(", "${"):
            self._stack.append(")" if two == "$(" else "}")
            return 2
        elif letter in '"`' or (letter == "'" and top != '"'):
            self._stack.append(letter)
        elif letter == "(" and top == ")":
            self._stack.append(")")
        return 1
