"""What nobody foresaw while a door answers one request: it costs that request, and is told with what happened."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

from dogu.language import say


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


def _words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    what = say("dogu failed, which is a defect of dogu: {kind}: {error}", kind=type(error).__name__, error=error)
    return f"{what}\n{say('DOGU_DEBUG=1 shows where.')}"


def _first_of(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
