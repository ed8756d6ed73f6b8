"""Puts what a command left in its layer where it belongs, and keeps what was there, so that it can be undone.

It is noted before it is done: killed in the middle, it is finished by whoever starts next (`finish_interrupted`).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from dogu.contract.errors import ToolError
from dogu.language import told
from dogu.runtime.journal.conflicts import Folders
from dogu.runtime.journal.kept import IN_LOG_BYTES, Kept
from dogu.runtime.journal.log import ChangeRecord
from dogu.runtime.journal.reach import FolderLooks, JournalReach, look_at
from dogu.runtime.journal.states import (
    LARGEST_READ_BYTES,
    LARGEST_READ_ON_COMMIT_BYTES,
    MISSING,
    NOT_KEPT,
    Seen,
    State,
    digest_by_stamp,
    is_stamp,
    see,
)
from dogu.runtime.journal.steps import Step
from dogu.runtime.journal.undo import MANY
from dogu.runtime.journal.words import lost_notes
from dogu.workspace import fs
from dogu.workspace.held import git_folder, head_of, held, related, untold
from dogu.workspace.linked import names_of_linked
from dogu.workspace.openat import LastFolder, open_long
from dogu.workspace.staged import StagedChange

_MANY = 2_000  # new files; of so many, the contents aren't read to know them again
_LIST = os.O_RDONLY | fs.O_DIRECTORY | fs.O_NOFOLLOW | fs.O_CLOEXEC
_BY_STAMP = State(digest=digest_by_stamp(0, 0, 0))


class Staged(msgspec.Struct):
    """What is to be committed: the records of it with what was there, the steps, and what stands in the way.

    What the steps `by_name` find is kept by a second name, once that is noted. `along` are the paths, by folder, that
    are moved with a folder that is new. `final` are conflicts in which nobody has a say.
    """

    changes: list[ChangeRecord] = msgspec.field(default_factory=list[ChangeRecord])
    steps: list[Step] = msgspec.field(default_factory=list[Step])
    contents: list[Step] = msgspec.field(default_factory=list[Step])
    content_bytes: int = 0
    by_name: list[Step] = msgspec.field(default_factory=list[Step])
    along: dict[str, list[str]] = msgspec.field(default_factory=dict[str, list[str]])
    conflicts: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    final: set[str] = msgspec.field(default_factory=set[str])
    nothing_to_do: list[str] = msgspec.field(default_factory=list[str])
    lost: list[tuple[str, int]] = msgspec.field(default_factory=list[tuple[str, int]])

    @property
    def notes(self) -> tuple[str, ...]:
        """What can't be kept, in words for a user."""
        return lost_notes(self.lost)


class Stager:
    """Looks at what is to be committed, over the places that `reach` has, keeping contents in `kept`."""

    def __init__(self, roots: Sequence[str], reach: JournalReach, kept: Kept, beside: str) -> None:
        self._roots = roots
        self._reach = reach
        self._kept = kept
        self._beside = beside
        self._found = Staged()
        self._within = tuple(f"{root.rstrip('/')}/" for root in roots)
        self._sources = LastFolder()
        self._is_many = False
        self._is_many_kept = False
        self._moved: set[str] = set()
        self._whole: set[str] = set()  # new folders that are moved as they are, and those in them
        self._along_with: dict[str, str] = {}
        self._gone: dict[str, str] = {}
        self._leaders: dict[tuple[int, int], str] = {}
        self._looked_at: dict[str, Seen] = {}  # once only: to read what its mode closes changes its times
        self._names: dict[int, list[str]] | None = None
        self._theirs: set[str] = set()

    def stage(self, changes: Sequence[StagedChange], began_ns: int, force: Collection[str]) -> Staged:
        """Look at each path, keep what is there, and say what is to be done. Raises OSError."""
        self._folders = Folders(self._roots, began_ns, changes)
        expanded = self._expanded(changes)
        self._moved = {change.source for change in expanded if change.moved_from}
        self._is_many = sum(1 for change in expanded if change.source) > _MANY
        self._is_many_kept = sum(1 for change in expanded if not change.comes_along) > MANY
        try:
            self._find_leaders(expanded)
            self._theirs = untold(change.path for change in expanded if not change.comes_along)
            seen = self._without_conflicts(expanded, force)
            for change in expanded:
                try:
                    self._stage_one(change, seen)
                except ToolError as error:
                    self._found.conflicts.append((change.path, error.message))
            self._tell_moved_names(seen)
        finally:
            self._sources.close()
        self._keep_folders_of_conflicts()
        return self._found

    def _find_leaders(self, changes: Sequence[StagedChange]) -> None:
        """Find the files of the layer that have several names and are one that stays where it is, with its names."""
        for change in changes:
            if not (change.was_there and change.source) or change.parts:
                continue
            folder, name = self._sources.of(change.source)
            status = fs.stat(name, dir_fd=folder, follow_symlinks=False)
            if status.st_nlink < 2 or stat.S_ISDIR(status.st_mode):
                continue
            state = see(folder, name, most_read=LARGEST_READ_ON_COMMIT_BYTES).state
            if not change.in_place:
                self._looked_at[change.path] = look_at(self._reach, change.path, state)
            if change.in_place or self._looked_at[change.path].state.is_same_as(state):
                self._leaders.setdefault((status.st_dev, status.st_ino), change.path)

    def _without_conflicts(self, changes: Sequence[StagedChange], force: Collection[str]) -> dict[str, Seen]:
        """Look at each path and return what is there, but for those in whose way something stands, with their kin."""
        seen: dict[str, Seen] = {}
        touched: dict[str, str] = {}
        looks = FolderLooks(self._reach)
        for change in changes:
            if change.comes_along and os.path.dirname(change.path) in self._whole:
                self._whole.add(change.path)
                continue
            try:
                found = self._looked_at.get(change.path) or looks.look(change.path)
            except ToolError as error:
                self._found.conflicts.append((change.path, error.message))
                continue
            conflict = self._gone.get(os.path.dirname(change.path), "") or self._conflict(change, found)
            if conflict and change.path not in force and change.path not in self._moved:
                touched[change.path] = conflict
                if found.status is None and change.source:
                    self._gone[change.path] = conflict  # what is in it would bring it back
                continue
            if change.whole and found.status is None:
                self._whole.add(change.path)
            seen[change.path] = found
        looks.close()
        self._found.conflicts += touched.items()
        sources = {change.path: change.source for change in changes}
        mine = [path for path in seen if path not in self._moved]

        def head(path: str) -> bytes | None:
            return head_of(path) or head_of(sources.get(path, path))

        others = held(mine, self._roots, head)
        self._leave_out(seen, others, told("another program has it open or locked"))
        outrun = self._folders.outrun([path for path in mine if path in seen], sources, head)
        self._leave_out(
            seen, outrun, told("it belongs with another file in its folder that somebody changed meanwhile")
        )
        self._found.final = others | outrun
        kin = related(seen, touched.keys() | others | outrun, head_of)
        # One who has an index of his own now would take back with it what this commits.
        repositories = {git_folder(path) for path in touched} - {""}
        kin |= {path for path in seen if git_folder(path) in repositories and "/objects/" not in path}
        kin -= self._moved.union(force)
        self._leave_out(seen, kin, told("it belongs with another file in its folder that stays as it is"))
        # What can't come to where the command moved it mustn't go from where it is.
        stuck = {change.source for change in changes if change.moved_from and change.path not in seen}
        self._moved -= stuck
        going = {path for path in stuck if path in seen and sources.get(path, path) == ""}
        self._leave_out(seen, going, told("it stays: it can't be put where the command moved it"))
        return seen

    def _leave_out(self, seen: dict[str, Seen], paths: Iterable[str], why: str) -> None:
        for path in sorted(paths):
            self._found.conflicts.append((path, why))
            if seen.pop(path).status is None:
                self._gone[path] = why
            if path in self._whole:
                within = {each for each in self._whole if each == path or each.startswith(f"{path}/")}
                self._whole -= within
                self._found.conflicts += [(each, why) for each in sorted(within - {path})]

    def _conflict(self, change: StagedChange, seen: Seen) -> str:
        if change.path in self._theirs:
            return told("it is another user's, who may have it open")
        return self._folders.conflict(change, seen)

    def _stage_one(self, change: StagedChange, looked_at: Mapping[str, Seen]) -> None:
        found = self._found
        if change.comes_along and os.path.dirname(change.path) in self._whole:
            self._stage_along(change)
            return
        seen = looked_at.get(change.path)
        if seen is None:  # in conflict
            return
        if seen.status is None and not change.source:
            found.nothing_to_do.append(change.path)
            return
        new = self._see_source(change.source) if change.source else Seen(MISSING)
        if change.mode >= 0:
            new = new._replace(state=msgspec.structs.replace(new.state, mode=change.mode))
        moved = self._seen_at(change.source, looked_at)
        if moved is not None:  # known by what it is known by where it goes from
            new = moved
        elif is_stamp(new.state.digest) and seen.state.has_same_content(new.state):  # of one size, written at once
            new = self._see_source(change.source, LARGEST_READ_BYTES)
        leader = self._leader(change, new)
        goes = change.path in self._moved  # what is there, however much it is as what comes
        is_that = leader is not None and not goes and _is_one_file(seen, leader)  # and shows what is written there
        target = new.state if leader is None else msgspec.structs.replace(new.state, peers=(os.fsencode(leader),))
        sets_time = leader is None and seen.state.differs_in_time(target)
        parts = change.parts or (moved is not None and max(seen.state.links, moved.state.links) > 1)
        is_same = seen.state.is_same_as(target) and not (goes or parts)
        if is_that or (is_same and leader is None and not sets_time):
            found.nothing_to_do.append(change.path)
            return
        is_whole = change.path in self._whole
        is_touched = sets_time and is_same
        is_moved = (target.kind != "folder" or is_whole) and leader is None and not is_touched
        step = Step(
            len(found.changes),
            change.path,
            seen,
            target,
            source=change.source if is_moved and not _keeps_content(change, seen.state, target) else "",
            is_in_place=change.in_place,
            has_marks=change.has_marks,
            sets_time=sets_time,
            is_another=leader is not None,
        )
        before = self._kept_before(step)
        self._record(before, target, step)
        found.steps.append(step)

    def _tell_moved_names(self, looked_at: Mapping[str, Seen]) -> None:
        """Note of what is moved that it will hold what is written to the file by another of its names."""
        written = {
            (status.st_dev, status.st_ino): step.target
            for step in self._found.steps
            if step.is_in_place and (status := step.now.status) is not None
        }
        for at, step in enumerate(self._found.steps if written else ()):
            moved = self._seen_at(step.source, looked_at)
            status = moved.status if moved is not None else None
            target = written.get((status.st_dev, status.st_ino)) if status is not None else None
            if target is not None:
                target = msgspec.structs.replace(target, peers=step.target.peers, where=NOT_KEPT)
                change = msgspec.structs.replace(self._found.changes[step.number], after=target)
                self._found.steps[at] = msgspec.structs.replace(step, target=target)
                self._found.changes[step.number] = change

    def _seen_at(self, source: str, looked_at: Mapping[str, Seen]) -> Seen | None:
        """Return what is moved from a path of the roots, as it was seen there."""
        return looked_at.get(source) if source in self._moved else None

    def _stage_along(self, change: StagedChange) -> None:
        """Note what comes along with a folder that is new as a whole: nothing need be done for it."""
        folder, _ = os.path.split(change.path)
        state = self._see_source(change.source).state
        self._record(MISSING, state, Step(0, change.path, Seen(MISSING), state, source=change.source))
        self._found.along.setdefault(self._along_with.get(folder, folder), []).append(change.path)
        if state.kind == "folder":
            self._whole.add(change.path)
            self._along_with[change.path] = self._along_with.get(folder, folder)

    def _record(self, before: State, after: State, step: Step) -> None:
        path, source = os.fsencode(step.path), os.fsencode(step.source)
        outside = not step.path.startswith(self._within)
        record = ChangeRecord(path, before, after, outside, source=source, is_in_place=step.is_in_place)
        self._found.changes.append(record)

    def _see_source(self, source: str, most_read: int = 0) -> Seen:
        folder, name = self._sources.of(source)
        like = _BY_STAMP if self._is_many and not most_read else MISSING
        seen = see(folder, name, like, most_read=most_read or LARGEST_READ_ON_COMMIT_BYTES)
        if seen.status is None:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), source)
        return seen

    def _leader(self, change: StagedChange, new: Seen) -> str | None:
        """Return the file that this shall be another name of, which stays where it is."""
        if new.status is None or new.status.st_nlink < 2:
            return None
        leader = self._leaders.get((new.status.st_dev, new.status.st_ino))
        return None if leader == change.path else leader

    def _kept_before(self, step: Step) -> State:
        state = msgspec.structs.replace(step.now.state, where=NOT_KEPT, peers=self._peers(step))
        is_moved = step.path in self._moved
        if state.kind != "file" or is_moved or state.has_same_content(step.target) or self._kept.find(state):
            return state
        is_worth_it = self._is_many_kept or state.size > IN_LOG_BYTES
        if is_worth_it and not step.is_in_place and self._kept.can_keep_by_name(step.now, self._beside):
            self._found.by_name.append(step)
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
        """Find the other names of a file, where the tree isn't too large to look for them."""
        status = step.now.status
        if status is None or step.now.state.kind == "folder" or status.st_nlink < 2:
            return ()
        if self._names is None:
            self._names = names_of_linked(self._roots)
        return tuple(os.fsencode(path) for path in self._names.get(status.st_ino, ()) if path != step.path)

    def _expanded(self, changes: Sequence[StagedChange]) -> list[StagedChange]:
        """Give each path one change of its own: what goes with its folder, what moves with it.

        Folders may have changed places, or have been moved out of one that was moved: what is said last of a path
        counts, and what only leaves it gives way to what comes there.
        """
        moved = {change.moved_from for change in changes if self._can_move(change)}
        found = {path: StagedChange(path) for old in sorted(moved) for path in (old, *_below(old, self._reach))}
        for change in changes:
            if change.moved_from in moved:
                found |= _moves(change, moved, self._reach)
            else:
                found[change.path] = change
            if change.whole or change.comes_along:
                continue
            if not change.source or not self._is_folder(change.source):
                within = [path for path in found if path.startswith(f"{change.path}/")] if moved else []
                found |= {path: StagedChange(path) for path in (*_below(change.path, self._reach), *within)}
        return list(found.values())

    def _can_move(self, change: StagedChange) -> bool:
        return bool(change.moved_from) and not self._folders.is_another(change.moved_from, change.origin)

    def _is_folder(self, source: str) -> bool:
        folder, name = self._sources.of(source)
        return stat.S_ISDIR(fs.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)

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
            why = told("it stays: it holds what somebody else changed")
            found.conflicts.append((step.path, why))
        gone = {step.path for step in kept}
        found.changes = [each for each in found.changes if os.fsdecode(each.path) not in gone]
        numbers = {os.fsdecode(change.path): number for number, change in enumerate(found.changes)}
        found.steps = [
            msgspec.structs.replace(step, number=numbers[step.path]) for step in found.steps if step.path not in gone
        ]


def _is_one_file(seen: Seen, path: str) -> bool:
    try:
        return seen.status is not None and os.path.samestat(seen.status, os.lstat(path))
    except OSError:
        return False


def _keeps_content(change: StagedChange, now: State, target: State) -> bool:
    """Whether a file that is written to in its place needs other attributes and nothing else."""
    return change.in_place and now.has_same_content(target)


def _moves(change: StagedChange, moved: Collection[str], reach: JournalReach) -> dict[str, StagedChange]:
    """Give the moves of what lies in a folder that moves, but for what is moved elsewhere, and the folder itself."""
    found: dict[str, StagedChange] = {}
    for path in _below(change.moved_from, reach, moved):
        new = change.path + path[len(change.moved_from) :]
        found[new] = StagedChange(new, path, moved_from=path)
    # That it is the folder which the command saw is known: what lies where it goes is another one.
    found[change.path] = msgspec.structs.replace(change, moved_from="", origin=b"")
    return found


def _below(folder: str, reach: JournalReach, but: Collection[str] = ()) -> list[str]:
    """Return all paths below a folder, `but` some with what is in them; links aren't followed."""
    found: list[str] = []
    todo = [folder]
    while todo:
        path = todo.pop()
        try:
            handle = _listed(path, reach)
        except OSError:
            continue
        try:
            with fs.scandir(handle) as entries:
                for entry in entries:
                    within = f"{path}/{entry.name}"
                    if within not in but:
                        found.append(within)
                        if entry.is_dir(follow_symlinks=False):
                            todo.append(within)
        finally:
            os.close(handle)
    return found


def _listed(path: str, reach: JournalReach) -> int:
    """Open a folder to list it, also one of the user's own that its mode closes to them. Raises OSError."""
    try:
        return open_long(path, _LIST)
    except PermissionError:
        if not reach.opens(path):
            raise
    return open_long(path, _LIST)
