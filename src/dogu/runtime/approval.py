"""Step 5 of a call: may it run, and as what? The policy judges, the tool proposes, a user answers."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
from anyio import to_thread

from dogu.contract.confirmation import Answer, Confirmation
from dogu.contract.display import CommandPreview, Display, FileDiff
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.tool_names import SHELL_TOOL
from dogu.language import told
from dogu.policy.policy import Policy
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode, CallFacts, Decision, Verdict
from dogu.runtime.events import ToolCall
from dogu.runtime.questions import (
    Approved,
    ApprovedAlways,
    AskTheUser,
    Confirm,
    Declined,
    Elicitation,
    Given,
    Outcome,
    Question,
)
from dogu.runtime.registry import AnyTool
from dogu.workspace.nearby import Nearby
from dogu.workspace.system import DEFAULT_SHELL

_LONGEST_LINE_CHARS = 120


class TurnStoppedError(ToolError):
    """The user declined a call and ended the turn with it."""


class Approval:
    """Asks at most one question at a time, in the order of the calls.

    `confirm` is the door's way to ask about a call, `ask_the_user` its way to put an elicitation before the user;
    None where nobody can be asked.
    """

    def __init__(self, policy: Policy, confirm: Confirm | None = None, ask_the_user: AskTheUser | None = None) -> None:
        self.policy = policy
        self._confirm = confirm
        self._ask_the_user = ask_the_user
        self._asking = anyio.Lock()
        self._previews = False

    async def proposal(
        self, tool: AnyTool, call: ToolCall, args: Any, description: str, asks: tuple[str, ...] = ()
    ) -> tuple[object, str]:
        """Return the proposal to carry out, as approved, and its description; None when there was nothing to ask.

        `asks` are others' reasons why a user must see it, whatever the mode.

        Raises `ToolError`: REFUSED by a rule, DECLINED by the user, NOBODY_TO_ASK where a question finds nobody.
        """
        facts = self.policy.with_text(_facts(tool, args, asks))
        judged_by = self.policy.rules, self.policy.mode
        verdict = self.policy.decide(facts)
        # In plan mode a command may yet turn out to be held by the sandbox, which its question says.
        may_be_contained = facts.command is not None and self.policy.mode is ApprovalMode.PLAN
        if verdict.decision is Decision.DENY and (verdict.gate is Decision.DENY or not may_be_contained):
            raise ToolError(ErrorKind.REFUSED, self.policy.refusal(verdict))
        confirmation = await tool.should_confirm_execute(args)
        if confirmation is None:
            if tool.kind.changes_nothing and verdict.decision is Decision.ALLOW:
                return None, description
            confirmation = Confirmation(description, description)
        else:
            facts = _facts_asked(facts, confirmation)
            verdict = self.policy.decide(facts)
        async with self._asking:
            verdict = self._up_to_date(verdict, facts, judged_by)
            if verdict.decision is Decision.ALLOW:
                is_reading = facts.is_contained and self.policy.mode is ApprovalMode.PLAN
                return confirmation.reading if is_reading else confirmation.proposal, description
            if verdict.decision is Decision.DENY:
                raise ToolError(ErrorKind.REFUSED, self.policy.refusal(verdict))
            if self._is_shown_later(verdict, confirmation):
                return confirmation.preview, description
            if self._confirm is None:
                raise ToolError(ErrorKind.NOBODY_TO_ASK, nobody_asked(tool.name, verdict))
            rule = None if verdict.gate is Decision.ASK else self.policy.narrow_rule(facts)
            question = Question(call, tool.display_name, description, confirmation, verdict, rule)
            outcome = await self._ask(self._confirm, question)
        return await _as_approved(outcome, confirmation, description)

    async def ask_within(
        self, tool: AnyTool, call: ToolCall, description: str, confirmation: Confirmation
    ) -> Answer | None:
        """Put a question of a running call before the user; None where nobody can be asked."""
        if self._confirm is None:
            return None
        verdict = msgspec.structs.replace(self.policy.decide(_facts(tool, None)), reason="")
        question = Question(call, tool.display_name, description, confirmation, verdict, None)
        async with self._asking:
            try:
                outcome = await self._confirm(question)
            except ToolError as error:
                if error.kind is ErrorKind.NOBODY_TO_ASK:
                    return None
                raise
        match outcome:
            case Declined(reason=reason):
                return Answer(is_yes=False, reason=reason)
            case Approved(edited=edited):
                return Answer(is_yes=True, edited=edited)
            case ApprovedAlways():
                return Answer(is_yes=True)

    def _is_shown_later(self, verdict: Verdict, confirmation: Confirmation) -> bool:
        """Whether the user has said to run what can't leave the sandbox, and to be asked when it is to be kept."""
        can_leave = verdict.gate is Decision.ASK or not confirmation.is_contained
        return self._previews and not can_leave and confirmation.preview is not None

    def _up_to_date(self, verdict: Verdict, facts: CallFacts, judged_by: tuple[Rules, ApprovalMode]) -> Verdict:
        """Judge again only where it could come out otherwise: an "always" given meanwhile may have answered it."""
        return verdict if judged_by == (self.policy.rules, self.policy.mode) else self.policy.decide(facts)

    async def elicit(self, elicitation: Elicitation) -> Given | Declined | None:
        """Put the elicitation before the user, when no other question is; None where nobody can be asked."""
        if self._ask_the_user is None:
            return None
        async with self._asking:
            return await self._ask_the_user(elicitation)

    async def _ask(self, confirm: Confirm, question: Question) -> Outcome:
        outcome = await confirm(question)
        if isinstance(outcome, ApprovedAlways) and question.always_rule is not None:
            self.policy.remember(question.always_rule)
        if isinstance(outcome, Approved) and outcome.is_preview and outcome.is_always:
            self._previews = True
        return outcome


async def _as_approved(outcome: Outcome, confirmation: Confirmation, description: str) -> tuple[object, str]:
    match outcome:
        case Declined(reason=reason, stop=stop):
            said = f" They said: {reason}" if reason else ""
            error_type = TurnStoppedError if stop else ToolError
            raise error_type(ErrorKind.DECLINED, f"The user declined this call. Nothing was run.{said}")
        case Approved(edited=str(text)):
            if confirmation.revise is None:
                raise ToolError(ErrorKind.DECLINED, "The user edited a proposal that can't be edited. Nothing was run.")
            revised = await to_thread.run_sync(confirmation.revise, text)
            return revised.proposal, _description_of(revised.display, text)
        case Approved(is_preview=True) if confirmation.preview is not None:
            return confirmation.preview, description
        case _:
            return confirmation.proposal, description


def _description_of(display: Display, text: str) -> str:
    """Say in a line what an edited proposal comes to: what the model had asked for isn't what is done."""
    match display:
        case FileDiff(path=path, unified=unified):
            changes = [line for line in unified.splitlines() if line[:3] not in ("---", "+++")]
            gone, come = (next((line[1:] for line in changes if line.startswith(sign)), "") for sign in "-+")
            return f"{path}: {_line(gone)} => {_line(come)}"
        case CommandPreview(command=command):
            return _line(command)
        case _:
            return _line(text)


def _line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_LINE_CHARS]


def _facts(tool: AnyTool, args: Any, always_ask: tuple[str, ...] = ()) -> CallFacts:
    command = getattr(args, "command", None) if tool.kind.value == "execute" else None
    is_built_in = type(tool).__module__.startswith("dogu.tools.")
    shell = getattr(tool, "shell", DEFAULT_SHELL)
    return CallFacts(
        tool.name, tool.kind, command, getattr(args, "directory", None), always_ask, is_built_in, shell, args=args
    )


def _facts_asked(facts: CallFacts, confirmation: Confirmation) -> CallFacts:
    """Add to what is known of a call what its tool's own question says of it."""
    reasons = confirmation.reasons or (told("it must be approved each time"),)
    if confirmation.command is not None:
        facts = msgspec.structs.replace(facts, tool=SHELL_TOOL, command=confirmation.command)
    return msgspec.structs.replace(
        facts,
        has_question=True,
        is_contained=confirmation.is_contained,
        place=Nearby(shown.directory) if isinstance(shown := confirmation.display, CommandPreview) else None,
        always_ask=(*facts.always_ask, *(reasons if confirmation.always_ask else ())),
    )


def nobody_asked(
    tool: str, verdict: Verdict, why: str = "nobody is here to ask", how: str = "with --approval-mode or a rule"
) -> str:
    """Say for the model that a call needs an approval which nobody gave; `how` the user could allow it beforehand."""
    told = f"{tool} needs a person's approval ({verdict.reason}) and {why}. Nothing was run. "
    told += "Say in your answer what you would have done; "
    if verdict.gate is Decision.ASK:
        files = "" if verdict.commands else " (for a protected file, tools.writableProtectedPaths does)"
        return told + f"no approval mode or rule answers for the user here{files}."
    return told + f"the user can allow it {how}."
