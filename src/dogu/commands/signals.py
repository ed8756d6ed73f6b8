"""Signals that end the program: held back until something hears them, so that none is lost in an import.

A handler of Python's runs between any two instructions: in an import or a destructor what it raises is swallowed, and
before there is one the system ends the program without a word. What is blocked waits for the loop that hears it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any


def _there_are(names: str) -> tuple[signal.Signals, ...]:
    members = signal.Signals.__members__
    return tuple(members[name] for name in names.split() if name in members)


SIGNALS = _there_are("SIGINT SIGTERM SIGHUP SIGBREAK")
"""What people and systems end programs with."""

DEADLY = (*SIGNALS, *_there_are("SIGQUIT SIGUSR1 SIGUSR2 SIGALRM SIGXCPU"))
"""What ends a program that does nothing about it, and can be heard."""

_before: list[set[int]] = []  # the process's own mask, while it is another
_unheard: dict[signal.Signals, Any] = {}  # the handlers of signals that are heard no more


def hold() -> None:
    """Let signals wait, but on systems where they can't."""
    if hasattr(signal, "pthread_sigmask") and not _before:
        _before.append(set(signal.pthread_sigmask(signal.SIG_BLOCK, DEADLY)))


@contextmanager
def ended_unheard(before: Mapping[signal.Signals, Any]) -> Generator[None]:
    """Let none of these signals end the program after the last word: what was told stays true.

    That is when what is within is cancelled; a program that was ended by a signal is ended by the next one at once.
    `before` are the handlers that `release` gives back.
    """
    try:
        yield
    except BaseException:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        _unheard.update(before)
        raise


def end_with(status: int) -> None:
    """End the process with its status if that was told, without joining threads that wait for what may never come."""
    if _unheard:
        sys.stdout.flush()
        os._exit(status)


def release() -> None:
    """Let the signals that waited come, and the others as before."""
    if _before:
        signal.pthread_sigmask(signal.SIG_SETMASK, _before.pop())
    while _unheard:
        number, handler = _unheard.popitem()
        signal.signal(number, handler)
