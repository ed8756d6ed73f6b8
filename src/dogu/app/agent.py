"""Opens an agent over a workspace: its runtime, its conversation, its `/` commands."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from dogu.agent.at_paths import PromptReader
from dogu.agent.loop import Agent
from dogu.agent.mcp import ModelSampling
from dogu.agent.session.live import Session
from dogu.agent.session_housekeeping import SessionHousekeeping
from dogu.agent.slash import SlashCommand, SlashCommands
from dogu.agent.slash.commands import general_commands, jobs_command, mcp_command
from dogu.agent.slash.context import init_command, review_command
from dogu.agent.slash.model import Connections, model_commands
from dogu.agent.slash.session import session_commands
from dogu.app.connecting import SessionConnections
from dogu.app.conversation import Conversation, budget_of, converse, keeping_commands
from dogu.app.extending import add_own_commands
from dogu.app.foundation import Foundation, jobs_folder, lay_foundation
from dogu.app.mcp_servers import mcp_servers, offer_in_prompts, states_of
from dogu.app.model_choice import open_model
from dogu.app.options import Door, Options, Start, read_settings
from dogu.app.sessions import at_session, copy_session, open_session
from dogu.app.settings_command import SettingsCommand
from dogu.language import say
from dogu.models.model import CurrentModel, Model
from dogu.runtime.questions import AskTheUser, Confirm
from dogu.runtime.registry import AnyTool
from dogu.runtime.runtime import Runtime
from dogu.settings import Settings
from dogu.version import __version__
from dogu.workspace.process.stored_jobs import StoredJobs

if TYPE_CHECKING:
    from dogu.agent.housekeeping import AskToGoOn
    from dogu.runtime.discovery.mcp.servers import McpServers


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
    housekeeping: SessionHousekeeping

    def greeting(self) -> list[str]:
        """What the user is told before the first prompt."""
        lines = [f"dogu {__version__} · {self.agent.model.name} · {self.runtime.roots[0]}"]
        return [
            *lines,
            *map(say, self.runtime.notes),
            say("Type what you want done. /help shows commands, ? shows keys."),
        ]


@asynccontextmanager
async def open_agent(
    options: Options | None = None,
    *,
    confirm: Confirm | None = None,
    model: Model | None = None,
    tools: Iterable[AnyTool] = (),
    ask_to_go_on: AskToGoOn | None = None,
    elicit: AskTheUser | None = None,
) -> AsyncGenerator[Opened]:
    """Open a runtime and an agent over it, with the model of the settings or the one given."""
    options = at_session(options or Options())
    start = Start(options, read_settings(options), Door(confirm, elicit, ask_to_go_on))
    async with agent_of(start, model, tools) as opened:
        yield opened


@asynccontextmanager
async def agent_of(start: Start, model: Model | None = None, tools: Iterable[AnyTool] = ()) -> AsyncGenerator[Opened]:
    """Open an agent; see `open_agent`. The options of `start` are those of `at_session`."""

    options, settings = start.options, start.settings
    chosen = model or open_model(settings.model)
    budget = budget_of(settings.model, chosen.name)
    async with AsyncExitStack() as closing:
        closing.push_async_callback(chosen.aclose)
        current = CurrentModel(chosen)
        base = lay_foundation(start, open_session(options, settings), current)
        closing.push_async_callback(base.aclose)
        connections = SessionConnections(current, settings.model, options)
        closing.push_async_callback(connections.aclose)
        talk = await converse(base, current, budget, tools)
        runtime = base.runtime()
        await closing.enter_async_context(base.extras.running(is_resumed=options.resume is not None))
        sample = None if chosen.name == "offline" else ModelSampling(chosen, talk.agent.count)
        waits = start.door.ask_to_go_on is None
        servers = await closing.enter_async_context(mcp_servers(base, runtime, sample=sample, waits=waits))
        slash = SlashCommands(first=lambda: _slash_commands(base, talk, runtime, connections, servers, slash))
        resources = offer_in_prompts(servers, slash, runtime.run_tool) if servers is not None else None
        reader = PromptReader(
            runtime.run, lambda path: os.path.lexists(os.path.join(runtime.roots[0], path)), resources
        )
        add_own_commands(slash, start, talk.hooks, runtime.run)
        session = base.session
        yield Opened(
            talk.agent, runtime, reader, session.session_id, settings, slash, session, connections, talk.housekeeping
        )


def _slash_commands(
    base: Foundation,
    talk: Conversation,
    runtime: Runtime,
    connections: Connections,
    servers: McpServers | None,
    all_of_them: SlashCommands,
) -> list[SlashCommand]:
    """Make the `/` commands of every session. A new family is one line here."""

    session, agent, is_disabled = base.session, talk.agent, base.start.settings.tools.yolo_is_disabled
    return [
        *general_commands(agent, runtime, all_of_them, yolo_is_disabled=is_disabled),
        *model_commands(connections),
        init_command(lambda: agent.model.name, runtime.roots[0], base.start.settings.context.file_names),
        SettingsCommand(base.start.options).command(),
        jobs_command(
            StoredJobs(jobs_folder(base.start.options)),
            lambda: runtime.commands.jobs.jobs if runtime.commands.jobs is not None else (),
            runtime.roots[0],
        ),
        review_command(lambda: agent.model.name),
        *session_commands(agent, runtime, session, lambda: copy_session(session.path)),
        *keeping_commands(talk.housekeeping, base),
        mcp_command(lambda: states_of(servers)),
    ]
