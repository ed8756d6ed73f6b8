"""What starts programs on this system: a command's launcher, and programs that are talked to."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from dogu.workspace.process.launch import ForkServer, Launch
from dogu.workspace.process.talked_to import Start, TalkedTo

if sys.platform == "win32":
    from dogu.workspace.process.windows import WindowsLaunch as _Launch
    from dogu.workspace.process.windows import started as _started
else:
    from dogu.workspace.process.talked_to import started as _started

    _Launch = Launch


def launcher(
    *,
    is_scoped: bool = False,
    mounts: bool = False,
    hosts: tuple[str, ...] | None = None,
    fork_server: ForkServer | None = None,
) -> Launch:
    """Return this system's launcher, which isn't started yet; see `Launch`."""
    return _Launch(is_scoped=is_scoped, mounts=mounts, hosts=hosts, fork_server=fork_server)


@asynccontextmanager
async def talked_to(launch: Launch, start: Start) -> AsyncGenerator[TalkedTo]:
    """Start a program; leaving the context ends it, with all it started. Raises OSError when it can't be started."""
    program = await _started(launch, start)
    watching = anyio.CancelScope(shield=True)  # also who is cancelled hears that it ends by itself

    async def watch() -> None:
        with watching:
            await program.watch()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            try:
                yield program
            finally:
                watching.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await program.end()
        program.close()
