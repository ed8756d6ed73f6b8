"""MCP over streamable HTTP, on the loopback address only."""

from __future__ import annotations

import itertools
import json
import socket
import sys
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import uvicorn
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCResponse
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say
from dogu.serve.mcp.results import readable

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HOST = "127.0.0.1"
_NAMES = (_HOST, "localhost", "[::1]")
_OWN_NAMES = (_HOST, "localhost", "::1")
_RETRY_MS = 1000  # after which a client whose connection broke comes back
_LONGEST_REQUEST_BYTES = 128 << 20  # by standard streams a file may be written whole, too
_NO_HOST = "Requests are served that are sent to 127.0.0.1 or localhost by name.\n"
_NO_ORIGIN = "Requests of a web page of another origin are refused.\n"
_NO_MESSAGE = "A message is one JSON object of JSON-RPC 2.0, not a batch; a request's id is a number or a text."
_MOST_EVENTS, _MOST_EVENT_BYTES = 1000, 8_000_000


async def serve_http(server: Server[Any], port: int) -> None:
    """Serve clients of this machine until the process is told to end; the address is told on standard error.

    Requests that come by another host's name, or from a web page of any other origin, are refused. Raises `ToolError`
    (START_FAILED) when the port is taken.
    """
    own = TransportSecuritySettings(  # `_OwnPages` asks for more
        allowed_hosts=[f"{name}{port}" for name in _NAMES for port in ("", ":*")],  # without a port: at port 80
        allowed_origins=[f"http://{name}{port}" for name in _NAMES for port in ("", ":*")],
    )
    sessions = _Sessions(
        server, retry_interval=_RETRY_MS, security_settings=own, max_request_body_size=_LONGEST_REQUEST_BYTES
    )
    app = Starlette(routes=[Route("/mcp", StreamableHTTPASGIApp(sessions))], lifespan=lambda _app: sessions.run())
    # Its start and end are ours: uvicorn's own way shows a traceback where the whole is cancelled.
    whole = _OwnPages(_WholeRequests(app))
    config = uvicorn.Config(whole, log_level="warning", ws="none", lifespan="off", timeout_graceful_shutdown=2)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_HOST, port))
            listener.listen()  # before the address is told: whoever reads it may connect at once
        except OSError as error:
            message = say(
                "MCP can't be served at {host}:{port}: {reason}. --http 0 takes any free port.",
                host=_HOST,
                port=port,
                reason=error.strerror,
            )
            raise ToolError(ErrorKind.START_FAILED, message) from error
        address = f"http://{_HOST}:{listener.getsockname()[1]}/mcp"
        sys.stderr.write(say("Serving MCP at {address}", address=address) + "\n")
        sys.stderr.flush()
        async with app.router.lifespan_context(app):
            await _Serving(config).serve(sockets=[listener])


class _Sessions(StreamableHTTPSessionManager):
    """Gives each session events of its own: the SDK names them by requests' ids, which sessions have in common.

    It is read once a session.
    """

    @property
    def event_store(self) -> EventStore:
        return _Events()

    @event_store.setter
    def event_store(self, value: EventStore | None) -> None:
        pass


class _Events(EventStore):
    """What one session was sent lately, for a client that lost its connection and comes back (`Last-Event-ID`)."""

    def __init__(self) -> None:
        self._events: OrderedDict[int, _Event] = OrderedDict()
        self._numbers = itertools.count(1)
        self._bytes = 0
        self._has_new = anyio.Event()

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep a message, None for the beginning of a stream; progress, which is told anew, stands for what was before.

        The oldest go where they are too many.
        """
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/progress":
            return str(next((each for each in reversed(self._events) if self._events[each].stream_id == stream_id), 0))
        number = next(self._numbers)
        event = _Event(stream_id, message, len(message.model_dump_json()) if message is not None else 0)
        self._events[number] = event
        self._bytes += event.size_bytes
        while len(self._events) > 1 and (len(self._events) > _MOST_EVENTS or self._bytes > _MOST_EVENT_BYTES):
            self._bytes -= self._events.popitem(last=False)[1].size_bytes
        self._has_new.set()
        return str(number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> None:
        """Send what came after that event in its stream, and what comes, until the answer; nothing is left to the SDK.

        It would register the stream a moment later, and what came in between would be lost.
        """
        sent = int(last_event_id) if last_event_id.isascii() and last_event_id.isdecimal() else 0
        if sent not in self._events:
            return
        stream_id = self._events[sent].stream_id
        while True:
            self._has_new = anyio.Event() if self._has_new.is_set() else self._has_new
            for number in [
                each for each, event in self._events.items() if each > sent and event.stream_id == stream_id
            ]:
                message, sent = self._events[number].message, number
                if message is not None:
                    await send_callback(EventMessage(message, str(number)))
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    return
            await self._has_new.wait()


@dataclass(frozen=True)
class _Event:
    stream_id: str
    message: JSONRPCMessage | None
    size_bytes: int


class _OwnPages:
    """Refuses what a web page of another origin sends: its scheme, host and port must be those it sends it to.

    The SDK takes pages of any port of this machine, and whatever begins with its address.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            host = _place_of(f"http://{headers.get(b'host', b'').decode('latin-1')}")
            origin = headers.get(b"origin", b"").decode("latin-1")
            if host is None or (origin and _place_of(origin) not in {(name, host[1]) for name in _OWN_NAMES}):
                why = _NO_HOST if host is None else _NO_ORIGIN
                await PlainTextResponse(why, 421 if host is None else 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _WholeRequests:
    """Hands on what is posted when all of it has come, as text that the SDK can read: as by standard streams.

    A client that goes before is no defect, and nobody is there to be answered. What is too long the SDK refuses.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body, is_more = bytearray(), True
        while is_more and len(body) <= _LONGEST_REQUEST_BYTES:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            is_more = message.get("more_body", False)
        text = "" if is_more else readable(bytes(body))
        if not text and not is_more and _is_json(body):
            error = ErrorData(code=INVALID_REQUEST, message=_NO_MESSAGE)
            refusal = JSONRPCError(jsonrpc="2.0", id=None, error=error).model_dump_json()
            await Response(refusal, 400, media_type="application/json")(scope, receive, send)
            return
        held = [{"type": "http.request", "body": text.encode() or bytes(body), "more_body": is_more}]

        async def receive_held() -> Message:
            return held.pop() if held else await receive()

        await self._app(scope, receive_held, send)


def _is_json(body: bytearray) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _place_of(address: str) -> tuple[str, int] | None:
    """Return name and port of this machine's addresses; None for what is none."""
    try:
        parts = urlsplit(address)
        place = (parts.hostname or "", parts.port or 80)
    except ValueError:
        return None
    is_bare = parts.scheme == "http" and not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
    return place if is_bare and place[0] in _OWN_NAMES else None


class _Serving(uvicorn.Server):
    """Leaves signals to the program: one that ends it cancels what runs here, and its status says which it was."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
