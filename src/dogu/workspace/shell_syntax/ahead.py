"""The words and newlines ahead of a reader: looked at, moved past, read where they must be."""

from __future__ import annotations

import re

from dogu.language import told
from dogu.workspace.shell_syntax.reader import Reader
from dogu.workspace.shell_syntax.redirects import read_newline
from dogu.workspace.shell_syntax.tree import Command, NotBashError, UnprovenError, Word
from dogu.workspace.shell_syntax.words import read_word

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


_WORD_AHEAD = re.compile(r"[^\\'\"$`|&;()<> \t\n]+")


def needed_word(reader: Reader, *, takes_assignment: bool = False) -> Word:
    """Read a word, which must be there."""
    reader.position = reader.past_continuations(reader.position)
    start = reader.position
    word = read_word(reader, takes_assignment=takes_assignment)
    if reader.position == start:
        raise NotBashError(told("{character!r} where a word should be", character=reader.peek()))
    return word


def plain_word(reader: Reader, what: str) -> str:
    """Read a word without expansions; `what` names it in errors."""
    word = needed_word(reader)
    if not word.is_plain or not word.text:
        raise UnprovenError(told("{what} is computed", what=what))
    return word.text


def skip_newlines(reader: Reader) -> None:
    """Move past blanks, comments and newlines."""
    while True:
        reader.skip_blanks()
        if reader.peek() != "\n":
            return
        reader.position = reader.past_continuations(reader.position)
        read_newline(reader)


def bare_word_ahead(reader: Reader) -> str:
    """The next word when nothing in it is quoted or expanded; else ''. Nothing is consumed."""
    text = reader.text
    at = reader.past_continuations(reader.position)
    letters: list[str] = []
    while True:
        match = _WORD_AHEAD.match(text, at)
        if match is None:
            break
        letters.append(match[0])
        at = reader.past_continuations(match.end())
    follower = text[at : at + 1]
    return "" if follower and follower in "\\'\"$`" else "".join(letters)


def take_word(reader: Reader, word: str) -> None:
    """Consume the word that lies ahead."""
    for _ in word:
        reader.take()
