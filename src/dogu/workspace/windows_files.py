r"""POSIX's calls on files made of Windows' own, for `fs`: a name below an open folder's handle, by NtCreateFile.

A handle is a descriptor (`msvcrt.open_osfhandle`), a folder's too. Nothing that stands for another name is followed
under `O_NOFOLLOW`: a junction or symbolic link is opened itself and refused, and where the system followed one all the
same (Wine does with Unix' links), the path of the open file tells. Extended attributes are what a file is besides its
bytes: Windows' attributes, its access list, and a count of further streams, which can't be set and so keep the file
from being replaced. Standard library only, and imported on Windows alone.
Below: `windows_handles`. Source: LockFileEx, [MS-FSCC] 2.4.8 (folders), FSCTL_GET_REPARSE_POINT.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat as modes
import struct
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from ctypes import c_ulong, c_void_p
from typing import Any, Generic, TypeVar

from dogu.workspace import windows_handles as win
from dogu.workspace.windows_paths import is_link, link_target

assert sys.platform == "win32"

_Name = TypeVar("_Name", bound=str)
O_CLOEXEC = os.O_NOINHERIT
O_NOCTTY = 0
O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_PATH = 1 << 24, 1 << 25, 1 << 26, 1 << 27
LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8

_KEPT_ATTRIBUTES = win.HIDDEN | win.SYSTEM | win.ARCHIVE | 0x2000  # not indexed
_LOCKED_BYTE = 0x7FFFFFFF << 32  # far beyond what is read: locks of Windows stand in a reader's way
_GET_REPARSE_POINT = 0x900A8
_DACL = 4
_LONGEST_REPARSE_BYTES = 16 << 10
_FOLDER_BYTES = 64 << 10
_TO_REMOVE = win.DELETE | win.READ_ATTRIBUTES | win.WRITE_ATTRIBUTES
_ATTRIBUTES, _ACCESS_LIST, _FURTHER = "windows.attributes", "windows.access", "windows.streams"


def open(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
    """Open as open(2). A folder needs no flag; `O_NOFOLLOW` refuses with ELOOP whatever stands for another name."""
    access = win.READ_ATTRIBUTES
    writes = flags & (os.O_WRONLY | os.O_RDWR)
    if not flags & O_PATH:
        access |= (win.WRITE if writes else 0) | (0 if flags & os.O_WRONLY else win.READ)
    made = flags & os.O_CREAT
    disposition = (win.CREATE if flags & os.O_EXCL else win.OPEN_IF) if made else win.OPEN
    options = (win.DIRECTORY_FILE if flags & O_DIRECTORY else 0) | (win.NOT_DIRECTORY if writes or made else 0)
    if disposition == win.CREATE:
        access |= win.WRITE_DAC
    handle = win.create(path, dir_fd, access, disposition, options | (win.REPARSE if flags & O_NOFOLLOW else 0), mode)
    if flags & O_NOFOLLOW and (dir_fd is not None or disposition == win.OPEN):
        try:
            handle = _itself(handle, path, dir_fd, access, disposition, options)
        except OSError:
            win.kernel.CloseHandle(handle)
            raise
    descriptor = win.descriptor_of(handle, flags)
    if flags & os.O_TRUNC:
        os.ftruncate(descriptor, 0)
    return descriptor


def stat(path: str, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
    """Return what stat(2) says; of a junction and a symbolic link itself, that it is a link."""
    handle = win.create(
        path,
        dir_fd,
        win.READ_ATTRIBUTES,
        win.OPEN,
        0 if follow_symlinks else win.REPARSE,
    )
    linked = not follow_symlinks and _is_link(handle, path, dir_fd)
    descriptor = win.descriptor_of(handle, os.O_RDONLY)
    try:
        found = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    return _as_link(found) if linked else found


def mkdir(path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
    """Make a folder."""
    win.kernel.CloseHandle(win.create(path, dir_fd, win.READ_ATTRIBUTES, win.CREATE, win.DIRECTORY_FILE))


def unlink(path: str, *, dir_fd: int | None = None) -> None:
    """Remove a name at once, also of a file that is open or read-only; a link to a folder is a name too."""
    with win.opened(path, dir_fd, _TO_REMOVE, win.REPARSE) as handle:
        if win.attributes_of(handle)[0] & 0x10 and not _is_link(handle, path, dir_fd):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        win.dispose(handle, path)


def rmdir(path: str, *, dir_fd: int | None = None) -> None:
    """Remove an empty folder."""
    with win.opened(
        path,
        dir_fd,
        _TO_REMOVE,
        win.REPARSE | win.DIRECTORY_FILE,
    ) as handle:
        if _is_link(handle, path, dir_fd):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        win.dispose(handle, path)


def rename(src: str, dst: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
    """Rename, replacing a file: at once and also one that others read, where the file system can (NTFS)."""
    with win.opened(src, src_dir_fd, win.DELETE | win.READ_ATTRIBUTES, win.REPARSE) as handle:
        status = win.name_anew(handle, win.RENAME_EX, 0x1 | 0x2 | 0x40, dst, dst_dir_fd)
        if status in win.NO_SUCH_CALL:
            status = win.name_anew(handle, win.RENAME, 1, dst, dst_dir_fd)
        win.check(status, dst)


def rename_to_new(folder: int, old: str, new: str, into: int | None = None) -> None:
    """Rename within a folder, or `into` another; EEXIST where `new` is taken."""
    with win.opened(old, folder, win.DELETE | win.READ_ATTRIBUTES, win.REPARSE) as handle:
        win.check(win.name_anew(handle, win.RENAME, 0, new, folder if into is None else into), new)


def exchange(folder: int, one: str, other: str, into: int | None = None) -> None:
    """Refuse: no call of Windows lets two names change places."""
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), one)


def clone(source: int, target: int) -> bool:
    """Share no blocks."""
    return False


def link(
    src: str,
    dst: str,
    *,
    src_dir_fd: int | None = None,
    dst_dir_fd: int | None = None,
    follow_symlinks: bool = True,
) -> None:
    """Give a file a second name; EEXIST where it is taken."""
    with win.opened(src, src_dir_fd, win.WRITE_ATTRIBUTES, 0 if follow_symlinks else win.REPARSE) as handle:
        win.check(win.name_anew(handle, win.LINK, 0, dst, dst_dir_fd), dst)


def symlink(src: str, dst: str, *, dir_fd: int | None = None) -> None:
    """Make a symbolic link: Windows wants a privilege, or its developer mode."""
    os.symlink(src.replace("/", "\\"), _path_at(dir_fd, dst))


def readlink(path: str, *, dir_fd: int | None = None) -> str:
    """Return where a junction or symbolic link leads; EINVAL for anything else."""
    with win.opened(path, dir_fd, win.READ_ATTRIBUTES, win.REPARSE) as handle:
        attributes, tag = win.attributes_of(handle)
        if is_link(attributes, tag) and tag:
            try:
                return link_target(win.control(handle, _GET_REPARSE_POINT, _LONGEST_REPARSE_BYTES))
            except ValueError as error:
                raise OSError(errno.ELOOP, str(error), path) from error
        if _was_led_elsewhere(handle, path, dir_fd):
            return win.final_path(handle)
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)


def mkfifo(path: str, mode: int = 0o666, *, dir_fd: int | None = None) -> None:
    """Refuse: there are none."""
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), path)


def mknod(path: str, mode: int = 0o600, device: int = 0, *, dir_fd: int | None = None) -> None:
    """Refuse: there are none."""
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), path)


def chmod(path: str, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
    """Make a file read-only or not: of a mode, Windows knows whether anybody may write."""
    access = win.READ_ATTRIBUTES | win.WRITE_ATTRIBUTES
    with win.opened(path, dir_fd, access, 0 if follow_symlinks else win.REPARSE) as handle:
        win.set_attributes(handle, win.READ_ONLY, 0 if mode & 0o200 else win.READ_ONLY)


def fchmod(fd: int, mode: int) -> None:
    """Make an open file read-only or not."""
    win.set_attributes(win.handle_of(fd), win.READ_ONLY, 0 if mode & 0o200 else win.READ_ONLY)


def chown(path: str, uid: int, gid: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
    """Do nothing: `stat` tells of no owner either; the access list goes with the extended attributes."""


def fchown(fd: int, uid: int, gid: int) -> None:
    """Do nothing; see `chown`."""


def utime(
    path: int | str,
    times: None = None,
    *,
    ns: tuple[int, int] | None = None,
    dir_fd: int | None = None,
    follow_symlinks: bool = True,
) -> None:
    """Set when a file, also an open one, was read and written last, in nanoseconds; by default now."""
    read, written = ns or (time.time_ns(), time.time_ns())
    if isinstance(path, int):
        win.set_times(win.handle_of(path), read, written)
        return
    access = win.READ_ATTRIBUTES | win.WRITE_ATTRIBUTES
    with win.opened(path, dir_fd, access, 0 if follow_symlinks else win.REPARSE) as handle:
        win.set_times(handle, read, written)


def access(path: str, mode: int, *, dir_fd: int | None = None, effective_ids: bool = False) -> bool:
    """Whether it can be opened so."""
    wanted = (win.READ if mode & os.R_OK else win.READ_ATTRIBUTES) | (win.WRITE if mode & os.W_OK else 0)
    try:
        with win.opened(path, dir_fd, wanted, 0):
            return True
    except OSError:
        return False


def pread(fd: int, length: int, offset: int) -> bytes:
    """Read at `offset`, the file's own position left as it is."""
    room = ctypes.create_string_buffer(length) if length else ctypes.create_string_buffer(1)
    done = c_ulong()
    with _at(fd, offset) as (handle, where):
        if not win.kernel.ReadFile(handle, room, length, ctypes.byref(done), ctypes.byref(where)):
            code = ctypes.get_last_error()
            if code != 38:  # the end of the file
                raise win.last_error()
    return ctypes.string_at(room, done.value)


def pwrite(fd: int, data: bytes | bytearray | memoryview, offset: int) -> int:
    """Write at `offset`, the file's own position left as it is."""
    content = bytes(data)
    done = c_ulong()
    with _at(fd, offset) as (handle, where):
        if not win.kernel.WriteFile(handle, content, len(content), ctypes.byref(done), ctypes.byref(where)):
            raise win.last_error()
    return done.value


def fsync(fd: int) -> None:
    """Wait until a file is on the disk. A folder's names are in the file system's own journal: there is no call."""
    if modes.S_ISDIR(os.fstat(fd).st_mode):
        return
    handle = win.handle_of(fd)
    if win.kernel.FlushFileBuffers(handle):
        return
    again = win.kernel.ReOpenFile(handle, 0x40000000, win.SHARE_ALL, 0)  # one that only reads may not
    if again in (None, c_void_p(-1).value):
        raise win.last_error()
    try:
        if not win.kernel.FlushFileBuffers(again):
            raise win.last_error()
    finally:
        win.kernel.CloseHandle(again)


class DirEntry(Generic[_Name]):
    """What `scandir` tells of one name in an open folder, as `os.DirEntry` does."""

    def __init__(self, folder: int, name: _Name, attributes: int, tag: int, number: int) -> None:
        self._folder = folder
        self.name = name
        self.path = name
        self._attributes = attributes
        self._tag = tag
        self._number = number

    def inode(self) -> int:
        """Return the file's number."""
        return self._number

    def is_symlink(self) -> bool:
        """Whether it stands for another name: a symbolic link, a junction."""
        return is_link(self._attributes, self._tag)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder."""
        return self._has(modes.S_ISDIR, follow_symlinks, bool(self._attributes & 0x10))

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a file."""
        return self._has(modes.S_ISREG, follow_symlinks, not self._attributes & 0x10)

    def _has(self, is_kind: Any, follow_symlinks: bool, it_says: bool) -> bool:
        if not self.is_symlink():
            return it_says
        try:
            return follow_symlinks and bool(is_kind(self.stat().st_mode))
        except FileNotFoundError:
            return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return `stat` of it."""
        return stat(self.name, dir_fd=self._folder, follow_symlinks=follow_symlinks)


@contextmanager
def scandir(folder: int | str) -> Generator[Iterator[DirEntry[str]]]:
    """Look through an open folder, or one by its path, without `.` and `..`; by a handle of its own, from the start."""
    flags = os.O_RDONLY | O_DIRECTORY
    descriptor = open(folder, flags) if isinstance(folder, str) else open(".", flags, dir_fd=folder)
    try:
        yield _entries(descriptor, folder if isinstance(folder, int) else descriptor)
    finally:
        os.close(descriptor)


def listdir(folder: int | str) -> list[str]:
    """Return the names in an open folder."""
    with scandir(folder) as entries:
        return [entry.name for entry in entries]


def flock(fd: int, operation: int) -> None:
    """Lock an open file as flock(2): BlockingIOError under `LOCK_NB` while another has it. Folders: `lock_folder`."""
    handle, where = win.handle_of(fd), win.Overlapped(offset=_LOCKED_BYTE)
    if operation & LOCK_UN:
        win.kernel.UnlockFileEx(handle, 0, 1, 0, ctypes.byref(where))
        return
    flags = (2 if operation & LOCK_EX else 0) | (1 if operation & LOCK_NB else 0)
    if not win.kernel.LockFileEx(handle, flags, 0, 1, 0, ctypes.byref(where)):
        code = ctypes.get_last_error()
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) if code in (33, 997) else win.last_error()


def lock_folder(folder: int) -> int:
    """Lock a folder and return the descriptor that keeps it so; BlockingIOError while another does.

    Whoever locks opens the folder to add files, sharing that with nobody: nobody else opens folders so.
    """
    try:
        handle = win.create(".", folder, win.ADD_FILE, win.OPEN, win.DIRECTORY_FILE | win.ALONE)
    except OSError as error:
        if error.winerror == 32:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
        raise
    return win.descriptor_of(handle, os.O_RDONLY)


def is_open_for_writing(path: str) -> bool:
    """Whether some program has the file open for writing: then nobody can open it and forbid that."""
    try:
        win.kernel.CloseHandle(win.create(path, None, win.READ, win.OPEN, win.NOT_DIRECTORY | win.REPARSE | win.ALONE))
    except OSError as error:
        return error.winerror == 32
    return False


def is_read_only_system(descriptor: int) -> bool:
    """Whether the volume of an open file takes no writes."""
    flags = c_ulong()
    handle = win.handle_of(descriptor)
    done = win.kernel.GetVolumeInformationByHandleW(handle, None, 0, None, None, ctypes.byref(flags), None, 0)
    return bool(done and flags.value & 0x80000)


def is_sparse(status: os.stat_result) -> bool:
    """Whether a file has holes."""
    return bool(status.st_file_attributes & 0x200)


def next_data(descriptor: int, at: int, size: int) -> tuple[int, int]:
    """Return where the next bytes begin and end: holes are read as zeros."""
    return at, size


def listxattr(path: int | str | bytes, *, follow_symlinks: bool = True) -> list[str]:
    """Name what a file has besides its bytes; see the module."""
    return list(_extras(path, follow_symlinks))


def getxattr(path: int | str | bytes, attribute: str, *, follow_symlinks: bool = True) -> bytes:
    """Return one of what `listxattr` names."""
    return _extras(path, follow_symlinks)[attribute]


def setxattr(path: int | str, attribute: str, value: bytes) -> None:
    """Set one of what `listxattr` names. Raises PermissionError for what can't be set."""
    if not isinstance(path, int):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)
    handle = win.handle_of(path)
    if attribute == _ATTRIBUTES:
        win.set_attributes(handle, _KEPT_ATTRIBUTES, int.from_bytes(value, "little"))
    elif attribute == _ACCESS_LIST:
        win.check(win.nt.NtSetSecurityObject(handle, _DACL, value), "")
    else:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def removexattr(path: int | str, attribute: str, *, follow_symlinks: bool = True) -> None:
    """Take nothing away: what `listxattr` names, every file has; but the further streams, which stay."""


def _itself(handle: int, path: str, folder: int | None, access: int, disposition: int, options: int) -> int:
    """Refuse a link; open anew what is a reparse point and yet the file itself."""
    if _is_link(handle, path, folder):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    if not win.attributes_of(handle)[0] & win.REPARSE_POINT:
        return handle
    through = win.create(path, folder, access, win.OPEN, options)
    if _was_led_elsewhere(through, path, folder):
        win.kernel.CloseHandle(through)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    win.kernel.CloseHandle(handle)
    return through


def _is_link(handle: int, path: str, folder: int | None) -> bool:
    return is_link(*win.attributes_of(handle)) or _was_led_elsewhere(handle, path, folder)


def _was_led_elsewhere(handle: int, path: str, folder: int | None) -> bool:
    """Whether the system followed a link by itself: the open file isn't in the folder that was named."""
    if folder is None or path in ("", "."):
        return False
    above = win.final_path(win.handle_of(folder)).rstrip("/")
    found = win.final_path(handle)
    return bool(above and found) and os.path.dirname(found).rstrip("/").lower() != above.lower() and "/" not in path


def _path_at(folder: int | None, name: str) -> str:
    return name if folder is None else os.path.join(win.final_path(win.handle_of(folder)), name)


@contextmanager
def _at(descriptor: int, offset: int) -> Generator[tuple[int, win.Overlapped]]:
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        yield win.handle_of(descriptor), win.Overlapped(offset=offset)
    finally:
        os.lseek(descriptor, position, os.SEEK_SET)


def _entries(descriptor: int, folder: int) -> Iterator[DirEntry[str]]:
    handle = win.handle_of(descriptor)
    room = ctypes.create_string_buffer(_FOLDER_BYTES)
    kind = win.FOLDER_FIRST
    while win.kernel.GetFileInformationByHandleEx(handle, kind, room, len(room)):
        kind = win.FOLDER_NEXT
        data, at = room.raw, 0
        while True:
            step, attributes, length, tag = struct.unpack_from("<L52xLLL", data, at)
            (number,) = struct.unpack_from("<Q", data, at + 96)
            name = data[at + 104 : at + 104 + length].decode("utf-16-le", "surrogatepass")
            if name not in (".", ".."):
                yield DirEntry(folder, name, attributes, tag if attributes & win.REPARSE_POINT else 0, number)
            if not step:
                break
            at += step
    code = ctypes.get_last_error()
    if code not in (18, 2):  # no more files; an empty root of a volume
        raise win.last_error()


def _extras(path: int | str | bytes, follow_symlinks: bool) -> dict[str, bytes]:
    if not isinstance(path, int):
        with win.opened(
            os.fsdecode(path), None, win.READ_ATTRIBUTES | win.READ_CONTROL, 0 if follow_symlinks else win.REPARSE
        ) as handle:
            return _extras_of(handle)
    return _extras_of(win.handle_of(path))


def _extras_of(handle: int) -> dict[str, bytes]:
    found = {_ATTRIBUTES: (win.attributes_of(handle)[0] & _KEPT_ATTRIBUTES).to_bytes(4, "little")}
    room = ctypes.create_string_buffer(64 << 10)
    needed = c_ulong()
    if not win.nt.NtQuerySecurityObject(handle, _DACL, room, len(room), ctypes.byref(needed)):
        found[_ACCESS_LIST] = room.raw[: needed.value]
    if (
        win.kernel.GetFileInformationByHandleEx(handle, win.STREAMS, room, len(room))
        and struct.unpack_from("<L", room.raw)[0]
    ):
        found[_FURTHER] = b"1"
    return found


def _as_link(found: os.stat_result) -> os.stat_result:
    times = {name: getattr(found, name) for name in ("st_atime_ns", "st_mtime_ns", "st_ctime_ns")}
    times |= {name.removesuffix("_ns"): value / 1e9 for name, value in times.items()}
    return os.stat_result((modes.S_IFLNK | 0o777, *found[1:10]), times)
