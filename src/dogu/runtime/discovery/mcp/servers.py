"""Tools of MCP servers: all servers are started together, in the background, and none can hold up another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol, cast

import anyio
from anyio import to_thread

from dogu.contract import Content, ErrorKind, ToolError, ToolResult
from dogu.contract.tool_names import BUILT_IN_NAMES
from dogu.language import joined, told
from dogu.policy.policy import Policy
from dogu.policy.rule import Rule
from dogu.policy.verdict import ApprovalMode, Decision
from dogu.runtime.discovery.mcp.content import Prompt, Resource, prompt_content, resource_of
from dogu.runtime.discovery.mcp.entries import ServerEntry
from dogu.runtime.discovery.mcp.host import Host
from dogu.runtime.discovery.mcp.server import McpServer, sdk
from dogu.runtime.discovery.mcp.tool import ApprovedDeclarations, DeclarationError, McpTool
from dogu.runtime.registry import ToolRegistry
from dogu.workspace.process.launch import Launch
from dogu.workspace.process.starting import launcher
from dogu.workspace.visible import make_visible

_MOST_PROBLEMS_TOLD = 5
_AFTER_THE_PROMPT_S = 0.5


@asynccontextmanager
async def mcp_tools(
    entries: Sequence[ServerEntry],
    runtime: Holder,
    host: Host,
    *,
    wait_s: float,
    kept_out: Mapping[str, str] | None = None,
    most_problems: int = _MOST_PROBLEMS_TOLD,
) -> AsyncGenerator[McpServers]:
    """Keep the servers of the entries running while the context is open, their tools in the runtime's registry.

    Waits `wait_s` for their tools; with 0 not at all, and the SDK is loaded a moment later, when the first prompt has
    been drawn. What comes later is added when it comes. What goes wrong is added to `Runtime.notes`. An entry's
    `cwd` is relative to the primary root. `kept_out` says by alias why other servers aren't there. At most
    `most_problems` tools of a server that can't be taken are told.
    """
    delay_s = 0 if wait_s > 0 else _AFTER_THE_PROMPT_S
    servers = McpServers(entries, runtime, host, kept_out or {}, delay_s=delay_s, most_problems=most_problems)
    body_error: list[BaseException] = []
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(servers.run)
            await servers.wait(wait_s)
            try:
                yield servers
            finally:
                group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        body_error.append(_only(errors))
    if body_error:
        raise body_error[0]  # as the caller raised it, without the group that held the background


class Holder(Protocol):
    """What the servers' tools are put into: a runtime."""

    def note(self, text: str) -> None:
        """Tell the user."""
        ...

    @property
    def roots(self) -> tuple[str, ...]:
        """The workspace's folders, the primary one first."""
        ...

    @property
    def registry(self) -> ToolRegistry:
        """Where the tools go."""
        ...

    @property
    def policy(self) -> Policy:
        """Who decides calls."""
        ...


class McpServers:
    """The servers of one runtime, and whose tools are whose."""

    def __init__(
        self,
        entries: Sequence[ServerEntry],
        runtime: Holder,
        host: Host,
        kept_out: Mapping[str, str] | None = None,
        *,
        delay_s: float = 0,
        most_problems: int = _MOST_PROBLEMS_TOLD,
    ) -> None:
        self._most_problems = most_problems
        self._delay_s = delay_s
        self._kept_out = kept_out or {}
        self._left_out: dict[str, list[McpTool]] = {}
        self._unmatched: set[tuple[str, str]] = set()
        self._servers = [McpServer(entry, runtime.roots[0], host, self) for entry in entries]
        self._runtime = runtime
        self._tools: dict[str, list[McpTool]] = {}
        self._approved = ApprovedDeclarations(host.state_folder, runtime.roots[0], self._keeps_approvals)
        self._told: dict[str, None] = {}
        self._fork_server = host.fork_server
        self._launch: Launch | None = None
        runtime.registry.explain_missing(self._why_missing)

    def launch(self) -> Launch:
        """Give what starts their programs, the first time they need it."""
        if self._launch is None:
            self._launch = launcher(fork_server=self._fork_server)
        return self._launch

    def _start_launcher(self) -> None:
        """Let it come up early; where it can't be had, each server says so."""
        with suppress(ToolError):
            self.launch().start()

    async def run(self) -> None:
        """Run all servers until cancelled."""
        try:
            await self._run()
        finally:
            if self._launch is not None:
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(self._launch.close)

    async def _run(self) -> None:
        await anyio.sleep(self._delay_s)
        if any(server.entry.command for server in self._servers):
            self._start_launcher()
        await to_thread.run_sync(sdk, abandon_on_cancel=True)
        async with anyio.create_task_group() as group:
            for server in self._servers:
                group.start_soon(server.run)
            await self._all_settled()
            self._tell_unmatched()

    async def wait(self, wait_s: float) -> None:
        """Wait until every server is listed or has failed, `wait_s` at most; the slow ones are told."""
        if wait_s <= 0:
            return
        with anyio.move_on_after(wait_s) as scope:
            await self._all_settled()
        self._tell_unmatched()
        if scope.cancelled_caught:
            slow = [server.entry.alias for server in self._servers if not server.settled.is_set()]
            self.tell(
                told(
                    "Still starting after {wait_s:g} s, so without their tools for now: MCP {slow}.",
                    wait_s=wait_s,
                    slow=", ".join(slow),
                )
            )

    async def _all_settled(self) -> None:
        for server in self._servers:
            await server.settled.wait()

    def __iter__(self) -> Iterator[McpServer]:
        return iter(self._servers)

    def get(self, alias: str) -> McpServer | None:
        """Return the server of that alias."""
        return next((server for server in self._servers if server.entry.alias == alias), None)

    async def listed(self, alias: str) -> None:
        """Wait until the server of that alias has listed its prompts and resources, or can't."""
        server = self.get(alias)
        if server is not None:
            await server.listed.wait()

    @property
    def prompts(self) -> list[Prompt]:
        """The prompts of all servers, as they are now."""
        return [prompt for server in self._servers for prompt in server.prompts]

    @property
    def resources(self) -> list[Resource]:
        """The resources and resource templates of all servers, as they are now."""
        return [resource for server in self._servers for resource in server.resources]

    async def get_prompt(self, prompt: Prompt, arguments: Mapping[str, str]) -> Content:
        """Return what a prompt says. Raises `ToolError`."""
        answer = await self._server(prompt.alias).get_prompt(prompt.name, arguments)
        return prompt_content(answer)

    async def read_resource(self, alias: str, uri: str, report: Callable[[str], None]) -> ToolResult:
        """Return what a resource holds. Raises `ToolError`."""
        return resource_of(alias, await self._server(alias).read_resource(uri, report))

    def _server(self, alias: str) -> McpServer:
        server = self.get(alias)
        if server is None:
            raise ToolError(ErrorKind.NOT_FOUND, told("There is no MCP server {alias!r}.", alias=alias))
        return server

    @property
    def notes(self) -> tuple[str, ...]:
        """What was told of them so far."""
        return tuple(self._told)

    def tools_of(self, alias: str) -> list[McpTool]:
        """The tools taken from a server."""
        return self._tools.get(alias, [])

    def tell(self, note: str) -> None:
        """Add a sentence to the runtime's notes, once."""
        note = make_visible(note)
        if note not in self._told:
            self._told[note] = None
            self._runtime.note(note)

    def take(self, server: McpServer, rows: list[object]) -> None:
        """Replace a server's tools by those it declares now; the bad ones are told and cost only themselves."""
        alias = server.entry.alias
        self._withdraw()
        problems: list[str] = []
        tools: dict[str, McpTool] = {}
        left_out: list[McpTool] = []
        for row in rows:
            try:
                tool = McpTool(server, row, self._approved)
                if server.entry.why_not(tool.remote_name):
                    left_out.append(tool)
                    continue
                self._check_name(tool.name, tools)
            except DeclarationError as error:
                problems.append(_left_out(alias, row, error))
                continue
            tools[tool.name] = tool
            problems += _told_of(tool, alias)
        self._tools[alias] = list(tools.values())
        self._left_out[alias] = left_out
        self._publish()
        for sentence in server.entry.unmatched(_names_in(rows)):
            self.tell(sentence)
        self._tell_unmatched()
        self._tell_problems(alias, problems)

    def _check_name(self, name: str, tools: Mapping[str, McpTool]) -> None:
        if name in tools or name in self._runtime.registry:
            raise DeclarationError(told("there is a tool named {name!r} already", name=name))

    def _tell_problems(self, alias: str, problems: list[str]) -> None:
        for problem in problems[: self._most_problems]:
            self.tell(problem)
        if len(problems) > self._most_problems:
            self.tell(
                told(
                    "MCP server {alias}: {count} more tools had such problems.",
                    alias=alias,
                    count=len(problems) - self._most_problems,
                )
            )

    def _why_missing(self, name: str) -> str:
        alias = name.partition("__")[0] if "__" in name else ""
        if alias in self._kept_out:
            return self._kept_out[alias]
        server = self.get(alias) if alias else None
        if server is None or not server.problem:
            return ""
        return (
            f"it would be one of the MCP server {server.entry.alias}, which is not running: {server.problem}. Go on "
            "without its tools; the user can look at its entry in mcpServers."
        )

    def _keeps_approvals(self) -> bool:
        """In yolo nobody approved anything that a later session should hold against a server."""
        return self._runtime.policy.mode is not ApprovalMode.YOLO

    def _withdraw(self) -> None:
        for tools in self._tools.values():
            for tool in tools:
                self._runtime.registry.unregister(tool.name)

    def _why_excluded(self, server: McpServer, tool: McpTool) -> str:
        """Say which lists keep a tool out: those of its server's entry, and those of all tools."""
        rules = self._runtime.policy.rules
        names = (tool.name, *({tool.remote_name} - BUILT_IN_NAMES))  # the server's own, which other clients go by
        own = server.entry.why_not(tool.remote_name)
        whys = [told("{tool} is {why}", tool=tool.name, why=own)] if own else []
        whys += [rules.why_missing(name) for name in names if rules.is_excluded(name)][:1]
        return joined(", ", whys)

    def _tell_unmatched(self) -> None:
        """Tell which entries match no tool: of a server that has answered, or of none, once all have settled."""
        rules = self._runtime.policy.rules
        if not (rules.exclude or rules.asked or rules.allowed or rules.files):
            return
        from dogu.policy.unmatched import KnownTools, unmatched

        names = {tool.name for tool in self._runtime.registry} | self._runtime.registry.kept_out
        names |= {tool.name for tools in self._tools.values() for tool in tools}
        servers = {
            server.entry.alias: server.entry.alias in self._tools or (False if server.settled.is_set() else None)
            for server in self._servers
        }
        for each in unmatched(rules, KnownTools(frozenset(names), servers)):
            if each.entry not in self._unmatched:
                self._unmatched.add(each.entry)
                self.tell(each.sentence)

    def _publish(self) -> None:
        """Register all tools in the order of the settings, whichever server was first to answer."""
        policy, registry = self._runtime.policy, self._runtime.registry
        for server in self._servers:
            alias = server.entry.alias
            for tool in (*self._tools.get(alias, []), *self._left_out.get(alias, [])):
                why = self._why_excluded(server, tool)
                registry.register_unless(why, tool, is_discovered=True)
                if why:
                    continue
                rule = Rule(tool.name, Decision.ALLOW, source=told("trust of the MCP server {alias}", alias=alias))
                if server.entry.allows(tool.remote_name) and rule not in policy.rules.allowed:
                    policy.remember(rule)


def _told_of(tool: McpTool, alias: str) -> list[str]:
    """What a user should know of a tool that is taken nevertheless."""
    found: list[str] = []
    if tool.has_hidden_text:
        found.append(
            told(
                "MCP server {alias}: the description of {name} held invisible characters.", alias=alias, name=tool.name
            )
        )
    if tool.unchecked_patterns:
        found.append(
            told(
                "MCP server {alias}: not checked here for {name}: the pattern {patterns}.",
                alias=alias,
                name=tool.name,
                patterns=tuple(pattern[:60] for pattern in tool.unchecked_patterns),
            )
        )
    return found


def _names_in(rows: list[object]) -> list[str]:
    """The names of all tools that a server declares, those that can't be used among them."""
    named = [cast("dict[str, object]", row).get("name") for row in rows if isinstance(row, dict)]
    return [name for name in named if isinstance(name, str)]


def _left_out(alias: str, row: object, error: DeclarationError) -> str:
    for name in _names_in([row]):
        return told("MCP server {alias}: the tool {name!r} was left out: {error}.", alias=alias, name=name, error=error)
    return told("MCP server {alias}: a tool was left out: {error}.", alias=alias, error=error)


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return what a group of one holds; a larger group stays."""
    return group.exceptions[0] if len(group.exceptions) == 1 else group
