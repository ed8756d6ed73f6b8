"""The ACP door over a line, with sessions that fail as nobody foresaw: each failure costs one request or session."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogu.app import Options
from dogu.app import built_in as built_in_module
from dogu.app import conversation as conversation_module
from dogu.app.acp import AcpSessions
from dogu.serve.acp.door import Door
from dogu.serve.acp.protocols import OpenSession, SessionRequest
from dogu.serve.private_streams import write_all

pytestmark = pytest.mark.anyio

LIMIT_S = 30


class Fails:
    """Where the next sessions fail: '' nowhere, `opening` or `open` (when `now` is set)."""

    def __init__(self) -> None:
        self.where = ""
        self.now = anyio.Event()


class Failing(AcpSessions):
    """Sessions that fail."""

    def __init__(self, options: Options, fails: Fails) -> None:
        super().__init__(options)
        self._fails = fails

    @asynccontextmanager
    async def open(self, wanted: SessionRequest) -> AsyncGenerator[OpenSession]:
        where = self._fails.where
        if where == "opening":
            raise KeyError("of nobody")
        async with super().open(wanted) as parts, anyio.create_task_group() as group:
            if where == "open":
                group.start_soon(self._fail)
            yield parts
            group.cancel_scope.cancel()

    async def _fail(self) -> None:
        await self._fails.now.wait()
        raise KeyError("of nobody")


class Client:
    """A client's end of the line."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._read = b""
        self._count = 0
        self.updates: list[dict[str, Any]] = []

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer: it has a `result` or an `error`."""
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        await write_all(self._line.fileno(), json.dumps(message).encode() + b"\n")
        while (said := await self._hear()).get("id") != self._count:
            self.updates.append(said["params"]["update"])
        return said

    async def until_said(self, words: str) -> None:
        while words not in json.dumps(self.updates, ensure_ascii=False):
            self.updates.append((await self._hear())["params"]["update"])

    async def _hear(self) -> dict[str, Any]:
        while b"\n" not in self._read:
            await anyio.wait_readable(self._line)
            self._read += self._line.recv(1 << 16)
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)


@asynccontextmanager
async def connected(tmp_path: Path, fails: Fails) -> AsyncGenerator[tuple[Client, str]]:
    """Give a client that is initialized, and its folder."""
    root, home = tmp_path / "root", tmp_path / "home"
    root.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    ours, theirs = socket.socketpair()
    with ours, theirs, anyio.fail_after(LIMIT_S):
        for line in (ours, theirs):
            line.setblocking(False)
        async with anyio.create_task_group() as group:
            door = Door(Failing(Options(home=str(home), model="offline"), fails), group)
            group.start_soon(door.peer.run, ours.fileno(), ours.fileno())
            client = Client(theirs)
            await client.ask("initialize", protocolVersion=1)
            yield client, str(root)
            await door.close_all()
            group.cancel_scope.cancel()


async def new_session(client: Client, folder: str) -> str:
    return (await client.ask("session/new", cwd=folder, mcpServers=[]))["result"]["sessionId"]


async def say(client: Client, session: str, text: str) -> dict[str, Any]:
    return await client.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])


async def test_a_defect_in_opening_a_session_costs_that_request(tmp_path: Path):
    fails = Fails()
    async with connected(tmp_path, fails) as (client, folder):
        first = await new_session(client, folder)
        fails.where = "opening"
        answers = [
            await client.ask("session/new", cwd=folder, mcpServers=[]),
            await client.ask("session/load", cwd=folder, mcpServers=[], sessionId="20260101-000000-000000-abcd"),
            await client.ask("session/resume", cwd=folder, mcpServers=[], sessionId="20260101-000000-000000-abcd"),
        ]
        fails.where = ""
        answered = await say(client, first, "/help")
        await new_session(client, folder)
    for answer in answers:
        assert answer["error"]["code"] == -32603
        assert "a defect of dogu: KeyError: 'of nobody'" in answer["error"]["message"]
    assert answered["result"]["stopReason"] == "end_turn"


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_an_open_session_is_opened_again_in_its_own_folder_only(tmp_path: Path, method: str):
    (tmp_path / "other").mkdir()
    other, gone = str(tmp_path / "other"), str(tmp_path / "gone")
    async with connected(tmp_path, Fails()) as (client, folder):
        session = await new_session(client, folder)
        again = await client.ask(method, cwd=folder, mcpServers=[], sessionId=session)
        refused = [await client.ask(method, cwd=cwd, mcpServers=[], sessionId=session) for cwd in (other, gone, "a")]
        more = await client.ask(method, cwd=folder, additionalDirectories=[other], mcpServers=[], sessionId=session)
    assert "modes" in again["result"]
    assert f"worked in {folder}, not here" in refused[0]["error"]["message"]
    assert "There is no folder" in refused[1]["error"]["message"]
    assert "must be absolute" in refused[2]["error"]["message"]
    assert f"worked in {folder}, not here" in more["error"]["message"]


@pytest.mark.parametrize(
    ("servers", "why"),
    [
        ([{"name": "x"}], "mcpServers: an entry isn't understood"),
        ([7], "mcpServers: an entry isn't understood"),
        ([{"name": "x", "command": "a", "args": [], "env": []}] * 2, "Two MCP servers are named x"),
    ],
)
async def test_a_server_of_the_editor_is_never_dropped_in_silence(tmp_path: Path, servers: list[Any], why: str):
    async with connected(tmp_path, Fails()) as (client, folder):
        refused = await client.ask("session/new", cwd=folder, mcpServers=servers)
    assert refused["error"]["code"] == -32602
    assert why in refused["error"]["message"]


async def test_a_defect_behind_an_open_session_ends_that_session_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    fails = Fails()
    async with connected(tmp_path, fails) as (client, folder):
        first = await new_session(client, folder)
        fails.where = "open"
        second = await new_session(client, folder)
        fails.now.set()
        await client.until_said("a defect of dogu: KeyError")
        gone = await say(client, second, "/help")
        answered = await say(client, first, "/help")
    assert "session/load opens it" in gone["error"]["message"]
    assert answered["result"]["stopReason"] == "end_turn"
    assert "a defect of dogu: KeyError: 'of nobody'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "name"), [(built_in_module, "built_in_tools"), (conversation_module, "_changes_by_call")]
)
async def test_a_session_that_could_not_be_resumed_is_kept_and_is_resumed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str
):
    def fail(*_: Any) -> None:
        raise KeyError("of nobody")

    async with connected(tmp_path, Fails()) as (client, folder):
        session = await new_session(client, folder)
        await say(client, session, "hello")
        await client.ask("session/close", sessionId=session)
        with monkeypatch.context() as broken:
            broken.setattr(module, name, fail)
            refused = await client.ask("session/resume", cwd=folder, mcpServers=[], sessionId=session)
        resumed = await client.ask("session/load", cwd=folder, mcpServers=[], sessionId=session)
        stored = os.listdir(tmp_path / "home" / ".dogu" / "sessions")
        await client.until_said("hello")
    assert "a defect of dogu: KeyError: 'of nobody'" in refused["error"]["message"]
    assert "modes" in resumed["result"]
    assert stored == [session]
