"""A server of OpenAI's Responses wire for tests, which refuses what the real one does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from dogu.testing.scripted_server import RefusedError, ScriptedServer, shape_problem
from dogu.testing.turn import Turn, pieces_of
from dogu.testing.wire_server import Reply, WireRequest

JsonObject: TypeAlias = dict[str, Any]
_FIELDS = frozenset(
    "model input instructions tools tool_choice parallel_tool_calls store stream include reasoning temperature top_p "
    "max_output_tokens prompt_cache_key prompt_cache_retention metadata text truncation previous_response_id "
    "service_tier safety_identifier stream_options user".split()
)
_ITEMS: Mapping[str, frozenset[str]] = {
    "message": frozenset(("type", "role", "content", "id", "status", "phase")),
    "reasoning": frozenset(("type", "id", "summary", "content", "encrypted_content", "status")),
    "function_call": frozenset(("type", "id", "call_id", "name", "arguments", "status", "namespace")),
    "function_call_output": frozenset(("type", "id", "call_id", "output", "status")),
}
_REFUSALS: dict[str, tuple[int, str, str]] = {
    "e401": (401, "invalid_api_key", "Incorrect API key provided: sk-x-12345."),
    "e404": (404, "model_not_found", "The requested model 'x' does not exist."),
    "e429": (429, "rate_limit_exceeded", "Rate limit reached."),
    "e429-quota": (429, "insufficient_quota", "You exceeded your current quota."),
    "e503": (503, "server_error", "The engine is currently overloaded."),
    "e400-too-long": (400, "context_length_exceeded", "Your input exceeds the context window of this model."),
    "e400-summary": (400, "unsupported_value", "Your organization must be verified to generate reasoning summaries."),
    "e400-encrypted": (400, "invalid_encrypted_content", "The encrypted content could not be verified."),
}


class ResponsesRequest(msgspec.Struct, frozen=True):
    """A request that was received."""

    headers: Mapping[str, str]
    body: JsonObject

    @property
    def items(self) -> list[JsonObject]:
        """The history."""
        return cast("list[JsonObject]", self.body["input"])

    @property
    def answers(self) -> list[str]:
        """The outputs of calls at the end, in order."""
        found: list[str] = []
        for item in reversed(self.items):
            if item.get("type") != "function_call_output":
                break
            found.insert(0, str(item["output"]))
        return found


ResponsesTurn: TypeAlias = Turn | str | Callable[[ResponsesRequest], Turn | str]


class FakeResponses(ScriptedServer[ResponsesRequest]):
    """A context manager that serves `base_url` (it ends in `/v1`) while it is open, and answers the turns in order.

    `requests` holds what was received, `problems` what was refused as wrong: calls and answers that don't pair,
    reasoning that is missing, changed or away from the item that it led to, fields and items that nobody knows.
    """

    path = "/v1/responses"

    def __init__(self, turns: Iterable[ResponsesTurn] = (), *, key: str = "") -> None:
        super().__init__(turns)
        self._key = key
        self._given: dict[str, JsonObject] = {}  # the items that were given, by id
        self._reasoned: dict[str, str] = {}  # an item's id, and that of the reasoning that led to it

    @property
    def base_url(self) -> str:
        """The address, as `OPENAI_BASE_URL` wants it."""
        return f"{self.server.url}/v1"

    def request_of(self, wire: WireRequest) -> ResponsesRequest:
        """Check a request. Raises `RefusedError`."""
        if self._key and wire.headers.get("authorization") != f"Bearer {self._key}":
            raise RefusedError(401, "Incorrect API key provided: sk-x-12345.")
        request = ResponsesRequest(wire.headers, msgspec.json.decode(wire.body, type=dict[str, Any]))
        self.requests.append(request)
        if unknown := sorted(request.body.keys() - _FIELDS):
            raise RefusedError(400, f"Unknown parameter: '{unknown[0]}'.")
        for at, tool in enumerate(request.body.get("tools") or ()):
            if tool.keys() - {"type", "name", "description", "parameters", "strict"}:
                raise RefusedError(400, f"Unknown parameter: 'tools[{at}]'.")
            if tool["parameters"].get("type") != "object":
                raise RefusedError(
                    400, f"Invalid schema for function '{tool['name']}': schema must be of type 'object'."
                )
        self._check_items(request.items)
        form: JsonObject = request.body.get("text", {}).get("format", {})
        if problem := shape_problem(form):
            raise RefusedError(400, f"Invalid schema for response_format '{form.get('name')}': {problem}")
        return request

    def refusal(self, status: int, message: str) -> JsonObject:
        """Make the body of a refusal."""
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

    def play(self, request: ResponsesRequest, turn: Turn, reply: Reply) -> None:
        """Answer."""
        if turn.fault in _REFUSALS:
            status, code, message = _REFUSALS[turn.fault]
            reply.send(status, msgspec.json.encode({"error": {"message": message, "code": code, "param": None}}))
            return
        items = self._items_of(turn, request.body)
        response = _response(turn, items)
        if not request.body.get("stream"):
            reply.send(200, msgspec.json.encode(response))
            return
        reply.begin()
        reply.chunk(_event("response.created", response={**response, "status": "in_progress", "output": []}))
        for index, item in enumerate(items):
            for event in _events_of(index, item, turn.pieces):
                reply.chunk(event)
        if turn.fault == "cut":
            reply.cut()
        if turn.fault == "error-event":
            reply.chunk(_event("error", code="server_error", message="The server had an error.", param=None))
        elif turn.fault != "no-finish":
            ended = "response.incomplete" if response["status"] == "incomplete" else "response.completed"
            reply.chunk(_event(ended, response=response))
        reply.end()

    def _items_of(self, turn: Turn, body: JsonObject) -> list[JsonObject]:
        number = f"{self.server.url.rpartition(':')[2]}_{len(self.requests)}"  # unlike any other server's
        items: list[JsonObject] = []
        if turn.thought and "reasoning" in body:
            summary = [{"type": "summary_text", "text": turn.thought}] if body["reasoning"].get("summary") else []
            item: JsonObject = {"id": f"rs_{number}", "type": "reasoning", "summary": summary}
            if "reasoning.encrypted_content" in (body.get("include") or ()):
                item["encrypted_content"] = f"gAAAA{number}-{len(turn.thought)}=="
            items.append(item)
        if turn.text:
            content: list[JsonObject] = [{"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}]
            phase = "commentary" if turn.calls else "final_answer"
            items.append({"id": f"msg_{number}", "type": "message", "status": "completed", "role": "assistant"})
            items[-1] |= {"phase": phase, "content": content}
        for index, call in enumerate(turn.calls):
            arguments = msgspec.json.encode(dict(call.args)).decode()
            call_id = call.id or f"call_{number}_{index}"
            items.append({"id": f"fc_{number}_{index}", "type": "function_call", "status": "completed"})
            items[-1] |= {"call_id": call_id, "name": call.name, "arguments": arguments}
        self._given |= {item["id"]: item for item in items}
        if len(items) > 1 and items[0]["type"] == "reasoning":
            self._reasoned[items[1]["id"]] = items[0]["id"]
        return items

    def _check_items(self, items: Sequence[JsonObject]) -> None:
        waiting: set[str] = set()
        for at, item in enumerate(items):
            kind = item.get("type", "message")
            if kind not in _ITEMS or item.keys() - _ITEMS[kind]:
                raise RefusedError(400, f"Unknown parameter: 'input[{at}]'.")
            if kind == "function_call_output" and item["call_id"] not in waiting:
                raise RefusedError(400, f"No tool call found for function call output with call_id {item['call_id']}.")
            if kind == "function_call_output":
                waiting.discard(item["call_id"])
            elif kind == "function_call":
                waiting.add(item["call_id"])
            elif kind == "message" and waiting:
                break
            before = items[at - 1] if at else {}
            self._check_given(item, before, items[at + 1] if at + 1 < len(items) else {})
        if waiting:
            raise RefusedError(400, f"No tool output found for function call {min(waiting)}.")

    def _check_given(self, item: JsonObject, before: JsonObject, after: JsonObject) -> None:
        """Check an item of the server's own: reasoning unchanged, and right before what it led to."""
        item_id = item.get("id", "")
        if item.get("type") == "reasoning":
            given = self._given.get(item_id)
            if not item.get("encrypted_content"):
                raise RefusedError(
                    400, f"Item with id '{item_id}' not found. Items are not persisted when store is false."
                )
            if given is not None and item != given:
                raise RefusedError(400, f"The encrypted content for item {item_id} could not be verified.")
            if not after or (given is not None and self._reasoned.get(after.get("id", "")) != item_id):
                raise RefusedError(
                    400, f"Item '{item_id}' of type 'reasoning' was provided without its required following item."
                )
        if item_id in self._reasoned and before.get("id") != self._reasoned[item_id]:
            raise RefusedError(
                400,
                f"Item '{item_id}' was provided without its required 'reasoning' item: '{self._reasoned[item_id]}'.",
            )


def _response(turn: Turn, items: Sequence[JsonObject]) -> JsonObject:
    reasons = {"MAX_TOKENS": "max_output_tokens", "SAFETY": "content_filter"}
    reason = reasons.get(turn.finish)
    thoughts = len(turn.thought) // 4
    output = len(turn.text) // 4 + thoughts
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "fake",
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1,
        "output": list(items),
        "usage": {
            "input_tokens": turn.prompt_tokens,
            "input_tokens_details": {"cached_tokens": turn.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": thoughts},
            "total_tokens": turn.prompt_tokens + output,
        },
    }


def _events_of(index: int, item: JsonObject, pieces: int) -> list[bytes]:
    """Make the events of one item."""
    place = {"output_index": index, "item_id": item["id"]}
    begun: JsonObject = {
        **item,
        **({"content": []} if "content" in item else {}),
        **({"summary": []} if "summary" in item else {}),
    }
    events = [_event("response.output_item.added", output_index=index, item=begun)]
    match item["type"]:
        case "reasoning":
            for at, part in enumerate(item["summary"]):
                spot = {**place, "summary_index": at}
                events.append(_event("response.reasoning_summary_part.added", **spot, part={**part, "text": ""}))
                for piece in pieces_of(part["text"], pieces):
                    events.append(_event("response.reasoning_summary_text.delta", **spot, delta=piece))
        case "message":
            (part,) = item["content"]
            events.append(_event("response.content_part.added", **place, content_index=0, part={**part, "text": ""}))
            for piece in pieces_of(part["text"], pieces):
                events.append(_event("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[]))
        case _:
            for piece in pieces_of(item["arguments"], 3):
                events.append(_event("response.function_call_arguments.delta", **place, delta=piece))
    return [*events, _event("response.output_item.done", output_index=index, item=item)]


def _event(kind: str, **fields: object) -> bytes:
    said = msgspec.json.encode({"type": kind, "sequence_number": 1, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), said)
