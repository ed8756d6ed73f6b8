"""Tools found by a command, with real commands."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogu.contract import ErrorKind, Tool
from dogu.runtime.discovery.command import CommandRunner, Discovered, discover
from dogu.runtime.registry import ToolRegistry
from dogu.testing.workspace import check_tool, run_tool
from dogu.tools.find_tools import FindTools
from dogu.workspace.process.local import LocalProcesses
from processes import shared_fork_server

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[3] / "examples" / "discovery"


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[CommandRunner]:
    with LocalProcesses(fork_server=shared_fork_server()) as processes:
        yield CommandRunner(processes, str(tmp_path), lambda: {"PATH": os.environ["PATH"]})


async def found(
    runner: CommandRunner, printed: str, call_command: str = "cat", taken: tuple[str, ...] = ()
) -> Discovered:
    (Path(runner.directory) / "declarations").write_text(printed)
    return await discover("cat declarations", call_command, runner, taken)


def declared(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, "description": f"The tool {name}.", **more} for name in names]


@pytest.mark.requirement("api.custom.discovered_tool")
@pytest.mark.requirement("api.custom.call_command")
@pytest.mark.parametrize("example", ["tools.sh", "tools.py"])
async def test_the_examples_work(runner: CommandRunner, example: str):
    path = f"{sys.executable} {EXAMPLES / example}" if example.endswith("py") else str(EXAMPLES / example)
    (Path(runner.directory) / "text.txt").write_text("one two two\nthree\n")
    discovered = await discover(path, path, runner, ())
    assert discovered.problems == ()
    tool: Tool[Any] = discovered.tools[0]
    check_tool(tool)
    result = await run_tool(tool, path="text.txt")
    assert result.error is None
    assert str(result.llm_content).strip() in ("2", '[["two", 2], ["one", 1], ["three", 1]]')


@pytest.mark.requirement("api.custom.discovery_output")
@pytest.mark.parametrize("wrap", ["bare", "function_declarations", "functionDeclarations"])
@pytest.mark.parametrize("schema_key", ["parameters", "parametersJsonSchema"])
async def test_each_documented_shape_is_understood(runner: CommandRunner, wrap: str, schema_key: str):
    rows: list[Any] = declared("a", **{schema_key: {"type": "object", "properties": {"x": {"type": "integer"}}}})
    discovered = await found(runner, json.dumps(rows if wrap == "bare" else [{wrap: rows}]))
    assert discovered.problems == ()
    assert discovered.tools[0].parameter_schema["properties"] == {"x": {"type": "integer"}}


GEMINI_SCHEMA = {
    "type": "OBJECT",
    "properties": {
        "city": {"type": "STRING", "description": "Where.", "example": "Seoul", "minLength": "2"},
        "days": {"type": "INTEGER", "format": "int64", "nullable": True, "maximum": 14},
        "units": {"type": "STRING", "enum": ["C", "F"], "nullable": True},
        "places": {"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": "2", "maxItems": "2"},
        "type": {"any_of": [{"type": "BOOLEAN"}, {"type": "STRING"}]},
    },
    "required": ["city"],
    "propertyOrdering": ["days", "city"],
}


@pytest.mark.requirement("api.custom.discovery_output")
@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({"city": "Seoul", "days": None, "units": None, "places": [1, 2.5], "type": True}, ""),
        ({"city": "Seoul", "days": 3, "units": "C", "type": "x"}, ""),
        ({"city": "S"}, "city"),
        ({"city": "Seoul", "days": 15}, "days"),
        ({"city": "Seoul", "units": "K"}, "units"),
        ({"city": "Seoul", "places": [1]}, "places"),
        ({"city": "Seoul", "type": 5}, "type"),
    ],
)
async def test_geminis_own_schemas_are_read_and_their_limits_hold(
    runner: CommandRunner, args: dict[str, Any], word: str
):
    (tool,) = (await found(runner, json.dumps(declared("weather", parameters=GEMINI_SCHEMA)), "sh -c cat")).tools
    result = await run_tool(tool, **args)
    assert (result.error is None) == (not word)
    assert not word or word in str(result.llm_content)
    assert not word or json.loads(json.dumps(tool.parameter_schema)) == tool.parameter_schema
    assert [*tool.parameter_schema["properties"]][:2] == ["days", "city"]
    assert "OBJECT" not in json.dumps(tool.parameter_schema)


@pytest.mark.requirement("api.custom.discovery_output")
@pytest.mark.parametrize("by_alias", [True, False])
async def test_what_googles_sdk_prints_of_a_declaration_is_a_tool(runner: CommandRunner, by_alias: bool):
    types = pytest.importorskip("google.genai.types")
    schema = types.Schema(
        type="OBJECT",
        properties={
            "city": types.Schema(type="STRING", nullable=True),
            "days": types.Schema(type="INTEGER", minimum=1),
        },
        property_ordering=["days", "city"],
        required=["days"],
    )
    printed = types.FunctionDeclaration(name="weather", description="Weather.", parameters=schema)
    row = printed.model_dump_json(exclude_none=True, by_alias=by_alias)
    discovered = await found(runner, f"[{row}]", "sh -c cat")
    assert discovered.problems == ()
    good = await run_tool(discovered.tools[0], days=2, city=None)
    assert json.loads(str(good.llm_content)) == {"days": 2, "city": None}
    assert (await run_tool(discovered.tools[0], days=0)).error is not None


async def test_a_plain_schema_stays_as_it_is_whatever_its_properties_are_called(runner: CommandRunner):
    properties = {name: {"type": "string"} for name in ("type", "nullable", "example", "any_of", "ref", "minItems")}
    schema = {"type": "object", "properties": properties, "required": ["type"], "additionalProperties": False}
    (tool,) = (await found(runner, json.dumps(declared("plain", parameters=schema)))).tools
    assert tool.parameter_schema == schema


async def test_the_call_gets_its_name_last_and_its_arguments_on_standard_input(runner: CommandRunner):
    script = Path(runner.directory) / "call.sh"
    script.write_text('#!/bin/sh\necho "$@"; cat\n')
    script.chmod(0o755)
    discovered = await found(runner, json.dumps(declared("a")), f"{script} --flag 'two words'")
    result = await run_tool(discovered.tools[0], text="日本語")
    assert result.llm_content == '--flag two words a\n{"text": "日本語"}'


async def test_a_non_zero_exit_is_a_failure_with_the_documented_fields(runner: CommandRunner):
    script = Path(runner.directory) / "fail.sh"
    script.write_text("#!/bin/sh\necho half; echo oh >&2; exit 3\n")
    script.chmod(0o755)
    result = await run_tool((await found(runner, json.dumps(declared("a")), str(script))).tools[0])
    assert result.error is not None
    assert result.error.kind is ErrorKind.REMOTE_FAILED
    assert result.llm_content == "Stdout: half\n\nStderr: oh\n\nError: (none)\nExit Code: 3\nSignal: (none)"


async def test_standard_error_alone_is_no_failure(runner: CommandRunner):
    script = Path(runner.directory) / "warn.sh"
    script.write_text("#!/bin/sh\necho fine; echo careful >&2\n")
    script.chmod(0o755)
    result = await run_tool((await found(runner, json.dumps(declared("a")), str(script))).tools[0])
    assert (result.error, result.llm_content) == (None, "fine\n")


async def test_arguments_are_checked_against_the_declared_schema(runner: CommandRunner):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = (await found(runner, json.dumps(declared("a", parameters=schema)))).tools[0]
    result = await run_tool(tool, n="many")
    assert result.error is not None
    assert result.error.kind is ErrorKind.INVALID_ARGUMENTS
    assert "n:" in result.error.message


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (3, "not an object"),
        ({"description": "nameless"}, "isn't a name"),
        ({"name": "bad name!"}, "isn't a name"),
        ({"name": "read_file"}, "already"),
        ({"name": "b", "parameters": "none"}, "aren't an object schema"),
        ({"name": "b", "parameters": {"type": "nonsense"}}, "aren't an object schema"),
        ({"name": "b", "parameters": {"properties": {"x": {"$ref": "http://127.0.0.1:1/x"}}}}, "no valid JSON Schema"),
        ({"name": "b", "description": 5}, "isn't a text"),
    ],
)
async def test_a_bad_declaration_is_told_and_costs_only_itself(runner: CommandRunner, row: Any, told: str):
    discovered = await found(runner, json.dumps([row, *declared("good")]), taken=("read_file",))
    assert [tool.name for tool in discovered.tools] == ["good"]
    assert told in discovered.problems[0]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("cat no-such-file", "failed"),
        ("no-such-program-anywhere", "did not start"),
        ("echo oops", "no JSON"),
        ("echo {}", "isn't an array"),
        ("cat 'unclosed", "can't be split"),
    ],
)
async def test_a_failing_or_garbled_discovery_is_told_and_gives_no_tools(
    runner: CommandRunner, command: str, told: str
):
    discovered = await discover(command, "cat", runner, ())
    assert discovered.tools == ()
    assert told in discovered.problems[0]


async def test_a_thousand_tools_with_long_descriptions_are_taken_and_more_than_10_mb_told(runner: CommandRunner):
    rows = [{"name": f"t{number}", "description": "d" * 2_000} for number in range(1_000)]
    discovered = await found(runner, json.dumps(rows))
    assert (len(discovered.tools), discovered.problems) == (1_000, ())
    discovered = await found(runner, json.dumps(rows * 6))
    assert discovered.tools == ()
    assert "printed more than 10 MB" in discovered.problems[0]


async def test_a_flood_of_a_call_is_bounded_and_says_so(runner: CommandRunner):
    for printed, told in ((9_000_000, 9_000_000), (30_000_000, 10_000_000)):
        flood = f"{sys.executable} -c \"import sys; sys.stdout.write('x' * {printed})\""
        result = await run_tool((await found(runner, json.dumps(declared("a")), flood)).tools[0])
        assert result.error is None
        assert len(str(result.llm_content)) < 50_000
        left_out = re.search(r"\[(\d+) characters left out\]", str(result.llm_content))
        assert left_out is not None
        assert told - 50_000 < int(left_out[1]) < told


async def test_without_a_call_command_it_says_so(runner: CommandRunner):
    assert "callCommand" in (await discover("cat declarations", "", runner, ())).problems[0]


async def test_a_cancelled_call_ends_its_program(runner: CommandRunner):
    script = Path(runner.directory) / "hang.sh"
    script.write_text("#!/bin/sh\necho $$ > pid\nexec sleep 1000\n")
    script.chmod(0o755)
    tool = (await found(runner, json.dumps(declared("a")), str(script))).tools[0]
    pid_file = Path(runner.directory) / "pid"
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run_tool, tool)
            while not (pid_file.exists() and pid_file.read_text().strip()):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


async def test_what_either_command_left_behind_ends_with_the_session(tmp_path: Path):
    script = tmp_path / "leave.sh"
    leaves = 'setsid sh -c \'echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep 1000\' "pid-$1" >/dev/null 2>&1 &'
    script.write_text(f"#!/bin/sh\n{leaves}\necho '{json.dumps(declared('a'))}'\n")
    script.chmod(0o755)
    pids = [tmp_path / "pid-", tmp_path / "pid-a"]
    with LocalProcesses() as processes, anyio.fail_after(30):
        runner = CommandRunner(processes, str(tmp_path), lambda: {"PATH": os.environ["PATH"]})
        [tool] = (await discover(str(script), str(script), runner, ())).tools
        await run_tool(tool)
        while not all(pid.exists() for pid in pids):
            await anyio.lowlevel.checkpoint()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


async def test_a_discovery_that_hangs_has_a_time_limit(runner: CommandRunner, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dogu.runtime.discovery.command._DISCOVERY_TIMEOUT_S", 0.3)
    discovered = await discover("sleep 1000", "cat", runner, ())
    assert discovered.tools == ()
    assert "failed" in discovered.problems[0]


async def test_a_call_that_hangs_has_a_time_limit(runner: CommandRunner, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dogu.runtime.discovery.command._CALL_TIMEOUT_S", 0.3)
    result = await run_tool((await found(runner, json.dumps(declared("a")), "sh -c 'exec sleep 1000'")).tools[0])
    assert result.error is not None


async def test_no_name_that_means_a_built_in_tool_can_be_taken(runner: CommandRunner):
    taken = ToolRegistry([FindTools(lambda _words: [], list)]).taken_names
    discovered = await found(
        runner, json.dumps(declared("find_tools", "edit", "search_file_content", "mine")), taken=tuple(taken)
    )
    assert [tool.name for tool in discovered.tools] == ["mine"]
    assert len(discovered.problems) == 3
