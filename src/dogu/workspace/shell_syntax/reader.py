"""A position in a shell text, and what is still owed: nesting, here-documents."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from dogu.language import told
from dogu.workspace.shell_syntax.dialects import Dialect
from dogu.workspace.shell_syntax.tree import Redirect, Script, UnprovenError

DEEPEST = 140
"""Substitutions within one another that are followed; Python's own stack sets the limit."""

_CONTINUATIONS = re.compile(r"(?:\\\n)*")
_BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
_COMMENT = re.compile(r"#[^\n]*")


@dataclass(slots=True)
class HereDocument:
    """A here-document whose body comes after the next newline."""

    redirect: Redirect
    delimiter: str
    is_literal: bool
    strips_tabs: bool


@dataclass(slots=True)
class Reader:
    """The text, the place in it, and how deep it lies. `read_script` reads commands up to `)`, `}` or the end."""

    text: str
    read_script: Callable[[Reader, str], Script]
    depth: int = 0
    position: int = 0
    pending: list[HereDocument] = field(default_factory=list[HereDocument])
    outer_pending: bool = False
    not_arithmetic: set[int] = field(default_factory=set[int])
    dialect: Dialect = Dialect.BASH

    def nested(self, text: str) -> Reader:
        """Return a reader for text that lies one level deeper."""
        self.check_depth()
        return Reader(text, self.read_script, self.depth + 1, dialect=self.dialect)

    @property
    def is_for_any(self) -> bool:
        """Whether another shell than bash may read the text."""
        return self.dialect is Dialect.ANY

    def differs(self, what: str) -> None:
        """Raise `UnprovenError` for what only some shells read as bash does, where another may read the text."""
        if self.is_for_any:
            raise UnprovenError(told("only some shells have {what}", what=what))

    def check_depth(self) -> None:
        """Raise `UnprovenError` at the deepest nesting that is followed."""
        if self.depth >= DEEPEST:
            raise UnprovenError(told("substitutions lie more than {count} deep", count=DEEPEST))

    def script_until(self, terminator: str) -> tuple[Script, str]:
        """Read the commands of a substitution that ends with `terminator`; return them and their source."""
        self.check_depth()
        start = self.position
        pending, outer = self.pending, self.outer_pending
        self.pending, self.outer_pending = [], outer or bool(pending)
        self.depth += 1
        script = self.read_script(self, terminator)
        self.depth -= 1
        if self.pending:
            raise UnprovenError(told("a here-document's body lies outside of the substitution that asks for it"))
        self.pending, self.outer_pending = pending, outer
        return script, self.text[start : self.position - 1]

    def differs_on(self, character: str, unclear: str, where: str) -> None:
        """Do so for a character that shells read differently in this place."""
        if self.is_for_any and character in unclear:
            raise UnprovenError(told("shells read {character} {where} differently", character=character, where=where))

    def peek(self, ahead: int = 0) -> str:
        """Return the character at the position, past line continuations; empty at the end."""
        at = self.past_continuations(self.position)
        for _ in range(ahead):
            at = self.past_continuations(at + 1)
        return self.text[at : at + 1]

    def past_continuations(self, at: int) -> int:
        """Return the first index from `at` that is not a backslash before a newline."""
        match = _CONTINUATIONS.match(self.text, at)
        return match.end() if match else at

    def take(self) -> str:
        """Consume and return one character, past line continuations."""
        at = self.past_continuations(self.position)
        self.position = at + 1
        return self.text[at : at + 1]

    def skip_blanks_only(self) -> None:
        """Move past blanks and line continuations."""
        match = _BLANKS.match(self.text, self.position)
        if match:
            self.position = match.end()

    def skip_blanks(self) -> None:
        """Move past blanks, line continuations and a comment."""
        self.skip_blanks_only()
        if self.text[self.position : self.position + 1] == "#":
            comment = _COMMENT.match(self.text, self.position)
            self.position = comment.end() if comment else self.position
