"""The part of cmd.exe's grammar that can be proven: which commands a line for `cmd /c` would run, and their words.

The same `Script` of commands as bash's, and it fails closed alike: `UnprovenError` for what cmd may accept and isn't
followed here. cmd reads a line in turns: variables are put into the text first, whatever they hold; then the text is
cut into commands by `&`, `|`, quotes and `^`; what is left is handed to a program as one string, which the program
itself cuts into words. Source: cmd /?, "Parsing C Command-Line Arguments" (Microsoft), and Wine's cmd as an oracle.
"""

from __future__ import annotations

import re

from dogu.language import told
from dogu.workspace.shell_syntax.cmd_words import (
    BLANKS,
    PATHS,
    SPECIAL,
    WORDS,
    Line,
    Unit,
    after_start,
    builtin_words,
    check_name,
    expanded,
    plain,
    program_words,
    unquoted_line,
)
from dogu.workspace.shell_syntax.tree import Command, CommandKind, Part, PartKind, Redirect, Script, UnprovenError, Word

BUILTINS = frozenset(
    "assoc break call cd chdir cls color copy date del dir echo endlocal erase exit for ftype goto if md mkdir mklink "
    "move path pause popd prompt pushd rd rem ren rename rmdir set setlocal shift start time title type ver verify vol"
    .split()
)  # fmt: skip
"""What cmd does itself, before it looks for a program of that name."""

_FOR = re.compile(r"%[A-Za-z]")
_COMPARES = frozenset("equ neq lss leq gtr geq".split())
_CMD = re.compile(r"(?:.*[\\/])?cmd(?:\.exe)?", re.IGNORECASE | re.DOTALL)
_SWITCH = re.compile(r"/([A-Za-z])(?::([A-Za-z]+))?")
_DEEPEST, _LONGEST_BUILTIN, _LONGEST_CHARS = 40, 12, 8_191


def parse_cmd(text: str) -> Script:
    """Return the commands of a line that `cmd /d /e:on /v:off /s /c` would read. Raises `UnprovenError`."""
    is_set = re.search("set", re.sub(r'[\^"]', "", text), re.IGNORECASE) is not None
    return _parse(text, 0, is_set=is_set)


def _parse(text: str, depth: int, *, is_set: bool) -> Script:
    text = text.rstrip("\r\n")
    if re.search(r"[\0\r\n\x1a]", text):
        raise UnprovenError(told("cmd.exe reads one line: join commands by & or put them into a file"))
    if len(text) > _LONGEST_CHARS:
        raise UnprovenError(told("cmd.exe takes no more than {count} characters", count=_LONGEST_CHARS))
    if depth > _DEEPEST:
        raise UnprovenError(told("the text is nested too deep"))
    parser = _Parser(expanded(text, is_set=is_set and depth > 0), depth, is_set=is_set)
    parser.commands_until_end(is_group=False)
    return Script(parser.commands)


class _Parser(Line):
    """Reads one line."""

    def __init__(self, units: list[Unit], depth: int, *, is_set: bool) -> None:
        super().__init__(units)
        self._depth = depth
        self._is_set = is_set
        self._groups = 0
        self._has_bare_body = False
        self.commands: list[Command] = []

    # lists

    def commands_until_end(self, *, is_group: bool) -> None:
        """Read commands up to the end of the line, or of the group, whose `)` is taken."""
        while True:
            self.skip_blanks()
            if self.is_over:
                if is_group:
                    raise UnprovenError(told("a ( is not closed"))
                return
            if self.peek() == ")":
                if not is_group:
                    raise UnprovenError(told("a ) that nothing opened"))
                self.at += 1
                return
            self._chain()
            if not self.is_over and self.peek() != ")":
                self._separator()

    def _separator(self) -> None:
        if self.peek() not in ("&", "|"):
            raise UnprovenError(told("{character!r} after a command", character=self.peek()))
        is_double = self.peek(1) == self.peek()
        may_end = not is_double and self.peek() == "&"
        self.at += 2 if is_double else 1
        self.skip_blanks()
        if (self.is_over and not may_end) or self.peek() in ("&", "|", ")"):
            raise UnprovenError(told("a command is missing"))

    def _chain(self) -> None:
        """A command, and those that it is piped into."""
        start, first = self.at, len(self.commands)
        self._command()
        is_piped = False
        while self.peek() == "|" and self.peek(1) != "|":
            self.at += 1
            self.skip_blanks()
            source = self.commands[-1] if len(self.commands) == first + 1 else None
            first = len(self.commands)
            self._command()
            is_piped = True
            if len(self.commands) > first:
                self.commands[first].piped_from = source
        if is_piped and any(unit.is_escaped or unit.text == "%" for unit in self.units[start : self.at]):
            raise UnprovenError(told("a pipe's commands are read twice, and one holds ^ or %"))

    # commands

    def _command(self) -> None:
        self.skip_blanks()
        while self.peek() == "@":
            self.at += 1
            self.skip_blanks()
        redirects = self._redirects()
        if self.is_over or self.peek() in ("&", "|", ")", ":"):
            raise UnprovenError(told("a label, or a command that is missing"))
        if self.peek() == "(":
            self._group(redirects)
        elif redirects or self.keyword() not in ("if", "for"):
            self._simple(redirects)
        elif self.keyword() == "if":
            self._if()
        else:
            self._for()

    def _redirects(self) -> list[Redirect]:
        found: list[Redirect] = []
        while (redirect := self._redirect()) is not None:
            found.append(redirect)
            self.skip_blanks()
        return found

    def _group(self, redirects: list[Redirect]) -> None:
        if redirects:
            raise UnprovenError(told("a redirection before a group"))
        self.at += 1
        self._groups += 1
        if self._groups + self._depth > _DEEPEST:
            raise UnprovenError(told("commands are grouped too deep"))
        self.commands_until_end(is_group=True)
        self._groups -= 1
        self.skip_blanks()
        if behind := self._redirects():
            if self.peek() in ("&", "|") and self.peek(-1) not in BLANKS:  # Wine's cmd takes them for the file's name
                raise UnprovenError(told("{character!r} after a command", character=self.peek()))
            self.commands.append(Command(CommandKind.GROUP, redirects=behind))

    def _if(self) -> None:
        self.at += len("if")
        self.skip_blanks()
        while self.ahead()[:2].lower() == "/i":
            self.at += 2
            self.skip_blanks()
        while self.keyword() == "not":
            self.at += len("not")
            self.skip_blanks()
        if self.keyword() in ("exist", "defined", "errorlevel", "cmdextversion"):
            self.at += len(self.keyword())
            self.skip_blanks()
            self.commands.append(Command(CommandKind.CONDITION, builtin_words(self.with_loops(self.take_word()))))
        else:
            self._comparison()
        before = self.at
        self.skip_blanks()
        is_group = self.peek() == "("
        if before == self.at and not is_group:
            raise UnprovenError(told("a condition that isn't known"))
        self._has_bare_body = self._has_bare_body or not is_group
        self._command()
        self.skip_blanks()
        if is_group and self.keyword() == "else":
            self.at += len("else")
            self._command()

    def _comparison(self) -> None:
        self.take_word()
        while self.peek() in (" ", "\t"):
            self.at += 1
        if self.ahead()[:2] == "==":
            self.at += 2
        elif self.keyword() in _COMPARES:
            self.at += 3
        else:
            raise UnprovenError(told("a condition that isn't known"))
        while self.peek() in (" ", "\t"):
            self.at += 1
        self.take_word()

    def _for(self) -> None:
        self.at += len("for")
        self.skip_blanks()
        kind, options = self._for_switches()
        variable = _FOR.match(self.ahead())
        if variable is None:
            raise UnprovenError(told("a loop without its variable"))
        self.at += 2
        self.skip_blanks()
        if self.keyword() != "in":
            raise UnprovenError(told("a loop without its list"))
        self.at += 2
        self.skip_blanks()
        if self.peek() != "(":
            raise UnprovenError(told("a loop without its list"))
        self.at += 1
        words = self._loop_words(kind, options)
        self.skip_blanks()
        if self.keyword() != "do":
            raise UnprovenError(told("a loop that does nothing"))
        self.at += 2
        self.commands.append(Command(CommandKind.LOOP, words, name=variable[0]))
        self.has_loop = True  # and stays so: a name that means nothing any more counts as unknown all the same
        self.skip_blanks()
        self._has_bare_body = self._has_bare_body or self.peek() != "("
        self._command()

    def _for_switches(self) -> tuple[str, str]:
        """Take `/d`, `/l`, `/r PATH`, `/f "OPTIONS"`; return which, and the options."""
        switch = re.match(r"/([dlrfDLRF])(?=[\s,;=])", self.ahead())
        if switch is None:
            return "", ""
        self.at += 2
        self.skip_blanks()
        kind, options = switch[1].lower(), ""
        if kind == "r" and not _FOR.match(self.ahead()):
            self.commands.append(Command(CommandKind.CONDITION, builtin_words(self.with_loops(self.take_word()))))
        if kind == "f" and self.peek() == '"':
            taken = self.take_word()
            if any(unit.is_variable for unit in taken):
                raise UnprovenError(told("a loop's options that aren't known"))
            options = "".join(unit.text for unit in taken).lower()
        self.skip_blanks()
        return kind, options

    def _loop_words(self, kind: str, options: str) -> list[Word]:
        """What a loop goes through, up to and past the `)`; what `for /f` runs is read as a line of its own."""
        units: list[Unit] = []
        is_quoted = False
        while is_quoted or self.peek() != ")":
            if self.is_over:
                raise UnprovenError(told("a ( is not closed"))
            character = self.peek()
            if not is_quoted and character == "^":
                units.append(self.take_escaped())
                continue
            if not is_quoted and character in tuple("&|<>"):
                raise UnprovenError(told("{character!r} in a loop's list", character=character))
            if not is_quoted and not character:
                self.check_bare(self.units[self.at])
            is_quoted ^= character == '"'
            units.append(self.units[self.at])
            self.at += 1
        self.at += 1
        if kind != "f":
            return builtin_words(self.with_loops(units))
        return self._file_words(units, options)

    def _file_words(self, units: list[Unit], options: str) -> list[Word]:
        """What `for /f` reads: a command's output, a string, or files."""
        text = "".join(f"%{unit.text}%" if unit.is_variable else unit.text for unit in units).strip(BLANKS)
        quote = "`" if "usebackq" in options else "'"
        if len(text) < 2 or text[0] != quote or text[-1] != quote:
            return builtin_words(self.with_loops(units))
        if self.has_loop and "%" in text:
            raise UnprovenError(told("a loop's command that another loop's variable is put into"))
        inner = text[1:-1]
        script = _parse(inner, self._depth + 1, is_set=self._is_set)
        return [Word((Part(PartKind.COMMAND, inner, script=script),), text)]

    # simple commands

    def _redirect(self) -> Redirect | None:
        """Take a redirection, if one stands there; a digit before it is its handle."""
        start = self.at
        if self.peek().isdecimal() and self.peek(1) in ("<", ">") and self.peek(1):
            self.at += 1
        operator = self.peek()
        if not operator or operator not in "<>":
            self.at = start
            return None
        self.at += 1
        if operator == ">" and self.peek() == ">":
            operator = ">>"
            self.at += 1
        if self.peek() == "&":
            self.at += 1
            self.skip_blanks()
            target = self.peek()
            if not target.isdecimal():
                raise UnprovenError(told("a redirection that isn't known"))
            self.at += 1
            return Redirect(f"{operator[0]}&", Word.literal(target))
        self.skip_blanks()
        words = builtin_words(self.with_loops(self._unescaped()))
        if len(words) != 1:
            raise UnprovenError(told("a redirection that isn't known"))
        return Redirect(operator, words[0])

    def _unescaped(self) -> list[Unit]:
        """Take a redirection's target."""
        is_odd = self.peek() == "^"
        taken = self.take_word()
        if is_odd or self.peek() in ("(", "^") or (self.peek() == ")" and not self._groups):
            raise UnprovenError(told("a redirection that isn't known"))
        return taken

    def _simple(self, redirects: list[Redirect]) -> None:
        command = Command(CommandKind.SIMPLE, redirects=redirects)
        start = self.at
        name = self.with_loops(self._name())
        rest = self._arguments(command)
        program = plain(name)
        if program is not None and program.lower() in ("if", "for", "rem", "else", "do", "in"):
            if program.lower() != "rem" or any(unit.text in SPECIAL + "%" for unit in self.units[start:]):
                raise UnprovenError(told("a keyword in quotes, behind a redirection, or with more than plain text"))
            return  # a remark
        self._finish(command, name, rest)

    def _name(self) -> list[Unit]:
        """Take the command's name: to the first blank outside of quotes, or `/` behind what cmd does itself."""
        found: list[Unit] = []
        is_quoted = False
        while not self.is_over:
            character = self.peek()
            sofar = "".join(unit.text for unit in found).lower() if len(found) < _LONGEST_BUILTIN else ""
            if not is_quoted and character and (character in BLANKS or character in "&|<>/"):
                break
            if not is_quoted and character == ")" and self._groups:
                break
            if not is_quoted and sofar in BUILTINS and character in (".", "\\") and character:
                break  # `cd..`, `echo.`
            if not is_quoted and character in ("(", ")"):
                raise UnprovenError(told("{character!r} in a command's name", character=character))
            if not is_quoted and character == "^":
                found.append(self.take_escaped())
                continue
            if not is_quoted and not character:
                self.check_bare(self.units[self.at])
            is_quoted ^= character == '"'
            found.append(self.units[self.at])
            self.at += 1
        check_name(found, self.peek(), self.ahead(), BUILTINS)
        return found

    def _arguments(self, command: Command) -> list[Unit]:
        """Take what follows the name, its redirections apart, up to what ends the command."""
        found: list[Unit] = []
        is_quoted = False
        while not self.is_over:
            character = self.peek()
            if is_quoted or (character and character not in SPECIAL):
                is_handle = not is_quoted and character.isdecimal() and self.peek(1) in ("<", ">") and self.peek(1)
                if is_handle and (not found or found[-1].text in BLANKS):
                    self._take_redirect(command)
                    continue
                is_quoted ^= character == '"'
                found.append(self.units[self.at])
                self.at += 1
            elif character == "^":
                found.append(self.take_escaped())
            elif character in ("<", ">"):
                self._take_redirect(command)
            elif character in ("&", "|") or (character == ")" and self._groups):
                break
            else:
                self._check_plain(character)
                found.append(self.units[self.at])
                self.at += 1
        return self.with_loops(found)

    def _check_plain(self, character: str) -> None:
        if character == "(" and self._has_bare_body:  # which Wine's cmd may take for the beginning of a group
            raise UnprovenError(told("{character!r} after a command", character=character))
        if not character:
            self.check_bare(self.units[self.at])

    def _take_redirect(self, command: Command) -> None:
        redirect = self._redirect()
        if redirect is None:
            raise UnprovenError(told("a redirection that isn't known"))
        command.redirects.append(redirect)

    def _finish(self, command: Command, name: list[Unit], rest: list[Unit]) -> None:
        """Cut the command into words; what only runs another command is left out for that one."""
        program = plain(name)
        shown = program.lower() if program is not None else ""
        if program is not None and _CMD.fullmatch(program):
            command.words = [Word.literal(program), *self._cmd_words(rest)]
        elif shown in ("call", "start"):
            self._called(command, shown, rest)
            return
        elif shown in BUILTINS:
            if shown != "echo" and any(unit.is_escaped and unit.text == '"' for unit in rest):
                raise UnprovenError(told("{name} would read a quote that ^ stands before", name=shown))
            command.words = [Word.literal(shown), *builtin_words(rest, " \t" if shown == "set" else BLANKS)]
        else:
            if not shown.endswith(".exe") and any(unit.is_escaped and unit.text in SPECIAL + '"' for unit in rest):
                raise UnprovenError(told("a batch file would read what ^ stands before once more"))
            command.words = [*program_words(name)[:1], *program_words(rest)]
        self.commands.append(command)

    def _called(self, command: Command, how: str, rest: list[Unit]) -> None:
        """`call COMMAND`, which is read twice, and `start "TITLE" /b COMMAND`."""
        text = "".join(unit.text if not unit.is_variable else f"%{unit.text}%" for unit in rest).lstrip(BLANKS)
        if any(unit.is_escaped or unit.text in ("%", "^", "!") for unit in rest):
            raise UnprovenError(told("{name} reads its command once more, and it holds ^ or %", name=how))
        if any(unit.is_variable and unit.text not in PATHS | WORDS for unit in rest):
            raise UnprovenError(told("what {name} would run can't be known", name=how))
        if how == "start":
            text, place = after_start(text)
            if place:
                self.commands.append(Command(CommandKind.SIMPLE, [Word.literal("cd"), Word.literal(place)]))
        if not text:
            command.words = [Word.literal(how)]
            self.commands.append(command)
            return
        if text[:1] in ":(@" or self._depth > _DEEPEST:
            raise UnprovenError(told("what {name} would run can't be known", name=how))
        inner = _parse(text, self._depth + 1, is_set=self._is_set).commands
        for each in inner:
            each.redirects.extend(command.redirects)
        self.commands.extend(inner)

    def _cmd_words(self, rest: list[Unit]) -> list[Word]:
        """The words of `cmd`: its switches, and behind `/c`, `/k` or `/r` a text that it reads as another line."""
        text = "".join(unit.text if not unit.is_variable else f"%{unit.text}%" for unit in rest)
        if any(unit.is_variable and unit.text not in PATHS | WORDS for unit in rest):
            raise UnprovenError(told("what {name} would run can't be known", name="cmd"))
        words: list[Word] = []
        at = 0
        while True:
            at += len(text[at:]) - len(text[at:].lstrip(BLANKS))
            switch = _SWITCH.match(text, at)
            if switch is None:
                break
            words.append(Word.literal(switch[0].lower()))
            at = switch.end()
            if switch[1].lower() in ("v", "e", "f", "t"):
                raise UnprovenError(told("{option} changes how cmd.exe reads", option=switch[0]))
            if switch[1].lower() in "ckr":
                inner = unquoted_line(text[at:].lstrip(BLANKS), is_plain="/s" in [word.text for word in words])
                script = _parse(inner, self._depth + 1, is_set=self._is_set)
                return [*words, Word((Part(PartKind.COMMAND, inner, script=script),), inner)]
        if text[at:].strip(BLANKS):
            raise UnprovenError(told("what {name} would run can't be known", name="cmd"))
        return words
