"""MCP servers of the settings, used by the program as a process."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import Client, StdioServerParameters

from e2e.program import PROGRAM, Program

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
def settings(program: Program, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "server.py").write_text(SERVER)
    found = {"mcpServers": {"sums": {"command": sys.executable, "args": [str(tmp_path / "server.py")]}}}
    write_settings(program.home, found)
    return found


def write_settings(folder: Path, settings: dict[str, Any]) -> None:
    (folder / ".dogu").mkdir(exist_ok=True)
    (folder / ".dogu" / "settings.json").write_text(json.dumps(settings))


@pytest.mark.requirement("api.custom.mcp_setting")
@pytest.mark.requirement("api.custom.mcp_tools")
@pytest.mark.requirement("api.custom.mcp_prefix")
def test_a_server_s_tool_can_be_listed_and_called(program: Program, settings: dict[str, Any]):
    assert b"sums__add" in program.run("tools").stdout
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


def test_without_a_person_its_call_is_refused(program: Program, settings: dict[str, Any]):
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
