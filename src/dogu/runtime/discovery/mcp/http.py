"""Far MCP servers: streamable HTTP and SSE. Imports the SDK: import it late."""

from __future__ import annotations

from contextlib import AsyncExitStack

import anyio
import httpx2
from anyio import to_thread
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from dogu.runtime.discovery.mcp.answers import Answering
from dogu.runtime.discovery.mcp.entries import ServerEntry
from dogu.runtime.discovery.mcp.oauth import ShowAddress, provider_of
from dogu.runtime.discovery.mcp.stdio import MAX_LINE_BYTES
from dogu.runtime.discovery.mcp.tokens import TokenStore
from dogu.runtime.discovery.mcp.wire import ASKED_FOR, mend

_SSE_SILENCE_S = 86_400


class HttpLink:
    """A far server's link: it has no errors to read, and is known to be gone only when a request fails."""

    def __init__(self) -> None:
        self.asks_first = True
        self.closed = anyio.Event()
        self.was_not_logged_in = False
        self._status = 0

    def stderr_tail(self) -> str:
        """Nothing."""
        return ""

    def wants_login(self) -> bool:
        """Whether the last answer was that one must log in, or nobody was there to do it."""
        return self._status == 401 or self.was_not_logged_in

    async def take(self, response: httpx2.Response) -> None:
        """Take note of an answer, and have it mended while it is read."""
        self._status = response.status_code
        mend(response, MAX_LINE_BYTES)


async def opened_http(
    stack: AsyncExitStack, entry: ServerEntry, answering: Answering, link: HttpLink, login: ShowAddress | None
) -> tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]:
    """Open the transport. `login` begins a login where one is wanted; else one is only gone on with."""
    store = TokenStore(answering.host.state_folder)
    has_own = any(name.lower() == "authorization" for name in entry.headers)
    auth = None
    if not has_own and entry.oauth.is_enabled:

        async def ask(address: str) -> bool:
            link.was_not_logged_in = not await answering.ask_to_log_in(address)
            return not link.was_not_logged_in

        show = login or ask
        auth = await to_thread.run_sync(lambda: provider_of(entry, store, show, may_begin=login is not None))
    timeout = httpx2.Timeout(30, read=entry.timeout_s)

    def new_client(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = timeout, auth: httpx2.Auth | None = auth
    ) -> httpx2.AsyncClient:
        wanted = {**ASKED_FOR, **(headers or {})}
        return httpx2.AsyncClient(headers=wanted, timeout=timeout, auth=auth, event_hooks={"response": [link.take]})

    client = await stack.enter_async_context(new_client(dict(entry.headers)))
    address = entry.http_url or entry.url
    if entry.url and await _speaks_sse(client, address):
        link.asks_first = False
        headers = dict(entry.headers)
        events = sse_client(address, headers, 30, _SSE_SILENCE_S, httpx_client_factory=new_client, auth=auth)
        return await stack.enter_async_context(events)
    return await stack.enter_async_context(
        streamable_http_client(address, http_client=client, max_sse_event_size=MAX_LINE_BYTES)
    )


async def _speaks_sse(client: httpx2.AsyncClient, address: str) -> bool:
    """Whether the older transport answers there: a POST is refused, a GET begins a stream with an endpoint.

    Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports, backwards compatibility.
    """
    accept = {"Accept": "application/json, text/event-stream"}
    greeting = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
    async with client.stream("POST", address, json=greeting, headers=accept) as answer:
        if answer.status_code not in (404, 405):
            return False
    async with client.stream("GET", address, headers={"Accept": "text/event-stream"}) as stream:
        return stream.status_code == 200
