"""Models around models: what traces, judges or exchanges one is a model itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.contents import RawContent
from dogu.models.events import ModelEvent
from dogu.models.model import Model


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
