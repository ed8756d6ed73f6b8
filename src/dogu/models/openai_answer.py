"""Puts an answer of the chat-completions wire together, however its server writes calls, as one Gemini content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dogu.language import told
from dogu.models.call_arguments import NO_NAME, UNNAMED, call_id_of, read_arguments, sound_name
from dogu.models.events import (
    Finished,
    FinishReason,
    FunctionCallEvent,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.models.openai_errors import stream_error
from dogu.models.openai_wire import WireCompletion, WireFunction, WireMessage, WireToolCall, WireUsage

_REASONS = {
    "stop": FinishReason.STOP,
    "tool_calls": FinishReason.STOP,
    "function_call": FinishReason.STOP,
    "length": FinishReason.LENGTH,
}


class _GrowingCall:
    """A call whose pieces are still coming."""

    def __init__(self, index: int | None, call_id: str) -> None:
        self.index = index
        self.id = call_id
        self.name = ""
        self.arguments: list[str] = []

    def add(self, function: WireFunction | None) -> None:
        if function is None:
            return
        self.name = self.name or function.name or ""
        raw = bytes(function.arguments)
        if raw[:1] == b'"':
            self.arguments.append(msgspec.json.decode(raw, type=str))
        elif raw and raw != b"null":
            self.arguments.append(raw.decode())


class OpenAIAnswer:
    """An answer as it grows: `absorb` each chunk, then `finish`."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[_GrowingCall] = []
        self._usage = WireUsage()
        self._finish = ""
        self._is_done = False

    def is_complete(self) -> bool:
        """Whether a finish reason has come; the counts may still follow."""
        return self._is_done or bool(self._finish)

    def absorb(self, payloads: Sequence[bytes]) -> list[ModelEvent]:
        """Take chunks that arrived together and return the deltas, neighbours joined.

        Raises:
            ModelError: MALFORMED for what is no chunk, or what an error in the stream says.
        """
        thoughts_before, text_before = len(self._thoughts), len(self._text)
        for payload in payloads:
            if payload.strip() == b"[DONE]":
                self._is_done = True
            else:
                self._absorb_chunk(_decoded(payload))
        deltas: list[ModelEvent] = []
        if thought := "".join(self._thoughts[thoughts_before:]):
            deltas.append(ThoughtDelta(thought))
        if text := "".join(self._text[text_before:]):
            deltas.append(TextDelta(text))
        return deltas

    def finish(self) -> list[ModelEvent]:
        """Return the calls, the usage and `Finished`. Raises `ModelError` when this is no answer."""
        if not self._finish and not self._is_done:
            message = told("The answer ended without saying that it was finished.")
            raise ModelError(ModelErrorKind.INCOMPLETE, message, most_tries=4)
        if self._finish == "content_filter":
            message = told(
                "The answer was withheld by the server's content filter. Say it in other words and ask again."
            )
            raise ModelError(ModelErrorKind.SAFETY, message)
        calls = self._finished_calls()
        text = "".join(self._text)
        if not text and not calls:
            message = told("The model gave an empty answer.")
            raise ModelError(ModelErrorKind.INCOMPLETE, message, most_tries=3)
        reason = _REASONS.get(self._finish or "stop", FinishReason.OTHER)
        note = told("The answer was cut at the limit of output tokens.") if reason is FinishReason.LENGTH else ""
        if reason is FinishReason.OTHER:
            note = told("The model ended for a reason that this version doesn't know: {finish}.", finish=self._finish)
        content = _content("".join(self._thoughts), text, calls)
        return [*calls, self._counted(), Finished(reason, content, calls, note)]

    def _absorb_chunk(self, chunk: WireCompletion) -> None:
        if (error := bytes(chunk.error)) not in (b"", b"null"):
            raise stream_error(error)
        self._usage = chunk.usage or self._usage
        for choice in (chunk.choices or ())[:1]:
            message = choice.delta or choice.message
            if message is not None:
                self._absorb_message(message)
            self._is_done = self._is_done or choice.message is not None
            self._finish = choice.finish_reason or self._finish

    def _absorb_message(self, message: WireMessage) -> None:
        if thought := message.reasoning_content or message.reasoning:
            self._thoughts.append(thought)
        content = message.content
        if isinstance(content, list):
            content = "".join(str(piece.get("text", "")) for piece in content)
        if text := content or message.refusal:
            self._text.append(text)
        for call in message.tool_calls or ():
            self._grown(call).add(call.function)
        if message.function_call is not None:
            self._grown(WireToolCall(0, None, message.function_call)).add(message.function_call)

    def _grown(self, piece: WireToolCall) -> _GrowingCall:
        """Find the call that a piece belongs to: by its index, else by its id, else the last one it can continue."""
        name = (piece.function and piece.function.name) or ""
        call = next((known for known in reversed(self._calls) if known.index == piece.index), None)
        if piece.index is None:
            by_id = next((known for known in self._calls if piece.id and known.id == piece.id), None)
            call = by_id or (None if piece.id or name else call)
        elif call is not None and piece.id and call.id and piece.id != call.id and name:
            call = None  # some servers give every call the index 0
        if call is None:
            call = _GrowingCall(piece.index, piece.id or "")
            self._calls.append(call)
        call.id = call.id or piece.id or ""
        return call

    def _finished_calls(self) -> tuple[FunctionCallEvent, ...]:
        calls: list[FunctionCallEvent] = []
        for call in self._calls:
            args, problem = read_arguments("".join(call.arguments))
            if args is None and self._finish == "length":
                problem = "The call was cut at the limit of output tokens: make it shorter, or in several calls."
            if not call.name:
                args, problem = None, NO_NAME
            call_id = call_id_of(call.id, {known.call_id for known in calls})
            calls.append(FunctionCallEvent(call_id, call.name or UNNAMED, args, problem))
        return tuple(calls)

    def _counted(self) -> Usage:
        usage = self._usage
        inner, outer = usage.prompt_tokens_details, usage.completion_tokens_details
        thoughts = (outer.reasoning_tokens or 0) if outer else 0
        return Usage(
            prompt=usage.prompt_tokens or 0,
            output=(usage.completion_tokens or 0) - thoughts,
            thoughts=thoughts,
            cached=(inner.cached_tokens or 0) if inner else 0,
            total=usage.total_tokens or 0,
        )


def _decoded(payload: bytes) -> WireCompletion:
    try:
        return msgspec.json.decode(payload, type=WireCompletion)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = told("The server sent something in the stream that is no answer ({error}).", error=error)
        raise ModelError(ModelErrorKind.MALFORMED, message, most_tries=4) from None


def _content(thoughts: str, text: str, calls: Sequence[FunctionCallEvent]) -> bytes:
    parts: list[dict[str, Any]] = [{"text": thoughts, "thought": True}] if thoughts else []
    if text:
        parts.append({"text": text})
    parts += [
        {"functionCall": {"id": call.call_id, "name": sound_name(call.name), "args": call.args or {}}} for call in calls
    ]
    return msgspec.json.encode({"role": "model", "parts": parts})
