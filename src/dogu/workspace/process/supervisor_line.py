"""The line to a command's supervisor: its events in, words to it out, and what the command prints."""

from __future__ import annotations

import errno
import marshal
import math
import os
import time
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.launcher import ring
from dogu.workspace.launcher.descriptors import KEYS
from dogu.workspace.launcher.family import Sweep
from dogu.workspace.launcher.job_folder import STREAMS
from dogu.workspace.launcher.packets import Packets, is_ready
from dogu.workspace.os_errors import limit_words
from dogu.workspace.process.launcher_line import LauncherLine
from dogu.workspace.staged import Share, Written
from dogu.workspace.system import IS_LINUX, IS_WINDOWS, few_files_may_be_open, few_processes_may_run

if TYPE_CHECKING:
    from dogu.workspace.staged import Stamp

_SAYING_TAKES_S = 5.0
_TYPED_BYTES = 32 * 1024
_LOOK_S = 1.0
_ASKED_AFTER_S = 2.0  # of silence: a supervisor that is well answers at once
_UNANSWERED_S, _UNANSWERED_WHEN_DUE_S = 60.0, 8.0


class SupervisorGoneError(Exception):
    """The supervisor closed its socket without having told an end."""


class NeverStartedError(ToolError):
    """The launcher was lost before it made a supervisor: nothing has run."""


class SupervisorLine:
    """One command's line: its socket and the two files that take its output. `is_settled` once the end was told.

    `code_page` is the console's, in which Windows' own programs print; 0 where there is none. `launcher` is what the
    supervisor was forked by, where it was.
    """

    def __init__(
        self,
        control: Packets,
        outputs: dict[str, int],
        launcher: LauncherLine | None = None,
        timeout_s: float | None = None,
    ) -> None:
        self._control = control
        self._outputs = outputs
        self._launcher = launcher
        self._due_at = time.monotonic() + timeout_s if timeout_s else math.inf
        self._due_for = "timeout"
        self._minded_at = time.monotonic()
        self._silent_s, self._asked_s = 0.0, math.inf
        self._supervisor, self._began = 0, time.time()
        self._has_begun = False
        self._family: Sweep | None = None  # where there is no subreaper
        self._total_bytes = {"stdout": 0, "stderr": 0}
        self.pid = 0
        self.code_page = 0
        self.is_settled = False
        self._written: dict[str, tuple[Stamp, int, int]] = {}
        self._is_whole = True
        self._moves: list[tuple[str, str]] = []
        self._open_ns: dict[int, int] = {}
        self._shares: dict[int, Share] = {}

    async def next_event(self) -> tuple[str, dict[str, Any]]:
        """Wait for the supervisor's next word: its name and its facts. Raises `SupervisorGoneError` after the last."""
        while True:
            was_settled = self.is_settled
            try:
                return self.take_event()
            except SupervisorGoneError:
                if self._launcher is not None and self.pid and not was_settled:
                    await to_thread.run_sync(self._launcher.end_orphans, self.pid, self._family)
                raise
            except BlockingIOError:
                if not await self.is_alive():
                    raise SupervisorGoneError from None

    async def is_alive(self) -> bool:
        """Wait a while for a word; False where the supervisor has given no answer for so long that it was ended."""
        if self._is_dead():
            await to_thread.run_sync(self.give_up)
            return False
        with anyio.move_on_after(_LOOK_S):
            await self.wait_for_word()
        return True

    def _is_dead(self) -> bool:
        """Whether the supervisor has left a question unanswered for too long: one may stop it, trace it, freeze it.

        Only the time counts in which this program was awake itself.
        """
        now = time.monotonic()
        self._silent_s += min(now - self._minded_at, _LOOK_S)
        self._minded_at = now
        if self._launcher is None or self._silent_s < _LOOK_S:
            return False
        self._launcher.go_on()
        if self._asked_s == math.inf and self._silent_s >= _ASKED_AFTER_S:
            self._asked_s = self._silent_s
            self.say(b"status")
        return self._silent_s - self._asked_s >= (_UNANSWERED_WHEN_DUE_S if now >= self._due_at else _UNANSWERED_S)

    def give_up(self) -> None:
        """End a supervisor that doesn't answer, and all that it watches over; takes 3 s at most."""
        self.is_settled = True
        if self._launcher is not None:
            self._launcher.give_up(self._supervisor, self._family)

    async def wait_for_word(self) -> None:
        """Wait until the supervisor has said something, or is gone, beside others that wait for the same."""
        try:
            ours = self._control.socket.dup()  # one descriptor is waited for once at a time
        except OSError:  # another thread has closed it, or no more may be open: who waits looks again
            await anyio.sleep(_LOOK_S)
            return
        with ours:
            await anyio.wait_readable(ours)

    def take_event(self, timeout_s: float = 0) -> tuple[str, dict[str, Any]]:
        """Take a word. Raises `BlockingIOError` when none comes in time, `SupervisorGoneError` at the end."""
        try:
            packet, _ = self._control.receive()
        except BlockingIOError:
            if not timeout_s:
                raise
            is_ready(self._control.socket, timeout_s)
            packet, _ = self._control.receive()
        if not packet:
            self.is_settled = True
            raise SupervisorGoneError
        event, facts = marshal.loads(packet)
        self._silent_s, self._asked_s = 0.0, math.inf
        self._has_begun = True
        self._supervisor = facts.get("supervisor", self._supervisor)
        if "mark" in facts and not IS_LINUX:
            self._family = Sweep(facts["mark"], self._began, self._supervisor, facts["pid"])
        self.is_settled = self.is_settled or event in ("done", "failed", "ended")
        if event == "written":
            self._written.update(
                (os.fsdecode(path), (first, now, until_ns)) for path, first, now, until_ns in facts.get("paths", ())
            )
            self._moves += [(os.fsdecode(old), os.fsdecode(new)) for old, new in facts.get("moves", ())]
            self._open_ns.update(facts.get("open", ()))
            self._is_whole = facts.get("is_whole", self._is_whole)
            self._shares.update((inode, Share(*share)) for inode, share in facts.get("shares", ()))
        self._total_bytes = facts.get("bytes", self._total_bytes)
        self.code_page = facts.get("code_page", 0)
        return event, facts

    def take_written(self) -> Written:
        """Return what the command was told to have written since this was asked last."""
        written = Written(self._written, tuple(self._moves), self._open_ns, self._shares, self._is_whole)
        self._written, self._moves, self._open_ns, self._shares = {}, [], {}, {}
        return written

    def say(self, word: bytes) -> None:
        """Tell the supervisor something; one that is gone doesn't hear it."""
        if word == b"end":
            self._due_at, self._due_for = time.monotonic(), "ended"
        try:
            self._control.send_waiting(word, _SAYING_TAKES_S)
        except OSError:
            pass

    def hand_folder(self, folder: str) -> None:
        """Let the supervisor go on printing into the files of a folder; it answers `moved`. Raises `OSError`."""
        if IS_WINDOWS:
            self._control.send_waiting(b"folder\0" + os.fsencode(folder), _SAYING_TAKES_S)
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._control.send_waiting(b"folder", _SAYING_TAKES_S, (descriptor,))
        finally:
            os.close(descriptor)

    def move_outputs(self, folder: str) -> None:
        """Read from the folder's files from now on. Raises `OSError`."""
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        opened = {stream: os.open(os.path.join(folder, stream), flags) for stream in STREAMS}
        self._close_outputs(opened)

    def type(self, data: bytes) -> None:
        """Type into the command's terminal, in words that the socket takes."""
        for start in range(0, len(data), _TYPED_BYTES):
            self.say(KEYS + data[start : start + _TYPED_BYTES])

    def last_facts(self) -> dict[str, Any]:
        """Return what can be known of a command whose supervisor is gone. Raises `NeverStartedError`."""
        if not self._has_begun:
            limit = errno.EMFILE if few_files_may_be_open() else errno.EAGAIN if few_processes_may_run() else 0
            why = limit_words(OSError(limit, "")) or "Try again."
            raise NeverStartedError(ErrorKind.START_FAILED, f"The command could not start: its launcher ended. {why}")
        sizes = {stream: os.fstat(descriptor).st_size for stream, descriptor in self._outputs.items()}
        self._total_bytes = sizes
        reason = self._due_for if time.monotonic() >= self._due_at else "lost"
        return {"status": None, "reason": reason, "pids": [], "bytes": sizes, "failure": ""}

    def total_bytes(self, stream: str) -> int:
        """How much the stream had printed at the last word."""
        return self._total_bytes[stream]

    def ends(self, stream: str, max_bytes: int) -> tuple[bytes, int, bytes]:
        """Return (first, bytes left out, last) of what a stream printed."""
        return ring.read_ends(self._outputs[stream], self._total_bytes[stream], max_bytes)

    def since(self, stream: str, position: int) -> bytes:
        """Return what a stream printed from a position on, as far as it is kept."""
        return ring.read_from(self._outputs[stream], self._total_bytes[stream], position)

    def save(self, stream: str, folder: str) -> str:
        """Write what is kept of a stream to a file in `folder` and return its path; "" when that fails."""
        path = os.path.join(folder, f"command-{self.pid}-{stream}.txt")
        try:
            with open(path, "wb") as file:
                for data in ring.in_order(self._outputs[stream], self._total_bytes[stream]):
                    file.write(data)
        except OSError:
            return ""
        return path

    def close(self) -> None:
        """Let go; a supervisor that still keeps something ends it."""
        self._control.close()
        self._close_outputs()

    def _close_outputs(self, others: dict[str, int] | None = None) -> None:
        closed, self._outputs = self._outputs, others or {}
        for descriptor in closed.values():
            os.close(descriptor)
