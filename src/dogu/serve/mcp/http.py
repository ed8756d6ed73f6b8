"""MCP over streamable HTTP, on the loopback address only."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING, Any

import uvicorn

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

_HOST = "127.0.0.1"


async def serve_http(server: Server[Any], port: int) -> None:
    """Serve clients of this machine until the process is told to end; the address is told on standard error.

    Requests that come by another host's name, or from a web page of another origin, are refused. Raises `ToolError`
    (START_FAILED) when the port is taken.
    """
    app = server.streamable_http_app(host=_HOST)
    config = uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=2)
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
        await uvicorn.Server(config).serve(sockets=[listener])
