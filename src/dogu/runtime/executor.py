"""One call from request to answer: the documents' nine steps, for every door.

Above it are the agent and the doors, below it the tools and the policy. It knows no tool by name, no model and no
screen: it finds, validates, judges, asks, runs and answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

import anyio

from dogu.contract.confirmation import CallContext
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind
from dogu.policy.policy import Policy
from dogu.runtime.approval import Approval, TurnStoppedError
from dogu.runtime.calls import ToolAnswer, ToolCall
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Emit, emit_nothing
from dogu.runtime.questions import Confirm
from dogu.runtime.registry import AnyTool, ToolRegistry
from dogu.runtime.result_bounds import ResultBounds

_READS_AT_ONCE = 8
_BOUND_THEMSELVES = frozenset((Kind.READ, Kind.SEARCH, Kind.EDIT))


class Recorder(Protocol):
    """Keeps what a call changes, so that it can be undone (`runtime.journal`)."""

    def next_turn(self) -> int:
        """Count one more prompt of the user; the calls that follow belong to it."""
        ...

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
        self.approval = Approval(policy, confirm)
        self._recorder = recorder
        self._bounds = bounds or ResultBounds()

    def begin_turn(self) -> None:
        """Say that a prompt of the user begins: what follows can be undone together."""
        if self._recorder is not None:
            self._recorder.next_turn()

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
        except ToolError as error:
            result, stop = ToolResult.failed(error), isinstance(error, TurnStoppedError)
        except Exception as error:  # noqa: BLE001  (a defect of ours must cost one call, not the session)
            result = ToolResult.failed(_defect(call, error))
        emit(CallFinished(call, display_name, result))  # step 9
        return ToolAnswer(call, result, stop)

    async def _run_found(self, tool: AnyTool, call: ToolCall, emit: Emit) -> ToolResult:
        if call.args is None:
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for {tool.name}: {call.problem}")
        args = tool.validate_tool_params(call.args)  # step 4
        description = tool.get_description(args)
        approved = await self.approval.proposal(tool, call, args, description)  # step 5
        context = CallContext(call.call_id, lambda text: emit(CallOutput(call.call_id, text)), approved)
        emit(CallStarted(call, tool.display_name, description))
        async with self._recording(tool, call, description):
            result = await tool.execute(args, context)  # steps 6 and 7
        # Built-in readers and finders bound their own results, at a whole line.
        return result if tool.kind in _BOUND_THEMSELVES else self._bounds.apply(call, result)

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


def _not_run(call: ToolCall) -> ToolAnswer:
    error = ToolError(ErrorKind.CANCELLED, "Not run: the user stopped this turn at an earlier call.")
    return ToolAnswer(call, ToolResult.failed(error), stop=True)


def _defect(call: ToolCall, error: Exception) -> ToolError:
    return ToolError(
        ErrorKind.DEFECT,
        f"{call.name} failed inside dogu, which is a defect of dogu and not of the call: "
        f"{type(error).__name__}: {error}. Try another tool or other arguments.",
    )
