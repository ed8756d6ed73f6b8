"""The launcher: a small single-threaded process that forks a supervisor for every command.

Forking from it costs under a millisecond and is safe, which forking this program with its threads and its memory is
not. Started once, when the first command comes; ends with its socket, after its supervisors. Standard library only.

Run as `python -I -S -c "import sys; sys.path.append(SOURCE); from dogu.workspace.launcher.main import main; main()"`
with its socket as descriptor 3.
"""

from __future__ import annotations

import array
import ctypes
import marshal
import os
import select
import signal
import socket
import time

from dogu.workspace.launcher import tree
from dogu.workspace.launcher.descriptors import DESCRIPTOR_NAMES, SOCKET_NUMBER
from dogu.workspace.launcher.supervisor import Supervisor

_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36


def main(is_scoped: bool, has_own_network: bool) -> None:
    """Serve until the socket closes and the last supervisor is gone.

    `has_own_network`: what runs here reaches only itself and a listener, which is sent to the program first of all.
    `is_scoped` for commands in a sandbox: they, and the launcher, can't send signals to processes outside; a guardian
    that they can't reach stays behind and ends them all should the launcher be killed.
    """
    os.setsid()
    os.closerange(SOCKET_NUMBER + 1, max(os.sysconf("SC_OPEN_MAX"), 65_536))
    os.set_inheritable(SOCKET_NUMBER, False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_PR_SET_NAME, b"dogu-launcher", 0, 0, 0)
    if has_own_network:
        from dogu.workspace.launcher import network

        with network.enter() as listener, socket.socket(fileno=os.dup(SOCKET_NUMBER)) as program:
            socket.send_fds(program, [b"listener"], [listener.fileno()])
    if is_scoped:
        launcher = os.fork()
        if launcher:
            _guard(launcher)
            return
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        from dogu.workspace.launcher import apply, landlock

        del apply  # loaded here once, for every command's child
        landlock.scope()
    Launcher(socket.socket(fileno=SOCKET_NUMBER), libc).serve()


def _guard(launcher: int) -> None:
    """Wait for the launcher; end whatever it left behind."""
    os.close(SOCKET_NUMBER)
    os.waitpid(launcher, 0)
    while True:
        tree.kill_below(os.getpid())
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.01)
        except ChildProcessError:
            return


class Launcher:
    """Takes orders from the socket, one packet each, and watches the supervisors."""

    def __init__(self, orders: socket.socket, libc: ctypes.CDLL) -> None:
        self._orders = orders
        self._libc = libc
        self._supervisors: set[int] = set()
        self._is_open = True

    def serve(self) -> None:
        """Fork a supervisor an order; reap them; end when nobody can order any more and no supervisor is left."""
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        poller = select.poll()
        poller.register(wake_read, select.POLLIN)
        poller.register(self._orders.fileno(), select.POLLIN)
        while self._is_open or self._supervisors:
            for descriptor, _event in poller.poll():
                if descriptor == wake_read:
                    os.read(wake_read, 4096)
                else:
                    self._take_order()
                    if not self._is_open:
                        poller.unregister(descriptor)
            self._reap()

    def _take_order(self) -> None:
        descriptors = array.array("i")
        room = socket.CMSG_LEN(len(DESCRIPTOR_NAMES) * descriptors.itemsize)
        try:
            word, ancillary, _flags, _address = self._orders.recvmsg(16, room, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            word, ancillary = b"", []
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
        if not word:
            self._is_open = False
            return
        if len(descriptors) == len(DESCRIPTOR_NAMES):
            self._fork(dict(zip(DESCRIPTOR_NAMES, descriptors, strict=True)))
        for descriptor in descriptors:
            os.close(descriptor)

    def _fork(self, descriptors: dict[str, int]) -> None:
        pid = os.fork()
        if pid:
            self._supervisors.add(pid)
            return
        try:
            self._become_supervisor(descriptors)
        finally:
            os._exit(1)

    def _become_supervisor(self, descriptors: dict[str, int]) -> None:
        signal.set_wakeup_fd(-1)
        self._orders.close()
        self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._libc.prctl(_PR_SET_NAME, b"dogu-supervisor", 0, 0, 0)
        with open(descriptors["order"], "rb") as packed:
            order = marshal.loads(packed.read())
        control = socket.socket(fileno=descriptors["control"])
        Supervisor(control, order, descriptors).run()
        os._exit(0)

    def _reap(self) -> None:
        """Collect supervisors that ended. One that was killed leaves its command to us: that ends too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._supervisors:
                self._supervisors.remove(pid)
                if status != 0:
                    self._end_orphans()

    def _end_orphans(self) -> None:
        for pid in tree.children(os.getpid()):
            if pid not in self._supervisors:
                tree.kill_below(pid)
                tree.signal_groups([pid], signal.SIGKILL)
                tree.send(pid, signal.SIGKILL)
