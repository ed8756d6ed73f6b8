"""bubblewrap: a view of the file system of the command's own, made before it starts. Builds the command line only."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from dogu.workspace.launcher import inside
from dogu.workspace.launcher.apply import SECCOMP_NUMBER

# Root keeps what makes it root among files, and nothing that reaches past them.
_ROOT_KEEPS = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETUID", "CAP_SETGID", "CAP_KILL")


class View(msgspec.Struct, frozen=True):
    """What the command sees: all read-only but `writable`, with `hidden` empty and `read_only` fixed inside writable.

    All are absolute real paths that exist.
    """

    writable: Sequence[str]
    hidden: Sequence[str]
    read_only: Sequence[str]
    network: bool
    own_processes: bool


def find_program(path: str) -> str | None:
    """Return bubblewrap's path, looked for in `path` (as $PATH); never a setuid one, which gets no rights here."""
    for folder in path.split(":"):
        program = os.path.join(folder, "bwrap")
        if folder.startswith("/") and os.access(program, os.X_OK):
            is_setuid = os.stat(program).st_mode & 0o4000
            return None if is_setuid and os.geteuid() != 0 else program
    return None


def works(program: str, *, network: bool, own_processes: bool) -> bool:
    """Try it out, about 10 ms: a container may forbid what it needs."""
    nothing = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in range(3)]
    prefix = _prefix(program, View((), (), (), network=network, own_processes=own_processes))
    argv = [*prefix, "--", "/bin/sh", "-c", "[ / -ef /proc/self/root ]"]
    try:
        pid = os.posix_spawn(program, argv, {}, file_actions=nothing)
    except OSError:
        return False
    return os.waitpid(pid, 0)[1] == 0


def arguments(program: str, view: View) -> list[str]:
    """Return the words to put before the command; later mounts lie over earlier ones."""
    words = _prefix(program, view)
    parents = [path for path in dict.fromkeys(map(os.path.dirname, view.read_only)) if _is_in_any(path, view.writable)]
    for path in [*view.writable, *parents]:  # a mount of its own can't be renamed, and what is in it with it
        if path not in ("/dev/shm", "/dev"):
            words += ["--bind", path, path]
    for path in view.hidden:
        if os.path.isdir(path):
            words += ["--perms", "0700", "--tmpfs", path, "--remount-ro", path]
        else:
            words += ["--ro-bind", "/dev/null", path]
    shown_again = [path for path in view.writable if _is_in_any(path, view.hidden)]
    for path in [*shown_again, *(path for path in parents if _is_in_any(path, shown_again))]:
        words += ["--bind", path, path]
    for path in view.read_only:
        if path not in view.hidden:
            words += ["--ro-bind", path, path]
    return [*words, "--seccomp", str(SECCOMP_NUMBER), "--", *inside.SHIM]


def _prefix(program: str, view: View) -> list[str]:
    words = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL"]
    if os.geteuid() == 0:
        words += [word for capability in _ROOT_KEEPS for word in ("--cap-add", capability)]
    if view.own_processes:
        words += ["--unshare-pid", "--proc", "/proc"]
    if not view.network:
        words += ["--unshare-net"]
    return words


def _is_in_any(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(folder.rstrip("/") + "/") for folder in folders)
