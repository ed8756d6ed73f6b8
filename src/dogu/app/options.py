"""What the command line, or an importer, says; and the settings that come of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dogu.app.credentials import with_kept_key
from dogu.app.model_choice import with_profile
from dogu.language import say, told
from dogu.models.providers import GEMINI, PROVIDERS, VERTEX, named
from dogu.runtime.events import Notes
from dogu.settings import Settings, SettingsError, SettingsFiles
from dogu.settings.problems import Origin, SettingsWarning
from dogu.settings.values import shown
from dogu.workspace.private_file import written_path
from dogu.workspace.system import shell_called

if TYPE_CHECKING:
    from dogu.agent.housekeeping import AskToGoOn
    from dogu.runtime.questions import AskTheUser, Confirm
    from dogu.workspace.editor_files import Editor
    from dogu.workspace.process.command import Processes
    from dogu.workspace.process.launch import ForkServer


_PROVIDER_OF_AUTH = {"gemini-api-key": GEMINI.name, "vertex-ai": VERTEX.name}  # what Gemini CLI calls them, and dogu


class Options(msgspec.Struct, frozen=True):
    """What is said above the settings files; None and empty say nothing.

    `root` may be relative to the present folder, which is the default; `home` is where settings and sessions are.
    `effort` is how much the model thinks. `system_prompt` stands for our own words in what the model is told first,
    `append_system_prompt` behind them. `max_turns` bounds the requests that each prompt may lead to, `max_cost` what
    the whole session may cost, in US dollars, with what it had cost before it was resumed; `retry_for_s` how long a
    request that fails for a while is sent again. `resume` and `fork` take a session's id, empty for the last one of the
    root, whose record must be as it was written unless `unverified`. `mcp_servers` are more entries of the settings'
    `mcpServers`. Files are read and written through `editor`; `processes` run the shell's commands elsewhere, where no
    sandbox of ours reaches. With `only_these_roots` a resumed session doesn't work in the further roots that it had.
    `allowed_tools` need no question, beside those that settings allow. With `is_container` the machine is the sandbox:
    all of it is a root, and nothing is asked or held back. With `keep_jobs` background jobs live on after the session.
    `settings_files` are those of `root`, where they were read already. `settings_home` is where the user's settings,
    trust and keys are, if not in `home`. Commands have `environment` above what is let in of ours, and may read and
    write `also_readable` and `also_writable` (absolute) in the sandbox.
    `commands` says what becomes of what they change: `keep`, the default, `ask` or `discard`. Without `undoes`
    nothing is kept to undo what calls do, which most of a command's cost is for: in folders that are thrown away.
    A `fork_server` is for programs that open many: what starts commands then costs each a tenth.
    """

    root: str = ""
    include_directories: tuple[str, ...] = ()
    settings_file: str | None = None
    approval_mode: str | None = None
    model: str | None = None
    effort: str | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    home: str = msgspec.field(default_factory=lambda: os.path.expanduser("~"))
    max_turns: int | None = None
    max_cost: float | None = None
    retry_for_s: float | None = None
    resume: str | None = None
    fork: str | None = None
    unverified: bool = False
    mcp_servers: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    editor: Editor | None = None
    processes: Processes | None = None
    only_these_roots: bool = False
    keep_jobs: bool | None = None
    is_container: bool = False
    allowed_tools: tuple[str, ...] = ()
    settings_files: SettingsFiles | None = None
    settings_home: str = ""
    environment: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    also_readable: tuple[str, ...] = ()
    also_writable: tuple[str, ...] = ()
    commands: str | None = None
    undoes: bool = True
    fork_server: ForkServer | None = None

    @property
    def absolute_root(self) -> str:
        """The workspace root."""
        return os.path.abspath(self.root or os.getcwd())

    @property
    def real_root(self) -> str:
        """The workspace root without symbolic links, as sessions know it."""
        return os.path.realpath(self.absolute_root)

    @property
    def root_key(self) -> str:
        """The workspace root as files name it that remember something for it."""
        return written_path(self.real_root)

    @property
    def state_folder(self) -> str:
        """Where sessions and notes are kept."""
        return os.path.join(self.home, ".dogu")

    @classmethod
    def of(cls, space: Any, settings_files: SettingsFiles | None = None) -> Options:
        """Take the options from parsed arguments. Raises `SettingsError` where there is no folder to work in."""
        if not space.root:
            check_root(cls())
        return cls(
            space.root or "",
            tuple(os.path.abspath(folder) for folder in space.include_directories or ()),
            space.settings,
            space.approval_mode,
            space.model,
            effort=space.effort,
            system_prompt=space.system_prompt,
            append_system_prompt=space.append_system_prompt,
            max_turns=space.max_turns,
            max_cost=space.max_cost,
            retry_for_s=space.retry_for,
            resume=getattr(space, "resume", None),
            unverified=getattr(space, "unverified", False),
            fork=getattr(space, "fork", None),
            keep_jobs=space.keep_jobs,
            is_container=space.container,
            allowed_tools=_entries(space.allowed_tools or ()),
            commands=space.commands,
            settings_files=settings_files,
        )


class Door(msgspec.Struct, frozen=True):
    """How the user is asked: about a call, by others, whether a turn that seems to loop goes on. None: nobody is."""

    confirm: Confirm | None = None
    elicit: AskTheUser | None = None
    ask_to_go_on: AskToGoOn | None = None


class Start(msgspec.Struct, frozen=True):
    """What there is before anything is opened; `notes` are told the user."""

    options: Options
    settings: Settings
    door: Door = Door()
    notes: Notes = msgspec.field(default_factory=Notes)


def read_settings(options: Options) -> Settings:
    """Read the settings files and put the options above them. Raises `SettingsError`."""
    check_root(options)
    whole = ("/",) if options.is_container else ()
    overrides = {
        "tools.approvalMode": options.approval_mode or ("yolo" if options.is_container else None),
        "tools.allowed": options.allowed_tools or None,
        "model.name": options.model,
        "model.effort": options.effort,
        "model.maxSessionTurns": options.max_turns,
        "model.maxCost": options.max_cost,
        "model.retryFor": options.retry_for_s,
        "context.includeDirectories": (*options.include_directories, *whole) or None,
        "mcpServers": options.mcp_servers or None,
        "tools.shell.keepJobs": options.keep_jobs,
        "tools.sandbox": False if options.processes is not None or options.is_container else None,
        "tools.sandboxReadablePaths": options.also_readable or None,
        "tools.sandboxAllowedPaths": options.also_writable or None,
    }
    home = options.settings_home or options.home
    place = options.absolute_root, home
    files = options.settings_files
    if files is None or files.place != place:
        files = SettingsFiles(*place)
    settings = files.settings(options.settings_file, overrides)
    settings = msgspec.structs.replace(settings, model=with_profile(settings.model))
    _check_provider(settings)
    settings = _with_folders(settings, options.absolute_root)
    return with_kept_key(settings, os.path.join(home, ".dogu"))


def check_root(options: Options) -> None:
    """The folder to work in must be there. Raises `SettingsError`."""
    try:
        folder = options.absolute_root
    except FileNotFoundError as error:
        message = say("the current folder is gone; name another one with --root")
        raise SettingsError(say("command line"), 0, "", message) from error
    if not os.path.isdir(folder):
        raise SettingsError(say("command line"), 0, "--root", say("{folder} isn't a folder", folder=folder))


def _with_folders(settings: Settings, root: str) -> Settings:
    """Say where the further folders are, as seen from the root; one that isn't there is told and left out."""
    named = settings.context.include_directories
    if not named:
        return settings
    places = {folder: os.path.join(root, os.path.expanduser(folder)) for folder in named}
    origin = settings.origins.get("context.includeDirectories", Origin(say("command line")))
    missing = [
        SettingsWarning(origin, "context.includeDirectories", told("{folder} isn't a folder: left out", folder=folder))
        for folder, place in places.items()
        if not os.path.isdir(place)
    ]
    there = tuple(place for place in places.values() if os.path.isdir(place))
    context = msgspec.structs.replace(settings.context, include_directories=there)
    return msgspec.structs.replace(settings, context=context, warnings=(*settings.warnings, *missing))


def told_of_settings(settings: Settings) -> list[str]:
    """What every door tells of the settings at its start: what has no effect, and what waits for the folder's trust."""
    told = [say("Settings: {warning}", warning=warning) for warning in settings.warnings]
    if settings.shell.program not in ("auto", shell_called(settings.shell.program)):
        told.append(
            say(
                "tools.shell.program is {shell}, which is for Windows only: bash runs commands here.",
                shell=settings.shell.program,
            )
        )
    return told


def _check_provider(settings: Settings) -> None:
    """The settings know no provider: one that nobody knows, or that may not be, is told. Raises `SettingsError`."""
    name = settings.model.provider
    if name and named(name) is None:
        choices = ", ".join(provider.name for provider in PROVIDERS)
        raise _wrong(
            settings, "model.provider", say("takes one of {choices}, not {value}", choices=choices, value=shown(name))
        )
    for way in settings.model.enforced_auth:
        if not name or name != _PROVIDER_OF_AUTH.get(way):
            message = say(
                "{way} is required, and dogu can't log in that way unless model.provider says so: {providers}",
                way=shown(way),
                providers=", ".join(f"{way}: {provider}" for way, provider in _PROVIDER_OF_AUTH.items()),
            )
            raise _wrong(settings, "security.auth.enforcedType", message)


def _wrong(settings: Settings, key: str, message: str) -> SettingsError:
    origin = settings.origins.get(key, Origin("settings", 0))
    return SettingsError(origin.file, origin.line, key, message)


def files_here() -> SettingsFiles | None:
    """Read the settings files of the present folder; None when they can't be understood."""
    try:
        return SettingsFiles(os.path.abspath(os.getcwd()), os.path.expanduser("~"))
    except (SettingsError, OSError):  # told in a moment, when they are read for their own sake
        return None


def _entries(lists: Iterable[str]) -> tuple[str, ...]:
    """Take lists apart at commas that are in no parentheses: `read_file, run_shell_command(git log)`."""
    found = (entry.strip() for text in lists for entry in re.split(r",(?![^(]*\))", text))
    return tuple(entry for entry in found if entry)
