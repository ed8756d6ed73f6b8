"""Variables: which may be set without a question, to what, and what a word that holds one is known to begin with.

An allow list: a name that isn't in it may be read by any program of the text, to run something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise

from dogu.language import told
from dogu.policy.commands.arithmetic import names_set
from dogu.policy.commands.patterns import is_a, values_of
from dogu.workspace.shell_syntax import Assignment, Command, CommandKind, Part, PartKind, Script, Word
from dogu.workspace.shell_syntax.braces import expand_braces

_READ_A_TEXT = frozenset(("eval", "source", "."))
_EXPORT = frozenset(("export", "declare", "typeset", "local", "readonly"))
_ANYTHING = Word((Part(PartKind.VARIABLE, "@"),), "$@")  # what a loop without words goes through
_RUNS_OWN_CODE = frozenset(
    "python python3 pytest py.test tox nox coverage mypy uvicorn gunicorn flask celery alembic django-admin".split()
)
_OWN_NUMBERS = frozenset(("?", "#", "$", "!"))
_NUMBERS = frozenset((*_OWN_NUMBERS, "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "EPOCHSECONDS"))
_ALWAYS_SET = frozenset(("HOME", "PWD", "SHELL", "USER", "LOGNAME", "HOSTNAME"))
_GIVEN_BY_BASH = frozenset(("_", "REPLY", "MAPFILE", "BASH_REMATCH", "OPTARG", "COPROC", "DIRSTACK"))
"""Variables that get what was read, matched or run before, without being named."""
_PRINTS_ELSEWHERE = frozenset(("which", "command", "go", "node"))  # a word, but a path that may lie anywhere
_MOST_SPELLINGS = 300
_NAME = re.compile(r"[A-Za-z_]\w*")
_SETS_BY_NAME = frozenset(
    "read mapfile readarray printf getopts declare typeset local export readonly let unset eval source . set".split()
)


def assignment_reason(each: Assignment, program: str, *, is_passed_on: bool) -> str:
    """Say why an assignment needs a question; '' when it doesn't. `is_passed_on`: programs see it."""
    reason = told("it sets {names}, which can change what runs", names=each.name)
    if each.subscript is not None or each.is_array:
        return reason if is_shells_own(each.name) else ""
    value = each.value.text if each.value.is_plain and not each.value.has_tilde else None
    if is_harmless_setting(each.name, value, program):
        return ""
    if is_shells_own(each.name):
        return reason
    if not is_passed_on and not is_read_by_programs(each.name):
        return ""
    return reason


def name_reason(name: str) -> str:
    """Say why a name mustn't be given just any value; '' when it may. "" is a name that can't be known."""
    if name and not is_shells_own(name) and not is_read_by_programs(name):
        return ""
    return told("it sets {names}, which can change what runs", names=name or "...")


def is_shells_own(name: str) -> bool:
    """Whether the shell itself, or the loader of programs, is steered by the variable."""
    return is_a("shells", name)


def is_read_by_programs(name: str) -> bool:
    """Whether a program that is well known takes more than a word from the variable."""
    return is_a("programs", name)


def is_harmless_setting(name: str, value: str | None, program: str = "") -> bool:
    """Whether the variable may be set to the value: None is one that can't be known."""
    if value is None:
        return False
    if name == "IFS" and program == "read":  # for this command alone, which only parts a line
        return True
    if name == "PYTHONPATH":
        return program in _RUNS_OWN_CODE and is_a("own_code", value)
    return any(each.fullmatch(value) for each in values_of(name))


_HERE = Word.literal(".")


class Known:
    """What the text gives its variables, so far as that is known without running it."""

    def __init__(self, script: Script) -> None:
        self._values: dict[str, list[Word]] = {}
        self._unknown: set[str] = set()
        self._is_open = False  # names may be set that don't stand in the text
        self.paths_may_split = False  # it goes to a folder whose name holds a blank
        self._moves = False
        self.exported: set[str] = set()
        self.add(script)

    def add(self, script: Script) -> None:
        """Take in a text that is read by another shell, or later."""
        for command in _all_commands(script):
            self._note(command)

    def _note(self, command: Command) -> None:
        for each in command.assignments:
            if each.subscript is not None or each.is_array or each.value.raw.startswith(f"{each.name}+="):
                self._unknown.add(each.name)
            else:
                self._values.setdefault(each.name, []).append(each.value)
        if command.kind is CommandKind.LOOP:
            self._values.setdefault(command.name, []).extend(command.words or [_ANYTHING])
        if command.words and command.kind is not CommandKind.ARITHMETIC:
            self._note_builtin(command.words)
            self._moves = self._moves or command.words[0].value in ("cd", "pushd", "popd")
        if command.words and command.words[0].text in ("cd", "pushd"):
            self.paths_may_split |= any(re.search(r"\s", word.value or " ") for word in command.words[1:])
        named = set(names_set(command)) - ({command.name} if command.kind is CommandKind.LOOP else set())
        self._is_open = self._is_open or "" in named
        self._unknown |= named

    def _note_builtin(self, words: Sequence[Word]) -> None:
        """Builtins that set what they are told to by name."""
        used = _SETS_BY_NAME.intersection(word.text for word in words[:3])
        if not used:
            return
        computes = any(word.value is None and "=" not in word.prefix for word in words[1:])
        self._is_open = self._is_open or bool(used & _READ_A_TEXT) or (computes and bool(used - {"printf", "set"}))
        names = {name[0] for word in words[1:] if (name := re.match(r"[A-Za-z_]\w*", word.text))}
        self._unknown |= names
        if used & _EXPORT:
            self.exported |= names

    def is_no_option(self, part: Part) -> bool:
        """Whether a variable's value, should there be any, begins with no hyphen and doesn't split into such words."""
        if part.text in _OWN_NUMBERS and not part.operator:
            return True
        if not _NAME.fullmatch(part.text) or self._is_unknown(part.text):
            return False
        if part.operator:
            return False
        values = self._values.get(part.text)
        if values is None:  # it comes from where the program was started, out of the text's reach
            if part.text == "PWD" and not self._moves:  # a folder that a person has chosen to work in
                return True
            return part.quoted and (not is_shells_own(part.text) or part.text in ("HOME", "PWD", "SHELL"))
        return all(_begins_plainly(value, part.quoted) or _prints_plainly(value) for value in values)

    def printed(self, word: Word) -> list[Script]:
        """The substitutions that alone give a word, or the one variable that it is; none where anything else may."""
        parts = [each for each in word.parts if each.kind is not PartKind.LITERAL or each.text]
        if len(parts) != 1 or parts[0].operator:
            return []
        if parts[0].kind is not PartKind.VARIABLE:
            return [parts[0].script] if parts[0].script is not None else []
        values = [] if self._is_unknown(parts[0].text) else self._values.get(parts[0].text, [])
        found = [each.parts[0].script for each in values if len(each.parts) == 1]
        return [each for each in found if each is not None] if len(found) == len(values) and None not in found else []

    def may_be_empty(self, part: Part) -> bool:
        """Whether a variable's value may be no text at all, as that of one that isn't set is."""
        if part.kind is not PartKind.VARIABLE or part.text in _NUMBERS or part.text in _ALWAYS_SET:
            return False
        values = self._values.get(part.text)
        return not values or self._is_unknown(part.text) or not all(value.prefix for value in values)

    def _is_unknown(self, name: str) -> bool:
        return self._is_open or name in self._unknown or name in _GIVEN_BY_BASH

    def spellings(self, word: Word, depth: int = 3, *, of_place: bool = False) -> list[str] | None:
        """What a word may be by the values that the text gives its variables; `x` stands for what comes from elsewhere.

        None when the text cuts and turns such values. `of_place`: what it names is a place, so that only a word stands
        for `x`: None, too, for what is read, given as an argument or printed.
        """
        found = [""]
        for part in word.parts:
            if part.kind is PartKind.LITERAL:
                texts: list[str] | None = [part.text]
            elif of_place and not self._is_one_name(part):
                texts = self._named_by(part, depth)
            else:
                texts = self._spelled(part, depth, of_place=of_place)
            if texts is None or len(found) * len(texts) > _MOST_SPELLINGS:
                return None
            found = [begun + text for begun in found for text in texts]
        return found

    def may_be_network(self, path: Word) -> bool:
        """Whether bash would open a connection: a path that the text puts together counts by what it becomes."""
        is_open = any(map(self._may_be_any_text, path.expansions()))
        spelled = None if is_open and path.prefix.startswith("/d") else self.spellings(path)
        return spelled is None or any(re.match(r"/dev/(?:tcp|udp)/", text) for text in spelled)

    def _may_be_any_text(self, part: Part) -> bool:
        is_named = part.kind is PartKind.VARIABLE and _NAME.fullmatch(part.text) is not None
        return part.kind is not PartKind.ARITHMETIC and (not is_named or self._is_unknown(part.text))

    def places(self, word: Word) -> list[Word] | None:
        """What a word that names a place may be; None when that can't be said."""
        spelled = [word.text] if word.is_plain else self.spellings(word, of_place=True)
        return None if spelled is None else [found_word(text) for text in spelled]

    def _is_one_name(self, part: Part) -> bool:
        """Whether an expansion of a place is a value that the text gives, a number or a word of its own."""
        if part.kind is PartKind.ARITHMETIC or (part.text in _NUMBERS and not part.operator):
            return True
        if part.kind is PartKind.VARIABLE:
            is_plain = all(each.kind is PartKind.LITERAL for each in part.inner)
            return is_plain and _NAME.fullmatch(part.text) is not None and not self._is_unknown(part.text)
        command = part.script.commands[0] if part.script is not None and len(part.script.commands) == 1 else None
        return prints_a_word(command) and command is not None and command.words[0].value not in _PRINTS_ELSEWHERE

    def _named_by(self, part: Part, depth: int) -> list[str] | None:
        """What `$(dirname "$f")` and `$(basename "$f")` print, of a place; None for any other command."""
        commands = part.script.commands if part.script is not None else []
        words = commands[0].words if len(commands) == 1 and not commands[0].redirects else []
        if len(words) not in (2, 3) or words[0].value not in ("dirname", "basename") or not depth:
            return None
        given = self.spellings(words[1], depth - 1, of_place=True)
        if words[0].value == "basename":
            return ["x"] if given is None else [text.rstrip("/").rpartition("/")[2] for text in given]
        return given

    def _spelled(self, part: Part, depth: int, *, of_place: bool = False) -> list[str] | None:
        given = self._values.get(part.text, []) if part.kind is PartKind.VARIABLE else []
        default = re.fullmatch(r":?[-=+](.*)", part.operator, re.DOTALL)
        cut = re.fullmatch(r"(%%?|##?)([^$`\\\"']*)", part.operator)
        if part.operator and default is None and cut is None and part.text in self._values:
            return None
        texts = [default[1]] if default is not None else []
        for value in given:
            for each in expand_braces(value):
                spelled = self.spellings(each, depth - 1, of_place=of_place) if depth else None
                if spelled is None:
                    return None
                texts += [_cut(text, cut[1], cut[2]) for text in spelled] if cut is not None else spelled
        elsewhere = "/x" if of_place and part.text in ("HOME", "OLDPWD", "TMPDIR") else "x"
        return [*texts, *(() if given else (elsewhere,))]

    def places_of(self, word: Word) -> list[Word]:
        """The values of the one variable that a word is, where the text says how each of them begins."""
        parts = [each for each in word.parts if each.text]  # bash's quotes leave an empty text behind
        part = parts[0] if len(parts) == 1 else None
        is_one = part is not None and part.kind is PartKind.VARIABLE and not part.operator
        if part is None or not is_one or self._is_unknown(part.text):
            return []
        values = [_HERE if each.raw in ("*", "*/") else each for each in self._values.get(part.text, ())]
        is_whole = part.quoted or not any(re.search(r"\s", each.text) for each in values)
        return values if is_whole and all(each.prefix and "{" not in each.raw for each in values) else []

    def may_hold_output(self, word: Word, seen: frozenset[str] = frozenset()) -> bool:
        """Whether what a command prints, what is read, or a secret of the environment may stand in a word.

        What `git rev-parse` prints is none.
        """
        return any(self._gives_output(part, seen) for part in word.expansions())

    def _gives_output(self, part: Part, seen: frozenset[str]) -> bool:
        if part.kind is PartKind.ARITHMETIC:
            return False  # a number
        if part.kind is not PartKind.VARIABLE:
            return part.kind is PartKind.PROCESS or not self._prints_what_is_known(part, seen)
        if part.text in _NUMBERS or part.text in seen:
            return False
        if self._is_unknown(part.text) or "!" in part.operator or not _NAME.fullmatch(part.text):
            return True
        if part.text not in self._values:
            return is_a("secret_variable", part.text)
        return any(self.may_hold_output(value, seen | {part.text}) for value in self._values[part.text])

    def _prints_what_is_known(self, part: Part, seen: frozenset[str]) -> bool:
        """Whether a substitution prints a word, or only what the command line itself says."""
        commands = part.script.commands if part.script is not None else []
        if len(commands) != 1 or prints_a_word(commands[0]):
            return len(commands) == 1
        command = commands[0]
        name = command.words[0].value if command.words else None
        inner = [*command.words, *(each.target for each in command.redirects)]
        if any(each.has_glob or self.may_hold_output(each, seen) for each in inner) or command.piped_from is not None:
            return False
        if name == "cat":
            return len(command.words) == 1 and all(each.operator in ("<<", "<<<") for each in command.redirects)
        return name in ("echo", "printf") and not command.redirects


def found_word(text: str) -> Word:
    """A word as bash would see it after expansion; a pattern in it still stands for names."""
    return Word((Part(PartKind.LITERAL, text, quoted=not re.search(r"[*?\[]|^~", text)),), text)


def _cut(text: str, operator: str, pattern: str) -> str:
    """What bash leaves of a text by `${NAME%PATTERN}` and its kin."""
    ends = range(len(text) + 1)
    if operator[0] == "%":
        rests = (
            text[:end] for end in (ends if operator == "%%" else reversed(ends)) if fnmatchcase(text[end:], pattern)
        )
    else:
        rests = (
            text[end:] for end in (reversed(ends) if operator == "##" else ends) if fnmatchcase(text[:end], pattern)
        )
    return next(rests, text)


def _begins_plainly(value: Word, quoted: bool) -> bool:
    if value.has_tilde:
        return True
    if value.is_plain and (value.has_glob is False or value.prefix):
        text = value.prefix if value.has_glob else value.text
        return not text.startswith(("-", "@")) and (quoted or not re.search(r"\s(?:-|$)|[*?\[]", value.text))
    return bool(value.prefix) and not value.prefix.startswith(("-", "@")) and quoted


def _prints_plainly(value: Word) -> bool:
    """Whether the value is what a command prints that prints a word: `BRANCH=$(git branch --show-current)`."""
    parts = [part for part in value.parts if part.kind is not PartKind.LITERAL or part.text]
    script = parts[0].script if len(parts) == 1 else None
    return script is not None and len(script.commands) == 1 and prints_a_word(script.commands[0])


def _all_commands(script: Script) -> Iterator[Command]:
    waiting: list[Script] = [script]
    while waiting:
        for command in waiting.pop().commands:
            yield command
            waiting.extend(_inner(part for word in command.all_words() for part in word.expansions()))


def _inner(parts: Iterable[Part]) -> Iterator[Script]:
    for part in parts:
        if part.script is not None:
            yield part.script


_FILTERS = {"grep": 1, "egrep": 1, "head": 0, "tail": 0, "sort": 0, "uniq": 0}
"""What leaves lines out, and how many operands it has where it reads no file."""


def unfiltered(source: Command | None) -> Command | None:
    """The command whose lines come through filters that only leave some out; None where one may read a file."""
    while source is not None and source.words and source.words[0].value in _FILTERS and not source.redirects:
        operands = [word for word in source.words[1:] if not re.fullmatch(r"-[vEFiwxu]+|-\d+", word.text)]
        if len(operands) != _FILTERS[source.words[0].value or ""] or any(each.prefix[:1] == "-" for each in operands):
            return None
        source = source.piped_from
    return source


def printer(script: Script | None) -> Command | None:
    """The one command whose lines a script prints, some left out perhaps."""
    commands = script.commands if script is not None else []
    source = unfiltered(commands[-1]) if commands else None
    is_one_pipe = all(behind.piped_from is each for each, behind in pairwise(commands))
    return source if source is not None and source is commands[0] and is_one_pipe else None


def prints_a_word(command: Command | None) -> bool:
    """Whether the command prints lines of one word each, none of which begins with a hyphen."""
    if command is None or command.kind is not CommandKind.SIMPLE or not command.words or command.assignments:
        return False
    values = [each.value for each in command.words]
    is_quiet = all(each.target.value == "/dev/null" for each in command.redirects)
    return None not in values and is_quiet and is_a("prints_a_word", " ".join(each or "" for each in values))


def function_in_place(script: Script) -> str:
    """Say which function takes the name of a program whose output is taken to be known; '' when none does."""
    taken = [each.function for each in script.commands if is_a("printers", each.function)]
    return told("the function {name} takes the place of a program", name=taken[0]) if taken else ""


def cannot_be_option(word: Word, known: Known) -> bool:
    """Whether a word that can't be known begins with no hyphen, and nothing that bash splits off it does.

    What stands at its beginning is empty or no hyphen, which the reader has looked at.
    """
    if word.has_tilde:
        return True
    parts = [part for part in word.parts if part.kind is not PartKind.LITERAL or part.text]
    if word.has_glob and not word.prefix:
        return False
    if _may_leave_a_hyphen(parts, known):
        return False
    for place, part in enumerate(parts):
        if part.kind is PartKind.LITERAL or (place and part.quoted):
            continue
        if not _gives_no_option(part, known):
            return False
    return bool(parts)


def _may_leave_a_hyphen(parts: Sequence[Part], known: Known) -> bool:
    """Whether all that stands before a hyphen may be empty: `"$UNSET"-o`."""
    for part in parts:
        if part.kind is PartKind.LITERAL:
            return part.text.startswith("-")
        if part.kind is not PartKind.COMMAND and not known.may_be_empty(part):
            return False
    return False


def _gives_no_option(part: Part, known: Known) -> bool:
    if part.kind in (PartKind.PROCESS, PartKind.ARITHMETIC):
        return True
    if part.kind is PartKind.VARIABLE:
        return known.is_no_option(part)
    return prints_a_word(printer(part.script)) and (part.quoted or not known.paths_may_split)
