"""The protocol's methods: which there are, what they take, and which session they are for.

Source: agentclientprotocol.com, protocol version 1; parameters are read by the SDK's models.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.abc
from acp import schema
from anyio import to_thread
from pydantic import ValidationError

from dogu.contract.errors import ErrorKind, ToolError
from dogu.extras import install_command
from dogu.language import say
from dogu.serve.acp.asking import Asking
from dogu.serve.acp.editor import ClientEditor
from dogu.serve.acp.peer import (
    AUTH_REQUIRED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    Answer,
    Peer,
    RpcError,
)
from dogu.serve.acp.protocols import OpenSession, SessionRequest, SessionRow, Sessions
from dogu.serve.acp.session import AcpSession
from dogu.serve.acp.terminals import ClientTerminals
from dogu.serve.defects import contained
from dogu.serve.private_streams import private_streams
from dogu.version import __version__

if TYPE_CHECKING:
    from acp import schema

Json = dict[str, Any]

PROTOCOL_VERSION = 1
_PAGE = 50
_KEY_METHOD = "gemini-api-key"


async def serve_acp(sessions: Sessions, *, uses_client_terminals: bool = False) -> int:
    """Serve one client over standard input and output until it closes them.

    `uses_client_terminals`: shell commands run in the client's terminals where it offers them. Raises `ToolError`
    (START_FAILED) when the `acp` extra isn't installed.
    """
    try:
        import_module("acp.schema")  # half a second, paid before the first message
    except ImportError as error:
        command = install_command("acp")
        message = say("`dogu acp` needs the package agent-client-protocol: {command}", command=command)
        raise ToolError(ErrorKind.START_FAILED, message) from error
    async with private_streams() as (reader, writer), anyio.create_task_group() as group:
        door = Door(sessions, group, uses_client_terminals=uses_client_terminals)
        await door.peer.run(reader, writer)
        await door.close_all()
        group.cancel_scope.cancel()
    return 0


class Door:
    """Answers one client. Sessions live in tasks of `group`."""

    def __init__(self, sessions: Sessions, group: anyio.abc.TaskGroup, *, uses_client_terminals: bool = False) -> None:
        self.peer = Peer(self._handle)
        self._app = sessions
        self._group = group
        self._uses_client_terminals = uses_client_terminals
        self._client: schema.ClientCapabilities | None = None
        self._sessions: dict[str, AcpSession] = {}
        self._methods: dict[str, tuple[str, Callable[[Any], Awaitable[Answer]]]] = {
            "initialize": ("InitializeRequest", self._initialize),
            "authenticate": ("AuthenticateRequest", self._authenticate),
            "session/new": ("NewSessionRequest", self._new),
            "session/load": ("LoadSessionRequest", self._load),
            "session/resume": ("ResumeSessionRequest", self._resume),
            "session/list": ("ListSessionsRequest", self._list),
            "session/close": ("CloseSessionRequest", self._close),
            "session/set_mode": ("SetSessionModeRequest", self._set_mode),
            "session/set_config_option": ("SetSessionConfigOptionSelectRequest", self._set_option),
            "session/prompt": ("PromptRequest", self._prompt),
            "session/cancel": ("CancelNotification", self._cancel),
        }

    async def close_all(self) -> None:
        """End every session."""
        for session in list(self._sessions.values()):
            await session.close()

    async def _handle(self, method: str, params: Any) -> Answer:
        if method not in self._methods:
            raise RpcError(METHOD_NOT_FOUND, say("There is no method {method} here.", method=method))
        if self._client is None and method != "initialize":
            raise RpcError(INVALID_REQUEST, say("{method}: initialize comes first.", method=method))
        name, answer = self._methods[method]
        try:
            taken = getattr(schema, name).model_validate({} if params is None else params)
        except ValidationError as error:
            problems = cast("list[Json]", error.errors())[:3]
            told = [f"{'.'.join(map(str, problem['loc'])) or '(all)'}: {problem['msg']}" for problem in problems]
            raise RpcError(INVALID_PARAMS, f"{method}: {'; '.join(told)}") from error
        wanted = cast("Json", params).get("mcpServers") if isinstance(params, dict) else None
        if isinstance(wanted, list) and len(cast("list[Json]", wanted)) != len(taken.mcp_servers or ()):
            raise RpcError(INVALID_PARAMS, say("{method}: mcpServers: an entry isn't understood.", method=method))
        return await answer(taken)

    async def _initialize(self, params: schema.InitializeRequest) -> Answer:
        self._client = params.client_capabilities or schema.ClientCapabilities()
        capabilities: Json = {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "additionalDirectories": {}},
        }
        return Answer(
            {
                "protocolVersion": PROTOCOL_VERSION,
                "agentCapabilities": capabilities,
                "agentInfo": {"name": "dogu", "title": "dogu", "version": __version__},
                "authMethods": [_key_method()],
            }
        )

    async def _authenticate(self, params: schema.AuthenticateRequest) -> Answer:
        if params.method_id != _KEY_METHOD:
            message = say("There is no authentication method {name}.", name=params.method_id)
            raise RpcError(INVALID_PARAMS, message)
        self._check_ready(os.getcwd())
        return Answer({})

    async def _new(self, params: schema.NewSessionRequest) -> Answer:
        session = await self._open(params, None)
        return Answer({"sessionId": session.session_id, **_choices(session)}, session.tell_changes)

    async def _load(self, params: schema.LoadSessionRequest) -> Answer:
        session = self._opened(params) or await self._open(params, params.session_id)
        await session.play_again()
        return Answer(_choices(session), session.tell_changes)

    async def _resume(self, params: schema.ResumeSessionRequest) -> Answer:
        session = self._opened(params) or await self._open(params, params.session_id)
        return Answer(_choices(session), session.tell_changes)

    async def _list(self, params: schema.ListSessionsRequest) -> Answer:
        rows = await to_thread.run_sync(self._app.stored, params.cwd or "")
        start = 0
        if params.cursor:
            ids = [row.session_id for row in rows]
            if params.cursor not in ids:
                raise RpcError(INVALID_PARAMS, say("This cursor wasn't issued here."))
            start = ids.index(params.cursor) + 1
        page = rows[start : start + _PAGE]
        told: Json = {"sessions": [_row(row) for row in page]}
        if start + _PAGE < len(rows):
            told["nextCursor"] = page[-1].session_id
        return Answer(told)

    async def _close(self, params: schema.CloseSessionRequest) -> Answer:
        await self._session(params.session_id).close()
        return Answer({})

    async def _set_mode(self, params: schema.SetSessionModeRequest) -> Answer:
        session = self._session(params.session_id)
        session.set_mode(params.mode_id)
        return Answer({}, session.tell_changes)

    async def _set_option(self, params: schema.SetSessionConfigOptionSelectRequest) -> Answer:
        session = self._session(params.session_id)
        session.choose(params.config_id, params.value)
        return Answer({"configOptions": session.options()})

    async def _prompt(self, params: schema.PromptRequest) -> Answer:
        return Answer(await self._session(params.session_id).prompt(params.prompt))

    async def _cancel(self, params: schema.CancelNotification) -> Answer:
        self._session(params.session_id).cancel()
        return Answer(None)

    def _session(self, session_id: str) -> AcpSession:
        session = self._sessions.get(session_id)
        if session is None:
            message = say("Session {id} is not open here; session/load opens it.", id=session_id)
            raise RpcError(NOT_FOUND, message)
        return session

    def _opened(self, params: schema.LoadSessionRequest | schema.ResumeSessionRequest) -> AcpSession | None:
        """Return the session if it is open already: in the folders that are asked for, as when it is opened."""
        session = self._sessions.get(params.session_id)
        if session is not None:
            here = [os.path.realpath(folder) for folder in _folders(params)]
            if here[0] != session.roots[0] or not {*here} <= {*session.roots}:
                roots = ", ".join(session.roots)
                message = say("Session {id} worked in {roots}, not here.", id=params.session_id, roots=roots)
                raise RpcError(INVALID_PARAMS, message)
        return session

    async def _open(
        self,
        params: schema.NewSessionRequest | schema.LoadSessionRequest | schema.ResumeSessionRequest,
        session_id: str | None,
    ) -> AcpSession:
        folders = _folders(params)
        self._check_ready(params.cwd)
        try:
            return await self._group.start(self._host, folders, _entries(params.mcp_servers or ()), session_id)
        except ToolError as error:
            code = NOT_FOUND if error.kind is ErrorKind.NOT_FOUND else INTERNAL_ERROR
            raise RpcError(code, error.message) from error

    async def _host(
        self,
        folders: list[str],
        mcp_servers: Mapping[str, Json],
        session_id: str | None,
        *,
        task_status: anyio.abc.TaskStatus[AcpSession],
    ) -> None:
        """Keep a session open until it wants to close; whatever goes wrong in it ends this one only."""
        session: AcpSession | None = None
        wanted, asking = self._wanted(folders, mcp_servers, session_id)
        try:
            with contained(partial(ToolError, ErrorKind.DEFECT), ToolError):
                async with self._app.open(wanted) as parts:
                    session = AcpSession(self.peer, parts)
                    self._tie(session, parts, wanted, asking)
                    await session.find_models()
                    task_status.started(session)
                    try:
                        await session.wants_to_close.wait()
                    finally:
                        await session.end_turn()  # before what it works with is closed
        except ToolError as error:
            if session is None:
                raise
            session.updates.say(error.message)
            sys.stderr.write(f"{error.message}\n")
        finally:
            if session is not None:
                self._sessions.pop(session.session_id, None)
                session.is_closed.set()

    def _tie(self, session: AcpSession, parts: OpenSession, wanted: SessionRequest, asking: Asking) -> None:
        asking.updates = session.updates
        for each in (asking, wanted.editor, wanted.processes):
            if isinstance(each, Asking | ClientEditor | ClientTerminals):
                each.session_id = parts.session_id
        if isinstance(wanted.processes, ClientTerminals):
            wanted.processes.show = session.updates.show_terminal
        self._sessions[parts.session_id] = session

    def _wanted(
        self, folders: list[str], mcp_servers: Mapping[str, Json], session_id: str | None
    ) -> tuple[SessionRequest, Asking]:
        client = self._client
        assert client is not None
        asking = Asking(self.peer, has_forms=client.elicitation is not None and client.elicitation.form is not None)
        files = client.fs
        editor = processes = None
        if files is not None and files.read_text_file:
            editor = ClientEditor(self.peer, folders, writes=bool(files.write_text_file))
        if self._uses_client_terminals and client.terminal:
            processes = ClientTerminals(self.peer)
        wanted = SessionRequest(
            folders[0],
            tuple(folders[1:]),
            mcp_servers,
            session_id,
            asking.confirm,
            asking.go_on,
            asking.elicit,
            editor,
            processes,
        )
        return wanted, asking

    def _check_ready(self, folder: str) -> None:
        missing = self._app.why_not_ready(folder)
        if missing:
            raise RpcError(AUTH_REQUIRED, missing, {"authMethods": [_key_method()]})


def _choices(session: AcpSession) -> Json:
    """What can be chosen, in the older words and the newer."""
    return {"modes": session.modes(), "configOptions": session.options()}


def _key_method() -> Json:
    return {
        "id": _KEY_METHOD,
        "name": say("Gemini API key"),
        "description": say(
            "Set GEMINI_API_KEY in the environment that your editor starts dogu with, and start it again."
        ),
        "type": "env_var",
        "vars": [{"name": "GEMINI_API_KEY"}],
    }


def _folders(params: schema.NewSessionRequest | schema.LoadSessionRequest | schema.ResumeSessionRequest) -> list[str]:
    folders = [params.cwd, *(params.additional_directories or ())]
    for folder in folders:
        _check_folder(folder)
    return folders


def _check_folder(folder: str) -> None:
    if not os.path.isabs(folder):
        raise RpcError(INVALID_PARAMS, say("A folder must be absolute: {folder}", folder=folder))
    if not os.path.isdir(folder):
        raise RpcError(INVALID_PARAMS, say("There is no folder {folder}.", folder=folder))


def _entries(servers: Any) -> dict[str, Json]:
    """The client's MCP servers as entries of the settings."""
    entries: dict[str, Json] = {}
    for server in servers:
        if server.name in entries:
            raise RpcError(INVALID_PARAMS, say("Two MCP servers are named {name}.", name=server.name))
        kind = getattr(server, "type", "stdio")
        if kind in ("http", "sse"):
            headers = {header.name: header.value for header in server.headers}
            entries[server.name] = {"httpUrl" if kind == "http" else "url": server.url, "headers": headers}
        elif kind == "stdio":
            env = {variable.name: variable.value for variable in server.env}
            entries[server.name] = {"command": server.command, "args": list(server.args), "env": env}
        else:
            message = say("MCP server {name}: {kind} is not offered here.", name=server.name, kind=kind)
            raise RpcError(INVALID_PARAMS, message)
    return entries


def _row(row: SessionRow) -> Json:
    updated = datetime.fromtimestamp(row.updated_s, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"sessionId": row.session_id, "cwd": row.folder, "title": row.title, "updatedAt": updated}
