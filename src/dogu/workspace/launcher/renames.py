"""Renames of folders in a layer of a user's own: the kernel refuses them (EXDEV), so they're done here, piece by piece.

A layer that isn't the machine's root's can't say that a folder which was there before has another name now. Programs
don't expect that of one file system, and some don't even look. So a command's renames are told to its supervisor, which
does what the kernel won't in the command's stead: the new folder is made, what is in it is renamed (files can be), the
old one removed. Anything but a folder goes on to the kernel. Standard library only.
Source: seccomp_unotify(2), rename(2), openat2(2), Documentation/filesystems/overlayfs.rst.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import stat
import struct
from contextlib import suppress
from typing import NamedTuple

from dogu.workspace.launcher.landlock import no_new_privileges
from dogu.workspace.launcher.layers import holds_renames
from dogu.workspace.launcher.seccomp import telling

_CALLS = {"x86_64": (317, 316, (82, 264, 316)), "aarch64": (277, 276, (-1, 38, 276))}  # seccomp, renameat2, told ones
_OPENAT2 = 437
_SET_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 1 << 3, 1 << 5
_RECEIVE, _SEND, _STILL_WAITS = 0xC0502100, 0xC0182101, 0x40082102
_NOTE, _REPLY = "=QIIiIQ6Q", "=QqiI"
_CONTINUE = 1
_HERE = -100
_IN_ROOT = 0x10
_NO_REPLACE = 1
_MOST_AT_ONCE = 200  # until others are heard again
_MOST_ENTRIES = 100_000
_MOST_BYTES = 4 << 30
_SPARE_BYTES = 256 << 20
_PATH_BYTES = 4096
_ON_LINUX = hasattr(os, "O_PATH")  # elsewhere this is imported too, and asked for no more than `can_tell`
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC if _ON_LINUX else 0
_PLACE = os.O_PATH | os.O_CLOEXEC if _ON_LINUX else 0


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


class _Request(NamedTuple):
    """A rename as a process asks for it; paths are relative to the folders' descriptors, as in renameat2(2)."""

    pid: int
    old_folder: int
    old: int
    new_folder: int
    new: int
    flags: int


def can_tell() -> bool:
    """Whether this kernel tells renames."""
    try:
        with open("/proc/sys/kernel/seccomp/actions_avail", encoding="ascii") as actions:
            return os.uname().machine in _CALLS and "user_notif" in actions.read().split()
    except OSError:
        return False


def tell(to: socket.socket) -> None:
    """Have the renames of this process, and of what it starts, told to whoever is at the other end, where needed.

    Between fork and exec. Where the kernel refuses, nothing is told.
    """
    if holds_renames() or not can_tell():
        return
    no_new_privileges()
    machine = os.uname().machine
    number, _, told = _CALLS[machine]
    lines = telling(machine, [each for each in told if each >= 0])
    program = _Program(len(lines) // 8, lines)
    libc = ctypes.CDLL(None, use_errno=True)
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):
        listener = libc.syscall(number, _SET_FILTER, flags, ctypes.byref(program))
        if listener >= 0:
            socket.send_fds(to, [b"."], [listener])
            os.close(listener)
            return


class Renames:
    """The supervisor's end: `listener` is readable where a rename waits, -1 where none is told. `refused`: one could
    not be done. `far` is the command's end until it is started."""

    def __init__(self) -> None:
        self._near, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener = -1
        self.refused = False
        import fcntl  # which Windows, where this module is read too, doesn't have

        self._control = fcntl.ioctl
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._rename = _CALLS[os.uname().machine][1]
        self._told = _CALLS[os.uname().machine][2]

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

    def _answer_one(self) -> bool:
        note = bytearray(struct.calcsize(_NOTE))
        try:
            self._control(self.listener, _RECEIVE, note)
        except OSError as error:
            return error.errno in (errno.ENOENT, errno.EINTR)  # who asked is gone
        ident, pid, _, number, _, _, *words = struct.unpack(_NOTE, note)
        try:
            result = self._done(self._request(pid, number, words), ident)
        except OSError:
            result = None
        flags = _CONTINUE if result is None else 0
        with suppress(OSError):
            self._control(self.listener, _SEND, bytearray(struct.pack(_REPLY, ident, 0, -(result or 0), flags)))
        return True

    def close(self) -> None:
        """Answer nobody any more."""
        os.close(self.listener)
        self.listener = -1

    def _request(self, pid: int, number: int, words: list[int]) -> _Request:
        if number == self._told[0]:
            return _Request(pid, _HERE, words[0], _HERE, words[1], 0)
        flags = words[4] & 0xFFFFFFFF if number == self._told[2] else 0
        old, new = (ctypes.c_int(word & 0xFFFFFFFF).value for word in (words[0], words[2]))
        return _Request(pid, old, words[1], new, words[3], flags)

    def _done(self, request: _Request, ident: int) -> int | None:
        """Rename a folder and return the error's number, 0 for none; None where the kernel is to do it."""
        opened: list[int] = []
        try:
            old_place, old = self._place(request.pid, request.old_folder, request.old, opened)
            status = os.stat(old, dir_fd=old_place, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                return None
            new_place, new = self._place(request.pid, request.new_folder, request.new, opened)
            if not self._still_waits(ident):  # else its number may be another process's by now, and the names as well
                return None
            number = self._by_kernel(old_place, old, new_place, new, request.flags)
            if number != errno.EXDEV or os.fstat(old_place).st_dev != os.fstat(new_place).st_dev:
                return number
            if not request.flags & ~_NO_REPLACE:
                number = _by_pieces(old_place, old, new_place, new, request.flags)
            self.refused = self.refused or number == errno.EXDEV
            return number
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def _still_waits(self, ident: int) -> bool:
        try:
            self._control(self.listener, _STILL_WAITS, struct.pack("=Q", ident))
        except OSError:
            return False
        return True

    def _by_kernel(self, old_place: int, old: bytes, new_place: int, new: bytes, flags: int) -> int:
        done = self._libc.syscall(self._rename, old_place, old, new_place, new, flags)
        return 0 if done == 0 else ctypes.get_errno()

    def _place(self, pid: int, folder: int, pointer: int, opened: list[int]) -> tuple[int, bytes]:
        """Return the folder that a name lies in, as the process sees it, and the name."""
        path = _text(pid, pointer)
        if not path.startswith(b"/"):
            link = f"/proc/{pid}/cwd" if folder == _HERE else f"/proc/{pid}/fd/{folder}"
            path = os.readlink(os.fsencode(link)) + b"/" + path
        above, _, name = path.rstrip(b"/").rpartition(b"/")
        if name in (b"", b".", b".."):
            raise OSError(errno.EINVAL, "name")
        root = os.open(f"/proc/{pid}/root", _PLACE)
        opened.append(root)
        how = struct.pack("=QQQ", _PLACE | os.O_DIRECTORY, 0, _IN_ROOT)
        place = self._libc.syscall(_OPENAT2, root, above or b"/", how, len(how))
        if place < 0:
            raise OSError(ctypes.get_errno(), "place")
        opened.append(place)
        return place, name


def _text(pid: int, pointer: int) -> bytes:
    """Read a string of another process."""
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.pread(memory, _PATH_BYTES - pointer % _PATH_BYTES, pointer)
        if b"\0" not in data:
            data += os.pread(memory, _PATH_BYTES, pointer + len(data))
    finally:
        os.close(memory)
    text, end, _ = data.partition(b"\0")
    if not end:
        raise OSError(errno.ENAMETOOLONG, "path")
    return text


class _Entry(NamedTuple):
    """What is in the folder: where, by its parts, and what it is."""

    parts: tuple[bytes, ...]
    status: os.stat_result


def _by_pieces(old_place: int, old: bytes, new_place: int, new: bytes, flags: int) -> int:
    """Make the new folder, move over what is in the old one, and remove that; return the error's number, or 0."""
    try:
        top = os.stat(old, dir_fd=old_place, follow_symlinks=False)
        entries = _entries(old_place, old)
        if entries is None:
            return errno.EXDEV
        if flags & _NO_REPLACE and _is_there(new_place, new):
            return errno.EEXIST
        with suppress(FileNotFoundError):
            os.rmdir(new, dir_fd=new_place)
        os.mkdir(new, 0o700, dir_fd=new_place)
    except OSError as error:
        return error.errno or errno.EIO
    source, target = os.open(old, _FOLDER, dir_fd=old_place), os.open(new, _FOLDER, dir_fd=new_place)
    moving = _Moving(source, target)
    try:
        for entry in entries:
            moving.move(entry)
        moving.finish([*entries, _Entry((), top)])
        os.rmdir(old, dir_fd=old_place)
    except OSError as error:
        moving.back()
        with suppress(OSError):
            os.rmdir(new, dir_fd=new_place)
        return error.errno or errno.EIO
    finally:
        os.close(source)
        os.close(target)
    return 0


class _Moving:
    """Moves what is in one folder to another, entry by entry, with their other names."""

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._done: list[_Entry] = []
        self._names: dict[tuple[int, int], bytes] = {}

    def move(self, entry: _Entry) -> None:
        path, status = b"/".join(entry.parts), entry.status
        if stat.S_ISDIR(status.st_mode):
            os.mkdir(path, 0o700, dir_fd=self._target)
        else:
            file = (status.st_dev, status.st_ino)
            if status.st_nlink > 1 and file in self._names:
                os.link(self._names[file], path, src_dir_fd=self._target, dst_dir_fd=self._target)
                os.unlink(path, dir_fd=self._source)
            else:
                os.rename(path, path, src_dir_fd=self._source, dst_dir_fd=self._target)
                self._names[file] = path
        self._done.append(entry)

    def finish(self, entries: list[_Entry]) -> None:
        """Give the folders what they had, the deepest first, and remove the old ones."""
        for entry in sorted(entries, key=lambda entry: -len(entry.parts)):
            if stat.S_ISDIR(entry.status.st_mode):
                path = b"/".join(entry.parts) or b"."
                _liken(self._source, self._target, path, entry.status)
                if entry.parts:
                    os.rmdir(path, dir_fd=self._source)

    def back(self) -> None:
        """Undo it: all that was moved goes back to where it was."""
        for entry in reversed(self._done):
            path = b"/".join(entry.parts)
            with suppress(OSError):
                if stat.S_ISDIR(entry.status.st_mode):
                    os.rmdir(path, dir_fd=self._target)
                else:
                    os.rename(path, path, src_dir_fd=self._target, dst_dir_fd=self._source)


def _liken(source: int, target: int, path: bytes, status: os.stat_result) -> None:
    old, new = os.open(path, _FOLDER, dir_fd=source), os.open(path, _FOLDER, dir_fd=target)
    try:
        for name in os.listxattr(old):
            if not name.startswith(("user.overlay.", "security.")):
                os.setxattr(new, name, os.getxattr(old, name))
        os.fchmod(new, stat.S_IMODE(status.st_mode))
        os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    finally:
        os.close(old)
        os.close(new)


def _entries(place: int, name: bytes) -> list[_Entry] | None:
    """Return all that is in a folder, each folder before what is in it; None where that is too much to be copied."""
    found: list[_Entry] = []
    todo: list[tuple[bytes, tuple[bytes, ...]]] = [(name, ())]
    size = 0
    free = os.statvfs(f"/proc/self/fd/{place}")
    most = min(_MOST_BYTES, free.f_bavail * free.f_frsize - _SPARE_BYTES)
    while todo:
        path, parts = todo.pop()
        folder = os.open(path, _FOLDER, dir_fd=place)
        try:
            for each in os.listdir(folder):
                within = os.fsencode(each)
                status = os.stat(within, dir_fd=folder, follow_symlinks=False)
                found.append(_Entry((*parts, within), status))
                size += min(status.st_size, status.st_blocks * 512)
                if stat.S_ISDIR(status.st_mode):
                    todo.append((path + b"/" + within, (*parts, within)))
        finally:
            os.close(folder)
        if size > most or len(found) > _MOST_ENTRIES:
            return None
    return found


def _is_there(place: int, name: bytes) -> bool:
    try:
        os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
