"""What keeps a session going: its context files, and what happens between requests."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dogu.app.model_choice import provider_of
from dogu.app.options import Options
from dogu.language import say
from dogu.models.prices import Price, price_of
from dogu.settings import ModelSettings, Settings, SettingsError, Trust

if TYPE_CHECKING:
    from dogu.agent.budget import Budget
    from dogu.agent.context.files import ContextFiles
    from dogu.agent.loop import Agent
    from dogu.agent.session.resume import Restored
    from dogu.agent.slash import SlashCommand
    from dogu.runtime.runtime import Runtime
    from dogu.workspace.files import WriteObserver
    from dogu.workspace.memory_file import MemoryFile


class SessionKeeping:
    """What a session's agent is told besides the conversation, and what keeps it going.

    `sections` are asked for more to tell the agent each time that its instructions are put together. Raises
    `SettingsError` for a limit of costs when what `model` costs isn't known.
    """

    def __init__(self, options: Options, settings: Settings, model: str) -> None:
        self.sections: list[Callable[[], str]] = []
        self._options = options
        self._settings = settings
        self._budget = budget_of(settings.model, model)
        self._context: ContextFiles | None = None
        self._roots: tuple[str, ...] = ()
        self._agent: Agent | None = None

    def open(self, runtime: Runtime, restored: Restored | None = None) -> str:
        """Read the context files and return the agent's instructions; what is wrong with files becomes notes.

        What the session used before it was resumed counts, and is a note where there is a limit.
        """
        self._roots = runtime.roots
        runtime.journal.undone = self._undone
        self._context = context_files(self._options, self._settings, self._roots)
        runtime.notes = (*runtime.notes, *self._context.problems, *self._carry_on(restored))
        return self._system(self._context)

    def refresh(self) -> None:
        """Read the context files anew, for the agent too."""
        if self._context is not None and self._agent is not None:
            self._context.refresh()
            self._agent.system = self._system(self._context)

    def keep(self, agent: Agent, runtime: Runtime) -> list[SlashCommand]:
        """Keep the agent going from now on, and return the commands that belong to it."""
        from dogu.agent.context.compaction import Limits
        from dogu.agent.context.window import window_of
        from dogu.agent.keeping import Keeping
        from dogu.agent.slash.context import context_commands

        self._agent = agent
        model = self._settings.model
        window = model.context_window_tokens or window_of(agent.model.name)
        context = self._context or context_files(self._options, self._settings, self._roots)
        keeping = Keeping(agent, self._budget, Limits(window, model.compression_threshold), context)
        agent.upkeep = keeping
        memory = partial(memory_file, self._options, self._settings, runtime.journal)
        return context_commands(keeping, memory, self.refresh, runtime.journal.aside)

    def _undone(self, paths: Sequence[str]) -> None:
        """What was undone may be a context file: the agent is told what it says now."""
        if any(os.path.basename(path) in self._settings.context.file_names for path in paths):
            self.refresh()

    def _carry_on(self, restored: Restored | None) -> tuple[str, ...]:
        budget = self._budget
        if restored is None or not restored.requests:
            return ()
        budget.carry_on(restored.requests)
        if budget.max_cost_usd is None or budget.unpriced:
            return ()
        from dogu.agent.budget import usd

        spent, most = usd(budget.cost_usd), usd(budget.max_cost_usd)
        return (say("This session has cost {cost} so far, and the limit is {most}.", cost=spent, most=most),)

    def _system(self, context: ContextFiles) -> str:
        from dogu.agent.system_prompt import system_prompt

        return system_prompt(self._roots, context.files, "\n\n".join(filter(None, (more() for more in self.sections))))


def context_files(options: Options, settings: Settings, roots: tuple[str, ...]) -> ContextFiles:
    """Read the context files; those of a folder that the person said not to trust are left out."""
    from dogu.agent.context.files import ContextFiles, ContextSources

    trust = settings.trust
    return ContextFiles(
        ContextSources(
            roots,
            options.home,
            settings.context.file_names,
            reads_project=trust is not Trust.DISTRUSTED,
            imports_home=trust is Trust.TRUSTED,
        )
    )


def memory_file(options: Options, settings: Settings, *observers: WriteObserver) -> MemoryFile:
    """Return the person's file of things to remember: the first context file's name, in their `.gemini` folder."""
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
