"""Processes that tests start: they hear every signal, are found by the test's own folder, and end with the test.

The machine's list of processes is never asked for a name: another run of these tests may be going on beside this one.
A process belongs to a folder when it works in it or has its home in it, as all do that `e2e.program` starts, and those
that these start in turn, daemons included.
"""

from __future__ import annotations

import atexit
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import psutil

from dogu.workspace.process.launch import ForkServer

_DEADLINE_S = 30.0
_MAY_BE_IGNORED = ("SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGALRM", "SIGUSR1")


@dataclass(frozen=True)
class Found:
    """A living process: its id and its command line, words parted by blanks."""

    pid: int
    command: str


def hear_signals() -> None:
    """Undo what `&` in a script and `nohup` did: programs inherit which signals are ignored, and tests send them."""
    if os.name == "nt":
        return
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (getattr(signal, name) for name in _MAY_BE_IGNORED):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def running_in(folder: str | os.PathLike[str]) -> list[Found]:
    """Return the living processes that belong to a folder or to one below it; never this one.

    None on Windows, where job objects end them with who started them.
    """
    if os.name == "nt":
        return []
    wanted, own = os.path.realpath(folder), os.getpid()
    living = [process for process in psutil.process_iter() if process.pid != own]
    return [Found(each.pid, command) for each in living if (command := _command_in(wanted, each)) is not None]


def end_all_in(folder: str | os.PathLike[str]) -> list[Found]:
    """Kill the processes that belong to a folder, and those that they start meanwhile; return which there were."""
    ended: dict[int, Found] = {}
    deadline = time.monotonic() + _DEADLINE_S
    while found := running_in(folder):
        if time.monotonic() > deadline:
            raise AssertionError(f"these can't be ended: {found}")
        for process in found:
            ended[process.pid] = process
            kill(process.pid)
        time.sleep(0.002)
    return list(ended.values())


def kill(pid: int) -> None:
    """Send SIGKILL, to a process that may be gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


@cache
def shared_fork_server() -> ForkServer:
    """What starts commands for a tenth of the cost, where how that is done isn't the point."""
    server = ForkServer()
    atexit.register(server.close)
    return server


def wait_for(condition: Callable[[], object], deadline_s: float = _DEADLINE_S) -> None:
    """Wait until something is so, that another process does."""
    until = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < until, "the condition did not come true"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it hasn't ended."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def _command_in(folder: str, process: psutil.Process) -> str | None:
    """Return the command line of a process that belongs to a folder; None for any other, and for one that ended."""
    try:
        if not _is_below(process.cwd(), folder) and not _is_below(process.environ().get("HOME", ""), folder):
            return None
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return None
        return " ".join(process.cmdline()).strip()
    except (psutil.Error, OSError):
        return None


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")
