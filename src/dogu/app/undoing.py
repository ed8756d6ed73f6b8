"""Undo from outside of a session: its journal, opened over the roots it worked in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from dogu.app.options import Options
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal import Journal
from dogu.runtime.session_folder import StoredSession, stored_sessions
from dogu.workspace.roots import Roots

if TYPE_CHECKING:
    from collections.abc import Callable

    from dogu.runtime.journal.entries import Entry
    from dogu.runtime.journal.log import State
    from dogu.runtime.journal.undo import UndoReport


def find_session(options: Options, session_id: str) -> StoredSession:
    """Return the session of that id, or the last one of this folder with a change that isn't undone.

    Raises `ToolError` (NOT_FOUND).
    """
    for session in stored_sessions(options.state_folder, "" if session_id else options.real_root):
        if session_id == session.session_id or (not session_id and _has_changes(options, session)):
            return session
    wanted = (
        told("named {session_id!r}", session_id=session_id)
        if session_id
        else told("that changed something in {real_root}", real_root=options.real_root)
    )
    raise ToolError(
        ErrorKind.NOT_FOUND, told("There is no session {wanted}. `dogu sessions` lists them.", wanted=wanted)
    )


def entries_of(options: Options, session: StoredSession) -> list[Entry]:
    """Return the calls of a session that changed something, the oldest first."""
    journal = _journal(options, session)
    try:
        return journal.entries()
    finally:
        journal.close()


def entries_and_contents(
    options: Options, session: StoredSession
) -> tuple[list[Entry], Callable[[State], bytes | None]]:
    """Return all calls of a session that changed something, and what finds a content that was kept."""
    journal = _journal(options, session)
    try:
        return journal.entries(), journal.content
    finally:
        journal.close()


def _has_changes(options: Options, session: StoredSession) -> bool:
    return any(not entry.is_undone and not entry.is_undo for entry in entries_of(options, session))


class UndoRequest(msgspec.Struct, frozen=True):
    """What to undo of a session: the last change, the `call` named, all back `to` it, or the whole `turn` it is of."""

    call: str = ""
    to: bool = False
    turn: bool = False
    force: bool = False


def undo(options: Options, session_id: str, wanted: UndoRequest) -> UndoReport:
    """Undo what is wished of a session. Raises `ToolError`."""
    if wanted.to and not wanted.call:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, told("Back to which call? `dogu sessions show` numbers them."))
    journal = _journal(options, find_session(options, session_id))
    try:
        if wanted.to:
            return journal.undo(to=wanted.call, force=wanted.force)
        turn = _turn_of(journal.entries(), wanted.call) if wanted.turn else 0
        return journal.undo(call_id="" if turn else wanted.call, turn=turn, force=wanted.force)
    finally:
        journal.close()


def _turn_of(entries: list[Entry], call: str) -> int:
    """Return the turn of the call named, or of the last change that isn't undone; 0 for calls without turns."""
    for entry in reversed(entries):
        is_open = bool(entry.changes) and not entry.is_undone and not entry.is_undo
        if call in (entry.call_id, str(entry.number)) if call else is_open:
            return entry.turn
    return 0


def _journal(options: Options, session: StoredSession) -> Journal:
    present = [root for root in session.facts.roots if os.path.isdir(root)]
    if not present:
        message = told("The folders that session worked in are gone: {roots}.", roots=", ".join(session.facts.roots))
        raise ToolError(ErrorKind.NOT_FOUND, message)
    pending = os.path.join(options.state_folder, "pending")
    return Journal(session.path, Roots(present[0], present[1:]), pending=pending)
