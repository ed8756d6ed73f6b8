"""Tool calls over MCP: run by the executor, their output told as progress, their failures as results."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, assert_never

import anyio

from dogu.contract.errors import ToolError
from dogu.contract.function_tool import FunctionTool
from dogu.contract.result import ToolResult
from dogu.runtime.events import CallEvent, CallFinished, CallOutput, CallStarted, Noted, ToolAnswer, ToolCall
from dogu.runtime.runtime import Runtime
from dogu.serve.mcp.asking import ElicitationConfirm
from dogu.serve.mcp.caller import AskedCall
from dogu.serve.mcp.results import result_of, writable
from dogu.serve.mcp.workspaces import Workspaces
from dogu.workspace.visible import strip_escapes

if TYPE_CHECKING:
    import mcp_types
    from mcp.server.context import ServerRequestContext

    Context = ServerRequestContext[Any]

_PROGRESS_EVERY_S = 0.1
_LONGEST_PROGRESS_CHARS = 2_000
_LONGEST_STATUS_CHARS = 200


class Calls:
    """Runs calls. Those that change something run one at a time, whichever client they come from."""

    def __init__(self, workspaces: Workspaces, asking: ElicitationConfirm, ended: Callable[[Runtime], None]) -> None:
        self._workspaces = workspaces
        self._asking = asking
        self._ended = ended
        self._changing = anyio.Lock()
        self._numbers = itertools.count(1)

    async def run(
        self, asked: AskedCall, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        """Run a call; every failure is a result, so that the model reads it."""
        call = ToolCall(f"mcp-{next(self._numbers)}", params.name, params.arguments or {})
        try:
            runtime = self._workspaces.first
            tool = runtime.registry.get(call.name)  # a tool that was never listed is in no root
            if not isinstance(tool, FunctionTool):  # a function of its importer's works in no folder of ours
                runtime = await self._workspaces.of(asked.context, asked)
        except ToolError as error:
            return asked.needed or result_of(ToolResult.failed(error))
        with self._asking.during(call.call_id, asked):
            answer = await self._run(runtime, call, asked)
        if asked.failure is not None:
            raise asked.failure
        return asked.needed or result_of(answer.result)

    async def _run(self, runtime: Runtime, call: ToolCall, asked: AskedCall) -> ToolAnswer:
        progress = _Progress(asked)
        registry = runtime.registry
        is_changing = call.name in registry and not registry.get(call.name).kind.changes_nothing
        async with AsyncExitStack() as stack:
            if is_changing:
                asked.status = "Another call that changes something runs first." if self._changing.locked() else ""
                await stack.enter_async_context(self._changing)
                asked.status = ""
            group = await stack.enter_async_context(anyio.create_task_group())
            group.start_soon(progress.send)
            answer = await runtime.run(call, progress.take)
            group.cancel_scope.cancel()
        self._ended(runtime)
        return answer


class _Progress:
    """Tells a call's live output as progress: what is new, at most ten times a second, however much there is.

    Of a task, whose request is answered, the last line is told by its state.
    """

    def __init__(self, asked: AskedCall) -> None:
        self._asked = asked
        self._context: Context = asked.context
        self._is_wanted = "progress_token" in (asked.context.meta or {})
        self._new = ""
        self._count = 0
        self._has_new = anyio.Event()

    def take(self, event: CallEvent) -> None:
        """Take an event of the call; its end is its answer."""
        match event:
            case CallOutput(text=text):
                if last := text.rstrip().rpartition("\n")[2]:
                    self._asked.status = writable(strip_escapes(last[-_LONGEST_STATUS_CHARS:]))
                if self._is_wanted:
                    self._count += len(text)
                    self._new = (self._new + text)[-_LONGEST_PROGRESS_CHARS:]
                    self._has_new.set()
            case CallStarted() | CallFinished() | Noted():
                pass
            case _:
                assert_never(event)

    async def send(self) -> None:
        """Send until cancelled; the measure of progress is the number of characters printed."""
        while self._is_wanted:
            await self._has_new.wait()
            self._has_new = anyio.Event()
            if self._asked.ask_later is not None:
                return
            text, self._new = self._new, ""
            try:
                await self._context.session.report_progress(self._count, None, writable(strip_escapes(text)))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the client is going: the call is cancelled next
            await anyio.sleep(_PROGRESS_EVERY_S)
