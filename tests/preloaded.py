"""Python with libraries that are loaded once and used by many processes: most of what a short one costs is loading them.

`python preloaded.py SOCKET SCRIPT WORDS...` is as good as `python SCRIPT WORDS...`, and `-m MODULE` for the script as
good as that: it hands its streams, environment, folder and words to a process that has the libraries loaded, which forks
and runs it; signals are handed on; it ends as that does, and that with it. It uses nothing but Python's own library, and
starts in 20 ms with `-I -S`. A test that holds a `Preloaded` does without it. What is run may have a terminal as its
streams, but has none that it could open by name.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import socket
import sys

TYPE_CHECKING = False  # typing's own costs a third of the start
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from subprocess import CompletedProcess

    _Wish = tuple[list[str], dict[str, str], str]

_LENGTH_BYTES = 4
_HANDED_ON = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGWINCH")


class Preloaded:
    """A process that has modules loaded; who connects to its `socket` is served until `close`."""

    def __init__(self, *modules: str) -> None:
        import subprocess
        import tempfile

        self._folder = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self._folder.name, "socket")
        words = [sys.executable, __file__, "--serve", self.socket, *modules]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def run(
        self, words: Sequence[str], folder: str, environ: Mapping[str, str], stdin: bytes, timeout_s: float
    ) -> CompletedProcess[bytes]:
        """Do as `subprocess.run` does that captures output; the words are what would follow `python`."""
        import subprocess
        from concurrent.futures import ThreadPoolExecutor

        (reads, given), (out, writes), (err, complains) = os.pipe(), os.pipe(), os.pipe()
        with socket.socket(socket.AF_UNIX) as line, ThreadPoolExecutor(3) as threads:
            line.settimeout(timeout_s)
            line.connect(self.socket)
            _ask(line, (list(words), dict(environ), folder), [reads, writes, complains])
            for handed in (reads, writes, complains):
                os.close(handed)
            threads.submit(_write, given, stdin)
            printed = [threads.submit(_read, descriptor) for descriptor in (out, err)]
            status = _status(line)
            return subprocess.CompletedProcess(words, status, *(each.result(timeout_s) for each in printed))

    def close(self) -> None:
        """End it, and what it runs."""
        self._process.communicate()
        self._folder.cleanup()


def _write(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb", 0) as file:
        while data:
            data = data[file.write(data) :]


def _read(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _ask(line: socket.socket, wish: _Wish, streams: list[int]) -> None:
    packed = marshal.dumps(wish)
    socket.send_fds(line, [len(packed).to_bytes(_LENGTH_BYTES, "big")], streams)
    line.sendall(packed)


def _status(line: socket.socket) -> int:
    """Wait for the end; the status is negative where a signal was its cause, as `subprocess` tells it."""
    told = line.recv(_LENGTH_BYTES)
    return int.from_bytes(told, "big", signed=True) if told else 1


def _relay(path: str, words: list[str]) -> int:
    """Have the words run by the process that listens; return their exit status."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        for name in _HANDED_ON:
            signal.signal(getattr(signal, name), lambda number, _: line.sendall(bytes([number])))
        _ask(line, (words, dict(os.environ), os.getcwd()), [0, 1, 2])
        status = _status(line)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def _serve(path: str, modules: list[str]) -> list[str] | None:
    """Load the modules, say so, and fork for each who connects, until standard input ends.

    Returns None then; and in each forked process, the words of what it is to be.
    """
    import gc
    import importlib

    for module in modules:
        importlib.import_module(module)
    gc.freeze()
    heard, told = socket.socketpair()
    told.setblocking(False)
    signal.signal(signal.SIGCHLD, _hear)
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    with heard, told, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        mine = _fork_for_each(listener, heard)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return _become(*mine) if mine is not None else None


def _hear(*_: object) -> None:
    """A child has ended."""


def _fork_for_each(listener: socket.socket, ends: socket.socket) -> tuple[_Wish, list[int]] | None:
    """Serve until standard input ends: None; in a forked process, return what was wished, and the streams."""
    import select

    running: dict[socket.socket, int] = {}
    while True:
        ready, _, _ = select.select([0, ends, listener, *running], [], [])
        for line in running if 0 in ready else running.keys() & ready:
            number = b"" if 0 in ready else line.recv(1)
            os.kill(running[line], number[0] if number else signal.SIGKILL)  # who asked is gone
        if ends in ready:
            ends.recv(4096)
            _tell_ends(running)
        if 0 in ready:
            return None
        if listener in ready and (mine := _fork_for_one(listener, running)):
            return mine


def _fork_for_one(listener: socket.socket, running: dict[socket.socket, int]) -> tuple[_Wish, list[int]] | None:
    line, _ = listener.accept()
    wish, streams = _heard(line)
    running[line] = os.fork()
    if not running[line]:
        for each in running:
            each.close()
        return wish, streams
    for stream in streams:
        os.close(stream)
    return None


def _tell_ends(running: dict[socket.socket, int]) -> None:
    """Tell those who asked how what they asked for has ended; its CPU time counts as the tests' own."""
    for line, pid in list(running.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with contextlib.suppress(OSError):
                line.sendall(os.waitstatus_to_exitcode(status).to_bytes(_LENGTH_BYTES, "big", signed=True))
            line.close()
            del running[line]


def _heard(line: socket.socket) -> tuple[_Wish, list[int]]:
    """Hear what one who connected wishes, and take the streams."""
    length, streams, _, _ = socket.recv_fds(line, _LENGTH_BYTES, 3)
    packed = b""
    while len(packed) < int.from_bytes(length, "big"):
        packed += line.recv(1 << 20)
    return marshal.loads(packed), streams


def _become(wish: _Wish, streams: list[int]) -> list[str]:
    """Have the streams, environment and folder that were handed; return the words."""
    import time

    words, environ, folder = wish
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if os.isatty(0):
        os.setsid()  # as what a terminal starts; and what it tells its group isn't for the tests
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    os.chdir(folder)
    return words


def _main() -> None:
    import runpy

    if sys.argv[1] != "--serve":
        sys.exit(_relay(sys.argv[1], sys.argv[2:]))
    words = _serve(sys.argv[2], sys.argv[3:])
    if words is None:
        return
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    _main()
