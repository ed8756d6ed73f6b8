"""Reserved words. Source: bash(1), RESERVED WORDS."""

from __future__ import annotations

from dogu.language import told
from dogu.workspace.shell_syntax.tree import Command, UnprovenError

CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}", "]]"))
"""Words that close what another opened."""

_RESERVED = CLOSERS | frozenset("! time coproc if for case select while until in function { [[ esac".split())


def check_name(command: Command) -> None:
    """Raise `UnprovenError` for a reserved word behind a redirection.

    Bash writes the commands of a substitution anew, redirections last, and reads them again: then the word is reserved.
    """
    first = command.words[0] if command.words else None
    if first is not None and first.is_bare and first.text in _RESERVED:
        raise UnprovenError(told("{word!r} as a command's name", word=first.text))
