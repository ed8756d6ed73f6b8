"""Runs a command's async part, and says on standard error what went wrong before it."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.abc

from dogu.commands.signals import DEADLY, SIGNALS, ended_unheard, hold, release
from dogu.language import say
from dogu.workspace.columns import wrapped
from dogu.workspace.event_loop import open_signal_receiver

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from dogu.runtime.runtime import Runtime

_STARTED_AFTER_S = 1.0


def tell(notes: Iterable[str]) -> None:
    """Say on standard error what went wrong when the runtime was opened, broken between words where it is a screen."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):  # ValueError: it has no descriptor
        columns = 0
    for note in notes:
        sys.stderr.write(f"{wrapped(say(note), columns) if columns else say(note)}\n")


@asynccontextmanager
async def settling_jobs(runtime: Runtime, *, keep: bool = False) -> AsyncGenerator[None]:
    """Keep or end the background jobs that still run at the end, however it comes, and say what became of each."""
    try:
        yield
    finally:
        if jobs := await runtime.settle_jobs(keep=keep):
            from dogu.runtime.jobs import settled_lines

            tell(settled_lines(jobs))


def run_async(main: Callable[[], Coroutine[Any, Any, int]], told: Callable[[int], None] | None = None) -> int:
    """Run an async command; SIGTERM and SIGHUP end it as Ctrl-C does, so that clean-up runs.

    One that wants to be `told` which signal it was hears all deadly ones so; a second signal ends it at once. Signals
    that are held come now. Return its status, or 128 and the signal's number.
    """
    code = 130
    before = {number: signal.getsignal(number) for number in DEADLY} if told is not None else {}

    async def cancel_on_signal(
        scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        nonlocal code
        with open_signal_receiver(*(before or SIGNALS[1:])) as signals, ended_unheard(before):
            release()
            task_status.started()
            async for number in signals:
                code = 128 + number
                if told is not None:
                    told(number)
                scope.cancel()
                return

    async def collect_garbage() -> None:
        await anyio.sleep(_STARTED_AFTER_S)
        gc.freeze()
        gc.enable()

    async def guarded() -> None:
        nonlocal code
        async with anyio.create_task_group() as group:
            group.start_soon(collect_garbage)
            await group.start(cancel_on_signal, group.cancel_scope)  # before anybody is told that it runs
            code = await main()
            group.cancel_scope.cancel()

    try:
        anyio.run(guarded)
    except BaseExceptionGroup as group:
        raise _first_of(group) from group
    finally:
        if told is not None:  # what was told stays true
            hold()
    return code


def _first_of(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
