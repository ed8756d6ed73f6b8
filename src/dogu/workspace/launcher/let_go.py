"""Renames and links that a command was let do and of which nobody knows yet what became: one that failed did nothing.

A call that was let go on is done by the kernel a moment later. What others are about to change then is asked for only
when that moment is over, so that what is noted has the order in which it was done. Standard library only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

_MOST_AWAITED_S = 0.02


class LetGo:
    """These, by the process that was about to do each."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[bytes, int, Callable[[], None]]] = {}
        self._waited: set[int] = set()

    def add(self, pid: int, place: bytes, inode: int, has_failed: Callable[[], None]) -> None:
        """Note that a call takes away what lies at a place, or it `has_failed`; 0: it puts something there."""
        self._calls[pid] = place, inode, has_failed

    def settle(self, pid: int) -> None:
        """Find out what became of them, now that a process makes its next call; another's may need a moment yet."""
        for mover, (place, inode, has_failed) in [*self._calls.items()]:
            is_done = mover == pid or self._is_done(mover, place, inode)
            if not is_done and os.path.exists(b"/proc/%d" % mover):
                continue
            if inode_at(place) == inode:
                has_failed()
            del self._calls[mover]
            self._waited.discard(mover)

    def _is_done(self, mover: int, place: bytes, inode: int) -> bool:
        until_s = time.monotonic() + (0 if mover in self._waited else _MOST_AWAITED_S)
        while inode_at(place) == inode:
            if time.monotonic() > until_s:
                self._waited.add(mover)
                return False
            os.sched_yield()
        return True


def inode_at(place: bytes) -> int:
    """Return the number of what lies there; 0 for nothing."""
    with suppress(OSError):  # nothing there, or a folder above it that went or was closed
        return os.lstat(place).st_ino
    return 0
