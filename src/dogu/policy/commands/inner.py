"""What a command may have inside of it: words, a text for a shell, a tool of the project, something elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dogu.policy.commands.elsewhere import Elsewhere
from dogu.workspace.shell_syntax import Dialect, Part, PartKind, Word


@dataclass(frozen=True)
class ShellText:
    """A text that a shell will read; `value` None when it can't be known. `dialect`: which shell."""

    value: str | None
    dialect: Dialect = Dialect.ANY


@dataclass(frozen=True)
class Tool:
    """A command that a project's own runner starts: it must not be excluded, and needn't be listed."""

    words: list[Word]


Inner: TypeAlias = list[Word] | ShellText | Tool | Elsewhere
UNKNOWN = ShellText(None)
DATA = Word((Part(PartKind.VARIABLE, "..."),), "...")
"""A word that stands for what can't be known."""
