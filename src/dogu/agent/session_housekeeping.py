"""A session's housekeeping: makes room, counts tokens and their cost, tells the instructions of folders below."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import msgspec
from anyio import to_thread

from dogu.agent.budget import Meter
from dogu.agent.context.compaction import Compaction
from dogu.agent.events import Compacted, Emit, Record
from dogu.agent.history import AllReplaced, CutBack, History, HistoryChange
from dogu.agent.housekeeping import Housekeeping, with_note
from dogu.agent.system_prompt import Instructions
from dogu.contract import ErrorKind
from dogu.contract.result import ToolResult
from dogu.models.events import Usage
from dogu.runtime.events import CallEvent, CallFinished, CallOutput, CallStarted, Noted, ToolAnswer


class ToolCounts(msgspec.Struct):
    """A tool's calls; `took_s` is without the time that questions waited for an answer."""

    calls: int = 0
    failed: int = 0
    declined: int = 0
    took_s: float = 0.0


class CallCounts:
    """Watches the events of calls."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.by_tool: dict[str, ToolCounts] = {}
        self._now = now
        self._started: dict[str, float] = {}

    def saw(self, event: CallEvent) -> None:
        """Take note of an event."""
        match event:
            case CallStarted(call=call):
                self._started[call.call_id] = self._now()
            case CallFinished(call=call, result=result):
                row = self.by_tool.setdefault(call.name, ToolCounts())
                now = self._now()
                row.calls += 1
                is_declined = result.error is not None and result.error.kind is ErrorKind.DECLINED
                row.declined += is_declined
                row.failed += result.error is not None and not is_declined
                row.took_s += now - self._started.pop(call.call_id, now)
            case CallOutput() | Noted():
                pass


class SessionHousekeeping(Housekeeping):
    """Keeps a conversation going by `compaction`; `instructions` hold the files that folders bring along."""

    def __init__(
        self, history: History, compaction: Compaction, instructions: Instructions, meter: Meter, record: Record
    ) -> None:
        self.compaction = compaction
        self.context = instructions.context
        self._instructions = instructions
        self.meter = meter
        self.call_counts = CallCounts()
        self._history = history
        self._record = record
        self._went_back = False
        history.observe(self._changed)

    async def make_room(self, emit: Emit, *, is_too_long: bool = False) -> bool:
        """Make room when the window fills, or less is known to fit; see `Housekeeping.make_room`."""
        if not (is_too_long or self.compaction.is_due) or self.meter.why_stop():
            return False
        done = await self.compaction.run(is_too_long=is_too_long)
        emit(done)
        return self._renewed(done)

    async def compact(self, wanted: str) -> Compacted:
        """Make room at the user's word, keeping above all what they wish."""
        done = await self.compaction.run(wanted, summarises=True)
        self._record(done)
        self._renewed(done)
        return done

    def _renewed(self, done: Compacted) -> bool:
        if not done.problem:
            self._instructions.renew()
        return not done.problem

    def news(self) -> str:
        """Say what has changed of the instructions and the approval mode."""
        return self._instructions.news()

    def measured(self, usage: Usage) -> None:
        """Take the server's count for how full the window is."""
        self.compaction.fill.measured(usage)

    async def noted(self, answers: Sequence[ToolAnswer]) -> Mapping[str, ToolResult]:
        """Join to an answer the instructions of folders that its call was the first to touch."""
        contents = self._history.contents
        if self._went_back:
            self._went_back = False
            self.context.forget_missing(contents)
        noted: dict[str, ToolResult] = {}
        for answer in answers:
            args = answer.call.args
            if answer.result.error is not None or not args or not self.context.is_new(args):
                continue
            files = await to_thread.run_sync(self.context.below, [args], contents)
            if files:
                blocks = "\n".join(file.block for file in files)
                note = f"[Instructions for the files in this folder, from the project:]\n{blocks}"
                noted[answer.call.call_id] = with_note(answer.result, note)
        if answers and (news := self.news()):
            last = answers[-1]
            noted[last.call.call_id] = with_note(noted.get(last.call.call_id, last.result), news)
        return noted

    def saw(self, event: CallEvent) -> None:
        """Count calls."""
        self.call_counts.saw(event)

    def _changed(self, change: HistoryChange) -> None:
        self._went_back = self._went_back or isinstance(change, CutBack | AllReplaced)
