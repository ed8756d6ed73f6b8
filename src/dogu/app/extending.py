"""What a person adds, found and wired: commands and skills of their own, hooks, telemetry.

What came with a folder counts only when the person trusts the folder.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from dogu.app.options import Options
from dogu.app.telemetry import trace, traced
from dogu.language import say
from dogu.policy.mode import ApprovalMode
from dogu.policy.policy import Policy
from dogu.policy.rules import Rules
from dogu.runtime.registry import AnyTool
from dogu.runtime.runtime import Runtime
from dogu.runtime.session_folder import RECORD_NAME
from dogu.settings import Settings, Trust

if TYPE_CHECKING:
    from dogu.agent.extensions.skills import Skills
    from dogu.agent.extensions.turn_hooks import TurnHooks
    from dogu.agent.loop import Agent
    from dogu.agent.slash import SlashCommands
    from dogu.runtime.hooks import Hooks
    from dogu.runtime.hooks.config import Hook
    from dogu.tools.activate_skill import Skill
    from dogu.workspace.process.local import LocalProcesses
    from dogu.workspace.roots import Roots


def _places(options: Options, settings: Settings, *names: str) -> list[tuple[str, bool]]:
    """The folders that are there, those that win last, each with whether it came with the workspace."""
    home, root = options.home, options.real_root
    folders = [(os.path.join(home, name), False) for name in names if not name.startswith(".agents")]
    if settings.trust is Trust.TRUSTED and root != os.path.realpath(home):
        folders += [(os.path.join(root, name), True) for name in names]
    return [(folder, is_project) for folder, is_project in folders if os.path.isdir(folder)]


def skills_of(options: Options, settings: Settings) -> Skills | None:
    """Find the skills; None when there is no folder for any."""
    chosen = settings.extensions.skills
    places = _places(options, settings, ".gemini/skills", ".dogu/skills", ".agents/skills") if chosen.is_enabled else []
    if not places:
        return None
    from dogu.agent.extensions.skills import SkillFolder, Skills

    return Skills([SkillFolder(folder, is_project) for folder, is_project in places], chosen.disabled)


def skill_tools(
    options: Options, settings: Settings, roots: Roots, rules: Rules, policy: Callable[[], Policy]
) -> list[AnyTool]:
    """Make the tool that activates skills, where there are any and the settings let it exist."""
    if not rules.tool_exists("activate_skill"):
        return []
    skills = skills_of(options, settings)
    if skills is None or not skills.all():
        return []
    from dogu.tools.activate_skill import ActivateSkill

    is_allowed = any(rule.tool == "activate_skill" for rule in rules.allowed)

    def asks_first(skill: Skill) -> bool:
        return skill.is_project and not is_allowed and policy().mode is not ApprovalMode.YOLO

    return [ActivateSkill(skills.all, skills.load, roots.allow_reading, asks_first)]


@asynccontextmanager
async def extended(runtime: Runtime, options: Options, settings: Settings) -> AsyncGenerator[None]:
    """Run the session's hooks, and trace it, while the context is open."""
    async with traced(runtime, settings):
        hooks = _hooks(runtime, options, settings)
        if hooks is None:
            yield
            return
        processes, found = hooks
        runtime.executor.hooks = found
        _notify(runtime, found)
        try:
            await found.start_session("startup" if options.resume is None else "resume", _teller(runtime))
            yield
        finally:
            await found.end_session(_teller(runtime))
            await processes.aclose()


def _notify(runtime: Runtime, hooks: Hooks) -> None:
    """Tell the hooks of questions, if some want to be told and somebody is asked."""
    from dogu.runtime.hooks.config import Moment

    approval = runtime.executor.approval
    if approval.confirm is not None and any(hook.moment is Moment.NOTIFICATION for hook in hooks.hooks):
        from dogu.runtime.hooks.notify import notifying

        approval.confirm = notifying(approval.confirm, hooks)


def extend_agent(agent: Agent, slash: SlashCommands, runtime: Runtime, options: Options, settings: Settings) -> None:
    """Give an agent the hooks around turns, and the `/` commands that the person's files and folders make."""
    from dogu.runtime.hooks import Hooks

    turn_hooks: TurnHooks | None = None
    if isinstance(runtime.executor.hooks, Hooks):
        from dogu.agent.extensions.turn_hooks import TurnHooks

        turn_hooks = TurnHooks(runtime.executor.hooks)
        agent.around_turn = turn_hooks
        slash.register(turn_hooks.command())
    trace(agent, runtime, settings)
    if turn_hooks is not None:
        _hook_model(agent, turn_hooks)
    skills = skills_of(options, settings)
    if skills is not None:
        slash.register(skills.command())
        _note(runtime, *(say("Skill not used: {problem}", problem=problem) for problem in skills.problems()))
    _add_commands(slash, runtime, options, settings)
    _tell_what_waits(runtime, options, settings)


def _hook_model(agent: Agent, turn_hooks: TurnHooks) -> None:
    """Have the conversation's requests pass the hooks around the model, where there are any; outside of the traces."""
    from dogu.agent.extensions.model_hooks import HookedModel, has_model_hooks

    if has_model_hooks(turn_hooks.hooks):
        traced = agent.watched
        agent.watched = lambda model: HookedModel(traced(model), turn_hooks.hooks, lambda: turn_hooks.emit)


def _tell_what_waits(runtime: Runtime, options: Options, settings: Settings) -> None:
    """Say that a folder nobody was asked about brings commands or skills of its own."""
    root = options.real_root
    if settings.trust is not Trust.UNKNOWN or root == os.path.realpath(options.home):
        return
    names = [f"{folder}/commands" for folder in (".gemini", ".dogu")]
    names += [f"{folder}/skills" for folder in (".gemini", ".dogu", ".agents")]
    found = [name for name in names if os.path.isdir(os.path.join(root, name))]
    if found:
        note = say("Not used until you trust this folder (dogu config trust): {folders}.", folders=", ".join(found))
        _note(runtime, note)


def _add_commands(slash: SlashCommands, runtime: Runtime, options: Options, settings: Settings) -> None:
    from dogu.agent.extensions.commands import BadCommand, CustomCommands
    from dogu.agent.slash.custom import CustomSlashCommands

    home, root = options.home, options.real_root
    folders = [os.path.join(home, name, "commands") for name in (".gemini", ".dogu")]
    if settings.trust is Trust.TRUSTED and root != os.path.realpath(home):
        folders += [os.path.join(root, name, "commands") for name in (".gemini", ".dogu")]
    commands = CustomCommands(folders)
    taken = {command.name for command in slash}
    for entry in commands.all():
        if isinstance(entry, BadCommand):
            _note(runtime, say("Command not used: {problem}", problem=entry.problem))
        elif entry.name in taken:
            _note(runtime, say("Command not used: {file}: /{name} is dogu's own.", file=entry.file, name=entry.name))
    slash.register_source(CustomSlashCommands(commands, runtime.executor))


def _hooks(runtime: Runtime, options: Options, settings: Settings) -> tuple[LocalProcesses, Hooks] | None:
    chosen = settings.extensions.hooks
    if not chosen.is_enabled or not chosen.files:
        return None
    from dogu.runtime.hooks import HookPlace, Hooks
    from dogu.runtime.hooks.config import HookFile, disabled_names, read_hooks
    from dogu.workspace.environment import command_environment
    from dogu.workspace.process.local import LocalProcesses

    if any(file.value.get("enabled") is False for file in chosen.files):
        return None
    files = tuple(HookFile(file.origin.file, file.is_project, file.value) for file in chosen.files)
    hooks, problems = read_hooks(files)
    disabled = {*chosen.disabled, *(name for file in files for name in disabled_names(file))}
    hooks = [hook for hook in hooks if hook.name not in disabled and hook.command not in disabled]
    _note(runtime, *(say("Hooks: {problem}", problem=problem) for problem in problems))
    _note(runtime, *_new_hooks(hooks, options))
    if not hooks:
        return None
    session_id = os.path.basename(runtime.session_folder)
    root = runtime.roots[0]
    told = {f"{name}_PROJECT_DIR": root for name in ("GEMINI", "CLAUDE", "DOGU")}
    told |= {"GEMINI_SESSION_ID": session_id, "GEMINI_CWD": root, "DOGU_SESSION_ID": session_id}

    def environment() -> Mapping[str, str]:
        return command_environment(os.environ, settings.shell.environment) | told

    transcript = os.path.join(runtime.session_folder, RECORD_NAME)
    processes = LocalProcesses()
    return processes, Hooks(hooks, processes, HookPlace(root, environment, session_id, transcript))


def _new_hooks(hooks: list[Hook], options: Options) -> list[str]:
    """Name the folder's own hooks that weren't there the last time, and remember them."""
    from dogu.app.hooks_seen import unseen

    own = {f"{hook.event} {hook.matcher} {hook.command}": hook for hook in hooks if hook.is_project}
    return [
        say(
            "This folder's settings run a hook that is new or has changed, at {event}: {command}",
            event=own[key].event,
            command=own[key].command,
        )
        for key in unseen(os.path.join(options.state_folder, "hooks.json"), options.real_root, list(own))
    ]


def _note(runtime: Runtime, *notes: str) -> None:
    runtime.notes = (*runtime.notes, *notes)


def _teller(runtime: Runtime) -> Callable[[str], None]:
    return lambda note: _note(runtime, note)
