"""The protocol of a model: history in, events out; and models around models, which are models themselves.

The agent above knows this protocol and no wire. History is a sequence of contents, each the JSON of a Gemini `Content`
(`{"role": "user"|"model", "parts": [...]}`), encoded once: nothing unknown is lost, and a request joins what is already
encoded. A model of another wire translates inside, once per content.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.contents import RawContent
from dogu.models.events import ModelEvent


class Model(Protocol):
    """What answers."""

    @property
    def name(self) -> str:
        """What the model is called, for the user and the record."""
        ...

    @property
    def takes_media_in_answers(self) -> bool:
        """Whether a FunctionResponse may hold images itself (Gemini 3); else they stand beside it."""
        ...

    def stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Ask for the next content and give its events as they arrive, ending with `Finished`.

        Leaving the context, by `break` or cancellation too, closes the connection's stream. Contents must not be
        changed while in use; the sequence is read when the context is entered.

        Raises:
            ModelError: from the iteration, when there is no answer after the tries that make sense.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections; streams still open fail."""
        ...


class WrappedModel:
    """Does as `inner`; subclasses say what they do otherwise."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    @property
    def takes_media_in_answers(self) -> bool:
        """As the model."""
        return self._inner.takes_media_in_answers

    def stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Ask the model; see `Model.stream`."""
        return self._inner.stream(system, history, declarations)

    async def aclose(self) -> None:
        """Close the model."""
        await self._inner.aclose()


class CurrentModel(WrappedModel):
    """The model of a session, which `/model` may exchange: each request goes to the one that there is then."""

    @property
    def model(self) -> Model:
        """The one that answers now."""
        return self._inner

    def change(self, model: Model) -> None:
        """Have another one answer from the next request on. The former is its owner's to close."""
        self._inner = model
