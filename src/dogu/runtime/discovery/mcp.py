"""Tools of MCP servers: all servers are started together, in the background, and none can hold up another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module

import anyio
from anyio import to_thread

from dogu.policy.rules import Rule
from dogu.policy.verdict import Decision
from dogu.runtime.discovery.mcp_entries import ServerEntry
from dogu.runtime.discovery.mcp_server import McpServer
from dogu.runtime.discovery.mcp_tool import DeclarationError, McpTool
from dogu.runtime.runtime import Runtime

_MOST_PROBLEMS_TOLD = 5
_AFTER_THE_PROMPT_S = 0.5


@asynccontextmanager
async def mcp_tools(
    entries: Sequence[ServerEntry],
    runtime: Runtime,
    environment: Callable[[], Mapping[str, str]],
    *,
    wait_s: float,
) -> AsyncGenerator[None]:
    """Keep the servers of the entries running while the context is open, their tools in the runtime's registry.

    Waits `wait_s` for their tools; with 0 not at all, and the SDK is loaded a moment later, when the first prompt has
    been drawn. What comes later is added when it comes. What goes wrong is added to `Runtime.notes`. `environment` is
    what every server gets beside what its entry names. An entry's `cwd` is relative to the primary root.
    """
    servers = McpServers(entries, runtime, environment, delay_s=0 if wait_s > 0 else _AFTER_THE_PROMPT_S)
    body_error: list[BaseException] = []
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(servers.run)
            await servers.wait(wait_s)
            try:
                yield
            finally:
                group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        body_error.append(_only(errors))
    if body_error:
        raise body_error[0]  # as the caller raised it, without the group that held the background


class McpServers:
    """The servers of one runtime, and whose tools are whose."""

    def __init__(
        self,
        entries: Sequence[ServerEntry],
        runtime: Runtime,
        environment: Callable[[], Mapping[str, str]],
        *,
        delay_s: float = 0,
    ) -> None:
        self._delay_s = delay_s
        root = runtime.roots[0]
        self._servers = [McpServer(entry, root, environment, self._take, self._tell) for entry in entries]
        self._runtime = runtime
        self._tools: dict[str, list[McpTool]] = {}
        self._seen: dict[str, str] = {}
        self._told: set[str] = set()

    async def run(self) -> None:
        """Run all servers until cancelled."""
        try:
            await anyio.sleep(self._delay_s)
            await to_thread.run_sync(import_module, "dogu.runtime.discovery.mcp_session")
        except ImportError:
            self._tell("MCP servers are configured, and the package mcp isn't installed: pip install 'dogu[mcp]'.")
            for server in self._servers:
                server.settled.set()
            return
        async with anyio.create_task_group() as group:
            for server in self._servers:
                group.start_soon(server.run)

    async def wait(self, wait_s: float) -> None:
        """Wait until every server is listed or has failed, `wait_s` at most; the slow ones are told."""
        if wait_s <= 0:
            return
        with anyio.move_on_after(wait_s) as scope:
            for server in self._servers:
                await server.settled.wait()
        if scope.cancelled_caught:
            slow = [server.entry.alias for server in self._servers if not server.settled.is_set()]
            self._tell(f"Still starting after {wait_s:g} s, so without their tools for now: MCP {', '.join(slow)}.")

    def _tell(self, note: str) -> None:
        from dogu.workspace.visible import make_visible

        note = make_visible(note)
        if note not in self._told:
            self._told.add(note)
            self._runtime.notes = (*self._runtime.notes, note)

    def _take(self, server: McpServer, rows: list[object]) -> None:
        """Replace a server's tools by those it declares now; the bad ones are told and cost only themselves."""
        alias = server.entry.alias
        self._withdraw()
        problems: list[str] = []
        tools: dict[str, McpTool] = {}
        for row in rows:
            try:
                tool = McpTool(server, row, self._seen)
                if not server.entry.takes(tool.remote_name):
                    continue
                if tool.name in tools or tool.name in self._runtime.registry:
                    raise DeclarationError(f"there is a tool named {tool.name!r} already")
            except DeclarationError as error:
                problems.append(f"MCP server {alias}: a tool was left out: {error}.")
                continue
            tools[tool.name] = tool
            if tool.has_hidden_text:
                problems.append(f"MCP server {alias}: the description of {tool.name} held invisible characters.")
        self._tools[alias] = list(tools.values())
        self._publish()
        for problem in problems[:_MOST_PROBLEMS_TOLD]:
            self._tell(problem)
        if len(problems) > _MOST_PROBLEMS_TOLD:
            self._tell(f"MCP server {alias}: {len(problems) - _MOST_PROBLEMS_TOLD} more tools had such problems.")

    def _withdraw(self) -> None:
        for tools in self._tools.values():
            for tool in tools:
                self._runtime.registry.unregister(tool.name)

    def _publish(self) -> None:
        """Register all tools in the order of the settings, whichever server was first to answer."""
        policy = self._runtime.policy
        for server in self._servers:
            for tool in self._tools.get(server.entry.alias, []):
                if policy.rules.is_excluded(tool.name):
                    continue
                self._runtime.registry.register(tool)
                rule = Rule(tool.name, Decision.ALLOW, source=f"trust of the MCP server {server.entry.alias}")
                if server.entry.trust and rule not in policy.rules.allowed:
                    policy.remember(rule)


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return what a group of one holds; a larger group stays."""
    return group.exceptions[0] if len(group.exceptions) == 1 else group
