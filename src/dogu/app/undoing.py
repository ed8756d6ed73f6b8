"""Undo from outside of a session: its journal, opened over the roots it worked in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dogu.app.options import Options
from dogu.contract.errors import ErrorKind, ToolError
from dogu.runtime.session_folder import KeptSession, kept_sessions

if TYPE_CHECKING:
    from dogu.runtime.journal import Journal
    from dogu.runtime.journal_entries import Entry
    from dogu.runtime.journal_undo import UndoReport


def find_session(options: Options, session_id: str) -> KeptSession:
    """Return the session of that id, or the last one of this folder with a change that isn't undone.

    Raises `ToolError` (NOT_FOUND).
    """
    for session in kept_sessions(options.state_folder, "" if session_id else options.real_root):
        if session_id == session.session_id or (not session_id and _has_changes(options, session)):
            return session
    wanted = f"named {session_id!r}" if session_id else f"that changed something in {options.real_root}"
    raise ToolError(ErrorKind.NOT_FOUND, f"There is no session {wanted}. `dogu sessions` lists them.")


def entries_of(options: Options, session: KeptSession) -> list[Entry]:
    """Return the calls of a session that changed something, the oldest first."""
    journal = _journal(options, session)
    try:
        return journal.entries()
    finally:
        journal.close()


def _has_changes(options: Options, session: KeptSession) -> bool:
    return any(not entry.is_undone and not entry.is_undo for entry in entries_of(options, session))


def undo(options: Options, session_id: str, *, call_id: str = "", to: str = "", force: bool = False) -> UndoReport:
    """Undo the last call of a session, or the one named, or all back `to` one. Raises `ToolError`."""
    journal = _journal(options, find_session(options, session_id))
    try:
        return journal.undo(call_id=call_id, to=to, force=force)
    finally:
        journal.close()


def _journal(options: Options, session: KeptSession) -> Journal:
    from dogu.runtime.journal import Journal
    from dogu.workspace.roots import Roots

    present = [root for root in session.facts.roots if os.path.isdir(root)]
    if not present:
        message = f"The folders that session worked in are gone: {', '.join(session.facts.roots)}."
        raise ToolError(ErrorKind.NOT_FOUND, message)
    pending = os.path.join(options.state_folder, "pending")
    return Journal(session.path, Roots(present[0], present[1:]), pending=pending)
