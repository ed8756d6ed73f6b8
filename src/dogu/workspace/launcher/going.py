"""What files hold that a command is about to remove, replace or overwrite, kept before the call goes on.

Only of those that are too large, or too many, to have been read beforehand. Whoever takes it compares size and time
with what was seen before the command. Standard library only.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from dogu.workspace import fs

_MOST_COPIED_BYTES = 64 << 20
_SPARE_BYTES = 256 << 20
_OPEN = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC
_BLOCK = 512


class Going:
    """Keeps files of at least `least_bytes` in `folder`, by their inode."""

    def __init__(self, folder: bytes, least_bytes: int) -> None:
        self._folder = folder
        self._least_bytes = least_bytes
        self._seen: set[int] = set()
        self._held_bytes = 0

    def keep(self, path: bytes, inode: int, *, goes: bool) -> None:
        """Keep what a file holds that `goes` from its name, else is opened to be written. Raises nothing."""
        if inode in self._seen:
            return
        self._seen.add(inode)
        with suppress(OSError):
            status = os.lstat(path)
            if not stat.S_ISREG(status.st_mode) or status.st_size < self._least_bytes:
                return
            self._held_bytes += status.st_blocks * _BLOCK  # which would be free else
            free = os.statvfs(self._folder)
            if free.f_bavail * free.f_frsize < self._held_bytes + _SPARE_BYTES:
                return
            target = self._folder + b"/%d" % inode
            if goes and status.st_nlink == 1:
                with suppress(OSError):
                    os.link(path, target, follow_symlinks=False)
                    return
            if status.st_blocks * _BLOCK <= _MOST_COPIED_BYTES:
                self._copy(path, target)

    def _copy(self, path: bytes, target: bytes) -> None:
        source = os.open(path, _OPEN)
        try:
            status = os.fstat(source)
            descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                fs.copy_content(source, descriptor)
                os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))
            except OSError:
                os.unlink(target)
                raise
            finally:
                os.close(descriptor)
        finally:
            os.close(source)
