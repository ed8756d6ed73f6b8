"""`dogu acp`: sessions that come and go, what a client sends that it shouldn't, and how it ends."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import acp
import anyio
import psutil
import pytest
from acp import schema

from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call
from e2e.acp_client import Editor, ask, connected, connected_process, new_session
from e2e.program import Program, ready_program

pytestmark = pytest.mark.anyio

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_a_session_is_listed_loaded_with_its_past_and_goes_on(program: Program):
    path = program.root / "a.txt"
    path.write_text("one\n")
    turns = [Turn(text="Let me look.", calls=[call("read_file", path=str(path))]), "It says one.", "Still one."]
    with FakeGemini(turns) as server:
        async with connected_process(program, Editor(), server) as connection:
            session = await new_session(connection, program.root)
            await ask(connection, session, "what does it say @a.txt")
        again = Editor()
        async with connected_process(program, again, server) as connection:
            listed = await connection.list_sessions(cwd=str(program.root))
            elsewhere = await connection.list_sessions(cwd=str(program.home))
            loaded = await connection.load_session(cwd=str(program.root), session_id=session, mcp_servers=[])
            await again.until(lambda: "It says one." in again.said())
            await ask(connection, session, "and now")
        history = server.requests[2].contents
    assert [(row.session_id, row.title) for row in listed.sessions] == [(session, "what does it say @a.txt")]
    assert listed.sessions[0].cwd == str(program.root)
    assert elsewhere.sessions == []
    assert loaded.modes.current_mode_id == "default"
    assert [update.title for update in again.of_kind("session_info_update")] == ["what does it say @a.txt"]
    assert again.of_kind("user_message_chunk")[0].content.text.startswith("what does it say @a.txt")
    assert again.call("a.txt").status == "completed"
    assert again.said().endswith("Still one.")
    assert [content["role"] for content in history] == ["user", "model", "user", "model", "user"]


async def test_a_session_is_resumed_without_its_past(program: Program):
    with FakeGemini(["one", "two"]) as server:
        async with connected(program, Editor(), server) as connection:
            session = await new_session(connection, program.root)
            await ask(connection, session, "first")
            await connection.close_session(session_id=session)
            with pytest.raises(acp.RequestError, match="not open here"):
                await ask(connection, session, "too late")
            editor = Editor()
        async with connected(program, editor, server) as connection:
            await connection.resume_session(cwd=str(program.root), session_id=session)
            assert editor.said("user_message_chunk") == ""
            await ask(connection, session, "second")
            assert editor.said().endswith("two")
            with pytest.raises(acp.RequestError, match="no session"):
                await connection.load_session(cwd=str(program.root), session_id="20000101-none", mcp_servers=[])
        assert len(server.requests[1].contents) == 3


async def test_a_session_that_another_process_has_open_is_refused_and_not_copied(program: Program):
    with FakeGemini(["one", "two"]) as server:
        async with connected_process(program, Editor(), server) as first:
            session = await new_session(first, program.root)
            await ask(first, session, "mine")
            async with connected_process(program, Editor(), server) as second:
                with pytest.raises(acp.RequestError, match="in use by another process"):
                    await second.load_session(cwd=str(program.root), session_id=session, mcp_servers=[])
                listed = await second.list_sessions(cwd=str(program.root))
            await ask(first, session, "still mine")
    assert [row.session_id for row in listed.sessions] == [session]


async def test_a_record_that_cannot_be_read_and_settings_that_cannot_be_understood_are_told(program: Program):
    kept = program.home / ".dogu" / "sessions" / "20260101-000000-000000-aaaa"
    kept.mkdir(parents=True)
    (kept / "session.json").write_text(json.dumps({"roots": [str(program.root)], "began": 1.0}))
    (kept / "record.jsonl").write_bytes(b"\xff\x00 garbage\n{}\n")
    with FakeGemini(["one"]) as server:
        async with connected(program, Editor(), server) as connection:
            listed = await connection.list_sessions()
            assert [row.session_id for row in listed.sessions] == [kept.name]
            (program.home / ".dogu" / "settings.json").write_text('{\n "tools": 17\n}')
            with pytest.raises(acp.RequestError, match=r"settings\.json"):
                await new_session(connection, program.root)
            (program.home / ".dogu" / "settings.json").unlink()
            assert await ask(connection, await new_session(connection, program.root), "hi") == "end_turn"


async def test_going_back_and_what_is_known_and_spent_are_commands_in_an_editor_too(program: Program):
    path = program.root / "a.txt"
    editor = Editor("allow-once")
    turns = [Turn(calls=[call("write_file", file_path=str(path), content="one\n")]), "done", "summed up"]
    with FakeGemini(turns) as server:
        async with connected(program, editor, server) as connection:
            session = await new_session(connection, program.root)
            await ask(connection, session, "write")
            for words, told in (
                ("/diff", "+one"),
                ("/stats", "tokens in"),
                ("/memory add I like tea", "Remembered"),
                ("/memory show", "I like tea"),
                ("/compact", "became a summary"),
                ("/rewind", "write"),
                ("/rewind 1", "before turn 1"),
            ):
                before = len(editor.said())
                assert await ask(connection, session, words) == "end_turn"
                assert told in editor.said()[before:], words
    assert not path.exists()


async def test_closing_a_session_ends_its_turn(program: Program):
    editor = Editor()
    with FakeGemini([Turn(text="well", hangs=True)]) as server:
        async with connected(program, editor, server) as connection:
            session = await new_session(connection, program.root)
            reasons: list[str] = []

            async def prompt() -> None:
                reasons.append(await ask(connection, session, "wait"))

            async with anyio.create_task_group() as group:
                group.start_soon(prompt)
                await editor.until(lambda: bool(server.requests))
                await connection.close_session(session_id=session)
    assert reasons == ["cancelled"]


async def test_pictures_links_and_embedded_texts_reach_the_model(program: Program):
    (program.root / "named file.txt").write_text("linked content")
    data = base64.b64encode(PICTURE).decode()
    prompt: list[Any] = [
        acp.text_block("Look: "),
        acp.image_block(data, "image/png"),
        acp.resource_link_block("named file.txt", (program.root / "named file.txt").as_uri()),
        schema.EmbeddedResourceContentBlock(
            type="resource",
            resource=schema.TextResourceContents(uri="file:///elsewhere/b.txt", text="embedded content"),
        ),
        schema.EmbeddedResourceContentBlock(
            type="resource", resource=schema.TextResourceContents(uri="file://[x", text="of an odd address")
        ),
    ]
    with FakeGemini(["seen"]) as server:
        async with connected(program, Editor(), server) as connection:
            session = await new_session(connection, program.root)
            await connection.prompt(session_id=session, prompt=prompt)
        parts = server.requests[0].contents[0]["parts"]
    text = "".join(part.get("text", "") for part in parts)
    assert "linked content" in text
    assert "--- /elsewhere/b.txt ---\nembedded content" in text
    assert "--- file://[x ---\nof an odd address" in text
    assert [part["inlineData"]["data"] for part in parts if "inlineData" in part] == [data]


async def test_more_folders_are_roots_too(program: Program):
    more = program.root.parent / "more"
    more.mkdir()
    (more / "a.txt").write_text("there")
    with FakeGemini([Turn(calls=[call("read_file", path=str(more / "a.txt"))]), "done"]) as server:
        async with connected(program, Editor(), server) as connection:
            session = await new_session(connection, program.root, additional_directories=[str(more)])
            await ask(connection, session, "read")
        assert server.requests[1].responses[0]["response"]["output"] == "there"


async def test_a_clients_mcp_server_is_connected_for_that_session(
    program: Program, tmp_path: Path, python_with_mcp: list[str]
):
    server_file = tmp_path / "server.py"
    server_file.write_text(
        "from mcp.server import MCPServer\nimport os\nserver = MCPServer('sums')\n"
        "@server.tool()\ndef add(a: int, b: int) -> str:\n    'Add.'\n    return f\"{a + b} {os.environ['MARK']}\"\n"
        "server.run()\n"
    )
    config = schema.McpServerStdio(
        name="sums",
        command=python_with_mcp[0],
        args=[*python_with_mcp[1:], str(server_file)],
        env=[schema.EnvVariable(name="MARK", value="$HOME")],
    )
    editor = Editor("allow-once")
    with FakeGemini([Turn(calls=[call("sums__add", a=2, b=3)]), "done"]) as server:
        async with connected(program, editor, server) as connection:
            session = await new_session(connection, program.root, mcp_servers=[config])
            with_tools = await new_session(connection, program.root)

            async def has_tool(session_id: str) -> bool:
                before = len(editor.said())
                await ask(connection, session_id, "/tools")
                return "sums__add" in editor.said()[before:]

            while not await has_tool(session):
                pass
            assert not await has_tool(with_tools)
            await ask(connection, session, "add")
        heard = server.requests[1].responses[0]["response"]
    assert "5 $HOME" in str(heard)


async def test_without_a_model_the_client_is_told_how_to_connect_one(program: Program):
    async with connected_process(program, Editor(), None) as connection:
        told = await connection.initialize(1)
        assert [method.id for method in told.auth_methods] == ["gemini-api-key"]
        with pytest.raises(acp.RequestError, match="GEMINI_API_KEY") as raised:
            await new_session(connection, program.root)
        assert raised.value.code == -32000
        with pytest.raises(acp.RequestError, match="GEMINI_API_KEY"):
            await connection.authenticate(method_id="gemini-api-key")
        with pytest.raises(acp.RequestError, match="no authentication method"):
            await connection.authenticate(method_id="magic")


async def test_failures_are_told_in_words(program: Program):
    with FakeGemini(["never asked"]) as server:
        async with connected(program, Editor(), server) as connection:
            for folder, words in (("relative", "must be absolute"), ("/no/such/folder", "no folder")):
                with pytest.raises(acp.RequestError, match=words):
                    await new_session(connection, folder)
            session = await new_session(connection, program.root)
            with pytest.raises(acp.RequestError, match="prompt is empty"):
                await ask(connection, session, "  ")
            with pytest.raises(acp.RequestError, match="no base64"):
                await connection.prompt(session_id=session, prompt=[acp.image_block("%%%", "image/png")])


@contextmanager
def started(program: Program, server: FakeGemini) -> Generator[subprocess.Popen[bytes]]:
    environ = program.environ(GEMINI_API_KEY="test-key", GOOGLE_GEMINI_BASE_URL=server.base_url)
    with subprocess.Popen(
        [*ready_program(), "acp", "--approval-mode", "yolo"],
        cwd=program.root,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        yield process


class Line:
    """Speaks lines to a process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._count = 0

    def raw(self, data: bytes) -> None:
        self._in.write(data)
        self._in.flush()

    def close(self) -> None:
        self._in.close()

    def rest(self) -> list[bytes]:
        return self._out.read().splitlines()

    def next(self) -> dict[str, Any]:
        return json.loads(self._out.readline())

    def start(self, method: str, **params: Any) -> int:
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self.raw(json.dumps(message).encode() + b"\n")
        return self._count

    def answer(self, number: int | None) -> dict[str, Any]:
        while (message := self.next()).get("id", "none") != number or "method" in message:
            pass
        return message

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return self.answer(self.start(method, **params))

    def session(self, root: Path) -> str:
        self.ask("initialize", protocolVersion=1, clientCapabilities={})
        return self.ask("session/new", cwd=str(root), mcpServers=[])["result"]["sessionId"]


GARBAGE = {
    b"garbage\n": -32700,
    b"\xff\xfe\n": -32700,
    b'{"jsonrpc": "2.0", "id": 7\n': -32700,
    b"[" * 100_000 + b"\n": -32700,
    b"[]\n": -32600,
    b"17\n": -32600,
    b"{}\n": -32600,
    b'{"jsonrpc":"2.0","id":{},"method":"initialize"}\n': -32600,
}


def test_malformed_lines_are_answered_and_the_next_message_is_read(program: Program):
    with FakeGemini(["hello"]) as server, started(program, server) as process:
        line = Line(process)
        for data, code in GARBAGE.items():
            line.raw(data)
            answer = line.next()
            assert (answer["id"], answer["error"]["code"]) == (None, code)
        line.raw(b'\n\n{"jsonrpc":"2.0","id":[],"result":{}}\n{"jsonrpc":"2.0","id":"x","error":"oh"}\n')
        line.raw(
            b'{"jsonrpc":"2.0","method":"session/cancel","params":17}\n{"jsonrpc":"2.0","method":"$/cancel_request"}\n'
        )
        early = line.ask("session/prompt", sessionId="x", prompt=[])
        assert "initialize comes first" in early["error"]["message"]
        session = line.session(program.root)
        assert line.ask("no/such_method")["error"]["code"] == -32601
        bad = line.ask("session/prompt", sessionId=session, prompt="text")
        assert bad["error"]["code"] == -32602
        assert "prompt" in bad["error"]["message"]
        good = line.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hi"}])
        assert good["result"]["stopReason"] == "end_turn"
        line.close()
        assert process.wait(20) == 0


def test_a_huge_message_is_read_whole(program: Program):
    text = "x" * (12 << 20)
    with FakeGemini(["hello"]) as server, started(program, server) as process:
        line = Line(process)
        session = line.session(program.root)
        answer = line.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])
        assert answer["result"]["stopReason"] == "end_turn"
        assert len(server.requests[0].prompt) == len(text)


def test_a_second_prompt_while_one_is_answered_is_refused_and_a_request_can_be_cancelled(program: Program):
    with FakeGemini([Turn(hangs=True)]) as server, started(program, server) as process:
        line = Line(process)
        session = line.session(program.root)
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]}
        first = line.start("session/prompt", **prompt)
        second = line.ask("session/prompt", **prompt)
        assert "still answering" in second["error"]["message"]
        line.raw(
            json.dumps({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": first}}).encode()
            + b"\n"
        )
        answer = line.answer(first)
        assert answer.get("error", {}).get("code") == -32800 or answer["result"]["stopReason"] == "cancelled"


@pytest.mark.parametrize("ending", ["eof", "SIGTERM", "SIGINT"])
def test_at_the_end_everything_is_ended_and_the_record_is_kept(program: Program, ending: str):
    command = "echo $$ > pid.new; mv pid.new pid; sleep 1000"
    turns = [Turn(calls=[call("run_shell_command", command=command)]), "x"]
    with FakeGemini(turns) as server, started(program, server) as process:
        line = Line(process)
        session = line.session(program.root)
        line.start("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "run it"}])
        deadline = time.monotonic() + 30
        while not (program.root / "pid").exists():
            assert time.monotonic() < deadline
            os.sched_yield()
        pid = int((program.root / "pid").read_text())
        if ending == "eof":
            line.close()
        else:
            process.send_signal(getattr(signal, ending))
        assert process.wait(20) == {"eof": 0, "SIGTERM": 143, "SIGINT": 130}[ending]
    assert not psutil.pid_exists(pid)
    record = program.home / ".dogu" / "sessions" / session / "record.jsonl"
    assert "run it" in record.read_text()


def test_only_the_protocol_reaches_standard_output(program: Program):
    turns = [Turn(calls=[call("run_shell_command", command="cat; echo out; echo err >&2")]), "x"]
    (program.root / "\udcff.txt").write_bytes(b"\xff\xfe\x00")
    turns.insert(1, Turn(calls=[call("list_directory", path=".")]))
    with FakeGemini(turns) as server, started(program, server) as process:
        line = Line(process)
        session = line.session(program.root)
        answer = line.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "run"}])
        assert answer["result"]["stopReason"] == "end_turn"
        line.close()
        for rest in line.rest():
            assert json.loads(rest)["jsonrpc"] == "2.0"
