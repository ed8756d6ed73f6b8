"""Cancelling at a known point: a time limit would end some runs before they reached it, on a busy machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

LIMIT_S = 30


async def cancelled_when(holds: Callable[[], object], run: Callable[[], Awaitable[object]]) -> None:
    """Run it, and cancel it once `holds()` does; fails when it came to an end by itself."""
    ended = False

    async def to_the_end() -> None:
        nonlocal ended
        await run()
        ended = True

    async with anyio.create_task_group() as group:
        group.start_soon(to_the_end)
        with anyio.fail_after(LIMIT_S):
            while not holds() and not ended:  # noqa: ASYNC110  (what is waited for has no event)
                await anyio.sleep(0.005)
        group.cancel_scope.cancel()
    assert not ended
