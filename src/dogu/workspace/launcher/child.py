"""What a child becomes before it is the command, between fork and exec. Standard library only.

Runs in a process with one thread (the supervisor's child), so that Python code is safe here. Where none of it is
needed, the child is no copy of the supervisor (`spawned`).
"""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import socket
import stat
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from io import FileIO
from typing import Any, NoReturn, TypeVar

from dogu.workspace.launcher import inside, terminal
from dogu.workspace.launcher.descriptors import SHELLS
from dogu.workspace.system import IS_LINUX

_T = TypeVar("_T")
_GO = b"!"
_STARTS_WITHIN_S = 30  # what is shown to a command may lie on a file system that hangs
_RESET = (
    signal.SIGPIPE,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGCHLD,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGXFSZ,
)
_FIRST_TO_GO = b"800"  # when memory runs out


def become(
    order: dict[str, Any], directory: int, streams: Sequence[int], complaints: int, talk: int | None
) -> NoReturn:
    """Turn into the command; what prevents it goes to `complaints` as "errno step path" and the process ends with 127.

    Last of all a word is waited for there.
    `talk` is for a command that another program brings into its sandbox (`inside`).
    `streams` are the descriptors of standard input, output and error. The new process leads a session of its own
    without a terminal; its signals are as at login; it is the first the kernel ends when memory runs out.
    """
    step = "directory"
    try:
        os.setsid()
        _check_is_there(directory)
        if order.get("confinement") and order["confinement"].get("layers"):
            step = "layer"
            directory = _enter_layers(order, directory)
            step = "directory"
        os.fchdir(directory)
        step = "streams"
        if order.get("terminal"):
            terminal.take(streams[0])
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number, inheritable=True)
        if talk is not None:
            (complaints,) = inside.hand_over(talk, directory, complaints)
        step = "limits"
        _limit(order)
        step = "sandbox"
        if order.get("confinement"):
            from dogu.workspace.launcher.apply import apply

            apply(order["confinement"], order["kept_view"] or order["view"], directory)
        _reset_signals(is_deaf_to_keys=order.get("is_deaf_to_keys", False))
        step = "exec"
        _wait_for_go(complaints)
        step = "watch"
        _tell_writes(order)
        step = "exec"
        _by_path(_argv(order), order["environment"], os.execve)
    except (OSError, ValueError, ImportError, LookupError, RuntimeError, MemoryError) as error:
        os.write(complaints, _complaint(error, step))
    finally:
        os._exit(127)


def is_spawned(order: dict[str, Any]) -> bool:
    """Whether the system can start it without a copy of this process's memory, half of what a command costs."""
    is_held = order.get("confinement") or order.get("watched") or order.get("max_memory_bytes")
    return IS_LINUX and not is_held and not order.get("terminal")


def spawned(order: dict[str, Any], directory: int, streams: Sequence[int]) -> tuple[int, bytes]:
    """Start the command as `become` does; return its process's number, or the complaint.

    It inherits what it is to have, so this process has that too meanwhile.
    """
    step = "directory"
    try:
        _check_is_there(directory)
        os.fchdir(directory)
        step = "limits"
        _limit_core()
        step = "exec"
        with _first_to_go():
            return _by_path(order["argv"], order["environment"], partial(_spawn, streams)), b""
    except (OSError, ValueError) as error:
        return 0, _complaint(error, step)
    finally:
        os.chdir("/")


def _spawn(streams: Sequence[int], path: bytes, argv: list[bytes], environment: dict[bytes, bytes]) -> int:
    assert sys.platform != "win32"
    return os.posix_spawn(
        path,
        argv,
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate(streams)],
        setsid=True,
        setsigmask=(),
        setsigdef=_RESET,
    )


@contextmanager
def _first_to_go() -> Generator[None]:
    """Have what is started meanwhile ended first when memory runs out; not where a container hides that."""
    with ExitStack() as stack:
        with suppress(OSError):
            score = stack.enter_context(open("/proc/self/oom_score_adj", "r+b", buffering=0))
            before = score.read()
            score.write(_FIRST_TO_GO)
            stack.callback(_restore, score, before)
        yield


def _restore(score: FileIO, before: bytes) -> None:
    with suppress(OSError):
        score.write(before)


def _check_is_there(directory: int) -> None:
    if os.fstat(directory).st_nlink == 0:
        raise FileNotFoundError(2, "deleted")


def let_go(pid: int, talk: socket.socket) -> bytes:
    """Let a child go on; return what keeps it from becoming the command, empty once it has.

    It waits for the word: before it is known to the program, the command can do nothing to its supervisor. A place that
    never answers may hold it.
    """
    poller = select.poll()
    poller.register(talk, select.POLLIN)
    with suppress(OSError):  # it has ended already, and may have said why
        talk.send(_GO)
    if poller.poll(_STARTS_WITHIN_S * 1_000):
        try:
            return talk.recv(200)
        except ConnectionResetError:  # it was killed before it heard that
            return b""
    os.kill(pid, signal.SIGKILL)
    return f"{errno.ETIMEDOUT} sandbox".encode()


def _wait_for_go(talk: int) -> None:
    if os.read(talk, len(_GO)) != _GO:  # the supervisor is gone
        os._exit(127)


def _complaint(error: Exception, step: str) -> bytes:
    number = getattr(error, "errno", 0) or 0
    if step == "sandbox" and number == errno.ESTALE:
        return b"0 moved"
    path = getattr(error, "filename", None) if step == "sandbox" else None
    return f"{number} {step} ".encode() + os.fsencode(path or b"")


def _argv(order: dict[str, Any]) -> list[bytes]:
    """What is run: the command, or the program that brings it into its sandbox."""
    return order["argv"] if order["view"] else [*order.get("outer", ()), *order["argv"]]


def _enter_layers(order: dict[str, Any], directory: int) -> int:
    from dogu.workspace.launcher.layers import enter
    from dogu.workspace.launcher.renames import tell_renames

    directory = enter(order["confinement"]["layers"], directory)
    tell_renames(order["told_to"])
    return directory


def _tell_writes(order: dict[str, Any]) -> None:
    """Last of all: the supervisor answers when the command runs, so that writing anything here would wait for ever.

    A command that isn't confined keeps the right to gain privileges, and so does a bubblewrap that needs it.
    """
    if order.get("watched"):
        from dogu.workspace.launcher.landlock import no_new_privileges
        from dogu.workspace.launcher.told_calls import tell_writes

        program = _argv(order)[0]
        if order.get("confinement") and not (b"/" in program and os.stat(program).st_mode & stat.S_ISUID):
            no_new_privileges()
        if not tell_writes(order["told_to"]) and order.get("before"):
            raise OSError(errno.ENOTSUP, "nothing is told")  # and nobody has looked beforehand


def _limit_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _limit(order: dict[str, Any]) -> None:
    _limit_core()
    memory = order.get("max_memory_bytes")
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        with open("/proc/self/oom_score_adj", "wb", buffering=0) as score:
            score.write(_FIRST_TO_GO)
    except OSError:  # containers that hide it; the kernel then judges by size alone
        pass


def _reset_signals(*, is_deaf_to_keys: bool) -> None:
    for number in _RESET:
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP) if is_deaf_to_keys else ():
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _by_path(argv: list[bytes], environment: dict[bytes, bytes], start: Callable[..., _T]) -> _T:
    """Start a program. A bare `bash` is the system's, whatever PATH says first; other names go by PATH."""
    name = argv[0]
    if b"/" in name:
        return start(name, argv, environment)
    folders = environment.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin").split(b":")
    candidates = [
        *(map(os.fsencode, SHELLS) if name == b"bash" else ()),
        *(folder + b"/" + name for folder in folders if folder),
    ]
    failure: OSError = FileNotFoundError(2, "not found")
    for candidate in candidates:
        try:
            return start(candidate, argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            failure = error
    raise failure
