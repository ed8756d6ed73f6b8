"""Puts an answer of the Messages wire together: deltas to show, and one content from which each block comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from dogu.language import joined
from dogu.models.call_arguments import read_arguments
from dogu.models.contents import ModelContent
from dogu.models.counts import Counts
from dogu.models.endings import empty, ending_of, is_length, spent_on_thoughts, unfinished
from dogu.models.events import (
    Finished,
    FinishReason,
    FunctionCallEvent,
    ModelError,
    ModelEvent,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.models.openai_errors import stream_error
from dogu.models.reading import decoded, events_of
from dogu.models.refusals import is_error
from dogu.models.schemas import ANTHROPIC
from dogu.models.translation import Tools, extras

_TEXT = frozenset(("type", "text"))
_THINKING = frozenset(("type", "thinking", "signature"))


class WireMessage(msgspec.Struct):
    """How an answer begins."""

    usage: Any = None


class WireEvent(msgspec.Struct):
    """One event of a stream, or a whole answer."""

    type: str = ""
    index: int | None = None
    message: WireMessage | None = None
    content_block: dict[str, Any] | None = None
    delta: dict[str, Any] | None = None
    usage: Any = None
    error: Any = None
    content: list[dict[str, Any]] | None = None
    stop_reason: str | None = None


class _Block:
    """A block that grows."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        self.json = ""

    def add(self, delta: dict[str, Any]) -> ModelEvent | None:
        """Add a delta and return what is shown of it."""
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                self.fields["text"] = self.fields.get("text", "") + text
                return TextDelta(text) if text else None
            case {"type": "thinking_delta", "thinking": str(thought)}:
                self.fields["thinking"] = self.fields.get("thinking", "") + thought
                return ThoughtDelta(thought) if thought else None
            case {"type": "signature_delta", "signature": str(signature)}:
                self.fields["signature"] = self.fields.get("signature", "") + signature
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                self.fields.setdefault("type", "tool_use")
                self.json += piece
            case {"type": "citations_delta", "citation": citation}:
                self.fields["citations"] = [*(self.fields.get("citations") or ()), citation]
            case _:
                pass
        return None

    def shown(self) -> list[ModelEvent]:
        """Return what is shown of it as it is."""
        thought, text = str(self.fields.get("thinking") or ""), str(self.fields.get("text") or "")
        return [*([ThoughtDelta(thought)] if thought else []), *([TextDelta(text)] if text else [])]

    @property
    def arguments(self) -> str:
        """The arguments of a call, as a text of JSON."""
        given = self.fields.get("input")
        if isinstance(given, str):
            return self.json or given
        return self.json or (msgspec.json.encode(given).decode() if given else "")

    def whole(self) -> dict[str, Any]:
        """Return the fields as the server wants them back, the input of a tool of its own among them."""
        given, _ = read_arguments(self.json) if self.json else (None, "")
        return self.fields if given is None else {**self.fields, "input": given}


class AnthropicAnswer:
    """An answer as it grows: `absorb` each event, then `finish`."""

    def __init__(
        self, origin: str = "", tools: Tools | None = None, explain: Callable[[bytes], ModelError] = stream_error
    ) -> None:
        self._origin = origin
        self._tools = tools or Tools(ANTHROPIC)
        self._explain = explain
        self._blocks: list[_Block] = []
        self._at: dict[int | None, _Block] = {}  # the last block of each index: some servers count none of them up
        self._counts = Counts()
        self._stop = ""
        self._is_done = False

    def is_complete(self) -> bool:
        """Whether the message has stopped, or its reason has come."""
        return self._is_done or bool(self._stop)

    def absorb(self, payloads: Sequence[bytes]) -> list[ModelEvent]:
        """Take events that arrived together and return the deltas, neighbours joined.

        Raises:
            ModelError: MALFORMED for what is no event, or what an error in the stream says.
        """
        return events_of(payloads, self.is_complete, self._absorb)

    def ended(self, *, is_framed: bool) -> None:
        """A stop reason, or the event of the end, says it all."""

    def finish(self) -> list[ModelEvent]:
        """Return the calls, the usage and `Finished`. Raises `ModelError` when this is no answer."""
        if not self.is_complete():
            raise unfinished()
        reason, note = ending_of(self._stop or "end_turn")
        content, calls = ModelContent(self._origin), list[FunctionCallEvent]()
        has_substance = False
        for block in self._blocks:
            has_substance = self._add(content, block, calls) or has_substance
        if not has_substance and reason is not FinishReason.PAUSE:
            if reason is not FinishReason.LENGTH:
                raise empty()
            note = spent_on_thoughts()
            content.text("")
        notes = joined(" ", filter(None, (note, self._tools.problem())))
        return [*calls, self.usage(), Finished(reason, content.encoded(), tuple(calls), notes)]

    def _absorb(self, payload: bytes) -> list[ModelEvent]:
        event = decoded(payload, WireEvent) or WireEvent()
        if event.type == "error" or is_error(event.error):
            raise self._explain(payload)
        self._counts.take(event.usage)
        self._counts.take(event.message and event.message.usage)
        match event.type:
            case "content_block_start" if event.content_block is not None:
                return self._begin(event.index, event.content_block).shown()
            case "content_block_delta" if event.delta is not None:
                block = self._at.get(event.index) or self._begin(event.index, {})
                shown = block.add(event.delta)
                return [shown] if shown is not None else []
            case "message_delta" if event.delta is not None:
                self._stop = str(event.delta.get("stop_reason") or self._stop)
            case "message_stop":
                self._is_done = True
            case "message":
                self._is_done, self._stop = True, event.stop_reason or ""
                blocks = [self._begin(None, fields) for fields in event.content or ()]
                return [shown for block in blocks for shown in block.shown()]
            case _:
                pass
        return []

    def _begin(self, index: int | None, fields: dict[str, Any]) -> _Block:
        self._at[index] = block = _Block(fields)
        self._blocks.append(block)
        return block

    def _add(self, content: ModelContent, block: _Block, calls: list[FunctionCallEvent]) -> bool:
        """Add a block to the content and the calls; whether it is more than a thought."""
        fields = block.fields
        kind = fields.get("type", "text")
        if kind == "thinking":
            given = {"block": fields} if extras(fields, _THINKING) else {"signature": fields.get("signature") or ""}
            content.thought(str(fields.get("thinking") or ""), given)
            return False
        if kind == "text":
            text = str(fields.get("text") or "")
            if text:
                content.text(text, {"block": fields} if extras(fields, _TEXT) else None)
            return bool(text.strip())
        if kind != "tool_use":
            content.thought("", {"block": block.whole()})
            return kind != "redacted_thinking"
        given_id, name = str(fields.get("id") or ""), str(fields.get("name") or "")
        call = self._tools.call(calls, given_id, name, block.arguments, is_cut=is_length(self._stop))
        calls.append(call)
        content.call(call, block.arguments)
        return True

    def usage(self) -> Usage:
        """Return what the server has counted so far."""
        return self._counts.usage()
