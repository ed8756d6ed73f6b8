"""Undo from outside of a session: its journal, opened over the roots it worked in."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from dogu.app.options import Options
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal import Journal, Keeping
from dogu.runtime.journal.budget import DEFAULT_BYTES, DEFAULT_SHARE, SessionsBudget
from dogu.runtime.journal.choice import Consent, Wanted, is_open_to, open_undos, within
from dogu.runtime.journal.log import SEAL_NAME
from dogu.runtime.journal.remains import interrupted
from dogu.runtime.sealing import key_of
from dogu.runtime.session_folder import StoredSession, read_facts, stored_sessions
from dogu.workspace.roots import Roots

if TYPE_CHECKING:
    from collections.abc import Generator

    from dogu.runtime.journal.entries import Entry
    from dogu.runtime.journal.kept import Kept
    from dogu.runtime.journal.log import Damage
    from dogu.runtime.journal.undo import UndoPlan, UndoReport
    from dogu.settings import Settings


class UndoRequest(msgspec.Struct, frozen=True):
    """What to undo of a session: the last change, the `call` or file named, all back `to` it, or the `turn` it is of.

    With `is_redo`, the last undo, or that of the call named, is taken back. What an undo had to leave is meant too
    where the user consents to it. `is_unverified`: what is damaged is no matter.
    """

    call: str = ""
    to: bool = False
    turn: bool = False
    is_redo: bool = False
    consent: Consent = Consent()
    is_unverified: bool = False


class UndoSession:
    """The journal of one session, and what is wanted of it."""

    def __init__(self, session: StoredSession, journal: Journal, request: UndoRequest) -> None:
        self.session = session
        self._journal = journal
        self._request = request
        self._wanted = _wanted(journal.entries(), request)

    def problems(self) -> list[Damage]:
        """Say where its journal isn't as it was written."""
        return self._journal.problems()

    def plan(self, consent: Consent) -> UndoPlan:
        """Say what would be done. Raises `ToolError`."""
        return self._journal.plan(self._wanted, consent, is_redo=self._request.is_redo)

    def hold_to(self, plan: UndoPlan) -> None:
        """Mean the calls of the plan that the user was shown, whatever they consent to from now on."""
        if self._wanted == Wanted():
            self._wanted = Wanted(call_id=str(plan.calls[0].call))

    def do(self, consent: Consent) -> UndoReport:
        """Do it. Raises `ToolError`."""
        if self._request.is_redo:
            return self._journal.redo(self._wanted.call_id, consent)
        return self._journal.undo(self._wanted, consent)


@contextmanager
def opened_for_undo(options: Options, session_id: str, request: UndoRequest) -> Generator[UndoSession]:
    """Open the session meant, or the last one of this folder with something to undo. Raises `ToolError`."""
    if request.to and not request.call:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, told("Back to which call? `dogu sessions show` numbers them."))
    session = find_session(options, session_id, request)
    journal = _journal(options, session)
    try:
        yield UndoSession(session, journal, request)
    finally:
        journal.close()


def find_session(options: Options, session_id: str, request: UndoRequest) -> StoredSession:
    """Return the session of that id, or the last one of this folder of which there is something to undo.

    Raises `ToolError` (NOT_FOUND).
    """
    stored = stored_sessions(options.state_folder, "" if session_id else options.real_root)
    if request.is_redo and not session_id:
        # Sessions may have gone on side by side: what was undone last is done again, whoever began last.
        stored = sorted(stored, key=lambda session: _last_undo_s(options, session, request), reverse=True)
    for session in stored:
        if session_id == session.session_id or (not session_id and _has_wanted(options, session, request)):
            return session
    if session_id:
        wanted = told("named {session_id!r}", session_id=session_id)
    elif request.is_redo:
        wanted = told("with an undo to redo in {real_root}", real_root=options.real_root)
    else:
        wanted = told("that changed something in {real_root}", real_root=options.real_root)
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


def entries_and_kept(options: Options, session: StoredSession) -> tuple[list[Entry], Kept]:
    """Return all calls of a session that changed something, and the contents that it kept."""
    journal = _journal(options, session)
    try:
        return journal.entries(), journal.kept
    finally:
        journal.close()


def _has_wanted(options: Options, session: StoredSession, request: UndoRequest) -> bool:
    """Whether there is something in the session for what is wished; a damaged journal is, to be told of."""
    try:
        journal = _journal(options, session)
    except ToolError:
        return False
    try:
        entries = journal.entries()
        is_damaged = not request.is_unverified and bool(journal.problems())
        if request.is_redo:
            return bool(_undos_wanted(entries, request)) or is_damaged
        path = _path_of(entries, request)
        if path:
            changes = [change.path for entry in entries if not entry.is_undo for change in entry.open_changes()]
            return bool(within(changes, path)) or is_damaged
        open_ones = (entry for entry in entries if entry.open_changes() and not entry.is_undo)
        is_there = any(is_open_to(entry, request.consent) for entry in open_ones)
        return is_there or is_damaged
    finally:
        journal.close()


def _last_undo_s(options: Options, session: StoredSession, request: UndoRequest) -> float:
    """Say when the undo was made that a redo would take in this session (POSIX time); 0 where there is none.

    A damaged journal, of which nobody knows, counts with the time of its last record.
    """
    try:
        journal = _journal(options, session)
        try:
            found = max((entry.time_s for entry in _undos_wanted(journal.entries(), request)), default=0.0)
            is_damaged = not request.is_unverified and bool(journal.problems())
        finally:
            journal.close()
        return max(found, os.stat(os.path.join(session.path, SEAL_NAME)).st_mtime) if is_damaged else found
    except (ToolError, OSError):
        return 0.0


def _undos_wanted(entries: list[Entry], request: UndoRequest) -> list[Entry]:
    return open_undos(entries, request.consent, is_named=bool(request.call))


def _wanted(entries: list[Entry], request: UndoRequest) -> Wanted:
    if request.is_redo:
        return Wanted(call_id=request.call)
    if request.to:
        return Wanted(to=request.call)
    turn = _turn_of(entries, request.call) if request.turn else 0
    if turn:
        return Wanted(turn=turn)
    path = _path_of(entries, request)
    return Wanted(path=path) if path else Wanted(call_id=request.call)


def _path_of(entries: list[Entry], request: UndoRequest) -> str:
    """Return the file meant (absolute, without links above it), where it isn't a call that is named."""
    name = request.call
    if not name or request.to or request.turn or any(name in (each.call_id, str(each.number)) for each in entries):
        return ""
    if name.isdigit():
        return ""
    folder, last = os.path.split(os.path.abspath(name))
    return os.path.join(os.path.realpath(folder), last)


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
    return Journal(session.path, Roots(present[0], present[1:]), keeping_of(options, session.path))


def finish_interrupted(options: Options, pending: str) -> list[str]:
    """Finish what killed processes were just putting in place of what a command had changed; say so."""
    told_of: list[str] = []
    for note, folder in interrupted(pending):
        try:
            stored = StoredSession(folder, read_facts(folder))
            journal = _journal(options, stored)
            try:
                journal.recover()
                told_of += journal.finished
            finally:
                journal.close()
        except (OSError, ToolError) as error:
            told_of.append(told("{folder}: could not be finished: {error}", folder=folder, error=error))
            continue
        with suppress(OSError):
            os.unlink(note)
        told_of.append(told("Session {id}: finished what a kill had interrupted.", id=stored.session_id))
    return told_of


def keeping_of(options: Options, folder: str, settings: Settings | None = None) -> Keeping:
    """Return how the journal of the session in `folder` keeps."""
    key = b""
    with suppress(OSError):  # where the home can't be written, nothing is sealed
        key = key_of(options.state_folder)
    share, most_bytes = DEFAULT_SHARE, DEFAULT_BYTES
    if settings is not None:
        share, most_bytes = settings.sessions.undo_share, settings.sessions.undo_bytes
    budget = SessionsBudget(options.state_folder, folder, share, most_bytes)
    return Keeping(os.path.join(options.state_folder, "pending"), key, budget)
