"""The MCP door with the reference SDK's client at the other end: in this process, and as `dogu mcp` over each wire."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types
import pytest
from mcp import Client, MCPError, StdioServerParameters

from dogu.app import Options, open_runtime
from dogu.serve.mcp.asking import ElicitationConfirm, elicit_client
from dogu.serve.mcp.door import mcp_server
from dogu.serve.mcp.offers import Offers
from e2e.program import Program, ready_program

pytestmark = pytest.mark.anyio

ERAS = ["legacy", "2026-07-28"]
ASKING_SERVER = """
from pydantic import BaseModel
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("asking")

class Who(BaseModel):
    name: str

@server.tool()
async def greet(ctx: Context) -> str:
    answer = await ctx.elicit("Whom?", Who)
    return f"Hello {answer.data.name}!" if answer.action == "accept" else f"Hello? {answer.action}"

server.run()
"""
SLEEP = {"command": "echo $$ > pid; exec sleep 1000"}


class User:
    """Answers forms, and remembers what was asked."""

    def __init__(self, **content: str) -> None:
        self.content = content
        self.asked: list[mcp_types.ElicitRequestFormParams] = []

    async def __call__(self, context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        assert isinstance(params, mcp_types.ElicitRequestFormParams)
        self.asked.append(params)
        if not self.content:
            return mcp_types.ElicitResult(action="cancel")
        return mcp_types.ElicitResult(action="accept", content=dict(self.content))


@asynccontextmanager
async def connected(
    program: Program, *, mode: str = "legacy", user: User | None = None, approval_mode: str | None = None
) -> AsyncGenerator[Client]:
    """Serve the door in this process, over the SDK's transport in memory: a process a test costs a second each."""
    asking = ElicitationConfirm()
    with program.here(), anyio.fail_after(60):
        options = Options(root=str(program.root), approval_mode=approval_mode)
        async with (
            open_runtime(options, confirm=asking, elicit=elicit_client) as runtime,
            mcp_server(runtime, asking, Offers()) as server,
            Client(server, mode=mode, elicitation_callback=user) as client,
        ):
            yield client


@asynccontextmanager
async def connected_process(
    program: Program, *words: str, mode: str = "legacy", user: User | None = None
) -> AsyncGenerator[Client]:
    command, *args = ready_program()
    server = StdioServerParameters(
        command=command, args=[*args, "mcp", *words], env=program.environ(), cwd=program.root
    )
    with anyio.fail_after(60):
        async with Client(server, mode=mode, elicitation_callback=user) as client:
            yield client


def text_of(result: mcp_types.CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))


def failure_of(result: mcp_types.CallToolResult) -> str:
    assert result.is_error
    assert result.structured_content is None  # it would break the schema that the tool declares
    return (result.meta or {})["dogu/error"]["kind"]


@pytest.mark.parametrize("mode", ERAS)
async def test_every_tool_is_there_with_hints_of_what_it_does(program: Program, mode: str):
    shown = program.run("tools", "--declarations")
    async with connected(program, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert [*tools] == [declaration["name"] for declaration in json.loads(shown.stdout)]
    hints = {name: tool.annotations or mcp_types.ToolAnnotations() for name, tool in tools.items()}
    assert (hints["read_file"].read_only_hint, hints["read_file"].destructive_hint) == (True, False)
    assert (hints["replace"].read_only_hint, hints["replace"].destructive_hint) == (False, True)
    assert hints["run_shell_command"].open_world_hint is True
    assert tools["read_file"].title == "ReadFile"
    assert tools["read_file"].input_schema["type"] == "object"


@pytest.mark.parametrize("mode", ERAS)
async def test_a_file_is_read_and_a_picture_is_a_picture(program: Program, mode: str):
    (program.root / "a.txt").write_text("日本語\n")
    picture = bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
    )
    (program.root / "a.png").write_bytes(picture)
    async with connected_process(program, mode=mode) as client:
        assert "日本語" in text_of(await client.call_tool("read_file", {"path": "a.txt"}))
        blocks = (await client.call_tool("read_file", {"path": "a.png"})).content
    images = [block for block in blocks if isinstance(block, mcp_types.ImageContent)]
    assert [image.mime_type for image in images] == ["image/png"]


async def test_a_failure_is_a_result_that_the_model_reads_and_a_program_too(program: Program):
    async with connected(program) as client:
        missing = await client.call_tool("read_file", {"path": "no-such-file"})
        assert failure_of(missing) == "not_found"
        assert "no-such-file" in text_of(missing)
        assert failure_of(await client.call_tool("read_file", {"pth": "a"})) == "invalid_arguments"
        assert failure_of(await client.call_tool("no_such_tool", {})) == "unknown_tool"


async def test_without_elicitation_what_asks_is_refused_and_says_what_to_do(program: Program):
    async with connected(program) as client:
        refused = await client.call_tool("write_file", {"path": "a.txt", "content": "x"})
    assert failure_of(refused) == "nobody_to_ask"
    assert "--approval-mode" in text_of(refused)
    assert not (program.root / "a.txt").exists()


async def test_an_approval_mode_lets_it_be_done_without_a_user(program: Program):
    async with connected_process(program, "--approval-mode", "auto_edit") as client:
        written = await client.call_tool("write_file", {"path": "a.txt", "content": "x"})
    assert not written.is_error
    assert (program.root / "a.txt").read_text() == "x"


@pytest.mark.parametrize("mode", ERAS)
async def test_the_user_is_shown_the_change_and_says_yes(program: Program, mode: str):
    (program.root / "a.txt").write_text("old\n")
    user = User(answer="yes")
    async with connected(program, mode=mode, user=user) as client:
        changed = await client.call_tool("write_file", {"path": "a.txt", "content": "new\n"})
    assert not changed.is_error
    assert (program.root / "a.txt").read_text() == "new\n"
    assert len(user.asked) == 1
    assert "-old" in user.asked[0].message
    assert "+new" in user.asked[0].message


@pytest.mark.parametrize("mode", ERAS)
async def test_the_user_says_no_and_why(program: Program, mode: str):
    user = User(answer="no", reason="wrong file")
    async with connected(program, mode=mode, user=user) as client:
        declined = await client.call_tool("write_file", {"path": "a.txt", "content": "new\n"})
    assert failure_of(declined) == "declined"
    assert "wrong file" in text_of(declined)
    assert not (program.root / "a.txt").exists()


@pytest.mark.parametrize("content", [{}, {"answer": "perhaps"}, {"reason": "yes"}])
async def test_whatever_is_not_clearly_a_yes_is_a_no(program: Program, content: dict[str, str]):
    async with connected(program, user=User(**content)) as client:
        declined = await client.call_tool("write_file", {"path": "a.txt", "content": "new\n"})
    assert failure_of(declined) == "declined"


@pytest.mark.parametrize("mode", ERAS)
async def test_always_is_remembered_for_the_session(program: Program, mode: str):
    user = User(answer="always")
    async with connected(program, mode=mode, user=user) as client:
        for number in range(3):
            assert not (await client.call_tool("write_file", {"path": f"{number}.txt", "content": "x"})).is_error
    assert len(user.asked) == 1


async def test_an_answer_to_another_question_counts_for_nothing(program: Program):
    async with connected(program, mode="2026-07-28", user=User(answer="yes")) as client:
        arguments = {"path": "a.txt", "content": "harmless"}
        asked = await client.session.call_tool("write_file", arguments, allow_input_required=True)
        assert isinstance(asked, mcp_types.InputRequiredResult)
        yes: dict[str, mcp_types.InputResponse] = {
            "confirmation": mcp_types.ElicitResult(action="accept", content={"answer": "yes"})
        }
        with pytest.raises(MCPError, match="requestState"):
            await client.session.call_tool(
                "write_file",
                {"path": "a.txt", "content": "harmful"},
                input_responses=yes,
                request_state=asked.request_state,
                allow_input_required=True,
            )
        (program.root / "a.txt").write_text("changed meanwhile")
        stale = await client.session.call_tool(
            "write_file",
            arguments,
            input_responses=yes,
            request_state=asked.request_state,
            allow_input_required=True,
        )
        assert isinstance(stale, mcp_types.InputRequiredResult)
    assert (program.root / "a.txt").read_text() == "changed meanwhile"


@pytest.mark.parametrize("mode", ERAS)
async def test_output_is_told_while_the_command_runs(program: Program, mode: str):
    told = anyio.Event()

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        if "first" in (message or ""):
            (program.root / "go").write_text("")
            told.set()

    command = "echo first; until [ -e go ]; do sleep 0.02; done; echo last"
    async with connected_process(program, "--approval-mode", "yolo", mode=mode) as client:
        result = await client.call_tool("run_shell_command", {"command": command}, progress_callback=progress)
    assert told.is_set()
    assert "last" in text_of(result)


def written_pid(path: Path) -> int:
    return int(path.read_text().strip() or 0) if path.exists() else 0


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def pid_in(path: Path) -> int:
    for _ in range(2000):
        if pid := written_pid(path):
            return pid
        await anyio.sleep(0.01)
    raise TimeoutError(path)


async def gone(pid: int) -> bool:
    for _ in range(2000):
        if is_gone(pid):
            return True
        await anyio.sleep(0.01)
    return False


@pytest.mark.parametrize("mode", ERAS)
async def test_cancelling_a_call_ends_its_command_and_the_next_call_works(program: Program, mode: str):
    async with connected_process(program, "--approval-mode", "yolo", mode=mode) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "run_shell_command", SLEEP)
            assert await pid_in(program.root / "pid")
            group.cancel_scope.cancel()
        assert await gone(written_pid(program.root / "pid"))
        assert not (await client.call_tool("list_directory", {"path": "."})).is_error


def start(program: Program, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*ready_program(), "mcp", *words],
        cwd=program.root,
        env=program.environ(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_though_the_client_says_nothing(program: Program, number: int):
    with start(program) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(number)
        assert process.wait(20) in (130, 143)


async def test_a_client_that_goes_takes_its_commands_with_it(program: Program):
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "run_shell_command", "arguments": SLEEP},
    }
    with start(program, "--approval-mode", "yolo") as process:
        assert process.stdin is not None
        for message in (INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}, call):
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        pid = await pid_in(program.root / "pid")
        process.stdin.close()
        assert process.wait(20) == 0
        assert await gone(pid)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (b'{"path": "\\ud83d"}', "not_found"),
        (b'{"path": "' + b"\xff" + b'"}', "not_found"),
        (b'{"a": ' * 3000 + b"1" + b"}" * 3000, "-32600"),
        (b'{"path": ', "-32600"),
        (b"[NaN]", "-32602"),
    ],
    ids=["half a character", "no text", "deep", "cut", "no object"],
)
def test_a_call_that_the_sdk_can_t_read_is_answered_all_the_same(program: Program, arguments: bytes, told: str):
    call = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_file","arguments":%s}}' % arguments
    with start(program) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}):
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.write(call + b"\n")
        process.stdin.flush()
        answers = (json.loads(line) for line in process.stdout)
        answer = next(each for each in answers if each.get("id") == 7)
        process.stdin.close()
        assert process.wait(20) == 0
    assert told in json.dumps(answer)


def test_a_batch_and_a_line_that_begins_with_a_mark_of_its_encoding_are_answered(program: Program):
    pings = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in (2, 3, 4)]
    with start(program) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\xef\xbb\xbf" + json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.write(json.dumps(pings[:2]).encode() + b"\n[]\n" + json.dumps(pings[2]).encode() + b"\n")
        process.stdin.flush()
        answered: set[int] = set()
        while not answered >= {1, 2, 3, 4}:
            answered.add(json.loads(process.stdout.readline()).get("id"))
        process.stdin.close()
        assert process.wait(20) == 0


async def test_only_the_protocol_reaches_standard_output_and_garbage_is_survived(program: Program):
    calls = [
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "run_shell_command", "arguments": {"command": "cat; echo out; echo err >&2"}},
        },
    ]
    (program.root / "\udcff.txt").write_bytes(b"\xff\xfe\x00no text")
    listing = {"name": "list_directory", "arguments": {"path": "."}}
    with start(program, "--approval-mode", "yolo") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"garbage\n\xff\xfe\n{\n")
        answers: dict[Any, Any] = {}
        for call in [*calls, {"jsonrpc": "2.0", "id": "three", "method": "tools/call", "params": listing}]:
            process.stdin.write(json.dumps(call).encode() + b"\n")
            process.stdin.flush()
            while "id" in call and call["id"] not in answers:
                answer = json.loads(process.stdout.readline())
                answers[answer.get("id")] = answer
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(20) == 0
    assert "out" in answers[2]["result"]["content"][0]["text"]
    assert answers["three"]["result"]["isError"] is False


async def test_many_calls_at_once_are_each_answered(program: Program):
    for number in range(20):
        (program.root / f"{number}.txt").write_text(f"file {number}")
    async with connected_process(program, "--approval-mode", "yolo") as client, anyio.create_task_group() as group:

        async def read(number: int) -> None:
            assert f"file {number}" in text_of(await client.call_tool("read_file", {"path": f"{number}.txt"}))

        async def write(number: int) -> None:
            assert not (
                await client.call_tool("write_file", {"path": f"new-{number}.txt", "content": str(number)})
            ).is_error

        for number in range(20):
            group.start_soon(read, number)
            group.start_soon(write, number)
    assert {(program.root / f"new-{number}.txt").read_text() for number in range(20)} == {str(n) for n in range(20)}


@contextmanager
def over_http(program: Program, *words: str) -> Generator[str]:
    with start(program, "--http", "0", *words) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline().decode()
            found = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
            assert found is not None, line
            yield found[0]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


@pytest.fixture(scope="module")
def web(shared_program: Program) -> Iterator[str]:
    """The address of one server for the module."""
    with over_http(shared_program) as url:
        yield url


@pytest.mark.parametrize("mode", ERAS)
async def test_the_same_over_http(shared_program: Program, web: str, mode: str):
    program = shared_program
    (program.root / "a.txt").write_text("old\n")
    user = User(answer="yes")
    async with Client(web, mode=mode, elicitation_callback=user) as client:
        assert "old" in text_of(await client.call_tool("read_file", {"path": "a.txt"}))
        assert not (await client.call_tool("write_file", {"path": "a.txt", "content": "new\n"})).is_error
    assert (program.root / "a.txt").read_text() == "new\n"
    assert len(user.asked) == 1


def test_a_client_that_goes_in_the_midst_of_a_request_ends_the_server_quietly(program: Program):
    with start(program) as process:
        _, problems = process.communicate(json.dumps(INITIALIZE).encode()[:40], timeout=60)
    assert (process.returncode, problems) == (0, b"")


ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("before", "path", "told"),
    [(b"\xef\xbb\xbf", b"a.txt", "one"), (b"", b"\\udcff", "not_found"), (b"", b"\xff", "not_found")],
    ids=["a mark", "half a character", "no text"],
)
async def test_over_http_too_a_call_that_the_sdk_can_t_read_is_answered(
    shared_program: Program, web: str, before: bytes, path: bytes, told: str
):
    (shared_program.root / "a.txt").write_text("one\n")
    call = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"%s"}}}'
    async with httpx2.AsyncClient(headers=ACCEPT) as client:
        opened = await client.post(web, json=INITIALIZE)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        answer = await client.post(web, content=before + call % path, headers=session)
    assert told in answer.text


@pytest.mark.parametrize("message", ["[]", "7", "null", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    '{"jsonrpc":"2.0","id":true,"method":"ping"}', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}'])  # fmt: skip
async def test_over_http_what_is_no_message_is_refused_in_words(web: str, message: str):
    async with httpx2.AsyncClient(headers=ACCEPT) as client:
        answer = await client.post(web, content=message)
        stranger = await client.post(web, content=message, headers={"Origin": "http://evil.example"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)
    assert answer.json()["error"]["message"].startswith("A message is one JSON object")
    assert (stranger.status_code, stranger.text) == (403, "Requests of a web page of another origin are refused.\n")


async def test_over_http_a_file_of_megabytes_is_written_whole(program: Program):
    with over_http(program, "--approval-mode", "yolo", "--root", str(program.root)) as url:
        async with Client(url) as client:
            assert not (await client.call_tool("write_file", {"path": "a.txt", "content": "x" * 5_000_000})).is_error
    assert (program.root / "a.txt").stat().st_size == 5_000_000


def test_over_http_a_client_that_goes_in_the_midst_of_a_request_is_no_defect(program: Program):
    with start(program, "--http", "0") as process:
        assert process.stderr is not None
        found = re.search(rb":(\d+)/mcp", process.stderr.readline())
        assert found is not None
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", int(found[1]))) as line:
                head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n" % found[1]
                kinds = b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
                line.sendall(head + kinds + b"Content-Length: 999\r\n\r\n{")
                line.shutdown(socket.SHUT_WR)
                assert line.recv(10) == b""
        process.terminate()
        assert process.stderr.read() == b""


async def test_over_http_another_hosts_name_or_web_page_is_refused(web: str):

    async with httpx2.AsyncClient() as client:
        own = web.removesuffix("/mcp")
        foreign = ("http://evil.example", "http://localhost:3000", f"{own}.evil.example", f"{own}@evil.example", "null")
        secure = own.replace("http:", "https:")
        hosts = [{"Host": name} for name in ("evil.example", own.removeprefix("http://") + ".evil.example")]
        for headers in (*hosts, *({"Origin": origin} for origin in (*foreign, secure))):
            answer = await client.post(web, json=INITIALIZE, headers={**ACCEPT, **headers})
            assert answer.status_code in (403, 421), headers
        for origin in (own, own.replace("127.0.0.1", "localhost")):
            answer = await client.post(web, json=INITIALIZE, headers={**ACCEPT, "Origin": origin})
            assert answer.status_code == 200, origin


async def test_a_taken_port_is_told(program: Program, web: str):
    port = web.split(":")[2].split("/", maxsplit=1)[0]
    second = program.run("mcp", "--http", port)
    assert second.returncode == 54
    assert port.encode() in second.stderr


@pytest.mark.parametrize(("told", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_ends_a_server_over_http_by_its_own_status_and_without_a_traceback(
    program: Program, told: signal.Signals, status: int
):
    with start(program, "--http", "0") as process:
        assert process.stderr is not None
        assert b"/mcp" in process.stderr.readline()
        process.send_signal(told)
        assert process.wait(20) == status
        assert process.stderr.read() == b""


async def test_a_client_of_today_is_asked_for_its_roots_only_where_they_matter(web: str):
    """Of a tool that was never listed, and of a resource, whose address names its session, nothing is asked."""
    asked: list[object] = []

    async def roots(context: object) -> mcp_types.ListRootsResult:
        asked.append(context)
        return mcp_types.ListRootsResult(roots=[])

    with anyio.fail_after(60):
        async with Client(web, list_roots_callback=roots) as client:
            assert (await client.call_tool("no_such_tool", {})).is_error
            listed = (await client.list_resources()).resources
            assert (await client.read_resource(listed[0].uri)).contents
            with pytest.raises(MCPError):
                await client.read_resource("dogu://session/none/changes")
            assert asked == []
            await client.call_tool("list_directory", {"path": "."})
            assert len(asked) == 1


@pytest.mark.parametrize("mode", ERAS)
async def test_what_a_server_of_the_users_asks_is_asked_of_the_client_whose_call_runs(program: Program, mode: str):
    (program.root / "server.py").write_text(ASKING_SERVER)
    own = {"command": sys.executable, "args": [str(program.root / "server.py")], "trust": True}
    program.settle(json.dumps({"mcpServers": {"own": own}}))
    user = User(name="Ada")
    async with connected_process(program, mode=mode, user=user) as client:
        assert text_of(await client.call_tool("own__greet", {})) == "Hello Ada!"
    assert "Whom?" in user.asked[0].message
