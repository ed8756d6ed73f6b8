"""Puts what a command left in its layer where it belongs, and keeps what was there, so that it can be undone.

It is noted before it is done: killed in the middle, it is finished by whoever starts next (`finish_interrupted`).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress

import msgspec

from dogu.contract.errors import ToolError
from dogu.language import told
from dogu.runtime.journal.apply import Step
from dogu.runtime.journal.kept import IN_LOG_BYTES, Kept
from dogu.runtime.journal.log import ChangeRecord
from dogu.runtime.journal.reach import JournalReach
from dogu.runtime.journal.states import MISSING, NOT_KEPT, Seen, State, digest_by_stamp, see
from dogu.runtime.journal.undo import look_at
from dogu.workspace import fs
from dogu.workspace.staged import StagedChange

MARKER = "committing"
_NOTE = ".journal"
_MANY = 2_000  # new files; of so many, the contents aren't read to know them again
_READ_BYTES = 4 << 20
_MOST_LOOKED_AT = 50_000  # files, for the other names of one
_BY_STAMP = State(digest=digest_by_stamp(0, 0))


class Staged(msgspec.Struct):
    """What is to be committed: the records of it with what was there, the steps, and what stands in the way."""

    changes: list[ChangeRecord] = msgspec.field(default_factory=list[ChangeRecord])
    steps: list[Step] = msgspec.field(default_factory=list[Step])
    contents: list[Step] = msgspec.field(default_factory=list[Step])
    content_bytes: int = 0
    conflicts: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    nothing_to_do: list[str] = msgspec.field(default_factory=list[str])
    lost: list[tuple[str, int]] = msgspec.field(default_factory=list[tuple[str, int]])

    @property
    def notes(self) -> tuple[str, ...]:
        """What can't be kept, in words for a user."""
        return lost_notes(self.lost)


def lost_notes(lost: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """Say which files, with their sizes in bytes, can't be undone because there is no room to keep them."""
    if not lost:
        return ()
    names = ", ".join(path for path, _ in lost[:3])
    size_mb = (sum(size for _, size in lost) + 999_999) // 1_000_000
    if len(lost) > 3:
        return (
            told(
                "Can't be undone, for want of room (journal.keep): {names} and {count} more, {size} MB in all.",
                names=names,
                count=len(lost) - 3,
                size=size_mb,
            ),
        )
    return (told("Can't be undone, for want of room (journal.keep): {names}, {size} MB.", names=names, size=size_mb),)


class Stager:
    """Looks at what is to be committed, over the places that `reach` has, keeping contents in `kept`."""

    def __init__(self, roots: Sequence[str], reach: JournalReach, kept: Kept, beside: str) -> None:
        self._roots = roots
        self._reach = reach
        self._kept = kept
        self._beside = beside
        self._found = Staged()
        self._moved: set[str] = set()
        self._names: dict[int, list[str]] | None = None

    def stage(self, changes: Sequence[StagedChange], began_ns: int, force: Collection[str]) -> Staged:
        """Look at each path, keep what is there, and say what is to be done. Raises OSError."""
        expanded = self._expanded(changes)
        self._moved = {change.source for change in expanded if change.moved_from}
        is_many = sum(1 for change in expanded if change.source) > _MANY
        for change in expanded:
            try:
                self._stage_one(change, began_ns, change.path in force, is_many)
            except ToolError as error:
                self._found.conflicts.append((change.path, error.message))
        self._keep_folders_of_conflicts()
        return self._found

    def _stage_one(self, change: StagedChange, began_ns: int, is_forced: bool, is_many: bool) -> None:
        found = self._found
        seen = look_at(self._reach, change.path)
        conflict = _conflict(change, seen, began_ns)
        if conflict and not is_forced and change.path not in self._moved:
            found.conflicts.append((change.path, conflict))
            return
        if seen.status is None and not change.source:
            found.nothing_to_do.append(change.path)
            return
        target = _state_of_source(change, is_many) if change.source else MISSING
        if seen.state.is_same_as(target):
            found.nothing_to_do.append(change.path)
            return
        number = len(found.changes)
        step = Step(
            number,
            change.path,
            seen,
            target,
            source="" if target.kind == "folder" or _keeps_content(change, seen.state, target) else change.source,
            is_in_place=change.in_place,
            has_marks=change.has_marks,
        )
        outside = not any(change.path.startswith(f"{root.rstrip('/')}/") for root in self._roots)
        before = self._kept_before(step)
        source = os.fsencode(step.source)
        found.changes.append(ChangeRecord(os.fsencode(change.path), before, target, outside, False, source))
        found.steps.append(step)

    def _kept_before(self, step: Step) -> State:
        state = msgspec.structs.replace(step.now.state, where=NOT_KEPT, peers=self._peers(step))
        is_moved = step.path in self._moved
        if state.kind != "file" or is_moved or state.has_same_content(step.target) or self._kept.find(state):
            return state
        if state.size <= IN_LOG_BYTES and self._kept.take_room(state.size):
            state = msgspec.structs.replace(state, where=self._found.content_bytes)
            self._found.content_bytes += state.size
            self._found.contents.append(step)
            return state
        place = self._reach.place(step.path)
        try:
            goes = not step.is_in_place
            if not self._kept.keep_apart(place.parent, place.name, step.now, beside=self._beside, goes=goes):
                self._found.lost.append((step.path, state.size))
        finally:
            os.close(place.parent)
        return state

    def _peers(self, step: Step) -> tuple[bytes, ...]:
        """Find the other names of a file that loses one, where the tree isn't too large to look for them."""
        status = step.now.status
        if status is None or step.now.state.kind != "file" or status.st_nlink < 2 or step.is_in_place:
            return ()
        if self._names is None:
            self._names = _names_of_linked(self._roots)
        return tuple(os.fsencode(path) for path in self._names.get(status.st_ino, ()) if path != step.path)

    def _expanded(self, changes: Sequence[StagedChange]) -> list[StagedChange]:
        """Give each path one change of its own: what goes with its folder, what moves with it.

        Folders may have changed places, or have been moved out of one that was moved: what is said last of a path
        counts, and what only leaves it gives way to what comes there.
        """
        moved = {change.moved_from for change in changes if change.moved_from}
        found = {path: StagedChange(path) for old in sorted(moved) for path in (old, *_below(old))}
        for change in changes:
            if change.moved_from:
                found |= _moves(change, moved)
            else:
                found[change.path] = change
            if not change.source or not _is_folder(change.source):
                within = [path for path in found if moved and path.startswith(f"{change.path}/")]
                found |= {path: StagedChange(path) for path in (*_below(change.path), *within)}
        return list(found.values())

    def _keep_folders_of_conflicts(self) -> None:
        """A folder that holds what somebody changed meanwhile stays, with all those it lies in."""
        found = self._found
        if not found.conflicts:
            return
        held: set[str] = set()
        for path, _ in found.conflicts:
            while (path := os.path.dirname(path)) not in held and path != "/":
                held.add(path)
        kept = [step for step in found.steps if step.target.kind == "missing" and step.path in held]
        for step in kept:
            why = told("it stays, for it holds what somebody else changed")
            found.conflicts.append((step.path, why))
        gone = {step.path for step in kept}
        found.changes = [each for each in found.changes if os.fsdecode(each.path) not in gone]
        numbered = [step for step in found.steps if step.path not in gone]
        found.steps = [msgspec.structs.replace(step, number=number) for number, step in enumerate(numbered)]


@contextmanager
def noted(pending: str, folder: str, sources: Iterable[str]) -> Generator[None]:
    """Note, while inside, that the session in `folder` is committing, and in the layers that they are needed."""
    markers = {layer for source in sources if (layer := _layer_of(source))}
    os.makedirs(pending, mode=0o700, exist_ok=True)
    path = os.path.join(pending, os.urandom(8).hex() + _NOTE)
    descriptor = fs.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | fs.O_CLOEXEC, 0o600)
    try:
        fs.flock(descriptor, fs.LOCK_EX)
        os.write(descriptor, os.fsencode(folder))
        for layer in markers:
            with suppress(OSError):
                os.close(fs.open(os.path.join(layer, MARKER), os.O_WRONLY | os.O_CREAT | fs.O_CLOEXEC, 0o600))
        yield
        for name in (*(os.path.join(layer, MARKER) for layer in markers), path):
            with suppress(OSError):
                os.unlink(name)
    finally:
        os.close(descriptor)


def interrupted(pending: str) -> list[tuple[str, str]]:
    """Return the notes of killed processes, each with the folder of the session that it is about."""
    found: list[tuple[str, str]] = []
    try:
        names = sorted(os.listdir(pending))
    except OSError:
        return []
    for name in names:
        path = os.path.join(pending, name)
        if not name.endswith(_NOTE):
            continue
        with suppress(OSError):
            descriptor = fs.open(path, os.O_RDWR | fs.O_NOFOLLOW | fs.O_CLOEXEC)
            try:
                fs.flock(descriptor, fs.LOCK_EX | fs.LOCK_NB)
                found.append((path, os.fsdecode(os.read(descriptor, 8192))))
            finally:
                os.close(descriptor)
    return found


def unmark(sources: Iterable[str]) -> None:
    """Say that the layers of these entries are no longer needed."""
    for layer in {layer for source in sources if (layer := _layer_of(source))}:
        with suppress(OSError):
            os.unlink(os.path.join(layer, MARKER))


def _layer_of(source: str) -> str:
    """Return the layer's own folder that a new entry lies in; '' for none."""
    folder = os.path.dirname(source)
    while folder not in ("", "/"):
        if os.path.basename(folder).startswith("layer-"):
            return folder
        folder = os.path.dirname(folder)
    return ""


def _conflict(change: StagedChange, seen: Seen, began_ns: int) -> str:
    if seen.status is None:
        return told("somebody removed it since the command began") if change.was_there and change.source else ""
    if stat.S_ISDIR(seen.status.st_mode):
        return ""  # its time says only that something in it changed, and that is looked at by itself
    if seen.status.st_ctime_ns > began_ns:
        return told("somebody changed it since the command began")
    return ""


def _state_of_source(change: StagedChange, is_many: bool) -> State:
    folder = fs.open(os.path.dirname(change.source), os.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC)
    try:
        name = os.path.basename(change.source)
        size = fs.stat(name, dir_fd=folder, follow_symlinks=False).st_size
        state = see(folder, name, _BY_STAMP if is_many or size > _READ_BYTES else MISSING).state
    finally:
        os.close(folder)
    if state.kind == "missing":
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), change.source)
    return state


def _names_of_linked(roots: Sequence[str]) -> dict[int, list[str]]:
    """Return the paths of the files with several names, by their inode."""
    found: dict[int, list[str]] = {}
    count = 0
    for root in roots:
        for base, _, names in os.walk(root):
            count += len(names)
            if count > _MOST_LOOKED_AT:
                return found
            for name in names:
                path = os.path.join(base, name)
                with suppress(OSError):
                    status = os.lstat(path)
                    if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
                        found.setdefault(status.st_ino, []).append(path)
    return found


def _keeps_content(change: StagedChange, now: State, target: State) -> bool:
    """Whether a file that is written to in its place needs other attributes and nothing else."""
    return change.in_place and now.kind == target.kind == "file" and now.has_same_content(target)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _moves(change: StagedChange, moved: Collection[str]) -> dict[str, StagedChange]:
    """Give the moves of what lies in a folder that moves, but for what is moved elsewhere, and the folder itself."""
    found: dict[str, StagedChange] = {}
    for path in _below(change.moved_from, moved):
        new = change.path + path[len(change.moved_from) :]
        found[new] = StagedChange(new, path, moved_from=path)
    found[change.path] = msgspec.structs.replace(change, moved_from="")
    return found


def _below(folder: str, but: Collection[str] = ()) -> list[str]:
    """Return all paths below a folder, `but` some with what is in them; links aren't followed."""
    found: list[str] = []
    if os.path.islink(folder):
        return found
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(base, name) not in but]
        found += [os.path.join(base, name) for name in (*folders, *names)]
    return found
