"""What was done, call by call, as the journal's records tell it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import msgspec

from dogu.language import sentence, told
from dogu.runtime.journal.log import Record
from dogu.runtime.journal.states import State, is_stamp, time_of
from dogu.runtime.journal.steps import UNSURE

_KINDS = {
    "missing": sentence("missing"),
    "file": sentence("file"),
    "link": sentence("link"),
    "folder": sentence("folder"),
    "fifo": sentence("FIFO"),
    "device": sentence("device"),
    "other": sentence("other"),
}


class PathChange(msgspec.Struct, frozen=True):
    """What became of one path (absolute, without links). One that `is_outside` of the roots is never forced.

    `is_unsure`: it was found changed after a command, and nobody knows that the command did it. Of several changes
    summed up, `unless_done` is how the path stays if the last of them was noted and, because the process was killed in
    that moment, not done. `source` and `is_in_place`: see `ChangeRecord`.
    """

    path: str
    before: State
    after: State
    is_outside: bool = False
    is_unsure: bool = False
    unless_done: State | None = None
    source: str = ""
    is_in_place: bool = False

    def may_have_left(self, now: State) -> bool:
        """Whether the path, as it is now, is as this change left it, or as it was before."""
        known = (self.after, self.before, self.unless_done)
        return any(state is not None and now.says_the_same_as(state) for state in known)

    @property
    def sets_time(self) -> bool:
        """Whether it changed when a file or a folder that holds the same says it was written."""
        return self.before.differs_in_time(self.after)

    @property
    def is_time_only(self) -> bool:
        """Whether that is all it changed."""
        return self.sets_time and self.before.is_same_as(self.after)

    @property
    def what(self) -> str:
        """The change in a word or two, for a user."""
        if self.before.kind == "missing":
            return told("created")
        if self.after.kind == "missing":
            return told("deleted")
        if self.before.kind != self.after.kind:
            return told("{before} became {after}", before=(_KINDS[self.before.kind],), after=(_KINDS[self.after.kind],))
        if not self.before.has_same_content(self.after):
            return told("changed")
        if self.is_time_only:
            return told("time changed")
        return told("mode changed") if self.before.mode != self.after.mode else told("owner or attributes changed")


class Entry(msgspec.Struct, frozen=True):
    """One call that changed something. `number` counts the journal's calls from 1; `turn` the user's prompts.

    `notes` say what of it can't be undone. `is_undo`: it undid the calls that it `undoes`; with `is_redo` these were
    undos. `undone` are the paths that are undone now, `left` those that an undo had to leave as they were, `needs` what
    the user would have to say for those of them that aren't lost, and `midway` how it left those where the system
    refused something. `ended_s`: when a command had ended that wasn't in a layer; 0 for others. `job_of`: a job which
    that call had left made the changes, later.
    """

    number: int
    call_id: str
    title: str
    turn: int
    time_s: float
    changes: tuple[PathChange, ...]
    notes: tuple[str, ...] = ()
    is_undo: bool = False
    is_redo: bool = False
    undoes: tuple[int, ...] = ()
    undone: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    needs: Mapping[str, str] = {}
    midway: tuple[tuple[str, State], ...] = ()
    ended_s: float = 0.0
    job_of: int = 0

    @property
    def call(self) -> int:
        """The number of the call that it belongs to."""
        return self.job_of or self.number

    @property
    def last_s(self) -> float:
        """When it may have written last, as far as that is known (POSIX time)."""
        return max(self.time_s, self.ended_s)

    @property
    def is_undone(self) -> bool:
        """Whether an undo took it: nothing is left of it but what that undo had to leave."""
        return bool(self.changes) and all(each.path in self.undone or each.path in self.left for each in self.changes)

    def open_changes(self) -> list[PathChange]:
        """Return the changes that aren't undone."""
        return [change for change in self.changes if change.path not in self.undone]


class Entries(msgspec.Struct):
    """The calls of a journal by number, grown from its records.

    `unseen` are those begun and never looked at after; `unfinished` those that were noted as undos, or as what a
    command left in its layer, and never noted as done.
    """

    calls: dict[int, Entry] = msgspec.field(default_factory=dict[int, Entry])
    unseen: dict[int, Record] = msgspec.field(default_factory=dict[int, Record])
    unfinished: dict[int, list[PathChange]] = msgspec.field(default_factory=dict[int, list[PathChange]])
    turn: int = 0

    def add(self, records: Iterable[Record]) -> None:
        """Take up new records, in their order."""
        for record in records:
            self.turn = max(self.turn, record.turn)
            match record.kind:
                case "look":
                    self.unseen[record.number] = record
                case "seen":
                    self.unseen.pop(record.number, None)
                case "changes":
                    self._add_changes(record)
                case "failed":
                    self._take_back(record)
                case "committed":
                    self._commit(record)
                case "undone":
                    self._undo(record)

    @property
    def last_number(self) -> int:
        """The highest number used so far."""
        return max([0, *self.calls, *self.unseen])

    def with_changes(self) -> list[Entry]:
        """Return the calls that changed something, the oldest first."""
        return [entry for _, entry in sorted(self.calls.items()) if entry.changes]

    def as_made(self) -> list[Entry]:
        """Return these calls as they were made, undone or not: undos are changes too."""
        return [msgspec.structs.replace(entry, undone=frozenset()) for entry in self.with_changes()]

    def told(self) -> list[Entry]:
        """Return the calls that changed something or of which that can't be known, the oldest first."""
        return [entry for _, entry in sorted(self.calls.items()) if entry.changes or entry.notes]

    def _add_changes(self, record: Record) -> None:
        changes = tuple(
            PathChange(
                os.fsdecode(each.path),
                each.before,
                each.after,
                each.is_outside,
                each.is_unsure,
                source=os.fsdecode(each.source),
                is_in_place=each.is_in_place,
            )
            for each in record.changes
        )
        if record.numbers or record.is_commit:
            self.unfinished[record.number] = list(changes)
        known = self.calls.get(record.number)
        if known is not None:
            changes, notes = known.changes + changes, tuple(dict.fromkeys([*known.notes, *record.notes]))
            ended_s = max(known.ended_s, record.ended_s)
            self.calls[record.number] = msgspec.structs.replace(known, changes=changes, notes=notes, ended_s=ended_s)
            return
        self.calls[record.number] = Entry(
            record.number,
            record.call_id,
            record.title,
            record.turn,
            record.time_s,
            changes,
            record.notes,
            record.is_undo,
            record.is_redo,
            record.numbers,
            ended_s=record.ended_s,
            job_of=record.job_of,
        )

    def _take_back(self, record: Record) -> None:
        entry = self.calls.get(record.number)
        if entry is None:
            return
        path = os.fsdecode(record.path)
        for index in range(len(entry.changes) - 1, -1, -1):
            if entry.changes[index].path == path:
                changes = entry.changes[:index] + entry.changes[index + 1 :]
                self.calls[record.number] = msgspec.structs.replace(entry, changes=changes)
                return

    def _commit(self, record: Record) -> None:
        """Of what was to be put there, take back what could not be."""
        left = {os.fsdecode(path) for path in record.left}
        noted = self.unfinished.pop(record.number, [])
        entry = self.calls.get(record.number)
        if entry is None or not left:
            return
        failed = {id(change) for change in noted if change.path in left}
        changes = tuple(change for change in entry.changes if id(change) not in failed)
        self.calls[record.number] = msgspec.structs.replace(entry, changes=changes)

    def _undo(self, record: Record) -> None:
        self.unfinished.pop(record.number, None)
        undo = self.calls.get(record.number)
        left = frozenset(os.fsdecode(path) for path in record.left)
        said = {os.fsdecode(path): word for path, word in record.needs or ()}
        if record.needs is None:
            said = dict.fromkeys(left, UNSURE)
        not_done = left.union(os.fsdecode(path) for path in record.failed)
        done = frozenset(change.path for change in undo.changes) - not_done if undo is not None else frozenset[str]()
        midway = tuple((os.fsdecode(path), state) for path, state in record.midway)
        if undo is not None:
            self.calls[record.number] = msgspec.structs.replace(undo, midway=midway)
        for number in record.numbers:
            if number in self.calls:
                entry = self.calls[number]
                needs = {path: word for path, word in entry.needs.items() if path not in left} | said
                needs = {path: word for path, word in needs.items() if path not in done}
                all_left = (entry.left | left) - done
                self.calls[number] = msgspec.structs.replace(entry, left=all_left, needs=needs, midway=midway)
                self._mark(number, done, undone=True)

    def _mark(self, number: int, paths: frozenset[str], *, undone: bool) -> None:
        if number not in self.calls:
            return
        entry = self.calls[number]
        now = entry.undone | paths if undone else entry.undone - paths
        left, needs = (entry.left, entry.needs) if undone else (frozenset[str](), dict[str, str]())
        self.calls[number] = msgspec.structs.replace(entry, undone=now, left=left, needs=needs)
        # What an undo had undone is done again when the undo is undone.
        for other in entry.undoes:
            self._mark(other, paths, undone=not undone)


def _was_not_done(before: PathChange, change: PathChange) -> bool:
    """Whether a change finds the path as it was before the last one: noted, and cut short before it was done."""
    last = before.before if before.unless_done is None else before.unless_done
    return last.says_the_same_as(change.before)


def net_changes(entries: Iterable[Entry]) -> tuple[dict[str, PathChange], dict[str, str]]:
    """Sum up calls (the oldest first) path by path, but for what is undone: from before the first to after the last.

    The second value names paths that something else changed between two of them, and what was found then.
    """
    net: dict[str, PathChange] = {}
    broken: dict[str, str] = {}
    midway: dict[str, State] = {}
    for entry in entries:
        midway |= dict(entry.midway)
        for change in entry.open_changes():
            before = net.get(change.path)
            if before is None:
                net[change.path] = change
                continue
            if not (before.after.says_the_same_as(change.before) or _was_not_done(before, change)):
                broken[change.path] = told(
                    "something else changed it between two of these calls, before {title!r}", title=entry.title
                )
            net[change.path] = PathChange(
                change.path,
                before.before,
                change.after,
                change.is_outside,
                before.is_unsure or change.is_unsure,
                change.before,
            )
    for path in midway.keys() & net.keys():
        net[path] = msgspec.structs.replace(net[path], unless_done=midway[path])
    return net, broken


def with_digests(net: dict[str, PathChange], entries: Iterable[Entry]) -> dict[str, PathChange]:
    """Have what is known by its stamp known by its digest, where a later call has found that out.

    An undo of that call brings the content back, and not the time.
    """
    if not any(is_stamp(change.after.digest) for change in net.values()):
        return net
    digests: dict[tuple[str, int, int], str] = {}
    for entry in entries:
        for change in entry.changes:
            if change.path in net and change.before.digest and not is_stamp(change.before.digest):
                digests[change.path, change.before.size, change.before.mtime_ns] = change.before.digest
    return {
        path: msgspec.structs.replace(change, after=msgspec.structs.replace(change.after, digest=digest))
        if is_stamp(change.after.digest) and (digest := digests.get((path, change.after.size, time_of(change.after))))
        else change
        for path, change in net.items()
    }
