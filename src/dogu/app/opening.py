"""Opens a runtime, and an agent over it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from dogu.app.assembling import assemble
from dogu.app.built_in import Powers
from dogu.app.extending import extend_agent, extended
from dogu.app.keeping import SessionKeeping
from dogu.app.mcp_servers import mcp_servers, offer_to_person
from dogu.app.model_choice import open_model
from dogu.app.options import Options, read_settings
from dogu.app.sessions import at_session, open_session
from dogu.language import say
from dogu.runtime.questions import AskPerson, Confirm
from dogu.runtime.registry import AnyTool
from dogu.runtime.runtime import Runtime
from dogu.settings import Settings
from dogu.version import __version__

if TYPE_CHECKING:
    from dogu.agent.at_paths import PromptReader
    from dogu.agent.loop import Agent, AskToGoOn
    from dogu.agent.session.live import Session
    from dogu.agent.slash import SlashCommands
    from dogu.agent.slash.model import Connections
    from dogu.models.events import Usage
    from dogu.models.model import Model


class Opened(msgspec.Struct, frozen=True):
    """An agent with its runtime, until the context that opened it is left."""

    agent: Agent
    runtime: Runtime
    read_prompt: PromptReader
    session_id: str
    settings: Settings
    slash: SlashCommands
    session: Session
    connections: Connections

    def greeting(self) -> list[str]:
        """What the person is told before the first prompt."""
        lines = [f"dogu {__version__} · {self.agent.model.name} · {self.runtime.roots[0]}"]
        lines += [say("Settings: {warning}", warning=warning) for warning in self.settings.warnings]
        return [*lines, *map(say, self.runtime.notes), say("/help shows what can be typed.")]


@asynccontextmanager
async def open_runtime(
    options: Options | None = None,
    *,
    confirm: Confirm | None = None,
    tools: Iterable[AnyTool] = (),
    enquire: AskPerson | None = None,
) -> AsyncGenerator[Runtime]:
    """Open the tools over a workspace; leaving the context ends background jobs.

    `tools` are added to the built-in ones. `confirm` is asked before anything changes; None refuses what asks.
    `enquire` puts before the person what MCP servers ask; None declines. Raises `SettingsError` for settings that can't
    be understood.
    """
    options = options or Options()
    settings = read_settings(options)
    runtime = await assemble(options, settings, open_session(options, settings), confirm, tools)
    runtime.executor.approval.ask_person = enquire
    try:
        async with extended(runtime, options, settings), mcp_servers(settings, runtime, options.state_folder):
            yield runtime
    finally:
        await runtime.aclose()


@asynccontextmanager
async def open_agent(
    options: Options | None = None,
    *,
    confirm: Confirm | None = None,
    model: Model | None = None,
    tools: Iterable[AnyTool] = (),
    ask_to_go_on: AskToGoOn | None = None,
    enquire: AskPerson | None = None,
) -> AsyncGenerator[Opened]:
    """Open a runtime and an agent over it, with the model of the settings or the one given."""
    from dogu.agent.at_paths import PromptReader
    from dogu.agent.edit_repair import EditRepair
    from dogu.agent.loop import Agent
    from dogu.agent.sampling import ModelSampling
    from dogu.agent.subagent import Subagents
    from dogu.app.carrying_on import carry_on
    from dogu.app.connecting import SessionConnections
    from dogu.app.slash import slash_commands
    from dogu.app.web import Web

    options = at_session(options or Options())
    settings = read_settings(options)
    chosen = model or open_model(settings.model)

    def count(usage: Usage) -> None:
        agent.count(usage)

    keeping = SessionKeeping(options, settings, chosen.name)
    repair = EditRepair(chosen, count) if settings.model.edit_repair and chosen.name != "offline" else None
    kept = open_session(options, settings)
    powers = Powers(repair, keeping.refresh, Subagents(lambda: agent), Web(settings, lambda: agent.model, count))
    async with AsyncExitStack() as closing:
        closing.push_async_callback(chosen.aclose)
        runtime = await assemble(options, settings, kept, confirm, tools, powers)
        closing.push_async_callback(runtime.aclose)
        agent = Agent(
            chosen,
            runtime.executor,
            keeping.open(runtime, kept.restored),
            max_steps=settings.model.max_session_turns or 100,
            ask_to_go_on=ask_to_go_on,
        )
        connections = SessionConnections(agent, settings.model, options)
        closing.push_async_callback(connections.aclose)
        reader = PromptReader(runtime.executor, lambda path: os.path.lexists(os.path.join(runtime.roots[0], path)))
        has_person = ask_to_go_on is not None
        runtime.executor.approval.ask_person = enquire
        await carry_on(kept, agent, runtime, options, settings)
        sample = None if chosen.name == "offline" else ModelSampling(chosen, count)
        servers = mcp_servers(settings, runtime, options.state_folder, sample=sample, waits=not has_person)
        async with extended(runtime, options, settings), servers as mcp:
            slash = slash_commands(agent, runtime, settings, kept.session, connections)
            slash.register(*keeping.keep(agent, runtime))
            offer_to_person(mcp, slash, reader, runtime.executor)
            extend_agent(agent, slash, runtime, options, settings)
            yield Opened(agent, runtime, reader, kept.session.session_id, settings, slash, kept.session, connections)
