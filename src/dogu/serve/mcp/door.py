"""The door for other agents: every tool of ours over the Model Context Protocol, by standard streams or HTTP."""

from __future__ import annotations

import codecs
import json
import math
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from dogu.contract.errors import ToolError
from dogu.language import say
from dogu.runtime.runtime import Runtime
from dogu.serve.mcp import TASK_AFTER_S
from dogu.serve.mcp.asking import ElicitationConfirm
from dogu.serve.mcp.caller import CALLER, AskedCall, McpCaller
from dogu.serve.mcp.calls import Calls
from dogu.serve.mcp.changes import Changes
from dogu.serve.mcp.library import Library, start_of
from dogu.serve.mcp.offers import Offers
from dogu.serve.mcp.requests import UnderWay, refuse_in_words
from dogu.serve.mcp.results import has_id, readable, tool_of, writable
from dogu.serve.mcp.session_offers import session_uri
from dogu.serve.mcp.tasks import Tasks
from dogu.serve.mcp.workspaces import OpenAt, Workspaces, client_id
from dogu.serve.private_streams import lines_of, private_input, request_id_in
from dogu.version import __version__

if TYPE_CHECKING:
    import anyio
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.shared._stream_protocols import WriteStream

    Context = ServerRequestContext[Any]


async def serve_standard_streams(server: Server[Any]) -> None:
    """Serve one client until it closes standard input; calls that still run a moment later are cancelled then."""
    under_way = UnderWay()
    server.middleware.insert(0, under_way)
    with private_input() as private:
        # The SDK reads lines in a thread, which no cancellation reaches: SIGTERM would wait for the client's next line.
        refuse, refused = anyio.create_memory_object_stream[SessionMessage](math.inf)
        lines = cast("anyio.AsyncFile[str]", _lines(private, refuse, under_way))
        async with stdio_server(stdin=lines) as (read_stream, write_stream), anyio.create_task_group() as group:
            group.start_soon(_send_all, refused, write_stream)
            await server.run(read_stream, write_stream, server.create_initialization_options())
            group.cancel_scope.cancel()


async def _send_all(messages: MemoryObjectReceiveStream[SessionMessage], to: WriteStream[SessionMessage]) -> None:
    async with messages:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the client has gone after half a line
            async for message in messages:
                await to.send(message)


async def _lines(
    descriptor: int, refuse: MemoryObjectSendStream[SessionMessage], under_way: UnderWay
) -> AsyncIterator[str]:
    """Yield the lines as text that the SDK can read: it drops others, and their senders would wait for an answer.

    Bytes and halves of characters that are no text are replaced. A request that is still none is refused by its id.
    At the end it waits a moment for what is under way: who pipes requests in has closed the pipe before the answers.
    """
    async with refuse:
        async for each in lines_of(descriptor, _LONGEST_LINE_BYTES):
            for line in _messages(_TOO_LONG if each is None else each):
                text = readable(line)
                if text:
                    yield text
                elif line.strip():
                    _refuse(line, refuse)
        with anyio.move_on_after(_LAST_ANSWERS_S):
            await anyio.sleep(_STEP_S)
            await under_way.end()
            await anyio.sleep(_STEP_S)


def _messages(line: bytes) -> list[bytes]:
    """Return the messages of a line: one, or those of a batch, which the protocol had in 2025-03-26."""
    line = line.removeprefix(codecs.BOM_UTF8)
    if line.lstrip().startswith(b"["):
        with suppress(ValueError, RecursionError):
            return [json.dumps(each).encode() for each in json.loads(line)] or [line]
    return [line]


def _refuse(line: bytes, refuse: MemoryObjectSendStream[SessionMessage]) -> None:
    number = request_id_in(line)
    if number is None and not has_id(line):
        sys.stderr.write(say("A line that isn't a message of the protocol was skipped.") + "\n")
        return
    problem = mcp_types.ErrorData(code=_INVALID_REQUEST, message=say("This request can't be read."))
    error = mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=problem)
    refuse.send_nowait(SessionMessage(error))


_INVALID_REQUEST = -32600
_LONGEST_LINE_BYTES = 256 << 20
_TOO_LONG = b"(too long)"  # no message either
_STEP_S = 0.05  # until the last line's request is under way, and until its answer is written
_LAST_ANSWERS_S = 1.5  # clients wait two seconds before they end a server that they have left
_FRESH_MS = 1_000  # lists may be others a moment later; those who keep them longer listen for changes


async def serve_mcp(
    runtime: Runtime,
    asking: ElicitationConfirm,
    *,
    http_port: int | None = None,
    offers: Offers | None = None,
    open_at: OpenAt | None = None,
    task_after_s: float = TASK_AFTER_S,
) -> int:
    """Serve until the client goes; `asking` is what the runtime was opened with as `confirm`.

    Without `http_port` the protocol runs over standard input and output, which nothing else can write to meanwhile.
    With it (0: any free one), over streamable HTTP at `http://127.0.0.1:PORT/mcp`. `offers` are resources and prompts
    beside the tools. `open_at` opens a runtime in the roots that a client names; None keeps to the one given. A call of
    a client that takes tasks becomes one after `task_after_s`. Raises `ToolError` (START_FAILED) when the port is
    taken.
    """
    for note in runtime.notes:
        sys.stderr.write(f"{say(note)}\n")
    async with mcp_server(runtime, asking, offers or Offers(), open_at, task_after_s=task_after_s) as server:
        if http_port is None:
            await serve_standard_streams(server)
        else:
            from dogu.serve.mcp.http import serve_http

            await serve_http(server, http_port)
    return 0


@asynccontextmanager
async def mcp_server(
    runtime: Runtime,
    asking: ElicitationConfirm,
    offers: Offers,
    open_at: OpenAt | None = None,
    *,
    task_after_s: float = TASK_AFTER_S,
) -> AsyncGenerator[Server[Any]]:
    """Give the SDK's server over a runtime, for whoever brings a transport of their own."""
    async with anyio.create_task_group() as group:
        changes = Changes(offers)
        group.start_soon(changes.tell)
        workspaces = Workspaces(runtime, open_at, group, changes.watch)
        yield _Door(workspaces, changes, asking, Library(offers), Tasks(group, task_after_s)).server()
        group.cancel_scope.cancel()


class _Door:
    """Answers requests."""

    def __init__(
        self, workspaces: Workspaces, changes: Changes, asking: ElicitationConfirm, library: Library, tasks: Tasks
    ) -> None:
        self._workspaces = workspaces
        self._changes = changes
        self._library = library
        self._tasks = tasks
        self._calls = Calls(workspaces, asking, self._call_ended)
        self._levels: dict[str, str] = {}

    def server(self) -> Server[Any]:
        """Make the protocol's server."""
        fresh = CacheHint(ttl_ms=_FRESH_MS, scope="private")
        server = _server_type()(
            "dogu",
            version=__version__,
            title="dogu",
            instructions=_instructions(self._workspaces.first),
            cache_hints={
                "tools/list": fresh,
                "prompts/list": fresh,
                "resources/list": fresh,
                "resources/templates/list": fresh,
            },
            on_list_tools=self.list_tools,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_subscriptions_listen=self._changes.listen,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_completion=self.complete,
        )
        # These two are for the handshake's generation alone, and the SDK warns of them in the constructor.
        server.add_request_handler("logging/setLevel", mcp_types.SetLevelRequestParams, self.set_level)
        roots = "notifications/roots/list_changed"
        server.add_notification_handler(roots, mcp_types.NotificationParams, self.roots_changed)
        # The constructor's type knows of no extensions.
        server.add_request_handler("tools/call", mcp_types.CallToolRequestParams, self.call_tool)
        self._tasks.serve(server)
        server.middleware.append(refuse_in_words)
        server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="dogu"))
        return server

    async def list_tools(
        self, context: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        """Declare the tools as they are now."""
        start_of(params.cursor if params else None)
        self._changes.meet(context)
        runtime = await self._runtime(context)
        return mcp_types.ListToolsResult(tools=[tool_of(tool) for tool in runtime.registry])

    async def call_tool(
        self, context: Context, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult | dict[str, Any]:
        """Run a call; every failure is a result, so that the model reads it. A long one may become a task."""
        with self._asking(context, params) as asked:
            return await self._tasks.run(asked, partial(self._calls.run, asked, params))

    async def list_resources(
        self, context: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourcesResult:
        """List the resources: the offers', and the session's record."""
        self._changes.meet(context)
        return self._library.list_resources(await self._runtime(context), params.cursor if params else None)

    async def list_templates(
        self, context: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourceTemplatesResult:
        """List the templates."""
        self._changes.meet(context)
        return self._library.list_templates(params.cursor if params else None)

    async def read_resource(
        self, context: Context, params: mcp_types.ReadResourceRequestParams
    ) -> mcp_types.ReadResourceResult | mcp_types.InputRequiredResult:
        """Read a resource."""
        with self._asking(context, params) as asked:
            try:
                return await self._library.read(self._workspaces.open, str(params.uri))
            except ToolError as error:
                return asked.needed or _raise(asked, error)

    async def subscribe(self, context: Context, params: mcp_types.SubscribeRequestParams) -> mcp_types.EmptyResult:
        """Tell this client of changes of a resource."""
        self._changes.meet(context)
        self._changes.subscribe(context, str(params.uri))
        return mcp_types.EmptyResult()

    async def unsubscribe(self, context: Context, params: mcp_types.UnsubscribeRequestParams) -> mcp_types.EmptyResult:
        """Don't, any more."""
        self._changes.unsubscribe(context, str(params.uri))
        return mcp_types.EmptyResult()

    async def list_prompts(
        self, context: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListPromptsResult:
        """List the prompts."""
        self._changes.meet(context)
        return self._library.list_prompts(params.cursor if params else None)

    async def get_prompt(
        self, context: Context, params: mcp_types.GetPromptRequestParams
    ) -> mcp_types.GetPromptResult | mcp_types.InputRequiredResult:
        """Make a prompt."""
        with self._asking(context, params) as asked:
            try:
                return await self._library.get_prompt(params.name, params.arguments)
            except ToolError as error:
                return asked.needed or _raise(asked, error)

    async def complete(self, _context: Context, params: mcp_types.CompleteRequestParams) -> mcp_types.CompleteResult:
        """Complete an argument."""
        return self._library.complete(params)

    async def set_level(self, context: Context, params: mcp_types.SetLevelRequestParams) -> mcp_types.EmptyResult:
        """Send this client no messages below the level."""
        self._levels[client_id(context)] = params.level
        return mcp_types.EmptyResult()

    async def roots_changed(self, context: Context, _params: mcp_types.NotificationParams) -> None:
        """Ask for the roots anew with the next request."""
        self._workspaces.forget(context)

    async def _runtime(self, context: Context) -> Runtime:
        try:
            return await self._workspaces.of(context)
        except ToolError as error:
            sys.stderr.write(f"{error.message}\n")
            return self._workspaces.first

    @contextmanager
    def _asking(self, context: Context, params: Any) -> Generator[AskedCall]:
        """Let what runs inside ask this client."""
        self._changes.meet(context)
        asked = AskedCall(context, params.input_responses or {}, params.request_state or "")
        token = CALLER.set(McpCaller(asked, self._levels.get(client_id(context), "debug")))
        try:
            yield asked
        finally:
            CALLER.reset(token)

    def _call_ended(self, runtime: Runtime) -> None:
        for what in ("changes", "record"):
            self._changes.touch(session_uri(runtime, what))


def _raise(asked: AskedCall, error: ToolError) -> Any:
    raise asked.failure or MCPError(mcp_types.INTERNAL_ERROR, error.message) from error


def _server_type() -> type[Server[Any]]:
    """The SDK's server, which says in every transport that changes of its lists are told."""

    class TellingServer(Server[Any]):
        def create_initialization_options(
            self,
            notification_options: NotificationOptions | None = None,
            experimental_capabilities: dict[str, dict[str, Any]] | None = None,
            extensions: dict[str, dict[str, Any]] | None = None,
        ) -> InitializationOptions:
            told = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
            return super().create_initialization_options(
                notification_options or told, experimental_capabilities, extensions
            )

    return TellingServer


def _instructions(runtime: Runtime) -> str:
    roots = writable(", ".join(runtime.roots))
    return (
        f"Tools over these folders: {roots}; or, where the client has roots and none were named at the start, over its "
        "roots. Relative paths are relative to the first. Edits are exact: read a file before you replace text in it. "
        "Whatever changes something may be put before a person first."
    )
