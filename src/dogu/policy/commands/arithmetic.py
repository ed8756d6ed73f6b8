"""Second-order evaluation: arithmetic runs the substitutions that a variable's text holds (`a[$(cmd)]`).

A variable counts as unproven when the text gives it anything but plain text, numbers, or what prints a number.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dogu.language import told
from dogu.policy.commands.patterns import is_a
from dogu.workspace.shell_syntax import Command, CommandKind, Part, PartKind, Script, Word

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HARMLESS_TEXT = re.compile(r"[^\[\]$`\\]*", re.DOTALL)
_PRINT_NUMBERS = frozenset("wc date expr nproc seq stat id bc dc getconf tput lscpu".split())
_SETS = frozenset("declare typeset local export readonly".split())
_TAKES_NAMES = _SETS | frozenset("unset read mapfile readarray getopts".split())
_TAKES_NAMES_AFTER = {"printf": ("-v",), "test": ("-v", "-R"), "[": ("-v", "-R"), "wait": ("-p",)}
_COMPARES = frozenset("-eq -ne -lt -le -gt -ge -v".split())
_INTEGERS = frozenset("RANDOM SRANDOM HISTCMD OPTIND SECONDS LINENO BASHPID EPOCHSECONDS".split())
_POSITIONAL = frozenset("1 2 3 4 5 6 7 8 9 @ * _".split())
_CODE = re.compile(r"\$[({\[]|`")
_ARGUMENT_SETS = re.compile(r"(?<![\w-])[A-Za-z_]\w*(?:\[[^\]]*\])?\s*(?:\+\+|--|(?:<<|>>|[-+*/%&^|])?=(?!=))")
_SETTING = re.compile(
    r"(?<![^\s,;?:&|^<>=!~*/%(+-])(?P<before>[^\s,;?:&|^<>=!~*/%(+-]*+)\s*+(?:\+\+|--|(?:<<|>>|[-+*/%&^|])=|(?<![<>=!])=(?!=))"
    r"|(?<=\+\+|--)\s*(?P<after>[^\s,;?:&|^<>=!~*/%()+-]+)"
)
_SUBSCRIPT_OF = re.compile(r"[A-Za-z_]\w*\[(.*?)\](?:\+?=|$)", re.DOTALL)
_SUBSCRIPTED = re.compile(r"\[([^\[\]]*)\]")
_PRINTED_SUBSCRIPT = re.compile(r"#?\[[^\]]*(?:\$\(|`)")
_GIVES_DEFAULT = re.compile(r"(?:\[[^\]]*\])?:?=")
_LISTS_NAMES = ("!@", "!*", "![@]", "![*]")
_OFFSET = re.compile(r":[^-=+?]", re.DOTALL)


def names_set(command: Command) -> Iterator[str]:
    """Yield the names that a command sets without an assignment or a builtin; "" is one that can't be known.

    A loop, a coprocess and a redirection name theirs; `${name:=...}` and arithmetic, wherever it stands, set theirs.
    """
    if command.kind in (CommandKind.LOOP, CommandKind.COPROCESS):
        yield command.name
    yield from (each.name for each in command.redirects if each.name)
    for word in command.all_words():
        for part in word.expansions():
            if part.kind is PartKind.VARIABLE and _GIVES_DEFAULT.match(part.operator.removeprefix("!")):
                yield "" if part.operator[:1] == "!" else part.text
    for text, _ in _evaluated(command, _Kept(frozenset(), has_arrays=False)):
        yield from _set_in(text)


def _set_in(text: str) -> Iterator[str]:
    """Names that an arithmetic text sets; "" where an expansion may stand for one."""
    for _ in range(8):  # subscripts are arithmetic of their own
        inner = _SUBSCRIPTED.findall(text)
        if not inner:
            break
        for each in inner:
            yield from _set_in(each)
        text = _SUBSCRIPTED.sub("", text)
    for match in _SETTING.finditer(text):
        name = match["before"] or match["after"] or ""
        if _NAME.fullmatch(name):
            yield name
        elif name and not name.isalnum():
            yield ""


def second_order_danger(script: Script) -> str:
    """Say which arithmetic may run what a text holds; '' when none may."""
    commands = list(_all_commands(script))
    unproven = _unproven(commands)
    integers = unproven if any(_declares(command, "i") for command in commands) else unproven & _INTEGERS
    if integers:
        return told("arithmetic may run what {name} holds", name=sorted(integers)[0])
    kept = _Kept.of(commands)
    for command in commands:
        for text, parts in _evaluated(command, kept):
            variables = {part.text for part in parts if part.kind is PartKind.VARIABLE}
            names = ({*_NAME.findall(text)} | variables) & unproven
            if names:
                return told("arithmetic may run what {name} holds", name=sorted(names)[0])
            if any(part.kind is PartKind.COMMAND and not _prints_number(part.script) for part in parts):
                return told("arithmetic may run what a command prints")
    return ""


@dataclass(frozen=True)
class _Kept:
    """`maps`: the names of associative arrays, whose subscripts are only text; `has_arrays`: of the others, or maps."""

    maps: frozenset[str]
    has_arrays: bool

    @classmethod
    def of(cls, commands: Sequence[Command]) -> _Kept:
        maps = [word.text.partition("=")[0] for each in commands if _declares(each, "A") for word in each.words[1:]]
        has_arrays = any(
            _declares(each, "aA")
            or any(assignment.is_array or assignment.subscript for assignment in each.assignments)
            or (bool(each.words) and each.words[0].text in ("read", "mapfile", "readarray"))
            for each in commands
        )
        return cls(frozenset(maps), has_arrays)


def _all_commands(script: Script) -> Iterator[Command]:
    waiting = [script]
    while waiting:
        for command in waiting.pop().commands:
            yield command
            for word in command.all_words():
                waiting.extend(part.script for part in word.expansions() if part.script is not None)


def _unproven(commands: Sequence[Command]) -> set[str]:
    """The names whose value may hold code, those that take it over from another among them."""
    found: set[str] = set(_POSITIONAL) if any(map(_holds_code, commands)) else set()
    taken: list[tuple[str, set[str]]] = []
    functions = {command.name for command in commands if command.kind is CommandKind.FUNCTION}
    for command in commands:
        for name, values in (*_given(command), *_given_as_arguments(command, functions)):
            sources: set[str] = set()
            if values is None or not all(_is_harmless(part, sources) for part in values):
                found.add(name)
            taken.append((name, sources))
    for _ in range(8):
        more = {name for name, sources in taken if sources & found}
        if more <= found:
            break
        found |= more
    return found


def _holds_code(command: Command) -> bool:
    """Whether text that would be run, if bash read it, is handed on as data."""
    declares = bool(command.words) and command.words[0].text in _SETS
    texts = [part.text for word in command.words for part in word.parts if part.kind is PartKind.LITERAL]
    return any(_CODE.search(text) or (not declares and _ARGUMENT_SETS.search(text)) for text in texts)


def _given(command: Command) -> Iterator[tuple[str, Sequence[Part] | None]]:
    """Each name that the command sets, and the parts of its value; None when the value comes from elsewhere."""
    for assignment in command.assignments:
        is_known = assignment.subscript is None and not (assignment.is_array and _names_files(assignment.value.parts))
        yield assignment.name, assignment.value.parts if is_known else None
    for word in command.all_words():
        for part in word.expansions():
            if part.kind is PartKind.VARIABLE and part.operator.startswith((":=", "=")):
                yield part.text, (Part(PartKind.LITERAL, part.operator[2:]), *part.inner)
    if command.kind is CommandKind.LOOP:
        values = [part for word in command.words for part in word.parts]
        yield command.name, None if _names_files(values) else values or [Part(PartKind.VARIABLE, "@")]
    if command.kind is CommandKind.CONDITION:
        pairs = itertools.pairwise(command.words)
        yield from (("BASH_REMATCH", matched.parts) for matched, following in pairs if following.text == "=~")
    yield from _given_by_builtins(command)


def _given_as_arguments(command: Command, functions: set[str]) -> Iterator[tuple[str, Sequence[Part] | None]]:
    """The positional parameters that `set` and a function's call give."""
    if command.words and command.words[0].text in ("set", *functions):
        values = [part for word in command.words[1:] for part in word.parts]
        yield from ((name, None if _names_files(values) else values) for name in _POSITIONAL)


def _names_files(parts: Sequence[Part]) -> bool:
    """Whether a pattern stands among them: a file's name may be any text, code among it."""
    return any(part.kind is PartKind.LITERAL and not part.quoted and re.search(r"[*?\[]", part.text) for part in parts)


def _given_by_builtins(command: Command) -> Iterator[tuple[str, Sequence[Part] | None]]:
    program = command.words[0].text if command.kind is CommandKind.SIMPLE and command.words else ""
    if program in ("read", "mapfile", "readarray"):
        yield from ((word.text, None) for word in command.words[1:])
        yield from (("REPLY", None), ("MAPFILE", None))
    if program == "printf" and len(command.words) > 2 and command.words[1].text == "-v":
        yield command.words[2].text, [part for word in command.words[4:] for part in word.parts]
    if program in _SETS:
        for word in command.words[1:]:
            match = re.match(r"([A-Za-z_][A-Za-z0-9_]*)\+?=", word.text)
            if match:
                yield match[1], _behind(word.parts, match.end())


def _behind(parts: Sequence[Part], count: int) -> Sequence[Part]:
    """The parts without the first characters, which are literal."""
    first = parts[0]
    if count >= len(first.text):
        return parts[1:]
    return [Part(PartKind.LITERAL, first.text[count:], first.quoted), *parts[1:]]


def _is_harmless(part: Part, sources: set[str]) -> bool:
    match part.kind:
        case PartKind.LITERAL:
            sources.update(_NAME.findall(part.text))  # a name's value is read as arithmetic in its turn
            return _HARMLESS_TEXT.fullmatch(part.text) is not None and not _ARGUMENT_SETS.search(part.text)
        case PartKind.ARITHMETIC:
            return True
        case PartKind.COMMAND:
            return _prints_number(part.script)
        case PartKind.VARIABLE:
            sources.add(part.text)
            return part.operator[:1] in ("", "#") or not re.search(r"[!\[$`]", part.operator)
        case _:
            return False


def _prints_number(script: Script | None) -> bool:
    last = script.commands[-1] if script is not None and script.commands else None
    if last is None or not last.words:
        return False
    program = last.words[0].text.rpartition("/")[2]
    if program in ("echo", "printf"):
        return all(word.is_plain and _HARMLESS_TEXT.fullmatch(word.text) for word in last.words[1:])
    counts = any(re.fullmatch(r"--count|-[a-zA-Z]*c[a-zA-Z]*", word.text) for word in last.words[1:])
    return program in _PRINT_NUMBERS or (program in ("grep", "git", "rg", "egrep", "fgrep") and counts)


def _evaluated(command: Command, kept: _Kept) -> Iterator[tuple[str, Sequence[Part]]]:
    """The texts of a command that are read as arithmetic, or as a name with a subscript, and what they are made of."""
    for word in command.all_words():
        for part in word.expansions():
            yield from _evaluated_part(part, kept)
    for each in command.assignments:
        if each.name not in kept.maps:
            yield (each.subscript.text.partition("[")[2].rpartition("]")[0] if each.subscript else ""), ()
            subscripts = _subscripts(each.value.raw) if each.is_array else ""
            yield subscripts, each.value.parts if _CODE.search(subscripts) else ()
    if command.kind is CommandKind.CONDITION:
        yield from _evaluated_operands(command)
    elif command.kind is CommandKind.SIMPLE and command.words:
        yield from _evaluated_words(command, kept)


def _evaluated_operands(command: Command) -> Iterator[tuple[str, Sequence[Part]]]:
    for at, word in enumerate(command.words):
        if word.text in _COMPARES:
            yield from ((each.text, each.parts) for each in command.words[max(at - 1, 0) : at + 2])


def _evaluated_part(part: Part, kept: _Kept) -> Iterator[tuple[str, Sequence[Part]]]:
    if part.kind is PartKind.ARITHMETIC:
        yield part.text, part.inner
    elif part.kind is not PartKind.VARIABLE:
        return
    elif _OFFSET.match(part.operator):
        yield part.operator, part.inner
    elif part.operator[:1] == "!" and part.operator not in _LISTS_NAMES:
        yield "", (part,)
    elif part.operator.removeprefix("#").startswith("[") and part.text not in kept.maps:
        is_printed = _PRINTED_SUBSCRIPT.match(part.operator) is not None
        yield part.operator, part.inner if is_printed else ()


def _evaluated_words(command: Command, kept: _Kept) -> Iterator[tuple[str, Sequence[Part]]]:
    program, words = command.words[0].text, command.words[1:]
    if program == "let" or _declares(command, "i"):
        yield from ((word.text, ()) for word in words)
    elif program in _TAKES_NAMES or any(word.text in _TAKES_NAMES_AFTER.get(program, ()) for word in words):
        for word in words:
            is_map = word.text.partition("[")[0] in kept.maps
            subscript = _SUBSCRIPT_OF.match(word.text)
            yield ("" if is_map or subscript is None else subscript[1]), _name_parts(word)
    if program in ("test", "["):
        yield from (("", parts) for parts in _may_be_operators(words))
    if program in _SETS and kept.has_arrays:  # a value in parentheses is read a second time
        yield from (("", [part for part in word.parts if part.kind is PartKind.VARIABLE]) for word in words)


def _may_be_operators(words: Sequence[Word]) -> Iterator[list[Part]]:
    """What may come to stand for `-v NAME` in a test: what splits, and computed words side by side."""
    computed = [word.value is None for word in words]
    for at, word in enumerate(words):
        is_beside = any(computed[max(at - 1, 0) : at]) or any(computed[at + 1 : at + 2])
        for part in word.parts:
            is_computed = part.kind in (PartKind.VARIABLE, PartKind.COMMAND)
            if is_computed and (is_beside or not part.quoted) and not _prints_word(part.script):
                yield [part]


def _prints_word(script: Script | None) -> bool:
    words = script.commands[0].words if script is not None and len(script.commands) == 1 else []
    return bool(words) and is_a("prints_a_word", " ".join(word.value or "\0" for word in words))


def _name_parts(word: Word) -> Sequence[Part]:
    """The variables in the part of a word that is taken for a name, whose subscript runs what it holds."""
    found: list[Part] = []
    for part in word.parts:
        if part.kind is PartKind.LITERAL and "=" in part.text:
            break
        if part.kind is PartKind.VARIABLE:
            found.append(part)
    return found


def _subscripts(text: str) -> str:
    """What stands in brackets before an equals sign. Linear."""
    pieces = text.split("]")
    return " ".join(
        piece.rpartition("[")[2] for piece, following in itertools.pairwise(pieces) if following.startswith(("=", "+="))
    )


def _declares(command: Command, letters: str) -> bool:
    """Whether the command declares variables, with an option of these letters."""
    words = command.words if command.kind is CommandKind.SIMPLE else []
    options = [word.text for word in words[1:] if re.fullmatch(r"-[a-zA-Z]+", word.text)]
    return bool(words) and words[0].text in _SETS and any(letter in option for option in options for letter in letters)
