"""`@server:uri` in a prompt: resources of MCP servers, read like any other call.

The user named the resource, so reading it asks nothing; a rule that excludes `read_mcp_resource` holds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec

from dogu.contract import CallContext, Content, Kind, Tool, ToolResult
from dogu.runtime.calls import ToolAnswer, ToolCall
from dogu.runtime.events import Emit
from dogu.runtime.registry import AnyTool

Read = Callable[[str, str, Callable[[str], None]], Awaitable[ToolResult]]
"""Reads a resource: a server's alias, a URI, where progress is reported. Raises `ToolError`."""


RunTool = Callable[[AnyTool, ToolCall, Emit], Awaitable[ToolAnswer]]
"""Runs a call of this tool, on record: `Runtime.run_tool`."""


class ReadMcpResourceArgs(msgspec.Struct, kw_only=True):
    """Which resource, of which server."""

    server: Annotated[str, msgspec.Meta(description="The server's alias.")]
    uri: Annotated[str, msgspec.Meta(description="The resource's URI.")]


class ReadMcpResource(Tool[ReadMcpResourceArgs]):
    """Read a resource of an MCP server."""

    name, display_name, kind = "read_mcp_resource", "ReadMcpResource", Kind.READ

    def __init__(self, read: Read) -> None:
        self._read = read

    def get_description(self, args: ReadMcpResourceArgs) -> str:
        """Name it."""
        return f"{args.server}:{args.uri}"

    async def execute(self, args: ReadMcpResourceArgs, context: CallContext) -> ToolResult:
        """Ask the server."""
        return await self._read(args.server, args.uri, context.report)


class PromptResources:
    """The resources that a prompt may name, read by `run`; `is_server` says whether there is a server of that alias."""

    def __init__(self, run: RunTool, is_server: Callable[[str], bool], read: Read) -> None:
        self._run = run
        self._is_server = is_server
        self._tool = ReadMcpResource(read)

    def names(self, written: str) -> bool:
        """Whether these words name a resource."""
        alias, colon, uri = written.partition(":")
        return bool(colon and uri) and self._is_server(alias)

    async def read(self, written: str, emit: Emit) -> Content:
        """Return what the resource holds, or why it can't be read."""
        alias, _, uri = written.partition(":")
        call = ToolCall("at", self._tool.name, {"server": alias, "uri": uri})
        answer = await self._run(self._tool, call, emit)
        return answer.result.llm_content
