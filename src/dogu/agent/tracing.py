"""Spans around turns and model calls, by OpenTelemetry's GenAI conventions."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import partial
from typing import Any

from dogu.agent.events import Emit, EndReason, TurnEnd
from dogu.agent.housekeeping import AroundTurn, RunTurn
from dogu.contract.content import Content, text_of
from dogu.contract.declaration import FunctionDeclaration
from dogu.models.events import Finished, FunctionCallEvent, ModelEvent, Retrying, TextDelta, ThoughtDelta, Usage
from dogu.models.model import Model, WrappedModel
from dogu.runtime.tracing import Tracing
from dogu.version import __version__

_MESSAGES_IN, _MESSAGES_OUT = "gen_ai.input.messages", "gen_ai.output.messages"


class TracedTurns:
    """Runs turns, in the way of `inner` if there is one, in a span; `provider` is the conventions' name of it."""

    def __init__(self, model: Model, tracing: Tracing, inner: AroundTurn | None, provider: str) -> None:
        self._model = model
        self._tracing = tracing
        self._inner = inner
        self._provider = provider

    async def __call__(self, prompt: Content, emit: Emit, run: RunTurn) -> TurnEnd:
        """Run one turn by `run`."""
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": self._provider,
            "gen_ai.agent.name": "dogu",
            "gen_ai.agent.version": __version__,
            "gen_ai.request.model": self._model.name,
        }
        with self._tracing.span("invoke_agent dogu", attributes) as span:
            self._tracing.content(span, _MESSAGES_IN, lambda: _messages("user", text_of(prompt)))
            end = await (run(prompt, emit) if self._inner is None else self._inner(prompt, emit, run))
            span.set_attributes(_usage(end.usage))
            if end.reason is not EndReason.DONE:
                span.set_attribute("error.type", str(end.reason))
            self._tracing.content(span, _MESSAGES_OUT, lambda: _messages("assistant", end.text))
            return end


class TracedModel(WrappedModel):
    """A model whose requests are traced."""

    def __init__(self, model: Model, tracing: Tracing, provider: str) -> None:
        super().__init__(model)
        self._tracing = tracing
        self._provider = provider

    def stream(
        self, system: str, history: Sequence[bytes], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Ask the model, in a span."""
        return self._traced(self._inner.stream(system, history, declarations), history)

    @asynccontextmanager
    async def _traced(
        self, stream: AbstractAsyncContextManager[AsyncIterator[ModelEvent]], history: Sequence[bytes]
    ) -> AsyncGenerator[AsyncIterator[ModelEvent]]:
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._provider,
            "gen_ai.request.model": self.name,
            "gen_ai.request.stream": True,
        }
        with self._tracing.span(f"chat {self.name}", attributes, is_client=True) as span:
            if history:
                self._tracing.content(span, _MESSAGES_IN, lambda: bytes(history[-1]).decode("utf-8", "replace"))
            async with stream as events, aclosing(self._watched(events, span)) as watched:
                yield watched

    async def _watched(self, events: AsyncIterator[ModelEvent], span: Any) -> AsyncGenerator[ModelEvent]:
        begun = time.monotonic()
        is_first = True
        retries = 0
        async for event in events:
            match event:
                case TextDelta() | ThoughtDelta() if is_first:
                    is_first = False
                    span.set_attribute("gen_ai.response.time_to_first_chunk", time.monotonic() - begun)
                case Retrying():
                    retries += 1
                    span.set_attribute("http.request.resend_count", retries)
                case Usage():
                    span.set_attributes(_usage(event))
                case Finished(reason=reason, content=content):
                    span.set_attribute("gen_ai.response.finish_reasons", [str(reason)])
                    self._tracing.content(span, _MESSAGES_OUT, partial(bytes(content).decode, "utf-8", "replace"))
                case TextDelta() | ThoughtDelta() | FunctionCallEvent():
                    pass
            yield event


def _usage(usage: Usage) -> dict[str, int]:
    """Tokens by the conventions' names: those of thoughts are among the output."""
    return {
        "gen_ai.usage.input_tokens": usage.prompt,
        "gen_ai.usage.output_tokens": usage.output + usage.thoughts,
        "gen_ai.usage.reasoning.output_tokens": usage.thoughts,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
    }


def _messages(role: str, text: str) -> str:
    """Messages as the conventions' JSON."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)
