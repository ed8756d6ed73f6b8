"""The launcher's process, started anew or forked by a server of launchers: signalled, and waited for."""

from __future__ import annotations

import errno
import marshal
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from dogu.workspace.launcher import packets, tree
from dogu.workspace.launcher.descriptors import SOCKET_NUMBER
from dogu.workspace.launcher.packets import Packets, is_ready
from dogu.workspace.system import IS_LINUX

_ANSWER_TAKES_S = 10.0
_PROGRAM = "import sys; sys.path.append({!r}); from dogu.workspace.launcher.{} import main; main{!r}"


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


class _Forked(Launched):
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


class ForkServer:
    """Forks launchers, where the system can; it is started with the first, and again after it was lost.

    For a program that needs many; close it, or use it as a context manager. What it forked lives on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Launched | None = None
        self._orders: Packets | None = None

    def launch(self, arguments: Sequence[bool], end: socket.socket) -> Launched:
        """Start a launcher with its socket. Raises OSError."""
        if not IS_LINUX:
            return Spawned("main", arguments, end)
        with self._lock:
            try:
                return self._forked(arguments, end)
            except OSError:
                self._end(signal.SIGKILL)  # it is gone, or hears nothing; the next launcher begins another
                return Spawned("main", arguments, end)

    def _forked(self, arguments: Sequence[bool], end: socket.socket) -> Launched:
        if self._orders is None:
            near, far = packets.pair()
            self._orders = Packets(near)
            with far:
                self._process = Spawned("fork_server", (), far)
        if self._process is not None:
            self._process.send(signal.SIGCONT)  # should something have stopped it
        self._orders.send_waiting(marshal.dumps(tuple(arguments)), _ANSWER_TAKES_S, (end.fileno(),))
        if not is_ready(self._orders.socket, _ANSWER_TAKES_S):
            raise TimeoutError
        word, descriptors = self._orders.receive()
        if not word:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        return _Forked(int(word), descriptors[0])

    def _end(self, number: int) -> None:
        if self._orders is not None:
            self._orders.close()
        if self._process is not None:
            self._process.send(number)
            self._process.wait(_ANSWER_TAKES_S)
        self._orders = self._process = None

    def close(self) -> None:
        """End it, as it does by itself."""
        with self._lock:
            if self._orders is not None:
                self._end(signal.SIGCONT)

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
