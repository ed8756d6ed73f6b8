"""MCP servers of the settings, wired to a runtime."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from dogu.runtime.runtime import Runtime
from dogu.settings import Settings

_HEADLESS_WAIT_S = 10.0


@asynccontextmanager
async def mcp_servers(settings: Settings, runtime: Runtime, *, waits: bool = True) -> AsyncGenerator[None]:
    """Keep the servers running while the context is open.

    `waits`: up to 10 s for their tools, so that a single call or answer has them; where a person sits, they come later.
    """
    mcp = settings.mcp
    if not mcp.servers and not mcp.server_command:
        yield
        return
    from dogu.runtime.discovery.mcp import mcp_tools
    from dogu.runtime.discovery.mcp_entries import read_entries
    from dogu.workspace.environment import command_environment

    entries, problems = read_entries(mcp.servers, mcp.server_command, mcp.allowed, mcp.excluded)
    runtime.notes = (*runtime.notes, *problems)

    def environment() -> dict[str, str]:
        return command_environment(os.environ, settings.shell.environment)

    async with mcp_tools(entries, runtime, environment, wait_s=_HEADLESS_WAIT_S if waits else 0):
        yield
