"""Entries of the lists that name tools: `read_file`, `ReadFileTool`, `run_shell_command(git log)`."""

from __future__ import annotations

from collections.abc import Sequence

from dogu.contract.tool_names import BUILT_IN_NAMES, OTHER_NAMES, SHELL_TOOL, server_and_tool
from dogu.language import told


class EntryError(ValueError):
    """An entry that isn't understood; the text says what to write instead."""


def tool_entry(entry: str) -> str:
    """Return the entry with the tool's own name and single blanks between words.

    Raises `EntryError` for one that could never match what its writer meant: a rule in a list that restricts must not
    be dropped in silence.
    """
    name, opened, rest = entry.strip().partition("(")
    name = OTHER_NAMES.get(name.strip(), name.strip())
    if not name or any(letter.isspace() for letter in name):
        raise EntryError(
            told("{entry!r} names no tool: write a tool's name or {shell}(COMMAND)", entry=entry, shell=SHELL_TOOL)
        )
    if not opened:
        return name
    if name != SHELL_TOOL:
        if unknown_tool_hint(name) == SHELL_TOOL:
            raise EntryError(told("{name!r} isn't a tool: did you mean {shell!r}?", name=name, shell=SHELL_TOOL))
        raise EntryError(
            told("only {shell} takes a command in parentheses: write {name!r}", shell=SHELL_TOOL, name=name)
        )
    if not rest.endswith(")"):
        raise EntryError(told("{entry!r} doesn't end with a closing parenthesis", entry=entry))
    words = rest[:-1].split()
    if not words:
        raise EntryError(
            told("{entry!r} holds no command: write {shell} alone to mean every command", entry=entry, shell=SHELL_TOOL)
        )
    if words[-1] == "*" or words[-1].endswith(":*"):
        meant = " ".join([*words[:-1], words[-1].removesuffix("*").removesuffix(":")]).strip()
        raise EntryError(
            told(
                "a command in parentheses is a prefix already, without *: write {shell}({meant})",
                shell=SHELL_TOOL,
                meant=meant,
            )
        )
    return f"{SHELL_TOOL}({' '.join(words)})"


def unknown_tool_hint(entry: str) -> str | None:
    """Return the built-in tool that a name misspells ("" when none is near); None for a known or a discovered one."""
    name = entry.partition("(")[0]
    if name in BUILT_IN_NAMES or server_and_tool(name)[0]:
        return None
    from difflib import get_close_matches

    known = {spelling.casefold(): tool for spelling, tool in OTHER_NAMES.items()} | {
        tool: tool for tool in BUILT_IN_NAMES
    }
    near = get_close_matches(name.casefold(), known, n=1, cutoff=0.75)
    return known[near[0]] if near else ""


def intersect(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """Return the entries that allow exactly what both lists allow: of two prefixes, the longer."""
    both = [entry for left in one for right in other if (entry := _narrower(left, right))]
    return tuple(dict.fromkeys(both))


def _narrower(left: str, right: str) -> str | None:
    for wide, narrow in ((left, right), (right, left)):
        if wide == narrow or narrow.startswith(wide + "("):
            return narrow
        if wide.endswith(")") and narrow.startswith(wide[:-1] + " "):
            return narrow
    return None
