"""What nobody foresaw: while a door answers one request it costs that request, and else the run, told as what it is."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

import msgspec

from dogu.extras import install_command
from dogu.language import say, told
from dogu.workspace.os_errors import limit_words


@contextmanager
def contained(failure: Callable[[str], Exception], *foreseen: type[Exception]) -> Generator[None]:
    """Raise `failure` of the words that tell it for every exception that isn't one of the `foreseen`.

    Cancellation passes through. DOGU_DEBUG=1 has the traceback on standard error.
    """
    try:
        yield
    except foreseen:
        raise
    except Exception as error:
        if os.environ.get("DOGU_DEBUG"):
            traceback.print_exception(error, file=sys.stderr)
        raise failure(_words(_first_of(error))) from error


class Failure(msgspec.Struct, frozen=True):
    """How a program ends by an exception: its exit status, a word for it, what it was, and the same for the user."""

    code: int
    kind: str
    message: str
    words: str


def failure_of(error: BaseException) -> Failure:
    """Return how the program ends by an exception that is no answer: the same in every row and exit status.

    What the machine or a limit refused isn't our defect, nor that our own folder can't be used.
    """
    if words := _words_of_machine(error):
        return Failure(54, "machine", words, words)
    return Failure(70, "defect", f"{type(error).__name__}: {error}", _defect_words(error))


def _words_of_machine(error: BaseException) -> str:
    if limit := limit_words(error):
        return say(limit)
    if isinstance(error, ModuleNotFoundError) and error.name in ("mcp", "mcp_types", "acp"):
        extra = error.name.partition("_")[0]
        return say("This needs the package {name}: {command}", name=extra, command=install_command(extra))
    state_folder = os.path.join(os.path.expanduser("~"), ".dogu")
    if isinstance(error, OSError) and isinstance(error.filename, str) and error.filename.startswith(state_folder):
        return say(told("{file} can't be used: {reason}.", file=error.filename, reason=error.strerror))
    return ""


def _words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return _defect_words(error)


def _defect_words(error: BaseException) -> str:
    what = say("dogu failed. This is a defect of dogu: {kind}: {error}", kind=type(error).__name__, error=error)
    return f"{what}\n{say('DOGU_DEBUG=1 shows where.')}"


def _first_of(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
