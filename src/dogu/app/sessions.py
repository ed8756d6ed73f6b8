"""The session that an agent or a runtime works in: a new one, one that goes on, or a copy of one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

import msgspec

from dogu.agent.events import SessionForked, StateChanged
from dogu.agent.session.lines import VERSION, InUseError, LineFile, verify
from dogu.agent.session.live import Session
from dogu.app.options import Options
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import joined, say, told
from dogu.runtime.journal.remains import tidy
from dogu.runtime.session_folder import (
    RECORD_NAME,
    RECORD_SEAL_NAME,
    SessionFolder,
    StoredSession,
    read_facts,
    stored_sessions,
)
from dogu.settings import Settings
from dogu.workspace import fs
from dogu.workspace.environment import secret_values

if TYPE_CHECKING:
    from dogu.agent.session.resume import Restored
    from dogu.runtime.events import Notes

_USES_BETWEEN = 10


class OpenedSession(msgspec.Struct, frozen=True):
    """A session's folder, with its record taken hold of. `restored` is what it resumes with.

    `readable` are folders that its history names, `also` further roots that it had worked in and does again.
    """

    folder: SessionFolder
    roots: tuple[str, ...]
    secrets: tuple[str, ...]
    file: LineFile | None = None
    fork: SessionForked | None = None
    restored: Restored | None = None
    readable: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def give_up(self) -> None:
        """Let go of it, because what was to work in it could not be opened; a new one leaves nothing behind."""
        if self.file is not None:
            self.file.close()
        self.folder.close()

    def session(self, notes: Notes, state: Callable[[], StateChanged]) -> Session:
        """Make what records it; `state` is asked for what resumes with it."""
        session = Session(
            self.folder.path, self.roots, secrets=self.secrets, tell=notes.add, state=state, file=self.file
        )
        if self.fork is not None:
            session.event(self.fork)
        return session


def at_session(options: Options) -> Options:
    """Name the session that is wished, and work where it worked. Raises `ToolError` (NOT_FOUND, INVALID_ARGUMENTS)."""
    wanted = options.resume if options.resume is not None else options.fork
    if wanted is None:
        return options
    stored = find_recorded(options, wanted)
    root = options.root
    if options.real_root not in stored.facts.roots[:1]:
        if root:
            primary = next(iter(stored.facts.roots), "")
            message = told("Session {id} worked in {roots}, not here.", id=stored.session_id, roots=primary)
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
        root = next(iter(stored.facts.roots), "")
        if not os.path.isdir(root):
            message = told("The folder that session {id} worked in is gone: {roots}.", id=stored.session_id, roots=root)
            raise ToolError(ErrorKind.NOT_FOUND, message)
    named = {"resume" if options.resume is not None else "fork": stored.session_id}
    return msgspec.structs.replace(options, root=root, **named)


def find_recorded(options: Options, session_id: str) -> StoredSession:
    """Return the session whose id begins so, or the one last used in the root, if it can be resumed.

    Raises `ToolError` (NOT_FOUND, INVALID_ARGUMENTS where the beginning fits several).
    """
    if session_id:
        stored = find_stored(options, session_id)
        if not stored.has_record:
            message = told("Session {id} recorded no conversation.", id=stored.session_id)
            if os.path.exists(os.path.join(stored.path, RECORD_SEAL_NAME)):
                message = told("The record of session {id} is gone: only its seal is there.", id=stored.session_id)
            raise ToolError(ErrorKind.NOT_FOUND, message)
        return stored
    recorded = (each for each in stored_sessions(options.state_folder, options.real_root) if each.has_record)
    last = next(recorded, None)
    if last is None:
        message = told("No conversation in {root} has been recorded yet.", root=options.real_root)
        raise ToolError(ErrorKind.NOT_FOUND, message)
    return last


def find_stored(options: Options, session_id: str) -> StoredSession:
    """Return the session whose id begins so, or the one last used in the root.

    Raises `ToolError` (NOT_FOUND, INVALID_ARGUMENTS where the beginning fits several).
    """
    stored = stored_sessions(options.state_folder, "" if session_id else options.real_root)
    fitting = [each for each in stored if each.session_id.startswith(session_id)]
    exact = [each for each in fitting if each.session_id == session_id]
    if exact or (fitting and not session_id) or len(fitting) == 1:
        return (exact or fitting)[0]
    if fitting:
        message = told("{count} sessions begin with {id}: type more of the id.", count=len(fitting), id=session_id)
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
    wanted = session_id or told("for {root}", root=options.real_root)
    message = told("There is no session {wanted}. `dogu sessions list --all` lists them.", wanted=wanted)
    raise ToolError(ErrorKind.NOT_FOUND, message)


def open_session(options: Options, settings: Settings) -> OpenedSession:
    """Open the session that `options` (of `at_session`) wish. Raises `ToolError`."""
    secrets = tuple(secrets_of(settings))
    also = (os.path.realpath(folder) for folder in settings.context.include_directories)
    roots = tuple(dict.fromkeys([options.real_root, *also]))
    if options.resume is not None:
        stored = find_recorded(options, options.resume)
        check_record(stored, is_unverified=options.unverified)
        try:
            return _reopened(stored, _Way(roots, secrets, options.only_these_roots))
        except InUseError:
            note = say("Session {id} is in use by another process; continuing with a copy of it.", id=stored.session_id)
            return _forked(stored, _Way(roots, secrets, options.only_these_roots), note)
    if options.fork is not None:
        stored = find_recorded(options, options.fork)
        check_record(stored, is_unverified=options.unverified)
        return _forked(stored, _Way(roots, secrets, options.only_these_roots))
    return OpenedSession(SessionFolder(options.state_folder, roots), roots, secrets)


def check_resumable(options: Options) -> None:
    """Raise `ToolError` or OSError where the session that `options` wish to go on with couldn't be opened."""
    if options.resume is not None:
        stored = find_recorded(options, options.resume)
        check_record(stored, is_unverified=options.unverified)
        _restored(stored)


def check_record(stored: StoredSession, *, is_unverified: bool) -> None:
    """Refuse a record that isn't as it was written, unless the user said to go on. Raises `ToolError` (STALE)."""
    record = os.path.join(stored.path, RECORD_NAME)
    if is_unverified:
        if os.path.isfile(record) and not os.path.getsize(record):
            message = told("The record of session {id} is empty: there is nothing to continue.", id=stored.session_id)
            raise ToolError(ErrorKind.NOT_FOUND, message)
        return
    try:
        problems = verify(record).problems
    except OSError:
        return  # told where it is read
    if problems:
        message = told(
            "The record of session {id} was damaged or changed ({problems}). --unverified continues anyway.",
            id=stored.session_id,
            problems=joined("; ", problems),
        )
        raise ToolError(ErrorKind.STALE, message)


class _Way(msgspec.Struct, frozen=True):
    """How a session goes on: in which `roots`, whether in those alone, and what must not be recorded."""

    roots: tuple[str, ...]
    secrets: tuple[str, ...]
    only_these_roots: bool

    def also(self, stored: StoredSession) -> tuple[str, ...]:
        """The further roots that the session had and that nobody named anew; those that are gone are left out."""
        if self.only_these_roots:
            return ()
        return tuple(root for root in stored.facts.roots if root not in self.roots and os.path.isdir(root))


def copy_session(path: str) -> str:
    """Copy the session of the folder `path` as its record stands, and return the copy's id. Raises OSError."""
    facts = read_facts(path)
    folder = _copied(StoredSession(path, facts), facts.roots)
    copy = Session(folder.path, facts.roots)
    copy.event(SessionForked(folder.session_id, os.path.basename(path)))
    copy.close()
    SessionFolder("", reopened=StoredSession(path, facts))  # the one worked in stays the one used last
    return folder.session_id


def _copied(stored: StoredSession, roots: Sequence[str]) -> SessionFolder:
    """Make a session of its own, in these roots, that has the same record so far. Raises OSError."""
    state_folder = os.path.dirname(os.path.dirname(stored.path))
    folder = SessionFolder(state_folder, roots, origin=stored.session_id)
    for name in (RECORD_SEAL_NAME, RECORD_NAME):  # the seal first: it may say less than there is, never more
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | fs.O_CLOEXEC
        path = os.path.join(stored.path, name)
        if not os.path.exists(path):
            continue
        with (
            open(path, "rb") as source,
            os.fdopen(fs.open(os.path.join(folder.path, name), flags, 0o600), "wb") as copy,
        ):
            shutil.copyfileobj(source, copy, 1 << 20)
    return folder


def _reopened(stored: StoredSession, way: _Way) -> OpenedSession:
    file = _taken(stored)
    with ExitStack() as failing:
        if file is not None:
            failing.callback(file.close)
        restored = _restored(stored)
        also = way.also(stored)
        notes = (_resumed_note(stored, restored), *_also_note(also))
        folder = SessionFolder("", way.roots, reopened=stored)
        opened = OpenedSession(
            folder,
            tuple(stored.facts.roots),
            way.secrets,
            file,
            restored=restored,
            readable=_origins(stored),
            also=also,
            notes=notes,
        )
        failing.pop_all()
    return opened


def _taken(stored: StoredSession) -> LineFile | None:
    """Take hold of the record, for this process alone. Raises `InUseError`."""
    try:
        return LineFile(os.path.join(stored.path, RECORD_NAME))
    except OSError:
        return None  # a home that can't be written: told with the first event that isn't recorded


def _also_note(also: tuple[str, ...]) -> tuple[str, ...]:
    return (say("It works in {folders} too, as before.", folders=", ".join(also)),) if also else ()


def _forked(stored: StoredSession, way: _Way, note: str = "") -> OpenedSession:
    restored = _restored(stored)
    also = way.also(stored)
    roots = (*way.roots, *also)
    folder = _copied(stored, roots)
    notes = (
        note,
        say("This is session {id}.", id=folder.session_id),
        _resumed_note(stored, restored),
        *_also_note(also),
    )
    return OpenedSession(
        folder,
        roots,
        way.secrets,
        fork=SessionForked(folder.session_id, stored.session_id),
        restored=restored,
        readable=(stored.path, *_origins(stored)),
        also=also,
        notes=tuple(filter(None, notes)),
    )


def _restored(stored: StoredSession) -> Restored:
    from dogu.agent.session.resume import restore

    restored = restore(stored.path)
    if restored.version > VERSION:
        message = told("Session {id} was recorded by a newer dogu: update to resume it.", id=stored.session_id)
        raise ToolError(ErrorKind.WRONG_FILE_TYPE, message)
    return restored


def _origins(stored: StoredSession) -> tuple[str, ...]:
    """The folders of the sessions it was copied from: outputs that its history names lie there."""
    found: list[str] = []
    folder = os.path.dirname(stored.path)
    origin = stored.facts.origin
    known = {each.session_id: each for each in stored_sessions(os.path.dirname(folder))} if origin else {}
    while origin in known and known[origin].path not in found:
        found.append(known[origin].path)
        origin = known[origin].facts.origin
    return tuple(found)


def _resumed_note(stored: StoredSession, restored: Restored) -> str:
    prompt = " ".join(restored.last_prompt.split())
    shown = prompt if len(prompt) <= 100 else f"{prompt[:100]}..."
    note = say("Session {id}, after turn {turn}: {prompt}", id=stored.session_id, turn=restored.turn, prompt=shown)
    if restored.gone_back_to:
        note = say("Session {id}, gone back to before turn {turn}.", id=stored.session_id, turn=restored.gone_back_to)
    if restored.unreadable:
        note += "\n" + say(
            "{count} lines of its record can't be read; `dogu sessions verify` says which.", count=restored.unreadable
        )
    return note


def clear_away(options: Options, settings: Settings, folder: SessionFolder) -> None:
    """Remove what killed sessions left beside this one; every tenth use, sessions over the settings' limits. Blocks."""
    tidy(os.path.dirname(folder.path))
    if not folder.use or folder.use % _USES_BETWEEN:
        return
    from dogu.runtime.session_expiry import expire

    expire(options.state_folder, settings.sessions.keep_days, int(settings.sessions.keep_mb * 1e6))


def secrets_of(settings: Settings, environ: Mapping[str, str] = os.environ) -> Iterable[str]:
    """Give what must not be recorded: our keys, variables named as secrets, what MCP servers are given."""
    yield from secret_values(environ)
    yield settings.model.api_key
    for server in settings.mcp.servers.values():
        for name in ("headers", "env"):
            yield from _texts_of(server.get(name))


def _texts_of(values: Any) -> Iterable[str]:
    """The texts of a table, without the word that says how a header's secret is used (`Bearer`)."""
    table = cast("dict[str, Any]", values) if isinstance(values, dict) else {}
    return [value.rpartition(" ")[2] for value in table.values() if isinstance(value, str)]
