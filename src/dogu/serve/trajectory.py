"""What an agent did as others' tools read it: ATIF (Agent Trajectory Interchange Format), version 1.4.

Source: Harbor's RFC 0001. A user's step for each prompt, an agent's for each request, with its calls and their results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, assert_never

from dogu.agent.events import (
    AskedEvent,
    Compacted,
    PromptGiven,
    SessionEvent,
    StateEvent,
    TurnEnded,
    TurnFailed,
    sum_usage,
)
from dogu.agent.session.record import Recorded
from dogu.contract.content import text_of
from dogu.models.events import Finished, FunctionCallEvent, ModelEvent, Retrying, TextDelta, ThoughtDelta, Usage
from dogu.runtime.events import CallEvent, CallFinished, CallOutput, CallStarted, Noted, Within
from dogu.version import __version__

_VERSION = "ATIF-v1.4"


def trajectory_of(
    recorded: Iterable[Recorded],
    session_id: str,
    model: str = "",
    cost_usd: float | None = None,
    about: Mapping[str, Any] | None = None,
    why_empty: str = "nothing was asked",
) -> dict[str, Any]:
    """Return a record's events as a trajectory, ready to be written as JSON; `about` is what else is known of it.

    A trajectory has a step at least: `why_empty` is its words where nothing was done.
    """
    steps = _Steps(model)
    for event in recorded:
        steps.take(event)
    steps.end(why_empty)
    return {
        "schema_version": _VERSION,
        "session_id": session_id,
        "agent": {"name": "dogu", "version": __version__, **({"model_name": model} if model else {})},
        "steps": steps.steps,
        "final_metrics": {
            **_tokens(steps.usage, "total_"),
            **({} if cost_usd is None else {"total_cost_usd": cost_usd}),
            "total_steps": len(steps.steps),
        },
        **({"extra": dict(about)} if about else {}),
    }


class _Steps:
    """Turns a record's events into steps: the user's prompt, then an agent's step for each request."""

    def __init__(self, model: str) -> None:
        self.steps: list[dict[str, Any]] = []
        self.usage = Usage()
        self._model = model
        self._text = self._thought = ""
        self._calls: list[dict[str, Any]] = []
        self._results: list[dict[str, Any]] = []
        self._usage: Usage | None = None
        self._is_answered = False
        self._time = ""

    def take(self, recorded: Recorded) -> None:
        """Take the next event."""
        event = recorded.event
        if self._is_answered and isinstance(event, TextDelta | ThoughtDelta | Usage | Retrying):
            self.end()  # what its calls gave led to another request
        self._time = datetime.fromtimestamp(recorded.time_s, UTC).isoformat(timespec="milliseconds")
        if isinstance(event, PromptGiven | TurnFailed):
            self.end()
            is_prompt = isinstance(event, PromptGiven)
            self._add("user" if is_prompt else "system", text_of(event.content) if is_prompt else event.message)
        elif not isinstance(event, AskedEvent | SessionEvent | StateEvent | Within):  # no step of the agent's
            self._event(event)

    def _event(self, event: ModelEvent | CallEvent | Compacted | TurnEnded) -> None:
        match event:
            case TextDelta(text=text):
                self._text += text
            case ThoughtDelta(text=text):
                self._thought += text
            case Retrying():
                self._text = self._thought = ""
            case Usage():
                self._usage = event
                self.usage = sum_usage(self.usage, event)
            case Finished():
                self._is_answered = True
            case CallStarted() | CallFinished():
                self._call_event(event)
            case FunctionCallEvent() | CallOutput() | Noted() | Compacted() | TurnEnded():
                pass  # the calls and texts of a step say it
            case _:
                assert_never(event)

    def _call_event(self, event: CallStarted | CallFinished) -> None:
        match event:
            case CallStarted(call=call) if not call.parent:
                arguments = dict(call.args or {})
                self._calls.append({"tool_call_id": call.call_id, "function_name": call.name, "arguments": arguments})
            case CallFinished(call=call, result=result) if not call.parent:
                self._results.append({"source_call_id": call.call_id, "content": text_of(result.llm_content)})
            case _:
                pass  # a helper's own: its call says what came of it

    def end(self, why_empty: str = "") -> None:
        """Close the agent's step that is open; where there is none at all, say why."""
        results, self._results, self._is_answered = self._results, [], False
        if not (self._text or self._thought or self._calls):
            if why_empty and not self.steps:
                self._time = datetime.now(UTC).isoformat(timespec="milliseconds")
                self._add("system", why_empty)
            return
        more: dict[str, Any] = {"model_name": self._model} if self._model else {}
        more |= {"reasoning_content": self._thought} if self._thought else {}
        more |= {"tool_calls": self._calls} if self._calls else {}
        more |= {"observation": {"results": results}} if results else {}
        more |= {"metrics": _tokens(self._usage)} if self._usage is not None else {}
        self._add("agent", self._text, **more)
        self._text = self._thought = ""
        self._calls, self._usage = [], None

    def _add(self, source: str, message: str, **more: Any) -> None:
        head = {"step_id": len(self.steps) + 1, "timestamp": self._time, "source": source, "message": message}
        self.steps.append({**head, **more})


def _tokens(usage: Usage, prefix: str = "") -> dict[str, int]:
    return {
        f"{prefix}prompt_tokens": usage.prompt,
        f"{prefix}completion_tokens": usage.output + usage.thoughts,
        f"{prefix}cached_tokens": usage.cached,
    }
