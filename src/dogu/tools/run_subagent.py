"""run_subagent: gives a task to a helper with a history of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias

import msgspec

from dogu.contract import CallContext, ErrorKind, Kind, Tool, ToolError, ToolResult, told


class SubagentTask(msgspec.Struct, frozen=True):
    """What a helper is told: the task, and the names of the tools it gets; None for all that a helper may have."""

    task: str
    tools: tuple[str, ...] | None = None
    max_steps: int = 30


RunTask: TypeAlias = Callable[[SubagentTask, CallContext], Awaitable[str]]


class RunSubagentArgs(msgspec.Struct, kw_only=True):
    """The task."""

    task: Annotated[
        str,
        msgspec.Meta(
            description="What to do, whole: the helper knows nothing of this conversation. Say what to look at, what "
            "is known already, and what to answer with."
        ),
    ]
    description: Annotated[str, msgspec.Meta(description="The task in three to eight words, for the user.")] = ""
    tools: Annotated[
        list[str] | None,
        msgspec.Meta(
            description="Names of the tools the helper gets; fewer are better. Default: the ones that only read."
        ),
    ] = None
    max_steps: Annotated[int, msgspec.Meta(description="How often the helper may ask its model.", ge=1, le=100)] = 30


class RunSubagent(Tool[RunSubagentArgs]):
    """Give a task to a helper that works by itself, with a conversation of its own and the tools you name, and get its
    last words: for searches through much material of which you need only the result. Its calls are subject to the same
    approvals as yours. Helpers called in one turn run beside one another; a helper has no helpers."""

    name, display_name, kind = "run_subagent", "Subagent", Kind.THINK

    def __init__(self, run: RunTask | None = None) -> None:
        self._run = run

    def get_description(self, args: RunSubagentArgs) -> str:
        """Say in one line what the helper does."""
        return told("Helper: {task}", task=" ".join((args.description or args.task).split())[:120])

    async def execute(self, args: RunSubagentArgs, context: CallContext) -> ToolResult:
        """Run the helper to its end."""
        if not args.task.strip():
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, "The task is empty: say what the helper is to do.")
        if self._run is None:
            raise ToolError(ErrorKind.START_FAILED, "There is no model here that a helper could work with.")
        tools = None if args.tools is None else tuple(args.tools)
        words = await self._run(SubagentTask(args.task, tools, args.max_steps), context)
        return ToolResult(words or "(The helper ended without a word.)", words)
