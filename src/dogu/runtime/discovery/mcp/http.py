"""Far MCP servers: streamable HTTP and SSE. Imports the SDK: import it late.

Answers are mended before the SDK reads them: one odd byte must not cost everything it stands among.

Source: measured with the SDK 2.3, which drops a whole answer for a byte that is no UTF-8, for half a character or for
one schema nested deeper than 200 levels, has no limit for a plain JSON answer or for what a compressed one becomes, and
loses the whole connection to an answer that breaks off.
"""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, cast

import anyio
import httpx2
from anyio import to_thread
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from pydantic_core import from_json

from dogu.language import told
from dogu.runtime.discovery.mcp.answers import Answering
from dogu.runtime.discovery.mcp.entries import ServerEntry
from dogu.runtime.discovery.mcp.oauth import ShowAddress, provider_of
from dogu.runtime.discovery.mcp.stdio import MAX_LINE_BYTES
from dogu.runtime.discovery.mcp.tokens import TokenStore
from dogu.workspace.web.inflate import ACCEPTED, InflateError, Inflating, encoding_of

ASKED_FOR = {"Accept-Encoding": ACCEPTED}
"""The header that says which compressed answers can be read: those whose size is bounded while they are."""

_DEEPEST = 100
_RECURSION = 5_000


class AnswerError(httpx2.SSEError, httpx2.StreamError):
    """An answer that can't be read to its end. Both kinds of error: the SDK lets each cost one answer somewhere."""


def mend(response: httpx2.Response, max_bytes: int) -> None:
    """Have the body decompressed and mended while it is read, and cut off past `max_bytes` a message."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    encoding = encoding_of(response.headers.pop("content-encoding", ""))  # or httpx would decode it once more
    response.stream = _Mended(response.stream, kind, encoding, max_bytes)


class _Mended(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, kind: str, encoding: str, max_bytes: int) -> None:
        self._stream = stream
        self._is_events = kind == "text/event-stream"
        self._is_json = kind == "application/json"
        self._encoding = encoding
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        kept = bytearray()
        async for piece in self._inflated():
            end = piece.rfind(b"\n") + 1 if self._is_events else 0
            if end:
                kept += piece[:end]
                yield b"\n".join(map(_mended_line, bytes(kept).split(b"\n")))
                kept.clear()
            kept += piece[end:]
            if len(kept) > self._max_bytes:
                raise AnswerError(told("it answered with more than {limit} MB", limit=self._max_bytes // 10**6))
        if kept:
            yield self._mended_rest(bytes(kept))

    def _mended_rest(self, rest: bytes) -> bytes:
        if self._is_events:
            return _mended_line(rest)
        return mended(rest) if self._is_json else rest

    async def _inflated(self) -> AsyncIterator[bytes]:
        try:
            inflating = Inflating(self._encoding)
            async for data in self._stream:
                for piece in inflating.feed(data):
                    yield piece
                    await anyio.lowlevel.checkpoint()  # a small piece may become a very long answer
            inflating.check_whole()
        except InflateError as error:
            what = told(
                "its answer is compressed ({encoding}) and can't be read: {error}",
                encoding=ascii(self._encoding)[1:-1][:60],
                error=error,
            )
            raise AnswerError(what) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


def _mended_line(line: bytes) -> bytes:
    return b"data: " + mended(line[5:].strip()) if line.startswith(b"data:") else line


def mended(text: bytes) -> bytes:
    """Return JSON that any reader can read; what is no JSON at all stays, with its bytes made UTF-8."""
    if not text.startswith((b"{", b"[", b"\xef\xbb\xbf")):
        return text
    try:
        from_json(text)
    except ValueError:
        return _read_and_written(text.removeprefix(codecs.BOM_UTF8))
    return text


def _read_and_written(text: bytes) -> bytes:
    present = sys.getrecursionlimit()
    sys.setrecursionlimit(max(present, _RECURSION))
    try:
        value = _pruned(json.loads(text.decode("utf-8", "replace")), _DEEPEST)
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return text.decode("utf-8", "replace").encode()
    finally:
        sys.setrecursionlimit(present)


def _pruned(value: Any, levels: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if levels == 0:
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {key: _pruned(inner, levels - 1) for key, inner in cast("dict[str, Any]", value).items()}
    return [_pruned(inner, levels - 1) for inner in cast("list[Any]", value)]


_SSE_SILENCE_S = 86_400


class HttpLink:
    """A far server's link: it has no errors to read, and is known to be gone only when a request fails."""

    def __init__(self) -> None:
        self.asks_first = True
        self.closed = anyio.Event()
        self.was_not_logged_in = False
        self.logs_in_itself = False
        self._status = 0

    def stderr_tail(self) -> str:
        """Nothing."""
        return ""

    def stray(self) -> str:
        """Nothing."""
        return ""

    def wants_login(self) -> bool:
        """Whether the last answer was that one must log in, or nobody was there to do it."""
        return not self.logs_in_itself and (self._status == 401 or self.was_not_logged_in)

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

        link.logs_in_itself = bool(entry.oauth.grant)
        show = login or ask
        auth = await to_thread.run_sync(lambda: _login_of(entry, store, show, may_begin=login is not None))
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


def _login_of(entry: ServerEntry, store: TokenStore, show: ShowAddress, *, may_begin: bool) -> httpx2.Auth | None:
    """Return what logs requests in, by the user or without one; None without a login. Blocks."""
    oauth = entry.oauth
    if not (oauth.grant or oauth.proves_possession):
        return provider_of(entry, store, show, may_begin=may_begin)
    from dogu.runtime.discovery.mcp.machine_login import Possession, machine_login

    if oauth.grant:
        return Possession(machine_login(entry), {}) if oauth.proves_possession else machine_login(entry)
    login = provider_of(entry, store, show, may_begin=may_begin)
    return Possession(login, login.kept) if login is not None else None


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
