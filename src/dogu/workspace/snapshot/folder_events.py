"""Which of the folders we know have been touched since we last asked, by inotify(7).

A folder hears of what is done by the names in it; of a file that has others, maybe elsewhere, the file itself does.

An aid, never a proof: where it can't be had, where its queue ran over or where the file system isn't a local one, the
answer is None, which means "look at all of them".
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import weakref
from collections.abc import Callable
from typing import Any

from dogu.workspace import openat
from dogu.workspace.system import IS_LINUX

_MASK = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200  # modify, attrib, close_write, moved_*, create, delete
_ONLY_FOLDERS, _NOT_THROUGH_LINKS = 0x01000000, 0x02000000
_QUEUE_RAN_OVER = 0x4000
_IS_GONE = 0x8000
_EVENT = struct.Struct("iIII")
_READ_BYTES = 1 << 20
# Source: statfs(2). ext2 to ext4, xfs, btrfs, tmpfs, f2fs, zfs, overlayfs: changes there are made by this system alone.
_LOCAL = frozenset((0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0xF2F52010, 0x2FC12FC1, 0x794C7630))


class FolderEvents:
    """Watches folders; at work only where `works`."""

    def __init__(self) -> None:
        self._descriptor = -1
        self._paths: dict[int, set[str]] = {}
        self._add: Callable[..., int] | None = None
        self._ran_over = False
        if IS_LINUX and os.path.isdir("/proc/self/fd"):
            self._open()

    @property
    def works(self) -> bool:
        """Whether the answers can be believed."""
        return self._descriptor >= 0

    def watch(self, folder: int, path: str, name: str = "") -> None:
        """Watch the open folder `folder`, known as `path`, or a file of several names in it. One that can't be watched
        ends all watching."""
        if self._add is None:
            return
        mask = _MASK | (_NOT_THROUGH_LINKS if name else _ONLY_FOLDERS)
        number = self._add(self._descriptor, b"/proc/self/fd/%d/%b" % (folder, os.fsencode(name)), mask)
        if number < 0 or (not name and openat.file_system_type(folder) not in _LOCAL):
            self.close()
        elif name:
            self._paths.setdefault(number, set()).add(path)
        else:
            self._paths[number] = {path}

    def touched(self) -> set[str] | None:
        """Return the paths of the folders touched since the last call; None when that isn't known."""
        if not self.works:
            return None
        found: set[str] = set()
        while data := self._read():
            self._take(data, found)
        ran_over, self._ran_over = self._ran_over, False
        return None if ran_over or not self.works else found

    def close(self) -> None:
        """Stop watching."""
        if self._descriptor >= 0:
            self._let_go()
        self._descriptor = -1
        self._add = None
        self._paths.clear()

    def _open(self) -> None:
        libc: Any = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor >= 0:
            self._add = libc.inotify_add_watch
            # A user has 128 of them: one that nobody closes goes with what it is for.
            self._let_go = weakref.finalize(self, openat.close, self._descriptor)

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _READ_BYTES)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
                self.close()
            return b""

    def _take(self, data: bytes, found: set[str]) -> None:
        offset = 0
        while offset < len(data):
            number, mask, _cookie, name_bytes = _EVENT.unpack_from(data, offset)
            offset += _EVENT.size + name_bytes
            if mask & _QUEUE_RAN_OVER:
                self._ran_over = True
            elif number in self._paths:
                found |= self._paths[number]
                if mask & _IS_GONE:
                    # Another folder of the same name may already have been given its inode.
                    del self._paths[number]
