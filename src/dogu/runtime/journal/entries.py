"""What was done, call by call, as the journal's records tell it."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from dogu.language import sentence, told
from dogu.runtime.journal.log import Record, State

_KINDS = {
    "missing": sentence("missing"),
    "file": sentence("file"),
    "link": sentence("link"),
    "folder": sentence("folder"),
    "other": sentence("other"),
}


class PathChange(msgspec.Struct, frozen=True):
    """What became of one path (absolute, without links). One that `is_outside` of the roots is never forced.

    Of several changes summed up, `unless_done` is how the path stays if the last of them was noted and, because the
    process was killed in that moment, not done.
    """

    path: str
    before: State
    after: State
    is_outside: bool = False
    unless_done: State | None = None

    def may_have_left(self, now: State) -> bool:
        """Whether the path, as it is now, is as this change left it, or as it was before."""
        known = (self.after, self.before, self.unless_done)
        return any(state is not None and now.is_same_as(state) for state in known)

    @property
    def what(self) -> str:
        """The change in a word or two, for a user."""
        if self.before.kind == "missing":
            return told("created")
        if self.after.kind == "missing":
            return told("deleted")
        if self.before.kind != self.after.kind:
            return told("{before} became {after}", before=(_KINDS[self.before.kind],), after=(_KINDS[self.after.kind],))
        if (self.before.digest, self.before.target) == (self.after.digest, self.after.target):
            return told("mode changed")
        return told("changed")


class Entry(msgspec.Struct, frozen=True):
    """One call that changed something. `number` counts the journal's calls from 1; `turn` the user's prompts.

    `notes` say what of it can't be undone. `is_undo`: it was itself an undo, and undoing it is a redo.
    """

    number: int
    call_id: str
    title: str
    turn: int
    time_s: float
    changes: tuple[PathChange, ...]
    notes: tuple[str, ...] = ()
    is_undo: bool = False
    is_undone: bool = False


class Entries(msgspec.Struct):
    """The calls of a journal by number, grown from its records. `unseen` are those begun and never looked at after."""

    calls: dict[int, Entry] = msgspec.field(default_factory=dict[int, Entry])
    unseen: dict[int, Record] = msgspec.field(default_factory=dict[int, Record])
    turn: int = 0
    _undid: dict[int, tuple[int, ...]] = msgspec.field(default_factory=dict[int, tuple[int, ...]])

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
                case "undone":
                    self._undid[record.number] = record.numbers
                    for number in record.numbers:
                        self._mark(number, undone=True)

    @property
    def last_number(self) -> int:
        """The highest number used so far."""
        return max([0, *self.calls, *self.unseen])

    def with_changes(self) -> list[Entry]:
        """Return the calls that changed something, the oldest first."""
        return [entry for _, entry in sorted(self.calls.items()) if entry.changes]

    def told(self) -> list[Entry]:
        """Return the calls that changed something or of which that can't be known, the oldest first."""
        return [entry for _, entry in sorted(self.calls.items()) if entry.changes or entry.notes]

    def _add_changes(self, record: Record) -> None:
        changes = tuple(
            PathChange(os.fsdecode(each.path), each.before, each.after, each.is_outside) for each in record.changes
        )
        known = self.calls.get(record.number)
        if known is not None:
            changes, notes = known.changes + changes, tuple(dict.fromkeys([*known.notes, *record.notes]))
            self.calls[record.number] = msgspec.structs.replace(known, changes=changes, notes=notes)
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

    def _mark(self, number: int, *, undone: bool) -> None:
        if number in self.calls:
            self.calls[number] = msgspec.structs.replace(self.calls[number], is_undone=undone)
        # What an undo had undone is done again when the undo is undone.
        for other in self._undid.get(number, ()):
            self._mark(other, undone=not undone)


def _was_not_done(before: PathChange, change: PathChange) -> bool:
    """Whether a change finds the path as it was before the last one: noted, and cut short before it was done."""
    last = before.before if before.unless_done is None else before.unless_done
    return last.is_same_as(change.before)


def net_changes(entries: Iterable[Entry]) -> tuple[dict[str, PathChange], dict[str, str]]:
    """Sum up calls (the oldest first) path by path: from before the first to after the last.

    The second value names paths that something else changed between two of them, and what was found then.
    """
    net: dict[str, PathChange] = {}
    broken: dict[str, str] = {}
    for entry in entries:
        for change in entry.changes:
            before = net.get(change.path)
            if before is None:
                net[change.path] = change
                continue
            if not (before.after.is_same_as(change.before) or _was_not_done(before, change)):
                broken[change.path] = told(
                    "something else changed it between two of these calls, before {title!r}", title=entry.title
                )
            net[change.path] = PathChange(change.path, before.before, change.after, change.is_outside, change.before)
    return net, broken
