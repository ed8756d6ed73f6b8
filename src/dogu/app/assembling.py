"""Puts a runtime together: session, roots, files, processes, tools and rules, each handed to those that need it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from dogu.app.built_in import Parts, Powers, built_in_tools, tool_exists
from dogu.app.extending import skill_tools
from dogu.app.keeping import memory_file
from dogu.app.mcp_servers import offer_on_demand
from dogu.app.options import Options
from dogu.app.sessions import clear_away, tie
from dogu.policy.mode import ApprovalMode
from dogu.policy.policy import Policy
from dogu.policy.rules import RestrictionError, Rules
from dogu.runtime.executor import Executor
from dogu.runtime.journal import Journal
from dogu.runtime.questions import Confirm
from dogu.runtime.registry import AnyTool, ToolRegistry
from dogu.runtime.result_bounds import ResultBounds
from dogu.runtime.runtime import Runtime
from dogu.settings import Settings, SettingsError
from dogu.workspace.files import LocalFiles
from dogu.workspace.pending_writes import recover
from dogu.workspace.roots import Roots

if TYPE_CHECKING:
    from dogu.app.sessions import OpenedSession
    from dogu.workspace.process.local import LocalProcesses


async def assemble(
    options: Options,
    settings: Settings,
    kept: OpenedSession,
    confirm: Confirm | None,
    tools: Iterable[AnyTool],
    powers: Powers | None = None,
) -> Runtime:
    """Put a runtime together for an open session; closing it closes the session and what belongs to it.

    `tools` come beside the built-in ones; `powers` are what those have of an agent. Raises `SettingsError`.
    """
    from dogu.agent.asking import PersonAsked
    from dogu.agent.session.live import SessionRecorder
    from dogu.policy.remembered import RememberedRules
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
        built_in = [tool for tool in built_in_tools(settings, parts) if tool_exists(rules, tool.name)]
        built_in += skill_tools(options, settings, roots, rules, lambda: runtime.policy)
        registry = ToolRegistry([*built_in, *tools])
        notes = ((folder.problem,) if folder.problem else ()) + _put_right(pending, roots)
        notes += await _discover(settings, registry, processes, roots.primary)
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
    also = (*settings.context.include_directories, *kept.also)
    return Roots(options.absolute_root, also, (kept.folder.path, *kept.readable))


def _files_of(options: Options, settings: Settings, roots: Roots, journal: Journal) -> LocalFiles:
    pending = os.path.join(options.state_folder, "pending")
    freed = settings.tools.writable_protected_paths
    if options.editor is not None:
        from dogu.workspace.editor_files import EditorFiles

        return EditorFiles(options.editor, roots, [journal], pending=pending, unprotected=freed)

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
