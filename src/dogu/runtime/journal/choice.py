"""Which calls an undo means, and which later one stands in its way."""

from __future__ import annotations

from collections.abc import Sequence

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal.entries import Entries, Entry
from dogu.runtime.journal.undo import UndoRefusal


def calls_to_undo(known: Entries, *, last: int, call_id: str, to: str, turn: int, since: int) -> list[Entry]:
    """Return the calls that `Journal.undo` means by its arguments, the oldest first. Raises `ToolError` (NOT_FOUND)."""
    open_ones = [entry for entry in known.with_changes() if not entry.is_undone and not entry.is_undo]
    if turn or since:
        chosen = [entry for entry in open_ones if (entry.turn >= since if since else entry.turn == turn)]
    elif call_id:
        chosen = [_named(known.with_changes(), call_id)]
    elif to:
        oldest = _named(open_ones, to)
        chosen = [entry for entry in open_ones if entry.number >= oldest.number]
    else:
        chosen = open_ones[-last:] if last > 0 else []
    if all(entry.is_undone for entry in chosen):
        raise ToolError(ErrorKind.NOT_FOUND, told("Nothing to undo."))
    return chosen


def explained(refusal: UndoRefusal, known: Entries, newest: Entry) -> UndoRefusal:
    """Return the refusal with the call to blame, if one after `newest`, the newest to be undone, changed the path."""
    for entry in known.with_changes():
        touched = any(change.path == refusal.path for change in entry.changes)
        if touched and entry.number > newest.number and not entry.is_undone:
            return UndoRefusal(
                refusal.path,
                told(
                    "call {number} changed it later ({title}): undo that first",
                    number=entry.number,
                    title=entry.title,
                ),
            )
    return refusal


def _named(entries: Sequence[Entry], name: str) -> Entry:
    for entry in reversed(entries):
        if name in (entry.call_id, str(entry.number)):
            return entry
    raise ToolError(
        ErrorKind.NOT_FOUND, told("No call {name!r} that changed something. See `dogu sessions show`.", name=name)
    )
