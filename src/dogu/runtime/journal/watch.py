"""Finding out from outside what a call changed, and putting it into records: by what the kernel tells of a command,
else by looking at the roots before and after. What dogu's own tools write is put into records here too.

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
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias, TypeGuard

import msgspec

from dogu.language import told
from dogu.runtime.journal.kept import IN_LOG_BYTES, Kept
from dogu.runtime.journal.log import ChangeRecord
from dogu.runtime.journal.peers import peers_of
from dogu.runtime.journal.states import (
    KEPT_APART,
    MISSING,
    NEW_FOLDER,
    NOT_KEPT,
    UNKNOWN_MODE,
    State,
    digest_by_stamp,
    state_in_log,
)
from dogu.runtime.journal.words import lost_notes
from dogu.workspace import fs
from dogu.workspace.digest import digest_of, digest_of_blocks
from dogu.workspace.git_index import digest_of_index
from dogu.workspace.sandbox.work import mounts_below, repositories
from dogu.workspace.snapshot.rows import BY_LINK, TOLD

if TYPE_CHECKING:
    from dogu.workspace.files import FileChange
    from dogu.workspace.roots import Roots
    from dogu.workspace.snapshot.limits import SnapshotLimits
    from dogu.workspace.snapshot.rows import SnapshotRow, TreeChange
    from dogu.workspace.snapshot.told import ToldChanges
    from dogu.workspace.snapshot.trees import TreeSnapshots
    from dogu.workspace.staged import Later, Written

_Names: TypeAlias = dict[int, list[str]]  # by inode
_GOING = "tree.going"
_LOCK_NAME = "journal.lock"
_MOST_NAMED = 5
TOLD_POSITION = -1  # instead of where an index ends: nothing was looked at
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
        self._told: ToldChanges | None = None
        self._owner = -1
        self._too_many = ""
        self._rests_until_s = 0.0

    @property
    def position(self) -> int:
        """Where the snapshot's index ends; for `resume` in another process."""
        return self._snapshots.position if self._snapshots else 0

    def notes_on(self, changes: Sequence[ChangeRecord]) -> tuple[str, ...]:
        """Say in words for a user what of these couldn't be kept, if anything."""
        moved = {change.after.digest for change in changes if change.after.kind == "file"}
        gone = (change for change in changes if change.is_loss and change.before.digest not in moved)
        lost = [(os.fsdecode(change.path), change.before.size) for change in gone]
        return (self._snapshots.notes if lost and self._snapshots else ()) or lost_notes(lost)

    @property
    def keeps(self) -> tuple[str, int] | None:
        """Where files are to be kept that go and weren't read, and of how many bytes; None where all were."""
        least_bytes = self._snapshots.least_lost_bytes if self._snapshots else None
        if least_bytes is None:
            return None
        with suppress(OSError):
            os.makedirs(self._going, mode=0o700, exist_ok=True)
        return self._going, least_bytes

    def begin_told(self) -> str:
        """Return a folder in which a command's supervisor is to note what it changes. Raises OSError."""
        self.own()
        self._told = self._told or self._begun_told()
        return self._told.begin()

    def forget_going(self) -> None:
        """Let go of what was kept of files that are there yet, and of what was noted."""
        if self._told is not None:
            self._told.forget()
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

    def look(self, known: Iterable[Written] = (), *, is_full: bool = True) -> list[TreeChange]:
        """Return what changed since the last look of what is told, and with a full one of all in the roots, also where
        it is `known` to be. Raises `UnwatchedError`.
        """
        told_of = [] if self._told is None else self._told.look()
        if not is_full:
            return told_of
        paths = {change.path for change in told_of}
        seen = [change for change in self._look_at_all(known) if change.path not in paths]
        return sorted([*told_of, *seen], key=lambda change: change.path)

    def _look_at_all(self, known: Iterable[Written]) -> list[TreeChange]:
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
        if position == TOLD_POSITION:
            self._told = self._begun_told()
            self._told.resume()
            return self._told.look()
        try:
            self._snapshots = self._begun()
            self._snapshots.load(position)
        except OSError as error:
            raise UnwatchedError(
                told("The record of what a command changed when dogu was killed is lost ({error}).", error=error)
            ) from error
        return self.look()

    def _begun(self) -> TreeSnapshots:
        from dogu.workspace.snapshot.trees import TreeSnapshots

        return TreeSnapshots(self._folder, self._looked_at, self._own_folders, self._limits)

    def _begun_told(self) -> ToldChanges:
        from dogu.workspace.snapshot.told import ToldChanges

        return ToldChanges(self._going, self._looked_at, self._own_folders)

    @property
    def _looked_at(self) -> list[str]:
        """The roots, and the repositories that they are worktrees of: their commits go there."""
        return [*self._roots, *repositories(self._roots)]

    @property
    def _own_folders(self) -> tuple[str, str]:
        """Beside the session lie others, and what the program keeps is nobody's work."""
        return os.path.dirname(self._folder), self._folder

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
        names_before, names_after = self._names(changes)
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
            elif change.before is not None and self._is_apart(change.before):
                before = self._adopted(change.before, before, kept)
            elif (data := self._content(change.before)) is not None:
                before = msgspec.structs.replace(before, digest=digest_of(data), size=len(data), where=size)
                contents.append(data)
                size += len(data)
            before = _with_peers(before, change.before, change.path, names_before)
            after = _with_peers(after, change.after, change.path, names_after)
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
        return open(path if is_it else self._file_of(row), "rb")

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

    def _is_apart(self, row: SnapshotRow) -> bool:
        """Whether what a file held is kept, if at all, in a file of its own, which needn't be read."""
        if row.where >= TOLD and self._told is not None:
            return row.size > IN_LOG_BYTES
        return self._is_large_object(row) or row.is_lost

    def _file_of(self, row: SnapshotRow) -> str:
        """Return the file that nobody else has in which a content is kept; where none is, its name leads to nothing."""
        if row.where >= TOLD and self._told is not None and self._told.is_kept_apart(row):
            return self._told.file_of(row)
        if row.where == BY_LINK and self._snapshots is not None:
            return self._snapshots.contents.file_of(row)
        return os.path.join(self._going, f"{row.stamp[2]}")

    def _is_large_object(self, row: SnapshotRow | None) -> TypeGuard[SnapshotRow]:
        return row is not None and row.where == BY_LINK and row.size > IN_LOG_BYTES

    def _adopted(self, row: SnapshotRow, state: State, kept: Kept) -> State:
        """Keep a large object by the second name that it was given, or what was kept of a file as it went."""
        path = self._file_of(row)
        with suppress(OSError):
            status = os.lstat(path)
            is_it = (status.st_size, status.st_mtime_ns, status.st_nlink) == (row.size, row.stamp[0], 1)
            if (is_it or row.where == BY_LINK or row.where >= TOLD) and kept.adopt(path, state):
                return msgspec.structs.replace(state, where=KEPT_APART)
        return msgspec.structs.replace(state, where=KEPT_APART) if kept.file_of(state) else state

    def _names(self, changes: Sequence[TreeChange]) -> tuple[_Names, _Names]:
        """Return all names that the changed files of which there were several had before, and have after, by inode."""
        inodes = {row.stamp[2] for change in changes for row in (change.before, change.after) if row and row.links > 1}
        if not inodes:
            return {}, {}
        looks = self._snapshots if self._told is None or self._told.is_empty else self._told
        found = looks.names_of(inodes) if looks is not None else {}
        before = {change.path: change.before for change in changes}
        after = {change.path: change.after for change in changes}
        return _names_then(found, inodes, before), _names_then(found, inodes, after)

    def _content(self, row: SnapshotRow | None) -> bytes | None:
        if row is None:
            return None
        if row.where >= TOLD:
            return self._told.content(row) if self._told is not None else None
        return self._snapshots.contents.of(row) if self._snapshots is not None else None

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
            known = msgspec.structs.replace(known, says=digest_of_index(data or b""))
        return msgspec.structs.replace(known, digest=digest)


class ToldOf:
    """Holds what it is told of a command last; see `staged.Watching`."""

    def __init__(self, keeps: tuple[str, int] | None, before: str) -> None:
        self.keeps = keeps
        self.before = before
        self.last: tuple[Written | None, Later | None] = (None, None)

    def __call__(self, written: Written | None, later: Later | None = None) -> None:
        """Take what it wrote."""
        self.last = written, later


def _names_then(
    found: Mapping[int, Sequence[str]], inodes: Iterable[int], rows: Mapping[str, SnapshotRow | None]
) -> _Names:
    """Return the names that files had when the changed paths held these `rows`; `found` are those of another time."""
    then = {path: row.stamp[2] if row else 0 for path, row in rows.items()}
    names = {inode: [path for path in found.get(inode, ()) if then.get(path, inode) == inode] for inode in inodes}
    for path, inode in then.items():
        if inode in names and path not in names[inode]:
            names[inode].append(path)
    return names


def _with_peers(state: State, row: SnapshotRow | None, path: str, names: _Names) -> State:
    if row is None or row.links < 2:
        return state
    others = tuple(os.fsencode(other) for other in names[row.stamp[2]] if other != path)
    return msgspec.structs.replace(state, peers=others)


class OwnWrite(NamedTuple):
    """A write's records, how many bytes of what was there go into the log, and what is said of what doesn't."""

    records: tuple[ChangeRecord, ...]
    kept_bytes: int
    notes: tuple[str, ...]


def own_write(change: FileChange, roots: Roots, kept: Kept, is_inside: Callable[[str], bool]) -> OwnWrite:
    """Return what is to be noted of a write that is about to happen."""
    old, kept_bytes, notes = MISSING, 0, ()
    if change.old is not None:
        old = state_in_log(change.old.status, change.old.digest, change.old_mode or 0, change.old.attributes())
        if change.new is None:
            old = msgspec.structs.replace(old, peers=peers_of(change.path, change.old.status, roots.all))
        if kept.take_room(old.size):
            kept_bytes = old.size
        else:
            old = msgspec.structs.replace(old, where=NOT_KEPT)
            notes = lost_notes([(change.path, old.size)])
    mode = UNKNOWN_MODE if change.old_mode is None else change.old_mode
    new = MISSING if change.new is None else State("file", mode, len(change.new), change.new_digest)
    outside = not is_inside(change.path)
    made = [ChangeRecord(os.fsencode(path), MISSING, NEW_FOLDER, outside) for path in change.made]
    return OwnWrite((*made, ChangeRecord(os.fsencode(change.path), old, new, outside)), kept_bytes, notes)


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
