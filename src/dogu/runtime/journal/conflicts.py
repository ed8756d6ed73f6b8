"""What somebody else did while a command ran, that stands in the way of committing what is in its layer."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Sequence

from dogu.language import told
from dogu.runtime.journal.states import Seen
from dogu.workspace import fs
from dogu.workspace.held import Head, beside, git_folder
from dogu.workspace.openat import identity_of, open_long
from dogu.workspace.staged import StagedChange

_LIST = os.O_RDONLY | fs.O_DIRECTORY | fs.O_NOFOLLOW | fs.O_CLOEXEC


class Folders:
    """Whether folders are still those that a command saw, each looked at once; `began_ns` is when it began.

    Where the kernel has noted no identity (in a user namespace), one that was renamed meanwhile tells it by its times:
    its own changed, and that of the folder which lists it. `changes` say which of them it moved.
    """

    def __init__(self, roots: Sequence[str], began_ns: int, changes: Iterable[StagedChange]) -> None:
        self._roots = roots
        self._places = {change.path: change.moved_from for change in changes if change.moved_from}
        self._began_ns = began_ns
        self._others: dict[str, bool] = {}

    def is_another(self, folder: str, identity: bytes) -> bool:
        """Whether there is a folder that isn't the one of this identity (b"": that was there before)."""
        if folder not in self._others:
            self._others[folder] = self._looked_at(folder, identity)
        return self._others[folder]

    def conflict(self, change: StagedChange, seen: Seen) -> str:
        """Say why somebody else's doing stands in the way of a change; "" where nothing does."""
        if self.is_another(self._place_before(os.path.dirname(change.path)), change.within):
            return told("the folder it lies in has been replaced since the command began")
        own = change.moved_from or self._place_before(change.path)
        if change.origin and self.is_another(own, change.origin):
            return told("the folder has been replaced since the command began")
        if seen.status is None:
            return told("somebody removed it since the command began") if change.was_there and change.source else ""
        is_replaced = change.source and not change.was_there and not change.is_folder
        if stat.S_ISDIR(seen.status.st_mode) and not is_replaced:
            return ""  # its time says only that something in it changed, and that is looked at by itself
        return told("somebody changed it since the command began") if self._is_newer(seen.status) else ""

    def outrun(self, paths: Collection[str], known: Collection[str], head: Head) -> set[str]:
        """Return those that are one thing with a file which the command didn't change, and somebody did meanwhile."""
        others = {path: kin for path, kin in beside(paths, head).items() if not git_folder(path)}
        return {path for path, kin in others.items() if any(self._is_newer_at(one) for one in kin if one not in known)}

    def _is_newer(self, status: os.stat_result) -> bool:
        return status.st_ctime_ns > self._began_ns

    def _is_newer_at(self, path: str) -> bool:
        try:
            return self._is_newer(os.lstat(path))
        except OSError:
            return False

    def _place_before(self, path: str) -> str:
        """Return where a path lay when the command began, which has moved the folder that it lies in."""
        above = path
        while self._places and above != "/":
            if above in self._places:
                return self._places[above] + path[len(above) :]
            above = os.path.dirname(above)
        return path

    def _looked_at(self, folder: str, identity: bytes) -> bool:
        try:
            handle = open_long(folder, _LIST)
        except OSError:
            return False
        try:
            now = identity_of(handle) if identity else b""
            if now:
                return now != identity
            if folder in self._roots or folder == "/":
                return False
            above = os.stat("..", dir_fd=handle)
            if os.fstat(handle).st_ctime_ns > self._began_ns < above.st_mtime_ns:
                return True
        finally:
            os.close(handle)
        return self.is_another(os.path.dirname(folder), b"")
