"""Opens a runtime, and an agent over it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from dogu.app.built_in import Parts, Powers, built_in_tools
from dogu.app.extending import extend_agent, extended, skill_tools
from dogu.app.keeping import SessionKeeping, memory_file
from dogu.app.mcp_servers import mcp_servers, offer_on_demand, offer_to_person
from dogu.app.model_choice import open_model
from dogu.app.options import Options, read_settings
from dogu.app.sessions import at_session, clear_away, open_session, tie
from dogu.language import say
from dogu.policy.mode import ApprovalMode
from dogu.policy.policy import Policy
from dogu.policy.rules import RestrictionError, Rules
from dogu.runtime.executor import Executor
from dogu.runtime.questions import AskPerson, Confirm
from dogu.runtime.registry import AnyTool, ToolRegistry
from dogu.runtime.result_bounds import ResultBounds
from dogu.runtime.runtime import Runtime
from dogu.settings import Settings, SettingsError

if TYPE_CHECKING:
    from dogu.agent.at_paths import PromptReader
    from dogu.agent.loop import Agent, AskToGoOn
    from dogu.agent.session.live import Session
    from dogu.agent.slash import SlashCommands
    from dogu.agent.slash.model import Connections
    from dogu.app.sessions import OpenedSession
    from dogu.models.events import Usage
    from dogu.models.model import Model
    from dogu.runtime.journal import Journal
    from dogu.workspace.files import LocalFiles
    from dogu.workspace.process.local import LocalProcesses
    from dogu.workspace.roots import Roots


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
        from dogu.version import __version__

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
    runtime = await _open(options, settings, open_session(options, settings), confirm, tools)
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
        runtime = await _open(options, settings, kept, confirm, tools, powers)
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


async def _open(
    options: Options,
    settings: Settings,
    kept: OpenedSession,
    confirm: Confirm | None,
    tools: Iterable[AnyTool],
    powers: Powers | None = None,
) -> Runtime:
    from dogu.agent.asking import PersonAsked
    from dogu.agent.session.live import SessionRecorder
    from dogu.policy.remembered import RememberedRules
    from dogu.runtime.journal import Journal
    from dogu.workspace.process.local import LocalProcesses

    folder, session = kept.folder, kept.session
    with ExitStack() as failing:
        failing.callback(kept.give_up)
        pending = os.path.join(options.state_folder, "pending")
        roots = _roots_of(options, settings, kept)
        journal = Journal(folder.path, roots, pending=pending)
        failing.callback(journal.close)
        files = _files_of(options, settings, roots, journal)
        processes = LocalProcesses(output_folder=folder.path)
        failing.callback(processes.close)
        rules = rules_of(settings)
        remembered = RememberedRules(os.path.join(options.state_folder, "allowed.json"), options.real_root)
        memory = partial(memory_file, options, settings, journal)
        ask = PersonAsked()
        parts = Parts(roots, files, processes, memory, powers or Powers(), confirm is not None, options.processes, ask)
        built_in = [tool for tool in built_in_tools(settings, parts) if rules.tool_exists(tool.name)]
        built_in += skill_tools(options, settings, roots, rules, lambda: runtime.policy)
        registry = ToolRegistry([*built_in, *tools])
        notes = (
            ((folder.problem,) if folder.problem else ())
            + _put_right(pending, roots)
            + await _discover(settings, registry, processes, roots.primary)
        )
        failing.pop_all()
    executor = Executor(
        registry,
        Policy(rules, ApprovalMode(settings.tools.approval_mode), remembered),
        session.recorded(confirm) if confirm is not None else None,
        recorder=SessionRecorder(session, journal),
        bounds=ResultBounds(folder.keep_output),
    )
    ask.enquire = executor.approval.enquire

    def prepare() -> None:
        processes.prepare(is_scoped=settings.sandbox.mode != "off")
        journal.prepare()

    async def close() -> None:
        _close(kept, processes, journal)
        clear_away(options, settings, folder)

    runtime = Runtime(executor, roots.all, journal, close, notes, prepare)
    tie(session, runtime, processes)
    return runtime


def _close(kept: OpenedSession, processes: LocalProcesses, journal: Journal) -> None:
    folder, session = kept.folder, kept.session
    if session.has_prompts:
        session.note_state()  # what ends now is told when it is resumed
    processes.close()
    journal.close()
    session.close()
    folder.close(is_wanted=session.has_prompts)


def _roots_of(options: Options, settings: Settings, kept: OpenedSession) -> Roots:
    """The roots that were named and those the session had; its own folder, and its originals', for reading."""
    from dogu.workspace.roots import Roots

    also = (*settings.context.include_directories, *kept.also)
    return Roots(options.absolute_root, also, (kept.folder.path, *kept.readable))


def _files_of(options: Options, settings: Settings, roots: Roots, journal: Journal) -> LocalFiles:
    pending = os.path.join(options.state_folder, "pending")
    freed = settings.tools.writable_protected_paths
    if options.editor is not None:
        from dogu.workspace.editor_files import EditorFiles

        return EditorFiles(options.editor, roots, [journal], pending=pending, unprotected=freed)
    from dogu.workspace.files import LocalFiles

    return LocalFiles(roots, [journal], pending=pending, unprotected=freed)


def rules_of(settings: Settings) -> Rules:
    """Make the rules that the settings' lists say. Raises `SettingsError` for an entry that isn't understood."""
    tools = settings.tools
    try:
        return Rules.from_lists(tools.core, tools.exclude, tools.allowed)
    except RestrictionError as error:
        raise SettingsError("settings", 0, "tools", f"{error.entry}: {error}") from error


def _put_right(pending: str, roots: Roots) -> tuple[str, ...]:
    """Put right what a killed process left half written, and say so."""
    if not os.path.isdir(pending):
        return ()
    from dogu.workspace.pending_writes import recover

    return tuple(f"{recovered}" for recovered in recover(pending, roots))


async def _discover(
    settings: Settings, registry: ToolRegistry, processes: LocalProcesses, root: str
) -> tuple[str, ...]:
    """Register what the discovery command declares; return what went wrong."""
    tools = settings.tools
    if not tools.discovery_command:
        return ()
    from dogu.runtime.discovery.command import CommandRunner, discover
    from dogu.workspace.environment import command_environment

    runner = CommandRunner(processes, root, lambda: command_environment(os.environ, settings.shell.environment))
    offer_on_demand(registry, rules_of(settings))
    names = registry.taken_names
    found = await discover(tools.discovery_command, tools.call_command, runner, names)
    for tool in found.tools:
        registry.register(tool, is_discovered=True)
    return found.problems
