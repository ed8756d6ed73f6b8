"""Gemini over its own REST wire: the Gemini API with a key, or Vertex AI with Google's credentials."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import told
from dogu.models.addresses import GOOGLE
from dogu.models.contents import RawContent, user_content
from dogu.models.events import ModelError, ModelErrorKind, ModelEvent
from dogu.models.gemini_answer import GeminiAnswer
from dogu.models.gemini_errors import explain_refusal
from dogu.models.gemini_wire import TokenCount, request_body, with_hint
from dogu.models.key import Key
from dogu.models.retry import RetryPolicy, with_retries
from dogu.models.transport import HttpCall, Transport
from dogu.models.transport_errors import HttpRefusal, Timeouts


class GeminiOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What may differ between sessions. `config` goes into `generationConfig` as it is (temperature, ...).

    `shows_thoughts` None: for the models known to think. Without `streams` each answer comes in one piece.
    """

    api_version: str = "v1beta"
    config: Mapping[str, Any] = {}
    shows_thoughts: bool | None = None
    streams: bool = True
    timeouts: Timeouts = Timeouts()
    retry: RetryPolicy = RetryPolicy()


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
        self._base_url = (base_url or GOOGLE).rstrip("/")

    def url(self, model: str, version: str, method: str) -> str:
        """Return the address of a method of the model."""
        path = model if "/" in model else f"models/{model}"
        return f"{self._base_url}/{version}/{quote(path)}:{method}"

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

    def __init__(self, name: str, access: Access, options: GeminiOptions | None = None) -> None:
        self.name = name.removeprefix("models/")
        self._access = access
        self._options = options or GeminiOptions()
        self._transport = Transport(self._options.timeouts)

    def __repr__(self) -> str:
        return f"Gemini({self.name!r})"

    @property
    def takes_media_in_answers(self) -> bool:
        """Whether this is Gemini 3 or later."""
        return _generation(self.name) >= (3, 0)

    def stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Ask for the next content; see `Model.stream`."""
        contents = tuple(history)
        config = self._config()

        def attempt(hint: str) -> AsyncGenerator[ModelEvent, None]:
            return self._attempt(request_body(system, with_hint(contents, hint), declarations, config))

        return aclosing(with_retries(attempt, self._options.retry))

    async def count_tokens(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> int:
        """Ask the server how many tokens a request would have. Raises `ModelError`."""
        body = request_body(system, history, declarations, {})
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
        body = request_body("", [content], [], dict(self._options.config), server_tool)
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
        await self._transport.aclose()

    async def _attempt(self, body: bytes) -> AsyncGenerator[ModelEvent, None]:
        """Send once, and give the events of the answer."""
        method = "streamGenerateContent?alt=sse" if self._options.streams else "generateContent"
        call = await self._call(method, body)
        answer = GeminiAnswer(needs_signature=_generation(self.name) >= (3, 0))
        payloads = self._transport.events(call, self._explain, is_complete=answer.is_complete)
        async with aclosing(payloads) as batches:
            async for batch in batches:
                for event in answer.absorb(batch):
                    yield event
        for event in answer.finish():
            yield event

    async def _call(self, method: str, body: bytes) -> HttpCall:
        url = self._access.url(self.name, self._options.api_version, method)
        return HttpCall(url, await self._access.headers(), body)

    def _explain(self, refusal: HttpRefusal) -> ModelError:
        body = self._access.redact(refusal.body.decode("utf-8", "replace")).encode()
        return explain_refusal(HttpRefusal(refusal.status, refusal.headers, body), self.name)

    def _config(self) -> dict[str, Any]:
        config = dict(self._options.config)
        shows = self._options.shows_thoughts
        if shows is None:
            shows = _generation(self.name) >= (2, 5)
        if shows:
            config["thinkingConfig"] = {"includeThoughts": True, **config.get("thinkingConfig", {})}
        return config


def _generation(name: str) -> tuple[int, int]:
    """Return the version in a model's name; (0, 0) for one without, a thinking one's for `gemini-flash-latest`."""
    if re.fullmatch(r"gemini-[a-z-]+-latest", name):
        return (2, 5)
    match = re.search(r"gemini-(\d+)(?:\.(\d+))?", name)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)
