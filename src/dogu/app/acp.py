"""Sessions for the ACP door: opened as it asks, listed from what was kept."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

import msgspec

from dogu.agent.session.lines import InUseError, LineFile
from dogu.agent.session.record import summarize
from dogu.app.agent import agent_of
from dogu.app.model_choice import provider_of
from dogu.app.options import Door, Options, Start, read_settings
from dogu.app.sessions import at_session, find_recorded
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say
from dogu.models.providers import OFFLINE
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.session_folder import RECORD_NAME, StoredSession, stored_sessions
from dogu.serve.acp.protocols import OpenSession, SessionRequest, SessionRow
from dogu.settings import SettingsError


class AcpSessions:
    """Opens each session in its own folder; `options` are the command line's, for all of them."""

    def __init__(self, options: Options) -> None:
        self._options = msgspec.structs.replace(
            options, settings_files=None
        )  # each session reads them as they are then

    @asynccontextmanager
    async def open(self, wanted: SessionRequest) -> AsyncGenerator[OpenSession]:
        """Open a session; see `Sessions.open`."""
        options, title = self._options_for(wanted), ""
        if wanted.resume is not None:
            stored = find_recorded(options, wanted.resume)
            title = _row(stored, wanted.folder).title
            if stored.session_id != wanted.resume:  # a user may say the beginning of an id; a program knows it
                raise ToolError(ErrorKind.NOT_FOUND, say("There is no session {id}.", id=wanted.resume))
            _refuse_in_use(stored)
        try:
            options = at_session(options)
            settings = read_settings(options)
            door = Door(wanted.confirm, wanted.ask_the_user, wanted.ask_to_go_on)
            async with agent_of(Start(options, settings, door)) as opened:
                if wanted.resume is not None and opened.session_id != wanted.resume:
                    raise _in_use(wanted.resume)
                yield OpenSession(
                    opened.session_id,
                    opened.agent,
                    opened.runtime,
                    opened.read_prompt,
                    opened.slash,
                    tuple(
                        mode.value
                        for mode in ApprovalMode
                        if not (mode is ApprovalMode.YOLO and settings.tools.yolo_is_disabled)
                    ),
                    opened.session.path,
                    opened.connections,
                    title,
                )
        except SettingsError as error:
            raise ToolError(ErrorKind.START_FAILED, str(error)) from error
        except BaseExceptionGroup as group:
            first = _first_of(group)
            if isinstance(first, SettingsError):
                raise ToolError(ErrorKind.START_FAILED, str(first)) from group
            raise first from group

    def stored(self, folder: str) -> list[SessionRow]:
        """List what can be resumed; see `Sessions.kept`."""
        root = os.path.realpath(folder) if folder else ""
        stored = stored_sessions(self._options.state_folder, root)
        return [_row(each, root) for each in stored if each.has_record]

    def why_not_ready(self, folder: str) -> str:
        """Say what is missing; see `Sessions.why_not_ready`."""
        options = msgspec.structs.replace(self._options, root=folder)
        try:
            model = read_settings(options).model
        except SettingsError:
            return ""  # told when the session is opened
        if provider_of(model) is not OFFLINE or self._options.model == "offline":
            return ""
        return say(
            "No model is connected. Set GEMINI_API_KEY in the environment that your editor starts dogu with, or name a "
            "local model in ~/.dogu/settings.json."
        )

    def _options_for(self, wanted: SessionRequest) -> Options:
        options = msgspec.structs.replace(
            self._options,
            root=wanted.folder,
            include_directories=(*self._options.include_directories, *wanted.also),
            resume=wanted.resume,
            mcp_servers=wanted.mcp_servers,
            editor=wanted.editor,
            only_these_roots=True,
        )
        if wanted.processes is None:
            return options
        if read_settings(options).sandbox.mode == "on":
            message = say(
                "The settings require a sandbox (tools.sandbox), which doesn't reach an editor's "
                "terminals: start `dogu acp` without --client-terminal."
            )
            raise ToolError(ErrorKind.START_FAILED, message)
        return msgspec.structs.replace(options, processes=wanted.processes)


def _refuse_in_use(stored: StoredSession) -> None:
    """Refuse a session that another process has open: resuming it would go on with a copy, under another id."""
    try:
        LineFile(os.path.join(stored.path, RECORD_NAME)).close()
    except InUseError as error:
        raise _in_use(stored.session_id) from error
    except OSError:
        return  # it can't be written; told when it is resumed


def _in_use(session_id: str) -> ToolError:
    return ToolError(ErrorKind.IO_ERROR, say("Session {id} is in use by another process.", id=session_id))


def _row(stored: StoredSession, root: str) -> SessionRow:
    folder = root or (stored.facts.roots[0] if stored.facts.roots else "/")
    try:
        summary = summarize(stored.path)
    except (OSError, msgspec.MsgspecError, LookupError, TypeError, ValueError):  # a record that can't be read
        return SessionRow(stored.session_id, folder, "", stored.facts.began)
    return SessionRow(stored.session_id, folder, summary.first_prompt, summary.last_s or stored.facts.began)


def _first_of(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
