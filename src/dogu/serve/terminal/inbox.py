"""Messages that wait for their turn, in order; the last one can be taken back."""

from __future__ import annotations

import anyio

from dogu.serve.terminal.screen import Message


class Inbox:
    """A queue whose end can be edited. Once closed, `take` gives what is left and then None."""

    def __init__(self) -> None:
        self._waiting: list[Message] = []
        self._changed = anyio.Event()
        self._is_closed = False

    @property
    def waiting(self) -> list[str]:
        """The first lines of what waits."""
        return [message.text.partition("\n")[0] or "…" for message in self._waiting]

    def put(self, message: Message) -> None:
        """Add a message at the end."""
        self._waiting.append(message)
        self._changed.set()

    def take_back(self) -> Message | None:
        """Remove the last message and return it."""
        return self._waiting.pop() if self._waiting else None

    def close(self) -> None:
        """Take no more: nobody is there any longer."""
        self._waiting.clear()
        self._is_closed = True
        self._changed.set()

    async def take(self) -> Message | None:
        """Wait for the next message; None once closed."""
        while not self._waiting:
            if self._is_closed:
                return None
            self._changed = anyio.Event()
            await self._changed.wait()
        return self._waiting.pop(0)
