"""The commands of a task's author, `setup` and `check`: run where the agent's are, in the sandbox or a container."""

from __future__ import annotations

import os

from anyio import CancelScope, to_thread

from dogu.app.sandboxed import command_surroundings, open_sandbox
from dogu.fleet.container import Container, Machine
from dogu.fleet.rows import Checked
from dogu.fleet.world import World
from dogu.settings import Settings
from dogu.workspace.process.command import ShellCommand
from dogu.workspace.process.launch import ForkServer
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.sandbox.ladder import Confined

_KEPT_OUTPUT_CHARS = 20_000


class Commands:
    """Runs them in a world, each for at most `timeout_s`; with a `machine`, in its containers."""

    def __init__(
        self,
        settings: Settings,
        world: World,
        timeout_s: float,
        machine: Machine | None = None,
        fork_server: ForkServer | None = None,
    ) -> None:
        self._fork_server = fork_server
        self._settings = settings
        self._world = world
        self._timeout_s = timeout_s
        self._machine = machine

    async def set_up(self, text: str) -> Checked:
        """Run what prepares the world."""
        outcome = await self._run(text, self._machine.container.as_root if self._machine else None)
        if outcome.exit_code == 0:
            if self._machine is not None:
                await self._machine.keep()
            await to_thread.run_sync(self._world.keep_home)
        return outcome

    async def quiet(self) -> None:
        """End what the agent left running."""
        if self._machine is not None:
            await self._machine.container.quiet()

    async def check(self, text: str) -> Checked:
        """Run what decides, where nothing but the world's folder is the agent's."""
        try:
            await to_thread.run_sync(self._world.give_home)
            if self._machine is None:
                return await self._run(text, None)
            async with self._machine.for_check() as container:
                return await self._run(text, container)
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._world.take_home)

    async def _run(self, text: str, container: Container | None) -> Checked:
        world = self._world
        async with LocalProcesses(fork_server=self._fork_server) as processes:
            confined = await to_thread.run_sync(_confined, self._settings, world)
            command = ShellCommand(
                text,
                world.root,
                confined.environment,
                timeout_s=self._timeout_s,
                idle_timeout_s=None,
                confinement=confined.order,
                kept_bytes=_KEPT_OUTPUT_CHARS,
            )
            result = await (container or processes).run(command)
        output = "\n".join(filter(None, (result.stdout, result.stderr)))
        error = result.error or (f"signal {result.signal}" if result.signal is not None else "")
        return Checked(result.exit_code, output[-_KEPT_OUTPUT_CHARS:], error)


def environment_of(world: World) -> dict[str, str]:
    """Return what commands in a world have above what is let in of ours."""
    temporary = os.path.join(world.place, "tmp")
    os.makedirs(temporary, mode=0o700, exist_ok=True)
    return {"HOME": world.home, "TMPDIR": temporary}


def _confined(settings: Settings, world: World) -> Confined:
    surrounding = command_surroundings(settings, (world.root,), {**environment_of(world), "CI": "1"})()
    sandbox = open_sandbox(settings)
    return Confined(None, surrounding) if sandbox is None else sandbox.confine((world.root,), surrounding)
