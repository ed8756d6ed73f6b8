"""What a user adds, found and wired: commands and skills of their own, hooks, telemetry.

What came with a folder counts only when the user trusts the folder.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from dogu.app.options import Options, Start
from dogu.contract.errors import ToolError
from dogu.language import say, told
from dogu.policy.policy import Policy
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.events import Notes, ToolAnswer, ToolCall
from dogu.runtime.questions import Confirm
from dogu.runtime.registry import AnyTool
from dogu.runtime.session_folder import RECORD_NAME
from dogu.settings import Settings, SettingsError, Trust, record_trust
from dogu.settings.merging import WAITS_FOR_TRUST
from dogu.version import __version__
from dogu.workspace.environment import command_environment
from dogu.workspace.private_file import changing_json
from dogu.workspace.process.local import LocalProcesses

if TYPE_CHECKING:
    from dogu.agent.extensions.skills import Skills
    from dogu.agent.extensions.turn_hooks import TurnHooks
    from dogu.agent.housekeeping import AroundTurn
    from dogu.agent.slash import SlashCommands
    from dogu.models.model import Model
    from dogu.runtime.hooks import HookPlace, Hooks
    from dogu.runtime.hooks.config import Hook, HookProblem
    from dogu.runtime.tracing import Tracing
    from dogu.tools.activate_skill import Skill
    from dogu.workspace.roots import Roots


def _places(options: Options, settings: Settings, *names: str) -> list[tuple[str, bool]]:
    """The folders that are there, those that win last, each with whether it came with the workspace."""
    home, root = options.home, options.real_root
    folders = [(os.path.join(home, name), False) for name in names if not name.startswith(".agents")]
    if settings.trust is Trust.TRUSTED and root != os.path.realpath(home):
        folders += [(os.path.join(root, name), True) for name in names]
    return [*_of_extensions(settings, "skills"), *((each, mine) for each, mine in folders if os.path.isdir(each))]


def _of_extensions(settings: Settings, name: str) -> list[tuple[str, bool]]:
    """The folders of that name of the extensions that count: one that came with a folder, when that is trusted."""
    counting = [each for each in settings.added if not each.is_project or settings.trust is Trust.TRUSTED]
    return [(each.inner(name), each.is_project) for each in counting if os.path.isdir(each.inner(name))]


def skills_of(options: Options, settings: Settings) -> Skills | None:
    """Find the skills; None when there is no folder for any."""
    chosen = settings.extensions.skills
    places = _places(options, settings, ".gemini/skills", ".dogu/skills", ".agents/skills") if chosen.is_enabled else []
    if not places:
        return None
    from dogu.agent.extensions.skills import SkillFolder, Skills

    return Skills([SkillFolder(folder, is_project) for folder, is_project in places], chosen.disabled)


def unmatched_skills(options: Options, settings: Settings) -> list[str]:
    """Say which skills are disabled and aren't there: each was meant for something."""
    if not settings.extensions.skills.disabled:
        return []
    skills = skills_of(options, settings)
    names = skills.unmatched() if skills is not None else sorted(settings.extensions.skills.disabled)
    source = f"skills.disabled ({settings.origins['skills.disabled']})"
    return [told("The entry {entry!r} of {source} matches no skill.", entry=name, source=source) for name in names]


def skill_tools(options: Options, settings: Settings, roots: Roots, policy: Policy) -> list[AnyTool]:
    """Make the tool that activates skills, where there are any and the settings let it exist."""
    if not policy.rules.tool_exists("activate_skill"):
        return []
    skills = skills_of(options, settings)
    if skills is None or not skills.all():
        return []
    from dogu.tools.activate_skill import ActivateSkill

    is_allowed = any(rule.tool == "activate_skill" for rule in policy.rules.allowed)

    def asks_first(skill: Skill) -> bool:
        return skill.is_project and not is_allowed and policy.mode is not ApprovalMode.YOLO

    return [ActivateSkill(skills.all, skills.load, roots.allow_reading, asks_first)]


class Extras(msgspec.Struct, frozen=True):
    """What the user has put around calls and turns: hooks, which run in `processes`, and traces.

    `troubles` are sentences for the user about those that can't be used.
    """

    hooks: Hooks | None
    processes: LocalProcesses | None
    tracing: Tracing | None
    notes: Notes
    troubles: tuple[str, ...] = ()

    def notifying(self, confirm: Confirm) -> Confirm:
        """Return a `confirm` that tells the hooks of questions, if some want to be told."""
        if self.hooks is None:
            return confirm
        from dogu.runtime.hooks import notifying

        return notifying(confirm, self.hooks)

    @asynccontextmanager
    async def running(self, *, is_resumed: bool) -> AsyncGenerator[None]:
        """Run the hooks of the session's start and end around the context."""
        if self.hooks is None or self.processes is None:
            yield
            return
        try:
            await self.hooks.start_session("resume" if is_resumed else "startup", self.notes.add)
            yield
        finally:
            await self.hooks.end_session(self.notes.add)
            await self.processes.aclose()

    async def aclose(self) -> None:
        """Send what traces are left."""
        if self.tracing is not None:
            await self.tracing.aclose()


def extras_of(options: Options, settings: Settings, roots: tuple[str, ...], folder: str, notes: Notes) -> Extras:
    """Make what the settings say, for the session of that folder."""
    tracing, problems = _tracing_of(settings, os.path.basename(folder), notes)
    found, troubles = _hooks_found(options, settings)
    if not found:
        return Extras(None, None, tracing, notes, (*problems, *troubles))
    from dogu.runtime.hooks import Hooks

    processes = LocalProcesses()
    hooks = Hooks(found, processes, _hook_place(settings, roots[0], folder))
    return Extras(hooks, processes, tracing, notes, (*problems, *troubles))


class Conversing(msgspec.Struct, frozen=True):
    """The session's model with what stands around its answers, and what runs its turns in another way."""

    model: Model
    around_turn: AroundTurn | None = None
    hooks: TurnHooks | None = None


def conversing(model: Model, extras: Extras, provider: str) -> Conversing:
    """Put traces and hooks around a model; the hooks outside of the traces."""
    turn_hooks: TurnHooks | None = None
    if extras.hooks is not None:
        from dogu.agent.extensions.turn_hooks import TurnHooks

        turn_hooks = TurnHooks(extras.hooks)
    around: AroundTurn | None = turn_hooks
    asked = model
    if extras.tracing is not None:
        from dogu.agent.tracing import TracedModel, TracedTurns

        around = TracedTurns(model, extras.tracing, around, provider)
        asked = TracedModel(asked, extras.tracing, provider)
    if turn_hooks is not None:
        from dogu.agent.extensions.model_hooks import HookedModel, has_model_hooks

        if has_model_hooks(turn_hooks.hooks):
            asked = HookedModel(asked, turn_hooks.hooks, lambda: turn_hooks.emit)
    return Conversing(asked, around, turn_hooks)


def add_own_commands(
    slash: SlashCommands, start: Start, hooks: TurnHooks | None, run: Callable[[ToolCall], Awaitable[ToolAnswer]]
) -> None:
    """Add the `/` commands that the user's files and folders make; `run` runs the calls in them."""
    options, settings, notes = start.options, start.settings, start.notes
    if hooks is not None:
        slash.register(hooks.command())
    skills = skills_of(options, settings)
    if skills is not None:
        slash.register(skills.command())
        notes.add(*(say("Skill can't be loaded: {problem}", problem=problem) for problem in skills.problems()))
    _add_commands(slash, start, run)
    waiting = ", ".join(name for name in waiting_for_trust(options, settings) if not os.path.isabs(name))
    if waiting:  # nobody was asked about the folder
        notes.add(say("Not used until you trust this folder (dogu config trust): {folders}.", folders=waiting))


def waiting_for_trust(options: Options, settings: Settings) -> list[str]:
    """Return what a folder brings that has no effect before the user says something of the folder; [] once they did."""
    root = options.real_root
    if settings.trust is not Trust.UNKNOWN or root == os.path.realpath(options.home):
        return []
    names = [f"{folder}/commands" for folder in (".gemini", ".dogu")]
    names += [f"{folder}/skills" for folder in (".gemini", ".dogu", ".agents")]
    names += settings.context.file_names
    found = [name for name in names if os.path.exists(os.path.join(root, name))]
    return found + [warning.origin.file for warning in settings.warnings if warning.message == WAITS_FOR_TRUST]


def set_trust(options: Options, *, is_trusted: bool) -> None:
    """Remember the user's answer for this folder. Raises `OSError`."""
    answer = Trust.TRUSTED if is_trusted else Trust.DISTRUSTED
    record_trust(options.absolute_root, options.settings_home or options.home, answer)


def _add_commands(slash: SlashCommands, start: Start, run: Callable[[ToolCall], Awaitable[ToolAnswer]]) -> None:
    from dogu.agent.extensions.commands import BadCommand, CustomCommands, CustomSlashCommands

    options, notes = start.options, start.notes
    home, root = options.home, options.real_root
    folders = [os.path.join(home, name, "commands") for name in (".gemini", ".dogu")]
    if start.settings.trust is Trust.TRUSTED and root != os.path.realpath(home):
        folders += [os.path.join(root, name, "commands") for name in (".gemini", ".dogu")]
    commands = CustomCommands([*(folder for folder, _ in _of_extensions(start.settings, "commands")), *folders])
    entries = [*commands.all()]
    taken = {command.name for command in slash} if entries else set[str]()
    for entry in entries:
        if isinstance(entry, BadCommand):
            notes.add(say("Command can't be loaded: {problem}", problem=entry.problem))
        elif entry.name in taken:
            notes.add(say("Command not loaded: {file}: /{name} is built in.", file=entry.file, name=entry.name))
    slash.register_source(CustomSlashCommands(commands, run))


def _tracing_of(settings: Settings, session_id: str, notes: Notes) -> tuple[Tracing | None, tuple[str, ...]]:
    """Return what traces the session, None unless the settings say so, and why it can't be traced, if it can't."""
    chosen = settings.extensions.telemetry
    if not chosen.is_enabled:
        return None, ()
    from dogu.runtime.tracing import TraceSettings, Tracing

    where = TraceSettings(chosen.endpoint, chosen.outfile, chosen.has_content)
    try:
        return Tracing(where, session_id, __version__, notes.add), ()
    except ToolError as error:
        return None, (error.message,)


def hook_problems(settings: Settings) -> list[tuple[str, bool]]:
    """Say what is wrong with the hooks of the settings, and of each whether dogu doesn't start for it."""
    _, problems, unclear = _read_hooks(settings)
    stopping = {str(problem) for problem in unclear}
    return [(problem, problem in stopping) for problem in problems]


def _hooks_found(options: Options, settings: Settings) -> tuple[list[Hook], list[str]]:
    """Return the hooks that shall run, and what the user must be told of them.

    Raises `SettingsError` for one that isn't understood and may have been meant to refuse something.
    """
    hooks, problems, unclear = _read_hooks(settings)
    for guard in unclear:
        raise SettingsError(guard.file, 0, guard.key, guard.message)
    return hooks, [*(say("Hooks: {problem}", problem=problem) for problem in problems), *_new_hooks(hooks, options)]


def _read_hooks(settings: Settings) -> tuple[list[Hook], list[str], list[HookProblem]]:
    """Return the hooks that are on, what is wrong with others, and those of them that may be restrictions."""
    chosen = settings.extensions.hooks
    if not chosen.is_enabled or not chosen.files:
        return [], [], []
    from dogu.runtime.hooks.config import HookFile, disabled_names, read_hooks

    if any(file.value.get("enabled") is False for file in chosen.files):
        return [], [], []
    files = tuple(HookFile(file.origin.file, file.is_project, file.value) for file in chosen.files)
    hooks, found = read_hooks(files)
    problems = [str(problem) for problem in found]
    disabled = {*chosen.disabled, *(name for file in files for name in disabled_names(file))}
    unmatched = sorted(disabled - {name for hook in hooks for name in (hook.name, hook.command)})
    hooks = [hook for hook in hooks if hook.name not in disabled and hook.command not in disabled]
    problems += [told("{name!r} is disabled, and there is no such hook", name=name) for name in unmatched]
    return hooks, problems, [problem for problem in found if problem.stops]


def _hook_place(settings: Settings, root: str, folder: str) -> HookPlace:
    from dogu.runtime.hooks import HookPlace

    session_id = os.path.basename(folder)
    variables = {f"{name}_PROJECT_DIR": root for name in ("GEMINI", "CLAUDE", "DOGU")}
    variables |= {"GEMINI_SESSION_ID": session_id, "GEMINI_CWD": root, "DOGU_SESSION_ID": session_id}

    def environment() -> Mapping[str, str]:
        return command_environment(os.environ, settings.shell.environment, settings.shell.withheld) | variables

    return HookPlace(root, environment, session_id, os.path.join(folder, RECORD_NAME))


def _new_hooks(hooks: list[Hook], options: Options) -> list[str]:
    """Name the folder's own hooks that weren't there the last time, and remember them."""
    own = {f"{hook.event} {hook.matcher} {hook.command}": hook for hook in hooks if hook.is_project}
    return [
        say(
            "This folder's settings run a hook that is new or has changed, at {event}: {command}",
            event=own[key].event,
            command=own[key].command,
        )
        for key in _unseen(os.path.join(options.state_folder, "hooks.json"), options.root_key, list(own))
    ]


def _unseen(file: str, root: str, keys: list[str]) -> list[str]:
    """Return those of `keys` that `file` doesn't name for this root, and put all of them there."""
    seen: list[Any] = _known_hooks(file).get(root, [])
    new = [key for key in keys if key not in seen]
    if new or len(seen) != len(keys):
        try:
            with changing_json(file, dict[str, list[Any]], is_synced=False) as known:
                known[root] = keys
        except OSError:
            pass  # told again the next time
    return new


def _known_hooks(file: str) -> dict[str, list[Any]]:
    try:
        with open(file, "rb") as stream:
            return msgspec.json.decode(stream.read(), type=dict[str, list[Any]])
    except (OSError, msgspec.MsgspecError):
        return {}
