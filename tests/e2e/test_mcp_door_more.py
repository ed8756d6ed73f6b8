"""`dogu mcp` as a process: the client's roots, the session's record, structured results, what an ended session leaves."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import psutil
import pytest
from mcp import Client, MCPError, StdioServerParameters

from conformance.peer import inspector_peers
from e2e.program import PROGRAM, Program, ready_program
from e2e.test_mcp_door import INITIALIZE, SLEEP, connected, gone, over_http, pid_in, text_of
from serve.mcp.test_tasks import TaskClient

pytestmark = pytest.mark.anyio

ERAS = ["legacy", "2026-07-28"]
LIMIT_S = 60


def server_of(program: Program, *words: str) -> StdioServerParameters:
    command, *args = ready_program()
    return StdioServerParameters(command=command, args=[*args, "mcp", *words], env=program.environ(), cwd=program.root)


class Roots:
    """A client's roots, and how often they were asked for."""

    def __init__(self, *folders: Path) -> None:
        self.folders = [*folders]
        self.asked = 0

    async def __call__(self, context: Any) -> mcp_types.ListRootsResult:
        self.asked += 1
        roots = [{"uri": folder.as_uri()} for folder in self.folders]
        return mcp_types.ListRootsResult.model_validate({"roots": roots})


def two_folders(program: Program) -> tuple[Path, Path]:
    folders = program.root.parent / "first place", program.root.parent / "second"
    for folder in folders:
        folder.mkdir()
        (folder / "name.txt").write_text(folder.name)
    return folders


async def read_name(client: Client) -> str:
    return text_of(await client.call_tool("read_file", {"path": "name.txt"}))


@pytest.mark.filterwarnings("ignore:The roots capability is deprecated")
async def test_the_clients_roots_are_the_workspace_and_change_with_it(program: Program):
    first, second = two_folders(program)
    roots = Roots(first)
    with anyio.fail_after(LIMIT_S):
        async with Client(server_of(program), mode="legacy", list_roots_callback=roots) as client:
            assert await read_name(client) == "first place"
            assert await read_name(client) == "first place"
            assert roots.asked == 1
            roots.folders = [second, first]
            await client.send_roots_list_changed()  # pyright: ignore[reportDeprecated]  (the handshake's way)
            assert await read_name(client) == "second"
            outside = await client.call_tool("read_file", {"path": str(program.root / "x")})
            assert outside.is_error
            inside = await client.call_tool("read_file", {"path": str(first / "name.txt")})
    assert text_of(inside) == "first place"


@pytest.mark.filterwarnings("ignore:The roots capability is deprecated")
async def test_the_roots_of_a_client_of_2026_are_asked_for_by_each_call_and_its_question_still_counts(
    program: Program,
):
    first, second = two_folders(program)
    roots = Roots(first)
    shown: list[str] = []

    async def say_yes(context: Any, params: Any) -> mcp_types.ElicitResult:
        shown.append(params.message)
        return mcp_types.ElicitResult(action="accept", content={"answer": "yes"})

    with anyio.fail_after(LIMIT_S):
        async with Client(
            server_of(program), mode="2026-07-28", list_roots_callback=roots, elicitation_callback=say_yes
        ) as client:
            assert await read_name(client) == "first place"
            roots.folders = [second]
            assert await read_name(client) == "second"
            written = await client.call_tool("write_file", {"path": "new.txt", "content": "new"})
            assert len((await client.list_tools()).tools) > 5
    assert not written.is_error, text_of(written)
    assert (second / "new.txt").read_text() == "new"
    assert "new.txt" in shown[0]
    assert (roots.asked, len(shown)) == (3, 1)


async def test_a_root_that_was_named_at_the_start_stands_above_the_clients(program: Program):
    first, _ = two_folders(program)
    (program.root / "name.txt").write_text("ours")
    roots = Roots(first)
    with anyio.fail_after(LIMIT_S):
        server = server_of(program, "--root", str(program.root))
        async with Client(server, mode="legacy", list_roots_callback=roots) as client:
            assert await read_name(client) == "ours"
    assert roots.asked == 0


async def test_a_root_with_bad_settings_costs_the_calls_there_and_says_so(program: Program):
    first, _ = two_folders(program)
    (first / ".dogu").mkdir()
    (first / ".dogu" / "settings.json").write_text('{"excludeTools": 17}')
    with anyio.fail_after(LIMIT_S):
        async with Client(server_of(program), mode="legacy", list_roots_callback=Roots(first)) as client:
            failed = await client.call_tool("read_file", {"path": "name.txt"})
            assert len((await client.list_tools()).tools) > 5
    assert failed.is_error
    assert "settings.json" in text_of(failed)


@pytest.mark.filterwarnings("ignore:The roots capability is deprecated")
async def test_no_roots_leave_the_present_folder_and_roots_that_are_none_no_folder(program: Program):
    (program.root / "name.txt").write_text("ours")
    roots = Roots()
    with anyio.fail_after(LIMIT_S):
        async with Client(server_of(program), mode="legacy", list_roots_callback=roots) as client:
            assert await read_name(client) == "ours"
            roots.folders = [Path("/no/such/folder")]
            await client.send_roots_list_changed()  # pyright: ignore[reportDeprecated]  (the handshake's way)
            refused = await client.call_tool("read_file", {"path": "name.txt"})
    assert refused.is_error
    assert "file:///no/such/folder" in text_of(refused)


def test_a_root_that_is_no_address_of_a_file_costs_only_itself(program: Program):
    first, _ = two_folders(program)
    roots = [{"uri": "vscode-vfs://github/x/y"}, {"uri": first.as_uri()}]
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "x", "version": "1"},
    }
    name = {"name": "read_file", "arguments": {"path": "name.txt"}}
    with subprocess.Popen(
        [*ready_program(), "mcp"],
        env=program.environ(),
        cwd=program.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def send(**message: Any) -> None:
            assert server.stdin is not None
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()

        send(id=1, method="initialize", params=params)
        send(method="notifications/initialized")
        send(id=2, method="tools/call", params=name)
        answer: dict[str, Any] = {}
        while answer.get("id") != 2 or "result" not in answer:
            answer = json.loads(server.stdout.readline())
            if answer.get("method") == "roots/list":
                send(id=answer["id"], result={"roots": roots})
        server.stdin.close()
    assert answer["result"]["content"][0]["text"] == "first place"


@pytest.mark.parametrize("mode", ERAS)
async def test_the_sessions_record_is_listed_and_read(program: Program, mode: str):
    (program.root / "big.txt").write_text("line\n" * 30_000)
    with anyio.fail_after(LIMIT_S):
        async with connected(program, approval_mode="yolo", mode=mode) as client:
            await client.call_tool("write_file", {"path": "made.txt", "content": "x"})
            await client.call_tool("run_shell_command", {"command": "cat big.txt"})
            listed = {each.name: each for each in (await client.list_resources()).resources}
            read: dict[str, str] = {}
            for name, resource in listed.items():
                [content] = (await client.read_resource(resource.uri)).contents
                assert isinstance(content, mcp_types.TextResourceContents)
                read[name] = content.text
            with pytest.raises(MCPError, match="no resource"):
                await client.read_resource("dogu://session/none/record")
            with pytest.raises(MCPError, match="no resource"):
                await client.read_resource("dogu://session/../../etc/passwd")
    assert re.fullmatch(r"dogu://session/[\w-]+/record", listed["record"].uri)
    assert "made.txt" in read["changes"]
    kinds = {json.loads(line)["kind"] for line in read["record"].splitlines() if line.startswith('{"')}
    assert "call_finished" in kinds or "call_finished" in read["record"]
    whole = next(text for name, text in read.items() if name.endswith(".txt"))
    assert whole.count("line\n") == 30_000


@pytest.mark.parametrize("mode", ERAS)
async def test_commands_and_changes_are_told_as_objects_beside_their_text(program: Program, mode: str):
    with anyio.fail_after(LIMIT_S):
        async with connected(program, approval_mode="yolo", mode=mode) as client:
            schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
            written = await client.call_tool("write_file", {"path": "a.txt", "content": "new\n"})
            ran = await client.call_tool("run_shell_command", {"command": "echo hello; exit 3"})
            failed = await client.call_tool("replace", {"file_path": "a.txt", "old_string": "x", "new_string": "y"})
            read = await client.call_tool("read_file", {"path": "a.txt"})
    assert schemas["write_file"] is not None
    assert schemas["read_file"] is None
    assert written.structured_content["path"] == "a.txt"
    assert "+new" in written.structured_content["diff"]
    assert ran.structured_content == {"result": text_of(ran), "exitCode": 3}
    assert (failed.is_error, failed.structured_content) == (True, None)
    assert (failed.meta or {})["dogu/error"]["kind"] == "invalid_arguments"
    assert read.structured_content is None


async def test_a_session_that_ends_over_http_takes_its_commands_with_it(program: Program):
    import httpx2

    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    params = {"name": "run_shell_command", "arguments": SLEEP}
    with over_http(program, "--approval-mode", "yolo") as url, anyio.fail_after(LIMIT_S):
        async with httpx2.AsyncClient() as client:
            begun = await client.post(url, json=INITIALIZE, headers=headers)
            headers["mcp-session-id"] = begun.headers["mcp-session-id"]
            await client.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)

            async def run() -> None:
                try:
                    await client.post(url, json={**call, "params": params}, headers=headers, timeout=50)
                except httpx2.HTTPError:
                    return  # the session went away under it

            async with anyio.create_task_group() as group:
                group.start_soon(run)
                pid = await pid_in(program.root / "pid")
                ended = await client.delete(url, headers=headers)
                assert ended.is_success
                assert await gone(pid)
                group.cancel_scope.cancel()
            after = await client.post(url, json={**call, "params": params}, headers=headers)
            assert after.status_code == 404


def listeners(port: int) -> list[str]:
    """The addresses that something listens at, at this port."""
    found = (each for child in psutil.Process().children(recursive=True) for each in child.net_connections("tcp"))
    return [str(each.laddr[0]) for each in found if each.status == psutil.CONN_LISTEN and each.laddr[1] == port]


async def test_only_this_machine_can_connect_over_http(program: Program):
    with over_http(program) as url:
        port = int(url.split(":")[2].split("/")[0])
        assert listeners(port) == ["127.0.0.1"]


@pytest.mark.conformance
@pytest.mark.timeout(180)
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_inspector_lists_and_calls(program: Program, transport: str):
    inspector = [*inspector_peers().inspector, "--cli"]
    (program.root / "a.txt").write_text("inspected")

    async def inspect(target: list[str], *words: str) -> dict[str, Any]:
        done = await anyio.run_process([*inspector, *target, *words], env=program.environ(), cwd=program.root)
        return json.loads(done.stdout)

    async def check(target: list[str]) -> None:
        listed = await inspect(target, "--method", "tools/list")
        assert "read_file" in [tool["name"] for tool in listed["tools"]]
        arguments = ["--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=a.txt"]
        assert (await inspect(target, *arguments))["content"][0]["text"] == "inspected"
        resources = await inspect(target, "--method", "resources/list")
        assert "changes" in [resource["name"] for resource in resources["resources"]]

    if transport == "stdio":
        await check([*PROGRAM, "mcp"])
    else:
        with over_http(program) as url:
            await check([url, "--transport", "http"])


def piped(program: Program, *messages: dict[str, Any], words: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """What `printf ... | dogu mcp` answers: the input has ended before there is an answer."""
    lines = "".join(f"{json.dumps(message)}\n" for message in messages)
    done = program.run("mcp", "--approval-mode", "yolo", *words, stdin=lines.encode())
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line) for line in done.stdout.splitlines()]


def calling(tool: str, **arguments: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def test_requests_that_are_piped_in_are_answered_and_one_that_lasts_is_ended(program: Program):
    (program.root / "a.txt").write_text("alpha\n")
    _, answer = piped(program, INITIALIZE, calling("read_file", path="a.txt"))
    assert answer["result"]["content"] == [{"type": "text", "text": "alpha\n"}]
    _, answer = piped(program, INITIALIZE, calling("run_shell_command", command="sleep 600"))
    assert answer["error"]["message"] == "Connection closed"


def test_what_is_wrong_with_a_request_is_said(program: Program):
    (early,) = piped(program, calling("read_file", path="a.txt"))
    assert early["error"]["message"] == "tools/call: initialize comes first."
    (nameless,) = piped(program, {**INITIALIZE, "params": {**INITIALIZE["params"], "clientInfo": {"name": "x"}}})
    assert nameless["error"]["message"] == "initialize: params.clientInfo.version: Field required"


@pytest.mark.parametrize("wrong", [1.5, None, True, [1]])
def test_an_id_that_is_none_is_refused(program: Program, wrong: object):
    answers = piped(program, INITIALIZE, {"jsonrpc": "2.0", "id": wrong, "method": "ping"})
    assert [each["error"]["code"] for each in answers if each["id"] is None] == [-32600]


def test_a_null_where_no_progress_is_wanted_is_none(program: Program):
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": {"progressToken": None}}}
    _, answer = piped(program, INITIALIZE, request)
    assert answer["result"]["tools"]


async def test_a_call_becomes_a_task_as_soon_as_the_command_line_says(program: Program):
    (program.root / "name.txt").write_text("a name")
    tasks = TaskClient()
    with anyio.fail_after(LIMIT_S):
        async with Client(server_of(program, "--task-after", "0"), mode="2026-07-28", extensions=[tasks]) as client:
            assert await read_name(client) == "a name"
    assert tasks.seen[-1].status == "completed"


def test_a_cursor_that_was_never_given_is_refused(program: Program):
    lists = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
    asked = [
        {"jsonrpc": "2.0", "id": number, "method": name, "params": {"cursor": "7"}}
        for number, name in enumerate(lists, 20)
    ]
    answers = [answer for answer in piped(program, INITIALIZE, *asked) if answer["id"] >= 20]
    assert [answer["error"]["code"] for answer in answers] == [mcp_types.INVALID_PARAMS] * 4


def test_what_the_page_s_file_offers_is_served(program: Program):
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
    (block,) = [
        each for each in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if "def offer" in each
    ]
    (program.root / "team.py").write_text(block)
    read = {"jsonrpc": "2.0", "id": 8, "method": "resources/read", "params": {"uri": "team://rules"}}
    answers = piped(program, INITIALIZE, calling("greet", name="you"), read, words=("--with", "team.py"))
    found = {answer["id"]: answer["result"] for answer in answers}
    assert found[7]["content"] == [{"type": "text", "text": "Hello you!"}]
    assert found[8]["contents"][0]["text"] == "Be brief."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("x = (", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("", "offer("),
        ("offer = 1", "offer("),
        ("def offer(): ...", "TypeError"),
        ("def offer(runtime): runtime.registry.get('nope')", "nope"),
        ("def offer(runtime): return 1", "int, not Offers"),
    ],
)
def test_a_file_that_offers_nothing_is_told(program: Program, text: str | None, why: str):
    if text is not None:
        (program.root / "team.py").write_text(text)
    done = program.run("mcp", "--with", "team.py")
    assert (done.returncode, done.stderr.count(b"\n")) == (54, 1)
    assert why in done.stderr.decode()
