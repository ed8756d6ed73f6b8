"""A program that is talked to over its own streams while it lives, with a supervisor: nothing it starts stays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from dogu.contract.errors import ToolError
from dogu.workspace.launcher.descriptors import widen
from dogu.workspace.process.command import MAX_PROCESSES
from dogu.workspace.process.launch import Launch
from dogu.workspace.process.supervisor_line import SupervisorGoneError, SupervisorLine

if TYPE_CHECKING:
    from collections.abc import Generator

_PIECE_BYTES = 1 << 18
_END_TAKES_S = 12.0  # the supervisor's grace, its last try, and some


class Start(msgspec.Struct, frozen=True):
    """What to start: words (the first a path, or a name on the environment's PATH), a whole environment, a folder."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: str
    grace_s: float = 2.0
    """Between SIGTERM and SIGKILL."""


class TalkedTo:
    """The running program. `ended` is set when it is gone itself; what it started may live until the context ends."""

    def __init__(self, line: SupervisorLine, stdin: int, outputs: Mapping[str, int]) -> None:
        self.ended = anyio.Event()
        self._line = line
        self._stdin = stdin
        self._outputs = dict(outputs)
        self._waiting: set[anyio.CancelScope] = set()

    async def send(self, data: bytes) -> None:
        """Write all of the data to standard input. Raises OSError when nobody reads it any more."""
        rest = memoryview(data)
        while rest:
            await anyio.lowlevel.checkpoint()
            if self._stdin < 0 or self.ended.is_set():
                raise BrokenPipeError
            try:
                rest = rest[os.write(self._stdin, rest) :]
            except BlockingIOError:
                with self._until_ended():
                    await anyio.wait_writable(self._stdin)

    async def receive(self, stream: str) -> bytes:
        """Return what `stdout` or `stderr` holds, as soon as it holds something; b"" at its end, or the program's."""
        descriptor = self._outputs[stream]
        while True:
            await anyio.lowlevel.checkpoint()
            was_over = self.ended.is_set()
            try:
                return os.read(descriptor, _PIECE_BYTES)
            except BlockingIOError:
                if was_over:
                    return b""
                with self._until_ended():
                    await anyio.wait_readable(descriptor)

    def close_input(self) -> None:
        """Let the program find the end of its standard input."""
        if self._stdin >= 0:
            anyio.notify_closing(self._stdin)
            os.close(self._stdin)
            self._stdin = -1

    async def watch(self) -> None:
        """Wait for the end of the program."""
        with suppress(SupervisorGoneError):
            while (await self._line.next_event())[0] not in ("done", "failed", "ended"):
                pass
        self.ended.set()
        for scope in self._waiting:
            scope.cancel()

    async def end(self) -> None:
        """End the program with all it started: SIGTERM, a while, SIGKILL; returns when that is done."""
        self.close_input()
        with anyio.move_on_after(_END_TAKES_S), suppress(SupervisorGoneError):
            self._line.say(b"end")
            while True:
                await self._line.next_event()

    def close(self) -> None:
        """Let go of the streams; whatever still lives is ended by the supervisor."""
        self.close_input()
        for descriptor in self._outputs.values():
            os.close(descriptor)
        self._line.close()

    @contextmanager
    def _until_ended(self) -> Generator[None]:
        scope = anyio.CancelScope()
        self._waiting.add(scope)
        try:
            with scope:
                yield
        finally:
            self._waiting.discard(scope)


async def started(launch: Launch, start: Start) -> TalkedTo:
    """Start a program to be talked to. Raises `OSError` when it can't be started."""
    theirs: list[int] = []
    ours: list[int] = []
    is_started = False
    try:
        for number in range(3):
            reader, writer = os.pipe()
            theirs.append(writer if number else reader)
            ours.append(reader if number else writer)
            os.set_blocking(ours[-1], False)
            widen(reader)
        try:
            line = launch.open(_order(start), start.directory, theirs)
        except ToolError as error:
            raise OSError(error.message) from error
        try:
            await until_running(line, start)
            is_started = True
        finally:
            if not is_started:
                line.close()
    finally:
        for descriptor in theirs if is_started else [*theirs, *ours]:
            os.close(descriptor)
    return TalkedTo(line, ours[0], {"stdout": ours[1], "stderr": ours[2]})


async def until_running(line: SupervisorLine, start: Start) -> None:
    """Wait until the program runs. Raises `OSError` when it couldn't be started."""
    try:
        while True:
            event, facts = await line.next_event()
            if event == "running":
                return
            if event == "failed":
                raise OSError(facts["errno"], os.strerror(facts["errno"]), start.argv[0])
    except SupervisorGoneError as error:
        raise OSError(start.argv[0]) from error


def _order(start: Start) -> dict[str, Any]:
    return {
        "argv": [os.fsencode(word) for word in start.argv],
        "environment": {os.fsencode(name): os.fsencode(value) for name, value in start.environment.items()},
        "timeout_s": None,
        "idle_timeout_s": None,
        "max_processes": MAX_PROCESSES,
        "max_memory_bytes": None,
        "live": False,
        "confinement": None,
        "has_own_streams": True,
        "grace_s": start.grace_s,
    }
