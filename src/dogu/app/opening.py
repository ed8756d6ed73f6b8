"""Opens a runtime, and an agent over it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from dogu.app.built_in import Parts, built_in_tools
from dogu.app.mcp_servers import mcp_servers
from dogu.app.model_choice import open_model
from dogu.app.options import Options, read_settings
from dogu.policy.mode import ApprovalMode
from dogu.policy.policy import Policy
from dogu.policy.rules import RestrictionError, Rules
from dogu.runtime.executor import Executor
from dogu.runtime.questions import Confirm
from dogu.runtime.registry import AnyTool, ToolRegistry
from dogu.runtime.result_bounds import ResultBounds
from dogu.runtime.runtime import Runtime
from dogu.runtime.session_folder import SessionFolder
from dogu.settings import Settings, SettingsError

if TYPE_CHECKING:
    from dogu.agent.at_paths import PromptReader
    from dogu.agent.loop import Agent, AskToGoOn
    from dogu.models.events import Usage
    from dogu.models.model import Model
    from dogu.workspace.edit_match.repair import Repair
    from dogu.workspace.process import LocalProcesses
    from dogu.workspace.roots import Roots


class Opened(msgspec.Struct, frozen=True):
    """An agent with its runtime, until the context that opened it is left."""

    agent: Agent
    runtime: Runtime
    read_prompt: PromptReader
    session_id: str
    settings: Settings

    def greeting(self) -> list[str]:
        """What the person is told before the first prompt."""
        from dogu.version import __version__

        lines = [f"dogu {__version__} · {self.agent.model.name} · {self.runtime.roots[0]}"]
        if self.agent.model.name == "offline":
            lines += _HOW_TO_CONNECT
        lines += [f"Settings: {warning}" for warning in self.settings.warnings]
        return [*lines, *self.runtime.notes, "/help shows what can be typed."]


_HOW_TO_CONNECT = [
    "No model is connected: this is the offline model, which understands plain requests (list, read, find, search,",
    "replace, run). To connect Gemini, set GEMINI_API_KEY. To connect a local model, set in ~/.dogu/settings.json:",
    '  {"model": {"provider": "openai_compatible", "baseUrl": "http://localhost:11434/v1", "name": "qwen3-coder"}}',
]


@asynccontextmanager
async def open_runtime(
    options: Options | None = None, *, confirm: Confirm | None = None, tools: Iterable[AnyTool] = ()
) -> AsyncGenerator[Runtime]:
    """Open the tools over a workspace; leaving the context ends background jobs.

    `tools` are added to the built-in ones. `confirm` is asked before anything changes; None refuses what asks. Raises
    `SettingsError` for settings that can't be understood.
    """
    options = options or Options()
    settings = read_settings(options)
    runtime = await _open(options, settings, confirm, tools)
    try:
        async with mcp_servers(settings, runtime):
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
) -> AsyncGenerator[Opened]:
    """Open a runtime and an agent over it, with the model of the settings or the one given."""
    from dogu.agent.at_paths import PromptReader
    from dogu.agent.context_files import read_context_files
    from dogu.agent.edit_repair import EditRepair
    from dogu.agent.loop import Agent
    from dogu.agent.system_prompt import system_prompt

    options = options or Options()
    settings = read_settings(options)
    chosen = model or open_model(settings.model)

    def count(usage: Usage) -> None:
        agent.count(usage)

    repair = EditRepair(chosen, count) if settings.model.edit_repair and chosen.name != "offline" else None
    runtime = await _open(options, settings, confirm, tools, repair)
    homes = [os.path.join(options.home, name) for name in (".gemini", ".dogu")]
    context_files = read_context_files(runtime.roots[0], homes, settings.context.file_names)
    agent = Agent(
        chosen,
        runtime.executor,
        system_prompt(runtime.roots, context_files),
        max_steps=settings.model.max_session_turns or 100,
        ask_to_go_on=ask_to_go_on,
    )
    reader = PromptReader(runtime.executor, lambda path: os.path.lexists(os.path.join(runtime.roots[0], path)))
    has_person = ask_to_go_on is not None
    try:
        async with mcp_servers(settings, runtime, waits=not has_person):
            yield Opened(agent, runtime, reader, os.path.basename(runtime.session_folder), settings)
    finally:
        await runtime.aclose()
        await chosen.aclose()


async def _open(
    options: Options,
    settings: Settings,
    confirm: Confirm | None,
    tools: Iterable[AnyTool],
    repair: Repair | None = None,
) -> Runtime:
    from dogu.policy.remembered import RememberedRules
    from dogu.runtime.journal import Journal, tidy
    from dogu.workspace.files import LocalFiles
    from dogu.workspace.process import LocalProcesses
    from dogu.workspace.roots import Roots

    root = options.absolute_root
    folder = SessionFolder(options.state_folder, [options.real_root])
    pending = os.path.join(options.state_folder, "pending")
    roots = Roots(root, settings.context.include_directories, (folder.path,))
    journal = Journal(folder.path, roots, pending=pending)
    tidy(os.path.dirname(folder.path))
    freed = settings.tools.writable_protected_paths
    files = LocalFiles(roots, [journal], pending=pending, unprotected=freed)
    processes = LocalProcesses(output_folder=folder.path)
    rules = rules_of(settings)
    remembered = RememberedRules(os.path.join(options.state_folder, "allowed.json"), options.real_root)
    built_in = built_in_tools(settings, Parts(roots, files, processes, repair, confirm is not None))
    registry = ToolRegistry([*(tool for tool in built_in if rules.tool_exists(tool.name)), *tools])
    notes = (
        ((folder.problem,) if folder.problem else ())
        + _put_right(pending, roots)
        + await _discover(settings, registry, processes, roots.primary)
    )
    executor = Executor(
        registry,
        Policy(rules, ApprovalMode(settings.tools.approval_mode), remembered),
        confirm,
        recorder=journal,
        bounds=ResultBounds(folder.keep_output),
    )

    async def close() -> None:
        processes.close()
        journal.close()
        folder.close()

    def prepare() -> None:
        processes.prepare(is_scoped=settings.sandbox.mode != "off")
        journal.prepare()

    return Runtime(executor, roots.all, journal, close, notes, prepare)


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
    names = [tool.name for tool in registry]
    found = await discover(tools.discovery_command, tools.call_command, runner, names)
    for tool in found.tools:
        registry.register(tool)
    return found.problems
