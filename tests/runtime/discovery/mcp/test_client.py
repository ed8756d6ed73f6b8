"""MCP servers as sources of tools: real ones made with the reference SDK, over each transport."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

import dogu
from dogu.contract import Blob, ErrorKind, Text, ToolResult
from dogu.runtime.discovery.mcp.entries import ServerEntry, read_entries, valid_alias
from dogu.runtime.discovery.mcp.host import Host
from dogu.runtime.discovery.mcp.servers import mcp_tools
from dogu.runtime.discovery.mcp.tool import tool_name
from dogu.runtime.questions import Approved, ApprovedAlways, Confirm, Outcome, Question
from dogu.runtime.runtime import Runtime
from processes import shared_fork_server

pytestmark = pytest.mark.anyio

REAL_SERVER = '''
import asyncio, base64, os, sys
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
import mcp_types as types

server = MCPServer("real", version="1")

@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=b"png bytes", format="png")

@server.tool()
def variable(name: str) -> str:
    """A variable of the environment."""
    return str(os.environ.get(name))

@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("no such luck")

@server.tool()
async def steps(ctx: Context) -> str:
    """Tell progress."""
    for number in range(3):
        await ctx.report_progress(number, 3, f"step {number}")
        await asyncio.sleep(0.1)
    return "done"

@server.tool()
async def hang(path: str) -> str:
    """Hang until cancelled."""
    try:
        open(path, "w").write("begun")
        await asyncio.sleep(1000)
    except asyncio.CancelledError:
        open(path, "w").write("cancelled")
        raise

@server.tool(structured_output=False)
def blocks() -> list[types.ContentBlock]:
    """Many kinds."""
    data = base64.b64encode(b"sound").decode()
    return [
        types.TextContent(text="a text"),
        types.AudioContent(data=data, mime_type="audio/wav"),
        types.EmbeddedResource(resource=types.TextResourceContents(uri="file:///a.txt", text="embedded")),
        types.EmbeddedResource(resource=types.BlobResourceContents(uri="file:///b", blob=data, mime_type="a/b")),
        types.ResourceLink(uri="https://example.org/", name="a link"),
    ]

transport = sys.argv[1] if len(sys.argv) > 1 else "stdio"
if transport == "stdio":
    server.run("stdio")
else:
    import socket, uvicorn
    app = server.sse_app() if transport == "sse" else server.streamable_http_app()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(sys.argv[2])))
    listener.listen()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
'''


@pytest.fixture
def script(tmp_path: Path, python_with_mcp: list[str]) -> list[str]:
    """The command line of the server."""
    path = tmp_path / "real_server.py"
    path.write_text(REAL_SERVER)
    return [*python_with_mcp, str(path)]


def by_itself(script: list[str]) -> list[str]:
    """Return the command line that starts the same with nothing loaded before."""
    return [sys.executable, script[-1]]


@asynccontextmanager
async def opened(
    tmp_path: Path, servers: Mapping[str, Any], confirm: Confirm | None = None, mode: str = "yolo", wait_s: float = 30
) -> AsyncGenerator[Runtime]:
    """Open a runtime over an empty folder, with these servers."""
    (tmp_path / "root").mkdir(exist_ok=True)
    options = dogu.Options(
        root=str(tmp_path / "root"), home=str(tmp_path / "home"), approval_mode=mode, fork_server=shared_fork_server()
    )
    entries, problems = read_entries(servers)
    assert problems == []
    with anyio.fail_after(60):
        async with dogu.open_runtime(options, confirm=confirm) as runtime:
            environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
            host = Host(
                runtime.roots, lambda: environment, runtime.executor.approval.elicit, fork_server=options.fork_server
            )
            async with mcp_tools(entries, runtime, host, wait_s=wait_s):
                yield runtime


def stdio(script: list[str], **more: Any) -> dict[str, Any]:
    return {"command": script[0], "args": script[1:], **more}


@contextmanager
def process_over_http(
    script: list[str], transport: str, port: str = "0"
) -> Generator[tuple[subprocess.Popen[str], str]]:
    command = [*script, transport, port]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@contextmanager
def over_http(script: list[str], transport: str) -> Generator[str]:
    with process_over_http(script, transport) as (_, address):
        yield address


async def result_of(runtime: Runtime, name: str, /, **args: Any) -> ToolResult:
    return (await runtime.call(name, args)).result


@pytest.mark.requirement("api.custom.mcp_tools")
@pytest.mark.requirement("api.custom.mcp_prefix")
async def test_a_server_s_tools_are_there_under_its_name_and_work(tmp_path: Path, script: list[str]):
    async with opened(tmp_path, {"real": stdio(by_itself(script))}) as runtime:
        names = [tool.name for tool in runtime.registry if "__" in tool.name]
        assert names[:2] == ["real__add", "real__picture"]
        declaration = runtime.registry.get("real__add").declaration
        assert declaration.description == "Add two numbers."
        assert declaration.parameters["required"] == ["a", "b"]
        assert (await result_of(runtime, "real__add", a=2, b=3)).llm_content == "5"
        picture = (await result_of(runtime, "real__picture")).llm_content
        assert picture == [Blob("image/png", b"png bytes")]
        assert runtime.notes == ()


async def test_every_kind_of_block_reaches_the_model(tmp_path: Path, script: list[str]):
    async with opened(tmp_path, {"real": stdio(script)}) as runtime:
        parts = (await result_of(runtime, "real__blocks")).llm_content
    assert parts == [
        Text("a text"),
        Blob("audio/wav", b"sound"),
        Text("[file:///a.txt]\nembedded"),
        Blob("a/b", b"sound", "file:///b"),
        Text("[Link to https://example.org/: a link]"),
    ]


@pytest.mark.parametrize(
    ("transport", "key", "path"), [("http", "httpUrl", "/mcp"), ("http", "url", "/mcp"), ("sse", "url", "/sse")]
)
async def test_servers_over_http_work_as_well(tmp_path: Path, script: list[str], transport: str, key: str, path: str):
    with over_http(script, transport) as address:
        async with opened(tmp_path, {"far": {key: address + path}}) as runtime:
            assert runtime.notes == ()
            assert (await result_of(runtime, "far__add", a=2, b=3)).llm_content == "5"


async def test_a_failure_said_by_the_server_is_a_failure(tmp_path: Path, script: list[str]):
    async with opened(tmp_path, {"real": stdio(script)}) as runtime:
        result = await result_of(runtime, "real__fail")
    assert result.error is not None
    assert result.error.kind is ErrorKind.REMOTE_FAILED
    assert "no such luck" in result.error.message


async def test_arguments_are_checked_before_the_server_sees_them(tmp_path: Path, script: list[str]):
    async with opened(tmp_path, {"real": stdio(script)}) as runtime:
        result = await result_of(runtime, "real__add", a="two", b=3)
    assert result.error is not None
    assert result.error.kind is ErrorKind.INVALID_ARGUMENTS


async def test_a_server_sees_a_clean_environment_and_what_its_entry_names(
    tmp_path: Path, script: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GEMINI_API_KEY", "secret")
    async with opened(tmp_path, {"real": stdio(by_itself(script), env={"MINE": 5})}) as runtime:
        assert (await result_of(runtime, "real__variable", name="GEMINI_API_KEY")).llm_content == "None"
        assert (await result_of(runtime, "real__variable", name="MINE")).llm_content == "5"


async def test_progress_is_shown_while_it_comes(tmp_path: Path, script: list[str]):
    told: list[str] = []

    def emit(event: object) -> None:
        if isinstance(event, dogu.CallOutput):
            told.append(event.text)

    async with opened(tmp_path, {"real": stdio(script)}) as runtime:
        assert (await runtime.call("real__steps", emit=emit)).result.llm_content == "done"
    assert told[0] == "step 0\n"


def says(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


async def wait_for(path: Path, text: str) -> None:
    for _ in range(2000):
        if says(path, text):
            return
        await anyio.sleep(0.01)
    raise TimeoutError(path)


async def test_cancellation_reaches_the_server_which_lives_on(tmp_path: Path, script: list[str]):
    mark = tmp_path / "mark"
    async with opened(tmp_path, {"real": stdio(script)}) as runtime:
        async with anyio.create_task_group() as group:

            async def hang() -> None:
                await result_of(runtime, "real__hang", path=str(mark))

            group.start_soon(hang)
            await wait_for(mark, "begun")
            group.cancel_scope.cancel()
        await wait_for(mark, "cancelled")
        assert (await result_of(runtime, "real__add", a=1, b=1)).llm_content == "2"


async def test_a_call_past_its_time_limit_is_told_and_cancelled(tmp_path: Path, script: list[str]):
    mark = tmp_path / "mark"
    async with opened(tmp_path, {"real": stdio(script, timeout=500)}) as runtime:
        result = await result_of(runtime, "real__hang", path=str(mark))
        assert result.error is not None
        assert result.error.kind is ErrorKind.TIMED_OUT
        assert "MCP server real" in result.error.message
        await wait_for(mark, "cancelled")


async def test_a_call_asks_and_shows_what_is_sent_unless_the_server_is_trusted(tmp_path: Path, script: list[str]):
    asked: list[Question] = []

    async def confirm(question: Question) -> Outcome:
        asked.append(question)
        return Approved()

    servers = {"real": stdio(script), "sure": stdio(script, trust=True)}
    async with opened(tmp_path, servers, confirm, mode="default") as runtime:
        assert (await result_of(runtime, "sure__add", a=2, b=3)).llm_content == "5"
        assert asked == []
        assert (await result_of(runtime, "real__add", a=2, b=3)).llm_content == "5"
    assert len(asked) == 1
    assert "MCP server `real`" in str(asked[0].confirmation.display)
    assert '"a": 2' in str(asked[0].confirmation.display)


async def test_always_holds_for_that_tool_alone(tmp_path: Path, script: list[str]):
    asked: list[str] = []

    async def confirm(question: Question) -> Outcome:
        asked.append(question.call.name)
        return ApprovedAlways()

    async with opened(tmp_path, {"real": stdio(script)}, confirm, mode="default") as runtime:
        for _ in range(2):
            await result_of(runtime, "real__add", a=2, b=3)
            await result_of(runtime, "real__picture")
    assert asked == ["real__add", "real__picture"]


async def test_only_the_tools_the_entry_lets_in_are_there(tmp_path: Path, script: list[str]):
    servers = {
        "one": stdio(script, includeTools=["add", "fail"], excludeTools=["fail"]),
        "two": stdio(script, excludeTools=["add"]),
    }
    async with opened(tmp_path, servers) as runtime:
        names = {tool.name for tool in runtime.registry}
    assert {name for name in names if name.startswith("one__")} == {"one__add"}
    assert "two__add" not in names
    assert "two__picture" in names


async def test_nothing_waits_for_a_slow_server_and_its_tools_come_later(tmp_path: Path, script: list[str]):
    slow = tmp_path / "slow.py"
    slow.write_text(
        f"import os, sys, time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)\n" + REAL_SERVER
    )
    servers = {"slow": stdio([*script[:-1], str(slow)]), "real": stdio(script)}
    async with opened(tmp_path, servers, wait_s=8) as runtime:
        assert "real__add" in runtime.registry
        assert "slow__add" not in runtime.registry
        assert "Still starting" in runtime.notes[0]
        assert "slow" in runtime.notes[0]
        (tmp_path / "go").write_text("")
        for _ in range(2000):
            if "slow__add" in runtime.registry:
                break
            await anyio.sleep(0.01)
        names = [tool.name for tool in runtime.registry]
        assert names.index("slow__add") < names.index("real__add")  # the settings' order, not that of the answers


@pytest.mark.parametrize(("transport", "path"), [("http", "/mcp"), ("sse", "/sse")])
async def test_a_far_server_that_dies_in_a_call_fails_it_at_once_and_is_met_again(
    tmp_path: Path, script: list[str], transport: str, path: str
):
    mark = tmp_path / "mark"
    script = by_itself(script)  # it must be gone, with its port, as soon as it is killed
    with process_over_http(script, transport) as (process, address):
        async with opened(tmp_path, {"far": {"url": address + path}}) as runtime:
            results: list[ToolResult] = []

            async def hang() -> None:
                results.append(await result_of(runtime, "far__hang", path=str(mark)))

            async with anyio.create_task_group() as group:
                group.start_soon(hang)
                await wait_for(mark, "begun")
                process.kill()
            assert results[0].error is not None
            assert results[0].error.kind is ErrorKind.REMOTE_FAILED
            assert "MCP server far" in results[0].error.message
            with process_over_http(script, transport, address.rpartition(":")[2]):
                await result_of(runtime, "far__add", a=2, b=3)  # may still find out that the session is gone
                assert (await result_of(runtime, "far__add", a=2, b=3)).llm_content == "5"


async def test_an_error_of_the_caller_s_own_comes_out_as_it_was(tmp_path: Path, script: list[str]):
    with pytest.raises(KeyError, match="mine"):
        async with opened(tmp_path, {"real": stdio(script)}):
            raise KeyError("mine")


@pytest.mark.requirement("api.registry.mcp")
@pytest.mark.requirement("api.custom.mcp_setting")
async def test_the_settings_start_servers(tmp_path: Path, script: list[str]):
    home = tmp_path / "home"
    (home / ".dogu").mkdir(parents=True)
    settings = {"mcpServers": {"real": stdio(script), "bad": {"url": "x", "command": "y"}}}
    (home / ".dogu" / "settings.json").write_text(json.dumps(settings))
    (tmp_path / "root").mkdir()
    options = dogu.Options(root=str(tmp_path / "root"), home=str(home), approval_mode="yolo")
    async with dogu.open_runtime(options) as runtime:
        assert (await result_of(runtime, "real__add", a=2, b=3)).llm_content == "5"
        assert "bad" in runtime.notes[0]
        assert "command and url" in runtime.notes[0]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({}, "it has none"),
        ({"command": "a", "url": "http://b"}, "command and url"),
        ({"command": 5}, "command"),
        ({"command": "a", "args": "b"}, "args"),
        ({"command": "a", "timeout": 0}, "timeout"),
        ({"command": "a", "env": {"A": "\0"}}, "NUL"),
        ({"url": "ftp://a"}, "isn't an http"),
    ],
)
def test_a_bad_entry_is_told_and_costs_only_itself(row: dict[str, Any], told: str):
    entries, problems = read_entries({"bad": row, "good": {"command": "c"}})
    assert [entry.alias for entry in entries] == ["good"]
    assert "'bad'" in problems[0]
    assert told in problems[0]


@pytest.mark.requirement("api.registry.mcp")
def test_the_server_command_is_one_more_server_and_lists_hold():
    entries, _ = read_entries({"a": {"command": "a"}, "b": {"command": "b"}}, "python 'my server.py'", None, ["b"])
    assert entries == [ServerEntry("a", command="a"), ServerEntry("mcp", command="python", args=("my server.py",))]
    entries, _ = read_entries({"a": {"command": "a"}, "b": {"command": "b"}}, "", ["b"])
    assert [entry.alias for entry in entries] == ["b"]


def test_aliases_that_become_one_are_told():
    entries, problems = read_entries({"a b": {"command": "c"}, "a_b": {"command": "c"}})
    assert [entry.alias for entry in entries] == ["a_b"]
    assert "already" in problems[0]


@pytest.mark.parametrize("alias", ["a", "a__b", "a_", "9", "-x", "日本", "a b", "x" * 300, "_"])
@pytest.mark.parametrize("name", ["t", "_t", "__", "日本語 tool", "y" * 300, "a.b/c"])
def test_names_are_valid_and_say_whose_they_are(alias: str, name: str):
    plain = valid_alias(alias)
    if not plain:
        return
    named = tool_name(plain, name)
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", named)
    assert named.startswith(f"{plain}__")
    assert "__" not in plain
    assert not plain.endswith("_")


def test_servers_in_other_letters_have_names_of_their_own():
    entries, problems = read_entries({alias: {"command": "x"} for alias in ("日本", "한국", "_", "é")})
    assert len({entry.alias for entry in entries}) == 3
    assert all(entry.alias.startswith("server_") for entry in entries)
    assert len(problems) == 1


def test_long_names_stay_apart():
    assert tool_name("a", "x" * 300 + "1") != tool_name("a", "x" * 300 + "2")


def test_declarations_can_be_sent(tmp_path: Path, script: list[str]):
    async def look() -> bytes:
        async with opened(tmp_path, {"real": stdio(script)}) as runtime:
            return msgspec.json.encode(runtime.registry.declarations)

    assert b"real__add" in anyio.run(look)
