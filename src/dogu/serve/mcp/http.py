"""MCP over streamable HTTP, on the loopback address only."""

from __future__ import annotations

import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import uvicorn

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

_HOST = "127.0.0.1"
_OWN_NAMES = (_HOST, "localhost", "::1")


async def serve_http(server: Server[Any], port: int) -> None:
    """Serve clients of this machine until the process is told to end; the address is told on standard error.

    Requests that come by another host's name, or from a web page of any other origin, are refused. Raises `ToolError`
    (START_FAILED) when the port is taken.
    """
    app = server.streamable_http_app(host=_HOST)
    # Its start and end are ours: uvicorn's own way shows a traceback where the whole is cancelled.
    config = uvicorn.Config(_OwnPages(app), log_level="warning", ws="none", lifespan="off", timeout_graceful_shutdown=2)
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
                await send({"type": "http.response.start", "status": 421 if host is None else 403, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)


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
