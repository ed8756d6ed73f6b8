"""The system calls by which files are written, in one object, so that a test can make any of them fail."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress

from dogu.contract.errors import ToolError
from dogu.workspace import fs
from dogu.workspace.openat import Place
from dogu.workspace.system import IS_LINUX, IS_WINDOWS

CANNOT = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)
"""What a file system answers that can neither rename without replacing nor exchange."""

_BLOCK_BYTES = 1 << 20
_FEW_NAMES = 8
_TO_SYNC = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC


class Syscalls:
    """What `atomic_write` asks of the system; each method is one call, names are relative to the open `folder`."""

    def open(self, folder: int, name: str, flags: int, mode: int = 0o600) -> int:
        """Open `name`, never through a link, never waiting."""
        return fs.open(name, flags | fs.O_NOFOLLOW | fs.O_CLOEXEC | fs.O_NONBLOCK, mode, dir_fd=folder)

    def close(self, descriptor: int) -> None:
        """Close."""
        os.close(descriptor)

    def pread(self, descriptor: int, length: int, offset: int) -> bytes:
        """Read at `offset`; at most `length` bytes."""
        return fs.pread(descriptor, length, offset)

    def pwrite(self, descriptor: int, data: memoryview, offset: int) -> int:
        """Write at `offset`; returns how many bytes were written."""
        return fs.pwrite(descriptor, data, offset)

    def truncate(self, descriptor: int, length: int) -> None:
        """Cut or grow to `length` bytes."""
        os.ftruncate(descriptor, length)

    def fsync(self, descriptor: int) -> None:
        """Wait until it is on the disk; on macOS until its own cache has been written out too."""
        fs.fsync(descriptor)

    def status(self, descriptor: int) -> os.stat_result:
        """Return fstat."""
        return os.fstat(descriptor)

    def status_of(self, folder: int, name: str) -> os.stat_result:
        """Return lstat of a name."""
        return fs.stat(name, dir_fd=folder, follow_symlinks=False)

    def set_mode(self, descriptor: int, mode: int) -> None:
        """Change the permission bits."""
        fs.fchmod(descriptor, mode)

    def set_owner(self, descriptor: int, user: int, group: int) -> None:
        """Change owner and group."""
        fs.fchown(descriptor, user, group)

    def xattrs(self, descriptor: int) -> dict[str, bytes]:
        """Return the extended attributes, ACLs among them; none where there can be none."""
        try:
            return {name: fs.getxattr(descriptor, name) for name in fs.listxattr(descriptor)}
        except OSError as error:
            if error.errno == errno.ENOTSUP:
                return {}
            raise

    def set_xattr(self, descriptor: int, name: str, value: bytes) -> None:
        """Set an extended attribute."""
        fs.setxattr(descriptor, name, value)

    def remove_xattr(self, descriptor: int, name: str) -> None:
        """Remove an extended attribute."""
        fs.removexattr(descriptor, name)

    def rename(self, folder: int, old: str, new: str) -> None:
        """Rename within the folder, replacing."""
        fs.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def link(self, folder: int, old: str, new: str, into: int | None = None) -> None:
        """Give a second name within the folder, or `into` another; EEXIST if it is taken."""
        fs.link(old, new, src_dir_fd=folder, dst_dir_fd=folder if into is None else into, follow_symlinks=False)

    def unlink(self, folder: int, name: str) -> None:
        """Remove a name."""
        fs.unlink(name, dir_fd=folder)

    def rename_to_new(self, folder: int, old: str, new: str, into: int | None = None) -> None:
        """Rename within the folder, or `into` another; EEXIST if `new` exists, EINVAL or ENOSYS if the system can't."""
        fs.rename_to_new(folder, old, new, into)

    def exchange(self, folder: int, one: str, other: str, into: int | None = None) -> None:
        """Let two names, the `other` in `into`, change places at once; EINVAL or ENOSYS where the system can't."""
        fs.exchange(folder, one, other, into)


def move(syscalls: Syscalls, folder: int, old: str, new: str, into: int | None = None) -> None:
    """Rename within the folder, or `into` another, what must not replace anything. Raises OSError."""
    try:
        syscalls.rename_to_new(folder, old, new, into)
    except OSError as error:
        if error.errno not in CANNOT:
            raise
        syscalls.link(folder, old, new, into)
        syscalls.unlink(folder, old)


def write_all(syscalls: Syscalls, descriptor: int, data: bytes) -> None:
    """Write `data` from offset 0 on; what lies beyond stays."""
    view = memoryview(data)
    offset = 0
    while offset < len(view):
        offset += syscalls.pwrite(descriptor, view[offset:], offset)


def blocks_of(syscalls: Syscalls, descriptor: int, limit: int) -> Iterator[bytes]:
    """Read from offset 0 to the end, or to `limit` bytes, a bounded piece at a time."""
    offset = 0
    while offset < limit and (block := syscalls.pread(descriptor, min(limit - offset, _BLOCK_BYTES), offset)):
        yield block
        offset += len(block)


def read_all(syscalls: Syscalls, descriptor: int, limit: int) -> bytes:
    """Read from offset 0 to the end, or to `limit` bytes; at a stroke, so that no second copy is made."""
    chunks: list[bytes] = []
    offset = 0
    step = max(syscalls.status(descriptor).st_size + 1, 1 << 16)
    while offset < limit:
        chunk = syscalls.pread(descriptor, min(limit - offset, step), offset)
        if not chunk:
            break
        chunks.append(chunk)
        offset += len(chunk)
    return b"".join(chunks)


def sync_names(names: Mapping[str, str], place_of: Callable[[str], AbstractContextManager[Place]]) -> None:
    """Have names written to the disk, each in the folder that its path lies in (`.`: the folder itself): a few one by
    one, many by one call for the file system. What can't be isn't."""
    if IS_WINDOWS or len(names) <= _FEW_NAMES:
        for path, name in names.items():
            with suppress(ToolError, OSError), place_of(path) as place:
                descriptor = fs.open(name, _TO_SYNC, dir_fd=place.parent)
                try:
                    fs.fsync(descriptor)
                finally:
                    os.close(descriptor)
        return
    devices: set[int] = set()
    for path in {os.path.dirname(path): path for path in names}.values():
        with suppress(ToolError, OSError), place_of(path) as place:
            device = os.fstat(place.parent).st_dev
            if device not in devices:
                devices.add(device)
                _sync_file_system(place.parent)


def _sync_file_system(descriptor: int) -> None:
    """Wait until all that was written to the file system of an open folder is on the disk; Windows has no such call."""
    assert sys.platform != "win32"
    import ctypes

    folder = fs.open(".", os.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC, dir_fd=descriptor)
    try:
        if not IS_LINUX or ctypes.CDLL(None, use_errno=True).syncfs(folder) != 0:
            os.sync()
    finally:
        os.close(folder)
