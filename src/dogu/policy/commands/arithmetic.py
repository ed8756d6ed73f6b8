"""Second-order evaluation: arithmetic runs the substitutions that a variable's text holds (`a[$(cmd)]`).

A variable counts as unproven when the text gives it anything but plain text, numbers, or what prints a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dogu.language import told
from dogu.workspace.shell_syntax import Command, CommandKind, Part, PartKind, Script

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HARMLESS_TEXT = re.compile(r"[^\[\]$`\\]*", re.DOTALL)
_PRINT_NUMBERS = frozenset("wc date expr nproc seq stat id bc dc getconf tput lscpu".split())
_SETS = frozenset("declare typeset local export readonly".split())
_COMPARES = frozenset("-eq -ne -lt -le -gt -ge -v".split())
_OFFSET = re.compile(r":[^-=+?]", re.DOTALL)


def second_order_danger(script: Script) -> str:
    """Say which arithmetic may run what a text holds; '' when none may."""
    commands = list(_all_commands(script))
    unproven = _unproven(commands)
    has_maps = any(word.text.startswith("-") and "A" in word.text for command in commands for word in command.words)
    for command in commands:
        for text, parts in _evaluated(command, has_maps=has_maps):
            names = set(_NAME.findall(text)) & unproven
            if names:
                return told("arithmetic may run what {name} holds", name=sorted(names)[0])
            if any(part.kind is PartKind.COMMAND and not _prints_number(part.script) for part in parts):
                return told("arithmetic may run what a command prints")
    return ""


def _all_commands(script: Script) -> Iterator[Command]:
    waiting = [script]
    while waiting:
        for command in waiting.pop().commands:
            yield command
            for word in command.all_words():
                waiting.extend(part.script for part in word.expansions() if part.script is not None)


def _unproven(commands: Sequence[Command]) -> set[str]:
    """The names whose value may hold code, those that take it over from another among them."""
    found: set[str] = set()
    taken: list[tuple[str, set[str]]] = []
    for command in commands:
        for name, values in _given(command):
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


def _given(command: Command) -> Iterator[tuple[str, Sequence[Part] | None]]:
    """Each name that the command sets, and the parts of its value; None when the value comes from elsewhere."""
    for assignment in command.assignments:
        yield assignment.name, assignment.value.parts if assignment.subscript is None else None
    for word in command.all_words():
        for part in word.expansions():
            if part.kind is PartKind.VARIABLE and part.operator.startswith((":=", "=")):
                yield part.text, (Part(PartKind.LITERAL, part.operator[2:]), *part.inner)
    if command.kind is CommandKind.LOOP:
        yield command.name, [part for word in command.words for part in word.parts]
    yield from _given_by_builtins(command)


def _given_by_builtins(command: Command) -> Iterator[tuple[str, Sequence[Part] | None]]:
    program = command.words[0].text if command.kind is CommandKind.SIMPLE and command.words else ""
    if program in ("read", "mapfile", "readarray"):
        yield from ((word.text, None) for word in command.words[1:])
        yield "REPLY", None
    if program == "printf" and len(command.words) > 2 and command.words[1].text == "-v":
        yield command.words[2].text, [part for word in command.words[4:] for part in word.parts]
    if program in _SETS:
        for word in command.words[1:]:
            match = re.match(r"([A-Za-z_][A-Za-z0-9_]*)\+?=", word.text)
            if match:
                yield match[1], word.parts


def _is_harmless(part: Part, sources: set[str]) -> bool:
    match part.kind:
        case PartKind.LITERAL:
            return _HARMLESS_TEXT.fullmatch(part.text) is not None
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


def _evaluated(command: Command, *, has_maps: bool) -> Iterator[tuple[str, Sequence[Part]]]:
    """The texts of a command that are read as arithmetic."""
    for word in command.all_words():
        for part in word.expansions():
            if part.kind is PartKind.ARITHMETIC:
                yield part.text, part.inner
            elif part.kind is PartKind.VARIABLE and _OFFSET.match(part.operator):
                yield part.operator, part.inner
            elif part.kind is PartKind.VARIABLE and part.operator.startswith("[") and not has_maps:
                yield part.operator, ()
    if not has_maps:
        yield from ((each.subscript.text.partition("[")[2], ()) for each in command.assignments if each.subscript)
    yield from _evaluated_words(command)


def _evaluated_words(command: Command) -> Iterator[tuple[str, Sequence[Part]]]:
    words = command.words
    if command.kind is CommandKind.CONDITION:
        for at, word in enumerate(words):
            if word.text in _COMPARES:
                yield from ((each.text, ()) for each in words[max(at - 1, 0) : at + 2])
    elif command.kind is CommandKind.SIMPLE and words:
        program = words[0].text
        is_integer = program in _SETS and any(re.fullmatch(r"-[a-zA-Z]*i[a-zA-Z]*", word.text) for word in words)
        if program == "let" or is_integer:
            yield from ((word.text, ()) for word in words[1:])
