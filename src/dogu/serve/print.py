"""The headless door: one prompt, the answer on standard output as text, JSON or a stream of JSON lines.

However a run ends, its last word is said here, once: an answer, a limit, a signal, a full disk, a defect of our own.
"""

from __future__ import annotations

import json
import math
import signal
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import anyio
import msgspec
from anyio import to_thread

from dogu.agent.events import EndReason, Event, TurnEnd
from dogu.agent.loop import Agent
from dogu.contract.content import Content
from dogu.language import told
from dogu.models.events import (
    ModelError,
)
from dogu.serve.exit_codes import ExitCode, of_model_error, of_turn
from dogu.serve.run_printers import (
    PRINTERS,
    Ending,
    Output,
    OutputFormat,
    Report,
    RunFacts,
)
from dogu.serve.run_rows import (
    Change,
    RowError,
)
from dogu.serve.run_tally import Tally

if TYPE_CHECKING:
    from dogu.runtime.events import ToolAnswer
    from dogu.workspace.process.jobs import SettledJob


_MOST_REMINDERS = 2
_REMINDER = (
    "[The final answer hasn't come in the shape that is wanted. Give it now, with what you found: as a call of "
    "`{name}` where you have that tool, else as JSON with nothing around it.]"
)


class Wanted(Protocol):
    """What takes the answer in a shape of its own: a tool that the model calls at the end."""

    name: str
    answers: list[Any]

    def takes(self, text: str) -> bool:
        """Take an answer that was said instead; whether it is one."""
        ...

    def ask_again(self) -> None:
        """Ask for it in another way from now on."""
        ...


class HeadlessRun:
    """A run from its first word to its last. Left without one, it says what ended it: `explain` knows exceptions.

    `timeout_s` bounds all of it.
    """

    def __init__(
        self,
        output_format: OutputFormat,
        timeout_s: float | None = None,
        explain: Callable[[BaseException], Ending] | None = None,
    ) -> None:
        self.code = ExitCode.DONE
        self.is_passed_on = False
        self._tally = Tally()
        self._out = Output(self._stop)
        self._printer = PRINTERS[output_format](self._out)
        self._facts = RunFacts()
        self._timeout_s = timeout_s
        self._deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        self._explain = explain or _defect
        self._scope: anyio.CancelScope | None = None
        self._signal = 0
        self._has_ended = False
        self._changes: Sequence[Change] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._has_ended:
            is_cut_short = error is None or self._signal or self._out.lost
            ending = self._cut_short() if is_cut_short or error is None else self._explain(error)
            self._end(ending, changes=self._changes)

    def bounded(self) -> anyio.CancelScope:
        """Return the scope in which the run is to take place: it ends with the time, or with the output."""
        self._scope = anyio.CancelScope(deadline=self._deadline)
        return self._scope

    def signalled(self, number: int) -> None:
        """Take note of the signal that ends the program."""
        self._signal = number

    def opened(self, facts: RunFacts) -> None:
        """Begin to print: the session is open."""
        self._facts = facts
        self._printer.begin(facts)

    def pass_on(self) -> None:
        """Say nothing at the end: another answers."""
        self._has_ended = self.is_passed_on = True

    def said(self, text: str) -> None:
        """End with what a `/` command had to say, without the model."""
        self._end(Ending("said", ExitCode.DONE, response=text))

    def refused(self, code: ExitCode, message: str, kind: str = "bad_input", call: ToolAnswer | None = None) -> None:
        """End before the model was asked; `call` is the one that was refused, if that is why."""
        self._tally.answers += [] if call is None else [call]
        self._end(Ending.failed(code, kind, message))

    async def answer(self, agent: Agent, prompt: Content, wanted: Wanted | None = None) -> ExitCode:
        """Run a turn, and say at its end how it ended; with `wanted` the answer is what that was given."""
        self._has_ended = is_at_rest = False
        try:
            ending = await self._ending_of(agent, prompt, wanted)
            is_at_rest = True
            await self._settle(ending)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._settle(self._cut_short())
            raise
        finally:
            if not (is_at_rest or self._has_ended):  # by a defect, which is told once all is closed
                with anyio.CancelScope(shield=True):
                    self._changes = await to_thread.run_sync(self._facts.changes)
        return self.code

    async def _ending_of(self, agent: Agent, prompt: Content, wanted: Wanted | None) -> Ending:
        try:
            end = await agent.run(prompt, self._take)
            return _of_turn(end) if wanted is None else await self._in_shape(agent, end, wanted)
        except ModelError as error:
            return Ending.failed(of_model_error(error), str(error.kind), error.message, error.retry_after_s)

    async def _in_shape(self, agent: Agent, end: TurnEnd, wanted: Wanted) -> Ending:
        """Ask again for the answer that is wanted, where the model only talked."""
        tries = 0
        while self._lacks(wanted, end) and tries < _MOST_REMINDERS:
            tries += 1
            wanted.ask_again()
            end = await agent.run(_REMINDER.format(name=wanted.name), self._take)
        ending = _of_turn(end)
        if wanted.answers:
            answer = wanted.answers[-1]
            response = json.dumps(answer, ensure_ascii=False)
            return msgspec.structs.replace(ending, response=response, structured_output=answer)
        if end.reason is not EndReason.DONE:
            return ending
        message = told("The model's answer doesn't have the form that --output-schema asks for.")
        return Ending.failed(ExitCode.TOOL_FAILED, "no_structured_output", message)

    def _lacks(self, wanted: Wanted, end: TurnEnd) -> bool:
        return end.reason is EndReason.DONE and not wanted.answers and not wanted.takes(end.text)

    async def _settle(self, ending: Ending) -> None:
        jobs = await self._facts.settle_jobs()
        self._changes = await to_thread.run_sync(self._facts.changes)
        self._end(ending, jobs, self._changes)

    def _take(self, event: Event) -> None:
        self._tally.event(event)
        self._printer.event(event)

    def _stop(self) -> None:
        if self._scope is not None:
            self._scope.cancel()

    def _cut_short(self) -> Ending:
        """Say what ended the run from outside."""
        if self._out.lost is not None:
            return _output_lost(self._out.lost)
        if self._signal:
            name = signal.Signals(self._signal).name
            note = told("Ended by {signal} before it was done.", signal=name)
            return Ending("cancelled", ExitCode(128 + self._signal), note)
        if time.monotonic() >= self._deadline:
            note = told("Stopped after {timeout_s:g} s, the limit that --timeout sets.", timeout_s=self._timeout_s)
            return Ending("timeout", ExitCode.TURN_LIMIT, note)
        return Ending("cancelled", ExitCode.CANCELLED, told("Cancelled before it was done."))

    def _end(self, ending: Ending, jobs: Sequence[SettledJob] = (), changes: Sequence[Change] = ()) -> None:
        self._has_ended = True
        report = Report(self._tally, self._facts, jobs, changes)
        was_lost = self._out.lost is not None
        if self._out.lost is not None and not ending.code:  # while it was still answering
            ending = msgspec.structs.replace(_output_lost(self._out.lost), response=ending.response)
        self._printer.end(ending, report)
        if self._out.lost is not None and not was_lost:  # with the last words, which are said again elsewhere
            ending = msgspec.structs.replace(_output_lost(self._out.lost), response=ending.response)
            self._printer.end(ending, report)
        self.code = ending.code
        self._tally.forget_text()


def _of_turn(end: TurnEnd) -> Ending:
    """Say what a turn that came to rest means for a script."""
    code = of_turn(end)
    reason, note, error = str(end.reason), end.note, None
    if code is ExitCode.NOBODY_TO_ASK:
        message = told("Something was refused because nobody was here to approve it; see --approval-mode.")
        reason, error = "refused", RowError("refused", message)
    elif code in (ExitCode.TOOL_FAILED, ExitCode.DEFECT):
        failed = next(answer for answer in reversed(end.answers) if answer.result.error)
        message = told("The last call failed: {tool}.", tool=failed.call.name)
        reason, error = "tool_failed", RowError("tool_failed" if code is ExitCode.TOOL_FAILED else "defect", message)
    is_whole = end.reason is EndReason.DONE or end.text
    return Ending(reason, code, note, error, end.text if is_whole else None)


def _output_lost(error: OSError) -> Ending:
    code = ExitCode.OUTPUT_LOST if isinstance(error, BrokenPipeError) else ExitCode.OUTPUT_FULL
    message = told("Standard output can't be written: {reason}.", reason=error.strerror or error)
    return Ending.failed(code, "output_lost", message)


def _defect(error: BaseException) -> Ending:
    return Ending.failed(ExitCode.DEFECT, "defect", f"{type(error).__name__}: {error}")
