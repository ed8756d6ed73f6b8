"""A turn as a stream of its events, for those who would rather loop than be called back."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from types import TracebackType
from typing import TypeVar

import anyio
import anyio.lowlevel

from dogu.agent.events import Emit, Event, TurnEnd
from dogu.models.events import ModelError

T = TypeVar("T")
_LONGEST_S = 0.003


async def fairly(events: AsyncIterable[T]) -> AsyncGenerator[T]:
    """Pass events on; after 3 ms without a pause, give keys, the screen and other calls their turn."""
    began = time.monotonic()
    async for event in events:
        yield event
        if time.monotonic() - began > _LONGEST_S:
            await anyio.lowlevel.checkpoint()
            began = time.monotonic()


class TurnStream:
    """The events of one turn, while its context is open; leaving it early cancels the turn.

    `end` is there once the events are over. Raises `ModelError` from the iteration, as `Agent.run` does.
    """

    def __init__(self, run: Callable[[Emit], Awaitable[TurnEnd]]) -> None:
        """`run` runs the turn; it is given what takes its events."""
        self._run_turn = run
        self._send, self._receive = anyio.create_memory_object_stream[Event](math.inf)
        self._error: ModelError | None = None
        self.end: TurnEnd | None = None

    async def __aenter__(self) -> TurnStream:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._run)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        self._group.cancel_scope.cancel()
        try:
            return await self._group.__aexit__(kind, error, traceback)
        except BaseExceptionGroup as group:
            if error is not None and group.exceptions == (error,):
                raise error from None  # the body's own, as it was raised
            raise
        finally:
            self._receive.close()

    def __aiter__(self) -> TurnStream:
        return self

    async def __anext__(self) -> Event:
        try:
            return await self._receive.receive()
        except anyio.EndOfStream:
            if self._error is not None:
                raise self._error from None
            raise StopAsyncIteration from None

    async def _run(self) -> None:
        with self._send:
            try:
                self.end = await self._run_turn(self._send.send_nowait)
            except ModelError as error:
                self._error = error
