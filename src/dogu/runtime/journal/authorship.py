"""Telling whose a change is that a look saw: by what the kernel said that commands and their jobs wrote.

Above: `journal`, `jobs`. Below: `workspace.snapshot`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from dogu.workspace import fs
from dogu.workspace.snapshot.rows import BY_LINK
from dogu.workspace.staged import Share

if TYPE_CHECKING:
    from dogu.workspace.snapshot.rows import SnapshotRow, TreeChange
    from dogu.workspace.staged import Stamp, Written

    Opened = Callable[[SnapshotRow, str], BinaryIO]  # see `ChangeWatch.opened`

FOREIGN = -2  # instead of an inode: somebody else's
_UNOPENED = Share(1 << 63, only_appends=True, stretches=False)  # more than any open leaves
_FEW_BYTES = 16  # hardly ever the same, or all zeros, by chance
_ZEROS = bytes(_FEW_BYTES)
_BLOCK_BYTES = 1 << 16


class Authorship:
    """Tells which of all `changes` that a look saw a command made: those that it is known to have written, of what the
    look before it saw, to what the look after it sees. Anything between that isn't its own leaves another stamp or
    inode, or comes long after the command's last call, or was seen by the supervisor, or is nothing that the command
    could have left alone (`opened` gives what a file held at a look); what somebody has open to write when all of the
    command `has_ended` may hold theirs. What was written by one name counts for a file's others."""

    def __init__(
        self,
        written: Written,
        changes: Sequence[TreeChange],
        opened: Opened,
        *,
        has_ended: bool = False,
    ) -> None:
        self._has_ended = has_ended
        self._opened = opened
        self._shares = written.shares
        self._was = {change.before.stamp[2]: change for change in changes if change.before is not None}
        self._paths = written.paths
        self._moves = [(os.path.join(old, ""), os.path.join(new, "")) for old, new in written.moves]
        self._first = {first for first, _, _ in written.paths.values()}
        self._came = {new: old for old, new in written.moves}
        self._before = {stamp_of(change.before) for change in changes}
        # What it changed by one name, or made and removed another name of, it was told of anew by the next.
        firsts = [first for first, now, _ in written.paths.values() if first and now != FOREIGN]
        known = {first[2] for first in firsts if first in self._before}
        self._before |= {first for first in firsts if first[2] in known}
        self._after = {stamp_of(change.after) for change in changes}
        self._until_ns: dict[int, int] = {}
        for first, now, until_ns in written.paths.values():
            for inode in {*first[2:], now} if now != -2 else ():
                self._until_ns[inode] = max(until_ns, self._until_ns.get(inode, 0))

    def covers(self, change: TreeChange) -> bool:
        """Whether this change is the command's."""
        if not self._is_told_of(change):
            return False
        if change.after is None or change.after.kind != "file":
            return True
        is_held = self._has_ended and fs.is_open_for_writing(change.path)
        return not is_held and self._could_leave(change.path, change.after)

    def _could_leave(self, path: str, after: SnapshotRow) -> bool:
        """Whether the file holds what the command alone could have made of what it held before."""
        was = self._was.get(after.stamp[2])
        before = was.before if was is not None else None
        if was is None or before is None or before.kind != "file" or after.where == BY_LINK:
            return True
        share = None if 0 in self._shares else self._shares.get(after.stamp[2], _UNOPENED)
        if share is None or not share.kept_bytes or (before.where == after.where and not before.is_lost):
            return True
        if after.size < min(before.size, share.kept_bytes):
            return False
        try:
            with self._opened(before, was.path) as old, self._opened(after, path) as new:
                return could_leave(old, new, share)
        except OSError:  # nothing is kept that undo could bring back
            return share != _UNOPENED or before.size == after.size

    def _is_told_of(self, change: TreeChange) -> bool:
        names = self._names(change.path)
        known = [self._paths[name] for name in names if name in self._paths]
        is_moved = len(names) > 1
        is_left = any(change.path.startswith(old) for old, _ in self._moves)
        if change.before is not None:
            stamp = stamp_of(change.before)
            own = self._paths.get(change.path)
            # Where the folder went away, what was told of the path may be of another file, which came there later.
            is_exact = own is not None and own[0] and change.before.links < 2 and not is_left
            is_from_before = stamp == own[0] if own and is_exact else stamp in self._first or stamp in self._after
            is_from_before |= (is_left and change.before.kind == "folder") or any(
                self._paths.get(place, ((), FOREIGN))[1] != FOREIGN for place in self._later(change.path)
            )
        else:
            came = {stamp_of(change.after), *(first for first, _, _ in known)} & self._before
            is_folder = change.after is not None and change.after.kind == "folder"
            is_known = bool(came) or is_folder or self._was_written_by_another_name(change)
            is_from_before = any(not first for first, _, _ in known) or (is_moved and is_known)
        if change.after is None:
            # What it was to make there, and nobody has seen since, could not be made.
            return is_from_before and (is_left or any(inode in (0, -1) for _, inode, _ in known[:1]))
        if not is_from_before or not self._came_as_seen(change):
            return False
        is_now = any(self._leaves(change.after, each) for each in known) or self._was_written_by_another_name(change)
        is_now = is_now or self._came_along(change.after, names[1:])
        # A folder that came along is no change where it lay if another one is there now; it goes only when empty.
        return is_now or (is_moved and (change.after.kind == "folder" or stamp_of(change.after) in self._before))

    def _came_as_seen(self, change: TreeChange) -> bool:
        """Whether a file that was moved here was moved as the look before saw it, and as nobody else had saved it."""
        old = self._paths.get(self._came.get(change.path, ""))
        if old is None or change.after is None or change.after.kind == "folder":
            return True
        first, now, _ = old
        # What was made there since is another, also where it got the number of a folder that went (whose times are 0).
        is_another = not any(first[:2]) or first[2:] != (change.after.stamp[2],)
        return now != FOREIGN and (is_another or first in self._before)

    def _leaves(self, row: SnapshotRow, told_of: tuple[Stamp, int, int]) -> bool:
        first, now, until_ns = told_of
        written_ns, changed_ns, inode = row.stamp
        last_ns = written_ns if row.where == BY_LINK else changed_ns  # the look itself has linked it
        is_it = now in (-1, inode) or (now == 0 and first[2:] == (inode,))
        return is_it and (last_ns <= until_ns or row.kind == "folder")

    def _came_along(self, row: SnapshotRow, names: Sequence[str]) -> bool:
        """Whether a file came with its folder from one of these names, at which the command had made it: what was told
        of that name last may be of another one, which came there when the folder had gone."""
        share = self._shares.get(row.stamp[2])
        if share is None or share.kept_bytes:
            return False
        return any(row.stamp[1] <= self._paths[name][2] for name in names if name in self._paths)

    def _was_written_by_another_name(self, change: TreeChange) -> bool:
        if change.after is None:
            return False
        _, last_ns, inode = change.after.stamp
        was = self._was.get(inode)  # it may have been moved here
        before = was.before if was is not None else None
        if before is None or max(before.links, change.after.links) < 2:
            return False
        return last_ns <= self._until_ns.get(inode, 0)

    def _later(self, path: str) -> Generator[str]:
        """Yield where what lay at a path came to lie, as folders above it were moved: it was told of there."""
        for old, new in self._moves:
            if path.startswith(old):
                path = new + path[len(old) :]
                yield path

    def _names(self, path: str) -> list[str]:
        """Return a path and those that it had before, as folders above it were moved."""
        names = [path]
        for old, new in reversed(self._moves):
            if names[-1].startswith(new):
                names.append(old + names[-1][len(new) :])
        return names


def stamp_of(row: SnapshotRow | None) -> Stamp:
    """Return what a look saw as the kernel tells it."""
    if row is None:
        return ()
    return (0, 0, row.stamp[2]) if row.kind == "folder" else row.stamp


def could_leave(old: BinaryIO, new: BinaryIO, share: Share) -> bool:
    """Whether somebody who wrote into a file with such a share, and cut away no more, can have left it as `new`.

    Where another cut a text there are zeros now, but for what was written anew, and nothing that was there is left
    behind them. Where another stretched it there are zeros too: at the end, or before what was appended then. What held
    zeros before, as databases do, may be given some: of that only the length says that it was cut.
    """
    left, is_cut, is_text = share.kept_bytes, False, True
    while left > 0 and (was := old.read(min(left, _BLOCK_BYTES))):
        now = new.read(len(was))
        left -= len(was)
        if len(now) < len(was) or (share.only_appends and now != was):
            return False
        is_text = is_text and b"\0" not in was
        is_cut = is_text and _is_cut(was, now, is_cut)
    if left == 0 or share.stretches or not (is_text or share == _UNOPENED):
        return not is_cut
    return not is_cut and _could_follow(new, share)


def _is_cut(was: bytes, now: bytes, is_cut: bool) -> bool:
    """Whether some of a text is zeros now with nothing left behind it, as it `is_cut` or not before this block."""
    if not is_cut and b"\0" not in now:
        return False
    for start in range(0, len(was), _FEW_BYTES):
        old, new = was[start : start + _FEW_BYTES], now[start : start + _FEW_BYTES]
        is_cut = old != new and (is_cut or b"\0" in new)
    return is_cut


def _could_follow(new: BinaryIO, share: Share) -> bool:
    """Whether what comes behind all that was there can have been written there."""
    end = b""
    while block := new.read(_BLOCK_BYTES):
        if share == _UNOPENED or (share.only_appends and _ZEROS in end + block):
            return False
        end = (end + block)[-_FEW_BYTES:]
    return end != _ZEROS
