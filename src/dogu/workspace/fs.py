"""The calls on files that POSIX's `os` and `fcntl` have, on every system, under the same names.

What names a file is an open folder and a name in it (`dir_fd`), never a string that is walked anew: that is what keeps
paths within the roots. On POSIX these are the system's own calls. On Windows they are made of NT's, which take a
folder's handle too (`windows_files`): files are opened so that others may rename and delete them meanwhile, `rename`
replaces what is open elsewhere where NTFS can, `stat` knows junctions, `flock` locks a folder. Paths have `/`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from stat import S_IMODE, S_IRUSR, S_ISDIR, S_ISREG
from typing import Any

from dogu.workspace.system import IS_LINUX, SYSTEM, System

_COPIED_AT_ONCE_BYTES = 1 << 20

__all__ = (
    "LOCK_EX",
    "LOCK_NB",
    "LOCK_SH",
    "LOCK_UN",
    "O_CLOEXEC",
    "O_DIRECTORY",
    "O_NOCTTY",
    "O_NOFOLLOW",
    "O_NONBLOCK",
    "O_PATH",
    "DirEntry",
    "access",
    "chmod",
    "chown",
    "clone",
    "copy_content",
    "exchange",
    "fchmod",
    "fchown",
    "flock",
    "fsync",
    "getxattr",
    "is_open_for_writing",
    "is_read_only_system",
    "is_sparse",
    "link",
    "listdir",
    "listxattr",
    "lock_folder",
    "mkdir",
    "mkfifo",
    "mknod",
    "next_data",
    "open",
    "open_own",
    "opened_up",
    "pread",
    "pwrite",
    "readlink",
    "removexattr",
    "rename",
    "rename_to_new",
    "rmdir",
    "scandir",
    "setxattr",
    "stat",
    "symlink",
    "unlink",
    "unnamed",
    "utime",
    "walked",
    "write_at",
)

if sys.platform == "win32":
    from dogu.workspace.windows_files import (
        LOCK_EX,
        LOCK_NB,
        LOCK_SH,
        LOCK_UN,
        O_CLOEXEC,
        O_DIRECTORY,
        O_NOCTTY,
        O_NOFOLLOW,
        O_NONBLOCK,
        O_PATH,
        DirEntry,
        access,
        chmod,
        chown,
        clone,
        exchange,
        fchmod,
        fchown,
        flock,
        fsync,
        getxattr,
        is_open_for_writing,
        is_read_only_system,
        is_sparse,
        link,
        listdir,
        listxattr,
        lock_folder,
        mkdir,
        mkfifo,
        mknod,
        next_data,
        open,
        pread,
        pwrite,
        readlink,
        removexattr,
        rename,
        rename_to_new,
        rmdir,
        scandir,
        setxattr,
        stat,
        symlink,
        unlink,
        utime,
    )
else:
    import fcntl
    from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock
    from os import (
        O_CLOEXEC,
        O_DIRECTORY,
        O_NOCTTY,
        O_NOFOLLOW,
        O_NONBLOCK,
        DirEntry,
        access,
        chmod,
        chown,
        fchmod,
        fchown,
        link,
        listdir,
        mkdir,
        mkfifo,
        mknod,
        open,
        pread,
        pwrite,
        readlink,
        rename,
        rmdir,
        scandir,
        stat,
        symlink,
        unlink,
        utime,
    )

    O_PATH = getattr(os, "O_PATH", os.O_RDONLY | O_NONBLOCK)  # a FIFO is not waited for
    _FULL_SYNC = 51  # fcntl(2) of macOS
    _CLONE = 0x40049409  # ioctl_ficlone(2)
    _NO_REPLACE, _EXCHANGE = 1, 2  # rename(2)

    def lock_folder(folder: int) -> int:
        """Lock an open folder and return the descriptor that keeps it so; BlockingIOError while another does.

        Raises other OSErrors where the file system can't lock folders.
        """
        flock(folder, LOCK_EX | LOCK_NB)
        return os.dup(folder)

    def is_read_only_system(descriptor: int) -> bool:
        """Whether the file system of an open file takes no writes."""
        return bool(os.fstatvfs(descriptor).f_flag & os.ST_RDONLY)

    def is_sparse(status: os.stat_result) -> bool:
        """Whether a file takes less room than it is long: it has holes."""
        return status.st_size > 0 and status.st_blocks * 512 < status.st_size

    def next_data(descriptor: int, at: int, size: int) -> tuple[int, int]:
        """Return where the next bytes that are no hole begin and end; both are `size` where only a hole is left."""
        try:
            begin = os.lseek(descriptor, at, os.SEEK_DATA)
            return begin, os.lseek(descriptor, begin, os.SEEK_HOLE)
        except OSError as error:
            return (size if error.errno == errno.ENXIO else at), size

    def rename_to_new(folder: int, old: str, new: str, into: int | None = None) -> None:
        """Rename within the folder, or `into` another; EEXIST if `new` exists, EINVAL or ENOSYS if the system can't."""
        _renameat2(folder, old, folder if into is None else into, new, _NO_REPLACE)

    def exchange(folder: int, one: str, other: str, into: int | None = None) -> None:
        """Let two names, the `other` in `into`, change places at once; EINVAL or ENOSYS where the system can't."""
        _renameat2(folder, one, folder if into is None else into, other, _EXCHANGE)

    @cache
    def _libc() -> Any:
        return ctypes.CDLL(None, use_errno=True)

    def _renameat2(folder: int, old: str, into: int, new: str, flags: int) -> None:
        libc = _libc()
        if not IS_LINUX or not hasattr(libc, "renameat2"):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), old)
        if libc.renameat2(folder, os.fsencode(old), into, os.fsencode(new), ctypes.c_uint(flags)) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), new)

    if sys.platform == "darwin":

        def fsync(fd: int) -> None:
            """Wait until it is on the disk, and the disk's own cache has been written out too."""
            fcntl.fcntl(fd, _FULL_SYNC)
    else:
        from os import fsync

    if sys.platform == "linux" and SYSTEM is System.LINUX:
        from os import getxattr, listxattr, removexattr, setxattr

        def is_open_for_writing(path: str) -> bool:
            """Whether some process has the file open for writing.

            A lease to read is given only on a file that nobody writes. It is given back at once; whoever opens the file
            in between waits that long, and its signal is one that is ignored. Source: fcntl(2), "Leases".
            """
            try:
                descriptor = os.open(path, os.O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
            except OSError:
                return False
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            except OSError as error:
                return error.errno == errno.EAGAIN
            finally:
                os.close(descriptor)
            return False

        def clone(source: int, target: int) -> bool:
            """Let an open file share the other's blocks; False where the file system can't."""
            try:
                fcntl.ioctl(target, _CLONE, source)
            except OSError:
                return False
            return True
    else:

        def is_open_for_writing(path: str) -> bool:
            """Whether some process has the file open for writing: this system doesn't tell."""
            return False

        def clone(source: int, target: int) -> bool:
            """Share no blocks: this system has no such call."""
            return False

        def listxattr(path: int | str | bytes, *, follow_symlinks: bool = True) -> list[str]:
            """Return no extended attributes: none that dogu knows of on this system."""
            return []

        def getxattr(path: int | str | bytes, attribute: str, *, follow_symlinks: bool = True) -> bytes:
            """Return nothing: `listxattr` names none."""
            return b""

        def setxattr(path: int | str, attribute: str, value: bytes) -> None:
            """Set nothing."""

        def removexattr(path: int | str, attribute: str, *, follow_symlinks: bool = True) -> None:
            """Remove nothing."""


def open_own(name: str, flags: int, *, dir_fd: int | None = None) -> int:
    """Open a file to read it; on Linux also one of the user's own whose mode keeps them out. Raises OSError.

    That one is readable for the moment it takes; no link is followed, and nothing else comes into its place.
    """
    try:
        return open(name, flags, dir_fd=dir_fd)
    except PermissionError:
        with opened_up(name, dir_fd=dir_fd) as own:
            return os.open(own, flags & ~O_NOFOLLOW)


@contextmanager
def opened_up(name: str, needed: int = S_IRUSR, *, dir_fd: int | None = None) -> Generator[str]:
    """Give a file or folder of the user's own, while inside, the bits of a mode that it lacks; gives a path to it.

    Linux only. Raises PermissionError where it lacks none, or isn't theirs.
    """
    if sys.platform != "linux" or not IS_LINUX:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    place = os.open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC, dir_fd=dir_fd)
    try:
        mode, own = os.fstat(place).st_mode, f"/proc/self/fd/{place}"
        if not (S_ISREG(mode) or S_ISDIR(mode)) or mode & needed == needed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        os.chmod(own, S_IMODE(mode) | needed)
        try:
            yield own
        finally:
            os.chmod(own, S_IMODE(mode))
    finally:
        os.close(place)


def unnamed(name: str) -> int:
    """Open a file that no folder has and that goes with its last descriptor; `name` is for those who debug."""
    if sys.platform == "linux" and IS_LINUX:
        return os.memfd_create(name, os.MFD_CLOEXEC)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def copy_content(source: int, target: int) -> None:
    """Copy an open file's content: shared where the file system can, else with its holes. Raises OSError."""
    if clone(source, target):
        return
    size = os.fstat(source).st_size
    at = 0
    while at < size:
        at, end = next_data(source, at, size)
        while at < end:
            block = pread(source, min(_COPIED_AT_ONCE_BYTES, end - at), at)
            if not block:
                break
            at += write_at(target, block, at)
        else:
            continue
        break
    os.ftruncate(target, os.fstat(source).st_size)


def write_at(descriptor: int, data: bytes, offset: int) -> int:
    """Write all of it at an offset; return how much that is. Raises OSError."""
    view = memoryview(data)
    while view:
        written = pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written
    return len(data)


def walked(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Give a folder and each one below it, with the names of the folders and of anything else in it; follows no link.

    As `os.walk`, which before Python 3.12 calls itself for each level and ends a program in a deep tree.
    """
    waiting = [top]
    while waiting:
        place = waiting.pop()
        folders: list[str] = []
        others: list[str] = []
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else others).append(entry.name)
        yield place, folders, others
        waiting += (os.path.join(place, name) for name in reversed(folders))
