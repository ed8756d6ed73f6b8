"""One path and what it shall hold: the steps that an undo, a redo or a commit is made of, and why one isn't done."""

from __future__ import annotations

import stat
from collections.abc import Collection, Sequence

import msgspec

from dogu.language import told
from dogu.runtime.journal.states import MISSING, UNKNOWN_MODE, UNKNOWN_OWNER, Seen, State, can_be_given, is_owner
from dogu.workspace import fs

FORCE, UNSURE = "force", "unsure"
_MOST_AT_ONCE = 10_000


class UndoRefusal(msgspec.Struct, frozen=True):
    """A path that wasn't brought back, and why; `is_final`: trying again would not help.

    `needs` says what the user would have to say for it: `force`, for what somebody changed since; `unsure`, for what
    may be somebody else's. Empty: no word helps. `by_system`: the system refused it. `is_lost`: it can't be had any
    more, now or later.
    """

    path: str
    reason: str
    is_final: bool = False
    needs: str = ""
    by_system: bool = False
    is_lost: bool = False


class Step(msgspec.Struct, frozen=True):
    """One path and what it shall hold. `now` is what was seen there; `source` a new entry that is to be moved there.

    `number` is its place in the record, by which its temporary file is called. `is_in_place`: the file's other names
    shall show it too. `has_marks`: `source` carries a layer's own attributes. `peers` may name what is there too.
    `sets_time`: the time it was written changes as well, where only its attributes do. `is_parted`: it holds the same,
    and is one file with other names where it was by itself, or the other way round. `is_another`: it is one file with
    names that it shall not be one with, so that it is replaced whatever names it has. `is_ours`: it comes back as the
    user's own, whose owner can't be given back.
    """

    number: int
    path: str
    now: Seen
    target: State
    source: str = ""
    is_in_place: bool = False
    has_marks: bool = False
    peers: tuple[bytes, ...] = ()
    sets_time: bool = False
    is_parted: bool = False
    is_another: bool = False
    is_ours: bool = False

    @property
    def goes_first(self) -> bool:
        """Whether it is to go, or stands where something of another kind shall be and can't change places with it."""
        now, target = self.now.state.kind, self.target.kind
        return now != "missing" and (target == "missing" or (now != target and "folder" in (now, target)))

    @property
    def is_put(self) -> bool:
        """Whether something is to be put there that isn't a folder made anew."""
        return bool(self.source) or self.target.kind not in ("missing", "folder", "other")

    @property
    def keeps_content(self) -> bool:
        """Whether only attributes are to change."""
        is_same = self.now.status is not None and self.now.state.has_same_content(self.target)
        return is_same and not (self.source or self.is_parted or self.is_another)

    @property
    def keeps_names(self) -> bool:
        """Whether the file stays what it is, for its other names."""
        status = self.now.status
        if status is None or self.now.state.kind != "file" or self.target.kind != "file" or self.is_another:
            return False
        return self.is_in_place if self.source else status.st_nlink > 1 and self.target.links > 1

    @property
    def outcome(self) -> str:
        """What is said once it is put there."""
        if self.is_ours:
            return told("brought back as your own")
        return told("brought back") if self.now.state.kind == "missing" else told("restored")

    def must_stay(self) -> bool:
        """Whether the file is to be written to and not replaced, for its other names and those who write it."""
        if self.keeps_names:
            return True
        is_file = self.now.status is not None and self.now.state.kind == self.target.kind == "file"
        if not is_file or self.source:
            return False
        is_anothers = not can_be_given(self.target.owner) and is_owner(self.now.state.owner, self.target.owner)
        return is_anothers or fs.is_open_for_writing(self.path)

    def without_old(self, gone: Collection[str]) -> Step | None:
        """Return the step once what goes first is gone; None where it isn't."""
        if not self.goes_first:
            return self
        return msgspec.structs.replace(self, now=Seen(MISSING)) if self.path in gone else None


def with_owners(steps: Sequence[Step]) -> list[Step]:
    """Say how what isn't the user's own comes back, whose owner can't be given: moved from where it lies, else as his.

    What is there and has the owner yet is written to, as it is.
    """
    going = [step for step in steps if step.target.kind == "missing" and not can_be_given(step.now.state.owner)]
    lying = {_known_by(step.now.state): step.path for step in going}

    def with_owner(step: Step) -> Step:
        now, target = step.now.state, step.target
        if target.kind == "missing" or can_be_given(target.owner):
            return step
        if now.kind == target.kind and (now.has_same_content(target) or is_owner(now.owner, target.owner)):
            return step
        if target.kind in ("file", "link") and (source := lying.pop(_known_by(target), "")):
            return msgspec.structs.replace(step, source=source)
        is_plain = target.mode == UNKNOWN_MODE or target.kind == "folder"
        mode = target.mode if is_plain else target.mode & ~(stat.S_ISUID | stat.S_ISGID)
        target = msgspec.structs.replace(target, owner=UNKNOWN_OWNER, mode=mode)
        return msgspec.structs.replace(step, target=target, is_ours=True)

    return [with_owner(step) for step in steps]


def _known_by(state: State) -> tuple[object, ...]:
    return state.kind, state.digest, state.target, state.mode


def in_batches(files: Sequence[Step]) -> list[list[Step]]:
    """Return the steps in the order in which they are put, those of a batch at once.

    Files that stay for their other names come first, with such that are one file with these until then.
    """
    written = {step.now.status.st_ino for step in files if step.keeps_names and step.now.status}

    def is_first(step: Step) -> bool:
        is_one_yet = step.is_parted and step.now.status is not None and step.now.status.st_ino in written
        return step.keeps_names or is_one_yet

    ordered = sorted(files, key=lambda step: (not is_first(step), bool(step.target.peers)))
    first = sum(map(is_first, files))
    starts = range(first, len(files), _MOST_AT_ONCE)
    return [ordered[:first], *(ordered[start : start + _MOST_AT_ONCE] for start in starts)]
