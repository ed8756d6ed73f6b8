"""The line to a launcher: orders to it, and what is done about the commands of one that doesn't answer."""

from __future__ import annotations

import signal
import socket
import threading
import time

from dogu.workspace.launcher import tree
from dogu.workspace.launcher.family import Descendants, Session, Sweep
from dogu.workspace.launcher.packets import Packets
from dogu.workspace.process.launched import Launched

_ORDERING_TAKES_S = 5.0
_CLOSE_TAKES_S = 10.0
_GIVING_UP_TAKES_S = 3.0


class LauncherLine:
    """One launcher's, until it was lost or closed: its process and the socket that takes orders."""

    def __init__(self, process: Launched, orders: Packets) -> None:
        self._lock = threading.Lock()
        self._process: Launched | None = process
        self._orders = orders

    def order(self, descriptors: tuple[int, ...]) -> None:
        """Have a supervisor made that gets these. Raises `OSError` where the launcher is gone, or hears nothing."""
        self.go_on()
        self._orders.send_waiting(b"run", _ORDERING_TAKES_S, descriptors)

    def go_on(self) -> None:
        """Continue the launcher, should something have stopped it; it does so for its supervisors."""
        self._send(signal.SIGCONT)

    def close(self, *, wait: bool = True) -> None:
        """Close the socket and wait, bounded, until launcher and supervisors are gone; `wait` False: don't."""
        self.go_on()
        process = self._taken()
        end = self._orders.socket
        try:
            end.shutdown(socket.SHUT_WR)
            end.settimeout(_CLOSE_TAKES_S if wait else 0.001)
            end.recv(1)
            if process is not None:
                process.wait(_CLOSE_TAKES_S)
        except OSError:  # a kept job's supervisor lives on, and the launcher with it
            pass
        self._orders.close()

    def abandon(self) -> None:
        """End a launcher that takes no orders any more."""
        self._orders.close()
        process = self._taken()
        if process is not None:
            process.send(signal.SIGKILL)  # it is gone, or hears nothing
            process.wait(_CLOSE_TAKES_S)

    def give_up(self, supervisor: int, family: Sweep | None) -> None:
        """End a supervisor that gives no answer, with all of its; 3 s at most. 0: there is none, the launcher."""
        if not supervisor:
            self._send(signal.SIGKILL)
            return
        with self._lock:
            launcher = self._process.pid if self._process is not None else 0
        if family or supervisor in tree.descendants(launcher):
            (family or Descendants(supervisor)).end(time.monotonic() + _GIVING_UP_TAKES_S)
            tree.send(supervisor, signal.SIGKILL)
        self.go_on()

    def end_orphans(self, session: int, family: Sweep | None) -> None:
        """Wait until what is left of a command is ended: by the launcher, unless that is gone, or kept from it."""
        left = family or Session(session)
        until = time.monotonic() + _GIVING_UP_TAKES_S
        while left.members() and not self._is_over() and time.monotonic() < until - _GIVING_UP_TAKES_S / 2:
            self.go_on()
            time.sleep(0.01)
        left.end(until)

    def _send(self, number: int) -> None:
        with self._lock:
            if self._process is not None:
                self._process.send(number)

    def _taken(self) -> Launched | None:
        """Take the process, which nobody signals from now on: its number may be another's."""
        with self._lock:
            process, self._process = self._process, None
        return process

    def _is_over(self) -> bool:
        """Whether the other end has closed, or this one."""
        with self._lock:
            if self._process is None:
                return True
        try:
            return not self._orders.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
