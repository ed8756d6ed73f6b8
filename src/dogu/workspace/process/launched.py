"""The launcher's process, started anew or forked by a server of launchers: signalled, and waited for."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from dogu.workspace.launcher import tree
from dogu.workspace.launcher.descriptors import SOCKET_NUMBER
from dogu.workspace.launcher.packets import is_ready

# It ends with no look through its objects, which takes half as long as to start Python.
_PROGRAM = "import os, sys; sys.path.append({!r}); from dogu.workspace.launcher.{} import main; main{!r}; os._exit(0)"


class Launched(Protocol):
    """A process that was started."""

    pid: int

    def send(self, number: int) -> None:
        """Send a signal; one that is gone is passed over."""
        ...

    def wait(self, timeout_s: float) -> None:
        """Wait until it has ended, which it is about to; what the kernel doesn't let end no longer than that."""
        ...


class Spawned(Launched):
    """A Python of its own, with a socket. Raises OSError when it can't be started."""

    def __init__(self, module: str, arguments: Sequence[bool], end: socket.socket) -> None:
        source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
        nothing = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in range(3)]
        self.pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-c", _PROGRAM.format(source, module, tuple(arguments))],
            {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DOGU_PLATFORM") if name in os.environ},
            file_actions=[(os.POSIX_SPAWN_DUP2, end.fileno(), SOCKET_NUMBER), *nothing],
        )

    def send(self, number: int) -> None:
        """See `Launched`."""
        tree.send(self.pid, number)

    def wait(self, timeout_s: float) -> None:
        """See `Launched`."""
        until = time.monotonic() + timeout_s
        with suppress(ChildProcessError):  # who imports us may collect all children
            while os.waitpid(self.pid, os.WNOHANG) == (0, 0) and time.monotonic() < until:
                time.sleep(0.001)


class Forked(Launched):
    """One that isn't our child: its number may be another's once it has ended, its descriptor never is."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor = descriptor

    def send(self, number: int) -> None:
        """See `Launched`."""
        with suppress(OSError):
            assert sys.platform == "linux"  # elsewhere none is forked
            signal.pidfd_send_signal(self._descriptor, number)

    def wait(self, timeout_s: float) -> None:
        """See `Launched`."""
        is_ready(self._descriptor, timeout_s)

    def __del__(self) -> None:
        os.close(self._descriptor)
