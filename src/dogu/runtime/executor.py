"""One call from request to answer: the documents' nine steps, for every door.

Above it are the agent and the doors, below it the tools and the policy. It knows no tool by name, no model and no
screen: it finds, validates, judges, asks, runs and answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import anyio
import msgspec

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

if TYPE_CHECKING:
    from dogu.runtime.hooks import CallHooks

_READS_AT_ONCE = 8
_BOUND_THEMSELVES = frozenset((Kind.READ, Kind.SEARCH, Kind.EDIT))


class ChangeRecorder(Protocol):
    """Keeps what a call changes, so that it can be undone (`runtime.journal`)."""

    def next_turn(self) -> int:
        """Count one more prompt of the user; the calls that follow belong to it."""
        ...

    def call(self, call_id: str, title: str, *, snapshot: bool) -> AbstractAsyncContextManager[None]:
        """Record the changes made inside the context as this call's; `snapshot` when they are made behind our back."""
        ...


class Recorder(ChangeRecorder, Protocol):
    """Keeps all that is told of a call, too."""

    def event(self, event: object) -> None:
        """Record an event; called before a door is told of it."""
        ...


Traced: TypeAlias = Callable[[ToolCall], AbstractContextManager[Callable[[ToolAnswer], None]]]


class Executor:
    """Runs calls under one policy. `confirm` is the door's way to ask a person; None means that nobody is there.

    `hooks` are asked before and after each call; `traced` is entered around each and told its answer.
    """

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
        self.hooks: CallHooks | None = None
        self.traced: Traced | None = None

    def beside(self, registry: ToolRegistry) -> Executor:
        """Return one that runs other tools under the same policy, asked, recorded and bounded the same way."""
        other = Executor(registry, self.approval.policy, recorder=self._recorder, bounds=self._bounds)
        other.approval = self.approval
        other.hooks, other.traced = self.hooks, self.traced
        return other

    def begin_turn(self) -> int:
        """Say that a prompt of the user begins: what follows can be undone at once. Return its number, 0 unrecorded."""
        return self._recorder.next_turn() if self._recorder is not None else 0

    def recorded(self, emit: Emit = emit_nothing) -> Emit:
        """Return what records an event and then emits it, for events that aren't of calls: those are recorded here."""
        recorder = self._recorder
        if recorder is None:
            return emit

        def record_first(event: object) -> None:
            recorder.event(event)
            emit(event)

        return record_first

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
        display_name, stop = call.name, False
        told = self.recorded(emit)
        with self._tracing(call) as answered:
            try:
                tool = self.registry.get(call.name)  # step 3
                display_name = tool.display_name
                result, stop = await self._run_found(tool, call, told, emit)
            except ToolError as error:
                result, stop = ToolResult.failed(error), isinstance(error, TurnStoppedError)
            except Exception as error:  # noqa: BLE001  (a defect of ours must cost one call, not the session)
                result = ToolResult.failed(_defect(call, error))
            told(CallFinished(call, display_name, result))  # step 9
            answer = ToolAnswer(call, result, stop)
            answered(answer)
        return answer

    def _tracing(self, call: ToolCall) -> AbstractContextManager[Callable[[ToolAnswer], None]]:
        return nullcontext(_answered_untraced) if self.traced is None else self.traced(call)

    async def _run_found(self, tool: AnyTool, call: ToolCall, emit: Emit, door: Emit) -> tuple[ToolResult, bool]:
        if call.args is None:
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for {tool.name}: {call.problem}")
        args = tool.validate_tool_params(call.args)  # step 4
        before = await self.hooks.before(tool, call, emit) if self.hooks is not None else None
        if before is not None and before.args is not None:
            call = msgspec.structs.replace(call, args=before.args)
            args = tool.validate_tool_params(before.args)
        description = tool.get_description(args)
        asks = before.asks if before is not None else ()
        approved = await self.approval.proposal(tool, call, args, description, asks)  # step 5
        context = CallContext(call.call_id, lambda text: emit(CallOutput(call.call_id, text)), approved, door)
        emit(CallStarted(call, tool.display_name, description))
        result = await self._executed(tool, call, description, args, context)  # steps 6 and 7
        if before is None or self.hooks is None:
            return result, False
        return await self.hooks.after(tool, call, result, before, emit)

    async def _executed(
        self, tool: AnyTool, call: ToolCall, description: str, args: Any, context: CallContext
    ) -> ToolResult:
        try:
            async with self._recording(tool, call, description):
                result = await tool.execute(args, context)
        except TurnStoppedError:
            raise
        except ToolError as error:
            return ToolResult.failed(error)
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


def _answered_untraced(_answer: ToolAnswer) -> None:
    return None


def _not_run(call: ToolCall) -> ToolAnswer:
    error = ToolError(ErrorKind.CANCELLED, "Not run: the user stopped this turn at an earlier call.")
    return ToolAnswer(call, ToolResult.failed(error), stop=True)


def _defect(call: ToolCall, error: Exception) -> ToolError:
    return ToolError(
        ErrorKind.DEFECT,
        f"{call.name} failed inside dogu, which is a defect of dogu and not of the call: "
        f"{type(error).__name__}: {error}. Try another tool or other arguments.",
    )
