"""What waits: messages for their turn, in order, and events for the screen, shown a few milliseconds at a time.

So no key waits for long, and the last message can be taken back.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

import anyio
import anyio.lowlevel

from dogu.agent.events import Event
from dogu.models.events import TextDelta, ThoughtDelta
from dogu.serve.terminal.screen import Message


class Inbox:
    """A queue whose end can be edited. Once closed, `take` gives what is left and then None."""

    def __init__(self) -> None:
        self._waiting: list[Message] = []
        self._changed = anyio.Event()
        self._is_closed = self._is_awaited = False

    @property
    def waiting(self) -> list[str]:
        """The first lines of what waits for what is done now."""
        return [] if self._is_awaited else [message.text.partition("\n")[0] or "…" for message in self._waiting]

    def put(self, message: Message) -> None:
        """Add a message at the end."""
        self._waiting.append(message)
        self._changed.set()

    def take_back(self) -> Message | None:
        """Remove the last message and return it."""
        return self._waiting.pop() if self._waiting else None

    def take_all(self) -> tuple[Message, ...]:
        """Remove all that wait and return them."""
        waiting, self._waiting = tuple(self._waiting), []
        return waiting

    def close(self) -> None:
        """Take no more: nobody is there any longer."""
        self._waiting.clear()
        self._is_closed = True
        self._changed.set()

    def open(self, waiting: Sequence[Message]) -> None:
        """Take messages again, first these."""
        self._waiting = [*waiting, *self._waiting]
        self._is_closed = False

    async def take(self) -> Message | None:
        """Wait for the next message; None once closed."""
        while not self._waiting:
            if self._is_closed:
                return None
            self._changed, self._is_awaited = anyio.Event(), True
            await self._changed.wait()
        self._is_awaited = False
        return self._waiting.pop(0)


_SLICE_S = 0.004
_MOST_CHARS = 500
_MOST_WAITS = 8


class Feed:
    """Takes events as fast as they come; `run` shows them as fast as the user can still type.

    `is_typing`: a key was pressed, and what it did isn't drawn yet.
    """

    def __init__(self, show: Callable[[Event], None], is_typing: Callable[[], bool] = lambda: False) -> None:
        self._show = show
        self._is_typing = is_typing
        self._events: deque[Event] = deque()
        self._has_events = anyio.Event()
        self._is_settled = anyio.Event()

    def put(self, event: Event) -> None:
        """Take an event; a long text is shown in pieces."""
        if isinstance(event, TextDelta | ThoughtDelta) and len(event.text) > _MOST_CHARS:
            kind, text = type(event), event.text
            self._events.extend(kind(text[at : at + _MOST_CHARS]) for at in range(0, len(text), _MOST_CHARS))
        else:
            self._events.append(event)
        self._has_events.set()

    async def run(self) -> None:
        """Show what comes, for ever."""
        while True:
            self._is_settled.set()
            await self._has_events.wait()
            self._has_events, self._is_settled = anyio.Event(), anyio.Event()
            while self._events:
                self._show_some()
                await anyio.lowlevel.checkpoint()  # keys are read, and the screen is drawn
                for _ in range(_MOST_WAITS):  # what a key does goes first
                    if self._is_typing():
                        await anyio.lowlevel.checkpoint()

    async def settled(self) -> None:
        """Wait until all that came has been shown."""
        while self._events:
            self._has_events.set()
            await anyio.lowlevel.checkpoint()
            await self._is_settled.wait()

    def hurry(self) -> None:
        """Show at once what isn't the model's text, and forget that: the turn was cancelled."""
        for event in self._events:
            if not isinstance(event, TextDelta | ThoughtDelta):
                self._show(event)
        self._events.clear()

    def _show_some(self) -> None:
        until = time.monotonic() + _SLICE_S
        while self._events and time.monotonic() < until:
            self._show(self._events.popleft())
