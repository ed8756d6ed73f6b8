"""What a headless run prints, as text, one object or a stream of JSON lines; what ended it is an `Ending`."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

import msgspec

from dogu.agent.events import Compacted, EndReason, Event, PromptGiven, TurnEnded
from dogu.contract.content import text_of
from dogu.contract.result import ToolResult
from dogu.language import plain, said, say
from dogu.models.events import (
    Finished,
    FinishReason,
    FunctionCallEvent,
    Retrying,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Noted, ToolAnswer, ToolCall
from dogu.runtime.jobs import settled_rows
from dogu.serve.exit_codes import ExitCode
from dogu.serve.failures import failure_words
from dogu.serve.run_rows import (
    Change,
    CompactedRow,
    ErrorRow,
    InitRow,
    JsonResult,
    MessageRow,
    NotedRow,
    ResultRow,
    RetryRow,
    RowError,
    StreamRow,
    ThoughtRow,
    ToolResultRow,
    ToolUseRow,
)
from dogu.serve.run_tally import Tally, call_row, claude_usage
from dogu.serve.wire import to_line
from dogu.workspace.visible import make_visible

if TYPE_CHECKING:
    from dogu.agent.budget import Meter
    from dogu.workspace.process.jobs import SettledJob

SettleJobs: TypeAlias = "Callable[[], Awaitable[tuple[SettledJob, ...]]]"

_SUBTYPES: dict[str, str] = {
    EndReason.STEP_LIMIT: "error_max_turns",
    EndReason.BUDGET: "error_max_budget_usd",
}


async def no_jobs() -> tuple[SettledJob, ...]:
    """For a runtime that leaves none."""
    return ()


def no_changes() -> Sequence[Change]:
    """For a run that isn't watched."""
    return ()


class OutputFormat(StrEnum):
    """How a headless answer is printed."""

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


class RunFacts(msgspec.Struct, frozen=True):
    """What an open session tells of itself; `changes` what the run changed, `settle_jobs` ends the jobs it left.

    With `has_shape` an answer in a shape of its own is wanted, and no other text.
    """

    session_id: str = ""
    model: str = ""
    meter: Meter | None = None
    changes: Callable[[], Sequence[Change]] = no_changes
    settle_jobs: SettleJobs = no_jobs
    has_shape: bool = False


class Ending(msgspec.Struct, frozen=True):
    """Why a run ended, in one word and its exit status; `response` None: what was said so far."""

    reason: str
    code: ExitCode
    note: str = ""
    error: RowError | None = None
    response: str | None = None
    is_told: bool = False
    structured_output: Any = msgspec.UNSET

    @classmethod
    def failed(
        cls, code: ExitCode, kind: str, message: str, retry_after_s: float | None = None, *, is_told: bool = False
    ) -> Ending:
        """A run that gave no answer, and why; `is_told` when somebody else says so on standard error."""
        return cls("failed", code, error=RowError(kind, message, retry_after_s), is_told=is_told)


class Output:
    """Standard output, until it can't be written: then what is left to say goes to standard error."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self.lost: OSError | None = None

    def write(self, text: str) -> None:
        """Write what may be lost together with the output."""
        if self.lost is not None:
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError as error:
            self.lost = error
            # The interpreter's last flush must find nobody.
            with suppress(OSError, ValueError):
                descriptor = os.open(os.devnull, os.O_WRONLY)
                os.dup2(descriptor, sys.stdout.fileno())
                os.close(descriptor)
            self._stop()

    def write_last(self, text: str) -> None:
        """Write what must be heard."""
        if self.lost is None:
            self.write(text)
        else:
            tell(text.removesuffix("\n"))


class Report:
    """What is known of a run at its end."""

    def __init__(self, tally: Tally, facts: RunFacts, jobs: Sequence[SettledJob], changes: Sequence[Change]) -> None:
        self.tally = tally
        self.facts = facts
        self._jobs = jobs
        self._changes = changes

    def fields(self, ending: Ending) -> dict[str, Any]:
        """Return the fields of a `Result`."""
        stats = self.tally.stats(self.facts.model, self.facts.meter)
        is_error = ending.code is not ExitCode.DONE
        error = ending.error or (RowError(ending.reason, ending.note) if is_error else None)
        return {
            "status": "error" if is_error else "success",
            "subtype": _SUBTYPES.get(ending.reason, "error_during_execution") if is_error else "success",
            "is_error": is_error,
            "reason": ending.reason,
            "exit_code": int(ending.code),
            "can_retry": ending.code is ExitCode.TRY_AGAIN,
            "session_id": self.facts.session_id,
            "response": self.tally.text if ending.response is None else ending.response,
            "num_turns": self.tally.requests,
            "duration_ms": stats.duration_ms,
            "total_cost_usd": stats.cost_usd,
            "usage": claude_usage(stats),
            "stats": stats,
            "permission_denials": self.tally.denials(),
            "changes": list(self._changes),
            "jobs": settled_rows(self._jobs) or None,
            "note": ending.note,
            "error": error,
            "structured_output": ending.structured_output,
        }


class _TextPrinter:
    """The answer on standard output, a step at a time; what went wrong on standard error."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._text = ""
        self._has_shape = False

    def begin(self, facts: RunFacts) -> None:
        self._has_shape = facts.has_shape

    def event(self, event: Event) -> None:
        match event:
            case TextDelta(text=text):
                self._text += text
            case Retrying():
                self._text = ""
                tell(say(event.note))
            case Compacted(note=note) | Noted(text=note):
                tell(say(note))
            case Finished(reason=reason, calls=calls):
                if reason is not FinishReason.LENGTH or calls:  # a text that was cut goes on
                    self._flush()
            case CallFinished(result=result, call=call):
                _tell_failure(call, result)
            case (
                ThoughtDelta()
                | FunctionCallEvent()
                | Usage()
                | CallStarted()
                | CallOutput()
                | PromptGiven()
                | TurnEnded()
            ):
                pass  # standard output has the answer alone; `end` tells how the turn ended
            case _:
                assert_never(event)

    def end(self, ending: Ending, report: Report) -> None:
        if ending.reason == "said":
            self._text = make_visible(ending.response or "")
        if ending.structured_output is not msgspec.UNSET:
            self._has_shape, self._text = False, ending.response or ""
        self._flush()
        if ending.note:
            tell(say(ending.note))
        if ending.error is not None and not ending.is_told:
            tell(say(ending.error.message))
        session_id = report.facts.session_id
        if ending.reason in ("cancelled", "timeout") and session_id:
            tell(say("To continue: dogu --resume {session_id}", session_id=session_id))

    def _flush(self) -> None:
        if self._text and not self._has_shape:
            self._out.write(self._text if self._text.endswith("\n") else f"{self._text}\n")
        self._text = ""


class _JsonPrinter:
    """One object at the end."""

    def __init__(self, out: Output) -> None:
        self._out = out

    def begin(self, facts: RunFacts) -> None: ...

    def event(self, event: Event) -> None: ...

    def end(self, ending: Ending, report: Report) -> None:
        fields = report.fields(ending)
        row = JsonResult(**fields, tool_calls=report.tally.calls(), exit_status=int(ending.code))
        self._out.write_last(f"{to_line(msgspec.to_builtins(row, enc_hook=plain))}\n")


class _StreamPrinter:
    """A line an event, and one for the end."""

    def __init__(self, out: Output) -> None:
        self._out = out

    def begin(self, facts: RunFacts) -> None:
        self._line(InitRow(timestamp=_now(), session_id=facts.session_id, model=facts.model))

    def event(self, event: Event) -> None:
        now = _now()
        match event:
            case PromptGiven(content=content):
                self._line(MessageRow(timestamp=now, role="user", content=text_of(content)))
            case TextDelta(text=text):
                self._line(MessageRow(timestamp=now, role="assistant", content=text, delta=True))
            case ThoughtDelta(text=text):
                self._line(ThoughtRow(timestamp=now, content=text))
            case Retrying():
                row = RetryRow(
                    timestamp=now, reason=event.reason, delay_s=event.delay_s, attempt=event.attempt, of=event.of
                )
                self._line(row)
            case Compacted() | Noted():
                row = CompactedRow if isinstance(event, Compacted) else NotedRow
                self._line(row(timestamp=now, **msgspec.structs.asdict(event)))
            case CallStarted() | CallFinished():
                self._call(event)
            case CallOutput() | FunctionCallEvent() | Usage() | Finished() | TurnEnded():
                pass  # `tool_result`, `tool_use` and `result` say the same once it is whole
            case _:
                assert_never(event)

    def _call(self, event: CallStarted | CallFinished) -> None:
        call = event.call
        if isinstance(event, CallFinished):
            fields = msgspec.structs.asdict(call_row(ToolAnswer(call, event.result)))
            self._line(ToolResultRow(timestamp=_now(), **fields))
            return
        row = ToolUseRow(
            timestamp=_now(),
            tool_name=call.name,
            tool_id=call.call_id,
            parameters=dict(call.args or {}),
            description=said(event.description),
        )
        self._line(row)

    def end(self, ending: Ending, report: Report) -> None:
        if ending.error is not None:
            error = ending.error
            self._line(ErrorRow(timestamp=_now(), severity="error", message=error.message, kind=error.type))
        elif ending.note:
            self._line(ErrorRow(timestamp=_now(), severity="warning", message=ending.note))
        row = ResultRow(timestamp=_now(), **report.fields(ending))
        self._out.write_last(_line_of(row))

    def _line(self, row: StreamRow) -> None:
        self._out.write(_line_of(row))


PRINTERS = {
    OutputFormat.TEXT: _TextPrinter,
    OutputFormat.JSON: _JsonPrinter,
    OutputFormat.STREAM_JSON: _StreamPrinter,
}


def _tell_failure(call: ToolCall, result: ToolResult) -> None:
    if result.error:
        tell(say("{name} failed: {message}", name=call.name, message=failure_words(result.error)))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _line_of(row: StreamRow) -> str:
    return f"{to_line(msgspec.to_builtins(row, enc_hook=plain))}\n"


def tell(text: str) -> None:
    """Say something on standard error, if anybody hears it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
