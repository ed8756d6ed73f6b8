"""What lists of the settings say of MCP servers' tools: understood in each program's spelling, and never dropped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import dogu
import hostile_mcp
from dogu.contract import ErrorKind, ToolError
from dogu.contract.json_schema import check_arguments, schema_problem, unchecked_patterns
from dogu.contract.tool_names import is_of_server, may_mean_tool, means_tool
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.discovery.mcp.entries import read_entries
from dogu.runtime.runtime import Runtime
from dogu.settings import SettingsError
from runtime.discovery.hostile import result_of

pytestmark = pytest.mark.anyio
_ALL = ["r__echo", "mcp_r_echo", "mcp__r__echo", "echo", "mcp_r_*", "mcp__r", "mcp_*", "r__ec*"]


@asynccontextmanager
async def served(
    folder: Path, settings: Mapping[str, Any], policy: str = "", **servers: Mapping[str, Any]
) -> AsyncGenerator[Runtime]:
    """Open a runtime by settings files; the value of a server's `fault` makes its program, the rest joins its entry."""
    (folder / "root").mkdir(exist_ok=True)
    home = folder / "home" / ".gemini"
    (home / "policies").mkdir(parents=True, exist_ok=True)
    entries = {
        alias: {"command": sys.executable, "args": [hostile_mcp.__file__, row.get("fault", "none"), str(folder)]}
        | {key: value for key, value in row.items() if key != "fault"}
        for alias, row in servers.items()
    }
    (home / "settings.json").write_text(json.dumps({"mcpServers": entries, **settings}, indent=1))
    if policy:
        (home / "policies" / "p.toml").write_text(policy)
    options = dogu.Options(root=str(folder / "root"), home=str(folder / "home"), approval_mode="yolo")
    with anyio.fail_after(90):
        async with dogu.open_runtime(options) as runtime:
            yield runtime


def unmatched(runtime: Runtime) -> list[str]:
    return [note for note in runtime.notes if "matches no tool" in note]


@pytest.mark.parametrize("entry", [*_ALL, "mcp_r_ECHO"])
def test_a_restriction_means_a_servers_tool_in_every_spelling(entry: str):
    assert may_mean_tool(entry, "r__echo") == (entry != "mcp_r_ECHO")
    assert not may_mean_tool(entry, "read_file")


@pytest.mark.parametrize(
    ("entry", "tool", "is_meant"),
    [
        *((entry, "r__echo", entry != "echo") for entry in _ALL),
        ("mcp_my_own_tool", "my_own__tool", False),  # it may be the tool own_tool of the server my
        ("mcp__my_own__tool", "my_own__tool", True),
        ("mcp_r", "rest__echo", False),
        ("mcp_r_*", "rest__echo", False),
        ("*", "r__echo", False),
    ],
)
def test_what_allows_means_a_servers_tool_only_where_nothing_else_can_be_meant(entry: str, tool: str, is_meant: bool):
    assert means_tool(entry, tool) == is_meant


def test_a_restriction_means_a_tool_whose_name_was_written_in_other_signs():
    assert may_mean_tool("my.server__get-it", "my_server__get_it")
    assert may_mean_tool("mcp_my-server_get.it", "my_server__get_it")
    assert not may_mean_tool("read_file", "fs__read_file")  # it names the built-in tool
    assert is_of_server("mcp_my_server_x", "my_server")
    assert not is_of_server("mcp_my_server_x", "other")


@pytest.mark.parametrize("entry", ["r__echo", "mcp_r_echo", "mcp__r__echo", "echo", "echo(x)"])
async def test_a_servers_own_list_keeps_a_tool_out_and_the_refusal_names_the_place(tmp_path: Path, entry: str):
    async with served(tmp_path, {}, r={"excludeTools": [entry]}) as runtime:
        assert "r__echo" not in {tool.name for tool in runtime.registry}
        error = (await result_of(runtime, "r__echo")).error
        assert error is not None
        assert error.kind is ErrorKind.REFUSED
        assert f"excluded by mcpServers.r.excludeTools ({tmp_path}/home/.gemini/settings.json:" in error.message
        assert not unmatched(runtime)


async def test_a_tool_that_both_lists_exclude_is_said_to_be_excluded_by_both(tmp_path: Path):
    async with served(tmp_path, {"excludeTools": ["mcp_r_*"]}, r={"includeTools": ["other"]}) as runtime:
        error = (await result_of(runtime, "r__echo")).error
        assert error is not None
        assert "mcpServers.r.includeTools" in error.message
        assert "excludeTools (" in error.message


async def test_an_entry_of_a_server_that_matches_nothing_is_told_though_another_server_failed(tmp_path: Path):
    settings = {"excludeTools": ["r__ecoh", "dead__x", "save_memory", "echo", "nobody__x"]}
    own = {"excludeTools": ["ecko"], "includeTools": ["echo", "wave"]}
    async with served(tmp_path, settings, r=own, dead={"fault": "exit-at-start"}) as runtime:
        told = "\n".join(unmatched(runtime))
        assert "'ecko' of mcpServers.r.excludeTools" in told
        assert "Did you mean 'echo'?" in told
        assert "'wave' of mcpServers.r.includeTools" in told
        assert "'r__ecoh' of excludeTools" in told
        assert "'nobody__x' of excludeTools" in told
        assert len(unmatched(runtime)) == 4


_POLICY = """
[[rule]]
mcpName = "r"
toolName = "ecko"
decision = "deny"
priority = 1
[[rule]]
mcpName = "r"
toolName = "echo"
decision = "ask_user"
priority = 1
[[rule]]
toolName = "delete_file"
decision = "deny"
priority = 1
"""


async def test_every_list_is_asked_whether_it_matched_something(tmp_path: Path):
    settings = {
        "tools": {"confirmationRequired": ["mcp_r_ecko"], "allowed": ["mcp_r_nothing", "mcp_r_echo"]},
        "mcp": {"excluded": ["nowhere"], "allowed": ["R"]},
        "skills": {"disabled": ["no-such-skill"]},
    }
    async with served(tmp_path, settings, _POLICY, r={}) as runtime:
        told = "\n".join(runtime.notes)
        assert "'mcp_r_ecko' of tools.confirmationRequired" in told
        assert "'mcp_r_nothing' of tools.allowed" in told
        assert "rule 1 of" in told
        assert "'r ecko'" in told
        assert "'delete_file'" in told
        assert "'nowhere' of mcp.excluded" in told
        assert "'no-such-skill'" in told
        assert "rule 2" not in told
        assert "'mcp_r_echo'" not in told


async def test_without_any_server_an_entry_for_one_is_told(tmp_path: Path):
    async with served(tmp_path, {"tools": {"exclude": ["mcp_github_delete"]}}) as runtime:
        assert len(unmatched(runtime)) == 1


@pytest.mark.parametrize("entry", ["r__echo", "mcp_r_echo", "mcp__r__echo", "mcp_r_*"])
async def test_a_servers_tool_is_asked_about_when_a_list_says_so(tmp_path: Path, entry: str):
    async with served(tmp_path, {"tools": {"confirmationRequired": [entry]}}, r={}) as runtime:
        error = (await result_of(runtime, "r__echo")).error
        assert error is not None
        assert error.kind is ErrorKind.NOBODY_TO_ASK
        assert not unmatched(runtime)


async def test_a_server_that_a_list_keeps_out_is_named_with_the_list(tmp_path: Path):
    async with served(tmp_path, {"mcp": {"allowed": ["other"]}}, r={}, other={}) as runtime:
        error = (await result_of(runtime, "r__echo")).error
        assert error is not None
        assert f"excluded by mcp.allowed ({tmp_path}/home/.gemini/settings.json:" in error.message


@pytest.mark.parametrize("key", ["alwaysAllow", "autoApprove"])
async def test_a_tool_that_the_entry_always_allows_is_allowed(tmp_path: Path, key: str):
    async with served(tmp_path, {}, r={key: ["echo"]}) as runtime:
        runtime.policy.mode = ApprovalMode.DEFAULT
        assert (await result_of(runtime, "r__echo")).llm_content == "hello"


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        ({"enabled": False}, None),
        ({"disabled": True}, None),
        ({"enabled": True, "disabled": False}, ()),
        ({"disabled_tools": ["a"], "excludeTools": ["b"]}, ("a", "b")),
        ({"disabledTools": ["a"]}, ("a",)),
    ],
)
def test_what_other_programs_call_a_restriction_is_one(row: dict[str, Any], kept: tuple[str, ...] | None):
    entries, problems = read_entries({"a": {"command": "c", **row}})
    assert problems == []
    assert [entry.exclude_tools for entry in entries] == ([] if kept is None else [kept])


def test_two_lists_of_what_is_always_allowed_add_up():
    (entry,), _ = read_entries({"a": {"command": "c", "alwaysAllow": ["x"], "autoApprove": ["y"]}})
    assert [entry.allows(tool) for tool in ("x", "y", "z")] == [True, True, False]


@pytest.mark.parametrize("key", ["toolFilter", "readOnly", "permissions", "safeMode", "exclude_tool", "scope"])
def test_a_key_that_is_not_known_to_be_harmless_costs_its_server(key: str):
    entries, problems = read_entries({"a": {"command": "c", key: ["x"]}, "b": {"command": "c", "description": "d"}})
    assert [entry.alias for entry in entries] == ["b"]
    assert f"{key!r} isn't known and may restrict it" in problems[0]


async def test_a_misspelled_tool_in_the_list_of_those_that_are_asked_about_stops(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"settings.json:\d+: tools.confirmationRequired: .*run_shell_command"):
        async with served(tmp_path, {"tools": {"confirmationRequired": ["run_shel_command"]}}):
            pass


async def test_an_entry_that_is_not_understood_is_told_with_its_file_line_and_key(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"settings.json:\d+: tools.exclude: 'read_\*': a \* stands for"):
        async with served(tmp_path, {"tools": {"exclude": ["glob", "read_*"]}}):
            pass


def test_a_pattern_that_looks_around_is_not_checked_and_all_else_is():
    """zod writes such patterns for addresses and names of hosts."""
    schema = {
        "type": "object",
        "properties": {"mail": {"type": "string", "pattern": r"^(?!\.)[a-z.]+@x$"}, "n": {"type": "integer"}},
        "patternProperties": {"^(?=k)": {"type": "string"}},
        "additionalProperties": False,
    }
    assert unchecked_patterns(schema) == [r"^(?!\.)[a-z.]+@x$", "^(?=k)"]
    assert schema_problem("t", schema) == ""
    check_arguments("t", schema, {"mail": "anything", "n": 1, "kk": "x"})
    with pytest.raises(ToolError, match="n: "):
        check_arguments("t", schema, {"mail": "a@x", "n": "one"})
    assert "no valid JSON Schema" in schema_problem("t", {"type": "object", "properties": {"a": {"pattern": "("}}})


async def test_a_tool_with_such_a_pattern_is_taken_and_told(tmp_path: Path):
    async with served(tmp_path, {}, r={"fault": "lookahead"}) as runtime:
        assert "r__bad" in {tool.name for tool in runtime.registry}
        assert "not checked here for r__bad: the pattern ^(?!x)" in "\n".join(runtime.notes)


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"fault": "no-version"}, "its answer is no InitializeResult: serverInfo.version: Field required"),
        ({"fault": "no-version", "protocol": "2025-11-25"}, "no InitializeResult: serverInfo.version: Field required"),
        ({"fault": "no-message"}, "it could not be started: an error without a message"),
    ],
)
async def test_an_answer_that_is_not_as_the_protocol_has_it_is_told_by_its_place(
    tmp_path: Path, server: Mapping[str, Any], why: str
):
    async with served(tmp_path, {}, r=server) as runtime:
        assert why in "\n".join(runtime.notes)


def test_without_the_sdk_tools_work_and_what_to_type_is_said(tmp_path: Path):
    (tmp_path / "home" / ".gemini").mkdir(parents=True)
    (tmp_path / "home" / ".gemini" / "settings.json").write_text('{"mcpServers": {"a": {"command": "true"}}}')
    script = """
import sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, *more):
        return None if name.partition(".")[0] in ("mcp", "mcp_types") else PathFinder.find_spec(name, *more)
sys.meta_path[:] = [Without if each is PathFinder else each for each in sys.meta_path]
from dogu.cli import main
sys.exit(main(sys.argv[1:]))
"""
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    for words, code in ((("call", "list_directory", "path=."), 0), (("mcp-servers",), 54), (("mcp",), 54)):
        done = subprocess.run(
            [sys.executable, "-c", script, *words],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, done.stderr
        assert "dogu-agent[mcp]" in done.stderr
        assert "defect" not in done.stderr
