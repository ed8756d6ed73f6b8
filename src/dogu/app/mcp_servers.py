"""MCP servers of the settings, wired to a runtime."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dogu.extras import install_command
from dogu.language import sentence, told
from dogu.runtime.runtime import Runtime
from dogu.settings import Settings
from dogu.workspace.environment import command_environment

if TYPE_CHECKING:
    from dogu.agent.mcp import PromptResources, RunTool
    from dogu.agent.slash import SlashCommands
    from dogu.agent.slash.commands import ServerState
    from dogu.app.foundation import Foundation
    from dogu.policy.rules import Rules
    from dogu.runtime.discovery.mcp.entries import ServerEntry
    from dogu.runtime.discovery.mcp.host import Elicit, Host, Sample
    from dogu.runtime.discovery.mcp.servers import McpServers
    from dogu.runtime.registry import ToolRegistry
    from dogu.workspace.process.launch import ForkServer

_HEADLESS_WAIT_S = 30.0
# What `DOGU` says to servers. A dogu that reads it has none of its own: by the user's settings it would start itself,
# and that one itself, without end.
_AS_A_SERVER = "mcp"


@asynccontextmanager
async def mcp_servers(
    base: Foundation, runtime: Runtime, *, sample: Sample | None = None, waits: bool = True
) -> AsyncGenerator[McpServers | None]:
    """Keep the servers running while the context is open; None when there are none.

    `waits`: up to 30 s for their tools, so that a single call or answer has them; where a user sits, they come later.
    `sample` asks the session's model for them, once the user said yes.
    """
    settings = base.start.settings
    mcp = settings.mcp
    out: dict[str, str] = {}
    if mcp.servers or mcp.server_command or mcp.allowed or mcp.excluded:
        out, problems = _kept_out(settings)
        base.start.notes.add(*problems)
    if (not mcp.servers and not mcp.server_command) or os.environ.get("DOGU") == _AS_A_SERVER:
        yield None
        return
    if find_spec("mcp") is None:
        message = sentence("MCP servers are configured, and the package mcp isn't installed: {command}")
        base.start.notes.add(told(message, command=install_command("mcp")))
        yield None
        return
    offer_on_demand(runtime.registry, runtime.policy.rules)
    entries, problems = entries_of(settings)
    base.start.notes.add(*problems)
    from dogu.agent.mcp import recorded_elicitations, recorded_sampling
    from dogu.runtime.discovery.mcp.servers import mcp_tools

    record = base.session.event
    elicit = recorded_elicitations(base.executor.approval.elicit, record)
    sample = recorded_sampling(sample, record) if sample is not None else None
    options = base.start.options
    host = host_of(settings, runtime.roots, options.state_folder, elicit, sample, options.fork_server)
    wait_s = _HEADLESS_WAIT_S if waits else 0
    async with mcp_tools(entries, runtime, host, wait_s=wait_s, kept_out=out) as servers:
        yield servers


def entries_of(settings: Settings) -> tuple[list[ServerEntry], list[str]]:
    """Return the servers that the settings name and let in, and what is wrong with the others."""
    from dogu.runtime.discovery.mcp.entries import read_entries

    mcp = settings.mcp

    def where(alias: str, key: str) -> str:
        name = f"{alias}.{key}" if key and f"{alias}.{key}" in mcp.places else alias
        return f"{mcp.places[name]}: mcpServers.{name}" if name in mcp.places else ""

    return read_entries(mcp.servers, mcp.server_command, mcp.allowed, mcp.excluded, where)


def problems_of_servers(settings: Settings) -> list[str]:
    """Say what is wrong with the entries, and which names in the lists of servers mean none."""
    return [*entries_of(settings)[1], *_kept_out(settings)[1]]


def _kept_out(settings: Settings) -> tuple[dict[str, str], list[str]]:
    """Say by alias why a server is kept out, and which entries of the lists name none."""
    from dogu.runtime.discovery.mcp.entries import kept_out

    mcp = settings.mcp

    def source(key: str) -> str:
        key = key if settings.values["admin.mcp.enabled"] else "admin.mcp.enabled"
        return f"{key} ({settings.origins[key]})" if key in settings.origins else key

    aliases = (*mcp.servers, *(("mcp",) if mcp.server_command else ()))
    out, unmatched = kept_out(aliases, mcp.allowed, mcp.excluded)
    whys = {
        alias: told("the MCP server {alias} is excluded by {lists}.", alias=alias, lists=tuple(map(source, keys)))
        for alias, keys in out.items()
    }
    problems = [
        told("The entry {entry!r} of {source} matches no MCP server.", entry=entry, source=source(key))
        for key, entry in unmatched
    ]
    return whys, problems


def host_of(
    settings: Settings,
    roots: tuple[str, ...],
    state_folder: str,
    elicit: Elicit | None = None,
    sample: Sample | None = None,
    fork_server: ForkServer | None = None,
) -> Host:
    """Make what the servers are offered; with no `elicit` nobody is there to be asked."""
    from dogu.runtime.discovery.mcp.host import Host, ask_nobody

    def environment() -> Mapping[str, str]:
        environment = command_environment(os.environ, settings.shell.environment, settings.shell.withheld)
        return environment | {"DOGU": _AS_A_SERVER}

    return Host(roots, environment, elicit or ask_nobody, sample, state_folder, fork_server)


def offer_on_demand(registry: ToolRegistry, rules: Rules) -> None:
    """Let the model find discovered tools where there are too many to declare them all, unless the rules say no."""
    from dogu.tools.find_tools import FindTools

    if rules.tool_exists(FindTools.name):
        registry.offer_on_demand(FindTools(registry.find, registry.sources))


def states_of(servers: McpServers | None) -> list[ServerState]:
    """Return how each server is, for the user to look at."""
    from dogu.agent.slash.commands import ServerState

    if servers is None:
        return []
    return [
        ServerState(
            server.entry.alias,
            server.problem,
            not server.settled.is_set(),
            [(tool.name, tool.description) for tool in servers.tools_of(server.entry.alias)],
            [(f"/{prompt.command}", prompt.description) for prompt in server.prompts],
            [(f"@{each.alias}:{each.uri}", each.description or each.name) for each in server.resources],
        )
        for server in servers
    ]


def offer_in_prompts(servers: McpServers, slash: SlashCommands, run: RunTool) -> PromptResources:
    """Let the user use the servers' prompts as `/` commands, and name their resources in prompts."""
    from dogu.agent.mcp import LatePrompts, PromptResources, prompt_commands

    def is_server(alias: str) -> bool:
        return servers.get(alias) is not None

    late = LatePrompts(is_server, servers.listed)
    slash.register_source(lambda: prompt_commands(servers.prompts, servers.get_prompt), late)
    return PromptResources(run, is_server, servers.read_resource)
