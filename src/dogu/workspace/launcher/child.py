"""Between fork and exec: what a child becomes before it is the command. Standard library only.

Runs in a process with one thread (the supervisor's child), so that Python code is safe here.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
from collections.abc import Sequence
from typing import Any, NoReturn

from dogu.workspace.launcher import inside, terminal
from dogu.workspace.launcher.descriptors import SHELLS

GO = b"!"


def become(
    order: dict[str, Any], directory: int, streams: Sequence[int], complaints: int, talk: int | None
) -> NoReturn:
    """Turn into the command; what prevents it goes to `complaints` as "errno step path" and the process ends with 127.

    Last of all the word `GO` is waited for there.
    `talk` is for a command that another program brings into its sandbox (`inside`).
    `streams` are the descriptors of standard input, output and error. The new process leads a session of its own
    without a terminal; its signals are as at login; it is the first the kernel ends when memory runs out.
    """
    step = "directory"
    try:
        os.setsid()
        if os.fstat(directory).st_nlink == 0:
            raise FileNotFoundError(2, "deleted")
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
        _execute(_argv(order), order["environment"])
    except (OSError, ValueError, ImportError, LookupError, RuntimeError, MemoryError) as error:
        os.write(complaints, _complaint(error, step))
    finally:
        os._exit(127)


def _wait_for_go(talk: int) -> None:
    if os.read(talk, len(GO)) != GO:  # the supervisor is gone
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


def _limit(order: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    memory = order.get("max_memory_bytes")
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        with open("/proc/self/oom_score_adj", "wb", buffering=0) as score:
            score.write(b"800")
    except OSError:  # containers that hide it; the kernel then judges by size alone
        pass


def _reset_signals(*, is_deaf_to_keys: bool) -> None:
    for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP) if is_deaf_to_keys else ():
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _execute(argv: list[bytes], environment: dict[bytes, bytes]) -> None:
    """Replace the process. A bare `bash` is the system's, whatever PATH says first; other names go by PATH."""
    name = argv[0]
    if b"/" in name:
        os.execve(name, argv, environment)
    folders = environment.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin").split(b":")
    candidates = [
        *(map(os.fsencode, SHELLS) if name == b"bash" else ()),
        *(folder + b"/" + name for folder in folders if folder),
    ]
    failure: OSError = FileNotFoundError(2, "not found")
    for candidate in candidates:
        try:
            os.execve(candidate, argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            failure = error
    raise failure
