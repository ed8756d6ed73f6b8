"""The part of bash's grammar that can be proven: which simple commands a text would run, and their words.

Knows no rule and no program; above it stands `dogu.policy`. Fails closed: `NotBashError` for what bash would refuse,
`UnprovenError` for what it may accept and this grammar does not follow.
"""

from dogu.workspace.shell_syntax.dialects import Dialect
from dogu.workspace.shell_syntax.parse import parse
from dogu.workspace.shell_syntax.tree import (
    Assignment,
    Command,
    CommandKind,
    NotBashError,
    Part,
    PartKind,
    Redirect,
    Scope,
    Script,
    UnprovenError,
    Word,
)

__all__ = [
    "Assignment",
    "Command",
    "CommandKind",
    "Dialect",
    "NotBashError",
    "Part",
    "PartKind",
    "Redirect",
    "Scope",
    "Script",
    "UnprovenError",
    "Word",
    "parse",
]
