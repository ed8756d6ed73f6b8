"""What a resumed session goes on with: its history, mended; its rules, usage and turns; what came to an end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread

from dogu.agent.history import History
from dogu.agent.session.resume import reopen
from dogu.contract.errors import ToolError
from dogu.language import say
from dogu.models.events import Usage
from dogu.models.model import Model
from dogu.policy.policy import Policy
from dogu.policy.rules import RestrictionError, Rule
from dogu.policy.verdict import Decision

if TYPE_CHECKING:
    from dogu.agent.session.resume import Interrupted, Restored
    from dogu.app.foundation import Foundation
    from dogu.runtime.calls import ToolCall
    from dogu.runtime.journal import Journal


class Resumed(msgspec.Struct, frozen=True):
    """A conversation from where it was left off; `notes` tell the user what became of it."""

    history: History
    usage: Usage
    notes: tuple[str, ...] = ()


async def resume(base: Foundation, model: Model) -> Resumed:
    """Have the session record the conversation from now on, which goes on if the session was opened before.

    What was interrupted becomes notes, and answers for the model.
    """
    session, restored = base.session, base.opened.restored
    if restored is None:
        history = History()
        session.watch(history)
        return Resumed(history, Usage())

    changed = await to_thread.run_sync(_changes_by_call, base.workspace.journal, restored.turn)
    session.resume(restored.state)
    rules = _resume_rules(base.policy, restored)
    history, interrupted = reopen(restored, session.watch, lambda call: _told_changes(changed, call))
    notes = [*base.opened.notes, *rules, *_notes(interrupted)]
    before, now = restored.state.model, model.name
    if before and before != now:
        notes.append(say("This session used {before} so far; now it uses {now}.", before=before, now=now))
    if restored.elicitation is not None:
        notes.append(say("This was asked and not answered: {question}", question=restored.elicitation.note))
    if restored.state.jobs:
        jobs = "; ".join(restored.state.jobs)
        history.add_prompt(f"[The program was ended and started again. Commands in the background have ended: {jobs}]")
        notes.append(say("Commands in the background have ended: {jobs}", jobs=jobs))
    return Resumed(history, restored.usage, tuple(notes))


def _resume_rules(policy: Policy, restored: Restored) -> list[str]:
    """What "always" allowed for the session holds on; commands' rules are in a file of the user's own."""
    tools: list[str] = []
    for text in restored.allowed:
        try:
            rule = Rule.parse(text, Decision.ALLOW, "session")
        except RestrictionError:
            continue
        if rule.words is None:
            policy.remember(rule)
            tools.append(text)
    return [say("Still allowed without a question: {tools}", tools=", ".join(tools))] if tools else []


def _notes(interrupted: Interrupted) -> list[str]:
    notes = [
        say("Interrupted: {call} had begun. It is not run again; /done shows what it changed.", call=_shown(call))
        for call in interrupted.begun
    ]
    notes += [say("Not run: {call}", call=_shown(call)) for call in interrupted.not_run]
    if interrupted.is_mid_turn and not notes:
        notes.append(say("The last turn was interrupted: say how to go on."))
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
