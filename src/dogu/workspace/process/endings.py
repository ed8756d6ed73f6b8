"""How a command ended, or why it never started, from what its supervisor said."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from typing import Any

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import joined, sentence, told
from dogu.workspace.os_errors import limit_words
from dogu.workspace.process.command import NoLayerError, NotToldError, ShellCommand

_ENDING_SIGNALS = frozenset((1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 24, 25, 31))
_LEAST_DESCRIPTORS = 128
_STEPS = {
    "directory": sentence("its directory is gone or can't be entered"),
    "moved": sentence("its directory was moved or swapped meanwhile"),
    "sandbox": sentence("the sandbox could not be set up"),
    "limits": sentence("its limits could not be set"),
    "layer": sentence("its layer could not be made"),
    "watch": sentence("nothing tells what it writes"),
    "exec": sentence("the program could not be started"),
    "streams": sentence("its streams could not be opened"),
}


def ending_of(status: int | None, command: ShellCommand) -> tuple[int | None, int | None]:
    """Return the exit code, or the signal that ended it.

    Where a sandbox numbers its own processes, or in one with a terminal, another program stands between and tells a
    signal as 128 and its number: there a code that names a signal counts as one, and a command that really exits so
    (`exit 143`) can't be told apart.
    """
    if status is None:
        return None, None
    if sys.platform == "win32":  # there are no signals
        return status, None
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    code = os.WEXITSTATUS(status)
    confinement = command.confinement or {}
    stands_between = confinement.get("has_own_processes") or ("outer" in confinement and command.has_terminal)
    return (None, code - 128) if stands_between and code - 128 in _ENDING_SIGNALS else (code, None)


def start_failure(number: int, step: str, found: str = "") -> ToolError:
    """Say why a command didn't start: the system's error `number` in a `step`, and what was `found` wrong, or where."""
    why = _STEPS.get(step, step)
    reason = ": ".join(filter(None, (found, os.strerror(number) if number else "")))
    if number == errno.EMFILE or (number == errno.EBADF and _has_few_descriptors()):
        reason = limit_words(OSError(errno.EMFILE, ""))
    elif number in (errno.EAGAIN, errno.ENOMEM):
        reason = limit_words(OSError(number, ""))
    message = told("The command could not start: {why}.", why=why)
    if reason:
        message = told("The command could not start: {why} ({reason}).", why=why, reason=reason)
    if step == "layer":
        return NoLayerError(ErrorKind.START_FAILED, message)
    if step == "watch":
        return NotToldError(ErrorKind.START_FAILED, message)
    if number == errno.E2BIG:
        message += " " + told("It is too long for a command line: write it to a file and run that.")
    return ToolError(ErrorKind.START_FAILED, message)


def _has_few_descriptors() -> bool:
    """Whether the sandbox's own descriptors, which have fixed numbers, lie beyond the limit."""
    if sys.platform == "win32":
        return False
    import resource

    return 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[0] < _LEAST_DESCRIPTORS


def error_of(command: ShellCommand, facts: Mapping[str, Any]) -> str:
    """Say why the command was ended, and what was lost; '' when it ended by itself and whole."""
    error = ""
    match facts["reason"]:
        case "screen":
            error = told(
                "It draws a screen and waits for keys, and was ended: it has no terminal. Run it with 'pty': true."
            )
        case "timeout" if command.timeout_s:
            limit_s = command.timeout_s
            error = told(
                "Timed out after {limit_s:g} s and was ended, with everything it had started.", limit_s=limit_s
            )
        case "idle" if command.idle_timeout_s:
            limit_s = command.idle_timeout_s
            error = told(
                "Printed nothing for {limit_s:g} s and was ended, with everything it had started.", limit_s=limit_s
            )
        case "processes":
            most = command.max_processes
            error = told("Started more than {count} processes and was ended, with all of them.", count=most)
        case "ended":
            error = told("Was ended on request.")
        case "lost":
            error = told("The process that watched over it was killed; everything it had started was ended.")
        case _:
            pass
    if facts["failure"]:
        lost = told("A part of the output could not be kept: {reason}.", reason=facts["failure"])
        return joined(" ", filter(None, (error, lost)))
    return error
