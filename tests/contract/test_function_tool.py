"""A plain function becomes a tool."""

import threading
from pathlib import Path
from typing import Annotated, Literal

import anyio
import anyio.to_thread
import msgspec
import pytest

from dogu.contract.content import Blob
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.function_tool import function_tool
from dogu.contract.tool import Kind
from dogu.testing.workspace import check_tool, run_tool

pytestmark = pytest.mark.anyio


async def add(
    first: Annotated[int, msgspec.Meta(description="One number.")],
    second: Annotated[int, msgspec.Meta(description="Another.")] = 1,
) -> int:
    """Add two numbers."""
    return first + second


async def test_signature_and_docstring_become_the_declaration():
    tool = function_tool(add, kind=Kind.THINK)
    check_tool(tool)
    assert tool.declaration.description == "Add two numbers."
    assert tool.declaration.parameters["required"] == ["first"]


async def test_it_runs_with_checked_arguments():
    assert (await run_tool(function_tool(add), first=2, second="3")).llm_content == "5"


async def test_a_wrong_argument_is_an_answer():
    result = await run_tool(function_tool(add), first="two")
    assert result.error is not None
    assert result.error.kind is ErrorKind.INVALID_ARGUMENTS


async def test_a_plain_function_that_returns_media_works_too():
    def picture() -> Blob:
        """Draw."""
        return Blob("image/png", b"\x89PNG")

    assert (await run_tool(function_tool(picture))).llm_content == [Blob("image/png", b"\x89PNG")]


async def test_a_tool_error_is_heard_by_the_model_and_any_other_is_told_as_the_tools_own():
    def fails() -> str:
        """Fail."""
        raise ToolError(ErrorKind.NOT_FOUND, "No such thing: look elsewhere.")

    def breaks() -> str:
        """Break."""
        raise ZeroDivisionError("oh")

    assert (await run_tool(function_tool(fails))).llm_content == "No such thing: look elsewhere."
    broken = await run_tool(function_tool(breaks))
    assert broken.error is not None
    assert broken.error.kind is ErrorKind.TOOL_FAILED


async def test_parameters_without_names_are_refused_when_the_tool_is_made():
    def star(*many: int) -> int:
        return sum(many)

    with pytest.raises(TypeError, match="many"):
        function_tool(star)


class Part(msgspec.Struct):
    name: str
    parts: "list[Part]" = []


async def test_a_path_a_choice_and_a_type_within_itself_are_understood():
    def use(where: Path, how: Literal["fast", "well"], part: Part) -> str:
        """Use."""
        return f"{where.name} {how} {part.parts[0].name}"

    tool = function_tool(use)
    assert tool.declaration.parameters["properties"]["where"] == {"type": "string"}
    parts = [{"name": "b"}]
    result = await run_tool(tool, where="/a/b.txt", how="well", part={"name": "a", "parts": parts})
    assert result.llm_content == "b.txt well b"
    wrong = await run_tool(tool, where="/a", how="cheap", part={"name": "a"})
    assert "Use one of: fast, well." in str(wrong.llm_content)


def test_a_type_that_json_has_nothing_for_is_refused_when_the_tool_is_made():
    def use(it: object) -> str:
        """Use."""
        return str(it)

    with pytest.raises(TypeError, match="use: a tool's parameters are what JSON can hold"):
        function_tool(use)


async def test_what_json_cannot_hold_is_told_as_what_was_returned():
    def lines() -> object:
        """Give lines."""
        return (line for line in "ab")

    assert "lines returned a generator that JSON can't hold" in str((await run_tool(function_tool(lines))).llm_content)


async def test_an_exit_and_a_group_of_one_error_cost_the_call_alone():
    def leaves() -> str:
        """Leave."""
        raise SystemExit(2)

    async def groups() -> str:
        """Group."""
        raise ExceptionGroup("outer", [ExceptionGroup("inner", [KeyError("k")])])

    assert "SystemExit: 2" in str((await run_tool(function_tool(leaves))).llm_content)
    assert "failed by an error of its own: KeyError: 'k'" in str((await run_tool(function_tool(groups))).llm_content)


async def test_a_function_that_blocks_holds_nothing_up_and_can_be_cancelled():
    begun, may_end = threading.Event(), threading.Event()

    def waits() -> str:
        """Wait."""
        begun.set()
        may_end.wait(30)
        return "late"

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: run_tool(function_tool(waits)))
        assert await anyio.to_thread.run_sync(begun.wait, 30)
        group.cancel_scope.cancel()
    assert not may_end.is_set()
    may_end.set()
