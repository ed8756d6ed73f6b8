"""The door for other agents: every tool of ours over the Model Context Protocol, by standard streams or HTTP."""

from __future__ import annotations

import itertools
import sys
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio

from dogu.contract.errors import ErrorKind, ToolError
from dogu.runtime.calls import ToolAnswer, ToolCall
from dogu.runtime.events import CallOutput, Noted
from dogu.runtime.runtime import Runtime
from dogu.serve.mcp_asking import AskedCall, ElicitationConfirm
from dogu.serve.mcp_results import result_of, tool_of
from dogu.version import __version__

if TYPE_CHECKING:
    import mcp_types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    Context = ServerRequestContext[Any]

_PROGRESS_EVERY_S = 0.1
_LONGEST_PROGRESS_CHARS = 2_000


async def serve_mcp(runtime: Runtime, asking: ElicitationConfirm, *, http_port: int | None = None) -> int:
    """Serve until the client goes; `asking` is what the runtime was opened with as `confirm`.

    Without `http_port` the protocol runs over standard input and output, which nothing else can write to meanwhile.
    With it (0: any free one), over streamable HTTP at `http://127.0.0.1:PORT/mcp`. Raises `ToolError` (START_FAILED)
    when the `mcp` extra isn't installed or the port is taken.
    """
    try:
        import_module("mcp.server.lowlevel")  # half a second, paid before the first message
    except ImportError as error:
        message = "The MCP door needs the package mcp: pip install 'dogu[mcp]'."
        raise ToolError(ErrorKind.START_FAILED, message) from error
    for note in runtime.notes:
        sys.stderr.write(f"{note}\n")
    server = _Door(runtime, asking).server()
    if http_port is None:
        from dogu.serve.mcp_streams import serve_standard_streams

        await serve_standard_streams(server)
    else:
        from dogu.serve.mcp_http import serve_http

        await serve_http(server, http_port)
    return 0


class _Door:
    """Answers requests. Calls that change something run one at a time, whichever client they come from."""

    def __init__(self, runtime: Runtime, asking: ElicitationConfirm) -> None:
        self._runtime = runtime
        self._asking = asking
        self._changing = anyio.Lock()
        self._numbers = itertools.count(1)

    def server(self) -> Server[Any]:
        """Make the protocol's server."""
        from mcp.server.lowlevel import Server

        return Server(
            "dogu",
            version=__version__,
            title="dogu",
            instructions=_instructions(self._runtime),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
        )

    async def list_tools(
        self, _context: Context, _params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        """Declare the tools as they are now."""
        import mcp_types

        return mcp_types.ListToolsResult(tools=[tool_of(tool) for tool in self._runtime.registry])

    async def call_tool(
        self, context: Context, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        """Run a call; every failure is a result, so that the model reads it."""
        call = ToolCall(f"mcp-{next(self._numbers)}", params.name, params.arguments or {})
        asked = AskedCall(context, params.input_responses or {}, params.request_state or "")
        with self._asking.during(call.call_id, asked):
            answer = await self._run(call, context)
        return asked.needed or result_of(answer.result)

    async def _run(self, call: ToolCall, context: Context) -> ToolAnswer:
        progress = _Progress(context)
        async with AsyncExitStack() as stack:
            registry = self._runtime.registry
            if call.name in registry and not registry.get(call.name).kind.changes_nothing:
                await stack.enter_async_context(self._changing)
            group = await stack.enter_async_context(anyio.create_task_group())
            group.start_soon(progress.send)
            answer = await self._runtime.executor.run(call, progress.take)
            group.cancel_scope.cancel()
        return answer


class _Progress:
    """Tells a call's live output as progress: what is new, at most ten times a second, however much there is."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._is_wanted = "progress_token" in (context.meta or {})
        self._new = ""
        self._count = 0
        self._has_new = anyio.Event()

    def take(self, event: object) -> None:
        """Take an event of the executor."""
        if self._is_wanted and isinstance(event, CallOutput):
            self._count += len(event.text)
            self._new = (self._new + event.text)[-_LONGEST_PROGRESS_CHARS:]
            self._has_new.set()
        elif isinstance(event, Noted):
            sys.stderr.write(f"{event.text}\n")

    async def send(self) -> None:
        """Send until cancelled; the measure of progress is the number of characters printed."""
        from dogu.serve.mcp_results import writable
        from dogu.workspace.visible import strip_escapes

        while self._is_wanted:
            await self._has_new.wait()
            self._has_new = anyio.Event()
            text, self._new = self._new, ""
            try:
                await self._context.session.report_progress(self._count, None, writable(strip_escapes(text)))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the client is going: the call is cancelled next
            await anyio.sleep(_PROGRESS_EVERY_S)


def _instructions(runtime: Runtime) -> str:
    roots = ", ".join(runtime.roots)
    return (
        f"Tools over these folders: {roots}. Relative paths are relative to the first. Edits are exact: read a file "
        "before you replace text in it. Whatever changes something may be put before a person first."
    )
