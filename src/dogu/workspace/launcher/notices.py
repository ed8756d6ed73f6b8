"""System calls of a command that wait until its supervisor has heard of them: seccomp's user notification.

What is told is a subclass's: `renames`, `writes`. A command has one of them at most, since the kernel lets nobody
listen twice. Standard library only.
Source: seccomp_unotify(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import struct
from contextlib import suppress
from typing import NamedTuple

from dogu.workspace.launcher.libc import libc
from dogu.workspace.system import IS_LINUX

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 1 << 3, 1 << 5
_RECEIVE, _SEND, _STILL_WAITS = 0xC0502100, 0xC0182101, 0x40082102
_NOTICE, _REPLY = "=QIIiIQ6Q", "=QqiI"
_CONTINUE = 1
_HERE = -100
_MOST_AT_ONCE = 200  # until others are heard again
_PATH_BYTES = 4096
FOLLOW = 0x400  # AT_SYMLINK_FOLLOW
NO_REPLACE, EXCHANGE = 1, 2  # of renameat2
OPENED_AGAIN = b"/proc/", b"/dev/fd/", b"/dev/std"
_STREAMS = {b"/dev/stdin": b"0", b"/dev/stdout": b"1", b"/dev/stderr": b"2"}
_PLACE = os.O_PATH | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0
_ADDRESS_BYTES = 110  # struct sockaddr_un
_HOW = struct.Struct("=QQQ")  # struct open_how
_MOST_LINKS = 8
_MOST_LINKS_OF_A_PATH = 40


class UnreadableError(OSError):
    """What a process holds can't be read: it may not be traced, as programs that keep secrets see to."""


class Notice(NamedTuple):
    """A call that waits: who makes it, which it is, and its six arguments."""

    ident: int
    pid: int
    number: int
    words: tuple[int, ...]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


def can_tell(*, is_confined: bool = True) -> bool:
    """Whether this kernel tells calls: of commands that aren't confined, root's alone."""
    if not (IS_LINUX and (is_confined or os.geteuid() == 0)):
        return False
    try:
        with open("/proc/sys/kernel/seccomp/actions_avail", encoding="ascii") as actions:
            return os.uname().machine in _SECCOMP and "user_notif" in actions.read().split()
    except OSError:
        return False


def tell(to: socket.socket, lines: bytes) -> bool:
    """Have the calls that a filter (`seccomp.telling`) names told to whoever is at the other end.

    For this process and what it starts; between fork and exec. Where the kernel refuses, as it does to those who could
    still gain privileges and aren't the system's root, nothing is told: False.
    """
    program = _Program(len(lines) // 8, lines)
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):
        listener = libc().syscall(_SECCOMP[os.uname().machine], _SET_FILTER, flags, ctypes.byref(program))
        if listener >= 0:
            socket.send_fds(to, [b"."], [listener])
            os.close(listener)
            return True
    return False


class Notices:
    """The supervisor's end: `listener` is readable where a call waits, -1 where none is told. `far` is the command's
    end until it is started."""

    def __init__(self) -> None:
        self._near, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener = -1
        import fcntl  # which Windows, where this module is read too, doesn't have

        self._control = fcntl.ioctl

    def started(self) -> None:
        """Take over the listener, if there is one."""
        self.far.close()
        _, descriptors, _, _ = socket.recv_fds(self._near, 1, 1)
        self._near.close()
        self.listener = descriptors[0] if descriptors else -1

    def answer(self) -> bool:
        """Answer those that wait, and what follows at once; False when nobody is left who could ask."""
        poller = select.poll()
        poller.register(self.listener, select.POLLIN)
        for _ in range(_MOST_AT_ONCE):
            if not self._answer_one():
                return False
            if not any(event & select.POLLIN for _, event in poller.poll(1)):
                break
        return True

    def close(self) -> None:
        """Answer nobody any more."""
        os.close(self.listener)
        self.listener = -1

    def decide(self, notice: Notice) -> int | None:
        """Return the number of the error that the caller gets, 0 for success; None: the kernel is to do it."""
        raise NotImplementedError

    def _answer_one(self) -> bool:
        received = bytearray(struct.calcsize(_NOTICE))
        try:
            self._control(self.listener, _RECEIVE, received)
        except OSError as error:
            return error.errno in (errno.ENOENT, errno.EINTR)  # who asked is gone
        ident, pid, _, number, _, _, *words = struct.unpack(_NOTICE, received)
        try:
            result = self.decide(Notice(ident, pid, number, tuple(words)))
        except OSError:
            result = None
        flags = _CONTINUE if result is None else 0
        with suppress(OSError):
            self._control(self.listener, _SEND, bytearray(struct.pack(_REPLY, ident, 0, -(result or 0), flags)))
        return True

    def still_waits(self, notice: Notice) -> bool:
        """Whether the caller is still there: else its number may be another process's by now."""
        try:
            self._control(self.listener, _STILL_WAITS, struct.pack("=Q", notice.ident))
        except OSError:
            return False
        return True


def path_in_root(notice: Notice, folder: int, path: int) -> bytes:
    """Return a path as above of a call that takes a folder for the root, without the links in it. Raises OSError."""
    above = path_of(notice, folder, None)
    root = b"/proc/%d/root%s" % (notice.pid, above)
    return above + through_links(_text(notice.pid, notice.words[path]), notice.pid, follows=True, root=root)


def path_of(notice: Notice, folder: int | None, path: int | None) -> bytes:
    """Return the absolute path that a caller means, as it sees it; not resolved. Raises OSError.

    `folder` and `path` are places among the arguments: of a descriptor (None: the working directory) and of a string
    (None: the descriptor itself).
    """
    text = _text(notice.pid, notice.words[path]) if path is not None and notice.words[path] else b""
    if text.startswith(b"/"):
        return text
    descriptor = _HERE if folder is None else ctypes.c_int(notice.words[folder] & 0xFFFFFFFF).value
    link = f"/proc/{notice.pid}/cwd" if descriptor == _HERE else f"/proc/{notice.pid}/fd/{descriptor}"
    above = _held(os.fsencode(link))
    return above + b"/" + text if text else above


def bound_to(notice: Notice) -> bytes:
    """Return the path that a call of bind gives a socket; b"" for what has none. Raises OSError."""
    address = _memory(notice.pid, notice.words[1], min(notice.words[2], _ADDRESS_BYTES))
    name = address[2:].partition(b"\0")[0] if address[:2] == struct.pack("=H", socket.AF_UNIX) else b""
    return os.path.join(_held(b"/proc/%d/cwd" % notice.pid), name) if name else b""


def how_opened(notice: Notice) -> tuple[int, int]:
    """Return the flags of a call of openat2, and how its path is to be resolved. Raises OSError."""
    flags, _, resolve = _HOW.unpack(_memory(notice.pid, notice.words[2], _HOW.size).ljust(_HOW.size, b"\0"))
    return flags, resolve


def _memory(pid: int, pointer: int, most: int) -> bytes:
    """Read memory of another process; less, where less is there. Raises OSError."""
    if pointer >> 63:  # no process has any there
        raise OSError(errno.EFAULT, "pointer")
    try:
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError as error:
        raise UnreadableError(*error.args) from error
    try:
        return os.pread(memory, most, pointer)
    finally:
        os.close(memory)


def _held(link: bytes) -> bytes:
    """Return where a process is, or what it has open. Raises OSError."""
    try:
        return os.readlink(link)
    except PermissionError as error:
        raise UnreadableError(*error.args) from error


def opened_again(path: bytes, pid: int) -> bytes:
    """Return the path of what a process opens by the number that it has it open with; else the path as it is."""
    above, _, name = path.rpartition(b"/")
    number = _STREAMS.get(path, name if above in (b"/dev/fd", b"/proc/self/fd", b"/proc/%d/fd" % pid) else b"")
    return _held(b"/proc/%d/fd/%s" % (pid, number)) if number.isdigit() else path


def leads_to(path: bytes, root: bytes = b"") -> bytes:
    """Return where a file would be made by a name that may be a link to nothing, beneath another process's `root`."""
    for _ in range(_MOST_LINKS):
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(root + path))
        except OSError:
            break
        with suppress(OSError):
            path = os.path.join(_place(root, os.path.dirname(path)), os.path.basename(path))
    return path


def through_links(path: bytes, pid: int, *, follows: bool, root: bytes = b"") -> bytes:
    """Return a path as a process sees it, beneath its root or another, without the links in it, the last of which is
    one only where it `follows`.

    Each link is gone through by itself: the kernel would take absolute ones, and `self`, for this process's. Raises
    OSError.
    """
    root = root or b"/proc/%d/root" % pid
    names = path.split(b"/")[::-1]
    at, links = b"", 0
    while names:
        name = names.pop()
        if name in (b"", b"."):
            continue
        if name == b"..":
            at = at.rpartition(b"/")[0]
            continue
        place = b"%s/%d" % (at, pid) if at == b"/proc" and name in (b"self", b"thread-self") else at + b"/" + name
        text = _link(root + place) if names or follows else b""
        if not text:
            at = place
            continue
        links += 1
        if links > _MOST_LINKS_OF_A_PATH:
            raise OSError(errno.ELOOP, "links")
        at = b"" if text.startswith(b"/") else at
        names += text.split(b"/")[::-1]
    return at or b"/"


def _link(path: bytes) -> bytes:
    try:
        return os.readlink(path)
    except OSError:
        return b""


def _place(root: bytes, path: bytes) -> bytes:
    """Raises OSError."""
    opened = os.open(root + path, _PLACE)
    try:
        return os.readlink(b"/proc/self/fd/%d" % opened)
    finally:
        os.close(opened)


def _text(pid: int, pointer: int) -> bytes:
    """Read a string of another process."""
    data = _memory(pid, pointer, _PATH_BYTES - pointer % _PATH_BYTES)
    if b"\0" not in data:
        data += _memory(pid, pointer + len(data), _PATH_BYTES)
    text, end, _ = data.partition(b"\0")
    if not end:
        raise OSError(errno.ENAMETOOLONG, "path")
    return text
