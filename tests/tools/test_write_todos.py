"""write_todos as a model calls it."""

from typing import Any

import pytest

from dogu.contract import ErrorKind, Todo, TodoList, ToolResult, markdown_of
from dogu.testing.workspace import executor_for, run_tool
from dogu.tools.write_todos import WriteTodos

pytestmark = pytest.mark.anyio


def todo(description: str, status: str = "pending") -> dict[str, str]:
    return {"description": description, "status": status}


async def write(*todos: Any) -> ToolResult:
    return await run_tool(WriteTodos(), todos=list(todos))


async def test_the_plan_is_shown_and_told_back() -> None:
    result = await write(todo("a"), todo("b", "in_progress"), todo("c", "completed"), todo("d", "cancelled"))
    assert result.llm_content == (
        "Successfully updated the todo list. The current list is now:\n"
        "1. [pending] a\n2. [in_progress] b\n3. [completed] c\n4. [cancelled] d"
    )
    shown = TodoList((Todo("a", "pending"), Todo("b", "in_progress"), Todo("c", "completed"), Todo("d", "cancelled")))
    assert result.return_display == shown
    assert markdown_of(shown) == "- [ ] a\n- [-] b\n- [x] c\n- [~] d"


async def test_each_list_replaces_the_one_before() -> None:
    tool = WriteTodos()
    await run_tool(tool, todos=[todo("a"), todo("b")])
    await run_tool(tool, todos=[todo("b", "completed")])
    assert tool.todos == (Todo("b", "completed"),)
    result = await run_tool(tool, todos=[])
    assert result.llm_content == "Successfully cleared the todo list."
    assert tool.todos == ()


async def test_two_steps_in_progress_are_an_error_and_change_nothing() -> None:
    tool = WriteTodos()
    await run_tool(tool, todos=[todo("kept")])
    result = await run_tool(tool, todos=[todo("a", "in_progress"), todo("b", "in_progress")])
    assert result.error is not None
    assert result.error.kind is ErrorKind.INVALID_ARGUMENTS
    assert result.llm_content == 'Invalid parameters: Only one task can be "in_progress" at a time.'
    assert tool.todos == (Todo("kept", "pending"),)


@pytest.mark.parametrize(
    "todos",
    [[todo(" ")], [todo("a", "done")], ["a"], [{"status": "pending"}], [todo(str(number)) for number in range(101)]],
)
async def test_what_is_no_plan_is_an_error(todos: list[Any]) -> None:
    result = await write(*todos)
    assert result.error is not None
    assert result.error.kind is ErrorKind.INVALID_ARGUMENTS


async def test_another_programs_spelling_is_accepted() -> None:
    result = await write({"content": "a", "status": "pending"})
    assert result.error is None


async def test_keeping_a_plan_asks_nobody_in_any_mode() -> None:
    from dogu.runtime.events import ToolCall

    for mode in ("plan", "default"):
        executor = executor_for(WriteTodos(), confirm=None, mode=mode)
        answer = await executor.run(ToolCall("1", "write_todos", {"todos": [todo("a")]}))
        assert answer.result.error is None


def test_what_is_done_is_said_in_a_line() -> None:
    tool = WriteTodos()
    args = tool.validate_tool_params({"todos": [todo("a", "completed"), todo("b")]})
    assert tool.get_description(args) == "Update the plan: 1 of 2 steps done"
