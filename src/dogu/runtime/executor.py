"""One call from request to answer: the documents' nine steps, for every door.

Above it are the agent and the doors, below it the tools and the policy. It knows no tool by name, no model and no
screen: it finds, validates, judges, asks, runs and answers.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import anyio
import msgspec

from dogu.contract.confirmation import CallContext
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.function_tool import FunctionTool
from dogu.contract.result import ToolResult
from dogu.contract.tool import Tool
from dogu.language import told
from dogu.policy.policy import Policy
from dogu.runtime.approval import Approval, TurnStoppedError
from dogu.runtime.events import (
    CallEvent,
    CallFinished,
    CallOutput,
    CallStarted,
    EmitAll,
    ToolAnswer,
    ToolCall,
    Within,
    emit_nothing,
)
from dogu.runtime.registry import AnyTool, ToolRegistry
from dogu.runtime.result_bounds import ResultBounds
from dogu.workspace.os_errors import limit_words

if TYPE_CHECKING:
    from dogu.runtime.hooks import CallHooks

_READS_AT_ONCE = 8


class ChangeRecorder(Protocol):
    """Keeps what a call changes, so that it can be undone (`runtime.journal`)."""

    def call(self, call_id: str, title: str, *, snapshot: bool) -> AbstractAsyncContextManager[list[str]]:
        """Record the changes made inside the context as this call's; `snapshot` when they are made behind our back.

        Afterwards the list says, in sentences for the user, what of it can't be undone.
        """
        ...


Traced: TypeAlias = Callable[[ToolCall], AbstractContextManager[Callable[[ToolAnswer], None]]]


class Executor:
    """Runs the tools of a registry. `approval` judges calls and asks the user; under a bare policy nobody is asked.

    `changes` keeps what calls change; `hooks` are asked before and after each call; `traced` is entered around each and
    told its answer.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        approval: Approval | Policy,
        *,
        changes: ChangeRecorder | None = None,
        bounds: ResultBounds | None = None,
        hooks: CallHooks | None = None,
        traced: Traced | None = None,
    ) -> None:
        self.registry = registry
        self.approval = Approval(approval) if isinstance(approval, Policy) else approval
        self._changes = changes
        self._bounds = bounds or ResultBounds()
        self._hooks = hooks
        self._traced = traced

    def beside(self, registry: ToolRegistry) -> Executor:
        """Return one that runs other tools, asked, kept and bounded the same way."""
        return Executor(
            registry,
            self.approval,
            changes=self._changes,
            bounds=self._bounds,
            hooks=self._hooks,
            traced=self._traced,
        )

    async def run_all(self, calls: Sequence[ToolCall], emit: EmitAll = emit_nothing) -> list[ToolAnswer]:
        """Run the calls of one model turn and return their answers in order.

        Neighbouring calls that change nothing run together, anything else alone. A refusal doesn't cancel the others,
        unless the user says stop: then those not yet run are answered as cancelled.
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

    async def run(self, call: ToolCall, emit: EmitAll = emit_nothing) -> ToolAnswer:
        """Run one call; every failure is an answer, only cancellation passes through."""
        display_name, stop, tool = call.name, False, None
        with self._tracing(call) as answered:
            try:
                tool = self.registry.get(call.name)  # step 3
                display_name = tool.display_name
                result, stop = await self._run_found(tool, call, emit)
            except ToolError as error:
                result, stop = self._failed(call, error), isinstance(error, TurnStoppedError)
            except (Exception, SystemExit) as error:  # noqa: BLE001  (a defect, or an exit, costs one call and no more)
                result = self._failed(call, _defect(call, tool, error))
            emit(CallFinished(call, display_name, result))  # step 9
            answer = ToolAnswer(call, result, stop)
            answered(answer)
        return answer

    def _tracing(self, call: ToolCall) -> AbstractContextManager[Callable[[ToolAnswer], None]]:
        return nullcontext(lambda _answer: None) if self._traced is None else self._traced(call)

    async def _run_found(self, tool: AnyTool, call: ToolCall, emit: EmitAll) -> tuple[ToolResult, bool]:
        if call.args is None:
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for {tool.name}: {call.problem}")
        args = _validated(tool, call.args)  # step 4
        before = await self._hooks.before(tool, call, emit) if self._hooks is not None else None
        if before is not None and before.args is not None:
            call = msgspec.structs.replace(call, args=before.args)
            args = _validated(tool, before.args)
        description = tool.get_description(args)
        asks = before.asks if before is not None else ()
        approved, description = await self.approval.proposal(tool, call, args, description, asks)  # step 5
        context = CallContext(
            call.call_id,
            lambda text: emit(CallOutput(call.call_id, text)),
            approved,
            _within(emit),
            partial(self.approval.ask_within, tool, call, description),
        )
        emit(CallStarted(call, tool.display_name, description))
        result = await self._executed(tool, call, description, args, context)  # steps 6 and 7
        if before is None or self._hooks is None:
            return result, False
        return await self._hooks.after(tool, call, result, before, emit)

    async def _executed(
        self, tool: AnyTool, call: ToolCall, description: str, args: Any, context: CallContext
    ) -> ToolResult:
        try:
            async with self._keeping_changes(tool, call, description) as notes:
                result = ToolResult.of(await tool.execute(args, context))
        except TurnStoppedError:
            raise
        except ToolError as error:
            return self._failed(call, error)
        result = result.with_notes(notes)
        return self._bounds.apply(call, result, tool.kind, bounds_itself=tool.bounds_itself)

    def _failed(self, call: ToolCall, error: ToolError) -> ToolResult:
        return self._bounds.apply(call, ToolResult.failed(error))

    def _keeping_changes(self, tool: AnyTool, call: ToolCall, title: str) -> AbstractAsyncContextManager[list[str]]:
        if self._changes is None or tool.kind.changes_nothing:
            return nullcontext(list[str]())
        behind_our_back = tool.kind.value in ("execute", "other") and not tool.records_changes
        return self._changes.call(call.call_id, title, snapshot=behind_our_back)

    async def _run_together(self, calls: Sequence[ToolCall], emit: EmitAll) -> list[ToolAnswer]:
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


def _within(emit: EmitAll) -> Callable[[object], None]:
    """What a tool may emit: events of the calls that are made within its own."""

    def pass_on(event: object) -> None:
        if isinstance(event, Within):
            emit(event)

    return pass_on


def _not_run(call: ToolCall) -> ToolAnswer:
    error = ToolError(ErrorKind.CANCELLED, "Not run: the user stopped this turn at an earlier call.")
    return ToolAnswer(call, ToolResult.failed(error), stop=True)


def _validated(tool: AnyTool, raw: Mapping[str, Any]) -> Any:
    """The arguments, checked; a text for an answer says what is wrong with them, None that they may go on as they are.

    Source: the documents' `validateToolParams`, which returns an error text or nothing.
    """
    args: object = tool.validate_tool_params(raw)
    if isinstance(args, str):
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for {tool.name}: {args}")
    return Tool[Any].validate_tool_params(tool, raw) if args is None else args


def _defect(call: ToolCall, tool: AnyTool | None, error: BaseException) -> ToolError:
    error = _only_cause(error)
    what = f"{type(error).__name__}: {error}"
    limit = limit_words(error)
    if limit:
        return ToolError(ErrorKind.IO_ERROR, told("{tool} failed: {reason}", tool=call.name, reason=limit))
    if tool is None or _is_ours(tool):
        return ToolError(
            ErrorKind.DEFECT,
            f"{call.name} failed inside dogu, which is a defect of dogu and not of the call: "
            f"{what}. Try another tool or other arguments.",
        )
    frames = traceback.extract_tb(error.__traceback__)  # none of an error that was only put into a group
    where = f" ({frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name})" if frames else ""
    return ToolError(
        ErrorKind.TOOL_FAILED,
        f"The tool {call.name} failed by an error of its own: {what}{where}. Try another tool or other arguments.",
    )


def _only_cause(error: BaseException) -> BaseException:
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = cast("BaseExceptionGroup[BaseException]", error).exceptions
    return _only_cause(causes[0]) if len(causes) == 1 else cast("BaseException", error)


def _is_ours(tool: AnyTool) -> bool:
    return type(tool).__module__.startswith("dogu.") and not isinstance(tool, FunctionTool)


class NestedExecutor(Executor):
    """Runs the calls of a helper that works within the call `parent`, with the tools of `registry` only.

    The same approvals, record and journal hold, under ids that begin with the outer call's.

    `outer_emit` is the outer call's. `changing` lets one helper at a time change something.
    """

    def __init__(
        self, outer: Executor, registry: ToolRegistry, parent: str, outer_emit: EmitAll, changing: anyio.Lock
    ) -> None:
        super().__init__(
            registry,
            outer.approval,
            changes=outer._changes,
            bounds=outer._bounds,
            hooks=outer._hooks,
            traced=outer._traced,
        )
        self._parent = parent
        self._outer_emit = outer_emit
        self._changing = changing
        self._count = 0

    async def run(self, call: ToolCall, emit: EmitAll = emit_nothing) -> ToolAnswer:
        """Run one call under the outer one's id; the answer names it as the helper did."""
        self._count += 1
        named = msgspec.structs.replace(call, call_id=f"{self._parent}/{self._count}", parent=self._parent)

        def emit_twice(event: CallEvent | Within) -> None:
            self._outer_emit(event if isinstance(event, Within) else Within(self._parent, event))
            emit(event)

        if call.name in self.registry and not self.registry.get(call.name).kind.changes_nothing:
            async with self._changing:
                answer = await super().run(named, emit_twice)
        else:
            answer = await super().run(named, emit_twice)
        return ToolAnswer(call, answer.result, answer.stop)
