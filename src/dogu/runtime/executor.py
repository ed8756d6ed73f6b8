"""One call from request to answer: the documents' nine steps, for every door.

Above it are the agent and the doors, below it the tools and the policy. It knows no tool by name, no model and no
screen: it finds, validates, judges, asks, runs and answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Protocol

import anyio

from dogu.contract.confirmation import CallContext, Confirmation
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.policy.policy import Policy
from dogu.policy.verdict import CallFacts, Decision, Verdict
from dogu.runtime.calls import ToolAnswer, ToolCall
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Emit, emit_nothing
from dogu.runtime.questions import Approved, ApprovedAlways, Confirm, Declined, Question
from dogu.runtime.registry import AnyTool, ToolRegistry
from dogu.runtime.result_bounds import ResultBounds

_READS_AT_ONCE = 8


class Recorder(Protocol):
    """Keeps what a call changes, so that it can be undone (`runtime.journal`)."""

    def call(self, call_id: str, title: str, *, snapshot: bool) -> AbstractAsyncContextManager[None]:
        """Record the changes made inside the context as this call's; `snapshot` when they are made behind our back."""
        ...


class Executor:
    """Runs calls under one policy. `confirm` is the door's way to ask a person; None means that nobody is there."""

    def __init__(
        self,
        registry: ToolRegistry,
        policy: Policy,
        confirm: Confirm | None = None,
        *,
        recorder: Recorder | None = None,
        bounds: ResultBounds | None = None,
    ) -> None:
        self.registry = registry
        self.policy = policy
        self.confirm = confirm
        self._recorder = recorder
        self._bounds = bounds or ResultBounds()
        self._asking = anyio.Lock()

    async def run_all(self, calls: Sequence[ToolCall], emit: Emit = emit_nothing) -> list[ToolAnswer]:
        """Run the calls of one model turn and return their answers in order.

        Neighbouring calls that change nothing run together, anything else alone. A refusal doesn't cancel the others,
        unless the person says stop: then those not yet run are answered as cancelled.
        """
        answers: list[ToolAnswer] = []
        for together in self._groups(calls):
            if answers and answers[-1].stop:
                answers += [_not_run(call) for call in together]
            elif len(together) == 1:
                answers.append(await self.run(together[0], emit))
            else:
                answers += await self._run_together(together, emit)
        return answers

    async def run(self, call: ToolCall, emit: Emit = emit_nothing) -> ToolAnswer:
        """Run one call; every failure is an answer, only cancellation passes through."""
        display_name = call.name
        stop = False
        try:
            tool = self.registry.get(call.name)  # step 3
            display_name = tool.display_name
            result = await self._run_found(tool, call, emit)
        except _Stopped as stopped:
            result, stop = ToolResult.failed(stopped.error), True
        except ToolError as error:
            result = ToolResult.failed(error)
        except Exception as error:  # noqa: BLE001  (a defect of ours must cost one call, not the session)
            result = ToolResult.failed(_defect(call, error))
        result = await anyio.to_thread.run_sync(self._bounds.apply, call, result) if result.error is None else result
        emit(CallFinished(call, display_name, result))  # step 9
        return ToolAnswer(call, result, stop)

    async def _run_found(self, tool: AnyTool, call: ToolCall, emit: Emit) -> ToolResult:
        if call.args is None:
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for {tool.name}: {call.problem}")
        args = tool.validate_tool_params(call.args)  # step 4
        description = tool.get_description(args)
        approved = await self._approval(tool, call, args, description)  # step 5
        context = CallContext(call.call_id, lambda text: emit(CallOutput(call.call_id, text)), approved)
        emit(CallStarted(call, tool.display_name, description))
        async with self._recording(tool, call, description):
            return await tool.execute(args, context)  # steps 6 and 7

    async def _approval(self, tool: AnyTool, call: ToolCall, args: Any, description: str) -> object:
        """Return the proposal to carry out. Raises `ToolError` when the call is refused, declined or can't be asked."""
        facts = _facts(tool, args)
        verdict = self.policy.decide(facts)
        _raise_if_denied(verdict)
        confirmation = await tool.should_confirm_execute(args)
        if confirmation is None:
            if tool.kind.changes_nothing and verdict.decision is Decision.ALLOW:
                return None
            confirmation = Confirmation(description, description)
        if confirmation.always_ask:
            facts = _facts(tool, args, always_ask=confirmation.reasons or ("it must be seen by a person each time",))
            verdict = self.policy.decide(facts)
        if verdict.decision is Decision.ALLOW:
            return confirmation.proposal
        async with self._asking:  # one question at a time, in the order of the calls
            return await self._ask(tool, call, args, confirmation, description)

    async def _ask(
        self, tool: AnyTool, call: ToolCall, args: Any, confirmation: Confirmation, description: str
    ) -> object:
        always_ask = (confirmation.reasons or ("always asks",)) if confirmation.always_ask else ()
        facts = _facts(tool, args, always_ask=always_ask)
        verdict = self.policy.decide(facts)  # an "always" given while this call waited may have answered it
        if verdict.decision is Decision.ALLOW:
            return confirmation.proposal
        if self.confirm is None:
            raise ToolError(ErrorKind.NOBODY_TO_ASK, _nobody(tool, verdict))
        rule = None if verdict.gate is Decision.ASK else self.policy.narrow_rule(facts)
        question = Question(call, tool.display_name, description, confirmation, verdict, rule)
        outcome = await self.confirm(question)
        match outcome:
            case Declined():
                raise _declined(outcome)
            case ApprovedAlways():
                if rule is not None:
                    self.policy.remember(rule)
                return confirmation.proposal
            case Approved(edited=None):
                return confirmation.proposal
            case Approved(edited=text):
                if confirmation.revise is None:
                    raise ToolError(ErrorKind.DECLINED, "The person edited a proposal that can't be edited; not run.")
                return (await anyio.to_thread.run_sync(confirmation.revise, text)).proposal

    def _recording(self, tool: AnyTool, call: ToolCall, title: str) -> AbstractAsyncContextManager[None]:
        if self._recorder is None or tool.kind.changes_nothing:
            return nullcontext()
        return self._recorder.call(call.call_id, title, snapshot=tool.kind.value in ("execute", "other"))

    async def _run_together(self, calls: Sequence[ToolCall], emit: Emit) -> list[ToolAnswer]:
        answers: list[ToolAnswer | None] = [None] * len(calls)
        limiter = anyio.CapacityLimiter(_READS_AT_ONCE)

        async def run_one(index: int) -> None:
            async with limiter:
                answers[index] = await self.run(calls[index], emit)

        async with anyio.create_task_group() as group:
            for index in range(len(calls)):
                group.start_soon(run_one, index)
        return [answer for answer in answers if answer is not None]

    def _groups(self, calls: Sequence[ToolCall]) -> list[list[ToolCall]]:
        groups: list[list[ToolCall]] = []
        last_was_read = False
        for call in calls:
            is_read = call.name in self.registry and self.registry.get(call.name).kind.changes_nothing
            if is_read and last_was_read:
                groups[-1].append(call)
            else:
                groups.append([call])
            last_was_read = is_read
        return groups


class _Stopped(Exception):
    """The person declined a call and ended the turn with it."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(error.message)
        self.error = error


def _facts(tool: AnyTool, args: Any, always_ask: tuple[str, ...] = ()) -> CallFacts:
    command = getattr(args, "command", None) if tool.kind.value == "execute" else None
    return CallFacts(tool.name, tool.kind, command, getattr(args, "directory", None), always_ask)


def _raise_if_denied(verdict: Verdict) -> None:
    if verdict.decision is Decision.DENY:
        raise ToolError(
            ErrorKind.REFUSED, f"{verdict.reason} Nothing was run. Don't retry it in another spelling: use another way."
        )


def _nobody(tool: AnyTool, verdict: Verdict) -> str:
    return (
        f"{tool.name} needs a person's approval ({verdict.reason}) and nobody is here to ask. Nothing was run. "
        "Say in your answer what you would have done; the user can allow it with --approval-mode or a rule."
    )


def _declined(outcome: Declined) -> Exception:
    reason = f" They said: {outcome.reason}" if outcome.reason else ""
    error = ToolError(ErrorKind.DECLINED, f"The user declined this call. Nothing was run.{reason}")
    return _Stopped(error) if outcome.stop else error


def _not_run(call: ToolCall) -> ToolAnswer:
    error = ToolError(ErrorKind.CANCELLED, "Not run: the user stopped this turn at an earlier call.")
    return ToolAnswer(call, ToolResult.failed(error), stop=True)


def _defect(call: ToolCall, error: Exception) -> ToolError:
    return ToolError(
        ErrorKind.DEFECT,
        f"{call.name} failed inside dogu, which is a defect of dogu and not of the call: "
        f"{type(error).__name__}: {error}. Try another tool or other arguments.",
    )
