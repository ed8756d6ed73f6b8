"""Hooks around a model's answers: they take tools away, answer in its place, judge what it said or replace it.

What a hook is told of the model is Gemini CLI's stable form: texts, without media and calls. Where a hook judges
answers, nothing of one is shown or done before it has been judged, so that such an answer comes in one piece.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, cast

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import told
from dogu.models.contents import model_content
from dogu.models.events import (
    Finished,
    FinishReason,
    FunctionCallEvent,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    Retrying,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.models.model import Model, WrappedModel
from dogu.runtime.events import Emit, Noted
from dogu.runtime.hooks import Hooks
from dogu.runtime.hooks.answer import HookAnswer
from dogu.runtime.hooks.config import MODEL_MOMENTS, Hook, Moment


def has_model_hooks(hooks: Hooks) -> bool:
    """Whether there are any of these."""
    return any(hook.moment in MODEL_MOMENTS for hook in hooks.hooks)


class HookedModel(WrappedModel):
    """Asks `model` with the hooks around it; `emit` gives where the user is told of what they did."""

    def __init__(self, model: Model, hooks: Hooks, emit: Callable[[], Emit]) -> None:
        super().__init__(model)
        self._hooks = hooks
        self._emit = emit

    def stream(
        self, system: str, history: Sequence[bytes], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Ask the model, or whoever answers in its place. Raises `ModelError` (BLOCKED) where a hook says no."""
        return self._asked(system, history, declarations)

    @asynccontextmanager
    async def _asked(
        self, system: str, history: Sequence[bytes], declarations: Sequence[FunctionDeclaration]
    ) -> AsyncGenerator[AsyncIterator[ModelEvent]]:
        request = _request(self.name, system, history)
        text = await self._before(request)
        if text is not None:
            async with aclosing(_said(text)) as said:
                yield said
            return
        offered = await self._offered(request, declarations)
        async with self._inner.stream(system, history, offered) as events:
            if not self._hooks.at(Moment.AFTER_MODEL):
                yield events
                return
            async with aclosing(self._judged(events, request)) as judged:
                yield judged

    async def _before(self, request: dict[str, Any]) -> str | None:
        """Return what is answered in the model's place, if anything is."""
        text: str | None = None
        for hook in self._hooks.at(Moment.BEFORE_MODEL):
            answer = await self._run(hook, {"llm_request": request})
            if answer.changes_request:
                self._emit()(
                    Noted(told("The hook {name} tried to change the request; that isn't supported.", name=hook.name))
                )
            if text is None and answer.response is not None:
                text = answer.response
                self._emit()(Noted(told("The hook {name} answered instead of the model.", name=hook.name)))
        return text

    async def _offered(
        self, request: dict[str, Any], declarations: Sequence[FunctionDeclaration]
    ) -> Sequence[FunctionDeclaration]:
        """Return the tools that the hooks leave: what any of them names, none where one says so."""
        allowed: set[str] = set()
        is_limited = False
        for hook in self._hooks.at(Moment.BEFORE_TOOL_SELECTION):
            answer = await self._hooks.run(hook, {"llm_request": request}, self._emit())
            if answer.tool_mode == "NONE":
                return ()
            if answer.tool_mode == "ANY":
                self._emit()(
                    Noted(told("The hook {name} asked for a tool call, which can't be forced.", name=hook.name))
                )
            if answer.tool_names is not None:
                is_limited = True
                names = answer.tool_names
                allowed.update(each.name for each in declarations if {each.name, hook.tool_name(each.name)} & names)
        return [each for each in declarations if each.name in allowed] if is_limited else declarations

    async def _judged(self, events: AsyncIterator[ModelEvent], request: dict[str, Any]) -> AsyncGenerator[ModelEvent]:
        """Hold an answer back until it is whole and has been judged."""
        held: list[ModelEvent] = []
        tokens = 0
        async for event in events:
            match event:
                case Retrying():
                    held.clear()
                    yield event
                case Usage(total=total):
                    tokens = total
                    yield event
                case Finished():
                    for each in await self._after(held, event, request, tokens):
                        yield each
                case TextDelta() | ThoughtDelta() | FunctionCallEvent():
                    held.append(event)

    async def _after(
        self, held: list[ModelEvent], finished: Finished, request: dict[str, Any], tokens: int
    ) -> list[ModelEvent]:
        text = "".join(event.text for event in held if isinstance(event, TextDelta))
        replaced: str | None = None
        for hook in self._hooks.at(Moment.AFTER_MODEL):
            shown = text if replaced is None else replaced
            reason = "MAX_TOKENS" if finished.reason is FinishReason.LENGTH else "STOP"
            candidate = {
                "content": {"role": "model", "parts": [shown] if shown else []},
                "finishReason": reason,
                "index": 0,
            }
            response = {"text": shown, "candidates": [candidate], "usageMetadata": {"totalTokenCount": tokens}}
            answer = await self._run(hook, {"llm_request": request, "llm_response": response})
            if answer.response is not None and answer.response != shown:
                replaced = answer.response
        if replaced is None:
            return [*held, finished]
        calls = [event for event in held if isinstance(event, FunctionCallEvent)]
        content = _with_text(finished.content, replaced)
        return [TextDelta(replaced), *calls, msgspec.structs.replace(finished, content=content)]

    async def _run(self, hook: Hook, fields: dict[str, Any]) -> HookAnswer:
        answer = await self._hooks.run(hook, fields, self._emit())
        if answer.stops or answer.decision == "deny":
            reason = answer.reason or answer.message
            message = told("The hook {name} stopped the turn: {reason}", name=hook.name, reason=reason)
            raise ModelError(ModelErrorKind.BLOCKED, message)
        return answer


async def _said(text: str) -> AsyncGenerator[ModelEvent]:
    yield TextDelta(text)
    yield Finished(FinishReason.STOP, model_content(text))


def _request(model: str, system: str, history: Sequence[bytes]) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}] if system else []
    for raw in history:
        content = cast("dict[str, Any]", msgspec.json.decode(raw))
        parts = content.get("parts")
        found = cast("list[Any]", parts) if isinstance(parts, list) else []
        tables = [cast("dict[str, Any]", part) for part in found if isinstance(part, dict)]
        text = "".join(str(part["text"]) for part in tables if part.get("text") and not part.get("thought"))
        if text:
            messages.append({"role": str(content.get("role", "user")), "content": text})
    return {"model": model, "messages": messages, "config": {}}


def _with_text(content: bytes, text: str) -> bytes:
    """A model's content with other text in the place of all of its own, thoughts included; its calls stay."""
    table = cast("dict[str, Any]", msgspec.json.decode(content))
    parts = [part for part in cast("list[dict[str, Any]]", table.get("parts") or []) if "text" not in part]
    said = [{"text": text}] if text or not parts else []
    return msgspec.json.encode({**table, "parts": [*said, *parts]})
