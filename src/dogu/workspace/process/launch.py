"""The launcher that makes commands' supervisors, kept for a session: an order and descriptors in, a line out."""

from __future__ import annotations

import errno
import marshal
import os
import signal
import socket
import sys
import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace import fs
from dogu.workspace.launcher import packets, ring
from dogu.workspace.launcher.packets import Packets, is_ready
from dogu.workspace.os_errors import explain, limit_words
from dogu.workspace.process.launched import Forked, Launched, Spawned
from dogu.workspace.process.launcher_line import LauncherLine
from dogu.workspace.process.supervisor_line import SupervisorLine
from dogu.workspace.system import IS_LINUX

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from dogu.workspace.sandbox.proxy import HostProxy, HostRequest

_LISTENER_TAKES_S = 10.0
_ANSWER_TAKES_S = 10.0


class Launch:
    """The launcher process: started when first needed, and again when it was lost.

    `is_scoped` for commands in a sandbox: they can signal one another, and nothing outside; `mounts` where that sandbox
    makes mounts of its own, which the kernel denies to whoever gave up a right on files. With `hosts`, they have a
    network of their own, out of which only a proxy to these hosts leads. A `fork_server` makes the process, if given.
    """

    def __init__(
        self,
        *,
        is_scoped: bool,
        mounts: bool = False,
        hosts: tuple[str, ...] | None = None,
        fork_server: ForkServer | None = None,
    ) -> None:
        self._fork_server = fork_server
        self._is_scoped = is_scoped
        self._mounts = mounts
        self._hosts = hosts
        self._proxy: HostProxy | None = None
        self._lock = threading.Lock()
        self._launcher: LauncherLine | None = None

    def start(self) -> None:
        """Start it if it isn't there. Raises `ToolError` (START_FAILED) where it can't be."""
        self._started()

    @property
    def refused_count(self) -> int:
        """How many requests the proxy has refused so far."""
        return self._proxy.refused_count if self._proxy else 0

    def refused_since(self, mark: int) -> tuple[str, ...]:
        """Return the hosts that the proxy refused after a mark."""
        return self._proxy.refused_since(mark) if self._proxy else ()

    @contextmanager
    def asking(self, ask: Callable[[HostRequest], None]) -> Generator[None]:
        """Have hosts that aren't listed asked for while this lasts; see `HostProxy.asking`."""
        self.start()
        with self._proxy.asking(ask) if self._proxy is not None else nullcontext():
            yield

    def order(self, order: dict[str, Any], directory: str | int, stdin: bytes) -> SupervisorLine:
        """Have a supervisor made for an order and return the line to it; the caller closes it.

        Raises `ToolError`: NOT_FOUND or the like for a directory that can't be opened, START_FAILED.
        """
        opened: list[int] = []
        outputs: dict[str, int] = {}
        is_sent = False
        try:
            source = _in_memory(stdin, opened) if stdin else _opened("/dev/null", os.O_RDONLY, opened)
            outputs.update(stdout=_unnamed_file(), stderr=_unnamed_file())
            line = self.open(order, directory, (source, outputs["stdout"], outputs["stderr"]), outputs)
            is_sent = True
            return line
        except OSError as error:
            raise _not_started(error) from error
        finally:
            for descriptor in opened if is_sent else [*opened, *outputs.values()]:
                os.close(descriptor)

    def open(
        self,
        order: dict[str, Any],
        directory: str | int,
        streams: Sequence[int],
        outputs: Mapping[str, int] | None = None,
    ) -> SupervisorLine:
        """Have a supervisor made for an order with these descriptors as its three streams; as `order`, which see.

        The streams stay the caller's to close, but for the `outputs`, which the line takes.
        """
        opened: list[int] = []
        near, far = packets.pair()
        is_sent = False
        try:
            place = _open_directory(directory, opened)
            packed = _in_memory(marshal.dumps(order), opened)
            launcher = self._send((far.fileno(), place, *streams, packed))
            is_sent = True
            return SupervisorLine(Packets(near), dict(outputs or {}), launcher, order.get("timeout_s"))
        except OSError as error:
            raise _not_started(error) from error
        finally:
            far.close()
            for descriptor in opened:
                os.close(descriptor)
            if not is_sent:
                near.close()

    def close(self, *, wait: bool = True) -> None:
        """Close the launcher's socket and wait, bounded, until it and its supervisors are gone; `wait` False: don't."""
        with self._lock:
            ended, self._launcher = self._launcher, None
            if ended is not None:
                self._close_proxy()
                ended.close(wait=wait)

    def _send(self, descriptors: tuple[int, ...]) -> LauncherLine:
        for is_last_try in (False, True):
            launcher = self._started()
            try:
                launcher.order(descriptors)
                break
            except OSError:
                if is_last_try:
                    raise
                self._forget(launcher)
        return launcher

    def _started(self) -> LauncherLine:
        with self._lock:
            if self._launcher is None:
                try:
                    self._launcher = self._spawned()
                except OSError as error:
                    raise _not_started(error) from error
            return self._launcher

    def _forget(self, lost: LauncherLine) -> None:
        with self._lock:
            if self._launcher is lost:
                self._launcher = None
                self._close_proxy()
                lost.abandon()

    def _spawned(self) -> LauncherLine:
        if not sys.executable:
            raise ToolError(ErrorKind.START_FAILED, "Commands can't be run here: that needs Python's program.")
        arguments = (self._is_scoped, self._hosts is not None, self._mounts)
        near, far = packets.pair()
        with far:
            try:
                server = self._fork_server
                process = server.launch(arguments, far) if server else Spawned("main", arguments, far)
            except OSError:
                near.close()
                raise
        launcher = LauncherLine(process, Packets(near))
        if self._hosts is not None:
            self._open_proxy(near, launcher, self._hosts)
        return launcher

    def _open_proxy(self, near: socket.socket, launcher: LauncherLine, hosts: tuple[str, ...]) -> None:
        """Take the listener that the launcher made in its network. Raises `ToolError` (START_FAILED) without one."""
        from dogu.workspace.sandbox.hosts import AllowedHosts
        from dogu.workspace.sandbox.proxy import HostProxy

        near.settimeout(_LISTENER_TAKES_S)
        try:
            _word, descriptors, _flags, _address = socket.recv_fds(near, 16, 1)
        except OSError:
            descriptors = []
        if not descriptors:
            launcher.abandon()
            raise ToolError(
                ErrorKind.START_FAILED,
                "The command could not start: no network of its own can be made, which the list of hosts needs.",
            )
        near.setblocking(False)
        self._proxy = HostProxy(socket.socket(fileno=descriptors[0]), AllowedHosts(hosts))

    def _close_proxy(self) -> None:
        proxy, self._proxy = self._proxy, None
        if proxy is not None:
            proxy.close()


class ForkServer:
    """Forks launchers, where the system can; it is started with the first, and again after it was lost.

    For a program that has many sessions; close it, or use it as a context manager. What it forked lives on. `plain` is
    the launcher of commands that nothing confines, for all its sessions: nothing would hold theirs apart.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Launched | None = None
        self._orders: Packets | None = None
        self.plain = Launch(is_scoped=False, fork_server=self)

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
        return Forked(int(word), descriptors[0])

    def _end(self, number: int) -> None:
        if self._orders is not None:
            self._orders.close()
        if self._process is not None:
            self._process.send(number)
            self._process.wait(_ANSWER_TAKES_S)
        self._orders = self._process = None

    def close(self) -> None:
        """End it, as it does by itself."""
        self.plain.close()
        with self._lock:
            if self._orders is not None:
                self._end(signal.SIGCONT)

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _not_started(error: OSError) -> ToolError:
    reason = limit_words(error) or f"{error.strerror or error}."
    return ToolError(ErrorKind.START_FAILED, f"The command could not start: {reason}")


def _open_directory(directory: str | int, opened: list[int]) -> int:
    if isinstance(directory, int):
        return directory
    try:
        return _opened(directory, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY, opened)
    except OSError as error:
        raise explain(error, directory) from error


def _opened(path: str, flags: int, opened: list[int]) -> int:
    opened.append(os.open(path, flags | os.O_CLOEXEC))
    return opened[-1]


def _in_memory(data: bytes, opened: list[int]) -> int:
    descriptor = fs.unnamed("dogu")
    opened.append(descriptor)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _unnamed_file() -> int:
    """Open a file that has no name and goes with its last descriptor: nothing to clean up, whatever happens."""
    if sys.platform == "linux" and IS_LINUX:
        for folder in (os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp"):
            try:
                descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
            except OSError:
                continue
            free = os.fstatvfs(descriptor)
            if free.f_bavail * free.f_frsize >= ring.RING_BYTES:  # on a full disk it would be lost
                return descriptor
            os.close(descriptor)
    return fs.unnamed("dogu-output")
