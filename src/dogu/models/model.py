"""The protocol of a model: history in, events out.

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
