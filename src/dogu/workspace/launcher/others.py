"""Whether somebody else writes to files that a command writes to: one who has it open to write when the command opens
it first, or closes it after writing, which nobody of the command's did.

The system tells of each such close (inotify(7)), not whose it is; so they are counted, against the opens that the
command was heard to make. Like events in a row are told as one: a writer is missed whose open and close both lie beside
the command's own. Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dogu.workspace import fs

_CLOSED, _OPENED, _IGNORED = 0x8, 0x20, 0x8000
_NOT_THROUGH_LINKS = 0x02000000
_EVENT = struct.Struct("iIII")
_READ_BYTES = 1 << 16


class Others:
    """Counts, by inode; `until_ns` says for how long a file matters."""

    def __init__(self, until_ns: Callable[[int], int]) -> None:
        self._until_ns = until_ns
        self._libc: Any = ctypes.CDLL(None, use_errno=True)
        self._descriptor = -1
        self._inodes: dict[int, int] = {}
        self._watched: dict[int, int] = {}
        self._ages: deque[int] = deque()
        self._opens: Counter[int] = Counter()
        self._closes: Counter[int] = Counter()
        self._opens_somewhere = 0

    def opens(self, path: bytes, inode: int) -> bool:
        """Note that the command is about to open a file; False where another has it open to write."""
        is_first = inode not in self._opens
        self._opens[inode] += 1
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return True
        self._watch(path, inode)
        return not (is_first and fs.is_open_for_writing(os.fsdecode(path)))

    def has_made(self, path: bytes, inode: int) -> None:
        """Note that the command has made a file, which it may have closed by now."""
        if stat.S_ISREG(os.lstat(path).st_mode):
            self._hear()  # that another one had its inode
            self._watch(path, inode)
            self._closes[inode] = 0
            self._opens[inode] = fs.is_open_for_writing(os.fsdecode(path))
            if not self._opens[inode]:
                self._hear()
                self._closes[inode] = 0

    def opens_unseen(self) -> None:
        """Note that the command is about to open one of its open files again, which may be any."""
        self._opens_somewhere += 1

    def forget_old(self, now_ns: int) -> None:
        """Stop hearing of files that don't matter any more."""
        self._hear()
        while self._ages and self._until_ns(self._ages[0]) < now_ns:
            self._libc.inotify_rm_watch(self._descriptor, self._watched.pop(self._ages.popleft(), -1))

    def found(self) -> set[int]:
        """Return the files that somebody else closed after writing, and hear no more."""
        self._hear()
        if self._descriptor >= 0:
            os.close(self._descriptor)
        counts = self._closes.items()
        return {inode for inode, count in counts if count > self._opens[inode] + self._opens_somewhere}

    def _watch(self, path: bytes, inode: int) -> None:
        """Hear of who closes it, until it doesn't matter any more."""
        if inode in self._watched:
            return
        if self._descriptor < 0:
            self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        number = self._libc.inotify_add_watch(self._descriptor, path, _CLOSED | _OPENED | _NOT_THROUGH_LINKS)
        if number >= 0:
            self._inodes[number], self._watched[inode] = inode, number
            self._ages.append(inode)

    def _hear(self) -> None:
        with suppress(OSError):
            while self._descriptor >= 0:
                data = os.read(self._descriptor, _READ_BYTES)
                for number, mask, _, _ in _EVENT.iter_unpack(data):
                    if mask & _IGNORED:
                        self._watched.pop(self._inodes.pop(number, -1), None)
                    elif mask & _CLOSED and number in self._inodes:
                        self._closes[self._inodes[number]] += 1
