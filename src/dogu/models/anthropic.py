"""Claude over Anthropic's Messages wire, or a server that speaks like it.

Source: platform.claude.com/docs/en/api/messages; for thinking, .../build-with-claude/extended-thinking: blocks go back
as they came, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import joined, sentence, told
from dogu.models.addresses import ANTHROPIC, ANTHROPIC_VERSION, endpoint
from dogu.models.answer_shape import CLAUDE, AnswerShape
from dogu.models.call_arguments import read_arguments
from dogu.models.contents import Kept, ModelContent, RawContent
from dogu.models.counts import Counts
from dogu.models.endings import cut_before_words, empty, ending_of, is_length, unfinished
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
from dogu.models.reading import Answer, Arguments, decoded, says_something
from dogu.models.refusals import is_error, refused_field
from dogu.models.schemas import ANTHROPIC as DIALECT
from dogu.models.text_calls import late_calls
from dogu.models.translation import (
    HistoryAnswer,
    HistoryBlob,
    HistoryContent,
    HistoryPart,
    IdRule,
    Tools,
    Translation,
    extras,
    wire_name,
)
from dogu.models.transport_errors import HttpRefusal, Timeouts, origin_of

_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


def message_of(content: HistoryContent, origin: str, *, gives_thoughts_back: bool = True) -> list[dict[str, Any]]:
    """Translate one content into one message; answers to calls stand before what the user says."""
    if content.role == "model":
        blocks = [block for part in content.parts for block in _said(part, origin)]
        if not gives_thoughts_back:
            blocks = [block for block in blocks if "thinking" not in block["type"]]
        return [{"role": "assistant", "content": blocks or [{"type": "text", "text": "(no answer)"}]}]
    answers = [_answer(part.function_response) for part in content.parts if part.function_response is not None]
    said = [_piece(part) for part in content.parts if part.function_response is None]
    said = [block for block in said if block.get("text") != ""]  # an empty text is refused
    return [{"role": "user", "content": [*answers, *said] or [{"type": "text", "text": "(nothing)"}]}]


def _said(part: HistoryPart, origin: str) -> list[dict[str, Any]]:
    given = part.given(origin)
    if part.function_call is not None:
        call = part.function_call
        return [{"type": "tool_use", "id": call.call_id, "name": wire_name(call.name), "input": call.args}]
    if given is not None and "block" in given:
        return [given["block"]]
    if part.thought:
        signature = given and given.get("signature")
        return [{"type": "thinking", "thinking": part.text or "", "signature": signature}] if signature else []
    return [{"type": "text", "text": part.text}] if part.text and part.text.strip() else []


def _answer(answer: HistoryAnswer) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text.strip() else []
    blocks += [_piece(part) for part in answer.parts]
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": answer.call_id, "content": blocks}
    return {**block, "is_error": True} if answer.is_error else block


def _piece(part: HistoryPart) -> dict[str, Any]:
    blob = part.inline_data
    if blob is None:
        return {"type": "text", "text": part.text or ""}
    return _medium(blob) or {"type": "text", "text": blob.note}


def _medium(blob: HistoryBlob) -> dict[str, Any] | None:
    source = {"type": "base64", "media_type": blob.mime_type, "data": blob.data}
    if blob.mime_type in _IMAGES:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source} if blob.mime_type == "application/pdf" else None


_TEXT = frozenset(("type", "text"))
_THINKING = frozenset(("type", "thinking", "signature"))
_WORDS = frozenset(("type", "text", "thinking", "signature", "data", "id", "name"))  # of a block: texts, or not there


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
        is_odd = {name: name in _WORDS and not isinstance(value, str) for name, value in fields.items()}
        self.fields = {name: value for name, value in fields.items() if not is_odd[name]}
        self.json = ""

    def add(self, delta: dict[str, Any]) -> ModelEvent | None:
        """Add a delta and return what is shown of it."""
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                self.fields["text"] = self.fields.get("text", "") + text
                return TextDelta(text) if text else None
            case {"type": "thinking_delta", "thinking": str(thought)}:
                self.fields.setdefault("type", "thinking")
                self.fields["thinking"] = self.fields.get("thinking", "") + thought
                return ThoughtDelta(thought) if thought else None
            case {"type": "signature_delta", "signature": str(signature)}:
                self.fields.setdefault("type", "thinking")
                self.fields["signature"] = self.fields.get("signature", "") + signature
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                self.fields.setdefault("type", "tool_use")
                self.json += piece
            case {"type": "citations_delta", "citation": citation}:
                cited: object = self.fields.get("citations")
                self.fields["citations"] = [*(cast("list[object]", cited) if isinstance(cited, list) else ()), citation]
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


class AnthropicAnswer(Answer):
    """An answer as it grows: `absorb` each event, then `finish`."""

    def __init__(
        self, origin: str = "", tools: Tools | None = None, explain: Callable[[bytes], ModelError] = stream_error
    ) -> None:
        self._origin = origin
        self._tools = tools or Tools(DIALECT)
        self._explain = explain
        self._blocks: list[_Block] = []
        self._at: dict[int | None, _Block] = {}  # the last block of each index: some servers count none of them up
        self._counts = Counts()
        self._stop = self._why = ""
        self._is_done = False
        self._arguments = Arguments()

    def is_complete(self) -> bool:
        """Whether the message has stopped, or its reason has come."""
        return self._is_done or bool(self._stop)

    def finish(self) -> list[ModelEvent]:
        """Return the calls, the usage and `Finished`. Raises `ModelError` when this is no answer."""
        if not self.is_complete():
            raise unfinished()
        reason, note = ending_of(self._stop or "end_turn", self._why)
        content, calls = ModelContent(self._origin), list[FunctionCallEvent]()
        has_substance = False
        for block in self._blocks:
            has_substance = self._add(content, block, calls) or has_substance
        text = "".join(str(block.fields.get("text") or "") for block in self._blocks)
        for call in () if calls else late_calls(text, self._tools):
            calls.append(call)
            content.call(call)
        if not has_substance and reason is not FinishReason.PAUSE:
            if reason is not FinishReason.LENGTH:
                raise empty()
            note = cut_before_words(self._stop)
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
                self.heard += 1
                return self._begin(event.index, event.content_block).shown()
            case "content_block_delta" if event.delta is not None:
                self.heard += says_something(event.delta)
                self._arguments.watch(event.delta.get("partial_json"))
                block = self._at.get(event.index) or self._begin(event.index, {})
                shown = block.add(event.delta)
                return [shown] if shown is not None else []
            case "message_delta" if event.delta is not None:
                self._stop = str(event.delta.get("stop_reason") or self._stop)
                details = _dict(event.delta.get("stop_details"))
                self._why = str(details.get("explanation") or self._why)
            case "message_stop":
                self._is_done = True
            case "message":
                self._is_done, self._stop = True, event.stop_reason or ""
                self.heard += 1
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


_BETWEEN_CALLS = "interleaved-thinking-2025-05-14"  # older models think between calls only when asked so
_ASSISTANT = b'{"role":"assistant"'
_CACHED = {"type": "ephemeral"}
_BUDGETS = {"low": 4_096, "medium": 10_000, "high": 24_000}
_ADAPTIVE_FROM = (4, 6)
_THOUGHT_FIELDS = ("thinking", "adaptive", "display", "budget_tokens", "output_config", "effort")
_SHAPES_FROM = (4, 5)
_SAMPLED_BY_ONE_FROM = (4, 1)  # temperature and top_p together are refused
_UNSAMPLED_FROM = (4, 7)  # temperature and top_p are refused
_WORDS_OF_USER, _ANSWERS, _THOUGHT, _UNTHOUGHT = b"u", b"a", b"t", b"n"


class Anthropic(HttpModel):
    """A Claude model by its name (`claude-sonnet-5`)."""

    def __init__(self, name: str, key: str | Key = "", base_url: str = "", options: ModelOptions | None = None) -> None:
        options = options or ModelOptions()
        key = key if isinstance(key, Key) else Key(key, variable="ANTHROPIC_API_KEY")
        super().__init__(name, MessagesWire(name, base_url, key.variable, options), key, options)


class MessagesWire:
    """The Messages wire, and what was learned of this server.

    Two marks let the server keep what requests have in common: behind tools and system, and behind the last message.
    """

    takes_media_in_answers = True
    timeouts = Timeouts()

    def __init__(self, name: str, base_url: str, variable: str, options: ModelOptions) -> None:
        self._name = name
        self._base_url = base_url or ANTHROPIC
        self._variable = variable
        self._options = options
        self._origin = f"messages@{origin_of(self._base_url)[1].partition(':')[0]}"
        self._translation = Translation(self._messages, IdRule(), self._origin)
        self._kinds = Kept(partial(_kind, origin=self._origin))
        self._tools = Tools(DIALECT, _tool)
        is_able = "claude" in name and _version(name) >= _SHAPES_FROM
        self._shape = AnswerShape(CLAUDE, goes_with_tools=is_able)
        self._most_tokens = 0
        self._thinks_as_told = True
        self._gives_thoughts_back = True
        self._leaves_top_p_out = False
        self._has_told = False
        self._said = ""

    def url(self) -> str:
        """Return where requests go."""
        return endpoint(self._base_url, "/v1/messages")

    def headers(self, key: str) -> dict[str, str]:
        """Return the key's header, and the version spoken."""
        if not key:
            advice = told("Set {variable}.", variable=self._variable)
            raise ModelError(ModelErrorKind.AUTH, told("There is no key for Claude."), advice=advice)
        headers = {"x-api-key": key, "anthropic-version": ANTHROPIC_VERSION}
        return {**headers, "anthropic-beta": _BETWEEN_CALLS} if self._budget() else headers

    def body(self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]) -> bytes:
        """Join the messages, each encoded once, with the rest of a request."""
        messages = self._translation.joined(history)
        last_at = self._translation.last_at()
        last = bytes(messages[last_at:])
        if last and not last.startswith(_ASSISTANT):  # what the model said goes back as it came
            # A mark behind the last message's last block: what is before it is the next request's beginning.
            decoded = msgspec.json.decode(last)
            decoded["content"][-1]["cache_control"] = _CACHED
            last = msgspec.json.encode(decoded)
        fields = self._fields(history)
        shape, declarations = self._shape.split(declarations)
        if shape is not None:
            fields = merged(fields, {"output_config": {"format": {"type": "json_schema", "schema": shape}}})
        if tools := self._tools.encoded(declarations):
            fields["tools"] = tools
        if system:
            fields["system"] = [{"type": "text", "text": system, "cache_control": _CACHED}]
        encoded = msgspec.json.encode(merged(fields, self._options.body))
        with memoryview(messages) as all_messages:
            return b"".join((b'{"messages":[', all_messages[:last_at], last, b"],", encoded[1:]))

    def answer(self) -> AnthropicAnswer:
        """Begin to read an answer."""
        return AnthropicAnswer(self._origin, self._tools, self._explain_event)

    def _explain_event(self, raw: bytes) -> ModelError:
        return stream_error(raw, self._name, self._variable)

    def explain(self, refusal: HttpRefusal) -> ModelError:
        """Say what a refusal means."""
        self._said = refusal.body.decode("utf-8", "replace")
        return explain_refusal(refusal, self._name, self._variable)

    def learns(self, error: ModelError) -> bool:
        """Ask for fewer tokens where the model gives fewer; leave the thinking to a server that knows no other."""
        said, self._said = self._said, ""
        if error.kind is not ModelErrorKind.BAD_REQUEST:
            return False
        if re.search(r"invalid .?signature", said, re.IGNORECASE) and self._gives_thoughts_back:
            self._gives_thoughts_back = False  # another key's, region's or server's
            self._translation.forget()
            return True
        if "temperature" in said and "top_p" in said and not self._leaves_top_p_out:
            self._leaves_top_p_out = True
            return True
        most = re.search(r"max_tokens: \d+ > (\d+)", said)
        if most and not self._most_tokens:
            self._most_tokens = int(most[1])
            return True
        if "output_config.format" in said and self._shape.is_lesson():
            return True
        if refused_field(said, _THOUGHT_FIELDS) and self._thinks_as_told:
            self._thinks_as_told = False
            return True
        return self._shape.is_lesson()

    def _fields(self, history: Sequence[RawContent]) -> dict[str, Any]:
        options = self._options
        fields: dict[str, Any] = {"model": self._name, "max_tokens": self._max_tokens()}
        thinking = self._thinking(history)
        fields |= thinking
        if "thinking" not in thinking and _version(self._name) < _UNSAMPLED_FROM:
            is_one = self._leaves_top_p_out or _version(self._name) >= _SAMPLED_BY_ONE_FROM
            top_p = None if is_one and options.temperature is not None else options.top_p
            sampling = {"temperature": options.temperature, "top_p": top_p}
            fields |= {name: value for name, value in sampling.items() if value is not None}
        return {**fields, "stream": True} if options.streams else fields

    def _max_tokens(self) -> int:
        """The wire wants a bound: as much as the model gives, unless less was asked for."""
        old = 8_192 if _version(self._name) < (4, 0) else 32_000 if _version(self._name) < (4, 5) else 64_000
        most = self._most_tokens or old
        wanted = self._options.max_output_tokens
        return min(most, wanted) if wanted else most

    def _thinking(self, history: Sequence[RawContent]) -> dict[str, Any]:
        """Say how much to think: newer models by themselves and in words, older ones within a number of tokens."""
        effort = self._options.effort
        if not self._thinks_as_told or effort == "none":
            return {}
        if _version(self._name) >= _ADAPTIVE_FROM:
            thinking: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
            return {**thinking, "output_config": {"effort": effort}} if effort else thinking
        budget = min(self._budget(), self._max_tokens() - 1_024)
        if budget < 1_024:
            if self._budget() and not self._has_told:
                self._has_told = True
                words = sentence(
                    "model.maxOutputTokens leaves no room to think (--effort {effort}): the model "
                    "answers without thinking."
                )
                self._tools.tell(told(words, effort=effort))
            return {}
        if not self._may_think(history):
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}

    def _budget(self) -> int:
        return _BUDGETS.get(self._options.effort, 0) if (3, 7) <= _version(self._name) < _ADAPTIVE_FROM else 0

    def _may_think(self, history: Sequence[RawContent]) -> bool:
        """Whether the calls since the user's last words begin with a thought: a budget to think is refused else."""
        kinds = self._kinds.joined(history)
        return _UNTHOUGHT not in kinds[kinds.rfind(_WORDS_OF_USER) + 1 :]

    def _messages(self, content: HistoryContent) -> list[dict[str, Any]]:
        return message_of(content, self._origin, gives_thoughts_back=self._gives_thoughts_back)


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _tool(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": parameters}


def _kind(content: RawContent, origin: str) -> bytes:
    """Tell the user's words, answers to calls, and the model's contents with and without a thought apart."""
    decoded = msgspec.json.decode(content, type=HistoryContent)
    if decoded.role == "model":
        return _THOUGHT if any(part.thought and part.given(origin) for part in decoded.parts) else _UNTHOUGHT
    return _ANSWERS if any(part.function_response is not None for part in decoded.parts) else _WORDS_OF_USER


def _version(name: str) -> tuple[int, int]:
    """Return the version in a model's name; the newest one's for a name without."""
    match = re.search(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", name)
    return (int(match[1]), int(match[2] or 0)) if match else (99, 0)
