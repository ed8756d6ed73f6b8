"""A Gemini server for tests: the real wire on loopback, answers as scripted, requests checked as the real one does.

Run by itself, `python -m dogu.testing.fake_gemini TEXT...` prints its address and answers each request with the next
text, the last one for ever.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from dogu.testing.fake_gemini_faults import FAULTS, chunk_of, error_of, event_of, play
from dogu.testing.fake_gemini_rules import RefusedError, camel, check_request
from dogu.testing.turn import Call, Turn, pieces_of
from dogu.testing.wire_server import Reply, Served, WireRequest, WireServer

JsonObject: TypeAlias = dict[str, Any]
_PATH = re.compile(
    r"/(?P<version>v1|v1beta|v1beta1|v1alpha)/(?:projects/[^/]+/locations/[^/]+/)?(?:publishers/google/)?"
    r"(?:models|tunedModels)/(?P<model>[^/:]+):(?P<method>\w+)"
)


_LISTS = {"/v1/models": "models", "/v1beta/models": "models", "/v1beta1/publishers/google/models": "publisherModels"}


class GeminiRequest(msgspec.Struct, frozen=True):
    """A request that was received; `body` is in camelCase, whatever was sent, `raw` as it came."""

    model: str
    method: str
    version: str
    headers: dict[str, str]
    body: JsonObject
    raw: bytes

    @property
    def contents(self) -> list[JsonObject]:
        """The history."""
        return cast("list[JsonObject]", self.body.get("contents") or [])

    @property
    def system(self) -> str:
        """The text of the system instruction."""
        return _text_of(cast("JsonObject", self.body.get("systemInstruction") or {}))

    @property
    def prompt(self) -> str:
        """The text of the last content."""
        return _text_of(self.contents[-1]) if self.contents else ""

    @property
    def responses(self) -> list[JsonObject]:
        """The FunctionResponses of the last content, in order."""
        parts = _parts_of(self.contents[-1]) if self.contents else []
        return [part["functionResponse"] for part in parts if "functionResponse" in part]

    @property
    def tool_names(self) -> list[str]:
        """The names of the functions declared."""
        tools = cast("list[JsonObject]", self.body.get("tools") or [])
        return [declared["name"] for tool in tools for declared in tool.get("functionDeclarations", ())]

    @property
    def server_tools(self) -> list[str]:
        """The server's own tools that were switched on, such as `googleSearch`."""
        tools = cast("list[JsonObject]", self.body.get("tools") or [])
        return [name for tool in tools for name in tool if name != "functionDeclarations"]


def _parts_of(content: JsonObject) -> list[JsonObject]:
    return cast("list[JsonObject]", content.get("parts") or [])


def _text_of(content: JsonObject) -> str:
    return "".join(part.get("text", "") for part in _parts_of(content))


Answerer: TypeAlias = Callable[[GeminiRequest], Turn | str]
GeminiTurn: TypeAlias = Turn | str | Answerer


class FakeGemini(Served):
    """A context manager that serves while it is open.

    `turns` is a list of turns, answered in order, or a function that makes each turn from its request. A model named
    as a fault (`FAULTS`) answers with that fault and uses up no turn. `requests` holds what was received, `problems`
    what the real server would refuse (and this one did). With `key`, another key is refused.
    """

    def __init__(self, turns: Iterable[GeminiTurn] | Answerer = (), *, key: str = "") -> None:
        self.requests: list[GeminiRequest] = []
        self.problems: list[str] = []
        self._answerer = turns if callable(turns) else None
        self._turns = iter(()) if callable(turns) else iter(turns)
        self._key = key
        self._seen: dict[str, int] = {}
        self._lock = threading.Lock()
        self.server = WireServer(self._answer)

    @property
    def base_url(self) -> str:
        """The address to give as `GOOGLE_GEMINI_BASE_URL`."""
        return self.server.url

    def _answer(self, wire: WireRequest, reply: Reply) -> None:
        match = _PATH.fullmatch(wire.path)
        if wire.method == "GET" and wire.path in _LISTS:
            self._list(_LISTS[wire.path], wire, reply)
            return
        if match is None or wire.method != "POST":
            reply.send(
                404, msgspec.json.encode(error_of(404, "NOT_FOUND", f"No such method: {wire.method} {wire.path}"))
            )
            return
        try:
            self._check_key(wire)
            request = self._received(wire, match)
            turn = self._next_turn(request)
        except RefusedError as error:
            self.problems.append(str(error))
            code = 403 if "unregistered" in str(error) else 400
            status = "PERMISSION_DENIED" if code == 403 else "INVALID_ARGUMENT"
            reply.send(code, msgspec.json.encode(error_of(code, status, str(error))))
            return
        if request.method == "countTokens":
            reply.send(200, msgspec.json.encode({"totalTokens": len(request.raw) // 4}))
            return
        self._play(request, turn, wire.query.get("alt") == "sse", reply)

    def _list(self, field: str, wire: WireRequest, reply: Reply) -> None:
        """List models as the Gemini API does, or as Vertex AI does, which has others' and other kinds among them."""
        try:
            self._check_key(wire)
        except RefusedError as error:
            reply.send(403, msgspec.json.encode(error_of(403, "PERMISSION_DENIED", str(error))))
            return
        place = "models/" if field == "models" else "publishers/google/models/"
        rows: list[JsonObject] = [{"name": place + name} for name in ("gemini-2.5-pro", "gemini-2.5-flash", "veo-3")]
        if field == "models":
            for row, method in zip(rows, ("generateContent", "generateContent", "predict"), strict=True):
                row["supportedGenerationMethods"] = [method]
        reply.send(200, msgspec.json.encode({field: rows}))

    def _check_key(self, wire: WireRequest) -> None:
        key = wire.headers.get("x-goog-api-key") or wire.query.get("key") or ""
        if not key and not wire.headers.get("authorization", "").startswith("Bearer "):
            raise RefusedError("Method doesn't allow unregistered callers (callers without established identity).")
        if self._key and key != self._key:
            raise RefusedError("API key not valid. Please pass a valid API key.")

    def _received(self, wire: WireRequest, match: re.Match[str]) -> GeminiRequest:
        try:
            body = cast("JsonObject", camel(msgspec.json.decode(wire.body, type=dict[str, Any])))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RefusedError(f"Invalid JSON payload received. {error}") from None
        method = match["method"]
        if method == "countTokens":
            body = cast("JsonObject", body.get("generateContentRequest") or body)
            body = {field: value for field, value in body.items() if field != "model"}
        elif method not in ("generateContent", "streamGenerateContent"):
            raise RefusedError(f"Unknown method {method}")
        request = GeminiRequest(match["model"], method, match["version"], dict(wire.headers), body, wire.body)
        with self._lock:
            self.requests.append(request)
        check_request(body, _generation(request.model))
        return request

    def _next_turn(self, request: GeminiRequest) -> Turn:
        if request.method == "countTokens":
            return Turn()
        with self._lock:
            seen = self._seen[request.model] = self._seen.get(request.model, 0) + 1
            if request.model == "e429-then-ok":
                return Turn(fault="e429") if seen <= 2 else Turn(text="ok")
            if request.model in FAULTS:
                return Turn(fault=request.model)
            turn = self._answerer or next(self._turns, None)
            if turn is None:
                raise RefusedError(f"The script has no turn for request {len(self.requests)}.")
            made = turn(request) if callable(turn) else turn
        return Turn(text=made) if isinstance(made, str) else made

    def _play(self, request: GeminiRequest, turn: Turn, sse: bool, reply: Reply) -> None:
        reply.wait(turn.delay_s)
        if turn.hangs:
            reply.stall()
        if turn.fault:
            play(turn.fault, reply)
            return
        chunks = _chunks_of(turn, _generation(request.model), len(self.requests))
        if request.method == "generateContent":
            reply.send(200, msgspec.json.encode(_joined(chunks)))
        elif sse:
            reply.begin()
            for chunk in chunks:
                reply.chunk(event_of(chunk))
                reply.wait(turn.pace_s)
            reply.end()
        else:
            reply.begin("application/json")
            reply.chunk(b"[" + b"\n,\r\n".join(msgspec.json.encode(chunk) for chunk in chunks) + b"]")
            reply.end()


def _chunks_of(turn: Turn, generation: int, number: int) -> list[JsonObject]:
    """Make the chunks of a stream: each piece one, the calls in one, the last with the finish reason and the counts."""
    groups: list[list[JsonObject]] = [
        [{"text": piece, "thought": True}] for piece in pieces_of(turn.thought, turn.pieces)
    ]
    groups += [[{"text": piece}] for piece in pieces_of(turn.text, turn.pieces)]
    calls = [
        {"functionCall": _call_json(call, generation, f"fake-{number}-{index}")}
        for index, call in enumerate(turn.calls)
    ]
    if calls:
        groups.append(cast("list[JsonObject]", calls))
    if turn.parts:
        groups.append([dict(part) for part in turn.parts])
    if generation >= 3:
        _sign(groups)
    thoughts, output = len(turn.thought) // 4, len(turn.text) // 4
    counts = {"promptTokenCount": turn.prompt_tokens, "candidatesTokenCount": output, "thoughtsTokenCount": thoughts}
    counts["totalTokenCount"] = turn.prompt_tokens + output + thoughts
    last = groups.pop() if groups else []
    final = chunk_of(last, turn.finish, usageMetadata=counts)
    final["candidates"][0].update(turn.metadata)
    return [*(chunk_of(group) for group in groups), final]


def _call_json(call: Call, generation: int, own_id: str) -> JsonObject:
    call_id = call.id or (own_id if generation >= 3 else "")
    return {**({"id": call_id} if call_id else {}), "name": call.name, "args": dict(call.args)}


def _sign(groups: list[list[JsonObject]]) -> None:
    """Put the thought signature where Gemini 3 does: on the first call, else on an empty text at the end."""
    first = next((part for group in groups for part in group if "functionCall" in part), None)
    if first is not None:
        first.setdefault("thoughtSignature", "c2lnbmVkIGNhbGw=")
    else:
        groups.append([{"text": "", "thoughtSignature": "c2lnbmVkIHRleHQ="}])


def _joined(chunks: Sequence[JsonObject]) -> JsonObject:
    """Make the one answer of generateContent."""
    parts = [part for chunk in chunks for part in chunk["candidates"][0].get("content", {}).get("parts", ())]
    last = chunks[-1]
    joined = chunk_of(parts, usageMetadata=last["usageMetadata"])
    joined["candidates"][0].update({**last["candidates"][0], **joined["candidates"][0]})
    return joined


def _generation(model: str) -> int:
    match = re.match(r"gemini-(\d+)", model)
    return int(match[1]) if match else 2


def _serve_forever(texts: Sequence[str]) -> None:
    queue = list(texts) or ["ok"]
    with FakeGemini(lambda _: queue.pop(0) if len(queue) > 1 else queue[0]) as fake:
        print(fake.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    import sys

    _serve_forever(sys.argv[1:])
