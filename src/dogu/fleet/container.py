"""A task's container, of the image that it names: where its commands run. docker's words, by docker or podman.

The task's folder and home lie at the same paths inside and out, so that the agent's file tools, which work outside, and
its commands mean the same. Commands run as whoever owns that folder, seen from inside; `setup` as root, for it prepares
the machine. The check has a container of its own, of what the image was after `setup`: what the agent changed outside
of its folder is no part of what it did.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
import msgspec
from anyio import to_thread

from dogu.contract import ErrorKind, ToolError
from dogu.fleet.aside import WorldError
from dogu.language import told
from dogu.workspace.process.command import ProcessResult, Report, ShellCommand
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.process.order import shell_words
from dogu.workspace.system import path_of

_PROGRAMS = ("docker", "podman")
_PULLING_TAKES_S = 1800.0
_TAKES_S = 120.0
_MOST_PROCESSES = 4096
_LIVES = "until sleep 86400; do :; done"  # its first process; as a shell it also buries what others leave
_BASH = 'command -v bash > /dev/null && exec bash "$@"; exec sh "$@"'
_SAFE = {  # whoever owns it, it is the task's own repository
    "CI": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}


class Places(msgspec.Struct, frozen=True):
    """What a container sees of this machine: the task's `root` and `home`, and `borrowed`, which it only reads.

    `alias` is where the image has what is in `root`: what was installed from there still finds it.
    """

    root: str
    home: str
    borrowed: str = ""
    alias: str = ""


class Container(msgspec.Struct, frozen=True):
    """One that runs; `Processes` of what runs in it, as `user`."""

    program: str
    name: str
    places: Places
    user: str = "0"

    @property
    def as_root(self) -> Container:
        """The same, for what prepares the machine."""
        return msgspec.structs.replace(self, user="0")

    async def run(self, command: ShellCommand, report: Report | None = None) -> ProcessResult:
        """Run a command in it to its end; cut short, all that runs in it is ended. Raises `ToolError`."""
        if command.has_terminal or command.until is not None:
            message = "Commands run in a container here: 'pty' and 'wait_for' can't be had. Leave them out."
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
        folder = command.directory if isinstance(command.directory, str) else path_of(command.directory)
        words = command.argv or ("sh", "-c", _BASH, "sh", *shell_words(command.text))
        here = msgspec.structs.replace(
            command,
            argv=(self.program, "exec", "--user", self.user, "--workdir", folder, self.name, *words),
            directory="/",
            environment=dict(os.environ),
            confinement=None,
            is_released_in_time=False,
        )
        is_over = False
        try:
            async with LocalProcesses() as processes:
                result = await processes.run(here, report)
            is_over = not result.error
            return result
        finally:
            if not is_over:  # its client's end isn't the command's
                with anyio.CancelScope(shield=True):
                    await self.quiet()

    async def quiet(self) -> None:
        """End all that runs in it."""
        with suppress(WorldError):
            await self.do("exec", "--user", "0", self.name, "sh", "-c", "kill -9 -1")

    async def do(self, *words: str) -> str:
        """Have docker do something. Raises `WorldError`."""
        return await to_thread.run_sync(_run, [self.program, *words])


class Machine:
    """A task's containers, one after the other: for `setup` and the agent, then for the check."""

    def __init__(self, container: Container, image: str, network: Sequence[str]) -> None:
        self.container = container
        self._image = image
        self._network = network

    async def keep(self) -> None:
        """Let the check's container be what this one is now, and the task's places their owner's again."""
        mine = self.container
        if mine.user != "0:0":
            places = (mine.places.root, mine.places.home)
            await mine.do("exec", "--user", "0", mine.name, "chown", "-R", mine.user, *places)
        await mine.do("commit", mine.name, mine.name)
        self._image = mine.name

    @asynccontextmanager
    async def for_check(self) -> AsyncGenerator[Container]:
        """Start the check's."""
        mine = self.container
        async with _started(mine.program, f"{mine.name}-check", self._image, mine.places, self._network) as container:
            yield container

    async def forget(self) -> None:
        """Take away what was kept."""
        if self._image == self.container.name:
            with suppress(WorldError):
                await self.container.do("rmi", "--force", self._image)


@asynccontextmanager
async def opened_machine(image: str, places: Places, *, network: bool) -> AsyncGenerator[Machine | None]:
    """Start a container of the image; nothing of it is left afterwards. Without an image there is none.

    Raises `WorldError` where it can't be had.
    """
    if not image:
        yield None
        return
    program, closed = _program(), () if network else ("--network", "none")
    async with _started(program, _name(places.root), image, places, closed) as container:
        machine = Machine(container, image, closed)
        try:
            yield machine
        finally:
            with anyio.CancelScope(shield=True):
                await machine.forget()


@asynccontextmanager
async def _started(
    program: str, name: str, image: str, places: Places, network: Sequence[str]
) -> AsyncGenerator[Container]:
    words = [program, "run", "--detach", "--rm", "--name", name, "--user", "0", "--workdir", places.root, *network]
    words += ["--security-opt", "no-new-privileges", "--pids-limit", str(_MOST_PROCESSES), *_mounts(places)]
    for variable, value in {**_SAFE, "HOME": places.home}.items():
        words += ["--env", f"{variable}={value}"]
    words += ["--entrypoint", "sh", image, "-c", _LIVES]
    try:
        await to_thread.run_sync(_remove, program, name)  # of an attempt whose driver was killed
        await to_thread.run_sync(_run, words, _PULLING_TAKES_S)
        owner = await to_thread.run_sync(_run, [program, "exec", name, "stat", "-c", "%u:%g", places.root])
        yield Container(program, name, places, owner)
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(_remove, program, name)


def copy_out(image: str, root: str) -> str:
    """Copy the folder that an image works in to `root`, which isn't there yet; return its path in the image.

    Raises `WorldError`.
    """
    program, name = _program(), f"{_name(root)}-copied"
    _remove(program, name)
    try:
        _run([program, "create", "--name", name, "--entrypoint", "sh", image], _PULLING_TAKES_S)
        folder = _run([program, "container", "inspect", "--format", "{{.Config.WorkingDir}}", name])
        os.makedirs(root)
        if not folder.strip("/"):
            return ""
        _run([program, "cp", f"{name}:{folder.rstrip('/')}/.", root], _PULLING_TAKES_S)
        return folder
    finally:
        _remove(program, name)


def _name(root: str) -> str:
    return f"dogu-{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}"


def _mounts(places: Places) -> list[str]:
    shown = {places.root: places.root, places.home: places.home, places.borrowed: places.borrowed}
    shown[places.alias] = places.root
    words: list[str] = []
    for target, source in shown.items():
        parts = ["type=bind", _cell(f"source={source}"), _cell(f"target={target}")]
        words += ["--mount", ",".join(parts + ["readonly"] * (target == places.borrowed))] if target else []
    return words


def _cell(text: str) -> str:
    """A cell of a table, which is how docker reads a mount's parts."""
    return '"' + text.replace('"', '""') + '"' if any(letter in text for letter in ',"') else text


def _program() -> str:
    found = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if found is None:
        raise WorldError(
            told("an image needs {programs}, and none of them is installed", programs=", ".join(_PROGRAMS))
        )
    return found


def _run(words: Sequence[str], takes_s: float = _TAKES_S) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, stdin=subprocess.DEVNULL, timeout=takes_s, check=False, cwd="/"
        )
    except subprocess.TimeoutExpired:
        raise WorldError(
            told("{program} took longer than {seconds:.0f} s", program=words[0], seconds=takes_s)
        ) from None
    except OSError as error:
        raise WorldError(f"{words[0]}: {error.strerror or error}") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        chosen = [line for line in lines if line.startswith(("Error", "docker: "))] or lines[-1:]
        why = chosen[0] if chosen else str(done.returncode)
        called = f"{os.path.basename(words[0])}: "
        raise WorldError(called + why.removeprefix(called))
    return done.stdout.decode(errors="replace").strip()


def _remove(program: str, name: str) -> None:
    with suppress(WorldError):
        _run([program, "rm", "--force", name])
