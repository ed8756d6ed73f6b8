"""`[[ ... ]]`. Source: bash(1), Compound Commands."""

from __future__ import annotations

from dogu.language import told
from dogu.workspace.shell_syntax.reader import Reader
from dogu.workspace.shell_syntax.redirects import read_newline
from dogu.workspace.shell_syntax.tree import NotBashError, UnprovenError, Word
from dogu.workspace.shell_syntax.words import read_regular_expression, read_word


def read_condition(reader: Reader) -> list[Word]:
    """Read up to and past `]]`, after `[[`; operators are words of their own."""
    words: list[Word] = []
    after_match = False
    depth = 0
    while True:
        reader.skip_blanks()
        character = reader.peek() or _not_closed()
        if after_match:
            words.append(read_regular_expression(reader))
            after_match = False
        elif character == "\n":
            reader.position = reader.past_continuations(reader.position)
            read_newline(reader)
        elif character in "&|":
            words.append(_read_connective(reader))
        elif character in "();<>" and not (character in "<>" and reader.peek(1) == "("):
            depth = _depth_after(depth, character)
            words.append(Word.literal(reader.take()))
        else:
            words.append(read_word(reader, in_condition=True))
            bare = words[-1].text if words[-1].is_bare else ""
            if bare == "]]":
                return _finished(words[:-1], depth)
            after_match = bare == "=~"


def _not_closed() -> str:
    raise NotBashError(told("[[ is not closed"))


def _depth_after(depth: int, character: str) -> int:
    depth += (character == "(") - (character == ")")
    if character == ";" or depth < 0:
        raise NotBashError(told("{character!r} in [[ ]]", character=character))
    return depth


def _read_connective(reader: Reader) -> Word:
    character = reader.take()
    if reader.take() != character:
        raise NotBashError(told("a single {character} in [[ ]]", character=character))
    return Word.literal(character * 2)


def _finished(words: list[Word], depth: int) -> list[Word]:
    if not words or depth:
        raise NotBashError(told("[[ ]] is not complete"))
    if words[-1].text in ("&&", "||", "!", "=~") and len(words) > 1:
        raise UnprovenError(told("[[ ]] ends in an operator"))
    return words
