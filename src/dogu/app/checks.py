"""What `dogu doctor` looks at, with the settings in force."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from dogu.app.built_in import open_sandbox
from dogu.app.model_choice import DEFAULT_MODEL, gemini_key, provider_of
from dogu.app.options import Options
from dogu.serve.doctor import Check, Health, check_address, check_program, check_system, check_terminal
from dogu.settings import Settings

if TYPE_CHECKING:
    from dogu.settings import ModelSettings

_GEMINI = "https://generativelanguage.googleapis.com"


async def checks_of(options: Options, settings: Settings) -> AsyncGenerator[Check]:
    """Check one thing after the other, so that each is told as soon as it is known."""
    yield check_system()
    yield _check_model(settings.model)
    address = _address(settings.model)
    if address:
        yield await check_address("network", address)
    yield _check_sandbox(settings)
    yield _check_ripgrep()
    yield check_program("bash", "bash", "Install bash: commands run by it.", is_needed=True)
    yield check_program("git", "git", "Install git, if you want the model to use it.", is_needed=False)
    yield check_terminal()
    for check in _check_settings(options, settings):
        yield check


def _check_model(settings: ModelSettings) -> Check:
    provider = provider_of(settings)
    name = settings.name or DEFAULT_MODEL
    match provider:
        case "offline":
            advice = "Set GEMINI_API_KEY, or model.provider, model.baseUrl and model.name for a local model."
            return Check("model", Health.POOR, "offline: understands plain requests only", advice)
        case "gemini" if not gemini_key(settings):
            return Check("model", Health.BAD, f"{name}, and no key", "Set GEMINI_API_KEY (aistudio.google.com/apikey).")
        case "openai_compatible" if not settings.name:
            return Check("model", Health.BAD, "openai_compatible, and no name", "Set model.name.")
        case _:
            return Check("model", Health.GOOD, f"{provider}: {name}")


def _address(settings: ModelSettings) -> str:
    match provider_of(settings):
        case "gemini":
            return settings.base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL", "") or _GEMINI
        case "openai_compatible":
            return settings.base_url or os.environ.get("OPENAI_BASE_URL", "")
        case _:
            return ""


def _check_sandbox(settings: Settings) -> Check:
    sandbox = open_sandbox(settings)
    if sandbox is None:
        return Check("sandbox", Health.POOR, "switched off", 'Set "tools": {"sandbox": "auto"} to confine commands.')
    limits = " ".join(sandbox.limits)
    if sandbox.step.value == "none":
        return Check("sandbox", Health.POOR, sandbox.describe(), limits)
    advice = "" if sandbox.step.value in ("bubblewrap", "seatbelt") else "Install bubblewrap for the strongest one."
    found = sandbox.describe() + (f". Not enforced: {limits}" if limits else "")
    return Check("sandbox", Health.GOOD if not advice else Health.POOR, found, advice)


def _check_ripgrep() -> Check:
    from dogu.workspace.search import Engines

    return check_program("ripgrep", Engines.found().rg, "Searches use a slower engine without it.", is_needed=False)


def _check_settings(options: Options, settings: Settings) -> list[Check]:
    found = sorted({origin.file for origin in settings.origins.values() if origin.file})
    names = ", ".join(found) or f"built in (none in {options.home} or {options.absolute_root})"
    checks = [Check("settings", Health.GOOD, names), Check("folder", Health.GOOD, f"trust: {settings.trust}")]
    return checks + [Check("settings", Health.POOR, str(warning)) for warning in settings.warnings]
