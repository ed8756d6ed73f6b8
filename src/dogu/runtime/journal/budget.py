"""How much all sessions may keep for undo: a share of the disk, or so many bytes; the oldest session's goes first."""

from __future__ import annotations

import os
import shutil

from dogu.runtime.journal.kept import places_of
from dogu.runtime.journal.log import FILE_NAME, SEAL_NAME
from dogu.runtime.session_folder import is_in_use, stored_sessions

DEFAULT_SHARE, DEFAULT_BYTES = 0.1, 20_000_000_000
_UNCOUNTED_BYTES = 16 << 20  # so much a session keeps before it is worth looking at the others
_SPARE_BYTES = 256 << 20  # stays free on the disk, whatever may be kept


class SessionsBudget:
    """What the session in `own` may still keep, of what all those in `state_folder` may together.

    That is a `share` of what is free on the disk, and at most so many bytes.
    """

    def __init__(self, state_folder: str, own: str, share: float, most_bytes: int) -> None:
        self._state_folder = state_folder
        self._own = own
        self._share = share
        self._most_bytes = most_bytes
        self._uncounted = min(_UNCOUNTED_BYTES, most_bytes // 64)
        self._left: int | None = None

    def take(self, count: int) -> bool:
        """Make room for so many more bytes; False when there is none, also on the disk."""
        if count <= self._uncounted:
            self._uncounted -= count
            return True
        if self._left is None:
            self._left = self._counted()
        if count > self._left:
            self._left += self._expired(count - self._left)
        if count > self._left:
            return False
        self._left -= count
        return True

    def _counted(self) -> int:
        used = sum(kept_bytes(stored.path) for stored in stored_sessions(self._state_folder))
        try:
            free = shutil.disk_usage(self._state_folder).free
        except OSError:
            return 0
        return min(int((free + used) * self._share) - used, self._most_bytes - used, free - _SPARE_BYTES)

    def _expired(self, wanted: int) -> int:
        """Remove what the sessions used longest ago keep for undo, until there is room; say how many bytes went."""
        freed = 0
        for stored in reversed(stored_sessions(self._state_folder)):
            if freed >= wanted:
                break
            if stored.path != self._own and not is_in_use(stored.path):
                freed += kept_bytes(stored.path)
                forget_kept(stored.path)
        return freed


def kept_bytes(folder: str) -> int:
    """Return how many bytes a session keeps for undo."""
    files = [os.path.join(folder, FILE_NAME)]
    for place in (os.path.join(folder, "kept"), *places_of(folder)):
        try:
            files += [entry.path for entry in os.scandir(place)]
        except OSError:
            continue
    total = 0
    for path in files:
        try:
            status = os.lstat(path)
            total += min(status.st_size, getattr(status, "st_blocks", status.st_size) * 512)
        except OSError:
            continue
    return total


def forget_kept(folder: str) -> None:
    """Remove all that a session keeps for undo."""
    for place in (os.path.join(folder, "kept"), *places_of(folder)):
        shutil.rmtree(place, ignore_errors=True)
    for name in (FILE_NAME, SEAL_NAME):
        try:
            os.unlink(os.path.join(folder, name))
        except OSError:
            continue
