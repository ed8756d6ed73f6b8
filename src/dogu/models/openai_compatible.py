"""Any model behind the chat-completions wire: Ollama, llama.cpp, vLLM and services that speak it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import told
from dogu.models.addresses import OLLAMA
from dogu.models.contents import RawContent
from dogu.models.events import ModelError, ModelErrorKind, ModelEvent
from dogu.models.key import Key
from dogu.models.openai_answer import OpenAIAnswer
from dogu.models.openai_errors import explain_refusal
from dogu.models.openai_wire import Translation
from dogu.models.retry import RetryPolicy, with_retries
from dogu.models.transport import HttpCall, Transport
from dogu.models.transport_errors import HttpRefusal, Timeouts


class OpenAIOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What may differ between sessions. `fields` go into the request as they are (temperature, ...).

    A local server may load a model, or read a long prompt, for minutes before the first byte.
    """

    fields: Mapping[str, Any] = {}
    streams: bool = True
    timeouts: Timeouts = Timeouts(first_byte_s=600.0, idle_s=300.0)
    retry: RetryPolicy = RetryPolicy()


class OpenAICompatible:
    """A model by its server's name for it. `base_url` usually ends in `/v1`; without a key none is sent."""

    takes_media_in_answers = False

    def __init__(
        self, name: str, base_url: str = "", key: str | Key = "", options: OpenAIOptions | None = None
    ) -> None:
        self.name = name
        self._base_url = (base_url or OLLAMA).rstrip("/").removesuffix("/chat/completions")
        self._key = key if isinstance(key, Key) else Key(key, variable="OPENAI_API_KEY")
        self._options = options or OpenAIOptions()
        self._transport = Transport(self._options.timeouts)
        self._translation = Translation()

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.name!r}, {self._base_url!r})"

    def stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Ask for the next content; see `Model.stream`."""
        fields: dict[str, Any] = {"model": self.name, **self._options.fields}
        if self._options.streams:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
        body = self._translation.request_body(system, history, declarations, fields)

        def attempt(hint: str) -> AsyncGenerator[ModelEvent, None]:
            return self._attempt(body)

        return aclosing(with_retries(attempt, self._options.retry))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _attempt(self, body: bytes) -> AsyncGenerator[ModelEvent, None]:
        """Send once, and give the events of the answer."""
        if not self.name:
            raise ModelError(ModelErrorKind.BAD_REQUEST, told("No model is named: set model.name, or --model."))
        key = await self._key.text()
        headers = {"authorization": f"Bearer {key}"} if key else {}
        call = HttpCall(f"{self._base_url}/chat/completions", headers, body)
        answer = OpenAIAnswer()
        payloads = self._transport.events(call, self._explain, is_complete=answer.is_complete)
        async with aclosing(payloads) as batches:
            async for batch in batches:
                for event in answer.absorb(batch):
                    yield event
        for event in answer.finish():
            yield event

    def _explain(self, refusal: HttpRefusal) -> ModelError:
        body = self._key.redact(refusal.body.decode("utf-8", "replace"))
        return explain_refusal(HttpRefusal(refusal.status, refusal.headers, body.encode()), self.name)
