"""A model behind an HTTP wire: sends, reads the stream, tries again, and learns what its server doesn't take."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import anyio
import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import told
from dogu.models.contents import RawContent, join_model_contents, with_hint
from dogu.models.events import Finished, FinishReason, ModelError, ModelErrorKind, ModelEvent
from dogu.models.key import Key
from dogu.models.options import ModelOptions
from dogu.models.reading import Answer, Mending
from dogu.models.retry import with_retries
from dogu.models.transport_errors import HttpCall, HttpRefusal, Timeouts

if TYPE_CHECKING:
    from dogu.models.transport import Transport

_MOST_LESSONS = 6
_MOST_PAUSES = 10


class Wire(Protocol):
    """How one kind of server is spoken with."""

    takes_media_in_answers: bool
    timeouts: Timeouts

    def url(self) -> str:
        """Return where requests go."""
        ...

    def headers(self, key: str) -> dict[str, str]:
        """Return what proves who asks, and what else the wire wants."""
        ...

    def body(self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]) -> bytes:
        """Make a request."""
        ...

    def answer(self) -> Answer:
        """Begin to read an answer to the last request."""
        ...

    def explain(self, refusal: HttpRefusal) -> ModelError:
        """Say what a refusal means."""
        ...

    def learns(self, error: ModelError) -> bool:
        """Take a failure as a lesson about this server; whether the request is worth sending again at once."""
        ...


async def read_answer(answer: Answer, payloads: AsyncGenerator[list[bytes], None]) -> AsyncGenerator[ModelEvent, None]:
    """Give the events of an answer as its payloads arrive; one that fails or is cancelled was paid for all the same."""
    mending = Mending()
    try:
        async with aclosing(payloads) as batches:
            async for batch in batches:
                for event in answer.absorb([mending.mend(payload) for payload in batch]):
                    yield event
        last = answer.finish()
    except (ModelError, anyio.get_cancelled_exc_class()) as error:
        for event in error.said if isinstance(error, ModelError) else ():
            yield event
        spent = answer.usage()
        if answer.heard or not spent.uncounted:
            yield spent
        raise
    for event in last:
        yield event


class HttpModel:
    """A model by its server's name for it."""

    def __init__(self, name: str, wire: Wire, key: Key, options: ModelOptions) -> None:
        self.name = name
        self._wire = wire
        self._key = key
        self._options = options

    @cached_property
    def _transport(self) -> Transport:
        from dogu.models.transport import Transport  # httpx2 comes with it, which no first prompt waits for

        options = self._options
        return Transport(options.timeouts or self._wire.timeouts, options.proxy, options.hear_headers)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self._wire.url()!r})"

    @property
    def takes_media_in_answers(self) -> bool:
        """Whether the answer to a call may hold images itself."""
        return self._wire.takes_media_in_answers

    def stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Ask for the next content; see `Model.stream`."""
        contents = tuple(history)

        def attempt(hint: str) -> AsyncGenerator[ModelEvent, None]:
            return self._taught(system, with_hint(contents, hint), declarations)

        return aclosing(with_retries(attempt, self._options.retry))

    async def aclose(self) -> None:
        """Close the connections."""
        if "_transport" in vars(self):
            await self._transport.aclose()

    async def _taught(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AsyncGenerator[ModelEvent, None]:
        """Send, and once more in other words as long as the server says which of them it doesn't take."""
        for _ in range(_MOST_LESSONS):
            has_begun = False
            try:
                async with aclosing(self._attempt(system, history, declarations)) as events:
                    async for event in events:
                        has_begun = True
                        yield event
                return
            except ModelError as error:
                error.redact(self._key.redact)
                if not self._wire.learns(error) or has_begun:
                    raise
        async with aclosing(self._attempt(system, history, declarations)) as events:
            async for event in events:
                yield event

    async def _attempt(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AsyncGenerator[ModelEvent, None]:
        """Send once, and give the events of the answer."""
        if not self.name:
            raise ModelError(ModelErrorKind.BAD_REQUEST, told("No model is named: set model.name, or --model."))
        headers = self._wire.headers(await self._key.text()) | dict(self._options.headers)
        said: list[RawContent] = []
        for _ in range(_MOST_PAUSES):
            sent = [*history, join_model_contents(said)] if said else history
            call = HttpCall(self._wire.url(), headers, self._wire.body(system, sent, declarations))
            answer = self._wire.answer()
            async with aclosing(read_answer(answer, self._transport.events(call, self._explain, answer))) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        said.append(event.content)
                        if event.reason is FinishReason.PAUSE:
                            break
                        event = msgspec.structs.replace(event, content=join_model_contents(said))
                    yield event
                else:
                    return
        message = told("The server paused its answer {count} times.", count=_MOST_PAUSES)
        raise ModelError(ModelErrorKind.INCOMPLETE, message)

    def _explain(self, refusal: HttpRefusal) -> ModelError:
        body = self._key.redact(refusal.body.decode("utf-8", "replace")).encode()
        return self._wire.explain(HttpRefusal(refusal.status, refusal.headers, body))
