"""Lets the event loop do something else now and then while events come faster than they are taken."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterable
from typing import TypeVar

import anyio
import anyio.lowlevel

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
