"""Gemini over its own REST wire: the Gemini API with a key, or Vertex AI with Google's credentials."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import quote

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import joined, told
from dogu.models.addresses import GOOGLE, endpoint
from dogu.models.answer_shape import GEMINI as SHAPES
from dogu.models.answer_shape import AnswerShape
from dogu.models.call_arguments import NO_NAME, UNNAMED, call_id_of, read_arguments, sound_name
from dogu.models.contents import Kept, RawContent, user_content, with_hint
from dogu.models.counts import Counts
from dogu.models.endings import cut_before_words, empty, ending_of, unfinished
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
from dogu.models.gemini_errors import blocked_prompt, explain_refusal, stream_error
from dogu.models.gemini_wire import (
    NO_SIGNATURE,
    PlainText,
    TokenCount,
    WireCandidate,
    WireChunk,
    WireFunctionCall,
    WirePart,
    declared,
    request_body,
    taken_back,
)
from dogu.models.http_model import read_answer
from dogu.models.key import Key
from dogu.models.options import ModelOptions, merged
from dogu.models.reading import Answer, Followed, Mending, decoded
from dogu.models.refusals import is_error
from dogu.models.retry import with_retries
from dogu.models.schemas import GEMINI
from dogu.models.translation import Tools
from dogu.models.transport_errors import HttpCall, HttpRefusal

if TYPE_CHECKING:
    from dogu.models.transport import Transport

_KNOWN_FIELDS = frozenset(("text", "thought", "thoughtSignature", "functionCall"))


class GeminiAnswer(Answer):
    """An answer as it grows: `absorb` each chunk, then `finish`.

    With `needs_signature` the model takes its calls back only with a thought signature on the first of them.
    """

    def __init__(self, tools: Tools | None = None, *, needs_signature: bool = False) -> None:
        self._tools = tools or Tools(GEMINI)
        self._mending = Mending()
        self._needs_signature = needs_signature
        self._followed = Followed[WireCandidate]()
        self._parts: list[bytes] = []  # encoded, as they will stand in the history
        self._plain: list[str] = []  # pieces of the plain text that grows now
        self._plain_is_thought = False
        self._has_substance = False  # more than thoughts
        self._calls: list[FunctionCallEvent] = []
        self._counts = Counts()
        self._finish = ""
        self._finish_message = ""
        self._block = ""
        self._chunks = 0

    def is_complete(self) -> bool:
        """Whether a finish reason has come."""
        return bool(self._finish or self._block)

    def _absorb(self, payload: bytes) -> list[ModelEvent]:
        chunk = decoded(self._mending.mend(payload), WireChunk)  # its parts stay encoded, whatever is in them
        pieces: list[PlainText] = []
        if chunk is not None:
            self._absorb_chunk(chunk, pieces)
        return [ThoughtDelta(piece.text) if piece.thought else TextDelta(piece.text) for piece in pieces]

    def finish(self) -> list[ModelEvent]:
        """Return the calls, the usage and `Finished`.

        Raises:
            ModelError: SAFETY, BLOCKED, INCOMPLETE or MALFORMED when this is no answer.
        """
        self._end_plain()
        if self._block:
            raise blocked_prompt(self._block)
        if not self._finish:
            raise unfinished() if self._chunks else _none_at_all()
        reason, note = ending_of(self._finish, self._finish_message)
        if not self._has_substance:
            if reason is not FinishReason.LENGTH:
                raise empty(self._finish)
            note = cut_before_words(self._finish)
            self._parts.append(b'{"text":""}')
        content = b'{"role":"model","parts":[' + b",".join(self._parts) + b"]}"
        calls = tuple(self._calls)
        notes = joined(" ", filter(None, (note, self._tools.problem())))
        return [*calls, self.usage(), Finished(reason, content, calls, notes)]

    def usage(self) -> Usage:
        """Return what the server has counted so far."""
        return self._counts.usage()

    def _absorb_chunk(self, chunk: WireChunk, pieces: list[PlainText]) -> None:
        if is_error(chunk.error):
            raise stream_error(msgspec.json.encode(chunk.error))
        feedback = chunk.prompt_feedback
        if feedback and feedback.block_reason:
            self._block = ": ".join(filter(None, (feedback.block_reason, feedback.block_reason_message)))
        self._counts.take(chunk.usage_metadata)
        if not chunk.candidates:
            return
        self._chunks += 1
        candidate = self._followed.among(chunk.candidates)
        if candidate is None:
            return
        for raw in (candidate.content and candidate.content.parts) or ():
            self._absorb_part(raw, pieces)
        self._finish = candidate.finish_reason or self._finish
        self._finish_message = candidate.finish_message or self._finish_message

    def _absorb_part(self, raw: msgspec.Raw, pieces: list[PlainText]) -> None:
        try:
            plain = msgspec.json.decode(raw, type=PlainText)
        except msgspec.ValidationError:
            self._absorb_other(raw, pieces)
            return
        self.heard += bool(plain.text)
        pieces.append(plain)
        if plain.thought != self._plain_is_thought:
            self._end_plain()
            self._plain_is_thought = plain.thought
        self._plain.append(plain.text)

    def _absorb_other(self, raw: msgspec.Raw, pieces: list[PlainText]) -> None:
        """Keep a part byte for byte, unless it is a call that the wire would not take back."""
        found = _other_part(raw)
        if found is None:
            return
        part, encoded = found
        self.heard += 1
        self._end_plain()
        if part.text:
            pieces.append(PlainText(part.text, bool(part.thought)))
        if not part.thought and (part.text is None or part.text.strip()):
            self._has_substance = True
        if part.function_call is not None:
            is_unsigned = self._needs_signature and not self._calls and not part.thought_signature
            encoded = self._absorb_call(
                encoded, part.function_call, {"thoughtSignature": NO_SIGNATURE} if is_unsigned else {}
            )
        self._parts.append(encoded)

    def _absorb_call(self, encoded: bytes, call: WireFunctionCall, more: dict[str, str]) -> bytes:
        """Note the call and return its part with an id of its own, a name, arguments that are an object, and `more`."""
        args, problem = read_arguments(bytes(call.args))
        if not call.name:
            args, problem = None, NO_NAME
        taken = {known.call_id for known in self._calls}
        call_id = call_id_of(call.id, taken)
        event = FunctionCallEvent(call_id, self._tools.name_of(call.name or UNNAMED), args, problem)
        self._calls.append(event)
        name = sound_name(event.name)  # what the wire takes back; the call is answered by what was asked for
        is_sound = call.id == call_id and call.name == name and bytes(call.args)[:1] == b"{"
        if is_sound and not more:
            return encoded
        part = cast("dict[str, Any]", msgspec.json.decode(encoded))
        part["functionCall"] |= {"id": call_id, "name": name, "args": args or {}}
        return msgspec.json.encode(part | more)

    def _end_plain(self) -> None:
        text = "".join(self._plain)
        self._plain = []
        if text:
            part = {"text": text, "thought": True} if self._plain_is_thought else {"text": text}
            self._parts.append(msgspec.json.encode(part))
            self._has_substance = self._has_substance or bool(text.strip() and not self._plain_is_thought)


def _other_part(raw: msgspec.Raw) -> tuple[WirePart, bytes] | None:
    """Read a part, and return it as it is kept; an unknown kind has no known field, one that holds nothing is None."""
    try:
        fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return None
    present = {field for field, value in fields.items() if bytes(value) != b"null"}
    if not present - {"thought"}:
        return None
    if not present & {"text", "functionCall"}:
        return WirePart(), bytes(raw)
    try:
        return msgspec.json.decode(raw, type=WirePart), bytes(raw)
    except msgspec.ValidationError:
        return _mended_part(fields, bytes(raw))


def _mended_part(fields: dict[str, msgspec.Raw], raw: bytes) -> tuple[WirePart, bytes] | None:
    """Read a part whose known fields aren't all what they should be, and write those that are."""
    part = decoded(raw, WirePart)
    if part is None or (part.text is None and part.function_call is None):
        return None
    kept: dict[str, Any] = {name: value for name, value in fields.items() if name not in _KNOWN_FIELDS}
    known = {"text": part.text, "thought": part.thought, "thoughtSignature": part.thought_signature}
    kept |= {name: value for name, value in known.items() if value is not None}
    if (call := part.function_call) is not None:
        named = {"id": call.id, "name": call.name}
        args = {"args": call.args} if bytes(call.args) else {}
        kept["functionCall"] = {name: value for name, value in named.items() if value is not None} | args
    return part, msgspec.json.encode(kept)


def _none_at_all() -> ModelError:
    message = told("The server ended the stream without an answer.")
    return ModelError(ModelErrorKind.INCOMPLETE, message, most_tries=3)


_VERSION = "v1beta"


class Access(Protocol):
    """Where the model is and who asks. `wraps_count_request`: countTokens takes the request in an object of its own."""

    wraps_count_request: bool

    def url(self, model: str, version: str, method: str) -> str:
        """Return the address of a method of the model."""
        ...

    async def headers(self) -> dict[str, str]:
        """Return what proves who asks. Raises `ModelError` (AUTH)."""
        ...

    def redact(self, text: str) -> str:
        """Return the text without the secret."""
        ...


class KeyAccess:
    """The Gemini API, or a server that speaks like it, with an API key."""

    wraps_count_request = True

    def __init__(self, key: str | Key, base_url: str = "") -> None:
        self._key = key if isinstance(key, Key) else Key(key, variable="GEMINI_API_KEY")
        self._base_url = base_url or GOOGLE

    def url(self, model: str, version: str, method: str) -> str:
        """Return the address of a method of the model."""
        path = model if "/" in model else f"models/{model}"
        return endpoint(self._base_url, f"/{version}/{quote(path)}:{method}")

    async def headers(self) -> dict[str, str]:
        """Return the key's header."""
        key = await self._key.text()
        if not key:
            advice = told("Set GEMINI_API_KEY (get one at aistudio.google.com/apikey).")
            raise ModelError(ModelErrorKind.AUTH, told("There is no Gemini key."), advice=advice)
        return {"x-goog-api-key": key}

    def redact(self, text: str) -> str:
        """Return the text without the key."""
        return self._key.redact(text)


class Gemini:
    """A Gemini model. `name` is the wire's name of it (`gemini-2.5-flash`, `models/...`, `tunedModels/...`)."""

    def __init__(self, name: str, access: Access, options: ModelOptions | None = None) -> None:
        self.name = name.removeprefix("models/")
        self._access = access
        self._options = options or ModelOptions()
        self._is_third = _generation(self.name) >= (3, 0)
        self._tools = Tools(GEMINI, declared, longest_name=128)
        self._shape = AnswerShape(SHAPES, goes_with_tools=self._is_third)
        self._kept = Kept(self._taken_back)
        self._keeps_signatures = True

    @cached_property
    def _transport(self) -> Transport:
        from dogu.models.transport import Transport  # httpx2 comes with it, which no first prompt waits for

        return Transport(self._options.timeouts, self._options.proxy, self._options.hear_headers)

    def __repr__(self) -> str:
        return f"Gemini({self.name!r})"

    @property
    def takes_media_in_answers(self) -> bool:
        """Whether this is Gemini 3 or later."""
        return self._is_third

    def stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Ask for the next content; see `Model.stream`."""
        contents = tuple(history)

        async def attempt(hint: str) -> AsyncGenerator[ModelEvent, None]:
            while True:
                said = self._kept.joined(with_hint(contents, hint))
                try:
                    async with aclosing(self._attempt(request_body(system, said, self._rest(declarations)))) as events:
                        async for event in events:
                            yield event
                    return
                except ModelError as error:
                    error.redact(self._access.redact)
                    if not self._learns(error):
                        raise

        return aclosing(with_retries(attempt, self._options.retry))

    async def count_tokens(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> int:
        """Ask the server how many tokens a request would have. Raises `ModelError`."""
        rest: dict[str, Any] = {}
        if tools := self._tools.encoded(declarations):
            rest["tools"] = [{"functionDeclarations": tools}]
        body = request_body(system, self._kept.joined(history), rest)
        if self._access.wraps_count_request:
            model = b'"model":' + msgspec.json.encode(f"models/{self.name}") + b","
            body = b'{"generateContentRequest":{' + model + body[1:] + b"}"
        answer = await self._transport.post(await self._call("countTokens", body), self._explain)
        try:
            return msgspec.json.decode(answer, type=TokenCount).total_tokens
        except msgspec.DecodeError:
            raise ModelError(ModelErrorKind.MALFORMED, told("The server's count of tokens can't be read.")) from None

    @property
    def server_tools(self) -> frozenset[str]:
        """The tools of its own that the server offers this model (`googleSearch`, `urlContext`)."""
        generation = _generation(self.name)
        search = {"googleSearch"} if generation >= (2, 0) else set[str]()
        return frozenset(search | ({"urlContext"} if generation >= (2, 5) else set[str]()))

    async def ask_with(self, server_tool: str, prompt: str) -> bytes:
        """Ask once, outside of any conversation, with a tool of the server's own; return its GenerateContentResponse.

        Tried again as often as makes sense. Raises `ModelError`.
        """
        content = user_content(prompt)
        rest: dict[str, Any] = {**self._rest([]), "tools": [{server_tool: {}}]}  # it doesn't go with declarations
        body = request_body("", content, rest)
        answer = b""

        async def attempt(_hint: str) -> AsyncGenerator[ModelEvent, None]:
            nonlocal answer
            answer = await self._transport.post(await self._call("generateContent", body), self._explain)
            return
            yield  # a generator, as tries are

        async with aclosing(with_retries(attempt, self._options.retry)) as tries:
            async for _ in tries:
                pass
        return answer

    async def aclose(self) -> None:
        """Close the connections."""
        if "_transport" in vars(self):
            await self._transport.aclose()

    async def _attempt(self, body: bytes) -> AsyncGenerator[ModelEvent, None]:
        """Send once, and give the events of the answer."""
        method = "streamGenerateContent?alt=sse" if self._options.streams else "generateContent"
        call = await self._call(method, body)
        answer = GeminiAnswer(self._tools, needs_signature=self._is_third)
        payloads = self._transport.events(call, self._explain, answer)
        async with aclosing(read_answer(answer, payloads)) as events:
            async for event in events:
                yield event

    async def _call(self, method: str, body: bytes) -> HttpCall:
        url = self._access.url(self.name, _VERSION, method)
        return HttpCall(url, await self._access.headers() | dict(self._options.headers), body)

    def _explain(self, refusal: HttpRefusal) -> ModelError:
        body = self._access.redact(refusal.body.decode("utf-8", "replace")).encode()
        return explain_refusal(HttpRefusal(refusal.status, refusal.headers, body), self.name)

    def _learns(self, error: ModelError) -> bool:
        """Take a refusal as a lesson about this server; whether the request is worth sending again at once."""
        if error.kind is not ModelErrorKind.BAD_REQUEST:
            return False
        if self._keeps_signatures and re.search(r"thought[ _]?signature", error.message, re.IGNORECASE):
            self._keeps_signatures = False  # another key's, region's or server's
            self._kept.go_back()
            return True
        return self._shape.is_lesson()

    def _taken_back(self, content: RawContent) -> RawContent:
        return taken_back(content, needs_signature=self._is_third, keeps_signatures=self._keeps_signatures)

    def _rest(self, declarations: Sequence[FunctionDeclaration]) -> dict[str, Any]:
        """Return what a request has beside the conversation."""
        options = self._options
        shape, declarations = self._shape.split(declarations)
        config = {
            "temperature": options.temperature,
            "topP": options.top_p,
            "seed": options.seed,
            "maxOutputTokens": options.max_output_tokens,
            "thinkingConfig": self._thinking() or None,
            "responseMimeType": "application/json" if shape is not None else None,
            "responseJsonSchema": shape,
        }
        rest: dict[str, Any] = {}
        if tools := self._tools.encoded(declarations):
            rest["tools"] = [{"functionDeclarations": tools}]
        if config := {name: value for name, value in config.items() if value is not None}:
            rest["generationConfig"] = config
        return merged(rest, options.body)

    def _thinking(self) -> dict[str, Any]:
        """Say how much to think: Gemini 3 in levels, 2.5 in tokens.

        Source: ai.google.dev/gemini-api/docs/thinking.
        """
        generation, effort = _generation(self.name), self._options.effort
        shown: dict[str, Any] = {"includeThoughts": True} if generation >= (2, 5) else {}
        if not effort or not shown:
            return shown
        if not self._is_third:
            budgets = {"none": 128 if "pro" in self.name else 0, "low": 1024, "medium": 8192, "high": 24_576}
            return {**shown, "thinkingBudget": budgets[effort]}
        has_no_medium = generation == (3, 0) and "pro" in self.name
        levels = {"none": "low", "medium": "high" if has_no_medium else "medium"}
        return {**shown, "thinkingLevel": levels.get(effort, effort)}


def _generation(name: str) -> tuple[int, int]:
    """Return the version in a model's name; (0, 0) for one without, a thinking one's for `gemini-flash-latest`."""
    if re.fullmatch(r"gemini-[a-z-]+-latest", name):
        return (2, 5)
    match = re.search(r"gemini-(\d+)(?:\.(\d+))?", name)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)
