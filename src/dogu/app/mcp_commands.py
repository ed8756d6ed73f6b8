"""What `dogu mcp-servers` does: looks at the servers, logs in to them, and edits their entries."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from dogu.app.mcp_servers import entries_of, host_of
from dogu.app.options import Options, read_settings
from dogu.app.policy_files import rules_of
from dogu.contract import ErrorKind, ToolError
from dogu.language import say
from dogu.policy.policy import Policy
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.discovery.mcp.entries import read_entries
from dogu.runtime.discovery.mcp.servers import mcp_tools
from dogu.runtime.discovery.mcp.tokens import TokenStore
from dogu.runtime.registry import ToolRegistry
from dogu.settings import Settings
from dogu.settings.edit import edit_settings_file, with_entry, without_entry
from dogu.settings.json import JsonError, parse_json_with_comments

if TYPE_CHECKING:
    from dogu.runtime.discovery.mcp.entries import ServerEntry
    from dogu.runtime.discovery.mcp.server import McpServer
    from dogu.runtime.discovery.mcp.servers import McpServers

_GROUP = "mcpServers"
_LOOK_S = 40.0
_MOST_ROWS = 10_000  # here all that is wrong is told


class ServerState(msgspec.Struct, frozen=True, rename="camel"):
    """What `list` and `test` tell of a server. `state` is `ready`, `wants login` or `failed`."""

    alias: str
    way: str
    state: str
    protocol: str = ""
    problem: str = ""
    advice: str = ""
    tools: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    descriptions: Mapping[str, str] = {}


class _Look:
    """What servers need of a runtime, for a look at them."""

    def __init__(self, options: Options, settings: Settings, root: str) -> None:
        self.policy = Policy(rules_of(options, settings), ApprovalMode.DEFAULT)
        self.registry = ToolRegistry()
        self.roots = (root,)

    def note(self, text: str) -> None:
        """The servers keep what they told."""


async def look_at(options: Options, alias: str = "") -> tuple[list[ServerState], list[str]]:
    """Start the servers, or the one of that alias, and return how they are; and what is wrong with the settings.

    Raises `ToolError` for an alias that no usable entry has.
    """
    settings = read_settings(options)
    entries, problems = entries_of(settings)
    problems += [f"{warning}" for warning in settings.warnings if warning.key.startswith("mcp")]
    if alias:
        entries, problems = [_the_entry(options, alias)], []
    async with _opened(options, settings, entries) as servers:
        for server in servers:
            with anyio.move_on_after(_LOOK_S):
                await server.listed.wait()
        return [_state_of(server, servers) for server in servers], problems


async def log_in(options: Options, alias: str, show: Callable[[str], Awaitable[bool]]) -> int:
    """Log in to a server; `show` is given the address to open. Return how many tools it has. Raises `ToolError`."""
    from dogu.runtime.discovery.mcp.login import log_in as log_in_to  # the SDK: entries are written without it

    entry = _far_entry(options, alias)
    host = host_of(read_settings(options), (options.absolute_root,), options.state_folder)
    TokenStore(options.state_folder).forget(entry.http_url or entry.url)
    return (await log_in_to(entry, host, show, lambda _note: None)).tools


def log_out(options: Options, alias: str) -> bool:
    """Forget a server's login; return whether there was one. Raises `ToolError` and `OSError`."""
    entry = _far_entry(options, alias)
    return TokenStore(options.state_folder).forget(entry.http_url or entry.url)


def add_entry(options: Options, alias: str, row: Mapping[str, Any], *, in_folder: bool) -> tuple[str, bool]:
    """Write an entry into the user's settings, or the folder's. Raises `ToolError`.

    Return the file, and whether an entry of that alias was there, in whose place it stands now.
    """
    _, problems = read_entries({alias: row})
    if problems:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, problems[0])
    file = _files(options)["folder" if in_folder else "person"]
    was_there = alias in _entries_in(file)
    edit_settings_file(file, lambda text: with_entry(text, _GROUP, alias, dict(row)))
    return file, was_there


def remove_entry(options: Options, alias: str) -> tuple[str, list[str]]:
    """Take an entry out of the file that holds it; return the file, and others that still do. Raises `ToolError`."""
    holding = [file for file in _files(options).values() if alias in _entries_in(file)]
    if not holding:
        raise _unknown(options, alias)
    edit_settings_file(holding[0], lambda text: without_entry(text, _GROUP, alias))
    return holding[0], holding[1:]


def _files(options: Options) -> dict[str, str]:
    """The settings files that may hold entries, the likeliest first."""
    return {
        "person": os.path.join(options.home, ".dogu", "settings.json"),
        "folder": os.path.join(options.absolute_root, ".dogu", "settings.json"),
        "person's other": os.path.join(options.home, ".gemini", "settings.json"),
        "folder's other": os.path.join(options.absolute_root, ".gemini", "settings.json"),
    }


def _entries_in(file: str) -> Mapping[str, Any]:
    try:
        with open(file, encoding="utf-8-sig", newline="") as stream:
            found = parse_json_with_comments(stream.read()).values.get(_GROUP)
    except (OSError, UnicodeDecodeError, JsonError):
        return {}
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]  (foreign JSON)


@asynccontextmanager
async def _opened(options: Options, settings: Settings, entries: list[ServerEntry]) -> AsyncGenerator[McpServers]:
    look = _Look(options, settings, options.absolute_root)
    host = host_of(settings, look.roots, options.state_folder)
    async with mcp_tools(entries, look, host, wait_s=_LOOK_S, most_problems=_MOST_ROWS) as servers:
        yield servers


def _state_of(server: McpServer, servers: McpServers) -> ServerState:
    entry = server.entry
    alias = entry.alias
    return ServerState(
        alias=alias,
        way=" ".join([entry.command, *entry.args]) if entry.command else entry.http_url or entry.url,
        state="wants login" if server.wants_login else "failed" if server.problem else "ready",
        protocol=server.protocol,
        problem=server.problem,
        advice=_advice(server) if server.problem else "",
        tools=tuple(tool.name for tool in servers.tools_of(alias)),
        prompts=tuple(f"/{prompt.command}" for prompt in server.prompts),
        resources=tuple(f"@{alias}:{resource.uri}" for resource in server.resources),
        notes=tuple(
            note
            for note in servers.notes
            if note.startswith(f"MCP server {alias}:")
            and not (server.problem and server.problem.splitlines()[0] in note)
        ),
        descriptions={tool.name: tool.description for tool in servers.tools_of(alias)},
    )


def _advice(server: McpServer) -> str:
    """Say what to do about a server that can't be used."""
    entry, problem = server.entry, server.problem
    if server.wants_login:
        return say("Log in: dogu mcp-servers login {alias}", alias=entry.alias)
    if "there is no such program" in problem:
        return say("Install {program}, or write its full path as the entry's command.", program=entry.command)
    if "did not answer" in problem and entry.command:
        return say("Is it an MCP server? Run by hand, it should wait for messages and print nothing else.")
    if entry.command:
        return say("Run it by hand, in its entry's folder and with its variables, to see what it says.")
    return say("Is it running, and is the address right? Many servers answer at a path such as /mcp or /sse.")


def _the_entry(options: Options, alias: str) -> ServerEntry:
    entries, problems = entries_of(read_settings(options))
    for entry in entries:
        if entry.alias == alias:
            return entry
    told = [problem for problem in problems if repr(alias) in problem]
    if told:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, "\n".join(told))
    raise _unknown(options, alias)


def _far_entry(options: Options, alias: str) -> ServerEntry:
    entry = _the_entry(options, alias)
    if entry.command:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, say("{alias} is a program, which has no login.", alias=alias))
    return entry


def _unknown(options: Options, alias: str) -> ToolError:
    entries, _ = entries_of(read_settings(options))
    known = ", ".join(entry.alias for entry in entries)
    if not known:
        return ToolError(
            ErrorKind.NOT_FOUND, say("There are no MCP servers. To add one: dogu mcp-servers add NAME -- COMMAND")
        )
    return ToolError(
        ErrorKind.NOT_FOUND, say("There is no MCP server {alias}. Servers: {known}.", alias=alias, known=known)
    )
