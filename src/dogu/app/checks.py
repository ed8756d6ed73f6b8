"""What `dogu doctor` looks at, with the settings in force."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncGenerator
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from anyio import to_thread

from dogu.app.credentials import KEYRING, kept_key
from dogu.app.extending import hook_problems, unmatched_skills
from dogu.app.foundation import check_rules
from dogu.app.mcp_servers import problems_of_servers
from dogu.app.model_choice import key_of, provider_of
from dogu.app.model_lists import check_key
from dogu.app.options import Options
from dogu.app.sandboxed import open_sandbox
from dogu.contract import ToolError
from dogu.language import joined, say, told
from dogu.models import providers
from dogu.serve.doctor import Check, Health, check_address, check_program, check_system, check_terminal
from dogu.settings import Settings, SettingsError
from dogu.workspace.environment import command_environment
from dogu.workspace.process.command import ShellCommand
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.search.program import Engines
from dogu.workspace.system import IS_LINUX, IS_WINDOWS, shell_called

if TYPE_CHECKING:
    from dogu.settings import ModelSettings

_TOP = os.path.abspath(os.sep)
_COMMAND_TAKES_S = 10.0


async def checks_of(options: Options, settings: Settings) -> AsyncGenerator[Check]:
    """Check one thing after the other, so that each is told as soon as it is known."""
    yield check_system()
    yield _check_model(settings.model)
    provider = provider_of(settings.model)
    address = provider.address(settings.model.base_url, os.environ)
    if address:
        network = await check_address("network", address)
        yield network
        if provider is providers.GEMINI and key_of(provider, settings.model):
            yield await _check_key(settings.model, is_reached=network.health is Health.GOOD)
    for check in _check_key_file(options):
        yield check
    yield await to_thread.run_sync(_check_sandbox, settings)
    if IS_LINUX:
        yield await to_thread.run_sync(_check_layers, options, settings)
    yield _check_ripgrep()
    if not IS_WINDOWS:
        yield check_program("bash", "bash", say("Install bash: it runs the commands."), is_needed=True)
    yield await _check_commands(shell_called(settings.shell.program))
    advice = say("Install git, if you want the model to use it.")
    yield check_program("git", "git", advice, is_needed=False)
    yield check_terminal()
    for check in (*_check_settings(options, settings), *_check_start(options, settings), *_check_state(options)):
        yield check


async def _check_commands(shell: str) -> Check:
    """Run a command, as tools do: that its shell is there doesn't say yet that it can be started and watched."""
    text = "printf ok" if shell == "bash" else "echo ok"
    command = ShellCommand(text, _TOP, command_environment(os.environ), timeout_s=_COMMAND_TAKES_S, shell=shell)
    try:
        async with LocalProcesses() as processes:
            result = await processes.run(command)
    except ToolError as error:
        return Check(
            "commands", Health.BAD, say(error.message), say("Nothing can be run; docs/platforms.md says more.")
        )
    if result.stdout.strip() != "ok":
        found = result.error or result.stderr or say("exit code {code}", code=result.exit_code)
        return Check("commands", Health.BAD, found, say("Nothing can be run; docs/platforms.md says more."))
    if IS_WINDOWS:
        found = say("works, with {shell}; a job object ends everything a command starts", shell=shell)
        return Check("commands", Health.GOOD, found)
    if IS_LINUX:
        return Check("commands", Health.GOOD, say("works; everything a command starts ends with it"))
    found = say("works; what a command starts is found by ps, unless it clears its environment and leaves its session")
    return Check("commands", Health.POOR, found, say("That is all this system offers; docs/platforms.md says more."))


def broken_settings(error: SettingsError) -> Check:
    """Return the check for settings that can't be read at all."""
    advice = say("Fix that line, or move the file away; `dogu config` then shows the settings in force.")
    return Check("settings", Health.BAD, str(error), advice)


def _check_model(settings: ModelSettings) -> Check:
    provider = provider_of(settings)
    name = settings.name or provider.default_model
    if provider is providers.OFFLINE:
        found = say("offline: understands plain requests only")
        return Check("model", Health.POOR, found, say("Start `dogu` and type /connect, or set GEMINI_API_KEY."))
    if provider.needs_key and not key_of(provider, settings):
        advice = say("Start `dogu` and type /connect, or set {variable}.", variable=provider.key_names[0])
        return Check("model", Health.BAD, say("{name}: no key", name=name), advice)
    if not name:
        found = say("{provider}, but no model is named", provider=provider.name)
        return Check("model", Health.BAD, found, say("Set model.name, or choose one with /model."))
    return Check("model", Health.GOOD, f"{provider.name}: {name}")


async def _check_key(settings: ModelSettings, *, is_reached: bool) -> Check:
    place = _key_place(settings)
    if not is_reached:
        return Check("key", Health.POOR, say("from {place}; it can't be checked", place=place))
    key = await key_of(providers.GEMINI, settings).text()
    if not key:
        return Check("key", Health.BAD, say("the keyring no longer has it"), say("Start `dogu` and type /connect."))
    check = await check_key(key, providers.GEMINI.address(settings.base_url, os.environ))
    if check.works:
        return Check("key", Health.GOOD, say("from {place}; Gemini accepts it", place=place))
    found = say("from {place}: {reason}", place=place, reason=check.reason)
    if check.works is None:
        return Check("key", Health.POOR, found, say("Try again later."))
    return Check("key", Health.BAD, found, say("Get another (aistudio.google.com/apikey) and type /connect in `dogu`."))


def _key_place(settings: ModelSettings) -> str:
    if settings.api_key.startswith(KEYRING):
        return say("the keyring")
    if settings.api_key:
        return say("the settings, or ~/.dogu/credentials")
    return say("the environment")


def _check_key_file(options: Options) -> list[Check]:
    """Say when others could read the file that the key is kept in."""
    path = os.path.join(options.state_folder, "credentials")
    if not kept_key(options.state_folder, providers.GEMINI.name):
        return []
    mode = os.stat(path).st_mode & 0o777
    if mode & 0o077:
        found = say("{path} can be read by others (mode {mode})", path=path, mode=f"{mode:o}")
        return [Check("key file", Health.BAD, found, say("Run: chmod 600 {path}", path=path))]
    return [Check("key file", Health.GOOD, say("{path}, private to you", path=path))]


def _check_layers(options: Options, settings: Settings) -> Check:
    """Say whether commands run in layers here: then it is known what each of them changed."""
    from dogu.workspace.launcher.layers import holds_renames
    from dogu.workspace.launcher.notices import can_tell
    from dogu.workspace.layer.make import why_none

    advice = say("Without layers, undo leaves what somebody else may have changed, unless you add --unsure.")
    try:
        sandbox = open_sandbox(settings)
        is_told = can_tell(is_confined=sandbox is not None)
        if sandbox is None or not sandbox.makes_layers:
            why = told("they need bubblewrap")
        else:
            os.makedirs(options.state_folder, mode=0o700, exist_ok=True)
            with TemporaryDirectory(dir=options.state_folder) as folder:
                why = why_none([options.real_root], folder)
    except (OSError, ToolError) as error:
        is_told, why = False, str(error)
    if why:
        instead = say("not available: {why}; commands are watched, and who made a change is a guess", why=say(why))
        if is_told:
            instead = say(
                "not available: {why}; commands are watched, and the kernel tells what they write", why=say(why)
            )
        return Check("layers", Health.POOR, instead, advice)
    if holds_renames() or can_tell():
        return Check("layers", Health.GOOD, say("available"))
    return Check("layers", Health.GOOD, say("available, except to commands that rename an existing folder"))


def _check_sandbox(settings: Settings) -> Check:
    try:
        sandbox = open_sandbox(settings)
    except ToolError as error:
        advice = say("Install bubblewrap, or set tools.sandbox to auto.")
        return Check("sandbox", Health.BAD, say(error.message), advice)
    if sandbox is None:
        advice = say('Set "tools": {"sandbox": "auto"} to confine commands.')
        return Check("sandbox", Health.POOR, say("switched off"), advice)
    limits = say(joined(" ", sandbox.limits))
    if sandbox.step.value == "none":
        return Check("sandbox", Health.POOR, say(sandbox.describe()), limits)
    is_best = sandbox.step.value in ("bubblewrap", "seatbelt")
    advice = "" if is_best else _better_sandbox()
    described = say(sandbox.describe())
    found = say("{sandbox}. Not enforced: {limits}", sandbox=described, limits=limits) if limits else described
    return Check("sandbox", Health.GOOD if is_best else Health.POOR, found, advice)


def _better_sandbox() -> str:
    if shutil.which("bwrap"):
        return say("bubblewrap is installed, but this machine or container doesn't let it make namespaces.")
    return say("Install bubblewrap for the strongest one.")


def _check_ripgrep() -> Check:
    advice = say("Searches use a slower engine without it.")
    return check_program("ripgrep", Engines.found().rg, advice, is_needed=False)


def _check_start(options: Options, settings: Settings) -> list[Check]:
    """Read what a session reads at its start beside the settings: rules, servers' entries, ignore files."""
    checks: list[Check] = []
    advice = say("dogu won't start until it is fixed: there is no telling what it restricts.")
    try:
        count = check_rules(options, settings)
    except SettingsError as error:
        checks.append(Check("rules", Health.BAD, say(str(error)), advice))
    else:
        if count:
            checks.append(Check("rules", Health.GOOD, say("{count} in policy files", count=count)))
    checks += [Check("servers", Health.POOR, say(problem)) for problem in problems_of_servers(settings)]
    checks += [
        Check("hooks", Health.BAD if stops else Health.POOR, say(problem), advice if stops else "")
        for problem, stops in hook_problems(settings)
    ]
    checks += [Check("skills", Health.POOR, say(problem)) for problem in unmatched_skills(options, settings)]
    return checks


def _check_state(options: Options) -> list[Check]:
    """Say when dogu's own folder can't be written: nothing is remembered, and undo ends with the session."""
    folder = options.state_folder
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
        return []
    advice = say("Make it writable, or set HOME to a folder that is: undo, sessions and trust are kept there.")
    return [Check("own folder", Health.BAD, say("{folder} can't be written", folder=folder), advice)]


def _check_settings(options: Options, settings: Settings) -> list[Check]:
    found = sorted({origin.file for origin in settings.origins.values() if origin.file})
    none = say("built in (none in {home} or {root})", home=options.home, root=options.absolute_root)
    checks = [
        Check("settings", Health.GOOD, ", ".join(found) or none),
        Check("folder", Health.GOOD, settings.trust.words),
    ]
    return checks + [
        Check("settings", Health.POOR, say(str(warning)), ", ".join(warning.keys)) for warning in settings.warnings
    ]
