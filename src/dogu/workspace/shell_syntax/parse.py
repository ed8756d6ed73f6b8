"""The grammar: lists, pipelines and commands, flattened into the simple ones. Source: bash(1), SHELL GRAMMAR."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from dogu.workspace.shell_syntax.conditions import read_condition
from dogu.workspace.shell_syntax.expansions import try_arithmetic
from dogu.workspace.shell_syntax.parts import PartList
from dogu.workspace.shell_syntax.reader import Reader
from dogu.workspace.shell_syntax.redirects import read_newline, read_redirect
from dogu.workspace.shell_syntax.tree import (
    Assignment,
    Command,
    CommandKind,
    NotBashError,
    Part,
    PartKind,
    Script,
    UnprovenError,
    Word,
)
from dogu.workspace.shell_syntax.words import read_word

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ASSIGNS = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)\+?=", re.DOTALL)
_ASSIGNS_ELEMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)\[", re.DOTALL)
_DECLARES = frozenset(("declare", "typeset", "local", "export", "readonly", "alias", "eval"))
_CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}", "]]"))
_DEEPEST_GROUP = 220
_MOST_FRAMES = 4_000  # a group takes five, a substitution ten
_WORD_AHEAD = re.compile(r"[^\\'\"$`|&;()<> \t\n]+")


def parse(text: str) -> Script:
    """Return the commands of a text.

    Raises `NotBashError` for what bash would refuse, `UnprovenError` for what this grammar doesn't follow.
    """
    if "\0" in text:
        raise NotBashError("a NUL character")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _MOST_FRAMES))
    try:
        return read_script(Reader(text, read_script), "")
    except RecursionError:
        raise UnprovenError("the text is nested too deep") from None
    finally:
        sys.setrecursionlimit(limit)


def read_script(reader: Reader, terminator: str) -> Script:
    """Read commands up to and past the terminator (`)`, `}` or the end)."""
    parser = _Parser(reader)
    parser.list_until(frozenset((terminator,)), may_be_empty=True)
    if terminator == "" and reader.pending:
        raise NotBashError("a here-document has no body")
    return Script(parser.commands)


class _Parser:
    """Reads one text, or the text of one substitution."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.commands: list[Command] = []
        self._function: str | None = None
        self._depth = 0
        self._openers: dict[str, Callable[[], None]] = {
            "{": self._group,
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "for": self._for,
            "select": self._for,
            "case": self._case,
            "[[": self._condition,
            "function": self._function_keyword,
            "coproc": self._coproc,
        }

    # lists and pipelines

    def list_until(self, stops: frozenset[str], *, may_be_empty: bool = False) -> str:
        """Read commands up to and past one of `stops`: a reserved word, `)`, `;;` or the end (""); return which."""
        self._depth += 1
        if self._depth > _DEEPEST_GROUP:
            raise UnprovenError("commands are grouped too deep")
        is_empty = True
        while True:
            self._skip_newlines()
            stop = self._stop(stops)
            if stop is not None:
                if is_empty and not may_be_empty:
                    raise NotBashError(f"no command before {stop or 'the end'!r}")
                self._depth -= 1
                return stop
            self._pipelines()
            is_empty = False
            self._separator(stops)

    def _stop(self, stops: frozenset[str]) -> str | None:
        character = self.reader.peek()
        if character == "":
            if "" in stops:
                return ""
            raise NotBashError("the text ends too early")
        if character == ")":
            if ")" not in stops:
                raise NotBashError("a ) that nothing opened")
            self.reader.take()
            return ")"
        if character == ";" and ";;" in stops and self.reader.peek(1) in (";", "&"):
            self._take_case_end()
            return ";;"
        word = self._bare_word_ahead()
        if word in stops and word:
            self._take_word(word)
            return word
        if word in _CLOSERS:
            raise NotBashError(f"{word!r} where a command should be")
        return None

    def _take_case_end(self) -> None:
        self.reader.take()
        if self.reader.take() == ";" and self.reader.peek() == "&":
            self.reader.take()

    def _separator(self, stops: frozenset[str]) -> None:
        """Read `;`, `&` or a newline after a command; what may close a list is left."""
        reader = self.reader
        reader.skip_blanks()
        character = reader.peek()
        if character == "&":
            reader.take()
            if self.commands:
                self.commands[-1].in_background = True
        elif character == ";" and reader.peek(1) not in (";", "&"):
            reader.take()
        elif character == ";" and ";;" in stops:
            return
        elif character not in ("\n", "", ")"):
            raise NotBashError(f"{character!r} after a command")

    def _pipelines(self) -> None:
        """Read pipelines joined by `&&` and `||`."""
        while True:
            self._pipeline()
            self.reader.skip_blanks()
            if self.reader.peek() not in ("&", "|") or self.reader.peek(1) != self.reader.peek():
                return
            self.reader.take()
            self.reader.take()
            self._skip_newlines()

    def _pipeline(self) -> None:
        self._skip_prefixes()
        segments: list[tuple[int, int]] = []
        while True:
            start = len(self.commands)
            self._command()
            segments.append((start, len(self.commands)))
            self.reader.skip_blanks()
            if self.reader.peek() != "|" or self.reader.peek(1) == "|":
                break
            self.reader.take()
            if self.reader.peek() == "&":
                self.reader.take()
            self._skip_newlines()
        if len(segments) > 1:
            self._mark_pipes(segments)

    def _mark_pipes(self, segments: list[tuple[int, int]]) -> None:
        for index, (start, end) in enumerate(segments):
            for command in self.commands[start:end]:
                command.is_piped = True
                command.reads_pipe = command.reads_pipe or index > 0
            if index and end - start == 1 and segments[index - 1][1] - segments[index - 1][0] == 1:
                self.commands[start].piped_from = self.commands[segments[index - 1][0]]

    def _skip_prefixes(self) -> None:
        """Read `!` and `time`, which change no command."""
        while True:
            self.reader.skip_blanks()
            word = self._bare_word_ahead()
            if word not in ("!", "time"):
                return
            self._take_word(word)
            self.reader.skip_blanks()
            if word == "time":
                self._skip_options_of_time()
            if self.reader.peek() in ("", "\n", ";", "&", "|", ")"):
                raise NotBashError(f"no command after {word!r}")

    def _skip_options_of_time(self) -> None:
        for option in ("-p", "--"):
            if self._bare_word_ahead() == option:
                self._take_word(option)
                self.reader.skip_blanks()

    # one command

    def _command(self) -> None:
        reader = self.reader
        reader.skip_blanks()
        character = reader.peek()
        if character in ("", "\n", "|", "&", ";", ")"):
            raise NotBashError(f"no command before {character!r}" if character else "no command at the end")
        if character == "(":
            self._parenthesis()
            return
        word = self._bare_word_ahead()
        opener = self._openers.get(word)
        if word in _CLOSERS and word != "]]":
            raise NotBashError(f"{word!r} where a command should be")
        if opener is None:
            self._simple()
        else:
            opener()

    def _parenthesis(self) -> None:
        reader = self.reader
        first = reader.past_continuations(reader.position)
        second = first + 1
        if reader.text[second : second + 1] == "(" and second not in reader.not_arithmetic:
            part = try_arithmetic(reader, second)
            if part is not None:
                self._add(Command(CommandKind.ARITHMETIC, [Word((part,), part.text)]))
                self._redirects()
                return
        reader.take()
        self.list_until(frozenset(")"))
        self._redirects()

    def _group(self) -> None:
        self._take_word("{")
        self.list_until(frozenset("}"))
        self._redirects()

    def _if(self) -> None:
        self._take_word("if")
        self.list_until(frozenset(("then",)))
        while True:
            stop = self.list_until(frozenset(("elif", "else", "fi")))
            if stop == "elif":
                self.list_until(frozenset(("then",)))
            elif stop == "else":
                self.list_until(frozenset(("fi",)))
                break
            else:
                break
        self._redirects()

    def _while(self) -> None:
        self._take_word(self._bare_word_ahead())
        self.list_until(frozenset(("do",)))
        self.list_until(frozenset(("done",)))
        self._redirects()

    def _for(self) -> None:
        reader = self.reader
        self._take_word(self._bare_word_ahead())
        reader.skip_blanks()
        if reader.peek() == "(":
            self._arithmetic_for()
        else:
            name = self._plain_word("the name after for")
            words: list[Word] = []
            self._skip_newlines()
            if self._bare_word_ahead() == "in":
                self._take_word("in")
                words = self._words_of_list()
            elif reader.peek() == ";":
                reader.take()
            self._add(Command(CommandKind.LOOP, words, name=name))
        self._loop_body()

    def _arithmetic_for(self) -> None:
        reader = self.reader
        reader.take()
        second = reader.past_continuations(reader.position)
        if reader.text[second : second + 1] != "(":
            raise NotBashError("for ( without ((")
        part = try_arithmetic(reader, second)
        if part is None:
            raise NotBashError("for (( is not closed")
        self._add(Command(CommandKind.ARITHMETIC, [Word((part,), part.text)]))
        reader.skip_blanks()
        if reader.peek() == ";":
            reader.take()

    def _words_of_list(self) -> list[Word]:
        words: list[Word] = []
        reader = self.reader
        while True:
            reader.skip_blanks()
            character = reader.peek()
            if character in ("\n", ";"):
                if character == ";":
                    reader.take()
                return words
            if character == "" or character in "|&()":
                raise NotBashError(f"{character!r} in the list of for")
            words.append(self._word())

    def _loop_body(self) -> None:
        self._skip_newlines()
        word = self._bare_word_ahead()
        if word not in ("do", "{"):
            raise NotBashError("a loop without do")
        self._take_word(word)
        self.list_until(frozenset(("done" if word == "do" else "}",)))
        self._redirects()

    def _case(self) -> None:
        reader = self.reader
        self._take_word("case")
        reader.skip_blanks()
        command = self._add(Command(CommandKind.CASE, [self._word()]))
        self._skip_newlines()
        if self._bare_word_ahead() != "in":
            raise NotBashError("case without in")
        self._take_word("in")
        while True:
            self._skip_newlines()
            if self._bare_word_ahead() == "esac":
                self._take_word("esac")
                break
            self._patterns(command)
            if self.list_until(frozenset((";;", "esac")), may_be_empty=True) == "esac":
                break
        self._redirects()

    def _patterns(self, command: Command) -> None:
        reader = self.reader
        if reader.peek() == "(":
            reader.take()
        while True:
            reader.skip_blanks()
            command.words.append(self._word())
            reader.skip_blanks()
            character = reader.take()
            if character == ")":
                return
            if character != "|":
                raise NotBashError("a pattern of case is not closed")

    def _condition(self) -> None:
        self._take_word("[[")
        self._add(Command(CommandKind.CONDITION, read_condition(self.reader)))
        self._redirects()

    def _function_keyword(self) -> None:
        self._take_word("function")
        self.reader.skip_blanks()
        name = self._plain_word("the name after function")
        self.reader.skip_blanks()
        if self.reader.peek() == "(":
            self._empty_parentheses()
        self._function_body(name)

    def _function_body(self, name: str) -> None:
        self._skip_newlines()
        if self.reader.peek() != "(" and self._bare_word_ahead() not in self._openers:
            raise NotBashError("a function's body is no compound command")
        self._add(Command(CommandKind.FUNCTION, name=name))
        outer, self._function = self._function, name
        self._command()
        self._function = outer

    def _coproc(self) -> None:
        reader = self.reader
        self._take_word("coproc")
        reader.skip_blanks()
        word = self._bare_word_ahead()
        if word not in self._openers and _NAME.match(word):
            position = reader.position
            self._take_word(word)
            reader.skip_blanks()
            if reader.peek() != "(" and self._bare_word_ahead() not in self._openers:
                reader.position = position
        self._command()
        self.commands[-1].is_piped = True

    # simple commands

    def _simple(self) -> None:
        reader = self.reader
        command = Command(CommandKind.SIMPLE, function=self._function)
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
                    raise NotBashError("a ( inside of a command")
                self._empty_parentheses()
                self._function_body(command.words[0].text)
                return
            self._take_operand(command)
        self.commands.append(command)

    def _take_operand(self, command: Command) -> None:
        declares = bool(command.words) and command.words[0].text in _DECLARES
        word = self._word(takes_assignment=not command.words or declares)
        assignment = None if command.words else _assignment(word)
        if assignment is None:
            command.words.append(word)
        else:
            command.assignments.append(assignment)

    def _word(self, *, takes_assignment: bool = False) -> Word:
        reader = self.reader
        reader.position = reader.past_continuations(reader.position)
        start = reader.position
        word = read_word(reader, takes_assignment=takes_assignment)
        if reader.position == start:
            raise NotBashError(f"{reader.peek()!r} where a word should be")
        return word

    def _plain_word(self, what: str) -> str:
        word = self._word()
        if not word.is_plain or not word.text:
            raise UnprovenError(f"{what} is computed")
        return word.text

    # the rest

    def _add(self, command: Command) -> Command:
        command.function = self._function
        self.commands.append(command)
        return command

    def _redirects(self) -> None:
        """Read the redirections of a compound command."""
        found = Command(CommandKind.GROUP, function=self._function)
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
            raise NotBashError("a ( after a command's name")

    def _skip_newlines(self) -> None:
        reader = self.reader
        while True:
            reader.skip_blanks()
            if reader.peek() != "\n":
                return
            reader.position = reader.past_continuations(reader.position)
            read_newline(reader)

    def _bare_word_ahead(self) -> str:
        """The next word when nothing in it is quoted or expanded; else ''. Nothing is consumed."""
        reader = self.reader
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

    def _take_word(self, word: str) -> None:
        for _ in word:
            self.reader.take()


def _assignment(word: Word) -> Assignment | None:
    """The assignment that a word in front of a command's name is, if it is one."""
    first = word.parts[0] if word.parts else None
    if first is None or first.kind is not PartKind.LITERAL or first.quoted:
        return None
    match = _ASSIGNS.match(first.text)
    if match is not None:
        rest = PartList()
        rest.add(first.text[match.end() :], quoted=False)
        parts: tuple[Part, ...] = (*rest.finished(), *word.parts[1:])
        is_array = word.raw[match.end() :].replace("\\\n", "").startswith("(")
        return Assignment(match["name"], Word(parts, word.raw), is_array=is_array)
    match = _ASSIGNS_ELEMENT.match(first.text)
    if match is not None and re.search(r"\]\+?=", word.text):
        return Assignment(match["name"], word, subscript=word)
    return None
