"""Whether somebody else writes to files that a command writes to: one who has it open to write when the command opens
it first, or closes it after writing, which nobody of the command's did.

The system tells of each such close (inotify(7)), not whose it is; so they are counted, against the opens that the
command was heard to make. Like events in a row are told as one: a writer is missed whose open and close both lie beside
the command's own. Standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress

from dogu.workspace import fs
from dogu.workspace.launcher.libc import libc

_CLOSED, _OPENED, _IGNORED = 0x8, 0x20, 0x8000
_NOT_THROUGH_LINKS = 0x02000000
_HEARS_NO_MORE = (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.ENOMEM, errno.EBADF)  # /proc/sys/fs/inotify
ALL = 1 << 62  # bytes: more than any file has
_EVENT = struct.Struct("iIII")
_READ_BYTES = 1 << 16


class Others:
    """Counts, by inode; `until_ns` says for how long a file matters.

    `shares` say, by inode, what the command can have done to files: how many bytes of the beginning it never cut away,
    whether all it did was to append, and whether it may have stretched it. With one of 0, it may have been to any.
    """

    def __init__(self, until_ns: Callable[[int], int]) -> None:
        self._until_ns = until_ns
        self._descriptor = -1
        self._inodes: dict[int, int] = {}
        self._watched: dict[int, int] = {}
        self._paths: dict[int, bytes] = {}
        self._ages: deque[int] = deque()
        self._opens: Counter[int] = Counter()
        self._closes: Counter[int] = Counter()
        self._closed_ns: dict[int, int] = {}
        self._opens_somewhere = 0
        self.shares: dict[int, tuple[int, bool, bool]] = {}

    def writes(self, inode: int, kept_bytes: int, *, only_appends: bool, stretches: bool = False) -> None:
        """Note that the command is about to open, cut or stretch a file, and leaves so many bytes of its beginning."""
        kept, appends, stretched = self.shares.get(inode, (ALL, True, False))
        self.shares[inode] = min(kept, kept_bytes), appends and only_appends, stretched or stretches

    def opens(self, path: bytes, inode: int) -> bool:
        """Note that the command is about to open a file; False where another has it open to write, or might unheard."""
        is_alone = self.touches(path, inode)
        self._opens[inode] += 1
        return is_alone

    def touches(self, path: bytes, inode: int) -> bool:
        """Note that the command is about to move a file or to set its attributes; False as above."""
        is_first = not self._opens[inode]
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return True
        is_heard = self._watch(path, inode)
        return is_heard and not (is_first and fs.is_open_for_writing(os.fsdecode(path)))

    def has_made(self, path: bytes, inode: int, opens: int = 1) -> bool:
        """Note that the command has made a file by one of so many calls, which it may have closed by now; False as
        above. Those that came at once may all have been to make it, and some may not have opened it yet."""
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return True
        self.hear()  # that another one had its inode
        self.shares[inode] = 0, False, True
        is_heard = self._watch(path, inode)
        self._closes[inode] = 0
        is_open = fs.is_open_for_writing(os.fsdecode(path))
        self._opens[inode] = opens - (not is_open)
        if not is_open:
            self.hear()
            self._closes[inode] = 0
        return is_heard

    def opens_unseen(self) -> None:
        """Note that the command is about to open one of its open files again, which may be any."""
        self._opens_somewhere += 1
        self.shares[0] = 0, False, True

    def forget_old(self, now_ns: int) -> None:
        """Stop hearing of files that don't matter any more: those that the command has open yet matter."""
        self.hear()
        for _ in range(len(self._ages)):
            inode = self._ages[0]
            if max(self._until_ns(inode), self._closed_ns.get(inode, 0)) >= now_ns:
                return
            self._ages.popleft()
            if self.is_open(inode):
                self._ages.append(inode)
            else:
                libc().inotify_rm_watch(self._descriptor, self._watched.pop(inode, -1))
                self._paths.pop(inode, None)

    def is_open(self, inode: int) -> bool:
        """Whether the command has opened a file that it hasn't closed yet."""
        return inode in self._paths and self._opens[inode] > self._closes[inode] and self._is_written_to(inode)

    def closed_ns(self, inode: int) -> int:
        """Return when the command was last heard to close a file; now, where it has it open."""
        return time.time_ns() if self.is_open(inode) else self._closed_ns.get(inode, 0)

    def found(self) -> tuple[set[int], dict[int, int]]:
        """Return the files that somebody else closed after writing, and until when (ns) the command had others open.

        What follows is counted anew.
        """
        self.hear()
        counts = self._closes.items()
        foreign = {inode for inode, count in counts if count > self._opens[inode] + self._opens_somewhere}
        held = {inode for inode in self._paths if self.is_open(inode)}
        own = self._closed_ns | dict.fromkeys(held, time.time_ns())
        self._opens, self._closes, self._closed_ns, self._opens_somewhere = Counter(held), Counter(), {}, 0
        self.shares = {inode: (ALL, self.shares[inode][1], False) for inode in held & self.shares.keys()}
        return foreign, {inode: until_ns for inode, until_ns in own.items() if inode not in foreign}

    def close(self) -> None:
        """Hear no more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _is_written_to(self, inode: int) -> bool:
        path = os.fsdecode(self._paths[inode])
        try:
            return os.lstat(path).st_ino == inode and fs.is_open_for_writing(path)
        except OSError:
            return False

    def _watch(self, path: bytes, inode: int) -> bool:
        """Hear of who closes it, until it doesn't matter any more; False where the user hears of too many already."""
        if inode in self._watched:
            return True
        if self._descriptor < 0:
            self._descriptor = libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        number = libc().inotify_add_watch(self._descriptor, path, _CLOSED | _OPENED | _NOT_THROUGH_LINKS)
        if number >= 0:
            self._inodes[number], self._watched[inode], self._paths[inode] = inode, number, path
            self._ages.append(inode)
        return number >= 0 or ctypes.get_errno() not in _HEARS_NO_MORE

    def hear(self) -> None:
        """Take what was told meanwhile."""
        with suppress(OSError):
            while self._descriptor >= 0:
                data = os.read(self._descriptor, _READ_BYTES)
                for number, mask, _, _ in _EVENT.iter_unpack(data):
                    inode = self._inodes.get(number, -1)
                    if mask & _IGNORED:
                        self._watched.pop(self._inodes.pop(number, -1), None)
                    elif mask & _CLOSED and inode >= 0:
                        self._closes[inode] += 1
                        self._closed_ns[inode] = time.time_ns()
