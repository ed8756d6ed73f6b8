"""A server of Anthropic's Messages wire for tests, which refuses what the real one does."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from dogu.testing.scripted_server import RefusedError, ScriptedServer, shape_problem
from dogu.testing.turn import Turn, pieces_of
from dogu.testing.wire_server import Reply, WireRequest

JsonObject: TypeAlias = dict[str, Any]
_FIELDS = frozenset(
    "model messages max_tokens system tools tool_choice stream temperature top_p top_k thinking output_config metadata "
    "stop_sequences service_tier cache_control".split()
)
_BLOCKS: Mapping[str, frozenset[str]] = {
    "text": frozenset(("type", "text", "cache_control", "citations")),
    "thinking": frozenset(("type", "thinking", "signature")),
    "redacted_thinking": frozenset(("type", "data")),
    "tool_use": frozenset(("type", "id", "name", "input", "cache_control")),
    "tool_result": frozenset(("type", "tool_use_id", "content", "is_error", "cache_control")),
    "image": frozenset(("type", "source", "cache_control")),
    "document": frozenset(("type", "source", "cache_control", "title")),
}
_STOPS = {"MAX_TOKENS": "max_tokens", "SAFETY": "refusal"}
_REFUSALS: dict[str, tuple[int, str, str]] = {
    "e401": (401, "authentication_error", "invalid x-api-key"),
    "e404": (404, "not_found_error", "model: claude-x"),
    "e429": (429, "rate_limit_error", "This request would exceed your rate limit."),
    "e529": (529, "overloaded_error", "Overloaded"),
    "e400-too-long": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "e400-signature": (400, "invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block"),
    "e400-max-tokens": (400, "invalid_request_error", "max_tokens: 64000 > 8192, which is the maximum allowed"),
}


class MessagesRequest(msgspec.Struct, frozen=True):
    """A request that was received."""

    headers: Mapping[str, str]
    body: JsonObject

    @property
    def messages(self) -> list[JsonObject]:
        """The history."""
        return cast("list[JsonObject]", self.body["messages"])

    @property
    def answers(self) -> list[str]:
        """The texts of the tool results in the last message, in order."""
        blocks = cast("list[JsonObject]", self.messages[-1]["content"])
        results = [block["content"] for block in blocks if block["type"] == "tool_result"]
        return ["".join(str(piece.get("text", "")) for piece in pieces) for pieces in results]


MessagesTurn: TypeAlias = Turn | str | Callable[[MessagesRequest], Turn | str]


class FakeMessages(ScriptedServer[MessagesRequest]):
    """A context manager that serves `base_url` while it is open, and answers the turns in order.

    A thought is signed by what it says and where it stands; `requests` holds what was received, `problems` what was
    refused as wrong: roles, calls without their results right after them, thoughts that changed, fields and blocks that
    nobody knows, schemas that aren't taken.
    """

    path = "/v1/messages"

    def __init__(self, turns: Iterable[MessagesTurn] = (), *, key: str = "") -> None:
        super().__init__(turns)
        self._key = key

    @property
    def base_url(self) -> str:
        """The address, as `ANTHROPIC_BASE_URL` wants it."""
        return self.server.url

    def request_of(self, wire: WireRequest) -> MessagesRequest:
        """Check a request. Raises `RefusedError`."""
        key = wire.headers.get("x-api-key", "") or wire.headers.get("authorization", "").removeprefix("Bearer ")
        if not key or (self._key and key != self._key):
            raise RefusedError(401, "invalid x-api-key")
        if wire.headers.get("anthropic-version") not in ("2023-06-01", "2026-10-21"):
            raise RefusedError(400, "anthropic-version: header is required")
        body = msgspec.json.decode(wire.body, type=dict[str, Any])
        request = MessagesRequest(wire.headers, body)
        self.requests.append(request)
        _check(body)
        form: JsonObject = body.get("output_config", {}).get("format", {})
        if problem := shape_problem(form, demands=False):
            raise RefusedError(400, f"output_config.format.schema: {problem}")
        return request

    def refusal(self, status: int, message: str) -> JsonObject:
        """Make the body of a refusal."""
        kinds = {401: "authentication_error", 404: "not_found_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "invalid_request_error"), "message": message}}

    def play(self, request: MessagesRequest, turn: Turn, reply: Reply) -> None:
        """Answer."""
        if turn.fault in _REFUSALS:
            status, kind, message = _REFUSALS[turn.fault]
            reply.send(status, msgspec.json.encode({"type": "error", "error": {"type": kind, "message": message}}))
        elif request.body.get("stream"):
            self._stream(request, turn, reply)
        else:
            content = _blocks_of(turn, len(self.requests), thinks=_thinks(request.body))
            message = {**_message(turn), "content": content, "stop_reason": _stop_of(turn), "usage": _usage_of(turn)}
            reply.send(200, msgspec.json.encode(message))

    def _stream(self, request: MessagesRequest, turn: Turn, reply: Reply) -> None:
        reply.begin()
        start: JsonObject = {
            **_message(turn),
            "content": [],
            "stop_reason": None,
            "usage": {**_usage_of(turn), "output_tokens": 1},
        }
        reply.chunk(_event("message_start", message=start))
        reply.chunk(_event("ping"))
        for index, block in enumerate(_blocks_of(turn, len(self.requests), thinks=_thinks(request.body))):
            for event in _events_of(index, block, turn.pieces):
                reply.chunk(event)
        if turn.fault == "cut":
            reply.cut()
        if turn.fault == "error-event":
            reply.chunk(_event("error", error={"type": "overloaded_error", "message": "Overloaded"}))
        elif turn.fault != "no-finish":
            usage = {"output_tokens": _usage_of(turn)["output_tokens"]}
            delta = {"stop_reason": _stop_of(turn), "stop_sequence": None}
            reply.chunk(_event("message_delta", delta=delta, usage=usage))
            reply.chunk(_event("message_stop"))
        reply.end()


def _thinks(body: JsonObject) -> bool:
    return body.get("thinking", {}).get("type") in ("adaptive", "enabled")


def _message(turn: Turn) -> JsonObject:
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "stop_sequence": None}


def _blocks_of(turn: Turn, number: int, *, thinks: bool) -> list[JsonObject]:
    blocks: list[JsonObject] = []
    if turn.thought and thinks:
        blocks.append({"type": "thinking", "thinking": turn.thought, "signature": signature_of(turn.thought)})
        blocks.append({"type": "redacted_thinking", "data": signature_of(turn.thought + " hidden")})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    for index, call in enumerate(turn.calls):
        call_id = call.id or f"toolu_{number}_{index}"
        blocks.append({"type": "tool_use", "id": call_id, "name": call.name, "input": dict(call.args)})
    return blocks


def signature_of(thought: str) -> str:
    """Return the signature that the server gives a thought."""
    return base64.b64encode(hashlib.sha256(thought.encode()).digest()).decode()


def _events_of(index: int, block: JsonObject, pieces: int) -> list[bytes]:
    """Make the events of one block."""
    empty: dict[str, JsonObject] = {
        "thinking": {"thinking": "", "signature": ""},
        "text": {"text": ""},
        "tool_use": {"input": {}},
    }
    begun: JsonObject = {**block, **empty.get(block["type"], {})}
    events = [_event("content_block_start", index=index, content_block=begun)]
    deltas: list[JsonObject] = []
    match block["type"]:
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces_of(block["thinking"], pieces)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces_of(block["text"], pieces)]
        case "tool_use":
            arguments = msgspec.json.encode(block["input"]).decode()
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces_of(arguments, 3))]
        case _:
            pass
    events += [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
    return [*events, _event("content_block_stop", index=index)]


def _event(kind: str, **fields: object) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode({"type": kind, **fields}))


def _stop_of(turn: Turn) -> str:
    return _STOPS.get(turn.finish) or ("tool_use" if turn.calls else "end_turn")


def _usage_of(turn: Turn) -> JsonObject:
    thoughts = len(turn.thought) // 4
    return {
        "input_tokens": turn.prompt_tokens - turn.cached_tokens,
        "cache_read_input_tokens": turn.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": len(turn.text) // 4 + thoughts,
        "output_tokens_details": {"thinking_tokens": thoughts},
    }


def _check(body: JsonObject) -> None:
    """Check a request as the server would. Raises `RefusedError`."""
    if unknown := sorted(body.keys() - _FIELDS):
        raise RefusedError(400, f"{unknown[0]}: Extra inputs are not permitted")
    if not isinstance(body.get("max_tokens"), int):
        raise RefusedError(400, "max_tokens: Field required")
    if _thinks(body) and body.get("temperature", 1) != 1:
        raise RefusedError(400, "`temperature` may only be set to 1 when thinking is enabled.")
    budget = body.get("thinking", {}).get("budget_tokens")
    if budget is not None and not 1_024 <= budget < body["max_tokens"]:
        raise RefusedError(400, "`max_tokens` must be greater than `thinking.budget_tokens`.")
    _check_tools(body.get("tools") or [])
    _check_messages(body["messages"])
    if body.get("thinking", {}).get("type") == "enabled":
        _check_begins_with_thought(body["messages"])


def _check_tools(tools: Sequence[JsonObject]) -> None:
    for at, tool in enumerate(tools):
        schema = tool["input_schema"]
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool["name"]):
            raise RefusedError(400, f"tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if schema.get("type") != "object":
            raise RefusedError(400, f"tools.{at}.custom.input_schema.type: Field required")
        if schema.keys() & {"oneOf", "allOf", "anyOf"}:
            raise RefusedError(
                400, f"tools.{at}.custom.input_schema: does not support oneOf, allOf, or anyOf at the top level"
            )
        for name in cast("JsonObject", schema.get("properties") or {}):
            if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
                raise RefusedError(
                    400, f"tools.{at}.custom.input_schema.properties: Property keys should match pattern"
                )


def _check_messages(messages: Sequence[JsonObject]) -> None:
    waiting: list[str] = []
    before = "assistant"
    for at, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role not in ("user", "assistant"):
            raise RefusedError(400, f"messages.{at}.role: Unexpected role")
        if role == before:
            raise RefusedError(400, 'messages: roles must alternate between "user" and "assistant"')
        before = role
        blocks: list[JsonObject] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not blocks:
            raise RefusedError(400, f"messages.{at}: all messages must have non-empty content")
        for index, block in enumerate(blocks):
            _check_block(block, f"messages.{at}.content.{index}")
        _check_results(blocks, waiting, f"messages.{at}")
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if before == "assistant":
        raise RefusedError(400, "This model does not support assistant message prefill.")


def _check_results(blocks: Sequence[JsonObject], waiting: Sequence[str], where: str) -> None:
    """Check that the calls of the message before are answered, all of them and first."""
    found = [str(block["tool_use_id"]) for block in blocks if block["type"] == "tool_result"]
    if sorted(found) != sorted(waiting):
        missing = f"`tool_use` ids were found without `tool_result` blocks immediately after: {waiting}"
        unexpected = f"unexpected `tool_use_id` found in `tool_result` blocks: {found}"
        raise RefusedError(400, f"{where}: {missing if waiting else unexpected}")
    kinds = [block["type"] == "tool_result" for block in blocks]
    if kinds != sorted(kinds, reverse=True):
        raise RefusedError(400, f"{where}: tool_result blocks must come first")


def _check_block(block: JsonObject, where: str) -> None:
    kind = block.get("type", "")
    if kind not in _BLOCKS:
        raise RefusedError(400, f"{where}: Input tag {kind!r} found does not match any of the expected tags")
    if unknown := sorted(block.keys() - _BLOCKS[kind]):
        raise RefusedError(400, f"{where}.{kind}.{unknown[0]}: Extra inputs are not permitted")
    if kind == "text" and not block["text"].strip():
        raise RefusedError(400, f"{where}: text content blocks must contain non-whitespace text")
    if kind == "thinking" and block["signature"] != signature_of(block["thinking"]):
        raise RefusedError(400, f"{where}: Invalid `signature` in `thinking` block")
    if kind == "tool_use" and not (re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]) and isinstance(block["input"], dict)):
        raise RefusedError(400, f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")


def _check_begins_with_thought(messages: Sequence[JsonObject]) -> None:
    """Check that the answers since the user's last words begin with a thought, as a budget for thinking wants it."""
    for at in range(len(messages) - 1, -1, -1):
        kinds = [block["type"] for block in messages[at]["content"]]
        if messages[at]["role"] == "user" and "tool_result" not in kinds:
            return
        if messages[at]["role"] == "assistant" and kinds[0] not in ("thinking", "redacted_thinking"):
            raise RefusedError(
                400, f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`"
            )
