"""What is counted of a headless run, for the row that ends it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, assert_never

from dogu.agent.events import Compacted, Event, PromptGiven, TurnEnded, sum_usage
from dogu.contract.content import text_of
from dogu.contract.display import Display, FileDiff, PatchDiff
from dogu.models.events import (
    Finished,
    FinishReason,
    FunctionCallEvent,
    Retrying,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Noted, ToolAnswer
from dogu.serve.exit_codes import REFUSED
from dogu.serve.run_rows import (
    CallRow,
    Decisions,
    Denial,
    FilesStats,
    ModelRequests,
    ModelStats,
    ModelTokens,
    RowError,
    Stats,
    Tokens,
    ToolsStats,
    ToolStats,
    UsageRow,
)
from dogu.serve.wire import display_json

if TYPE_CHECKING:
    from dogu.agent.budget import Meter


class Tally:
    """Takes each event of a run's turns and adds up."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.answers: list[ToolAnswer] = []
        self.usage = Usage()
        self.requests = self.retries = 0
        self._texts: list[str] = []
        self._text = ""
        self._begun: dict[str, float] = {}
        self._tools: dict[str, ToolStats] = {}
        self._files = FilesStats()

    @property
    def text(self) -> str:
        """All that the model has said to the prompt so far."""
        return "\n\n".join(filter(None, (*self._texts, self._text)))

    def event(self, event: Event) -> None:
        """Count an event."""
        match event:
            case TextDelta(text=text):
                self._text += text
            case Retrying():
                self._text = ""
                self.retries += 1
            case Usage():
                self.usage = sum_usage(self.usage, event)
            case Finished(reason=reason):
                self.requests += 1
                self._end_text(reason)
            case CallStarted(call=call):
                self._begun[call.call_id] = time.monotonic()
            case CallFinished(call=call, result=result):
                self._add(ToolAnswer(call, result))
            case (
                ThoughtDelta()
                | FunctionCallEvent()
                | CallOutput()
                | Noted()
                | PromptGiven()
                | Compacted()
                | TurnEnded()
            ):
                pass  # what these say is counted by the others, or isn't of the run's row
            case _:
                assert_never(event)

    def forget_text(self) -> None:
        """Begin with the next prompt of a conversation: what was said to the last one is no answer to it."""
        self._texts, self._text = [], ""

    def _end_text(self, reason: FinishReason) -> None:
        if reason is not FinishReason.LENGTH:  # else the next answer goes on with this text
            self._texts.append(self._text)
            self._text = ""

    def _add(self, answer: ToolAnswer) -> None:
        self.answers.append(answer)
        tool = self._tools.setdefault(answer.call.name, ToolStats())
        began = self._begun.pop(answer.call.call_id, None)
        tool.count += 1
        tool.duration_ms += round((time.monotonic() - began) * 1000) if began is not None else 0
        if answer.result.error is None:
            tool.success += 1
            self._count_lines(answer.result.return_display)
        else:
            tool.fail += 1
        if _is_refused(answer):
            tool.decisions.reject += 1
        elif began is not None:
            tool.decisions.auto_accept += 1

    def _count_lines(self, display: Display) -> None:
        diffs = display.files if isinstance(display, PatchDiff) else (display,)
        for diff in diffs:
            if isinstance(diff, FileDiff):
                lines = diff.unified.split("\n")
                self._files.total_lines_added += sum(line[:1] == "+" and line[:4] != "+++ " for line in lines)
                self._files.total_lines_removed += sum(line[:1] == "-" and line[:4] != "--- " for line in lines)

    def denials(self) -> list[Denial]:
        """Return the calls that were refused."""
        return [
            Denial(answer.call.name, answer.call.call_id, dict(answer.call.args or {}), answer.result.error.message)
            for answer in self.answers
            if answer.result.error is not None and _is_refused(answer)
        ]

    def calls(self) -> list[CallRow]:
        """Return the calls that ended."""
        return [call_row(answer) for answer in self.answers]

    def duration_ms(self) -> int:
        """Return how long the run has taken."""
        return round((time.monotonic() - self._began) * 1000)

    def stats(self, model: str, meter: Meter | None) -> Stats:
        """Return what was used; `meter` knows of requests that aren't the conversation's own."""
        spent = meter.budget.run.by_model if meter is not None and meter.budget is not None else {}
        used = {name: (each.usage, each.requests) for name, each in spent.items()}
        if not used and self.requests:
            used = {model: (self.usage, self.requests)}
        models = {name: self._model_stats(name == model, *each) for name, each in used.items()}
        total = Usage()
        for usage, _ in used.values():
            total = sum_usage(total, usage)
        return Stats(
            model=model,
            duration_ms=self.duration_ms(),
            total_tokens=total.total,
            input_tokens=total.prompt,
            output_tokens=total.output,
            cached=total.cached,
            input=max(0, total.prompt - total.cached),
            tool_calls=len(self.answers),
            cost_usd=meter.cost_usd() if meter is not None else None,
            tokens=Tokens(total.prompt, total.output, total.thoughts, total.cached, total.total, total.written),
            models=models,
            tools=self._tools_stats(),
            files=self._files,
        )

    def _model_stats(self, is_own: bool, usage: Usage, requests: int) -> ModelStats:
        fresh = max(0, usage.prompt - usage.cached)
        own = ModelRequests(max(requests, self.requests + self.retries), self.retries)
        return ModelStats(
            own if is_own else ModelRequests(requests, 0),
            ModelTokens(fresh, usage.prompt, usage.output, usage.total, usage.cached, usage.thoughts),
            usage.total,
            usage.prompt,
            usage.output,
            usage.cached,
            fresh,
        )

    def _tools_stats(self) -> ToolsStats:
        tools = self._tools.values()
        return ToolsStats(
            sum(tool.count for tool in tools),
            sum(tool.success for tool in tools),
            sum(tool.fail for tool in tools),
            sum(tool.duration_ms for tool in tools),
            Decisions(
                reject=sum(tool.decisions.reject for tool in tools),
                auto_accept=sum(tool.decisions.auto_accept for tool in tools),
            ),
            self._tools,
        )


def claude_usage(stats: Stats) -> UsageRow:
    """Return the tokens in Claude Code's words, in which input is what no cache held."""
    tokens = stats.tokens
    fresh = max(0, tokens.prompt - tokens.cached - tokens.written)
    return UsageRow(fresh, tokens.output + tokens.thoughts, tokens.cached, tokens.written)


def call_row(answer: ToolAnswer) -> CallRow:
    """Return a call that ended."""
    result = answer.result
    return CallRow(
        answer.call.call_id,
        answer.call.name,
        "error" if result.error else "success",
        text_of(result.llm_content),
        display_json(result.return_display),
        RowError(str(result.error.kind), result.error.message) if result.error else None,
    )


def _is_refused(answer: ToolAnswer) -> bool:
    return answer.result.error is not None and answer.result.error.kind in REFUSED
