"""Puts an answer of the Responses wire together: deltas to show, and one content from which each item comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from dogu.language import joined
from dogu.models.contents import ModelContent
from dogu.models.counts import Counts
from dogu.models.endings import empty, ending_of, refused, spent_on_thoughts, unfinished
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
from dogu.models.reading import decoded, events_of, text_in
from dogu.models.refusals import is_error
from dogu.models.schemas import PLAIN
from dogu.models.translation import Tools, dicts, extras

_TEXT = ("response.output_text.delta", "response.refusal.delta")
_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done")
_CALLS = ("function_call", "custom_tool_call")
_MESSAGE = frozenset(("type", "role", "content"))
_CALL = frozenset(("type", "call_id", "name", "arguments", "input"))
_PIECE = frozenset(("type", "text", "annotations"))


class WireReason(msgspec.Struct):
    """Why an answer is incomplete."""

    reason: str = ""


class WireResponse(msgspec.Struct):
    """A whole answer."""

    status: str = ""
    output: list[dict[str, Any]] | None = None
    usage: Any = None
    incomplete_details: WireReason | None = None
    error: Any = None


class WireEvent(msgspec.Struct):
    """One event of a stream, or, without a type, a whole answer."""

    type: str = ""
    object: str = ""
    delta: Any = None
    output_index: int | None = None
    item: dict[str, Any] | None = None
    response: WireResponse | None = None
    error: Any = None


class ResponsesAnswer:
    """An answer as it grows: `absorb` each event, then `finish`."""

    def __init__(
        self, origin: str = "", tools: Tools | None = None, explain: Callable[[bytes], ModelError] = stream_error
    ) -> None:
        self._origin = origin
        self._tools = tools or Tools(PLAIN)
        self._explain = explain
        self._items: dict[int, dict[str, Any]] = {}
        self._response: WireResponse | None = None
        self._counts = Counts()
        self._shown = ""
        self._refusal = ""
        self._is_second_thought = False

    def is_complete(self) -> bool:
        """Whether the response has ended."""
        return self._response is not None

    def absorb(self, payloads: Sequence[bytes]) -> list[ModelEvent]:
        """Take events that arrived together and return the deltas, neighbours joined.

        Raises:
            ModelError: MALFORMED for what is no event, or what an error in the stream says.
        """
        return events_of(payloads, self.is_complete, self._absorb)

    def ended(self, *, is_framed: bool) -> None:
        """The event of the end says it all."""

    def finish(self) -> list[ModelEvent]:
        """Return the calls, the usage and `Finished`. Raises `ModelError` when this is no answer."""
        response = self._response
        if response is None:
            raise unfinished()
        reason, note = ending_of(_ending_in(response))
        content, calls = ModelContent(self._origin), list[FunctionCallEvent]()
        is_cut = reason is FinishReason.LENGTH
        text = "".join([self._add(content, item, calls, is_cut=is_cut) for item in self._whole(response)])
        if self._refusal:
            raise refused(self._refusal)
        if not text.strip() and not calls:
            if not is_cut:
                raise empty()
            note = spent_on_thoughts()
            content.text("")
        late: list[ModelEvent] = [TextDelta(text)] if text and not self._shown else []
        notes = joined(" ", filter(None, (note, self._tools.problem())))
        return [*late, *calls, self.usage(), Finished(reason, content.encoded(), tuple(calls), notes)]

    def usage(self) -> Usage:
        """Return what the server has counted so far."""
        return self._counts.usage()

    def _absorb(self, payload: bytes) -> list[ModelEvent]:
        event = decoded(payload, WireEvent)
        if event is None:
            return []
        if "error" in (event.type, event.object) or (not event.type and is_error(event.error)):
            raise self._explain(payload)
        if event.object == "response":
            self._end(decoded(payload, WireResponse) or WireResponse())
        elif event.type in _ENDS:
            self._end(event.response or WireResponse())
        elif event.type == "response.output_item.done" and event.item is not None:
            self._items[self._place_of(event.item, event.output_index)] = event.item
        else:
            return self._delta(event)
        return []

    def _delta(self, event: WireEvent) -> list[ModelEvent]:
        if event.type == "response.reasoning_summary_part.added":
            is_second, self._is_second_thought = self._is_second_thought, True
            return [ThoughtDelta("\n\n")] if is_second else []
        if event.type in _THOUGHTS:
            return [ThoughtDelta(text_in(event.delta))]
        if event.type in _TEXT:
            text = text_in(event.delta)
            self._shown += text
            return [TextDelta(text)]
        return []

    def _place_of(self, item: dict[str, Any], index: int | None) -> int:
        """Return where an item stands: as it says, unless another one stands there already."""
        before = self._items.get(index) if index is not None else None
        if index is not None and (before is None or _identity(before) == _identity(item)):
            return index
        return max(self._items, default=-1) + 1

    def _end(self, response: WireResponse) -> None:
        self._counts.take(response.usage)
        if is_error(response.error):
            raise self._explain(msgspec.json.encode(response.error))
        self._response = response

    def _whole(self, response: WireResponse) -> list[dict[str, Any]]:
        """Return the items of the answer; of a server that gives none, its text as one."""
        items = [item for _index, item in sorted(self._items.items())]
        items = items if len(items) >= len(response.output or ()) else [*(response.output or ())]
        if items or not self._shown:
            return items
        return [{"type": "message", "content": [{"type": "output_text", "text": self._shown}]}]

    def _add(self, content: ModelContent, item: dict[str, Any], calls: list[FunctionCallEvent], *, is_cut: bool) -> str:
        """Add an item to the content and the calls, and return its text."""
        kind = item.get("type")
        if kind == "message":
            return self._add_message(content, item)
        if kind not in _CALLS:
            said = [*dicts(item.get("summary")), *dicts(item.get("content"))]
            content.thought("\n\n".join(str(piece.get("text") or "") for piece in said), {"item": item})
            return ""
        given: object = item.get("arguments", item.get("input"))
        raw = given if isinstance(given, str) else msgspec.json.encode(given).decode() if given else ""
        given_id, name = str(item.get("call_id") or ""), str(item.get("name") or "")
        calls.append(self._tools.call(calls, given_id, name, raw, is_cut=is_cut))
        content.call(calls[-1], raw, {"fields": extras(item, _CALL)})
        return ""

    def _add_message(self, content: ModelContent, item: dict[str, Any]) -> str:
        pieces = dicts(item.get("content"))
        self._refusal += "".join(str(piece.get("refusal") or "") for piece in pieces)
        text = text_in(item.get("content"))
        is_plain = len(pieces) == 1 and not extras(pieces[0], _PIECE) and not pieces[0].get("annotations")
        if text:
            content.text(text, {"fields": extras(item, _MESSAGE)} if is_plain else {"item": item})
        return text


def _ending_in(response: WireResponse) -> str:
    why = response.incomplete_details.reason if response.incomplete_details else ""
    if response.status in ("failed", "cancelled"):
        return response.status
    return why or ("max_output_tokens" if response.status == "incomplete" else "completed")


def _identity(item: dict[str, Any]) -> tuple[object, ...]:
    return item.get("type"), item.get("id"), item.get("call_id")
