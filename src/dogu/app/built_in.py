"""The built-in tools, and what they are made of."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from dogu.agent.asking import UserAsked
from dogu.app.extending import skill_tools, unmatched_skills
from dogu.app.foundation import Foundation, memory_file
from dogu.app.mcp_servers import offer_on_demand
from dogu.app.sandboxed import command_surroundings
from dogu.app.web import Web
from dogu.contract import ToolError
from dogu.language import told
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.host_questions import HostQuestions, RememberedHosts
from dogu.runtime.registry import AnyTool
from dogu.settings import Settings
from dogu.settings.tools import unknown_tool_hint
from dogu.tools.apply_patch import ApplyPatch
from dogu.tools.ask_user import AskUser
from dogu.tools.background_jobs import BackgroundJobs
from dogu.tools.edit_lines import EditLines
from dogu.tools.edit_notebook import EditNotebook
from dogu.tools.glob import Glob
from dogu.tools.google_web_search import GoogleWebSearch
from dogu.tools.grep_search import GrepSearch
from dogu.tools.list_directory import ListDirectory
from dogu.tools.read_file import ReadFile
from dogu.tools.read_many_files import ReadManyFiles
from dogu.tools.replace import Replace
from dogu.tools.run_shell_command import RunShellCommand, ShellLimits
from dogu.tools.run_subagent import RunSubagent
from dogu.tools.save_memory import SaveMemory
from dogu.tools.send_input import SendInput
from dogu.tools.stop_background_job import StopBackgroundJob
from dogu.tools.web_fetch import WebFetch
from dogu.tools.write_file import WriteFile
from dogu.tools.write_todos import WriteTodos
from dogu.workspace.environment import command_environment
from dogu.workspace.search import ContentSearch
from dogu.workspace.system import shell_called

if TYPE_CHECKING:
    from dogu.policy.rules import Rules
    from dogu.tools.ask_user import AskTheUser
    from dogu.tools.run_subagent import RunTask
    from dogu.workspace.edit_match.repair import Repair
    from dogu.workspace.files import LocalFiles
    from dogu.workspace.ignore import Reason
    from dogu.workspace.layer.command import CommandLayers
    from dogu.workspace.memory_file import MemoryFile
    from dogu.workspace.process.command import AskHost, Processes
    from dogu.workspace.process.local import LocalProcesses
    from dogu.workspace.roots import Roots
    from dogu.workspace.sandbox.ladder import Sandbox


class SessionServices(msgspec.Struct, frozen=True):
    """What tools have of an agent; a runtime without one has none of it."""

    repair: Repair | None = None
    memory_saved: Callable[[], None] = lambda: None
    subagent: RunTask | None = None
    web: Web | None = None


class ToolServices(msgspec.Struct, frozen=True):
    """What tools are made of. `commands` runs the shell's commands, if somebody else than `processes` does."""

    roots: Roots
    files: LocalFiles
    processes: LocalProcesses
    memory: Callable[[], MemoryFile]
    services: SessionServices = SessionServices()
    has_user: bool = False
    commands: Processes | None = None
    ask: AskTheUser | None = None
    find_sandbox: Callable[[], Sandbox | None] | None = None
    ask_host: AskHost | None = None
    environment: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    layers: CommandLayers | None = None


async def add_tools(base: Foundation, services: SessionServices, more: Iterable[AnyTool]) -> None:
    """Register the tools that the rules let exist: the built-in ones, the skills', `more`, and discovered ones."""

    start, workspace, registry = base.start, base.workspace, base.executor.registry
    options, settings, rules = start.options, start.settings, base.policy.rules
    parts = ToolServices(
        workspace.roots,
        workspace.files,
        workspace.processes,
        partial(memory_file, options, settings, workspace.journal),
        services,
        start.door.confirm is not None,
        options.processes,
        UserAsked(base.executor.approval.elicit),
        workspace.find_sandbox,
        HostQuestions(
            base.policy,
            base.executor.approval.elicit,
            RememberedHosts(os.path.join(options.state_folder, "reachable_hosts.json"), options.root_key),
        ),
        options.environment,
        workspace.layers if options.undoes else None,
    )
    for tool in built_in_tools(settings, parts):
        registry.register_unless(why_missing(rules, tool.name), tool)
    for tool in (*skill_tools(options, settings, workspace.roots, base.policy), *more):
        registry.register(tool)
    start.notes.add(*unmatched_skills(options, settings), *await _discover(base))


def of_use(base: Foundation, web: Web) -> Callable[[AnyTool], bool]:
    """Return what says of a tool whether a model needs to know of it, as mode and model are at the time."""
    has_user, policy, processes = base.start.door.elicit is not None, base.policy, base.workspace.processes

    def is_of_use(tool: AnyTool) -> bool:
        if policy.mode is ApprovalMode.PLAN and not tool.kind.changes_nothing:
            return tool.name == "run_shell_command" and _is_held(base)
        if tool.name == "send_input":
            return any(job.has_terminal for job in processes.jobs)
        if tool.name == "ask_user":
            return has_user
        return tool.name != "google_web_search" or web.can_search

    return is_of_use


def _is_held(base: Foundation) -> bool:
    """Whether commands can be run and not kept: then they are of use in plan mode, as dry runs."""
    try:
        sandbox = base.workspace.find_sandbox()
    except ToolError:
        return False
    return sandbox is not None and sandbox.holds_all and base.workspace.layers.can


async def _discover(base: Foundation) -> tuple[str, ...]:
    """Register what the discovery command declares; return what went wrong."""
    settings, registry, workspace = base.start.settings, base.executor.registry, base.workspace
    tools = settings.tools
    if not tools.discovery_command:
        return _unmatched(base)
    from dogu.runtime.discovery.command import CommandRunner, discover

    runner = CommandRunner(
        workspace.processes,
        workspace.roots.primary,
        lambda: command_environment(os.environ, settings.shell.environment, settings.shell.withheld),
    )
    offer_on_demand(registry, base.policy.rules)
    found = await discover(tools.discovery_command, tools.call_command, runner, registry.taken_names)
    for tool in found.tools:
        excluded = base.policy.rules.is_excluded(tool.name)
        why = base.policy.rules.why_missing(tool.name) if excluded else ""
        registry.register_unless(why, tool, is_discovered=True)
    return (*found.problems, *_unmatched(base))


def _unmatched(base: Foundation) -> tuple[str, ...]:
    """Say which entries of the rules match no tool, unless MCP servers will bring more: then it is said later.

    Where nothing is discovered, the settings have told of a name alone that is no built-in tool's.
    """
    settings, registry, rules = base.start.settings, base.executor.registry, base.policy.rules
    if settings.mcp.servers or settings.mcp.server_command:
        return ()
    if not (rules.exclude or rules.asked or rules.allowed or rules.files):
        return ()
    from dogu.policy.unmatched import KnownTools, unmatched

    found = unmatched(rules, KnownTools(frozenset(tool.name for tool in registry) | registry.kept_out))
    are_told = not settings.tools.discovery_command
    return tuple(
        each.sentence for each in found if each.is_in_file or not are_told or unknown_tool_hint(each.entry[1]) is None
    )


def built_in_tools(settings: Settings, parts: ToolServices) -> Iterable[AnyTool]:
    """Make the built-in tools, in the order the model sees them. A new tool is one line here."""

    roots, files, shell = parts.roots, parts.files, settings.shell
    shell_name = shell_called(shell.program)
    limits = ShellLimits(shell.timeout_s, shell.inactivity_timeout_s or 0, parts.ask_host, parts.layers, shell_name)
    respects_git = settings.context.respect_git_ignore
    web = parts.services.web or Web(settings)

    return [
        ListDirectory(roots).with_defaults(respect_git_ignore=respects_git),
        ReadFile(files, roots, partial(_hidden_from_models, roots), tags_lines=settings.tools.edit_format == "lines"),
        ReadManyFiles(files, roots, partial(_why_ignored, roots)).with_defaults(respect_git_ignore=respects_git),
        Glob(roots).with_defaults(respect_git_ignore=respects_git),
        GrepSearch(ContentSearch(roots, time_limit_s=settings.search.timeout_s)).with_defaults(
            respect_git_ignore=respects_git, max_matches=settings.search.max_matches
        ),
        *_edit_tools(settings, parts),
        WriteFile(files, roots),
        EditNotebook(files, roots),
        RunShellCommand(
            roots,
            parts.commands or parts.processes,
            command_surroundings(settings, roots.all, parts.environment),
            limits,
            parts.find_sandbox,
            has_user=parts.has_user,
        ),
        BackgroundJobs(parts.processes),
        SendInput(parts.processes),
        StopBackgroundJob(parts.processes),
        WebFetch(web.open_reader, web.url_context),
        GoogleWebSearch(web.search),
        WriteTodos(),
        AskUser(parts.ask),
        RunSubagent(parts.services.subagent),
        SaveMemory(parts.memory, parts.services.memory_saved),
    ]


_GOES_WITH = {
    "apply_patch": ("replace", "write_file"),
    "edit_lines": ("replace",),
    "edit_notebook": ("replace",),
    "background_jobs": ("run_shell_command",),
    "send_input": ("run_shell_command",),
    "stop_background_job": ("run_shell_command",),
}
"""Tools that do what others do, or serve them: they go where one of those is excluded."""

_TRAINED_ON_PATCHES = re.compile(r"(?:.*/)?(?:gpt-[5-9]|codex|o[134]\b)")


def why_missing(rules: Rules, name: str) -> str:
    """Say why the lists keep a built-in tool out, '' where they don't; what does the same as one goes with it."""
    gone = next(filter(rules.is_excluded, _GOES_WITH.get(name, ())), None)
    if gone is None or rules.is_excluded(name):
        return rules.why_missing(name)
    return told("{tool} goes with {other}: {why}", tool=name, other=gone, why=rules.why_missing(gone))


def _edit_tools(settings: Settings, parts: ToolServices) -> list[AnyTool]:
    """Make the tools for editing in the format that was set, or that the model knows best."""

    replace = Replace(parts.files, parts.roots, parts.services.repair)
    match settings.tools.edit_format:
        case "lines":
            return [EditLines(parts.files, parts.roots)]
        case "patch":
            return [ApplyPatch(parts.files, parts.roots)]
        case "auto" if _TRAINED_ON_PATCHES.match(settings.model.name):
            return [replace, ApplyPatch(parts.files, parts.roots)]
        case _:
            return [replace]


def _hidden_from_models(roots: Roots, path: str) -> Reason:
    from dogu.workspace.ignore.lookup import hidden_from_models

    return hidden_from_models(roots, path)


def _why_ignored(roots: Roots, path: str) -> Reason:
    from dogu.workspace.ignore.lookup import why_ignored

    return why_ignored(roots, path)
