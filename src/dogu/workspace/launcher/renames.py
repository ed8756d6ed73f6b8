"""Renames of folders in a layer of a user's own: the kernel refuses them (EXDEV), so they're done here, piece by piece.

A layer that isn't the machine's root's can't say that a folder which was there before has another name now. Programs
don't expect that of one file system, and some don't even look. So a command's renames are told to its supervisor, which
does what the kernel won't in the command's stead: the new folder is made, what is in it is renamed (files can be), the
old one removed. Anything but a folder goes on to the kernel. A further name of a file that was there before is refused
in the same way: such a layer shows the two under different numbers, and who compares these (`cp`, before it empties the
one that it writes to) would lose what the file holds. Standard library only.
Source: seccomp_unotify(2), rename(2), link(2), openat2(2), Documentation/filesystems/overlayfs.rst.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import stat
import struct
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from dogu.workspace.launcher import tree
from dogu.workspace.launcher.landlock import no_new_privileges
from dogu.workspace.launcher.layers import holds_renames
from dogu.workspace.launcher.let_go import inode_at
from dogu.workspace.launcher.libc import libc
from dogu.workspace.launcher.notices import (
    EXCHANGE,
    FOLLOW,
    NO_REPLACE,
    Notice,
    Notices,
    can_tell,
    opened_again,
    path_of,
    tell,
    through_links,
)
from dogu.workspace.launcher.seccomp import telling

_CALLS = {"x86_64": (82, 264, 316), "aarch64": (-1, 38, 276)}  # rename, renameat, renameat2
_LINKS = {"x86_64": (86, 265), "aarch64": (-1, 37)}  # link, linkat
_OPENAT2 = 437
_IN_ROOT = 0x10
_LONGEST_PATH = 3_800  # of a folder: with a name in it the kernel takes no longer one
_MOST_ENTRIES = 100_000
_MOST_BYTES = 4 << 30
_SPARE_BYTES = 256 << 20
_ON_LINUX = hasattr(os, "O_PATH")  # elsewhere this is imported too, and asked for nothing
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC if _ON_LINUX else 0
_PLACE = os.O_PATH | os.O_CLOEXEC if _ON_LINUX else 0


def tell_renames(to: socket.socket) -> None:
    """Have renames and links told where the kernel wouldn't do them all; see `notices.tell`."""
    if not holds_renames() and can_tell():
        machine = os.uname().machine
        no_new_privileges()
        tell(to, telling(machine, [number for number in (*_CALLS[machine], *_LINKS[machine]) if number >= 0]))


class Renames(Notices):
    """Does renames of folders in the kernel's stead; `layers` are as `layers.enter` takes them.

    `refused`: one could not be done, or a link. `parted`: a file of several names may have been renamed, and is one of
    its own since.
    """

    def __init__(self, layers: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__()
        self.refused = self.parted = False
        self._layers = layers
        self._told = _CALLS[os.uname().machine]
        self._links = _LINKS[os.uname().machine]

    def decide(self, notice: Notice) -> int | None:
        """Rename a folder, and refuse a link that can't be; anything else is the kernel's."""
        if notice.number in self._links:
            is_refused = self._links_what_was_there(notice)
            self.refused = self.refused or is_refused
            return errno.EXDEV if is_refused else None
        opened: list[int] = []
        try:
            return self._decide_on_rename(notice, opened)
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def _decide_on_rename(self, notice: Notice, opened: list[int]) -> int | None:
        is_plain = notice.number == self._told[0]
        flags = notice.words[4] & 0xFFFFFFFF if notice.number == self._told[2] else 0
        old_place, old = self._place(notice.pid, path_of(notice, *((None, 0) if is_plain else (0, 1))), opened)
        status, path = os.stat(old, dir_fd=old_place, follow_symlinks=False), _path_in(old_place, old)
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder:
            self.parted = self.parted or _have_other_names([path])
        if not (is_folder or flags & EXCHANGE):
            return None
        new_place, new = self._place(notice.pid, path_of(notice, *((None, 1) if is_plain else (2, 3))), opened)
        if not (is_folder or stat.S_ISDIR(os.stat(new, dir_fd=new_place, follow_symlinks=False).st_mode)):
            return None
        if not self.still_waits(notice):  # else the names may be another process's as well
            return None
        number = self._by_kernel(old_place, old, new_place, new, flags)
        if number != errno.EXDEV or os.fstat(old_place).st_dev != os.fstat(new_place).st_dev:
            return number
        if not flags & ~NO_REPLACE and not _is_held(path):
            number = self._by_pieces(old_place, old, new_place, new, flags)
        self.refused = self.refused or number == errno.EXDEV
        return number

    def _links_what_was_there(self, notice: Notice) -> bool:
        """Whether what is given another name isn't in its layer under the number that the caller sees."""
        is_plain = notice.number == self._links[0]
        flags = 0 if is_plain else notice.words[4]
        path = path_of(notice, *((None, 0) if is_plain else (0, 1)))
        path = through_links(opened_again(path, notice.pid), notice.pid, follows=bool(flags & FOLLOW))
        number = os.lstat(b"/proc/%d/root%s" % (notice.pid, path)).st_ino
        for root, folder in self._layers:
            if path.startswith(os.path.join(root, b"")):
                return inode_at(os.path.join(folder, b"upper", os.path.relpath(path, root))) != number
        return False

    def _by_pieces(self, old_place: int, old: bytes, new_place: int, new: bytes, flags: int) -> int:
        """Make the new folder, move over what is in the old one, and remove that; return the error's number, or 0."""
        try:
            top = os.stat(old, dir_fd=old_place, follow_symlinks=False)
            entries = _entries(old_place, old)
            if entries is None:
                return errno.EXDEV
            if flags & NO_REPLACE and _is_there(new_place, new):
                return errno.EEXIST
            with suppress(FileNotFoundError):
                os.rmdir(new, dir_fd=new_place)
            os.mkdir(new, 0o700, dir_fd=new_place)
        except OSError as error:
            return error.errno or errno.EIO
        path = _path_in(old_place, old)
        self.parted = self.parted or _have_other_names([b"/".join((path, *entry.parts)) for entry in entries])
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

    def _by_kernel(self, old_place: int, old: bytes, new_place: int, new: bytes, flags: int) -> int:
        done = libc().syscall(self._told[2], old_place, old, new_place, new, flags)
        return 0 if done == 0 else ctypes.get_errno()

    def _place(self, pid: int, path: bytes, opened: list[int]) -> tuple[int, bytes]:
        """Return the folder that a name lies in, as the process sees it, and the name."""
        above, _, name = path.rstrip(b"/").rpartition(b"/")
        if name in (b"", b".", b".."):
            raise OSError(errno.EINVAL, "name")
        root = os.open(f"/proc/{pid}/root", _PLACE)
        opened.append(root)
        how = struct.pack("=QQQ", _PLACE | os.O_DIRECTORY, 0, _IN_ROOT)
        place = libc().syscall(_OPENAT2, root, above or b"/", how, len(how))
        if place < 0:
            raise OSError(ctypes.get_errno(), "place")
        opened.append(place)
        return place, name


class _Entry(NamedTuple):
    """What is in the folder: where, by its parts, and what it is."""

    parts: tuple[bytes, ...]
    status: os.stat_result


def _path_in(place: int, name: bytes) -> bytes:
    return os.path.join(os.readlink(b"/proc/self/fd/%d" % place), name)


def _have_other_names(paths: list[bytes]) -> bool:
    """Whether a file has names elsewhere below the layer, where this process is: the layer parts it from them."""
    found: list[os.stat_result] = []
    for path in paths:
        with suppress(OSError):
            found.append(os.lstat(path))
    names = Counter((status.st_dev, status.st_ino) for status in found)
    return any(
        names[status.st_dev, status.st_ino] < status.st_nlink for status in found if not stat.S_ISDIR(status.st_mode)
    )


def _is_held(path: bytes) -> bool:
    """Whether a process of the command is in a folder, or has one of it open, which would be no longer there."""
    for pid in tree.survivors(os.getpid()):
        with suppress(OSError):  # it has ended
            held = b"/proc/%d/fd" % pid
            for link in (b"/proc/%d/cwd" % pid, *(os.path.join(held, each) for each in os.listdir(held))):
                with suppress(OSError):  # closed meanwhile
                    if (os.readlink(link) + b"/").startswith(path + b"/") and stat.S_ISDIR(os.stat(link).st_mode):
                        return True
    return False


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
        if size > most or len(found) > _MOST_ENTRIES or len(path) > _LONGEST_PATH:
            return None
    return found


def _is_there(place: int, name: bytes) -> bool:
    try:
        os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
