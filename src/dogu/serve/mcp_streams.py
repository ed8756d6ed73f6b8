"""MCP over standard input and output. Nothing but the protocol reaches them: stray output goes to standard error."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

import anyio

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

_PIECE_BYTES = 1 << 16


async def serve_standard_streams(server: Server[Any]) -> None:
    """Serve one client until it closes standard input; calls that still run are cancelled then."""
    from mcp.server.stdio import stdio_server

    private = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)  # a tool that reads standard input finds its end, not the protocol
    os.close(nothing)
    try:
        # The SDK reads lines in a thread, which no cancellation reaches: SIGTERM would wait for the client's next line.
        lines = cast("anyio.AsyncFile[str]", _lines(private))
        async with stdio_server(stdin=lines) as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())
    finally:
        os.dup2(private, 0)
        os.close(private)


async def _lines(descriptor: int) -> AsyncIterator[str]:
    """Yield the lines of a descriptor, a last one without its end among them; bytes that are no text are replaced."""
    can_wait = not stat.S_ISREG(os.fstat(descriptor).st_mode)
    pending: list[bytes] = []
    while True:
        if can_wait:
            await anyio.wait_readable(descriptor)
        piece = os.read(descriptor, _PIECE_BYTES)
        if not piece:
            break
        first, *rest = piece.split(b"\n")
        pending.append(first)
        for line in rest:
            yield b"".join(pending).decode("utf-8", "replace")
            pending = [line]
    if any(pending):
        yield b"".join(pending).decode("utf-8", "replace")
