"""A server of the chat-completions wire for tests: as strict as OpenAI's, as odd as the local ones on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from dogu.testing.scripted_server import RefusedError, ScriptedServer, shape_problem
from dogu.testing.turn import Turn, pieces_of
from dogu.testing.wire_server import Reply, WireRequest

JsonObject: TypeAlias = dict[str, Any]
_FINISH = {"MAX_TOKENS": "length", "SAFETY": "content_filter"}
_REFUSALS: dict[str, tuple[int, JsonObject]] = {
    "e401": (401, {"error": {"message": "Incorrect API key provided: sk-x-12345.", "code": "invalid_api_key"}}),
    "e404": (404, {"error": {"message": 'model "x" not found, try pulling it first'}}),
    "e429": (429, {"error": {"message": "Rate limit reached.", "code": "rate_limit_exceeded"}}),
    "e429-quota": (429, {"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}}),
    "e503": (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}),
    "e400-too-long": (400, {"error": {"message": "the request exceeds the available context size"}}),
    "e400-no-tools": (400, {"error": "registry.ollama.ai/library/x does not support tools"}),
}


class OpenAIRequest(msgspec.Struct, frozen=True):
    """A request that was received."""

    headers: Mapping[str, str]
    body: JsonObject

    @property
    def messages(self) -> list[JsonObject]:
        """The history, the system message first."""
        return cast("list[JsonObject]", self.body["messages"])

    @property
    def answers(self) -> list[str]:
        """The contents of the tool messages at the end, in order."""
        answers: list[str] = []
        for message in reversed(self.messages):
            if message["role"] != "tool":
                break
            answers.insert(0, str(message["content"]))
        return answers


OpenAITurn: TypeAlias = Turn | str | Callable[[OpenAIRequest], Turn | str]


_KNOWN = frozenset(
    "model messages tools tool_choice parallel_tool_calls stream stream_options temperature top_p seed max_tokens "
    "max_completion_tokens reasoning_effort response_format stop n user metadata store service_tier presence_penalty "
    "frequency_penalty logit_bias logprobs top_logprobs prediction modalities thinking".split()
)
_SAID = frozenset(("role", "content", "name"))
_KNOWN_OF_MESSAGES: Mapping[str, frozenset[str]] = {
    "system": _SAID,
    "user": _SAID,
    "tool": _SAID | {"tool_call_id"},
    "assistant": _SAID | {"tool_calls", "refusal", "reasoning_content", "reasoning", "reasoning_details"},
}


class FakeOpenAI(ScriptedServer[OpenAIRequest]):
    """A context manager that serves `base_url` (it ends in `/v1`) while it is open.

    Turns are answered in order. `style` is how calls are streamed: `openai` (arguments in pieces, by index), `ollama`
    (each call whole, arguments a string), `object` (arguments an object, no id), `no-index`, or `index-0` (every call
    has the index 0). With `thinks_as` it is as strict as the services that think: what came
    with a call must come back with it, unchanged (`reasoning_content` as DeepSeek and Moonshot, `reasoning_details` as
    OpenRouter, `extra_content` as Gemini behind this wire), and each parameter has a type. `requests` holds what was
    received, `problems` what was refused as wrong.
    """

    path = "/v1/chat/completions"

    def __init__(
        self, turns: Iterable[OpenAITurn] = (), *, style: str = "openai", key: str = "", thinks_as: str = ""
    ) -> None:
        super().__init__(turns)
        self._style = style
        self._key = key
        self._thinks_as = thinks_as
        self._given: list[JsonObject] = []  # what was given with calls, in order

    @property
    def base_url(self) -> str:
        """The address, as `OPENAI_BASE_URL` wants it."""
        return f"{self.server.url}/v1"

    def request_of(self, wire: WireRequest) -> OpenAIRequest:
        """Check a request. Raises `RefusedError`."""
        if self._key and wire.headers.get("authorization") != f"Bearer {self._key}":
            raise RefusedError(401, "Incorrect API key provided: sk-x-12345.")
        request = OpenAIRequest(wire.headers, msgspec.json.decode(wire.body, type=dict[str, Any]))
        self.requests.append(request)
        _check(request.messages)
        form = cast("JsonObject", request.body.get("response_format") or {})
        if problem := shape_problem({**form, **form.get("json_schema", {})}, demands=False, is_closed=False):
            raise RefusedError(400, f"Invalid schema for response_format: {problem}")
        if form and request.body.get("tools"):
            raise RefusedError(400, "Cannot use custom grammar constraints with tools.")
        if self._thinks_as:
            self._check_strictly(request.body)
        return request

    def refusal(self, status: int, message: str) -> JsonObject:
        """Make the body of a refusal."""
        return {"error": {"message": message, "type": "invalid_request_error"}}

    def _check_strictly(self, body: JsonObject) -> None:
        """Check that there are known fields alone, that what came with the last calls came back, and the types."""
        _check_fields(body)
        asked = [message for message in cast("list[JsonObject]", body["messages"]) if message.get("tool_calls")]
        left = [*self._given]
        for message in reversed(asked):
            missing = ""
            while left and (missing := _missing_in(message, left.pop())):
                pass  # an answer that was broken off isn't there
            if missing:
                raise RefusedError(400, f"The {missing} in the thinking mode must be passed back to the API.")
        for tool in body.get("tools") or ():
            _check_types(tool["function"]["parameters"], f"tools.{tool['function']['name']}")

    def _given_with(self, turn: Turn, number: int) -> JsonObject:
        """Return what this server gives beside a turn's calls."""
        details = [{"type": "reasoning.text", "text": turn.thought, "signature": f"sig{number}", "index": 0}]
        fields: dict[str, JsonObject] = {
            "reasoning_content": {"reasoning_content": turn.thought},
            "reasoning_details": {"reasoning": turn.thought, "reasoning_details": details},
            "extra_content": {"extra_content": {"google": {"thought_signature": f"sig{number}=="}}},
        }
        given = fields.get(self._thinks_as, {})
        if turn.calls:
            self._given.append(given)
        return given

    def play(self, request: OpenAIRequest, turn: Turn, reply: Reply) -> None:
        """Answer."""
        if turn.fault in _REFUSALS:
            status, body = _REFUSALS[turn.fault]
            reply.send(status, msgspec.json.encode(body))
        elif request.body.get("stream"):
            self._stream(turn, reply, self._given_with(turn, len(self.requests)))
        else:
            calls = [_whole_call(turn, index, self._style) for index in range(len(turn.calls))]
            message: JsonObject = {"role": "assistant", "content": turn.text or None}
            message |= {"tool_calls": calls} if calls else {}
            choice = {"index": 0, "message": message, "finish_reason": _finish_of(turn)}
            reply.send(200, msgspec.json.encode(_completion(choices=[choice], usage=_usage_of(turn))))

    def _stream(self, turn: Turn, reply: Reply, given: JsonObject) -> None:
        reply.begin()
        for delta in _deltas_of(turn, self._style, given):
            reply.chunk(_event(delta))
        if turn.fault == "cut":
            reply.cut()
        if turn.fault == "error-event":
            reply.chunk(b'data: {"error":{"message":"out of memory","code":500}}\n\n')
        elif turn.fault not in ("no-finish", "done-only"):
            reply.chunk(_event({}, _finish_of(turn)))
            reply.chunk(_data(_completion(choices=[], usage=_usage_of(turn))))
        if turn.fault != "no-finish":
            reply.chunk(b"data: [DONE]\n\n")
        reply.end()


def _deltas_of(turn: Turn, style: str, given: JsonObject) -> list[JsonObject]:
    deltas: list[JsonObject] = [{"role": "assistant", "content": ""}]
    if "reasoning_details" in given:
        (whole,) = given["reasoning_details"]
        for piece in pieces_of(turn.thought, turn.pieces):
            part = {"type": whole["type"], "index": 0, "text": piece}
            deltas.append({"reasoning": piece, "reasoning_details": [part]})
        deltas.append({"reasoning_details": [{**whole, "text": ""}]})
    else:
        deltas += [{"reasoning_content": piece} for piece in pieces_of(turn.thought, turn.pieces)]
    deltas += [{"content": piece} for piece in pieces_of(turn.text, turn.pieces)]
    for index in range(len(turn.calls)):
        first, *rest = _call_pieces(turn, index, style)
        if not index and "extra_content" in given:
            first |= {"extra_content": given["extra_content"]}
        deltas += [{"tool_calls": [piece]} for piece in (first, *rest)]
    return deltas


def _missing_in(message: JsonObject, given: JsonObject) -> str:
    """Return a field that was given with calls and isn't in the message as it was."""
    calls = cast("list[JsonObject]", message["tool_calls"])
    places = {field: calls[0] if field == "extra_content" else message for field in given}
    return next((field for field, value in given.items() if places[field].get(field) != value), "")


def _check_fields(body: JsonObject) -> None:
    """Check that there are known fields alone."""
    if unknown := body.keys() - _KNOWN:
        raise RefusedError(400, f"Unrecognized request argument supplied: {min(unknown)}")
    for at, message in enumerate(cast("list[JsonObject]", body["messages"])):
        if unknown := message.keys() - _KNOWN_OF_MESSAGES[message.get("role", "")]:
            raise RefusedError(400, f"Additional properties are not allowed ('{min(unknown)}' was unexpected) - {at}")
        for call in message.get("tool_calls") or ():
            if unknown := call.keys() - {"id", "type", "function", "extra_content"}:
                raise RefusedError(400, f"Unknown parameter: 'messages[{at}].tool_calls[0].{min(unknown)}'.")
    for tool in body.get("tools") or ():
        if unknown := tool["function"].keys() - {"name", "description", "parameters", "strict"}:
            raise RefusedError(400, f"Unknown parameter: 'tools[0].function.{min(unknown)}'.")


def _check_types(schema: JsonObject, where: str) -> None:
    """Check that each schema has a type, or a choice whose branches have one, as Moonshot does."""
    if "anyOf" in schema:
        if "type" in schema:
            raise RefusedError(400, f"At path '{where}': when using anyOf, type should be defined in anyOf items.")
        for branch in schema["anyOf"]:
            _check_types(branch, f"{where}.anyOf")
        return
    if "type" not in schema:
        raise RefusedError(400, f"At path '{where}': type is not defined")
    for name, inner in cast("JsonObject", schema.get("properties") or {}).items():
        _check_types(inner, f"{where}.properties.{name}")
    if "items" in schema:
        _check_types(schema["items"], f"{where}.items")


def _check(messages: Sequence[JsonObject]) -> None:
    """Check roles, and that each call is answered by a tool message of its id right after it."""
    waiting: list[str] = []
    for message in messages:
        if message.get("role") != "tool":
            _check_nothing_waits(waiting)
            waiting = _check_message(message)
        elif message.get("tool_call_id") in waiting:
            waiting.remove(message["tool_call_id"])
        else:
            raise RefusedError(
                400, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
            )
    _check_nothing_waits(waiting)


def _check_nothing_waits(waiting: Sequence[str]) -> None:
    if waiting:
        raise RefusedError(400, f"An assistant message with 'tool_calls' must be followed by tool messages: {waiting}")


def _check_message(message: JsonObject) -> list[str]:
    """Check a message that is no answer, and return the ids of its calls."""
    if message.get("role") not in ("system", "user", "assistant"):
        raise RefusedError(
            400, f"Invalid role {message.get('role')!r}: supported are system, assistant, user and tool."
        )
    calls = cast("list[JsonObject]", message.get("tool_calls") or [])
    if message.get("content") is None and not calls:
        raise RefusedError(400, "Invalid value for 'content': expected a string, got null.")
    if not all(isinstance(call["function"]["arguments"], str) for call in calls):
        raise RefusedError(400, "Invalid type for 'function.arguments': expected a string.")
    return [call["id"] for call in calls]


def _completion(**fields: Any) -> JsonObject:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake", **fields}


def _data(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def _event(delta: JsonObject, finish: str | None = None) -> bytes:
    return _data(_completion(choices=[{"index": 0, "delta": delta, "finish_reason": finish}]))


def _whole_call(turn: Turn, index: int, style: str) -> JsonObject:
    call = turn.calls[index]
    arguments: object = dict(call.args) if style == "object" else msgspec.json.encode(dict(call.args)).decode()
    whole: JsonObject = {"type": "function", "function": {"name": call.name, "arguments": arguments}}
    return whole if style == "object" else {"id": call.id or f"call_{index}", **whole}


def _call_pieces(turn: Turn, index: int, style: str) -> list[JsonObject]:
    whole = _whole_call(turn, index, style)
    if style == "object":
        return [whole]
    if style == "ollama":
        return [{"index": index, **whole}]
    place: JsonObject = {} if style == "no-index" else {"index": 0 if style == "index-0" else index}
    pieces = pieces_of(whole["function"]["arguments"], max(3, turn.pieces))
    first = {**place, **whole, "function": {"name": whole["function"]["name"], "arguments": ""}}
    return [first, *({**place, "function": {"arguments": piece}} for piece in pieces)]


def _finish_of(turn: Turn) -> str:
    return _FINISH.get(turn.finish) or ("tool_calls" if turn.calls else "stop")


def _usage_of(turn: Turn) -> JsonObject:
    thoughts = len(turn.thought) // 4
    output = len(turn.text) // 4 + thoughts
    total = turn.prompt_tokens + output
    usage: JsonObject = {"prompt_tokens": turn.prompt_tokens, "completion_tokens": output, "total_tokens": total}
    return {**usage, "completion_tokens_details": {"reasoning_tokens": thoughts}}
