"""A process that forks launchers, for a program that needs many of them: a fleet's worker has some for each task.

Each has a scope and a network of its own all the same, and shares with the others what a new Python would load and
keep for itself: forked, one costs a tenth. Ends with its socket; the launchers live on with theirs. Standard library
only. Run as the launcher is (`launcher.main`); Linux, whose descriptors of processes tell of those that aren't ours.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import signal
import socket
from collections.abc import Callable
from functools import partial

from dogu.workspace.launcher import main as launcher
from dogu.workspace.launcher.descriptors import SOCKET_NUMBER, waking_pipe
from dogu.workspace.launcher.packets import Packets


def main() -> None:
    """Fork a launcher for each order, a packet with its socket; answer with its number and its descriptor."""
    launcher.leave_the_program()
    launcher.load_for_the_next()
    gc.freeze()  # what is loaded stays shared
    orders = Packets(socket.socket(fileno=SOCKET_NUMBER))
    wake_read, wake_write = waking_pipe()
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    found: dict[bytes, bool] = {}
    while True:
        select.select([orders, wake_read], [], [])
        _reap(wake_read)
        try:
            word, descriptors = orders.receive()
        except BlockingIOError:
            continue
        if not word:
            _reap(wake_read)
            return
        if word not in found:  # alike launchers find the same, each at the price of some commands
            found[word] = launcher.finds_views(*marshal.loads(word))
        _fork(orders, partial(launcher.main, *marshal.loads(word), found[word]), descriptors[0])


def _fork(orders: Packets, launch: Callable[[], None], end: int) -> None:
    pid = os.fork()
    if not pid:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            orders.socket.detach()
            os.dup2(end, SOCKET_NUMBER, inheritable=False)
            launch()
        finally:
            os._exit(0)
    os.close(end)
    process = os.pidfd_open(pid)
    try:
        orders.send_waiting(str(pid).encode(), 5.0, (process,))
    finally:
        os.close(process)


def _reap(wake_read: int) -> None:
    try:
        os.read(wake_read, 4096)
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except (BlockingIOError, ChildProcessError):
        return
