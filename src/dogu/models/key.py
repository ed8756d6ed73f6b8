"""The secret that a request is sent with: checked before it is sent, looked up only when it is needed, never shown."""

from __future__ import annotations

from collections.abc import Callable

import anyio.to_thread

from dogu.language import redacted, told
from dogu.models.events import ModelError, ModelErrorKind


class Key:
    """A provider's key; empty when there is none.

    `look_up` turns what was given into the key itself, in a thread and once: a keyring may ask its user first.
    `variable` is where the key usually stands, for advice.
    """

    def __init__(self, given: str = "", look_up: Callable[[str], str] | None = None, variable: str = "") -> None:
        self._text = given.strip()
        self._look_up = look_up
        self.variable = variable

    def __bool__(self) -> bool:
        return bool(self._text)

    async def text(self) -> str:
        """Return the key, '' when there is none. Raises `ModelError` (AUTH) for what no server could have given."""
        if self._look_up is not None:
            look_up, self._look_up = self._look_up, None
            self._text = (await anyio.to_thread.run_sync(look_up, self._text)).strip()
        if not self._text.isascii() or not self._text.isprintable():
            message = told("The key contains invalid characters: check {variable}.", variable=self.variable)
            raise ModelError(ModelErrorKind.AUTH, message)
        return self._text

    def redact(self, text: str) -> str:
        """Return the text without the key; one too short to be a key would be found everywhere."""
        return redacted(text, self._text, "[key]") if len(self._text) >= 8 else text
