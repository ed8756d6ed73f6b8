"""Compound commands. Source: bash(1), Compound Commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dogu.language import told
from dogu.workspace.shell_syntax.ahead import bare_word_ahead, needed_word, plain_word, skip_newlines, take_word
from dogu.workspace.shell_syntax.reader import Reader
from dogu.workspace.shell_syntax.redirects import read_newline
from dogu.workspace.shell_syntax.tree import Command, CommandKind, NotBashError, UnprovenError, Word
from dogu.workspace.shell_syntax.words import read_regular_expression, read_word, try_arithmetic


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


class Parser(Protocol):
    """What reads the lists of commands inside of a compound one."""

    @property
    def reader(self) -> Reader:
        """The text, and where in it the parser is."""
        ...

    def add(self, command: Command) -> Command:
        """Keep a command that was read."""
        ...

    def list_until(self, stops: frozenset[str], *, may_be_empty: bool = False) -> str:
        """Read commands up to and past one of the words; return it."""
        ...

    def redirects(self) -> None:
        """Read the redirections behind a compound command."""
        ...


def read_group(parser: Parser) -> None:
    """Read `{ ... }`."""
    take_word(parser.reader, "{")
    parser.list_until(frozenset("}"))
    parser.redirects()


def read_if(parser: Parser) -> None:
    """Read `if ...; then ...; fi`."""
    take_word(parser.reader, "if")
    parser.list_until(frozenset(("then",)))
    while True:
        stop = parser.list_until(frozenset(("elif", "else", "fi")))
        if stop == "elif":
            parser.list_until(frozenset(("then",)))
        elif stop == "else":
            parser.list_until(frozenset(("fi",)))
            break
        else:
            break
    parser.redirects()


def read_while(parser: Parser) -> None:
    """Read `while` or `until`."""
    take_word(parser.reader, bare_word_ahead(parser.reader))
    parser.list_until(frozenset(("do",)))
    parser.list_until(frozenset(("done",)))
    parser.redirects()


def read_for(parser: Parser) -> None:
    """Read `for` or `select`."""
    reader = parser.reader
    if bare_word_ahead(reader) == "select":
        reader.differs("select")
    take_word(reader, bare_word_ahead(reader))
    reader.skip_blanks()
    if reader.peek() == "(":
        _arithmetic_for(parser)
    else:
        name = plain_word(reader, "the name after for")
        words: list[Word] = []
        skip_newlines(reader)
        if bare_word_ahead(reader) == "in":
            take_word(reader, "in")
            words = _words_of_list(parser)
        elif reader.peek() == ";":
            reader.take()
        parser.add(Command(CommandKind.LOOP, words, name=name))
    _loop_body(parser)


def _arithmetic_for(parser: Parser) -> None:
    reader = parser.reader
    reader.differs("for ((")
    reader.take()
    second = reader.past_continuations(reader.position)
    if reader.text[second : second + 1] != "(":
        raise NotBashError(told("for ( without (("))
    part = try_arithmetic(reader, second)
    if part is None:
        raise NotBashError(told("for (( is not closed"))
    parser.add(Command(CommandKind.ARITHMETIC, [Word((part,), part.text)]))
    reader.skip_blanks()
    if reader.peek() == ";":
        reader.take()


def _words_of_list(parser: Parser) -> list[Word]:
    words: list[Word] = []
    reader = parser.reader
    while True:
        reader.skip_blanks()
        character = reader.peek()
        if character in ("\n", ";"):
            if character == ";":
                reader.take()
            return words
        if character == "" or character in "|&()":
            raise NotBashError(told("{character!r} in the list of for", character=character))
        words.append(needed_word(reader))


def _loop_body(parser: Parser) -> None:
    skip_newlines(parser.reader)
    word = bare_word_ahead(parser.reader)
    if word not in ("do", "{"):
        raise NotBashError(told("a loop without do"))
    if word == "{":
        parser.reader.differs("a loop in braces")
    take_word(parser.reader, word)
    parser.list_until(frozenset(("done" if word == "do" else "}",)))
    parser.redirects()


def read_case(parser: Parser) -> None:
    """Read `case ... esac`."""
    reader = parser.reader
    take_word(reader, "case")
    reader.skip_blanks()
    command = parser.add(Command(CommandKind.CASE, [needed_word(reader)]))
    skip_newlines(reader)
    if bare_word_ahead(reader) != "in":
        raise NotBashError(told("case without in"))
    take_word(reader, "in")
    while True:
        skip_newlines(reader)
        if bare_word_ahead(reader) == "esac":
            take_word(reader, "esac")
            break
        _patterns(parser, command)
        if parser.list_until(frozenset((";;", "esac")), may_be_empty=True) == "esac":
            break
    parser.redirects()


def _patterns(parser: Parser, command: Command) -> None:
    reader = parser.reader
    if reader.peek() == "(":
        reader.take()
    while True:
        reader.skip_blanks()
        command.words.append(needed_word(reader))
        reader.skip_blanks()
        character = reader.take()
        if character == ")":
            return
        if character != "|":
            raise NotBashError(told("a pattern of case is not closed"))


def read_test(parser: Parser) -> None:
    """Read `[[ ... ]]`."""
    parser.reader.differs("[[")
    take_word(parser.reader, "[[")
    parser.add(Command(CommandKind.CONDITION, read_condition(parser.reader)))
    parser.redirects()


COMPOUNDS: dict[str, Callable[[Parser], None]] = {
    "{": read_group,
    "if": read_if,
    "while": read_while,
    "until": read_while,
    "for": read_for,
    "select": read_for,
    "case": read_case,
    "[[": read_test,
}
"""By the reserved word that opens them."""
LOOPS = frozenset(("while", "until", "for", "select"))
