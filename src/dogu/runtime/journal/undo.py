"""Undo and redo: what they would do, path by path, and doing it; a path that can't be brought back is left alone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal.apply import Applier
from dogu.runtime.journal.aside import folders_replaced
from dogu.runtime.journal.choice import Consent, Wanted, call_to_redo, calls_to_undo, explained
from dogu.runtime.journal.entries import Entries, Entry, PathChange, net_changes, with_digests
from dogu.runtime.journal.kept import IN_LOG_BYTES, Kept
from dogu.runtime.journal.log import ChangeRecord, JournalLog, Record
from dogu.runtime.journal.peers import (
    has_a_peer,
    is_parted,
    names_by_file,
    peers_now,
    with_lost_names,
    without_foreign_names,
)
from dogu.runtime.journal.reach import FolderLooks, JournalReach, look_at
from dogu.runtime.journal.states import NOT_KEPT, UNKNOWN_OWNER, Seen, State, can_be_given, is_stamp
from dogu.runtime.journal.steps import FORCE, UNSURE, Step, UndoRefusal, with_owners
from dogu.runtime.journal.units import Units
from dogu.workspace import fs
from dogu.workspace.atomic_write import AtomicWriter
from dogu.workspace.digest import digest_of
from dogu.workspace.openat import is_there
from dogu.workspace.os_errors import explain
from dogu.workspace.pending_writes import PendingWrites

LOCK_NAME = "undo.lock"
MANY = 200  # paths, of which contents are kept by a second name, so that none is read, written or freed
_TRIES = 3
_OPEN = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC


class UndoPlan(msgspec.Struct, frozen=True):
    """What an undo, or a redo, would do: to the `calls`, the newest first; `steps` are the paths it would bring back.

    `refused` are those that it would leave; `unchanged` those that are already as they should be.
    """

    calls: tuple[Entry, ...]
    steps: tuple[Step, ...] = ()
    refused: tuple[UndoRefusal, ...] = ()
    unchanged: tuple[Step, ...] = ()
    is_redo: bool = False


class UndoReport(msgspec.Struct, frozen=True):
    """What an undo did: `calls` are the numbers of the calls that it took, the newest first.

    `restored` pairs each path with what was done to it, `refused` are those that it left.
    """

    calls: tuple[int, ...] = ()
    restored: tuple[tuple[str, str], ...] = ()
    refused: tuple[UndoRefusal, ...] = ()
    is_redo: bool = False

    @property
    def done(self) -> bool:
        """Whether all of it is undone; a folder that stays for what others put there is no hindrance."""
        return all(each.is_final for each in self.refused)

    def needs(self, what: str) -> bool:
        """Whether a path was left that the user could have back by saying so: `FORCE` or `UNSURE`."""
        return any(each.needs == what for each in self.refused)


_CatchUp = Callable[[], None]


class Restorer:
    """Undoes and redoes the calls of one journal; `known` and `kept` take up new records by `catch_up`."""

    def __init__(self, log: JournalLog, kept: Kept, known: Entries, writer: AtomicWriter, catch_up: _CatchUp) -> None:
        self._folder = os.path.dirname(log.path)
        self._log = log
        self._kept = kept
        self._known = known
        self._writer = writer
        self._catch_up = catch_up
        self._by_name: list[Step] = []

    def plan(self, wanted: Wanted, consent: Consent, reach: JournalReach, *, is_redo: bool = False) -> UndoPlan:
        """Say what an undo would do. Raises `ToolError` (NOT_FOUND: nothing to undo)."""
        known = self._known
        chosen = [call_to_redo(known, wanted.call_id, consent)] if is_redo else calls_to_undo(known, wanted, consent)
        net, broken = net_changes(chosen)
        net = with_digests(net, known.with_changes())
        steps: list[Step] = []
        unchanged: list[Step] = []
        refused: list[UndoRefusal] = []
        folders = FolderLooks(reach)
        units = Units(self._kept, self._known, chosen, lambda path, like: look_at(reach, path, like))
        for number, path in enumerate(units.with_companions(net, wanted.path)):
            change = net[path]
            try:
                seen = folders.look(path, change.after)
                sets_time = change.sets_time and seen.state.differs_in_time(change.before)
                # A time that somebody has set since stays; a folder's changes with all that is in it.
                if change.is_time_only and change.before.kind == "file" and not consent.force:
                    sets_time = sets_time and _has_a_known_time(change, seen.state)
                target = change.before.completed_by(seen.state)
                peers, parts = change.after.peers, is_parted(change.before, change.after, seen, reach)
                step = Step(number, path, seen, target, peers=peers, sets_time=sets_time, is_parted=parts)
            except ToolError as error:
                refused.append(UndoRefusal(path, error.message))
                continue
            objection = self._objection(change, step.now, broken.get(path, ""), is_named=bool(wanted.path))
            if step.now.state.is_same_as(change.before) and not (step.sets_time or step.is_parted):
                unchanged.append(step)
            elif objection is not None and not _is_consented(objection, consent, change):
                refused.append(explained(objection, self._known, chosen[-1]))
            else:
                steps.append(step)
        folders.close()
        steps, apart = units.whole(
            steps, refused, {step.path for step in unchanged}, reach.folders, force=consent.force
        )
        possible, without = self._with_content(steps, reach)
        left = [*refused, *apart, *without]
        possible, homeless = units.with_homes(possible, left, net)
        possible = with_owners(possible)
        return UndoPlan(tuple(reversed(chosen)), tuple(possible), (*left, *homeless), tuple(unchanged), is_redo)

    def do(self, plan: UndoPlan, title: str, turn: int, reach: JournalReach) -> UndoReport:
        """Do what was planned; it is noted first, so that it can be finished after a kill, and undone itself."""
        numbers = tuple(entry.number for entry in plan.calls)
        number = self._known.last_number + 1
        if not plan.steps and (plan.refused or not plan.unchanged):
            if all(each.is_lost for each in plan.refused):  # the next undo takes another call
                self._note_undone(number, numbers, plan.refused)
            return UndoReport((), (), plan.refused, plan.is_redo)
        noted = [*plan.steps, *plan.unchanged]
        steps = [msgspec.structs.replace(step, number=at) for at, step in enumerate(noted)]
        steps = without_foreign_names(steps, reach)
        changes, refused, contents, count = self._kept_present(steps, plan, reach)
        record = Record(
            "changes",
            number,
            f"undo-{number}",
            title,
            turn,
            time.time(),
            is_undo=True,
            changes=tuple(changes),
            numbers=numbers,
            is_redo=plan.is_redo,
        )
        self._log.append(record, contents, durable=True, content_bytes=count)
        self._catch_up()
        why = told("what it holds now can't be kept: there is no room for that")
        refused += [UndoRefusal(step.path, why) for step in keep_by_name(self._by_name, reach, self._kept)]
        left = {each.path for each in refused}
        to_do = [step for step in steps[: len(plan.steps)] if step.path not in left]
        restored, failed = self._applier(number, reach).apply(to_do)
        restored = with_lost_names(restored, to_do)
        self._note_undone(number, numbers, [*plan.refused, *refused], failed, _left_midway(failed, reach))
        return UndoReport(numbers, tuple(restored), (*plan.refused, *refused, *failed), plan.is_redo)

    def finish(self, number: int, changes: Sequence[PathChange], reach: JournalReach) -> list[UndoRefusal]:
        """Finish an undo, a redo or a commit that was killed: each path that is still as it was noted is brought on."""
        steps: list[Step] = []
        applier = self._applier(number, reach)
        replaced = folders_replaced((change.path, change.before, change.after) for change in changes)
        entry = self._known.calls.get(number)
        is_undo = entry is not None and entry.is_undo
        for at, change in enumerate(changes):
            try:
                seen = look_at(reach, change.path, change.after)
                step = Step(
                    at,
                    change.path,
                    seen,
                    change.after,
                    change.source,
                    is_in_place=change.is_in_place,
                    has_marks=change.source != "" and not is_undo,
                    peers=change.before.peers,
                    is_parted=not change.is_in_place and is_parted(change.after, change.before, seen, reach),
                )
                step = applier.resumed(step, replaced)
                steps.append(msgspec.structs.replace(step, now=look_at(reach, change.path, change.after)))
            except ToolError:
                continue
        shown = _shown_by_others(steps, changes)
        to_do, refused = _left_to_do(without_foreign_names(steps, reach), changes, shown)
        stays = shown.union(step.source for step in to_do)
        keep_by_name([step for step in to_do if self._is_lost(step) and step.path not in stays], reach, self._kept)
        _, failed = self._applier(number, reach).apply(to_do)
        return [*refused, *failed]

    def note_finished(self, number: int, refused: Sequence[UndoRefusal]) -> None:
        """Note that what was killed is done, but for the paths refused."""
        entry = self._known.calls.get(number)
        if entry is not None and entry.is_undo:
            self._note_undone(number, entry.undoes, refused)
        else:
            left = tuple(os.fsencode(each.path) for each in refused)
            self._log.append(Record("committed", number, left=left), durable=True)

    def applier_of(self, number: int, reach: JournalReach) -> Applier:
        """Return what applies the steps of a call, without waiting for the disk."""
        return self._applier(number, reach, durable=False)

    def _applier(self, number: int, reach: JournalReach, *, durable: bool = True) -> Applier:
        def name_of(step: int) -> str:
            told_apart = f"{self._folder}:{number}:{step}".encode("utf-8", "surrogateescape")
            return f".dogu-{blake2b(told_apart, digest_size=8).hexdigest()}.tmp"

        return Applier(reach, self._kept, self._writer, name_of, durable=durable)

    def _objection(self, change: PathChange, seen: Seen, broken: str, *, is_named: bool) -> UndoRefusal | None:
        path = change.path
        if change.before.kind == "other":
            return UndoRefusal(path, told("it was a socket before, which only its program can make"), is_lost=True)
        if broken:
            return UndoRefusal(path, broken, needs=FORCE)
        if not change.may_have_left(seen.state):
            return UndoRefusal(path, difference(seen.state), needs=FORCE)
        if change.is_unsure and not is_named:
            why = told("it changed while the command ran, and may be somebody else's doing")
            return UndoRefusal(path, why, needs=UNSURE)
        return None

    def _with_content(self, steps: Sequence[Step], reach: JournalReach) -> tuple[list[Step], list[UndoRefusal]]:
        """Leave out the files whose content is neither kept nor held by another of these paths, or another name."""
        held = {step.now.state.digest for step in steps if step.now.state.kind == "file"}
        possible: list[Step] = []
        refused: list[UndoRefusal] = []
        for step in steps:
            is_new = step.target.kind == "file" and not step.target.has_same_content(step.now.state)
            is_held = step.target.digest in held or self._kept.find(step.target) is not None
            if is_new and not is_held and not has_a_peer(step.target, reach):
                refused.append(UndoRefusal(step.path, told("what it held before wasn't kept"), is_lost=True))
            else:
                possible.append(step)
        return possible, refused

    def _kept_present(
        self, steps: Sequence[Step], plan: UndoPlan, reach: JournalReach
    ) -> tuple[list[ChangeRecord], list[UndoRefusal], Generator[bytes], int]:
        """Say what the paths hold now, with the contents that aren't kept yet; large ones are kept by a second name."""
        outside = {change.path for entry in plan.calls for change in entry.changes if change.is_outside}
        changes: list[ChangeRecord] = []
        refused: list[UndoRefusal] = []
        to_log: list[Step] = []
        by_name: list[Step] = []
        size = 0
        names = names_by_file(steps, reach)
        moved = {step.source for step in steps}
        for step in steps:
            now = msgspec.structs.replace(step.now.state, where=NOT_KEPT, peers=peers_now(step, names, reach))
            goes = now.kind == "file" and not now.has_same_content(step.target) and step.path not in moved
            if goes and self._kept.find(now) is None:
                if not can_be_given(now.owner) and not os.access(step.path, os.R_OK):
                    why = told("what it holds now can't be read, and would be lost")
                    refused.append(UndoRefusal(step.path, why))
                elif (len(steps) > MANY or now.size > IN_LOG_BYTES) and self._goes(step):
                    by_name.append(step)  # costs less than to read it, and to free what it takes
                elif now.size <= IN_LOG_BYTES and self._kept.take_room(now.size):
                    now = msgspec.structs.replace(now, where=size)
                    size += now.size
                    to_log.append(step)
                elif not self._keeps_apart(step, reach):
                    why = told("what it holds now can't be kept: there is no room for that")
                    refused.append(UndoRefusal(step.path, why))
            after = msgspec.structs.replace(step.target, where=NOT_KEPT)
            is_outside, source = step.path in outside, os.fsencode(step.source)
            changes.append(ChangeRecord(os.fsencode(step.path), now, after, is_outside, source=source))
        self._by_name = by_name
        return changes, refused, contents_of(to_log, reach), size

    def _keeps_apart(self, step: Step, reach: JournalReach) -> bool:
        with _opened(reach, step.path) as (folder, name):
            return self._kept.keep_apart(folder, name, step.now, goes=step.target.links < 2)

    def _is_lost(self, step: Step) -> bool:
        """Whether what a step finds goes, and isn't kept yet."""
        now = step.now.state
        return now.kind == "file" and not now.has_same_content(step.target) and self._kept.find(now) is None

    def _goes(self, step: Step) -> bool:
        """Whether what a step finds can be kept by a second name: it goes, and nobody is writing to it."""
        is_kept_well = step.target.links < 2 and not fs.is_open_for_writing(step.path)
        return is_kept_well and self._kept.can_keep_by_name(step.now)

    def _note_undone(
        self,
        number: int,
        numbers: tuple[int, ...],
        refused: Sequence[UndoRefusal],
        failed: Sequence[UndoRefusal] = (),
        midway: Iterable[tuple[bytes, State]] = (),
    ) -> None:
        left = tuple(os.fsencode(each.path) for each in refused)
        again = tuple(os.fsencode(each.path) for each in failed if not each.is_final)
        needs = tuple((os.fsencode(each.path), each.needs) for each in refused if not each.is_lost)
        record = Record("undone", number, numbers=numbers, left=left, needs=needs, failed=again, midway=tuple(midway))
        self._log.append(record, durable=True)


def _left_midway(failed: Sequence[UndoRefusal], reach: JournalReach) -> Generator[tuple[bytes, State]]:
    """Say how the paths are left where the system refused something: neither as before nor as they shall be."""
    for each in failed:
        with suppress(ToolError):
            if not each.is_final:
                yield os.fsencode(each.path), look_at(reach, each.path).state


def _has_a_known_time(change: PathChange, now: State) -> bool:
    return not (now.differs_in_time(change.before) and now.differs_in_time(change.after))


def _shown_by_others(steps: Sequence[Step], changes: Sequence[PathChange]) -> set[str]:
    """Return the paths that show what was written by another name of theirs, which is as it shall be."""
    written: set[int] = set()
    for step in steps:
        change, status = changes[step.number], step.now.status
        if status is not None and status.st_nlink > 1 and not change.before.has_same_content(change.after):
            written |= {status.st_ino} if step.now.state.is_same_as(change.after) else set()
    names = (step for step in steps if step.now.status is not None and step.now.status.st_ino in written)
    return {step.path for step in names if changes[step.number].before.links > 1}


def _left_to_do(
    steps: Sequence[Step], changes: Sequence[PathChange], shown: Collection[str]
) -> tuple[list[Step], list[UndoRefusal]]:
    """Return what a kill has left to be done, and the paths that somebody has changed since.

    Not so those that are `shown` what was written by another of their names.
    """
    refused: list[UndoRefusal] = []
    to_do: list[Step] = []
    whole: set[str] = set()  # folders that are moved with all that is in them
    sources = {change.source for change in changes}
    for step in steps:
        change, now = changes[step.number], step.now.state
        is_aside = step.source != change.source
        # Gone before what comes in its place was put there, or taken aside for that.
        is_free = now.kind == "missing" and (
            change.path in sources or "folder" in (change.before.kind, change.after.kind)
        )
        is_as_before = is_free or change.path in shown or now.has_same_content(change.before)
        if os.path.dirname(change.path) in whole:
            whole.add(change.path)
        elif now.is_same_as(change.after) and not (is_aside or step.is_parted):
            if change.sets_time and now.differs_in_time(change.after) and _has_a_known_time(change, now):
                to_do.append(msgspec.structs.replace(step, source="", sets_time=True))
        elif is_as_before and (not step.source or is_there(step.source)):
            to_do.append(step)
            if change.source and change.after.kind == "folder":
                whole.add(change.path)
        elif now.kind == "folder" == change.after.kind:
            to_do.append(msgspec.structs.replace(step, source=""))  # made, and killed before it got its mode
        else:
            refused.append(UndoRefusal(change.path, told("somebody has changed it since")))
    return to_do, refused


@contextmanager
def alone(folder: str) -> Generator[None]:
    """Keep others from undoing in this session at the same time. Raises `ToolError` (REFUSED)."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, LOCK_NAME)
    descriptor = fs.open(path, os.O_RDWR | os.O_CREAT | fs.O_CLOEXEC, 0o600)
    try:
        try:
            fs.flock(descriptor, fs.LOCK_EX | fs.LOCK_NB)
        except BlockingIOError as error:
            message = told("Another process is undoing something of this session just now.")
            raise ToolError(ErrorKind.REFUSED, message) from error
        yield
        fs.unlink(path)
    finally:
        os.close(descriptor)


def tried_again(act: Callable[[], UndoReport]) -> UndoReport:
    """Do it, once more when something changed between looking and noting."""
    for _ in range(_TRIES - 1):
        try:
            return act()
        except ToolError as error:
            if error.kind is not ErrorKind.STALE:
                raise
    return act()


def difference(now: State) -> str:
    """Say how a path differs from what was left there."""
    return {
        "missing": told("somebody has removed it since"),
        "folder": told("there is a folder now, or its mode was changed since"),
        "link": told("there is another symbolic link now"),
    }.get(now.kind, told("somebody has changed it since"))


def _is_consented(objection: UndoRefusal, consent: Consent, change: PathChange) -> bool:
    if change.is_outside or not objection.needs:
        return False
    return consent.force or (consent.unsure and objection.needs == UNSURE)


@contextmanager
def _opened(reach: JournalReach, path: str) -> Generator[tuple[int, str]]:
    place = reach.place(path)
    try:
        yield place.parent, place.name
    finally:
        os.close(place.parent)


def keep_by_name(steps: Sequence[Step], reach: JournalReach, kept: Kept, beside: str = "") -> list[Step]:
    """Give what goes a second name: after it was noted, since the first one must not stay beside it.

    Returns the steps for whose files there is no room.
    """
    failed: list[Step] = []
    folders = FolderLooks(reach)
    for step in steps:
        try:
            if not kept.keep_by_name(*folders.of(step.path), step.now, beside=beside):
                failed.append(step)
        except ToolError:
            continue  # gone meanwhile, as will be seen
        except FileNotFoundError:
            continue
        except OSError:
            failed.append(step)
    folders.close()
    return failed


def contents_of(steps: Sequence[Step], reach: JournalReach) -> Generator[bytes]:
    """Read the files again, one after another, as they are taken. Raises `ToolError` (STALE) when one has changed."""
    for step in steps:
        with _opened(reach, step.path) as (folder, name):
            try:
                descriptor = fs.open_own(name, _OPEN, dir_fd=folder)
                try:
                    data = os.read(descriptor, step.now.state.size + 1)
                finally:
                    os.close(descriptor)
            except OSError as error:
                raise explain(error, step.path) from error
        state = step.now.state
        if len(data) != state.size or (not is_stamp(state.digest) and digest_of(data) != state.digest):
            raise ToolError(ErrorKind.STALE, told("somebody changed it just now"))
        yield data


def undo_title(plan: UndoPlan, known: Mapping[int, Entry]) -> str:
    """Return how the undo itself is called in the journal: by the calls that it takes."""
    if plan.is_redo:
        numbers = [number for entry in plan.calls for number in entry.undoes]
        named = [known[number].title or known[number].call_id for number in numbers if number in known]
        return told("Redo: {titles}", titles=", ".join(named))
    return told("Undo: {titles}", titles=", ".join(entry.title or entry.call_id for entry in plan.calls))


def put_back(changes: Mapping[str, PathChange], reach: JournalReach, kept: Kept) -> list[UndoRefusal]:
    """Bring paths back to before the changes, whatever they hold now: for a copy. Return those that can't be."""
    steps: list[Step] = []
    refused: list[UndoRefusal] = []
    for number, (path, change) in enumerate(changes.items()):
        now = look_at(reach, path)
        if (
            change.before.kind == "file"
            and not change.before.has_same_content(now.state)
            and not kept.find(change.before)
        ):
            refused.append(UndoRefusal(path, told("what it held before wasn't kept")))
        elif not now.state.is_same_as(change.before):
            steps.append(Step(number, path, now, msgspec.structs.replace(change.before, owner=UNKNOWN_OWNER)))
    writer = AtomicWriter(PendingWrites(None))
    _, failed = Applier(reach, kept, writer, lambda number: f".dogu-{number:016x}.tmp", durable=False).apply(steps)
    return [*refused, *failed]
