"""Which calls an undo or a redo means, and which later one stands in its way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal.entries import Entries, Entry
from dogu.runtime.journal.steps import FORCE, UNSURE, UndoRefusal


class Wanted(msgspec.Struct, frozen=True):
    """What to undo: the `last` calls that changed something, or the one named, or a turn's, or all back to one.

    `call_id` and `to` take a call's id or its number in the journal, `since` a turn with all that follow. `path` is a
    file or a folder (absolute, without links): of the last call that changed it, or of the calls named, only that.
    """

    last: int = 1
    call_id: str = ""
    turn: int = 0
    to: str = ""
    since: int = 0
    path: str = ""


class Consent(msgspec.Struct, frozen=True):
    """What the user said beside the wish itself: to undo what somebody changed since (`force`), or what may be
    somebody else's doing (`unsure`)."""

    force: bool = False
    unsure: bool = False


def calls_to_undo(known: Entries, wanted: Wanted, consent: Consent) -> list[Entry]:
    """Return the calls that are meant, the oldest first. Raises `ToolError` (NOT_FOUND).

    A call of which an undo had to leave something counts as undone, unless the user now consents to that. What jobs did
    later goes with the call that left them.
    """
    changed = [entry for entry in known.with_changes() if entry.open_changes()]
    open_ones = [entry for entry in changed if not entry.is_undo and is_open_to(entry, consent)]
    if wanted.turn or wanted.since:
        first, last = (wanted.since, 1 << 60) if wanted.since else (wanted.turn, wanted.turn)
        chosen = [entry for entry in open_ones if first <= entry.turn <= last]
    elif wanted.call_id:
        chosen = _named(changed, wanted.call_id)
    elif wanted.to:
        oldest = _named(open_ones, wanted.to)[0]
        chosen = [entry for entry in open_ones if entry.number >= oldest.number]
    elif wanted.path:
        chosen = [entry for entry in changed if not entry.is_undo and _touches(entry, wanted.path)][-1:]
    else:
        calls = sorted({entry.call for entry in open_ones})[-wanted.last :] if wanted.last > 0 else []
        chosen = [entry for entry in open_ones if entry.call in calls]
    if not chosen:
        raise ToolError(ErrorKind.NOT_FOUND, told("Nothing to undo."))
    return chosen


def call_to_redo(known: Entries, call_id: str, consent: Consent) -> Entry:
    """Return the undo that is to be undone: the last one, or the one named. Raises `ToolError` (NOT_FOUND)."""
    undos = open_undos(known.with_changes(), consent, is_named=bool(call_id))
    named = [entry for entry in undos if not call_id or call_id in (entry.call_id, str(entry.number))]
    # A call may be named whose undo is meant.
    named = named or [entry for entry in undos if call_id in {str(number) for number in entry.undoes}]
    if not named:
        raise ToolError(ErrorKind.NOT_FOUND, told("Nothing to redo."))
    return named[-1]


def open_undos(entries: Iterable[Entry], consent: Consent, *, is_named: bool) -> list[Entry]:
    """Return the undos that a redo can still take, the oldest first.

    One of which a redo had to leave something counts as redone, unless the user now consents to that.
    """
    undos = (entry for entry in entries if entry.is_undo and not entry.is_redo and entry.open_changes())
    return [entry for entry in undos if is_named or is_open_to(entry, consent)]


def is_open_to(entry: Entry, consent: Consent) -> bool:
    """Whether a call isn't undone, or an undo left something of it that the user now consents to.

    What is lost (its content wasn't kept) doesn't hold up the calls before it.
    """
    may_go = {"", UNSURE, FORCE} if consent.force else {"", UNSURE} if consent.unsure else set[str]()
    return not entry.is_undone or not may_go.isdisjoint(entry.needs.values())


def within(paths: Collection[str], wanted: str) -> list[str]:
    """Return those that are the wanted path or lie in it; all when none is wanted."""
    return [path for path in paths if not wanted or path == wanted or path.startswith(f"{wanted.rstrip('/')}/")]


def explained(refusal: UndoRefusal, known: Entries, newest: Entry) -> UndoRefusal:
    """Return the refusal with the call to blame, if one after `newest`, the newest to be undone, changed the path."""
    for entry in known.with_changes():
        touched = any(change.path == refusal.path for change in entry.open_changes())
        if touched and entry.number > newest.number and newest.number not in entry.undoes:
            why = told(
                "call {number} changed it later ({title}): undo that first", number=entry.number, title=entry.title
            )
            return msgspec.structs.replace(refusal, reason=why)
    return refusal


def _touches(entry: Entry, path: str) -> bool:
    return bool(within([change.path for change in entry.open_changes()], path))


def _named(entries: Sequence[Entry], name: str) -> list[Entry]:
    """Return the call of that id or number, with what its jobs did, or what a job did once. Raises `ToolError`."""
    named = next((entry for entry in reversed(entries) if name in (entry.call_id, str(entry.number))), None)
    call = str(named.number) if named is not None and not named.job_of else name
    found = [entry for entry in entries if entry is named or str(entry.job_of) == call]
    if found:
        return found
    raise ToolError(
        ErrorKind.NOT_FOUND,
        told(
            "No call {name!r} changed anything. /done lists the calls; in a shell, `dogu sessions show` does.",
            name=name,
        ),
    )
