"""The launcher: a small single-threaded process that forks a supervisor for every command.

Forking from it costs under a millisecond and is safe, which forking this program with its threads and its memory is
not. Started once, when the first command comes; ends with its socket, after its supervisors. Standard library only.

Run as `python -I -S -c "import sys; sys.path.append(SOURCE); from dogu.workspace.launcher.main import main; main()"`
with its socket as descriptor 3.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import select
import signal
import socket
import time
from typing import Any

from dogu.workspace.launcher import tree, view
from dogu.workspace.launcher.descriptors import DESCRIPTOR_NAMES, SOCKET_NUMBER, waking_pipe
from dogu.workspace.launcher.family import Sweep, new_mark
from dogu.workspace.launcher.packets import Packets
from dogu.workspace.launcher.supervisor import Supervisor
from dogu.workspace.system import IS_LINUX

_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_ORPHANS_TAKE_S = 5.0


def main(is_scoped: bool, has_own_network: bool, mounts: bool = False) -> None:
    """Serve until the socket closes and the last supervisor is gone.

    `has_own_network`: what runs here reaches only itself and a listener, which is sent to the program first of all.
    `is_scoped` for commands in a sandbox: they, and the launcher, can't send signals to processes outside; a guardian
    that they can't reach stays behind and ends them all should the launcher be killed.
    """
    leave_the_program()
    _adopt_orphans(b"dogu-launcher")
    if has_own_network:
        from dogu.workspace.launcher import network

        with network.enter() as listener, socket.socket(fileno=os.dup(SOCKET_NUMBER)) as program:
            socket.send_fds(program, [b"listener"], [listener.fileno()])
    if is_scoped:
        launcher = os.fork()
        if launcher:
            _guard(launcher)
            return
        _adopt_orphans(b"dogu-launcher")
        from dogu.workspace.launcher import apply, landlock

        del apply  # loaded here once, for every command's child
        landlock.scope(mounts=mounts)
    makes_views = is_scoped and mounts and view.works()
    Launcher(Packets(socket.socket(fileno=SOCKET_NUMBER)), makes_views=makes_views).serve()


def leave_the_program() -> None:
    """Keep the socket alone of what is open, and end by nothing else than its end."""
    os.setsid()
    os.closerange(SOCKET_NUMBER + 1, max(os.sysconf("SC_OPEN_MAX"), 65_536))
    os.set_inheritable(SOCKET_NUMBER, False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)


def _adopt_orphans(name: bytes) -> None:
    """Have what is started below, and loses its parent, become our own; and be called so by `ps`. Linux has that."""
    if IS_LINUX:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(_PR_SET_NAME, name, 0, 0, 0)


def load_for_the_next() -> None:
    """Load what a supervisor and its child may need before the next ones are forked; the first command waits for none.

    In each of them, it would cost every command some milliseconds.
    """
    if IS_LINUX:
        from dogu.workspace.launcher import apply, landlock, layers, renames, writes

        del apply, landlock, layers, renames, writes


def _guard(launcher: int) -> None:
    """Wait for the launcher; end whatever it left behind."""
    os.close(SOCKET_NUMBER)
    while _was_stopped(*os.waitpid(launcher, os.WUNTRACED)):
        pass
    while True:
        tree.kill_below(os.getpid())
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.01)
        except ChildProcessError:
            return


def _was_stopped(pid: int, status: int) -> bool:
    """Whether a process was only stopped, as a command may do to what watches over it; then it goes on."""
    if pid and os.WIFSTOPPED(status):
        tree.send(pid, signal.SIGCONT)
        return True
    return False


class Launcher:
    """Takes orders from the socket, one packet each, and watches the supervisors."""

    def __init__(self, orders: Packets, *, makes_views: bool) -> None:
        self._orders = orders
        self._makes_views = makes_views
        self._supervisors: dict[int, tuple[bytes, float]] = {}  # with the marks of their commands, and when they began
        self._is_open = True

    def serve(self) -> None:
        """Fork a supervisor an order; reap them; end when nobody can order any more and no supervisor is left."""
        wake_read, wake_write = waking_pipe()
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
                    self._take_orders()
                    if not self._is_open:
                        poller.unregister(descriptor)
            self._reap()

    def _take_orders(self) -> None:
        while self._is_open:
            try:
                word, descriptors = self._orders.receive()
            except BlockingIOError:
                return
            if not word:
                self._is_open = False
                return
            if len(descriptors) == len(DESCRIPTOR_NAMES):
                self._fork(dict(zip(DESCRIPTOR_NAMES, descriptors, strict=True)))
            for descriptor in descriptors:
                os.close(descriptor)

    def _fork(self, descriptors: dict[str, int]) -> None:
        mark = new_mark()
        pid = os.fork()
        if pid:
            self._supervisors[pid] = mark, time.time()
            load_for_the_next()
            return
        try:
            self._become_supervisor(descriptors, mark)
        finally:
            os._exit(1)

    def _become_supervisor(self, descriptors: dict[str, int], mark: bytes) -> None:
        signal.set_wakeup_fd(-1)
        self._orders.close()
        _adopt_orphans(b"dogu-supervisor")
        with open(descriptors["order"], "rb") as packed:
            order = marshal.loads(packed.read())
        control = Packets(socket.socket(fileno=descriptors["control"]))
        Supervisor(control, {**order, "mark": mark, "view": self._view_for(order)}, descriptors).run()
        os._exit(0)

    def _view_for(self, order: dict[str, Any]) -> view.Steps | None:
        """What the command's child makes itself, in bubblewrap's stead; None where that is bubblewrap's to do.

        Its own numbers for processes need an init, and with a terminal bubblewrap leads the session.
        """
        confinement: dict[str, Any] = order.get("confinement") or {}
        is_plain = not (confinement.get("has_own_processes") or order.get("terminal"))
        outer = order.get("outer") if self._makes_views and is_plain else None
        # In bytes, as bubblewrap gets them: who ordered may spell paths in another encoding than this process.
        return view.read([os.fsdecode(word) for word in outer]) if outer else None

    def _reap(self) -> None:
        """Collect supervisors that ended. One that was killed leaves its command to us: that ends too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if not _was_stopped(pid, status) and pid in self._supervisors:
                mark, began = self._supervisors.pop(pid)
                if status != 0:
                    self._end_orphans(Sweep(mark, began))

    def _end_orphans(self, marked: Sweep) -> None:
        if not IS_LINUX:
            until = time.monotonic() + _ORPHANS_TAKE_S
            while marked.members() and time.monotonic() < until:
                marked.kill()
            return
        for pid in tree.children(os.getpid()):
            if pid not in self._supervisors:
                tree.kill_below(pid)
                tree.signal_groups([pid], signal.SIGKILL)
                tree.send(pid, signal.SIGKILL)
