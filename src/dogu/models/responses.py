"""OpenAI's models over the Responses wire, without anything being stored there.

Source: developers.openai.com/api/docs/guides/conversation-state: output items go back as they came, in their order; a
reasoning item right before the item that it led to.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import joined
from dogu.models.addresses import OPENAI, endpoint
from dogu.models.answer_shape import STRICT, AnswerShape
from dogu.models.contents import ModelContent, RawContent
from dogu.models.counts import Counts
from dogu.models.endings import cut_before_words, empty, ending_of, is_known, refused, unfinished
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
from dogu.models.http_model import HttpModel
from dogu.models.key import Key
from dogu.models.openai_errors import explain_refusal, stream_error
from dogu.models.options import ModelOptions, merged
from dogu.models.reading import Answer, Arguments, decoded, says_something, text_in
from dogu.models.refusals import is_error, refused_field
from dogu.models.schemas import PLAIN
from dogu.models.text_calls import late_calls
from dogu.models.translation import (
    HistoryAnswer,
    HistoryBlob,
    HistoryContent,
    HistoryPart,
    IdRule,
    Tools,
    Translation,
    dicts,
    extras,
    wire_name,
)
from dogu.models.transport_errors import HttpRefusal, Timeouts, origin_of


def items_of(content: HistoryContent, origin: str, *, gives_reasoning_back: bool = True) -> list[dict[str, Any]]:
    """Translate one content into items; without `gives_reasoning_back` the model's own are as another's would be."""
    if content.role == "model":
        by = origin if gives_reasoning_back else ""
        said = [item for part in content.parts for item in _said(part, by)]
        while said and said[-1].get("type") == "reasoning":  # what it would have led to never came
            said.pop()
        return said
    items = [_answer(part.function_response) for part in content.parts if part.function_response is not None]
    said = [_piece(part) for part in content.parts if part.function_response is None]
    return [*items, {"type": "message", "role": "user", "content": said}] if said else items


def _said(part: HistoryPart, origin: str) -> list[dict[str, Any]]:
    given = part.given(origin) or {}
    fields: dict[str, Any] = given.get("fields") or {}
    if part.function_call is not None:
        call = part.function_call
        arguments = given.get("arguments") or call.arguments
        named = {"call_id": call.call_id, "name": wire_name(call.name), "arguments": arguments}
        return [{"type": "function_call", **fields, **named}]
    if "item" in given:
        return [given["item"]]
    if part.thought or not (part.text or "").strip():
        return []
    if not fields:
        return [{"role": "assistant", "content": part.text}]
    text = {"type": "output_text", "text": part.text, "annotations": list[Any]()}
    return [{"type": "message", "role": "assistant", **fields, "content": [text]}]


def _answer(answer: HistoryAnswer) -> dict[str, Any]:
    text = f"Error: {answer.text}" if answer.is_error else answer.text
    output: object = text
    if answer.parts:
        output = [{"type": "input_text", "text": text}, *map(_piece, answer.parts)]
    return {"type": "function_call_output", "call_id": answer.call_id, "output": output}


def _piece(part: HistoryPart) -> dict[str, Any]:
    blob = part.inline_data
    if blob is None:
        return {"type": "input_text", "text": part.text or ""}
    return _medium(blob) or {"type": "input_text", "text": blob.note}


def _medium(blob: HistoryBlob) -> dict[str, Any] | None:
    if blob.mime_type.startswith("image/"):
        return {"type": "input_image", "image_url": blob.url, "detail": "auto"}
    if blob.mime_type == "application/pdf":
        return {"type": "input_file", "filename": "document.pdf", "file_data": blob.url}
    return None


_TEXT = ("response.output_text.delta", "response.refusal.delta")
_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ARGUMENTS = ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")
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


class ResponsesAnswer(Answer):
    """An answer as it grows: `absorb` each event, then `finish`."""

    def __init__(
        self, origin: str = "", tools: Tools | None = None, explain: Callable[[bytes], ModelError] = stream_error
    ) -> None:
        self._origin = origin
        self._tools = tools or Tools(PLAIN)
        self._explain = explain
        self._items: dict[int, dict[str, Any]] = {}
        self._begun: dict[int, tuple[dict[str, Any], list[str]]] = {}  # calls, with the pieces of their arguments
        self._response: WireResponse | None = None
        self._counts = Counts()
        self._shown = ""
        self._refusal = ""
        self._is_second_thought = False
        self._arguments = Arguments()

    def is_complete(self) -> bool:
        """Whether the response has ended."""
        return self._response is not None

    def finish(self) -> list[ModelEvent]:
        """Return the calls, the usage and `Finished`. Raises `ModelError` when this is no answer."""
        response = self._response
        if response is None:
            raise unfinished()
        finish = _ending_in(response)
        reason, note = ending_of(finish)
        content, calls = ModelContent(self._origin), list[FunctionCallEvent]()
        is_cut = reason is FinishReason.LENGTH
        text = "".join([self._add(content, item, calls, is_cut=is_cut) for item in self._whole(response)])
        if self._refusal:
            raise refused(self._refusal)
        for call in () if calls else late_calls(text, self._tools):
            calls.append(call)
            content.call(call)
        if not text.strip() and not calls:
            if not is_cut:
                raise empty()
            note = cut_before_words(finish)
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
        self.heard += event.item is not None or says_something(event.delta)
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
        if event.type in _ARGUMENTS:
            self._arguments.watch(event.delta)
            latest = max(self._begun, default=0)
            begun = self._begun.get(latest if event.output_index is None else event.output_index)
            if begun is not None:
                begun[1].append(text_in(event.delta))
        elif event.type == "response.output_item.added" and event.item and event.item.get("type") in _CALLS:
            index = event.output_index if event.output_index is not None else len(self._begun)
            self._begun[index] = event.item, []
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
        """Return the items of the answer; of a server that gives none, its text as one, and the calls that it began."""
        items = [item for _index, item in sorted(self._items.items())]
        items = items if len(items) >= len(response.output or ()) else [*(response.output or ())]
        if items:
            return items
        shown = [{"type": "message", "content": [{"type": "output_text", "text": self._shown}]}] if self._shown else []
        return [*shown, *(_with_arguments(*self._begun[index]) for index in sorted(self._begun))]

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
        if kind == "custom_tool_call":
            raw = self._tools.as_object(str(item.get("name") or ""), raw)
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


def _with_arguments(call: dict[str, Any], pieces: list[str]) -> dict[str, Any]:
    name = "input" if call["type"] == "custom_tool_call" else "arguments"
    return {**call, name: "".join(pieces)} if pieces else call


def _ending_in(response: WireResponse) -> str:
    why = response.incomplete_details.reason if response.incomplete_details else ""
    if response.status in ("failed", "cancelled"):
        return response.status
    if response.status == "incomplete":  # for a reason of the server's own, it isn't the model that ended
        return (why if is_known(why) else "interrupted") if why else "max_output_tokens"
    return why or "completed"


def _identity(item: dict[str, Any]) -> tuple[object, ...]:
    return item.get("type"), item.get("id"), item.get("call_id")


_REASONS = re.compile(r"(?:.*/)?(?:gpt-(?:[5-9]|\d\d)|o\d|codex)(?!.*chat-latest)")
_LESSONS = {  # what a refusal is about, and what is left out then
    **{name: name for name in ("summary", "encrypted_content", "effort", "reasoning", "temperature", "top_p")},
    "prompt_cache_key": "prompt_cache_key",
    "include": "encrypted_content",
    "Encrypted content": "encrypted_content",
    "reasoning summaries": "summary",
}


class Responses(HttpModel):
    """A model by its name (`gpt-5.1`)."""

    def __init__(self, name: str, key: str | Key = "", base_url: str = "", options: ModelOptions | None = None) -> None:
        options = options or ModelOptions()
        key = key if isinstance(key, Key) else Key(key, variable="OPENAI_API_KEY")
        super().__init__(name, ResponsesWire(name, base_url, key.variable, options), key, options)


class ResponsesWire:
    """The Responses wire, and what was learned of this server.

    Nothing is stored there: the model's reasoning comes encrypted, and goes back with the conversation.
    """

    takes_media_in_answers = True
    timeouts = Timeouts(first_byte_s=600.0, idle_s=300.0)

    def __init__(self, name: str, base_url: str, variable: str, options: ModelOptions) -> None:
        self._name = name
        self._base_url = base_url or OPENAI
        self._variable = variable
        self._options = options
        self._origin = f"responses@{origin_of(self._base_url)[1].partition(':')[0]}"
        self._gives_reasoning_back = True
        self._translation = Translation(self._items, IdRule(), self._origin)
        self._tools = Tools(PLAIN, _tool)
        self._shape = AnswerShape(STRICT, goes_with_tools=True)
        self._left_out: set[str] = set()
        self._cache_key = f"dogu-{os.urandom(8).hex()}"
        self._said = ""

    def url(self) -> str:
        """Return where requests go."""
        return endpoint(self._base_url, "/responses")

    def headers(self, key: str) -> dict[str, str]:
        """Return the key's header, where there is a key."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]) -> bytes:
        """Join the items, each encoded once, with the rest of a request."""
        fields = self._fields()
        if system:
            fields["instructions"] = system
        shape, declarations = self._shape.split(declarations)
        if shape is not None:
            form = {"type": "json_schema", "name": "final_answer", "schema": shape, "strict": True}
            fields["text"] = {"format": form}
        if tools := self._tools.encoded(declarations):
            fields["tools"] = tools
        encoded = msgspec.json.encode(merged(fields, self._options.body))
        return b"".join((b'{"input":[', self._translation.joined(history), b"],", encoded[1:]))

    def answer(self) -> ResponsesAnswer:
        """Begin to read an answer."""
        return ResponsesAnswer(self._origin, self._tools, self._explain_event)

    def _explain_event(self, raw: bytes) -> ModelError:
        return stream_error(raw, self._name, self._variable)

    def explain(self, refusal: HttpRefusal) -> ModelError:
        """Say what a refusal means."""
        self._said = refusal.body.decode("utf-8", "replace")
        return explain_refusal(refusal, self._name, self._variable)

    def learns(self, error: ModelError) -> bool:
        """Leave out what the model doesn't take; reasoning that the server can't decrypt stays behind."""
        said, self._said = self._said, ""
        if error.kind is not ModelErrorKind.BAD_REQUEST:
            return False
        if "invalid_encrypted_content" in said and self._gives_reasoning_back:
            self._gives_reasoning_back = False
            self._translation.forget()
            return True
        field = refused_field(said, _LESSONS.keys())
        lesson = _LESSONS.get(field, "")
        if not lesson or lesson in self._left_out:
            return self._shape.is_lesson()
        self._left_out.add(lesson)
        return True

    def _fields(self) -> dict[str, Any]:
        options = self._options
        fields: dict[str, Any] = {"model": self._name, "store": False, "prompt_cache_key": self._cache_key}
        sampling = {"temperature": options.temperature, "top_p": options.top_p}
        fields |= {name: value for name, value in sampling.items() if value is not None}
        if options.max_output_tokens:
            fields["max_output_tokens"] = options.max_output_tokens
        if options.streams:
            fields["stream"] = True
        if _REASONS.match(self._name) and "reasoning" not in self._left_out:
            reasoning = {"summary": "auto", **({"effort": options.effort} if options.effort else {})}
            fields["reasoning"] = {name: value for name, value in reasoning.items() if name not in self._left_out}
            if "encrypted_content" not in self._left_out:
                fields["include"] = ["reasoning.encrypted_content"]
        return {name: value for name, value in fields.items() if name not in self._left_out}

    def _items(self, content: HistoryContent) -> list[dict[str, Any]]:
        return items_of(content, self._origin, gives_reasoning_back=self._gives_reasoning_back)


def _tool(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": description, "parameters": parameters, "strict": False}
