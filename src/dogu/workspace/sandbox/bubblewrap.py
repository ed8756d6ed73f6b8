"""bubblewrap: a view of the file system of the command's own, made before it starts. Builds the command line only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from dogu.workspace.launcher import inside
from dogu.workspace.launcher.descriptors import SECCOMP_NUMBER
from dogu.workspace.sandbox.places import is_in, parents

_TEMPORARY = ("/tmp", "/var/tmp")
# Root keeps what makes it root among files, and nothing that reaches past them.
_ROOT_KEEPS = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETUID", "CAP_SETGID", "CAP_KILL")


class View(msgspec.Struct, frozen=True):
    """What the command sees: an empty tree, with these places in it. All are absolute and exist.

    `readable` are read-only and may be links, each with what it really is; `writable` lie over them, `hidden` are empty
    wherever they would show, `read_only` are fixed inside writable ones. `temporary` is what the machine's temporary
    folders are to it.
    """

    readable: Mapping[str, str]
    writable: Sequence[str]
    hidden: Sequence[str]
    read_only: Sequence[str]
    temporary: str
    home: str
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
    """Try it out, about 10 ms, until it has worked: a container may forbid what it needs."""
    try:
        _try_out(program, network=network, own_processes=own_processes)
    except OSError:
        return False
    return True


@cache  # which keeps no failure: what is too much for a machine now works later
def _try_out(program: str, *, network: bool, own_processes: bool) -> None:
    """Raise OSError where it doesn't work."""
    nothing = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in range(3)]
    prefix = _prefix(program, network=network, own_processes=own_processes)
    argv = [*prefix, "--ro-bind", "/", "/", "--", "/bin/sh", "-c", "[ / -ef /proc/self/root ]"]
    pid = os.posix_spawn(program, argv, {}, file_actions=nothing)
    if os.waitpid(pid, 0)[1] != 0:
        raise OSError(program)


def arguments(program: str, view: View) -> list[str]:
    """Return the words to put before the command; later mounts lie over earlier ones.

    The tree begins empty: to bind the whole machine and hide parts of it costs twice the time, a remount for each of
    its mounts.
    """
    words = _prefix(program, network=view.network, own_processes=view.own_processes)
    words += ["--tmpfs", "/dev/shm"]  # all that may be written among the devices, and each command's own
    words += [word for folder in _TEMPORARY if folder not in view.writable for word in _bind(view.temporary, folder)]
    between = _between(view)
    words += [word for folder in between for word in ("--tmpfs", folder)]
    words += _shown(view.readable)
    if os.path.realpath(view.home) != view.home:
        words += ["--symlink", os.path.realpath(view.home), view.home]
    elif not is_in(view.home, view.writable):
        words += ["--dir", view.home]
    words += _changed(view)
    words += [word for folder in ("/", "/dev", *between) for word in ("--remount-ro", folder)]
    return [*words, "--seccomp", str(SECCOMP_NUMBER), "--", *inside.SHIM]


def _between(view: View) -> list[str]:
    """Return the folders that lead from a temporary folder to a place in it: they aren't the command's to write."""
    found: dict[str, None] = {}
    for path in (*view.writable, *view.readable, view.home):
        for folder in _TEMPORARY:
            names = path.removeprefix(f"{folder}/").split("/")
            if folder not in view.writable and _is_below(path, [folder]) and len(names) > 1:
                found[f"{folder}/{names[0]}"] = None
    return [path for path in found if path not in view.writable]


def _changed(view: View) -> list[str]:
    """Lay over what is shown: what may be written, what is hidden and fixed in it, what is a root within the hidden."""
    shown = [*view.readable.values(), *view.writable]
    hidden = [path for path in view.hidden if is_in(path, shown)]
    # A mount of its own can't be renamed, and what is in it with it: to a name under which it isn't hidden, or fixed.
    ways = {*map(os.path.dirname, view.read_only), *(above for path in hidden for above in parents(path))}
    fixed = [path for path in ways if _is_below(path, view.writable)]
    words: list[str] = []
    for path in sorted({*view.writable, *fixed}):
        words += _bind(path, path)
    for path in hidden:
        is_folder = os.path.isdir(path)
        words += ["--perms", "0700", "--tmpfs", path, "--remount-ro", path] if is_folder else _fix("/dev/null", path)
    shown_again = [path for path in view.writable if _is_below(path, hidden)]
    for path in sorted({*shown_again, *(path for path in fixed if _is_below(path, shown_again))}):
        words += _bind(path, path)
    for path in view.read_only:
        words += _fix(path, path) if path not in hidden else []
    return words


def _bind(source: str, place: str) -> list[str]:
    return ["--bind", source, place]


def _fix(source: str, place: str) -> list[str]:
    return ["--ro-bind", source, place]


def _shown(readable: Mapping[str, str]) -> list[str]:
    """Show places as they are spelled: a link among them as a link, any other as what it leads to, at both names."""
    words: list[str] = []
    bound: list[str] = []
    links = {path for path, real in readable.items() if path != real and os.path.islink(path)}
    for path in sorted(readable, key=links.__contains__):  # /usr before /bin, which leads into it
        real = readable[path]
        if path in links and is_in(real, bound):
            words += ["--symlink", os.readlink(path), path]
            continue
        for place in dict.fromkeys((path, real)):
            if not is_in(place, bound):
                words += ["--ro-bind", real, place]
                bound.append(place)
    return words


def _prefix(program: str, *, network: bool, own_processes: bool) -> list[str]:
    words = [program, "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL"]
    if os.geteuid() == 0:
        words += [word for capability in _ROOT_KEEPS for word in ("--cap-add", capability)]
    if own_processes:
        words += ["--unshare-pid"]
    if not network:
        words += ["--unshare-net"]
    return [*words, "--dev", "/dev", *(("--proc", "/proc") if own_processes else ("--ro-bind", "/proc", "/proc"))]


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(folder.rstrip("/") + "/") for folder in folders)
