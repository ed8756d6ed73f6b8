"""The grammar: lists, pipelines and commands, flattened into the simple ones. Source: bash(1), SHELL GRAMMAR."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from dogu.language import told
from dogu.workspace.shell_syntax.ahead import (
    CLOSERS,
    bare_word_ahead,
    check_name,
    needed_word,
    plain_word,
    skip_newlines,
    take_word,
)
from dogu.workspace.shell_syntax.compound import COMPOUNDS, LOOPS
from dogu.workspace.shell_syntax.dialects import Dialect, check_command, check_text
from dogu.workspace.shell_syntax.reader import Reader
from dogu.workspace.shell_syntax.redirects import read_redirect
from dogu.workspace.shell_syntax.tree import (
    Command,
    CommandKind,
    NotBashError,
    Scope,
    Script,
    UnprovenError,
    Word,
)
from dogu.workspace.shell_syntax.words import as_assignment, check_read_twice, try_arithmetic

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PLAIN_NAME = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*(?![^\s;|&()])")
_DECLARES = frozenset(("declare", "typeset", "local", "export", "readonly", "alias", "eval"))
_DEEPEST_GROUP = 220
_MOST_FRAMES = 4_000  # a group takes five, a substitution ten


def parse(text: str, dialect: Dialect = Dialect.BASH) -> Script:
    """Return the commands of a text that a shell of this dialect will read.

    Raises `NotBashError` for what bash would refuse, `UnprovenError` for what this grammar doesn't follow.
    """
    if "\0" in text:
        raise NotBashError(told("a NUL character"))
    if dialect is Dialect.ANY:
        check_text(text)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _MOST_FRAMES))
    try:
        return read_script(Reader(text, read_script, dialect=dialect), "")
    except RecursionError:
        raise UnprovenError(told("the text is nested too deep")) from None
    finally:
        sys.setrecursionlimit(limit)


def read_script(reader: Reader, terminator: str) -> Script:
    """Read commands up to and past the terminator (`)`, `}` or the end)."""
    parser = Parser(reader)
    parser.list_until(frozenset((terminator,)), may_be_empty=True)
    if terminator == "" and reader.pending:
        raise NotBashError(told("a here-document has no body"))
    return Script(parser.commands)


class Parser:
    """Reads one text, or the text of one substitution."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.commands: list[Command] = []
        self._function: str | None = None
        self._scope: Scope | None = None
        self._depth = 0
        self._openers: dict[str, Callable[[], None]] = {
            word: partial(self._compound, read, repeats=word in LOOPS) for word, read in COMPOUNDS.items()
        }
        self._openers |= {"function": self._function_keyword, "coproc": self._coproc}

    # lists and pipelines

    def list_until(self, stops: frozenset[str], *, may_be_empty: bool = False) -> str:
        """Read commands up to and past one of `stops`: a reserved word, `)`, `;;` or the end (""); return which."""
        self._depth += 1
        if self._depth > _DEEPEST_GROUP:
            raise UnprovenError(told("commands are grouped too deep"))
        is_empty = True
        outer = self._scope
        if self._depth > 1:
            self._scope = Scope(outer, is_body=True, is_apart=")" in stops, is_sure="}" in stops)
        while True:
            skip_newlines(self.reader)
            stop = self._stop(stops)
            if stop is not None:
                if is_empty and not may_be_empty:
                    raise NotBashError(told("no command before {word!r}", word=stop or told("the end")))
                self._depth -= 1
                self._scope = outer
                return stop
            body, self._scope = self._scope, Scope(self._scope)
            self._pipelines(self._scope)
            is_empty = False
            self._scope.is_apart = self._separator(stops) == "&"
            self._scope = body

    def _stop(self, stops: frozenset[str]) -> str | None:
        character = self.reader.peek()
        if character == "":
            if "" in stops:
                return ""
            raise NotBashError(told("the text ends too early"))
        if character == ")":
            if ")" not in stops:
                raise NotBashError(told("a ) that nothing opened"))
            self.reader.take()
            return ")"
        if character == ";" and ";;" in stops and self.reader.peek(1) in (";", "&"):
            self._take_case_end()
            return ";;"
        word = bare_word_ahead(self.reader)
        if word in stops and word:
            take_word(self.reader, word)
            return word
        if word in CLOSERS:
            raise NotBashError(told("{word!r} where a command should be", word=word))
        return None

    def _take_case_end(self) -> None:
        reader = self.reader
        reader.take()
        second = reader.take()
        if "&" in (second, reader.peek()):
            reader.differs("a case that goes on")
        if second == ";" and reader.peek() == "&":
            reader.take()

    def _separator(self, stops: frozenset[str]) -> str:
        """Read `;`, `&` or a newline after a command, and return it; what may close a list is left."""
        reader = self.reader
        reader.skip_blanks()
        character = reader.peek()
        if character == "&" or (character == ";" and reader.peek(1) not in (";", "&")):
            reader.take()
        elif not (character == ";" and ";;" in stops) and character not in ("\n", "", ")"):
            raise NotBashError(told("{character!r} after a command", character=character))
        return character

    def _pipelines(self, around: Scope) -> None:
        """Read pipelines joined by `&&` and `||`."""
        joined = ""
        while True:
            self._pipeline(around, joined)
            self._scope = around
            self.reader.skip_blanks()
            if self.reader.peek() not in ("&", "|") or self.reader.peek(1) != self.reader.peek():
                return
            joined = self.reader.take() + self.reader.take()
            skip_newlines(self.reader)

    def _pipeline(self, around: Scope, joined: str) -> None:
        is_negated = self._skip_prefixes()
        segments: list[tuple[int, int]] = []
        scopes: list[Scope] = []
        while True:
            start = len(self.commands)
            self._scope = Scope(around, joined="|" if scopes else joined, is_negated=is_negated)
            scopes.append(self._scope)
            self._command()
            segments.append((start, len(self.commands)))
            self.reader.skip_blanks()
            if self.reader.peek() != "|" or self.reader.peek(1) == "|":
                break
            self.reader.take()
            if self.reader.peek() == "&":
                self.reader.differs("|&")
                self.reader.take()
            skip_newlines(self.reader)
        for scope in scopes if len(scopes) > 1 else ():
            scope.is_apart = True
        self._mark_pipes(segments)

    def _mark_pipes(self, segments: list[tuple[int, int]]) -> None:
        for (writer, writer_end), (reader, reader_end) in pairwise(segments):
            if writer_end - writer == 1 and reader_end - reader == 1:
                self.commands[reader].piped_from = self.commands[writer]

    def _skip_prefixes(self) -> bool:
        """Read `!` and `time`, which change no command; return whether a `!` was there."""
        is_negated = False
        while True:
            self.reader.skip_blanks()
            word = bare_word_ahead(self.reader)
            if word not in ("!", "time"):
                return is_negated
            is_negated = is_negated or word == "!"
            take_word(self.reader, word)
            self.reader.skip_blanks()
            if word == "time":
                self._skip_options_of_time()
            if self.reader.peek() in ("", "\n", ";", "&", "|", ")"):
                raise NotBashError(told("no command after {word!r}", word=word))

    def _skip_options_of_time(self) -> None:
        if not _PLAIN_NAME.match(self.reader.text, self.reader.position):
            self.reader.differs("what follows time")  # mksh finds the option -p behind redirections and assignments too
        for option in ("-p", "--"):
            if bare_word_ahead(self.reader) == option:
                take_word(self.reader, option)
                self.reader.skip_blanks()

    # one command

    def _command(self) -> None:
        reader = self.reader
        reader.skip_blanks()
        character = reader.peek()
        if character in ("", "\n", "|", "&", ";", ")"):
            raise NotBashError(
                told("no command before {character!r}", character=character)
                if character
                else told("no command at the end")
            )
        if character == "(":
            self._parenthesis()
            return
        word = bare_word_ahead(reader)
        opener = self._openers.get(word)
        if word in CLOSERS and word != "]]":
            raise NotBashError(told("{word!r} where a command should be", word=word))
        if opener is None:
            self._simple()
        else:
            opener()

    def _compound(self, read: Callable[[Parser], None], *, repeats: bool) -> None:
        outer = self._scope
        self._scope = Scope(outer, is_body=True, repeats=True) if repeats else outer
        read(self)
        self._scope = outer

    def _parenthesis(self) -> None:
        reader = self.reader
        first = reader.past_continuations(reader.position)
        second = first + 1
        if reader.text[second : second + 1] == "(":
            reader.differs("(( as a command")
        is_double = reader.text[second : second + 1] == "("
        if is_double and second not in reader.not_arithmetic:
            part = try_arithmetic(reader, second)
            if part is not None:
                self.add(Command(CommandKind.ARITHMETIC, [Word((part,), part.text)]))
                self.redirects()
                return
        reader.take()
        self.list_until(frozenset(")"))
        if is_double:
            check_read_twice(reader.text[second : reader.position])
        self.redirects()

    def _function_keyword(self) -> None:
        self.reader.differs("function")
        take_word(self.reader, "function")
        self.reader.skip_blanks()
        name = plain_word(self.reader, "the name after function")
        self.reader.skip_blanks()
        if self.reader.peek() == "(":
            self._empty_parentheses()
        self._function_body(name)

    def _function_body(self, name: str) -> None:
        skip_newlines(self.reader)
        if self.reader.peek() != "(" and bare_word_ahead(self.reader) not in self._openers:
            raise NotBashError(told("a function's body is no compound command"))
        self.add(Command(CommandKind.FUNCTION, name=name))
        outer, self._function = self._function, name
        self._command()
        self._function = outer

    def _coproc(self) -> None:
        reader = self.reader
        reader.differs("coproc")
        take_word(reader, "coproc")
        reader.skip_blanks()
        word = bare_word_ahead(reader)
        if word not in self._openers and _NAME.match(word):
            position = reader.position
            take_word(reader, word)
            reader.skip_blanks()
            if reader.peek() != "(" and bare_word_ahead(reader) not in self._openers:
                reader.position = position
            else:
                self.add(Command(CommandKind.COPROCESS, name=word))
        outer, self._scope = self._scope, Scope(self._scope, is_body=True, is_apart=True)
        self._command()
        self._scope = outer

    # simple commands

    def _simple(self) -> None:
        reader = self.reader
        command = Command(CommandKind.SIMPLE, function=self._function, scope=self._scope)
        while True:
            reader.skip_blanks()
            redirect = read_redirect(reader)
            if redirect is not None:
                command.redirects.append(redirect)
                continue
            character = reader.peek()
            if character == "" or character in "|&;)\n":
                break
            if character == "(":
                if len(command.words) != 1 or command.assignments or command.redirects:
                    raise NotBashError(told("a ( inside of a command"))
                self._empty_parentheses()
                self._function_body(command.words[0].text)
                return
            self._take_operand(command)
        check_name(command)
        if reader.is_for_any:
            check_command(command)
        self.commands.append(command)

    def _take_operand(self, command: Command) -> None:
        declares = bool(command.words) and command.words[0].text in _DECLARES
        word = needed_word(self.reader, takes_assignment=not command.words or declares)
        assignment = None if command.words else as_assignment(word)
        if assignment is None:
            command.words.append(word)
        else:
            command.assignments.append(assignment)

    # the rest

    def add(self, command: Command) -> Command:
        """Keep a command."""
        command.function, command.scope = self._function, self._scope
        self.commands.append(command)
        return command

    def redirects(self) -> None:
        """Read the redirections of a compound command."""
        found = Command(CommandKind.GROUP, function=self._function, scope=self._scope)
        while True:
            self.reader.skip_blanks()
            redirect = read_redirect(self.reader)
            if redirect is None:
                break
            found.redirects.append(redirect)
        if found.redirects:
            self.commands.append(found)

    def _empty_parentheses(self) -> None:
        self.reader.take()
        self.reader.skip_blanks()
        if self.reader.take() != ")":
            raise NotBashError(told("a ( after a command's name"))
