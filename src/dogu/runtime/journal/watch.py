"""Finding out from outside what a call changed: the roots looked at before and after, what differs put into records.

Above: `journal`. Below: `workspace.snapshot`.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, TypeGuard

import msgspec

from dogu.language import told
from dogu.runtime.journal.kept import IN_LOG_BYTES, Kept
from dogu.runtime.journal.log import ChangeRecord
from dogu.runtime.journal.states import KEPT_APART, MISSING, State, digest_by_stamp
from dogu.workspace import fs
from dogu.workspace.digest import digest_of, digest_of_blocks
from dogu.workspace.sandbox.work import mounts_below, repositories
from dogu.workspace.snapshot.rows import BY_LINK

if TYPE_CHECKING:
    from dogu.workspace.snapshot.limits import SnapshotLimits
    from dogu.workspace.snapshot.trees import SnapshotRow, TreeChange, TreeSnapshots
    from dogu.workspace.staged import Later, Written

_GOING = "tree.going"
_LOCK_NAME = "journal.lock"
_MOST_NAMED = 5
_REST = 10  # after a look in vain, for so many times as long as it took


class UnwatchedError(Exception):
    """The roots can't be looked at; the message says why, for a user."""


class ChangeWatch:
    """Looks at `roots` for the session in `folder`, and says that its process is alive."""

    def __init__(self, folder: str, roots: Sequence[str], limits: SnapshotLimits | None = None) -> None:
        self._folder = folder
        self._going = os.path.join(folder, _GOING)
        self._roots = roots
        self._limits = limits
        self._snapshots: TreeSnapshots | None = None
        self._owner = -1
        self._too_many = ""
        self._rests_until_s = 0.0

    @property
    def position(self) -> int:
        """Where the snapshot's index ends; for `resume` in another process."""
        return self._snapshots.position if self._snapshots else 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the last look could not keep, in words for a user."""
        return self._snapshots.notes if self._snapshots else ()

    @property
    def keeps(self) -> tuple[str, int] | None:
        """Where files are to be kept that go and weren't read, and of how many bytes; None where all were."""
        least_bytes = self._snapshots.least_lost_bytes if self._snapshots else None
        if least_bytes is None:
            return None
        with suppress(OSError):
            os.makedirs(self._going, mode=0o700, exist_ok=True)
        return self._going, least_bytes

    def forget_going(self) -> None:
        """Let go of what was kept of files that are there yet."""
        shutil.rmtree(self._going, ignore_errors=True)

    def unseen(self) -> tuple[str, ...]:
        """Say, in words for a user, where in the roots it doesn't look: other file systems, which may have no end."""
        mounted = mounts_below(self._roots, writable=True)
        if not mounted:
            return ()
        names = ", ".join(mounted[:_MOST_NAMED]) + (", ..." if len(mounted) > _MOST_NAMED else "")
        return (
            told(
                "Other file systems are mounted here: what a command changes in {names} can't be undone.", names=names
            ),
        )

    def own(self) -> bool:
        """Keep other processes from thinking that the session's is dead; False when another one is alive."""
        if self._owner < 0:
            self._owner = _lock(os.path.join(self._folder, _LOCK_NAME))
        return self._owner >= 0

    def look(self, known: Iterable[Written] = ()) -> list[TreeChange]:
        """Return what changed since the last look, also where it is `known` to be. Raises `UnwatchedError`."""
        from dogu.workspace.snapshot.trees import TooManyEntriesError

        started_s = time.monotonic()
        if started_s < self._rests_until_s:
            raise UnwatchedError(self._too_many)
        try:
            self.own()
            self._snapshots = self._snapshots or self._begun()
            return self._snapshots.look({os.path.dirname(path) for written in known for path in written.paths})
        except TooManyEntriesError as error:
            self._rests_until_s = time.monotonic() + (time.monotonic() - started_s) * _REST
            self._too_many = told(
                "The workspace holds more than {error} entries: what commands change can't be undone.", error=error
            )
            raise UnwatchedError(self._too_many) from error
        except OSError as error:
            message = told(
                "The workspace can't be watched ({error}): what commands change can't be undone.", error=error
            )
            raise UnwatchedError(message) from error

    def resume(self, position: int) -> list[TreeChange]:
        """Return what changed since a process that is dead had looked. Raises `UnwatchedError`."""
        try:
            self._snapshots = self._begun()
            self._snapshots.load(position)
        except OSError as error:
            raise UnwatchedError(
                told("The record of what a command changed when dogu was killed is lost ({error}).", error=error)
            ) from error
        return self.look()

    def _begun(self) -> TreeSnapshots:
        """Of the roots, and the repositories that they are worktrees of: their commits go there."""
        from dogu.workspace.snapshot.trees import TreeSnapshots

        # Beside the session lie others, and what the program keeps is nobody's work.
        exclude = (os.path.dirname(self._folder), self._folder)
        looked_at = [*self._roots, *repositories(self._roots)]
        return TreeSnapshots(self._folder, looked_at, exclude, self._limits)

    def as_records(
        self,
        changes: Sequence[TreeChange],
        already: Mapping[str, State],
        is_inside: Callable[[str], bool],
        kept: Kept,
        is_known: Callable[[TreeChange], bool] | None,
    ) -> tuple[list[ChangeRecord], list[bytes]]:
        """Return the changes as records, with the contents their `before` states count from.

        Who made them isn't known, and the records say so, unless it `is_known` that the command did; what holds the
        same then is left out. `already` are the states in which our own tools left paths within the same call: those
        were noted as they were written. `is_inside` tells whether a path is in a root. Large objects of git's go to
        `kept`.
        """
        records: list[ChangeRecord] = []
        contents: list[bytes] = []
        size = 0
        names = self._names(changes)
        for change in changes:
            is_unsure = is_known is None or not is_known(change)
            if change.is_time_only and is_unsure:
                continue
            before, after = self._state(change.before), self._state(change.after)
            if change.path in already:
                before = already[change.path]
                if before.is_same_as(after):
                    continue
            elif change.is_time_only:
                pass  # nothing of it goes
            elif change.before is not None and (self._is_large_object(change.before) or change.before.is_lost):
                before = self._adopted(change.before, before, kept)
            elif (data := self._content(change.before)) is not None:
                before = msgspec.structs.replace(before, digest=digest_of(data), size=len(data), where=size)
                contents.append(data)
                size += len(data)
            before, after = (
                _with_peers(*each, change.path, names) for each in ((before, change.before), (after, change.after))
            )
            outside = not is_inside(change.path)
            records.append(ChangeRecord(os.fsencode(change.path), before, after, outside, is_unsure=is_unsure))
        return records, contents

    def opened(self, row: SnapshotRow, path: str) -> BinaryIO:
        """Open what a file at a path held at a look, or what was kept of it before it went on. Raises OSError."""
        data = self._content(row)
        if data is not None:
            return BytesIO(data)
        status = os.lstat(path)
        is_it = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino) == row.stamp
        return open(path if is_it else os.path.join(self._going, f"{row.stamp[2]}"), "rb")

    def discard(self) -> None:
        """Remove what served only the looks."""
        self.forget_going()
        if self._snapshots is not None:
            self._snapshots.discard()
            self._snapshots = None

    def close(self) -> None:
        """Remove what served only the looks, and say that the process is done."""
        self.discard()
        if self._owner >= 0:
            _unlink_if_there(os.path.join(self._folder, _LOCK_NAME))
            os.close(self._owner)
            self._owner = -1

    def _is_large_object(self, row: SnapshotRow | None) -> TypeGuard[SnapshotRow]:
        return row is not None and row.where == BY_LINK and row.size > IN_LOG_BYTES

    def _adopted(self, row: SnapshotRow, state: State, kept: Kept) -> State:
        """Keep a large object by the second name that it was given, or what was kept of a file as it went."""
        if row.is_lost:
            path = os.path.join(self._going, f"{row.stamp[2]}")
            with suppress(OSError):
                status = os.lstat(path)
                is_it = (status.st_size, status.st_mtime_ns, status.st_nlink) == (row.size, row.stamp[0], 1)
                if is_it and kept.adopt(path, state):
                    return msgspec.structs.replace(state, where=KEPT_APART)
        elif self._snapshots is not None and kept.adopt(self._snapshots.contents.file_of(row), state):
            return msgspec.structs.replace(state, where=KEPT_APART)
        return state

    def _names(self, changes: Sequence[TreeChange]) -> dict[int, list[str]]:
        """Return all names, by inode, that the changed files had of which there were several."""
        rows = [
            (change.path, row) for change in changes for row in (change.before, change.after) if row and row.links > 1
        ]
        if self._snapshots is None or not rows:
            return {}
        names = self._snapshots.names_of({row.stamp[2] for _, row in rows})
        for path, row in rows:
            if path not in names.setdefault(row.stamp[2], []):
                names[row.stamp[2]].append(path)
        return names

    def _content(self, row: SnapshotRow | None) -> bytes | None:
        return self._snapshots.contents.of(row) if row is not None and self._snapshots is not None else None

    def _state(self, row: SnapshotRow | None) -> State:
        if row is None:
            return MISSING
        mode = stat.S_IMODE(row.mode)
        known = State(row.kind, mode, owner=row.owner, xattrs=row.xattrs, links=row.links, is_sparse=row.is_sparse)
        if row.kind != "file":
            return msgspec.structs.replace(known, mode=0 if row.kind == "link" else mode, target=row.target)
        known = msgspec.structs.replace(known, size=row.size, mtime_ns=row.stamp[0])
        if self._is_large_object(row) and self._snapshots is not None:
            with open(self._snapshots.contents.file_of(row), "rb") as file:
                digest = digest_of_blocks(iter(lambda: file.read(1 << 20), b""))
        else:
            data = self._content(row)
            digest = digest_by_stamp(row.stamp[2], row.size, row.stamp[0]) if data is None else digest_of(data)
        return msgspec.structs.replace(known, digest=digest)


class ToldOf:
    """Holds what it is told of a command last; see `staged.Watching`."""

    def __init__(self, keeps: tuple[str, int] | None) -> None:
        self.keeps = keeps
        self.last: tuple[Written | None, Later | None] = (None, None)

    def __call__(self, written: Written | None, later: Later | None = None) -> None:
        """Take what it wrote."""
        self.last = written, later


def _with_peers(state: State, row: SnapshotRow | None, path: str, names: Mapping[int, Sequence[str]]) -> State:
    if row is None or row.links < 2:
        return state
    others = tuple(os.fsencode(other) for other in names.get(row.stamp[2], ()) if other != path)
    return msgspec.structs.replace(state, peers=others)


def has_remains(folder: str) -> bool:
    """Whether a session, living or dead, keeps its looks in `folder`."""
    return os.path.exists(os.path.join(folder, _LOCK_NAME))


def discard_remains(folder: str) -> None:
    """Remove what a dead session's looks left in its folder."""
    owner = _lock(os.path.join(folder, _LOCK_NAME))
    if owner < 0:
        return
    for name in ("tree.objects", _GOING):
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    for name in ("tree.index", "tree.pack", _LOCK_NAME):
        _unlink_if_there(os.path.join(folder, name))
    os.close(owner)


def _lock(path: str) -> int:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = fs.open(path, os.O_RDWR | os.O_CREAT | fs.O_CLOEXEC, 0o600)
    try:
        fs.flock(descriptor, fs.LOCK_EX | fs.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def _unlink_if_there(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
