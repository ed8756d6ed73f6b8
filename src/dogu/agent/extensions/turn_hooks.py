"""Hooks around a turn: they may refuse a prompt, add to it, and send the model back to work when it rests."""

from __future__ import annotations

import msgspec

from dogu.agent.events import Emit, EndReason, TurnEnd, TurnEnded
from dogu.agent.housekeeping import RunTurn
from dogu.agent.slash import Said, SlashCommand
from dogu.contract.content import Content, Text, parts_of, text_of
from dogu.language import say, told
from dogu.runtime.events import Noted, emit_nothing
from dogu.runtime.hooks import Hooks
from dogu.runtime.hooks.config import Moment

_MOST_RETRIES = 5


class TurnHooks:
    """Runs an agent's turns with the hooks before and after them."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.emit: Emit = emit_nothing  # of the turn under way

    async def __call__(self, prompt: Content, emit: Emit, run: RunTurn) -> TurnEnd:
        """Run one turn by `run`, and those that hooks ask for after it: five at most."""
        self.emit = emit
        said = text_of(prompt)
        context, refusal = await self._before(said, emit)
        if refusal:
            return _ended(emit, TurnEnd(EndReason.STOPPED, "", note=refusal))
        end = await run(_with_context(prompt, context), emit)
        for retry in range(_MOST_RETRIES):
            if end.reason is not EndReason.DONE:
                return end
            more, stop = await self._after(said, end, emit, is_retry=retry > 0)
            if stop:
                return _ended(emit, msgspec.structs.replace(end, reason=EndReason.STOPPED, note=stop))
            if not more:
                return end
            emit(Noted(told("A hook sends the model back to work: {reason}", reason=more)))
            next_end = await run(more, emit)
            end = msgspec.structs.replace(next_end, answers=(*end.answers, *next_end.answers))
        return end

    async def _before(self, prompt: str, emit: Emit) -> tuple[list[str], str]:
        """What shall be added to the prompt, and why it isn't sent, if it isn't."""
        context: list[str] = []
        for hook in self.hooks.at(Moment.BEFORE_AGENT):
            answer = await self.hooks.run(hook, {"prompt": prompt}, emit)
            if answer.decision == "deny" or answer.stops:
                reason = answer.reason or answer.message
                return [], told("The hook {name} blocked the prompt: {reason}", name=hook.name, reason=reason)
            if answer.context:
                context.append(answer.context)
        started, self.hooks.session_context = self.hooks.session_context, []
        return [*started, *context], ""

    async def _after(self, prompt: str, end: TurnEnd, emit: Emit, *, is_retry: bool) -> tuple[str, str]:
        """What the model shall do yet, and why the turn is over all the same."""
        reasons: list[str] = []
        for hook in self.hooks.at(Moment.AFTER_AGENT):
            fields = {"prompt": prompt, "prompt_response": end.text, "stop_hook_active": is_retry}
            answer = await self.hooks.run(hook, fields, emit)
            if answer.stops:
                reason = answer.message or answer.reason
                return "", told("The hook {name} ended the turn: {reason}", name=hook.name, reason=reason)
            if answer.decision == "deny":
                reasons.append(answer.reason)
        return "\n".join(reasons), ""

    def command(self) -> SlashCommand:
        """Make the command `/hooks`."""
        return SlashCommand("hooks", say("show the hooks that run"), self._tell)

    async def _tell(self, _rest: str) -> Said:
        rows = [
            f"  {hook.event}{f' ({hook.matcher})' if hook.matcher else ''}: {hook.command}  [{hook.file}]"
            for hook in self.hooks.hooks
        ]
        return Said("\n".join(rows) or say("There are no hooks."))


def _ended(emit: Emit, end: TurnEnd) -> TurnEnd:
    emit(TurnEnded(end))
    return end


def _with_context(prompt: Content, context: list[str]) -> Content:
    if not context:
        return prompt
    added = "\n".join(context)
    return [*parts_of(prompt), Text(f"\n\n<hook_context>\n{added}\n</hook_context>")]
