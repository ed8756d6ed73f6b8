"""What keeps a session going: its context files, its budget, and what happens between requests."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from dogu.app.model_choice import provider_of
from dogu.app.options import Options
from dogu.language import say
from dogu.models.prices import Price, price_of
from dogu.settings import ModelSettings, Settings, SettingsError, Trust

if TYPE_CHECKING:
    from dogu.agent.budget import Budget, Meter
    from dogu.agent.context.files import ContextFiles
    from dogu.agent.history import History
    from dogu.agent.session.resume import Restored
    from dogu.agent.session_housekeeping import SessionHousekeeping
    from dogu.agent.slash import SlashCommand
    from dogu.app.foundation import Foundation
    from dogu.models.model import Model
    from dogu.workspace.files import WriteObserver
    from dogu.workspace.memory_file import MemoryFile


def keeping_of(base: Foundation, history: History, model: Model, meter: Meter) -> SessionHousekeeping:
    """Make what keeps a conversation going: it makes room, and adds the instructions of folders."""
    from dogu.agent.context.compaction import Compacting, Compaction, WindowLimits
    from dogu.agent.context.window import ContextFill, estimated_fixed, window_of
    from dogu.agent.session_housekeeping import SessionHousekeeping

    chosen = base.start.settings.model
    instructions, registry = base.workspace.instructions, base.executor.registry
    context = instructions.context

    def missing_in(contents: Sequence[bytes]) -> Sequence[str]:
        return [file.block for file in context.missing_in(contents)]

    fill = ContextFill(history, lambda: estimated_fixed(instructions.text, registry.declarations))
    limits = WindowLimits(chosen.context_window_tokens or window_of(model.name), chosen.compression_threshold)
    compaction = Compaction(Compacting(model, history, meter.count), fill, limits, missing_in)
    return SessionHousekeeping(history, compaction, context, meter, base.session.event)


def keeping_commands(housekeeping: SessionHousekeeping, base: Foundation) -> list[SlashCommand]:
    """Make the `/` commands that belong to it."""
    from dogu.agent.slash.context import context_commands

    start, workspace = base.start, base.workspace
    memory = partial(memory_file, start.options, start.settings, workspace.journal)
    return context_commands(housekeeping, memory, workspace.instructions.refresh, workspace.journal.aside)


def context_files(options: Options, settings: Settings, roots: tuple[str, ...]) -> ContextFiles:
    """Read the context files; those of a folder that the user hasn't said to trust are left out."""
    from dogu.agent.context.files import ContextFiles, ContextSources

    trust = settings.trust
    return ContextFiles(
        ContextSources(
            roots,
            options.home,
            settings.context.file_names,
            reads_project=trust is Trust.TRUSTED,
            imports_home=trust is Trust.TRUSTED,
        )
    )


def memory_file(options: Options, settings: Settings, *observers: WriteObserver) -> MemoryFile:
    """Return the user's file of things to remember: the first context file's name, in their `.gemini` folder."""
    from dogu.workspace.memory_file import MemoryFile

    name = next((name for name in settings.context.file_names if name and "/" not in name), "GEMINI.md")
    pending = os.path.join(options.state_folder, "pending")
    return MemoryFile(os.path.join(options.home, ".gemini", name), f"~/.gemini/{name}", pending, observers)


def budget_of(settings: ModelSettings, model: str) -> Budget:
    """Make what counts tokens and costs.

    Raises `SettingsError` when there is a limit and what `model` costs isn't known.
    """
    from dogu.agent.budget import Budget

    own = {name: Price(**price) for name, price in settings.prices.items()}
    provider = provider_of(settings)
    listed = provider.prices_at(provider.address(settings.base_url, os.environ))
    budget = Budget(lambda name: price_of(name, own, listed), settings.max_cost_usd)
    if settings.max_cost_usd is not None and budget.price_of(model) is None:
        message = say(
            "there is a limit, and what {model} costs isn't known: say it in the settings, as {example}",
            model=model,
            example=f'"model": {{"prices": {{"{model}": {{"input": 1.25, "output": 10}}}}}}',
        )
        raise SettingsError("settings", 0, "model.maxCost", message)
    return budget


def spent_before(budget: Budget, restored: Restored | None) -> tuple[str, ...]:
    """Count what the session used before it was resumed, and say so where there is a limit."""
    if restored is None or not restored.requests:
        return ()
    budget.resume(restored.requests)
    if budget.max_cost_usd is None or budget.unpriced:
        return ()
    from dogu.agent.budget import usd

    spent, most = usd(budget.cost_usd), usd(budget.max_cost_usd)
    return (say("This session has cost {cost} so far, and the limit is {most}.", cost=spent, most=most),)
