"""The gate of a command under lists, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dogu.contract.tool_names import SHELL_TOOL
from dogu.policy.commands.judge import judge_command
from dogu.policy.rules import Rules


def entries(commands: Sequence[str] | None) -> list[str] | None:
    """Write commands as settings do; `*` stands for the wildcard."""
    if commands is None:
        return None
    return [SHELL_TOOL if command == "*" else f"{SHELL_TOOL}({command})" for command in commands]


def gate(command: str, core: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> str:
    """Return what the lists and the command itself allow."""
    rules = _rules(None if core is None else (*core,), None if exclude is None else (*exclude,))
    return str(judge_command(command, rules.shell_core(), rules.shell_exclude()).gate)


@lru_cache(16)  # one list is for many commands, and to read it takes longer than to judge one
def _rules(core: Sequence[str] | None, exclude: Sequence[str] | None) -> Rules:
    return Rules.from_lists(entries(core), entries(exclude))


def without_rm(command: str) -> str:
    """Return the gate where anything but `rm` may run."""
    return gate(command, ["*"], ["rm"])
