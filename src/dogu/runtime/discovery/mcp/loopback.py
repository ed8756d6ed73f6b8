"""The address on this machine to which an authorization server sends the person's browser back.

Source: RFC 8252, section 7.3.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketStream

from dogu.language import say

_PATIENCE_S = 300.0
_LONGEST_REQUEST_BYTES = 16_384


class Callback:
    """What came back: `parameters` is filled in once `came` is set."""

    def __init__(self) -> None:
        self.came = anyio.Event()
        self.parameters: dict[str, str] = {}

    async def wait(self) -> dict[str, str]:
        """Wait for the browser, five minutes at most. Raises `TimeoutError`."""
        with anyio.fail_after(_PATIENCE_S):
            await self.came.wait()
        return self.parameters


def free_port() -> int:
    """Return a port that nothing listens at, for now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def listening(redirect_uri: str) -> AsyncGenerator[Callback]:
    """Listen at the address's port while the context is open. Raises `OSError` when the port is taken."""
    wanted = urlsplit(redirect_uri)
    callback = Callback()

    async def serve(stream: SocketStream) -> None:
        async with stream:
            with anyio.move_on_after(10):
                await _answer(stream, wanted.path, callback)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=wanted.port or 80)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        try:
            yield callback
        finally:
            group.cancel_scope.cancel()


async def _answer(stream: SocketStream, path: str, callback: Callback) -> None:
    request = b""
    try:
        while b"\r\n\r\n" not in request and len(request) < _LONGEST_REQUEST_BYTES:
            request += await stream.receive()
        target = urlsplit(request.split(b" ", 2)[1].decode("ascii", "replace"))
        found = {name: values[0] for name, values in parse_qs(target.query).items()}
        is_it = target.path == path and ("code" in found or "error" in found)
        text = say("dogu has what it needs: you can close this page.") if is_it else say("There is nothing here.")
        body = text.encode()
        status = b"200 OK" if is_it else b"404 Not Found"
        head = b"HTTP/1.1 " + status + b"\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
        await stream.send(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    except (IndexError, anyio.EndOfStream, anyio.BrokenResourceError):
        return
    if is_it:
        callback.parameters = found
        callback.came.set()
