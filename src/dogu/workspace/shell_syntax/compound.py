"""Compound commands. Source: bash(1), Compound Commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dogu.language import told
from dogu.workspace.shell_syntax.conditions import read_condition
from dogu.workspace.shell_syntax.expansions import try_arithmetic
from dogu.workspace.shell_syntax.tree import Command, CommandKind, NotBashError, Word

if TYPE_CHECKING:
    from dogu.workspace.shell_syntax.parse import Parser


def read_group(parser: Parser) -> None:
    """Read `{ ... }`."""
    parser.take_word("{")
    parser.list_until(frozenset("}"))
    parser.redirects()


def read_if(parser: Parser) -> None:
    """Read `if ...; then ...; fi`."""
    parser.take_word("if")
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
    parser.take_word(parser.bare_word_ahead())
    parser.list_until(frozenset(("do",)))
    parser.list_until(frozenset(("done",)))
    parser.redirects()


def read_for(parser: Parser) -> None:
    """Read `for` or `select`."""
    reader = parser.reader
    if parser.bare_word_ahead() == "select":
        reader.differs("select")
    parser.take_word(parser.bare_word_ahead())
    reader.skip_blanks()
    if reader.peek() == "(":
        _arithmetic_for(parser)
    else:
        name = parser.plain_word("the name after for")
        words: list[Word] = []
        parser.skip_newlines()
        if parser.bare_word_ahead() == "in":
            parser.take_word("in")
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
        words.append(parser.word())


def _loop_body(parser: Parser) -> None:
    parser.skip_newlines()
    word = parser.bare_word_ahead()
    if word not in ("do", "{"):
        raise NotBashError(told("a loop without do"))
    if word == "{":
        parser.reader.differs("a loop in braces")
    parser.take_word(word)
    parser.list_until(frozenset(("done" if word == "do" else "}",)))
    parser.redirects()


def read_case(parser: Parser) -> None:
    """Read `case ... esac`."""
    reader = parser.reader
    parser.take_word("case")
    reader.skip_blanks()
    command = parser.add(Command(CommandKind.CASE, [parser.word()]))
    parser.skip_newlines()
    if parser.bare_word_ahead() != "in":
        raise NotBashError(told("case without in"))
    parser.take_word("in")
    while True:
        parser.skip_newlines()
        if parser.bare_word_ahead() == "esac":
            parser.take_word("esac")
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
        command.words.append(parser.word())
        reader.skip_blanks()
        character = reader.take()
        if character == ")":
            return
        if character != "|":
            raise NotBashError(told("a pattern of case is not closed"))


def read_test(parser: Parser) -> None:
    """Read `[[ ... ]]`."""
    parser.reader.differs("[[")
    parser.take_word("[[")
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
