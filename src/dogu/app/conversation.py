"""Makes the agent of a session: its history, resumed or new; what keeps it going; its tools; then itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread

from dogu.agent.budget import Budget, Meter, usd
from dogu.agent.context.compaction import Compacting, Compaction, WindowLimits
from dogu.agent.context.window import ContextFill, FixedTokens, window_of
from dogu.agent.edit_repair import EditRepair
from dogu.agent.history import History
from dogu.agent.housekeeping import AgentServices
from dogu.agent.loop import Agent
from dogu.agent.session.resume import reopen
from dogu.agent.session_housekeeping import SessionHousekeeping
from dogu.agent.slash.context import context_commands
from dogu.agent.subagent import Subagents
from dogu.app.built_in import SessionServices, add_tools, of_use
from dogu.app.extending import conversing
from dogu.app.foundation import Foundation, memory_file
from dogu.app.model_choice import provider_of
from dogu.app.options import told_of_settings
from dogu.app.web import Web
from dogu.contract.errors import ToolError
from dogu.language import say
from dogu.models.events import Usage
from dogu.models.model import Model
from dogu.models.prices import Price, price_of
from dogu.policy.policy import Policy
from dogu.policy.rule import RestrictionError, Rule
from dogu.policy.verdict import Decision
from dogu.runtime.registry import AnyTool
from dogu.settings import ModelSettings, SettingsError

if TYPE_CHECKING:
    from dogu.agent.extensions.turn_hooks import TurnHooks
    from dogu.agent.session.resume import Interrupted, Restored
    from dogu.agent.slash import SlashCommand
    from dogu.models.model import CurrentModel
    from dogu.runtime.events import ToolCall
    from dogu.runtime.journal import Journal


class Conversation(msgspec.Struct, frozen=True):
    """An agent, what keeps it going, and the hooks around its turns."""

    agent: Agent
    housekeeping: SessionHousekeeping
    hooks: TurnHooks | None


async def converse(base: Foundation, current: CurrentModel, budget: Budget, tools: Iterable[AnyTool]) -> Conversation:
    """Make the agent: its history and its meter, then its helpers and tools, which need those, then itself."""

    start, record, workspace = base.start, base.session.event, base.workspace
    settings, instructions = start.settings, workspace.instructions
    resumed = await _resumed(base, current)
    start.notes.add(*told_of_settings(start.settings), *resumed.notes, *base.troubles)
    meter = Meter(current, record, budget, resumed.usage)
    housekeeping = _keeping_of(base, resumed.history, current, meter)
    around = conversing(current, base.extras, provider_of(settings.model).span_name)

    helpers = Subagents(base.executor, around.model, instructions, meter, record)
    repairs = settings.model.edit_repair and current.name != "offline"
    repair = EditRepair(current.model, meter.count) if repairs else None
    web = Web(settings, current, meter.count)
    await add_tools(base, SessionServices(repair, instructions.remembered, helpers, web), tools)
    base.executor.registry.declare_if(of_use(base, web))
    start.notes.add(*housekeeping.context.problems, *_spent_before(budget, base.opened.restored))

    services = AgentServices(
        meter, housekeeping, record, workspace.journal.next_turn, around.around_turn, start.door.ask_to_go_on
    )
    agent = Agent(
        around.model,
        base.executor,
        instructions,
        history=resumed.history,
        max_steps=settings.model.max_session_turns,
        services=services,
    )
    return Conversation(agent, housekeeping, around.hooks)


class _Resumed(msgspec.Struct, frozen=True):
    """A conversation from where it was left off; `notes` tell the user what became of it."""

    history: History
    usage: Usage
    notes: tuple[str, ...] = ()


async def _resumed(base: Foundation, model: Model) -> _Resumed:
    """Have the session record the conversation from now on, which goes on if the session was opened before.

    What was interrupted becomes notes, and answers for the model.
    """
    session, restored = base.session, base.opened.restored
    if restored is None:
        history = History()
        session.watch(history)
        return _Resumed(history, Usage())

    changed = await to_thread.run_sync(_changes_by_call, base.workspace.journal, restored.turn)
    session.resume(restored.state)
    rules = _resume_rules(base.policy, restored)
    history, interrupted = reopen(restored, session.watch, lambda call: _told_changes(changed, call))
    notes = [*base.opened.notes, *rules, *_notes(interrupted)]
    before, now = restored.state.model, model.name
    if before and before != now:
        notes.append(say("This session used {before} so far; now it uses {now}.", before=before, now=now))
    if restored.elicitation is not None:
        notes.append(say("Asked, but not answered: {question}", question=restored.elicitation.note))
    if restored.state.jobs:
        jobs = "; ".join(restored.state.jobs)
        history.add_prompt(f"[The program was ended and started again. Commands in the background have ended: {jobs}]")
        notes.append(say("Background commands have ended: {jobs}", jobs=jobs))
    return _Resumed(history, restored.usage, tuple(notes))


def _resume_rules(policy: Policy, restored: Restored) -> list[str]:
    """What "always" allowed for the session holds on; commands' rules are in a file of the user's own."""
    tools: list[str] = []
    for text in restored.allowed:
        try:
            rule = Rule.parse(text, Decision.ALLOW, "session")
        except RestrictionError:
            continue
        if rule.words is None and policy.offers_always:
            policy.remember(rule)
            tools.append(text)
    return [say("Still allowed without asking: {tools}", tools=", ".join(tools))] if tools else []


def _notes(interrupted: Interrupted) -> list[str]:
    notes = [
        say("Interrupted: {call} had begun. It won't be run again; /done shows what it changed.", call=_shown(call))
        for call in interrupted.begun
    ]
    notes += [say("Not run: {call}", call=_shown(call)) for call in interrupted.not_run]
    if interrupted.is_mid_turn and not notes:
        notes.append(say("The last turn was interrupted: say how to continue."))
    return notes


def _shown(call: ToolCall) -> str:
    args = call.args or {}
    subject = str(args.get("command") or args.get("file_path") or args.get("path") or "")
    return f"{call.name} {subject[:100]}".strip()


def _changes_by_call(journal: Journal, turn: int) -> dict[str, list[str]]:
    """What the calls of the last turn changed; first of all finds out what one did that was cut short."""
    try:
        journal.recover()
    except (ToolError, OSError):
        return {}
    entries = [entry for entry in journal.entries() if entry.turn == turn]
    return {entry.call_id: [f"{change.what} {change.path}" for change in entry.changes] for entry in entries}


def _told_changes(changed: dict[str, list[str]], call: ToolCall) -> str:
    known = changed.get(call.call_id)
    return "What it had changed by then: " + ", ".join(known[:50]) if known else ""


def _keeping_of(base: Foundation, history: History, model: Model, meter: Meter) -> SessionHousekeeping:
    """Make what keeps a conversation going: it makes room, and adds the instructions of folders."""

    chosen = base.start.settings.model
    instructions, registry = base.workspace.instructions, base.executor.registry
    context = instructions.context

    def missing_in(contents: Sequence[bytes]) -> Sequence[str]:
        return [file.block for file in context.missing_in(contents)]

    fill = ContextFill(history, FixedTokens(lambda: instructions.text, lambda: registry.declarations))
    limits = WindowLimits(chosen.context_window_tokens or window_of(model.name), chosen.compression_threshold)
    compaction = Compaction(Compacting(model, history, meter.count), fill, limits, missing_in)
    return SessionHousekeeping(history, compaction, instructions, meter, base.session.event)


def keeping_commands(housekeeping: SessionHousekeeping, base: Foundation) -> list[SlashCommand]:
    """Make the `/` commands that belong to it."""
    start, workspace = base.start, base.workspace
    memory = partial(memory_file, start.options, start.settings, workspace.journal)
    return context_commands(housekeeping, memory, workspace.instructions.refresh, workspace.journal.aside)


def budget_of(settings: ModelSettings, model: str) -> Budget:
    """Make what counts tokens and costs.

    Raises `SettingsError` when there is a limit and what `model` costs isn't known.
    """

    own = {name: Price(**price) for name, price in settings.prices.items()}
    provider = provider_of(settings)
    listed = provider.prices_at(provider.address(settings.base_url, os.environ))
    budget = Budget(lambda name: price_of(name, own, listed), settings.max_cost_usd)
    if settings.max_cost_usd is not None and budget.price_of(model) is None:
        message = say(
            "there is a cost limit, but the price of {model} isn't known. Set it in the settings: {example}",
            model=model,
            example=f'"model": {{"prices": {{"{model}": {{"input": 1.25, "output": 10}}}}}}',
        )
        raise SettingsError("settings", 0, "model.maxCost", message)
    return budget


def _spent_before(budget: Budget, restored: Restored | None) -> tuple[str, ...]:
    """Count what the session used before it was resumed, and say so where there is a limit."""
    if restored is None or not restored.requests:
        return ()
    budget.resume(restored.requests)
    if budget.max_cost_usd is None or budget.unpriced:
        return ()

    spent, most = usd(budget.cost_usd), usd(budget.max_cost_usd)
    return (say("This session has cost {cost} so far, and the limit is {most}.", cost=spent, most=most),)
