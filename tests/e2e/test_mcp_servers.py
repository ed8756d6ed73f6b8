"""MCP servers of the settings, used by the program as a process."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import mcp_types
import pytest
from mcp import Client, StdioServerParameters

import hostile_mcp
from dogu.testing.fake_gemini import FakeGemini
from e2e.program import PROGRAM, Program
from runtime.discovery.authorization import authorization

SERVER = '''
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("sums")

@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

server.run("stdio")
'''


@pytest.fixture
def sums(tmp_path: Path, python_with_mcp: list[str]) -> list[str]:
    """The command line of a server."""
    (tmp_path / "server.py").write_text(SERVER)
    return [*python_with_mcp, str(tmp_path / "server.py")]


def test_a_servers_tools_are_listed_by_a_command(program: Program, settings: dict[str, Any]):
    shown = program.run("-p", "/mcp sums", "--model", "offline").stdout.decode()
    assert shown == "sums: running; tools: 1, prompts: 0, resources: 0\n  sums__add  Add two numbers.\n"


@pytest.fixture
def settings(program: Program, sums: list[str]) -> dict[str, Any]:
    found = {"mcpServers": {"sums": {"command": sums[0], "args": sums[1:]}}}
    write_settings(program.home, found)
    return found


def write_settings(folder: Path, settings: dict[str, Any]) -> None:
    (folder / ".dogu").mkdir(exist_ok=True)
    (folder / ".dogu" / "settings.json").write_text(json.dumps(settings))


@pytest.mark.requirement("api.custom.mcp_setting")
@pytest.mark.requirement("api.custom.mcp_tools")
@pytest.mark.requirement("api.custom.mcp_prefix")
def test_a_server_s_tool_can_be_listed_and_called(program: Program, settings: dict[str, Any]):
    settings["mcpServers"]["more"] = settings["mcpServers"]["sums"]
    write_settings(program.home, settings)
    listed = program.run("tools").stdout
    assert b"sums__add" in listed
    assert b"more__add" in listed
    done = program.run("call", "--approval-mode", "yolo", "sums__add", "a=2", "b=3")
    assert (done.returncode, done.stdout) == (0, b"5\n")


@pytest.mark.requirement("api.registry.mcp")
def test_the_server_command_is_one_more_server(program: Program, settings: dict[str, Any], tmp_path: Path):
    settings["mcp"] = {"serverCommand": f"{sys.executable} {tmp_path / 'server.py'}"}
    write_settings(program.home, settings)
    listed = program.run("tools").stdout
    assert b"mcp__add" in listed
    assert b"sums__add" in listed


def test_a_server_that_can_t_start_is_told_on_standard_error_and_costs_nothing_else(
    program: Program, settings: dict[str, Any]
):
    settings["mcpServers"]["gone"] = {"command": "no-such-program-anywhere"}
    write_settings(program.home, settings)
    done = program.run("call", "list_directory", "path=.")
    assert done.returncode == 0
    assert b"MCP server gone" in done.stderr
    assert b"no-such-program-anywhere" in done.stderr


LATE_PROMPTS = '''
import time
from mcp.server.mcpserver import MCPServer
server = MCPServer("late")

@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}."

@server.resource("text://{name}")
def text(name: str) -> str:
    """A text."""
    return f"the text {name}"

list_prompts = server.list_prompts

async def late_prompts():
    time.sleep(1)
    return await list_prompts()

server.list_prompts = late_prompts
server.run("stdio")
'''


def test_a_prompt_that_its_server_lists_late_is_waited_for(
    program: Program, tmp_path: Path, python_with_mcp: list[str]
):
    (tmp_path / "late.py").write_text(LATE_PROMPTS)
    late = {"command": python_with_mcp[0], "args": [*python_with_mcp[1:], str(tmp_path / "late.py")]}
    write_settings(program.home, {"mcpServers": {"late": late}})
    with FakeGemini(["Hello, Ada."]) as server:
        environ = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        done = program.run("-p", "/late:greet name=Ada", environ=environ)
        assert (done.returncode, done.stdout) == (0, b"Hello, Ada.\n")
        for prompt, told in (("/late:greet", b"needs name"), ("/late:great", b"did you mean /late:greet?")):
            done = program.run("-p", prompt, environ=environ)
            assert (done.returncode, done.stdout) == (42, b"")
            assert told in done.stderr
        [request] = server.requests
    assert "Say hello to Ada." in json.dumps(request.contents)
    assert "@late:text://{name}" in servers_of(program)["late"]["resources"]


def test_what_a_server_asked_of_nobody_is_told_after_the_call(program: Program, tmp_path: Path):
    late = {"command": sys.executable, "args": [hostile_mcp.__file__, "bad-address", str(tmp_path)], "trust": True}
    write_settings(program.home, {"mcpServers": {"asks": late}})
    done = program.run("call", "asks__echo")
    assert (done.returncode, done.stdout) == (0, b"answered\n")
    assert b"MCP server asks: it asked to open 'file:///etc/passwd', which isn't a web address: declined" in done.stderr


def test_dogu_is_no_server_of_its_own_however_the_settings_start_it(program: Program) -> None:
    """Other programs' settings, which are read too, name it: it would start itself, and that one itself."""
    (program.home / ".gemini").mkdir()
    wrapped = {"command": "sh", "args": ["-c", shlex.join(["exec", *PROGRAM, "mcp"])], "trust": True}
    servers = {"dogu": {"command": "dogu", "args": ["mcp"]}, "wrapped": wrapped}
    (program.home / ".gemini" / "settings.json").write_text(json.dumps({"mcpServers": servers}))
    (program.root / "a.txt").write_text("one\n")
    called = program.run("call", "wrapped__read_file", "path=a.txt")
    assert called.stdout.decode() == "one\n"
    assert "MCP server 'dogu' was left out: it is dogu itself, in this folder." in called.stderr.decode()
    assert "wrapped" not in called.stderr.decode(), "it has no servers of its own"


def test_without_a_user_its_call_is_refused(program: Program, settings: dict[str, Any]):
    assert program.run("call", "sums__add", "a=2", "b=3").returncode == 56


def test_trust_lets_it_run_and_plan_mode_doesn_t(program: Program, settings: dict[str, Any]):
    settings["mcpServers"]["sums"]["trust"] = True
    write_settings(program.home, settings)
    assert program.run("call", "sums__add", "a=2", "b=3").stdout == b"5\n"
    assert program.run("call", "--approval-mode", "plan", "sums__add", "a=2", "b=3").returncode == 56


def test_a_folder_s_servers_wait_until_it_is_trusted(program: Program, settings: dict[str, Any]):
    write_settings(program.root, settings)
    write_settings(program.home, {})
    assert b"sums__add" not in program.run("tools").stdout


@pytest.mark.anyio
async def test_the_door_hands_them_on(program: Program, settings: dict[str, Any]):
    command = StdioServerParameters(
        command=PROGRAM[0],
        args=[*PROGRAM[1:], "mcp", "--approval-mode", "yolo"],
        env=program.environ(),
        cwd=program.root,
    )
    async with Client(command) as client:
        assert "sums__add" in [tool.name for tool in (await client.list_tools()).tools]
        block = (await client.call_tool("sums__add", {"a": 2, "b": 3})).content[0]
    assert isinstance(block, mcp_types.TextContent)
    assert block.text == "5"


def servers_of(program: Program, *words: str) -> dict[str, Any]:
    """Run `dogu mcp-servers ... --json` and return the servers by alias."""
    done = program.run("mcp-servers", *words, "--json")
    return {server["alias"]: server for server in json.loads(done.stdout)["servers"]}


def test_the_servers_are_listed_with_their_state_and_tools(program: Program, settings: dict[str, Any]):
    settings["mcpServers"]["gone"] = {"command": "no-such-program-anywhere"}
    write_settings(program.home, settings)
    done = program.run("mcp-servers")
    assert done.returncode == 1
    text = done.stdout.decode()
    assert "sums: ready, 1 tool, protocol 2025-11-25" in text
    assert "tools: sums__add" in text
    assert "gone: can't be used" in text
    assert "Install no-such-program-anywhere" in text
    found = servers_of(program)
    assert found["sums"]["state"] == "ready"
    assert found["sums"]["tools"] == ["sums__add"]
    assert found["gone"]["state"] == "failed"


def test_one_server_is_tested_and_what_to_do_is_said(program: Program, settings: dict[str, Any], tmp_path: Path):
    done = program.run("mcp-servers", "test", "sums")
    assert done.returncode == 0
    assert b"\n  sums__add\n    Add two numbers.\n" in done.stdout
    (tmp_path / "server.py").write_text("import sys; sys.exit('no licence')")
    write_settings(program.home, settings)
    done = program.run("mcp-servers", "test", "sums")
    assert done.returncode == 1
    assert b"no licence" in done.stdout
    assert b"Run it by hand" in done.stdout
    done = program.run("mcp-servers", "test", "nobody")
    assert done.returncode == 54
    assert b"There is no MCP server nobody. Servers: sums." in done.stderr


def test_a_server_that_is_tested_tells_all_that_is_wrong_with_its_tools(program: Program, tmp_path: Path):
    server = tmp_path / "eight.py"
    server.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if 'id' not in asked:\n"
        "        continue\n"
        "    tools = [{'name': f'odd{n}', 'inputSchema': {'type': 'array'}} for n in range(8)]\n"
        "    info = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}},\n"
        "            'serverInfo': {'name': 'eight', 'version': '1'}}\n"
        "    result = {'initialize': info, 'tools/list': {'tools': tools}}.get(asked['method'], {})\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)\n"
    )
    write_settings(program.home, {"mcpServers": {"eight": {"command": sys.executable, "args": [str(server)]}}})
    told = program.run("mcp-servers", "test", "eight").stdout.decode()
    assert [name for name in (f"odd{n}" for n in range(8)) if name not in told] == []
    assert "more tools had such problems" not in told


def test_a_server_is_added_used_and_removed_and_the_file_s_own_text_stays(program: Program, sums: list[str]):
    file = program.home / ".dogu" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text('{\n  // mine\n  "ui": {"language": "en"}, /* and this */\n}\n')
    before = file.read_text()
    words = ["add", "sums", "--env", "A=b c", "--timeout", "5000", "--", *sums]
    done = program.run("mcp-servers", *words)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"Added sums to ")
    assert program.run("mcp-servers", *words).stdout.startswith(b"Replaced sums in ")
    assert file.read_text().startswith(before.removesuffix("\n}\n"))
    assert servers_of(program)["sums"]["tools"] == ["sums__add"]
    assert program.run("mcp-servers", "remove", "sums").returncode == 0
    assert "// mine" in file.read_text()
    assert "/* and this */" in file.read_text()
    assert servers_of(program) == {}


def test_a_bad_entry_is_not_added(program: Program):
    done = program.run("mcp-servers", "add", "far", "--url", "ftp://x")
    assert done.returncode == 42
    assert b"an http or https address" in done.stderr
    assert not (program.home / ".dogu" / "settings.json").exists()


@pytest.mark.parametrize(
    ("entry", "key", "told"),
    [
        ({"command": "x", "type": "carrier-pigeon"}, "type", "there is no transport 'carrier-pigeon'"),
        ({"command": "x", "url": "http://y"}, "url", "command and url"),
        ({"command": "x", "timeout": 0}, "timeout", "milliseconds"),
        ({"command": "x", "args": [5]}, "args", "Expected `str`"),
        ({"httpUrl": "http://127.0.0.1:9", "headers": {"K": "$NO_SUCH_VARIABLE"}}, "headers.K", "isn't set"),
        ({"command": "x", "excludedTools": ["a"]}, "excludedTools", "may restrict it"),
        (5, "", "takes an object"),
    ],
)
def test_bad_settings_are_told_with_file_line_and_key_and_the_program_starts(
    program: Program, entry: Any, key: str, told: str
):
    file = program.home / ".dogu" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"mcpServers": {"bad": entry}}, indent=1))
    done = program.run("call", "list_directory", "path=.")
    assert done.returncode == 0
    (line,) = [line for line in done.stderr.decode().splitlines() if told in line]
    name = f"mcpServers.bad.{key}".rstrip(".")
    where, _, rest = line.partition(f": {name}: ")
    assert where.removeprefix("Settings: ").startswith(f"{file}:")
    written = key.rpartition(".")[2] or "bad"
    assert f'"{written}"' in file.read_text().splitlines()[int(where.rpartition(":")[2]) - 1]
    assert rest


def test_settings_that_are_no_json_are_told_and_the_program_starts(program: Program):
    (program.home / ".gemini").mkdir()
    broken = program.home / ".gemini" / "settings.json"
    broken.write_text('{\n "mcpServers": {\n  "a": {"command": "x"\n')
    done = program.run("call", "list_directory", "path=.")
    assert done.returncode == 0
    assert f"{broken}:4: ".encode() in done.stderr


def test_one_logs_in_and_out_from_the_command_line(program: Program):
    with authorization() as server:
        write_settings(program.home, {"mcpServers": {"far": {"httpUrl": f"{server.address}/mcp"}}})
        assert servers_of(program)["far"]["state"] == "wants login"
        with subprocess.Popen(
            [*PROGRAM, "mcp-servers", "login", "far"],
            cwd=program.root,
            env=program.environ(BROWSER="true"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as login:
            assert login.stdout is not None
            assert b"Log in to far" in login.stdout.readline()
            httpx2.get(login.stdout.readline().decode().strip(), follow_redirects=True, timeout=20)
            told, _ = login.communicate(timeout=30)
        assert told == b"far can be used. Tools: 1.\n"
        assert servers_of(program)["far"]["state"] == "ready"
        assert program.run("mcp-servers", "logout", "far").stdout == b"Logged out.\n"
        assert servers_of(program)["far"]["state"] == "wants login"
