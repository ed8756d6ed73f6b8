"""Settings in, everything wired out: the one place where parts are put together.

What each part needs, it gets here through its constructor; nothing below reads settings or looks for its neighbours.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dogu.policy.mode import ApprovalMode
from dogu.policy.policy import Policy
from dogu.policy.rules import RestrictionError, Rules
from dogu.runtime.executor import Executor
from dogu.runtime.questions import Confirm
from dogu.runtime.registry import AnyTool, ToolRegistry
from dogu.runtime.result_bounds import ResultBounds
from dogu.runtime.runtime import Runtime
from dogu.runtime.session_folder import SessionFolder
from dogu.settings import ModelSettings, Settings, SettingsError, load_settings

if TYPE_CHECKING:
    from dogu.agent.at_paths import PromptReader
    from dogu.agent.loop import Agent, AskToGoOn
    from dogu.models.events import Usage
    from dogu.models.model import Model
    from dogu.workspace.edit_match.repair import Repair
    from dogu.workspace.files import LocalFiles
    from dogu.workspace.process import LocalProcesses
    from dogu.workspace.roots import Roots
    from dogu.workspace.sandbox import Sandbox

DEFAULT_MODEL = "gemini-2.5-pro"


@dataclass(frozen=True)
class Options:
    """What the command line, or an importer, says above the settings files; None and empty say nothing.

    `root` may be relative to the present folder, which is the default; `home` is where settings and sessions are.
    """

    root: str = ""
    include_directories: tuple[str, ...] = ()
    settings_file: str | None = None
    approval_mode: str | None = None
    model: str | None = None
    home: str = field(default_factory=lambda: os.path.expanduser("~"))

    @property
    def absolute_root(self) -> str:
        """The workspace root."""
        return os.path.abspath(self.root or os.getcwd())

    @classmethod
    def of(cls, space: Any) -> Options:
        """Take the options from parsed arguments."""
        return cls(
            space.root or "",
            tuple(os.path.abspath(folder) for folder in space.include_directories or ()),
            space.settings,
            space.approval_mode,
            space.model,
        )


@dataclass(frozen=True)
class Opened:
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
        return [*lines, "/help shows what can be typed."]


_HOW_TO_CONNECT = [
    "No model is connected: this is the offline model, which understands plain requests (list, read, find, search,",
    "replace, run). To connect Gemini, set GEMINI_API_KEY. To connect a local model, set in ~/.dogu/settings.json:",
    '  {"model": {"provider": "openai_compatible", "baseUrl": "http://localhost:11434/v1", "name": "qwen3-coder"}}',
]


def read_settings(options: Options) -> Settings:
    """Read the settings files and put the options above them. Raises `SettingsError`."""
    overrides = {
        "tools.approvalMode": options.approval_mode,
        "model.name": options.model,
        "context.includeDirectories": options.include_directories or None,
    }
    return load_settings(options.absolute_root, options.home, options.settings_file, overrides)


@asynccontextmanager
async def open_runtime(
    options: Options | None = None, *, confirm: Confirm | None = None, tools: Iterable[AnyTool] = ()
) -> AsyncGenerator[Runtime]:
    """Open the tools over a workspace; leaving the context ends background jobs.

    `tools` are added to the built-in ones. `confirm` is asked before anything changes; None refuses what asks. Raises
    `SettingsError` for settings that can't be understood.
    """
    options = options or Options()
    runtime = _runtime(options, read_settings(options), confirm, tools)
    try:
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

    repair = EditRepair(chosen, count) if _repairs(settings, chosen) else None
    runtime = _runtime(options, settings, confirm, tools, repair)
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
    try:
        yield Opened(agent, runtime, reader, os.path.basename(runtime.session_folder), settings)
    finally:
        await runtime.aclose()
        await chosen.aclose()


def open_model(settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> Model:
    """Choose the model: the provider that was set, else Gemini when there is a key, else the offline model."""
    key = settings.api_key or environ.get("GEMINI_API_KEY") or environ.get("GOOGLE_API_KEY") or ""
    match _provider(settings, key, environ):
        case "vertex":
            from dogu.models.gemini import Gemini
            from dogu.models.vertex import VertexAccess

            project, location = environ.get("GOOGLE_CLOUD_PROJECT", ""), environ.get("GOOGLE_CLOUD_LOCATION", "global")
            return Gemini(settings.name or DEFAULT_MODEL, VertexAccess(project, location))
        case "openai_compatible":
            from dogu.models.openai_compatible import OpenAICompatible

            base_url = settings.base_url or environ.get("OPENAI_BASE_URL", "")
            return OpenAICompatible(settings.name, base_url, settings.api_key or environ.get("OPENAI_API_KEY", ""))
        case "gemini":
            from dogu.models.gemini import Gemini, KeyAccess

            base_url = settings.base_url or environ.get("GOOGLE_GEMINI_BASE_URL", "")
            return Gemini(settings.name or DEFAULT_MODEL, KeyAccess(key, base_url))
        case _:
            from dogu.models.offline import Offline

            return Offline()


def _provider(settings: ModelSettings, key: str, environ: Mapping[str, str]) -> str:
    if settings.name == "offline":
        return "offline"
    if settings.provider:
        return settings.provider
    if environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() in ("1", "true"):
        return "vertex"
    return "gemini" if key or settings.name.startswith("gemini") else "offline"


def _repairs(settings: Settings, model: Model) -> bool:
    return settings.model.edit_repair and model.name != "offline"


def _runtime(
    options: Options,
    settings: Settings,
    confirm: Confirm | None,
    tools: Iterable[AnyTool],
    repair: Repair | None = None,
) -> Runtime:
    from dogu.workspace.files import LocalFiles
    from dogu.workspace.process import LocalProcesses
    from dogu.workspace.roots import Roots

    folder = SessionFolder(os.path.join(options.home, ".dogu"))
    roots = Roots(options.absolute_root, settings.context.include_directories, (folder.path,))
    files = LocalFiles(roots)
    processes = LocalProcesses()
    rules = _rules(settings)
    built_in = _built_in(settings, _Parts(roots, files, processes, repair))
    executor = Executor(
        ToolRegistry([*(tool for tool in built_in if rules.tool_exists(tool.name)), *tools]),
        Policy(rules, ApprovalMode(settings.tools.approval_mode)),
        confirm,
        bounds=ResultBounds(
            folder.keep_output, frozenset({"read_file", "read_many_files", "list_directory", "glob", "grep_search"})
        ),
    )

    async def close() -> None:
        processes.close()
        folder.close()

    return Runtime(executor, roots.all, folder.path, close)


def _rules(settings: Settings) -> Rules:
    tools = settings.tools
    try:
        return Rules.from_lists(tools.core, tools.exclude, tools.allowed)
    except RestrictionError as error:
        raise SettingsError("settings", 0, "tools", f"{error.entry}: {error}") from error


def open_sandbox(settings: Settings) -> Sandbox | None:
    """Find the best sandbox of this machine; None when it is switched off."""
    from dogu.workspace import sandbox

    chosen = settings.sandbox
    if chosen.mode == "off":
        return None
    wishes = sandbox.SandboxSettings(chosen.network_is_allowed, chosen.allowed_paths)
    return sandbox.Sandbox.detect(wishes)


@dataclass(frozen=True)
class _Parts:
    """What tools are made of."""

    roots: Roots
    files: LocalFiles
    processes: LocalProcesses
    repair: Repair | None


def _built_in(settings: Settings, parts: _Parts) -> Iterable[AnyTool]:
    """The built-in tools, in the order the model sees them. A new tool is one line here."""
    from dogu.tools.glob import Glob
    from dogu.tools.grep_search import GrepSearch
    from dogu.tools.list_directory import ListDirectory
    from dogu.tools.read_file import ReadFile
    from dogu.tools.read_many_files import ReadManyFiles
    from dogu.tools.replace import Replace
    from dogu.tools.run_shell_command import RunShellCommand, ShellLimits
    from dogu.tools.write_file import WriteFile
    from dogu.workspace.environment import command_environment
    from dogu.workspace.ignore_lookup import why_ignored
    from dogu.workspace.search import ContentSearch

    roots, files, shell = parts.roots, parts.files, settings.shell
    limits = ShellLimits(shell.timeout_s, shell.inactivity_timeout_s or 0)

    def hidden(path: str) -> str:
        return why_ignored(roots, path)

    return [
        ListDirectory(roots),
        ReadFile(files, roots, hidden),
        ReadManyFiles(files, roots, hidden),
        WriteFile(files, roots),
        Glob(roots),
        GrepSearch(ContentSearch(roots)),
        Replace(files, roots, parts.repair),
        RunShellCommand(
            roots,
            parts.processes,
            lambda: command_environment(os.environ, shell.environment),
            limits,
            open_sandbox(settings),
        ),
    ]
