"""A connection to one MCP server: opened, greeted, listed, called. Imports the SDK: import it late.

What a server answers to `tools/list` and `tools/call` is taken as it came: the SDK's checks would drop all tools for
one bad schema and a whole result for one block it doesn't know.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import anyio
import httpx2
import mcp_types
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from dogu.contract import JsonObject
from dogu.runtime.discovery.mcp_entries import ServerEntry
from dogu.runtime.discovery.mcp_stdio import MAX_LINE_BYTES, ServerProgram, started
from dogu.version import __version__

# What goes wrong with a server or on the way to it; anything else is a defect of ours.
# (The SDK raises whatever Python does when a server sends what it doesn't foresee.)
FAILURES = (
    MCPError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    OSError,
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
)

_RAW = "dogu/raw"
_MOST_PAGES = 100
_MOST_TOOLS = 2_000


class _RawDispatcher(JSONRPCDispatcher[Any]):
    """Keeps answers about tools, and hands the session an empty one that says where."""

    def __init__(self, read_stream: ReadStream[SessionMessage | Exception], write_stream: WriteStream[SessionMessage]):
        super().__init__(read_stream, write_stream)
        self._kept: dict[str, JsonObject] = {}
        self._numbers = itertools.count(1)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **more: Any
    ) -> dict[str, Any]:
        answer = await super().send_raw_request(method, params, opts, **more)
        if method not in ("tools/list", "tools/call"):
            return answer
        key = str(next(self._numbers))
        self._kept[key] = answer
        empty: list[object] = []
        fresh = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": {_RAW: key}}
        return {"tools": empty, "content": empty, **fresh}

    def raw(self, result: mcp_types.Result) -> JsonObject:
        """Return, once, the answer in whose place the result came."""
        return self._kept.pop(str((result.meta or {})[_RAW]))


class Connection:
    """An open connection. `closed` is set when the server is gone; `changed` when it says that its tools changed."""

    def __init__(
        self, session: ClientSession, raw: _RawDispatcher, closed: anyio.Event, stderr_tail: Callable[[], str]
    ) -> None:
        self.closed = closed
        self.stderr_tail = stderr_tail
        self._session = session
        self._raw = raw

    async def greet(self) -> None:
        """Agree on a protocol: the handshake, or 2026-07-28 where the server knows nothing else.

        The handshake is first: a program may wait for it and nothing else, and after it the SDK tells at once when a
        server over HTTP dies in a call.
        """
        try:
            await self._session.initialize()
        except (MCPError, ValueError) as error:
            if self.closed.is_set():
                raise
            try:
                await self._session.discover()
            except MCPError:
                raise error from None

    async def list_tools(self) -> tuple[list[object], list[str]]:
        """Return the raw declarations of all pages, and what was wrong with the pages."""
        tools: list[object] = []
        seen: set[str] = set()
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            params = None if cursor is None else mcp_types.PaginatedRequestParams(cursor=cursor)
            request = mcp_types.ListToolsRequest(params=params)
            page = self._raw.raw(await self._session.send_request(request, mcp_types.ListToolsResult))
            found = page.get("tools")
            if not isinstance(found, list):
                return tools, ["it listed its tools as something that is no list"]
            tools += [tool for tool in cast("list[object]", found) if self._learn_headers(tool)]
            following = page.get("nextCursor")
            if not isinstance(following, str) or len(tools) > _MOST_TOOLS:
                break
            if following in seen:
                return tools, ["its list of tools never ends: a page names itself as the next"]
            seen.add(following)
            cursor = following
        else:
            return tools, [f"its list of tools has more than {_MOST_PAGES} pages: the rest was left out"]
        if len(tools) > _MOST_TOOLS:
            return tools[:_MOST_TOOLS], [f"it has more than {_MOST_TOOLS} tools: the rest was left out"]
        return tools, []

    def _learn_headers(self, tool: object) -> bool:
        """Learn which arguments a tool of 2026-07-28 wants as HTTP headers; False for a tool that may not be used.

        Source: the specification of 2026-07-28, `x-mcp-header`.
        """
        declared = cast("JsonObject", tool) if isinstance(tool, dict) else {}
        name, schema = declared.get("name"), declared.get("inputSchema")
        if not self._is_modern or not isinstance(name, str) or not isinstance(schema, dict):
            return True
        try:
            if find_invalid_x_mcp_header(cast("JsonObject", schema)) is not None:
                return False
            found = x_mcp_header_map(cast("JsonObject", schema))
        except FAILURES:
            return True  # no schema that any tool can be made of: it is told later
        self._session._x_mcp_header_maps[name] = found  # pyright: ignore[reportPrivateUsage]  (filled by the SDK only from lists it has checked as a whole)
        return True

    @property
    def _is_modern(self) -> bool:
        return self._session.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def call(self, name: str, arguments: JsonObject, progress: ProgressFnT) -> JsonObject:
        """Return the raw answer. Raises one of `FAILURES`; leaving it cancelled tells the server."""
        request = mcp_types.CallToolRequest(params=mcp_types.CallToolRequestParams(name=name, arguments=arguments))
        answer = await self._session.send_request(request, mcp_types.CallToolResult, progress_callback=progress)
        return self._raw.raw(answer)


@asynccontextmanager
async def connected(
    entry: ServerEntry,
    program: Callable[[ServerEntry], ServerProgram],
    tell: Callable[[str], None],
    on_change: Callable[[], None],
) -> AsyncGenerator[Connection]:
    """Open a connection; nothing is said yet. Raises one of `FAILURES`, perhaps in an exception group."""

    async def hear(message: object) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            on_change()
        await anyio.lowlevel.checkpoint()

    async with AsyncExitStack() as stack:
        closed, stderr_tail = anyio.Event(), str
        if entry.command:
            link = await stack.enter_async_context(started(_found(program(entry)), tell))
            streams, closed, stderr_tail = link.streams, link.closed, link.stderr_tail
        else:
            streams = await _open_http(stack, entry)
        dispatcher = _RawDispatcher(*streams)
        client = mcp_types.Implementation(name="dogu", version=__version__)
        session = ClientSession(dispatcher=dispatcher, client_info=client, message_handler=hear)
        yield Connection(await stack.enter_async_context(session), dispatcher, closed, stderr_tail)


async def _open_http(
    stack: AsyncExitStack, entry: ServerEntry
) -> tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]:
    timeout = httpx2.Timeout(30, read=entry.timeout_s)
    client = await stack.enter_async_context(httpx2.AsyncClient(headers=dict(entry.headers), timeout=timeout))
    address = entry.http_url or entry.url
    if entry.url and await _speaks_sse(client, address):
        return await stack.enter_async_context(
            sse_client(address, headers=dict(entry.headers), timeout=30, sse_read_timeout=86_400)
        )
    return await stack.enter_async_context(
        streamable_http_client(address, http_client=client, max_sse_event_size=MAX_LINE_BYTES)
    )


async def _speaks_sse(client: httpx2.AsyncClient, address: str) -> bool:
    """Whether the older transport answers there: a POST is refused, a GET begins a stream with an endpoint.

    Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports, backwards compatibility.
    """
    accept = {"Accept": "application/json, text/event-stream"}
    greeting = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
    answer = await client.post(address, json=greeting, headers=accept)
    if answer.status_code not in (404, 405):
        return False
    async with client.stream("GET", address, headers={"Accept": "text/event-stream"}) as stream:
        return stream.status_code == 200


def _found(program: ServerProgram) -> ServerProgram:
    """Find the program on the server's own PATH, which need not be ours. Raises `FileNotFoundError`."""
    command = program.argv[0]
    path = shutil.which(
        os.path.join(program.directory, command) if "/" in command else command, path=program.environment.get("PATH")
    )
    if path is None:
        raise FileNotFoundError(2, "there is no such program", command)
    return ServerProgram((path, *program.argv[1:]), program.environment, program.directory)
