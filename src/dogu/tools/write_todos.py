"""write_todos: the plan a model keeps while it works."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import msgspec

from dogu.contract import CallContext, ErrorKind, Kind, Todo, TodoList, Tool, ToolError, ToolResult, told

_MOST_TODOS = 100


class TodoArgs(msgspec.Struct, kw_only=True):
    """One step of the plan."""

    description: Annotated[str, msgspec.Meta(description="What is to be done in this step, short and checkable.")]
    status: Annotated[
        Literal["pending", "in_progress", "completed", "cancelled"],
        msgspec.Meta(description="How far the step is; at most one step is in_progress."),
    ]


class WriteTodosArgs(msgspec.Struct, kw_only=True):
    """The whole plan."""

    todos: Annotated[
        list[TodoArgs],
        msgspec.Meta(description="The whole list, in order: it replaces the list before. An empty list clears it."),
    ]


class WriteTodos(Tool[WriteTodosArgs]):
    """Keep a plan of the steps that a larger task needs, and show it to the user. Send the whole list each time: set a
    step to in_progress before you begin it and to completed as soon as it is done, add steps that turn up, set to
    cancelled what is no longer needed. Don't use it for what takes one or two steps."""

    name, display_name, kind = "write_todos", "WriteTodos", Kind.THINK

    def __init__(self) -> None:
        self.todos: tuple[Todo, ...] = ()

    def adapt(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Take `content` for a step's `description`, as other programs call it."""
        if not isinstance(raw.get("todos"), list):
            return raw
        return {**raw, "todos": [_adapted(todo) for todo in raw["todos"]]}

    def get_description(self, args: WriteTodosArgs) -> str:
        """Say in one line how long the plan is."""
        if not args.todos:
            return told("Clear the plan")
        done = sum(todo.status == "completed" for todo in args.todos)
        return told("Update the plan: {done} of {count} steps done", done=done, count=len(args.todos))

    async def execute(self, args: WriteTodosArgs, context: CallContext) -> ToolResult:
        """Replace the plan."""
        if sum(todo.status == "in_progress" for todo in args.todos) > 1:
            raise _bad('Only one task can be "in_progress" at a time.')
        if any(not todo.description.strip() for todo in args.todos):
            raise _bad("Each todo must have a description that isn't empty.")
        if len(args.todos) > _MOST_TODOS:
            raise _bad(f"A plan has at most {_MOST_TODOS} steps: join small ones.")
        self.todos = tuple(Todo(todo.description.strip(), todo.status) for todo in args.todos)
        if not self.todos:
            return ToolResult("Successfully cleared the todo list.", TodoList(()))
        lines = [f"{number}. [{todo.status}] {todo.text}" for number, todo in enumerate(self.todos, 1)]
        text = "\n".join(["Successfully updated the todo list. The current list is now:", *lines])
        return ToolResult(text, TodoList(self.todos))


def _adapted(todo: Any) -> Any:
    if not isinstance(todo, dict):
        return todo
    fields = cast("dict[str, Any]", todo)
    if "content" not in fields or "description" in fields:
        return fields
    return {"description" if name == "content" else name: value for name, value in fields.items()}


def _bad(why: str) -> ToolError:
    return ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid parameters: {why}")
