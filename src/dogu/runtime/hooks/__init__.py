"""Hooks: commands of the user's that run before and after tools, turns and the session, by the field's protocol.

A hook can refuse, ask, change what goes in and add to what comes out; it can't allow what the policy doesn't. One that
hangs, floods, prints garbage or fails is told and counts as having said nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import anyio
import msgspec

from dogu.contract.content import Content, Text, parts_of, text_of
from dogu.contract.display import markdown_of
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolFailure, ToolResult
from dogu.language import told
from dogu.runtime.approval import TurnStoppedError
from dogu.runtime.events import CallEvent, Emit, Noted, ToolCall, emit_nothing
from dogu.runtime.hooks.answer import HookAnswer, read_answer
from dogu.runtime.hooks.config import Hook, Moment
from dogu.runtime.questions import Confirm, Outcome, Question
from dogu.runtime.registry import AnyTool
from dogu.workspace.patterns import compile_pattern
from dogu.workspace.process.command import Processes, ShellCommand

_END_TAKES_S = 5.0
_AFTER_THE_ANSWER_S = 2.0
_QUESTION_KIND = "ToolPermission"


class HookPlace(msgspec.Struct, frozen=True):
    """Where hooks run, and what each is told of the session. `environment` is all that a hook's process gets."""

    directory: str
    environment: Callable[[], Mapping[str, str]]
    session_id: str = ""
    transcript_path: str = ""


class BeforeCall(msgspec.Struct, frozen=True):
    """What hooks want of a call: other arguments (None: as they are), a question, and words for the model."""

    args: Mapping[str, Any] | None = None
    asks: tuple[str, ...] = ()
    context: tuple[str, ...] = ()


class CallHooks(Protocol):
    """What the executor asks around each call."""

    async def before(self, tool: AnyTool, call: ToolCall, emit: Emit) -> BeforeCall:
        """Say what shall be otherwise. Raises `ToolError` (REFUSED) when the call shall not run."""
        ...

    async def after(
        self, tool: AnyTool, call: ToolCall, result: ToolResult, before: BeforeCall, emit: Emit
    ) -> tuple[ToolResult, bool]:
        """Return the result the model gets, and whether the turn shall stop."""
        ...


class Hooks:
    """The hooks of a session. They run one after the other, each given what the one before it made of the input."""

    def __init__(self, hooks: Sequence[Hook], processes: Processes, place: HookPlace) -> None:
        self.hooks = tuple(hooks)
        self._processes = processes
        self._place = place
        self.session_context: list[str] = []

    def at(self, moment: Moment, subject: str = "") -> list[Hook]:
        """Return the hooks of a moment; `subject` is the tool's name, or how the session starts."""
        return [hook for hook in self.hooks if hook.moment is moment and _matches(hook, subject)]

    async def before(self, tool: AnyTool, call: ToolCall, emit: Emit) -> BeforeCall:
        """Run the hooks before a call: the strictest of them decides."""
        args = dict(call.args or {})
        asks: list[str] = []
        context: list[str] = []
        for hook in self.at(Moment.BEFORE_TOOL, tool.name):
            answer = await self.run(hook, _call_fields(hook, tool, args), emit)
            _refuse(hook, answer)
            if answer.decision == "ask":
                asks.append(told("the hook {name} asks: {reason}", name=hook.name, reason=answer.reason))
            if answer.new_input is not None:
                args = _changed(tool, args, answer)
                shown = json.dumps(args, ensure_ascii=False).encode("utf-8", "replace").decode()
                emit(Noted(told("The hook {name} changed the call's arguments: {args}", name=hook.name, args=shown)))
                context.append(f"The user's hook {hook.name} changed the arguments of this call to {shown}")
            if answer.context:
                context.append(answer.context)
        is_changed = args != dict(call.args or {})
        return BeforeCall(args if is_changed else None, tuple(asks), tuple(context))

    async def after(
        self, tool: AnyTool, call: ToolCall, result: ToolResult, before: BeforeCall, emit: Emit
    ) -> tuple[ToolResult, bool]:
        """Run the hooks after a call, each on what the one before it left of the result."""
        result = _with_context(result, before.context)
        stops = False
        for hook in self.at(Moment.AFTER_TOOL, tool.name):
            fields = {**_call_fields(hook, tool, dict(call.args or {})), "tool_response": _response(result)}
            answer = await self.run(hook, fields, emit)
            if answer.output is not None:
                result = _replaced(result, answer.output)
            if answer.decision == "deny":
                result = _denied(hook, answer, result)
            result = _with_context(result, (answer.context,) if answer.context else ())
            stops = stops or answer.stops
        return result, stops

    async def start_session(self, source: str, tell: Callable[[str], None]) -> None:
        """Run the hooks of the session's start (`source`: `startup` or `resume`); what they say waits for a prompt."""
        for hook in self.at(Moment.SESSION_START, source):
            answer = await self.run(hook, {"source": source}, _told_to(tell))
            if answer.context:
                self.session_context.append(answer.context)

    async def end_session(self, tell: Callable[[str], None]) -> None:
        """Run the hooks of the session's end, for 5 s at most; cancellation waits for them."""
        with anyio.move_on_after(_END_TAKES_S, shield=True):
            for hook in self.at(Moment.SESSION_END, "exit"):
                await self.run(hook, {"reason": "exit"}, _told_to(tell))

    async def run(self, hook: Hook, fields: Mapping[str, Any], emit: Emit) -> HookAnswer:
        """Run one hook and tell the user what it says to them, and what went wrong."""
        answer = await self._answer(hook, fields)
        if answer.message:
            emit(Noted(f"{hook.name}: {answer.message}"))
        if answer.problem:
            emit(
                Noted(
                    told(
                        "The hook {name} failed at {event}: {problem}.",
                        name=hook.name,
                        event=hook.event,
                        problem=answer.problem,
                    )
                )
            )
        return answer

    async def _answer(self, hook: Hook, fields: Mapping[str, Any]) -> HookAnswer:
        place = self._place
        given = {
            "session_id": place.session_id,
            "transcript_path": place.transcript_path,
            "cwd": place.directory,
            "hook_event_name": hook.event,
            "timestamp": datetime.now(UTC).isoformat(),
            **fields,
        }
        command = ShellCommand(
            hook.command,
            place.directory,
            place.environment(),
            timeout_s=hook.timeout_s,
            idle_timeout_s=None,
            stdin=json.dumps(
                given, separators=(",", ":")
            ).encode(),  # escapes halves of characters, which JSON in UTF-8 can't carry
        )
        try:
            result = await self._processes.run(command)
        except ToolError as error:
            return HookAnswer(problem=error.message.rstrip("."))
        if result.error or result.signal is not None:
            ended = result.error.rstrip(".") or told("it was ended by signal {signal}", signal=result.signal)
            return HookAnswer(problem=ended)
        if result.truncated:
            return HookAnswer(problem=told("it printed more than can be read"))
        return read_answer(hook, result.stdout, result.stderr, result.exit_code)


def _told_to(tell: Callable[[str], None]) -> Emit:
    def emit(event: CallEvent) -> None:
        if isinstance(event, Noted):
            tell(event.text)

    return emit


def _matches(hook: Hook, subject: str) -> bool:
    """Whether the hook is for this tool or start: a pattern that can't be understood is for all."""
    if hook.matcher in ("", "*"):
        return True
    pattern = compile_pattern(hook.matcher)
    if pattern is None:
        return True
    matches = pattern.fullmatch if hook.is_claude else pattern.search
    return any(matches(name) is not None for name in (subject, hook.tool_name(subject)))


def _call_fields(hook: Hook, tool: AnyTool, args: Mapping[str, Any]) -> dict[str, Any]:
    """The call as the field's hooks know it: with the tool's and its parameters' other names beside ours."""
    also = {alias: args[name] for alias, name in tool.aliases.items() if name in args and alias not in args}
    return {"tool_name": hook.tool_name(tool.name), "tool_input": {**args, **also}}


def _changed(tool: AnyTool, args: Mapping[str, Any], answer: HookAnswer) -> dict[str, Any]:
    """The arguments as the hook wants them, under our names; of two names for one, the changed one counts."""
    wanted: dict[str, Any] = {}
    for name, value in (answer.new_input or {}).items():
        ours = tool.aliases.get(name, name)
        if ours not in wanted or value != args.get(ours):
            wanted[ours] = value
    return wanted if answer.is_whole_input else {**args, **wanted}


def _refuse(hook: Hook, answer: HookAnswer) -> None:
    if not answer.stops and answer.decision != "deny":
        return
    reason = answer.reason or answer.message or told("It gave no reason.")
    reason = reason if reason.endswith((".", "!", "?", "。", "！", "？")) else f"{reason}."
    message = told("The user's hook {name} refused this call: {reason} Nothing was run.", name=hook.name, reason=reason)
    raise (TurnStoppedError if answer.stops else ToolError)(ErrorKind.REFUSED, message)


def _response(result: ToolResult) -> dict[str, Any]:
    error = {"type": str(result.error.kind), "message": result.error.message} if result.error else None
    content = text_of(result.llm_content)
    return {"llmContent": content, "returnDisplay": markdown_of(result.return_display), "error": error}


def _denied(hook: Hook, answer: HookAnswer, result: ToolResult) -> ToolResult:
    """Gemini CLI's hooks hide the result behind their reason, Claude Code's add to it."""
    said = f"The user's hook {hook.name} objects: {answer.reason}"
    if hook.is_claude:
        return _with_context(result, (said,))
    return ToolResult(said, result.return_display, ToolFailure(ErrorKind.REFUSED, said))


def _replaced(result: ToolResult, output: str) -> ToolResult:
    error = result.error and ToolFailure(result.error.kind, output)
    return ToolResult(output, result.return_display, error)


def _with_context(result: ToolResult, context: Sequence[str]) -> ToolResult:
    if not context:
        return result
    added = "\n".join(context)
    content: Content = [*parts_of(result.llm_content), Text(f"\n[Hook] {added}")]
    if isinstance(result.llm_content, str):
        content = f"{result.llm_content}\n[Hook] {added}"
    return ToolResult(content, result.return_display, result.error)


def notifying(confirm: Confirm, hooks: Hooks) -> Confirm:
    """Return a `confirm` that runs the hooks beside each question; 2 s after the answer they are ended.

    Where no hook wants to be told, it is the same one.
    """
    if all(hook.moment is not Moment.NOTIFICATION for hook in hooks.hooks):
        return confirm

    async def notify(question: Question) -> None:
        details = {"type": "exec", "tool_name": question.call.name, "title": question.description}
        message = question.confirmation.title
        for hook in hooks.at(Moment.NOTIFICATION, _QUESTION_KIND):
            await hooks.run(
                hook, {"notification_type": _QUESTION_KIND, "message": message, "details": details}, emit_nothing
            )

    async def ask(question: Question) -> Outcome:
        answers: list[Outcome] = []

        async def answered() -> None:
            answers.append(await confirm(question))
            group.cancel_scope.deadline = anyio.current_time() + _AFTER_THE_ANSWER_S

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(notify, question)
                await answered()
        except BaseExceptionGroup as error:
            raise error.exceptions[0] from None  # what `confirm` raised: hooks raise nothing
        return answers[0]

    return ask
