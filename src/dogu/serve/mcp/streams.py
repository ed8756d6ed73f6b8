"""MCP over standard input and output. Nothing but the protocol reaches them: stray output goes to standard error."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

from mcp.server.stdio import stdio_server

from dogu.serve.private_streams import lines_of, private_input

if TYPE_CHECKING:
    import anyio
    from mcp.server.lowlevel import Server


async def serve_standard_streams(server: Server[Any]) -> None:
    """Serve one client until it closes standard input; calls that still run are cancelled then."""
    with private_input() as private:
        # The SDK reads lines in a thread, which no cancellation reaches: SIGTERM would wait for the client's next line.
        lines = cast("anyio.AsyncFile[str]", _lines(private))
        async with stdio_server(stdin=lines) as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())


async def _lines(descriptor: int) -> AsyncIterator[str]:
    """Yield the lines as text; bytes that are no text are replaced."""
    async for line in lines_of(descriptor):
        yield (line or b"").decode("utf-8", "replace")
