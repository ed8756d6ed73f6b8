"""Many discovered tools: declared on demand, found by words."""

from __future__ import annotations

import re

import pytest

from dogu.contract import ErrorKind, FunctionTool, function_tool
from dogu.policy.policy import Policy
from dogu.runtime.events import ToolCall
from dogu.runtime.executor import Executor
from dogu.runtime.registry import AnyTool, ToolRegistry
from dogu.testing.workspace import check_tool, run_tool
from dogu.tools.find_tools import FindTools

pytestmark = pytest.mark.anyio


def a_tool(name: str, description: str) -> FunctionTool:
    def act() -> str:
        return name

    act.__name__, act.__doc__ = name, description
    return function_tool(act)


def registry_of(count: int) -> ToolRegistry:
    registry = ToolRegistry([a_tool("read_file", "Read a file.")])
    registry.offer_on_demand(FindTools(registry.find, registry.sources))
    for number in range(count - 3):
        registry.register(a_tool(f"files__number_{number}", "A file operation."), is_discovered=True)
    registry.register(a_tool("tracker__create_issue", "Open a ticket in the tracker."), is_discovered=True)
    registry.register(a_tool("tracker__closeIssue", "Close a ticket."), is_discovered=True)
    registry.register(a_tool("weather__forecast", "東京の天気予報を返します。"), is_discovered=True)
    return registry


def declared(registry: ToolRegistry) -> list[str]:
    return [declaration.name for declaration in registry.declarations]


async def find(registry: ToolRegistry, words: str) -> list[str]:
    result = await run_tool(registry.get("find_tools"), query=words)
    return re.findall(r"^- (\S+):", str(result.llm_content), re.MULTILINE)


def test_up_to_forty_tools_are_all_declared():
    registry = registry_of(40)
    assert len(declared(registry)) == 41
    assert "find_tools" not in declared(registry)


async def test_past_forty_only_those_found_are_declared_from_then_on():
    registry = registry_of(41)
    assert declared(registry) == ["read_file", "find_tools"]
    assert (await find(registry, "create issue"))[0] == "tracker__create_issue"
    assert "tracker__create_issue" in declared(registry)
    assert "weather__forecast" not in declared(registry)


async def test_a_tool_that_is_held_back_can_be_called_all_the_same():
    registry = registry_of(41)
    answer = await Executor(registry, Policy()).run(ToolCall("1", "weather__forecast", {}))
    assert answer.result.error is None or answer.result.error.kind is ErrorKind.NOBODY_TO_ASK


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("weather__forecast", "weather__forecast"),
        ("close", "tracker__closeIssue"),
        ("tickets in the tracker", "tracker__create_issue"),
        ("forcast", "weather__forecast"),
        ("天気予報", "weather__forecast"),
        ("number_7", "files__number_7"),
    ],
)
async def test_words_of_name_and_description_find_a_tool_and_a_slip_of_the_pen_does_too(words: str, first: str):
    assert (await find(registry_of(41), words))[0] == first


async def test_ten_are_found_at_most():
    assert len(await find(registry_of(100), "file")) == 10


async def test_nothing_found_says_where_tools_come_from():
    result = await run_tool(registry_of(41).get("find_tools"), query="zzzz")
    assert result.error is not None
    assert result.error.kind is ErrorKind.NOT_FOUND
    assert "tracker" in result.error.message


def test_its_description_says_how_many_there_are_of_whom():
    assert "files (38), tracker (2), weather (1)" in registry_of(41).get("find_tools").description


def test_it_keeps_the_contract():
    tool: AnyTool = registry_of(41).get("find_tools")
    check_tool(tool)


def test_its_name_can_t_be_taken():
    registry = registry_of(3)
    assert "find_tools" in registry
    with pytest.raises(ValueError, match="find_tools"):
        registry.register(a_tool("find_tools", "Mine."))


async def test_a_filtered_registry_declares_on_demand_too():
    registry = registry_of(41)
    kept = registry.filtered(lambda tool: tool.name != "read_file")
    assert declared(kept) == ["find_tools"]
    await find(kept, "forecast")
    assert declared(kept) == ["weather__forecast", "find_tools"]


def test_an_unknown_name_isn_t_answered_with_a_thousand():
    with pytest.raises(Exception, match="Available tools: read_file, find_tools"):
        registry_of(1000).get("zzzzzzz")
