"""Between fork and exec: make the view of the file system that bubblewrap's words describe, without bubblewrap.

bubblewrap reads the list of all mounts anew for each that it makes, which is most of what it costs, and stands between
the supervisor and the command. Linux 5.12 and later copy, seal and place whole trees of mounts by descriptors: no path
is looked up twice. The words are the one description; where this can't be made, bubblewrap itself carries them out.
Standard library only. Source: mount_setattr(2), linux/mount.h, pivot_root(2), user_namespaces(7), bwrap(1).
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import stat
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any

from dogu.workspace.launcher.landlock import keep_rights
from dogu.workspace.launcher.libc import libc
from dogu.workspace.launcher.network import loopback_up

_OPEN_TREE, _MOVE_MOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 437, 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_HERE = -100  # AT_FDCWD
_EMPTY_PATH, _RECURSIVE = 0x1000, 0x8000
_CLONE, _CLOSE_ON_EXEC = 1, os.O_CLOEXEC
_FROM_EMPTY_PATH, _TO_EMPTY_PATH = 0x4, 0x40
_READ_ONLY, _NO_SETUID, _NO_DEVICES = 1, 2, 4  # the same for mount(2) and mount_setattr(2)
_NO_EXECUTION = 8
_SLAVES, _DETACH = 1 << 19 | 1 << 14, 2
_IN_ROOT, _NO_LINKS, _NO_MAGIC_LINKS = 0x10, 0x4, 0x2
_NEW_MOUNTS, _NEW_USERS = 0x20000, 0x10000000
_NAMESPACES = {"--unshare-ipc": 0x8000000, "--unshare-uts": 0x4000000, "--unshare-net": 0x40000000}
_CAPABILITIES = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_FOWNER": 3,
    "CAP_FSETID": 4,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
}
_OWN_TERMINALS = _NO_SETUID | _NO_EXECUTION, b"newinstance,ptmxmode=0666,mode=620"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "fd": "/proc/self/fd",
    "core": "/proc/kcore",
    "ptmx": "pts/ptmx",
}
_BINDS = {"--bind": _NO_SETUID | _NO_DEVICES, "--ro-bind": _NO_SETUID | _NO_DEVICES | _READ_ONLY}
_OPERANDS = {"--ro-bind": 2, "--bind": 2, "--symlink": 2, "--tmpfs": 1, "--dir": 1, "--dev": 1, "--remount-ro": 1}
_TRIAL = ("--unshare-ipc", "--unshare-uts", "--dev", "/dev", "--ro-bind", "/proc", "/proc", "--ro-bind", "/usr", "/usr")

Steps = Sequence[tuple[str, ...]]
"""bubblewrap's words, each with its operands, in their order: later mounts lie over earlier ones."""


def works(become: Callable[[], None] = lambda: None) -> bool:
    """Try it out in a child, some milliseconds: an older kernel, or a container, may not let it be made.

    `become` is what the child does first, to be as whoever will make views.
    """
    if os.uname().machine not in _PIVOT_ROOT:
        return False
    calls()
    pid = os.fork()
    if pid == 0:
        try:
            become()
            enter(read(("bwrap", *_TRIAL, "--seccomp")) or (), os.open("/usr", os.O_PATH | os.O_CLOEXEC))
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def read(words: Sequence[str]) -> Steps | None:
    """Take bubblewrap's words (`bubblewrap.arguments`) apart; None where one of them isn't known here."""
    try:
        return [*_steps(words)]
    except ValueError:
        return None


def enter(steps: Steps, directory: int) -> None:
    """Leave the machine's file system for the view that the words make, for good, and go to the directory in it.

    Rights that the words don't name are given up, and no program gains any. Raises OSError, with ESTALE where the
    directory isn't what it was.
    """
    coming = Coming(directory)
    leave(steps, coming.user, coming.group)
    make(steps)
    coming.settle(steps)


class Coming:
    """Who is on the way into a view: what they were outside, and where they are to be inside."""

    def __init__(self, directory: int) -> None:
        self._place, self._was = os.readlink(f"/proc/self/fd/{directory}"), os.fstat(directory)
        self._proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)  # inside, it can't be written to
        self.user, self.group = os.geteuid(), os.getegid()

    def settle(self, steps: Steps) -> None:
        """Go to the directory, and give up what the words don't name. Raises OSError, see `enter`."""
        try:
            os.chdir(self._place)
            is_there = os.path.samestat(self._was, os.stat("."))
        except OSError:
            is_there = False
        if not is_there:
            raise OSError(errno.ESTALE, "moved")
        if self.user != 0:
            # What the mounts belong to is left behind: nothing from here on can change them, whatever it becomes.
            calls().unshare(_NEW_USERS)
            _be(self._proc, f"{self.user} 0 1", f"{self.group} 0 1")
        os.close(self._proc)
        keep_rights(sum(1 << _CAPABILITIES[step[1]] for step in steps if step[0] == "--cap-add"))


def make(steps: Steps) -> None:
    """Make the view that the words describe, and let it be the root. Raises OSError."""
    # All are copied before anything is laid over where they come from: each is open until it is placed.
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    trees = {at: calls().tree(step[1], _BINDS[step[0]]) for at, step in enumerate(steps) if step[0] in _BINDS}
    mask = os.umask(0)
    view = _View()
    for at, (name, *operands) in enumerate(steps):
        if at in trees:
            view.bind(trees[at], operands[1], is_real=operands[0] == operands[1])
            os.close(trees[at])
        elif name in _MAKES:
            _MAKES[name](view, *operands)
    os.umask(mask)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    view.become_root()


def _steps(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    at, mode = 1, "0755"
    while words[at] != "--seccomp":
        name, count = words[at], _OPERANDS.get(words[at], 1)
        if name in _NAMESPACES:
            count = 0
        elif name == "--perms":
            mode = words[at + 1]
        elif name not in _OPERANDS and name not in ("--cap-add", "--cap-drop"):
            raise ValueError(name)
        operands = words[at + 1 : at + 1 + count]
        if name != "--perms":
            yield (name, *operands, mode) if name == "--tmpfs" else (name, *operands)
            mode = "0755"
        at += 1 + count


def leave(steps: Steps, user: int, group: int) -> None:
    """Enter namespaces of its own; without root's rights they belong to a user's, in which one is root."""
    calls().unshare(_kinds(steps) | (_NEW_USERS if user != 0 else 0))
    if user != 0:
        here = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        _be(here, f"0 {user} 1", f"0 {group} 1")  # who has terminals of its own must be root
        os.close(here)
    _connect_itself(steps)
    calls().mount(b"none", b"/", None, _SLAVES, None)


def part(steps: Steps) -> None:
    """Take what is seen as a copy of one's own, and in it, empty and anew, what a command may write and nobody share.

    For who entered the namespaces in which a view was made. Raises OSError.
    """
    calls().unshare(_kinds(steps))
    _connect_itself(steps)
    sealed = {step[1] for step in steps if step[0] == "--remount-ro"}
    for name, *operands in steps:
        if name == "--tmpfs" and operands[0] not in sealed:
            place, mode = map(os.fsencode, operands)
            calls().mount(b"tmpfs", place, b"tmpfs", _NO_SETUID | _NO_DEVICES, b"mode=" + mode)
        elif name == "--dev":
            calls().mount(b"devpts", os.fsencode(f"{operands[0]}/pts"), b"devpts", *_OWN_TERMINALS)


def _kinds(steps: Steps) -> int:
    return _NEW_MOUNTS | sum({_NAMESPACES.get(step[0], 0) for step in steps})


def _connect_itself(steps: Steps) -> None:
    if ("--unshare-net",) in steps:
        loopback_up()


def _be(proc: int, user: str, group: str) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", user), ("gid_map", group)):
        file = os.open(f"self/{name}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        os.write(file, text.encode())
        os.close(file)


class _Libc:
    """The calls that Python has no name for. Each raises OSError."""

    def __init__(self) -> None:
        path, size = ctypes.c_char_p, ctypes.c_size_t
        self._open_tree = _call(_OPEN_TREE, ctypes.c_int, path, ctypes.c_uint)
        self._openat2 = _call(_OPENAT2, ctypes.c_int, path, ctypes.c_char_p, size)
        self._set = _call(_MOUNT_SETATTR, ctypes.c_int, path, ctypes.c_uint, ctypes.c_char_p, size)
        self._move = _call(_MOVE_MOUNT, ctypes.c_int, path, ctypes.c_int, path, ctypes.c_uint)
        self._pivot_root = _call(_PIVOT_ROOT[os.uname().machine], path, path)

    def unshare(self, kinds: int) -> None:
        _done("unshare", libc().unshare(kinds))

    def mount(self, source: bytes, place: bytes, kind: bytes | None, flags: int, data: bytes | None) -> None:
        _done(place, libc().mount(source, place, kind, ctypes.c_ulong(flags), data))

    def tree(self, source: str, attributes: int) -> int:
        """Copy what is mounted at a place and below; return the copy, which lies nowhere yet.

        The place is real: a link in it was put there since. Raises OSError.
        """
        place = self.open(_HERE, source, _NO_LINKS | _NO_MAGIC_LINKS)
        tree = _done(source, self._open_tree(place, b"", _CLONE | _CLOSE_ON_EXEC | _RECURSIVE | _EMPTY_PATH))
        os.close(place)
        self.set(tree, attributes, _RECURSIVE)
        return tree

    def open(self, folder: int, path: str, resolve: int) -> int:
        """Open a path as a place only, with rules for the way there."""
        how = struct.pack("=3Q", os.O_PATH | os.O_CLOEXEC, 0, resolve)
        return _done(path, self._openat2(folder, os.fsencode(path), how, len(how)))

    def set(self, mounted: int, attributes: int, also: int = 0) -> None:
        """Set attributes of a mount; with `_RECURSIVE`, of all in it."""
        how = struct.pack("=4Q", attributes, 0, 0, 0)
        _done("", self._set(mounted, b"", _EMPTY_PATH | also, how, len(how)))

    def move(self, tree: int, folder: int, name: str = "") -> None:
        """Lay a copied tree over a folder, or over what has a name in it: a link of that name isn't followed."""
        flags = _FROM_EMPTY_PATH if name else _FROM_EMPTY_PATH | _TO_EMPTY_PATH
        _done(name, self._move(tree, b"", folder, os.fsencode(name), flags))

    def pivot_root(self) -> None:
        """Let the working directory be the root, and what was the root be nowhere."""
        _done("pivot_root", self._pivot_root(b".", b"."))
        _done("umount", libc().umount2(b".", _DETACH))


def _done(what: str | bytes, answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), "view", what)
    return answer


def _call(number: int, *kinds: type[Any]) -> Callable[..., int]:
    """Return a system call whose arguments are of these kinds."""
    kind = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, *kinds, use_errno=True)
    return partial(kind(("syscall", libc())), number)


calls = cache(_Libc)  # made before the first fork, and there after each


class _View:
    """An empty tree that is filled. Places are absolute, as they will be seen; a link in one leads within the tree."""

    def __init__(self) -> None:
        self._calls = calls()
        self._calls.mount(b"tmpfs", b"/tmp", b"tmpfs", _NO_SETUID | _NO_DEVICES, b"mode=0755")
        self._root = os.open("/tmp", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        # The folders that were made here, in the tree itself, with all those above each: nobody else sees them, and so
        # the way into one needn't be looked at again.
        self._own = {"/"}

    def bind(self, tree: int, place: str, *, is_real: bool = False) -> None:
        """Place a copied tree. On the way to a real place there are no links, or it isn't what it was."""
        is_folder = stat.S_ISDIR(os.fstat(tree).st_mode)
        if self._makes(place) if is_folder else self._makes_file(place):
            self._calls.move(tree, self._root, place[1:])
            self._lay_over(place)
            return
        way = _NO_LINKS if is_real else 0
        target = self._folder(place, way) if is_folder else self._file(place, way)
        self._calls.move(tree, target)
        os.close(target)
        if not is_real:
            self._own = {"/"}  # a link may have led into one of them

    def folder(self, place: str) -> None:
        """Make a folder, with those above it."""
        if not self._makes(place):
            os.close(self._folder(place))

    def empty(self, place: str, mode: str) -> None:
        """Place an empty folder, which may be written to."""
        self._mount(place, b"tmpfs", _NO_SETUID | _NO_DEVICES, f"mode={mode}")

    def link(self, target: str, place: str) -> None:
        """Make a link."""
        folder, name = os.path.split(place)
        if self._makes(folder):
            os.symlink(target, place[1:], dir_fd=self._root)
            return
        above = self._folder(folder)
        os.symlink(target, name, dir_fd=above)
        os.close(above)

    def seal(self, place: str) -> None:
        """Let what was placed there be read-only."""
        if place == "/":
            self._calls.set(self._root, _READ_ONLY)
            return
        mounted = self._open(place)
        self._calls.set(mounted, _READ_ONLY)
        os.close(mounted)

    def devices(self, place: str) -> None:
        """Place the devices that any program may use, and terminals of its own."""
        self.empty(place, "0755")
        for name in _DEVICES:
            tree = self._calls.tree(f"/dev/{name}", _NO_SETUID)
            self.bind(tree, f"{place}/{name}")
            os.close(tree)
        for name, target in _LINKS.items():
            self.link(target, f"{place}/{name}")
        self.folder(f"{place}/shm")
        self._mount(f"{place}/pts", b"devpts", _OWN_TERMINALS[0], _OWN_TERMINALS[1].decode())

    def become_root(self) -> None:
        """Leave the old tree for this one."""
        os.fchdir(self._root)
        self._calls.pivot_root()
        os.chdir("/")
        os.close(self._root)

    def _mount(self, place: str, kind: bytes, flags: int, options: str) -> None:
        is_own = self._makes(place)
        folder = self._folder(place)
        self._calls.mount(kind, f"/proc/self/fd/{folder}".encode(), kind, flags, options.encode())
        os.close(folder)
        if is_own:
            self._lay_over(place)
            self._own.add(place)
        else:
            self._own = {"/"}

    def _makes(self, place: str) -> bool:
        """Make a folder in the tree itself; False where what was laid there, or a link, is on the way, or it itself."""
        missing: list[str] = []
        while place not in self._own:
            missing.append(place)
            place = os.path.dirname(place)
            if place == missing[-1]:  # "//"
                return False
        for path in reversed(missing):
            try:
                os.mkdir(path[1:], 0o755, dir_fd=self._root)
            except FileExistsError:
                return False
            self._own.add(path)
        return True

    def _makes_file(self, place: str) -> bool:
        """Make a file, as `_makes` does."""
        if not self._makes(os.path.dirname(place)):
            return False
        try:
            os.mknod(place[1:], stat.S_IFREG | 0o666, dir_fd=self._root)
        except FileExistsError:
            return False
        return True

    def _lay_over(self, place: str) -> None:
        """Take note that what was made there, and below, is there no longer."""
        if place in self._own:
            self._own = {own for own in self._own if own == "/" or not f"{own}/".startswith(f"{place}/")}

    def _folder(self, place: str, way: int = 0) -> int:
        """Open a folder; what isn't there yet is made."""
        missing: list[str] = []
        while True:
            try:
                found = self._open(place, way)
                break
            except FileNotFoundError:
                missing.append(place)
                place = os.path.dirname(place) or "/"
        for path in reversed(missing):
            with suppress(FileExistsError):  # another command's view makes it in the same folder, at the same time
                os.mkdir(os.path.basename(path), 0o755, dir_fd=found)
            os.close(found)
            found = self._open(path, way)
        return found

    def _file(self, place: str, way: int) -> int:
        """Open a file; what isn't there yet is made."""
        with suppress(FileNotFoundError):
            return self._open(place, way)
        above = self._folder(os.path.dirname(place), way)
        try:
            with suppress(FileExistsError):
                os.mknod(os.path.basename(place), stat.S_IFREG | 0o666, dir_fd=above)
        finally:
            os.close(above)
        return self._open(place, way)

    def _open(self, place: str, way: int = 0) -> int:
        return self._calls.open(self._root, place, _IN_ROOT | _NO_MAGIC_LINKS | way)


_MAKES: dict[str, Callable[..., None]] = {
    "--tmpfs": _View.empty,
    "--dir": _View.folder,
    "--symlink": _View.link,
    "--remount-ro": _View.seal,
    "--dev": _View.devices,
}
