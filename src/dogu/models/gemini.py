"""Gemini over its own REST wire: the Gemini API with a key, or Vertex AI with Google's credentials."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import told
from dogu.models.addresses import GOOGLE, endpoint
from dogu.models.contents import RawContent, user_content, with_hint
from dogu.models.events import ModelError, ModelErrorKind, ModelEvent
from dogu.models.gemini_answer import GeminiAnswer
from dogu.models.gemini_errors import explain_refusal
from dogu.models.gemini_wire import TokenCount, declared, request_body, taken_back
from dogu.models.http_model import read_answer
from dogu.models.key import Key
from dogu.models.options import ModelOptions, merged
from dogu.models.retry import with_retries
from dogu.models.schemas import GEMINI
from dogu.models.translation import Tools
from dogu.models.transport_errors import HttpCall, HttpRefusal

if TYPE_CHECKING:
    from dogu.models.transport import Transport

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
            message = told("There is no Gemini key: set GEMINI_API_KEY (get one at aistudio.google.com/apikey).")
            raise ModelError(ModelErrorKind.AUTH, message)
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
        self._taken: dict[RawContent, RawContent] = {}

    @cached_property
    def _transport(self) -> Transport:
        from dogu.models.transport import Transport  # httpx2 comes with it, which no first prompt waits for

        return Transport(self._options.timeouts, self._options.proxy)

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
        contents = self._taken_back(history)
        rest = self._rest(declarations)

        def attempt(hint: str) -> AsyncGenerator[ModelEvent, None]:
            return self._attempt(request_body(system, with_hint(contents, hint), rest))

        return aclosing(with_retries(attempt, self._options.retry))

    async def count_tokens(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> int:
        """Ask the server how many tokens a request would have. Raises `ModelError`."""
        rest: dict[str, Any] = {}
        if tools := self._tools.encoded(declarations):
            rest["tools"] = [{"functionDeclarations": tools}]
        body = request_body(system, self._taken_back(history), rest)
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
        body = request_body("", [content], rest)
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
        return HttpCall(url, await self._access.headers(), body)

    def _explain(self, refusal: HttpRefusal) -> ModelError:
        body = self._access.redact(refusal.body.decode("utf-8", "replace")).encode()
        return explain_refusal(HttpRefusal(refusal.status, refusal.headers, body), self.name)

    def _taken_back(self, history: Sequence[RawContent]) -> Sequence[RawContent]:
        """Return the history as this wire takes it, each content looked at once."""
        known = self._taken
        self._taken = {
            content: known.get(content) or taken_back(content, needs_signature=self._is_third) for content in history
        }
        return [self._taken[content] for content in history]

    def _rest(self, declarations: Sequence[FunctionDeclaration]) -> dict[str, Any]:
        """Return what a request has beside the conversation."""
        options = self._options
        config = {
            "temperature": options.temperature,
            "topP": options.top_p,
            "seed": options.seed,
            "maxOutputTokens": options.max_output_tokens,
            "thinkingConfig": self._thinking() or None,
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
