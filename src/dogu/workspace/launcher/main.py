"""The launcher: a small single-threaded process that has a supervisor for every command.

Forking from it costs under a millisecond and is safe, which forking this program with its threads and its memory is
not. Started once, when the first command comes; ends with its socket, after its supervisors. Standard library only.

Run as `python -I -S -c "import sys; sys.path.append(SOURCE); from dogu.workspace.launcher.main import main; main()"`
with its socket as descriptor 3.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import socket
import time
from contextlib import suppress
from typing import Any, NamedTuple

from dogu.workspace.launcher import tree, view
from dogu.workspace.launcher.descriptors import DESCRIPTOR_NAMES, SOCKET_NUMBER, waking_pipe
from dogu.workspace.launcher.family import Sweep, new_mark
from dogu.workspace.launcher.kept_view import KeptViews
from dogu.workspace.launcher.libc import libc
from dogu.workspace.launcher.packets import Packets, is_ready, pair
from dogu.workspace.launcher.supervisor import Supervisor
from dogu.workspace.system import IS_LINUX

_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_ORPHANS_TAKE_S = 5.0
_MOST_FREE = 8
_FREE_FOR_S = 10.0  # each has some megabytes, and a fleet many launchers
_MOST_YOUNG = max(8, 2 * (os.cpu_count() or 1))  # commands that began just now; more at once hold one another up
_YOUNG_FOR_S = 0.1


def main(is_scoped: bool, has_own_network: bool, mounts: bool = False, makes_views: bool | None = None) -> None:
    """Serve until the socket closes and the last supervisor is gone.

    `makes_views` is what `finds_views` found of such launchers; None where it is still to be found out.

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
    if makes_views is None:
        makes_views = is_scoped and mounts and view.works()
    Launcher(Packets(socket.socket(fileno=SOCKET_NUMBER)), makes_views=makes_views).serve()


def finds_views(is_scoped: bool, has_own_network: bool, mounts: bool) -> bool:
    """Find out for launchers to come whether they make views, as one of them would."""

    def become() -> None:
        from dogu.workspace.launcher import landlock, network

        if has_own_network:
            network.enter()
        landlock.scope(mounts=mounts)

    return is_scoped and mounts and view.works(become)


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
        libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc().prctl(_PR_SET_NAME, name, 0, 0, 0)


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


class _Started(NamedTuple):
    """A supervisor: the mark of its command and when that began, and the line on which it says that it is free."""

    mark: bytes
    began: float
    line: Packets


class Launcher:
    """Takes orders from the socket, one packet each, and watches the supervisors.

    On Linux a supervisor of which nothing is left takes another order: to fork a new one, and have it find its memory
    copied page by page, costs as much as all that it does for a command. So of many orders at once (a fleet's agents
    share a launcher) some wait, for as long as most commands take at most.
    """

    def __init__(self, orders: Packets, *, makes_views: bool) -> None:
        self._orders = orders
        self._makes_views = makes_views
        self._supervisors: dict[int, _Started] = {}
        self._free: list[int] = []
        self._given: dict[int, float] = {}  # when the supervisors that aren't free got their orders
        self._kept_views: KeptViews | None = None  # in a supervisor
        self._is_open = True
        self._poller = select.poll()

    def serve(self) -> None:
        """Have a supervisor for each order; reap them; end when nobody can order any more and none is left."""
        wake_read, wake_write = waking_pipe()
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self._poller.register(wake_read, select.POLLIN)
        while self._is_open or self._supervisors:
            takes_orders = self._has_room()
            if self._is_open:
                self._listen(takes_orders)
            wait_s = (_FREE_FOR_S if self._free else None) if takes_orders else _YOUNG_FOR_S
            ready = {number for number, _event in self._poller.poll(None if wait_s is None else wait_s * 1_000)}
            if not ready and takes_orders:
                self._let_go(*self._free)
            if wake_read in ready:
                os.read(wake_read, 4096)
            for pid, started in self._supervisors.items():
                if started.line.fileno() in ready:
                    self._hear(pid, started.line)
            if self._orders.fileno() in ready:
                self._take_orders()
            self._reap()

    def _listen(self, takes_orders: bool) -> None:
        if takes_orders:
            self._poller.register(self._orders.fileno(), select.POLLIN)
        else:
            with suppress(KeyError):
                self._poller.unregister(self._orders.fileno())

    def _has_room(self) -> bool:
        young = time.monotonic() - _YOUNG_FOR_S
        return sum(given > young for given in self._given.values()) < _MOST_YOUNG

    def _hear(self, pid: int, line: Packets) -> None:
        """Note that a supervisor is free; one too many is let go, and so is each when nobody can order any more."""
        word, _ = line.receive()
        self._given.pop(pid, None)
        if word and self._is_open and len(self._free) < _MOST_FREE:
            self._free.append(pid)
        else:
            self._let_go(pid)

    def _let_go(self, *pids: int) -> None:
        """Close the lines to supervisors: each ends when it is free."""
        self._free = [pid for pid in self._free if pid not in pids]
        for pid in pids:
            line = self._supervisors[pid].line
            if line.fileno() >= 0:
                self._poller.unregister(line.fileno())
                line.close()

    def _take_orders(self) -> None:
        while self._is_open and self._has_room():
            try:
                word, descriptors = self._orders.receive()
            except BlockingIOError:
                return
            if not word:
                self._is_open = False
                self._poller.unregister(self._orders.fileno())
                self._let_go(*self._supervisors)
                return
            if len(descriptors) == len(DESCRIPTOR_NAMES):
                self._hand_on(descriptors)
            for descriptor in descriptors:
                os.close(descriptor)

    def _hand_on(self, descriptors: list[int]) -> None:
        """Give an order to a free supervisor, else to a new one."""
        while self._free:
            with suppress(OSError):  # it was killed just now
                pid = self._free.pop()
                self._supervisors[pid].line.send(b"run", tuple(descriptors))
                self._given[pid] = time.monotonic()
                return
        mark = new_mark()
        near, far = pair()
        pid = os.fork()
        if pid:
            far.close()
            self._supervisors[pid] = _Started(mark, time.time(), Packets(near))
            self._given[pid] = time.monotonic()
            self._poller.register(near.fileno(), select.POLLIN)
            load_for_the_next()
            return
        try:
            near.close()
            self._become_supervisor(Packets(far), descriptors, mark)
        finally:
            os._exit(1)

    def _become_supervisor(self, line: Packets, descriptors: list[int], mark: bytes) -> None:
        """Keep a command, and then others, until the launcher closes the line."""
        signal.set_wakeup_fd(-1)
        self._orders.close()
        for other in self._supervisors.values():
            other.line.close()
        _adopt_orphans(b"dogu-supervisor")
        self._kept_views = KeptViews() if self._makes_views else None
        is_free = True
        while descriptors and is_free:
            is_free = self._keep(dict(zip(DESCRIPTOR_NAMES, descriptors, strict=True)), mark) and IS_LINUX
            if is_free:
                with suppress(OSError):  # nobody can order any more
                    line.send(b"free")
                is_ready(line.socket, None)
                _, descriptors = line.receive()
        os._exit(0)

    def _keep(self, descriptors: dict[str, int], mark: bytes) -> bool:
        """Keep a command from its start to its end; whether this process is as it was then."""
        with open(descriptors["order"], "rb", buffering=0) as packed:
            order = marshal.loads(packed.readall())
        control = Packets(socket.socket(fileno=descriptors["control"]))
        seen = self._view_for(order)
        # Layers lie over the machine's own file system, which a command in a copy of a view has left behind.
        kept = self._kept_views.of(seen) if self._kept_views and seen and not order["confinement"]["layers"] else None
        return Supervisor(control, {**order, "mark": mark, "view": seen, "kept_view": kept}, descriptors).run()

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
                self._let_go(pid)
                self._given.pop(pid, None)
                ended = self._supervisors.pop(pid)
                if status != 0:
                    self._end_orphans(Sweep(ended.mark, ended.began, pid))

    def _end_orphans(self, marked: Sweep) -> None:
        if not IS_LINUX:
            marked.end(time.monotonic() + _ORPHANS_TAKE_S)
            return
        for pid in tree.children(os.getpid()):
            if pid not in self._supervisors:
                tree.kill_below(pid)
                tree.signal_groups([pid], signal.SIGKILL)
                tree.send(pid, signal.SIGKILL)
