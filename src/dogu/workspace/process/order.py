"""A command as its supervisor is told to start it: checked, in bytes, behind what confines it."""

from __future__ import annotations

import os
import sys
from typing import Any

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.launcher import inside
from dogu.workspace.launcher.descriptors import SHELLS
from dogu.workspace.process.command import ShellCommand


def check_command(command: ShellCommand) -> None:
    """Raise `ToolError` (INVALID_ARGUMENTS) for what no command line can hold."""
    for text in (command.text, *command.argv):
        if "\0" in text:
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, "The command holds a NUL character: remove it.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ToolError(
                ErrorKind.INVALID_ARGUMENTS,
                f"The command holds half a character (a lone surrogate) at position {error.start}: "
                "write a byte that is no character as $'\\xNN'.",
            ) from error


# One word of a command line has at most 128 kB, all together a few megabytes: a longer text comes in pieces, and bash
# joins them before it reads them as it reads the text of `-c`, with nothing left over of how it came.
_LONGEST_TEXT_CHARS = 30_000
_JOINED = 'IFS=; set -- "$*"; IFS=$\' \\t\\n\'; eval "set --; $1"'


def shell_words(text: str) -> tuple[str, ...]:
    """Return the words behind `bash` that run a text; it calls itself `bash` wherever it lies."""
    if len(text) <= _LONGEST_TEXT_CHARS:
        return "-c", text, "bash"
    starts = range(0, len(text), _LONGEST_TEXT_CHARS)
    return "-c", _JOINED, "bash", *(text[start : start + _LONGEST_TEXT_CHARS] for start in starts)


def order_of(command: ShellCommand, is_live: bool) -> dict[str, Any]:
    """Return the command as its supervisor takes it. Raises `ToolError` for what can't be run here."""
    if sys.platform == "win32":
        from dogu.workspace.process.windows import windows_order

        return windows_order(command, is_live=is_live)
    outer: tuple[str, ...] = ()
    heeding: tuple[str, ...] = ()
    argv = command.argv or ("bash", *shell_words(command.text))
    if command.confinement and "outer" in command.confinement:
        if not command.argv:  # started by its path
            argv = (next((path for path in SHELLS if os.access(path, os.X_OK)), "bash"), *argv[1:])
        heeding = inside.heeding() if command.has_terminal else ()
        outer = (*command.confinement["outer"], *heeding)
    if command.confinement:
        argv = (*command.confinement.get("prefix", ()), *argv)
    return {
        "argv": [os.fsencode(word) for word in argv],
        "outer": [os.fsencode(word) for word in outer],
        "environment": {os.fsencode(name): os.fsencode(value) for name, value in command.environment.items()},
        "timeout_s": command.timeout_s,
        "idle_timeout_s": command.idle_timeout_s,
        "max_processes": command.max_processes,
        "max_memory_bytes": command.max_memory_bytes,
        "live": is_live or command.until is not None,
        "terminal": command.terminal,
        "is_deaf_to_keys": bool(heeding),
        "is_released_in_time": command.is_released_in_time,
        "watched": [os.fsencode(root) for root in command.watched],
        "keeps": (os.fsencode(command.keeps[0]), command.keeps[1]) if command.keeps is not None else None,
        "before": os.fsencode(command.before) if command.before else None,
        "confinement": dict(command.confinement) if command.confinement else None,
    }
