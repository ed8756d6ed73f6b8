"""What a command left running in the background: looked at, read and stopped later."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import msgspec
from anyio import to_thread

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace.process.command import ShellCommand, Until
from dogu.workspace.process.endings import ending_of
from dogu.workspace.process.output import readable
from dogu.workspace.process.stored_jobs import JobRecord, StoredJob, StoredJobs, birth_of
from dogu.workspace.process.supervisor_line import SupervisorGoneError, SupervisorLine
from dogu.workspace.process.waiting import Waiting

if TYPE_CHECKING:
    from dogu.workspace.process.screen import TerminalScreen
    from dogu.workspace.staged import Written

_ANSWER_TAKES_S = 1.0
_MOVE_TAKES_S = 10.0  # on a machine that is very busy; what isn't moved by then is when it comes to it
_STOP_TAKES_S = 12.0
_LOOK_S = 0.1


class Jobs(Protocol):
    """What background jobs there are."""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Every job of this session, oldest first."""
        ...

    def job(self, pid: int) -> Job | None:
        """Find a job by its process group or by any of its processes."""
        ...

    def to_background(self) -> bool:
        """Make jobs of the commands that run in the foreground; False when none does."""
        ...

    def settle(self, *, keep: bool) -> tuple[SettledJob, ...]:
        """At the end: keep or end what still runs, wait for that, and say what became of it."""
        ...

    @property
    def settled(self) -> tuple[SettledJob, ...]:
        """What became of the jobs that still ran then."""
        ...


class SettledJob(msgspec.Struct, frozen=True):
    """What still ran at the end, and what became of it. `problem` says why one wasn't kept that should have been.

    `can_be_kept`: it might have been.
    """

    pgid: int
    command: str
    is_kept: bool
    problem: str = ""
    can_be_kept: bool = True


class Job:
    """The processes one command left running, known by their process group's number `pgid`.

    `stored` is where other programs find it; without one it can't outlive this program. `typed_line` is what was typed
    into its terminal since the last line's end, `went` the lines that may have led a shell there into another folder,
    `ending` how the command itself ended, once it has.
    """

    def __init__(
        self,
        command: ShellCommand,
        line: SupervisorLine,
        started_at: float,
        screen: TerminalScreen | None = None,
    ) -> None:
        self.command = command.text
        self.stored: StoredJob | None = None
        self._moving: tuple[StoredJobs, str, str] | None = None
        self.is_contained = command.is_contained
        self.typed_line = self.went = ""
        self.ending = ""
        self._started = command
        self._screen = screen
        self.started_at = started_at
        self.pgid = line.pid
        self.is_running = True
        self._asking = threading.Lock()
        self._line = line
        self._pids: tuple[int, ...] = ()
        self._read_bytes = {"stdout": line.total_bytes("stdout"), "stderr": line.total_bytes("stderr")}

    @property
    def can_be_kept(self) -> bool:
        """Whether it could live on after this program."""
        return self.stored is not None

    @property
    def is_kept(self) -> bool:
        """Whether it lives on after this program."""
        return self.stored is not None and self.stored.is_kept

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that live now."""
        self.refresh()
        return self._pids

    async def store(self, jobs: StoredJobs, directory: str) -> None:
        """Have its supervisor go on in a folder in which other programs find it; where that can't be, nothing happens.

        It is known to others already, who may ask after it meanwhile: whoever hears that it has moved, sees to it.
        """
        try:
            folder = jobs.begin()
            self._moving = jobs, folder, directory
            self._line.hand_folder(folder)
            with anyio.move_on_after(_MOVE_TAKES_S):
                while self._moving and self.is_running:
                    with anyio.move_on_after(_LOOK_S):
                        await self._line.wait_for_word()
                    self.hear()
        except OSError:  # or it was closed meanwhile
            self._moving = None

    def refresh(self) -> None:
        """Ask how things stand; answered within milliseconds."""
        with self._asking:
            self._ask()

    def hear(self) -> None:
        """Take what was told meanwhile, such as its end, without asking or waiting."""
        if not self._asking.acquire(blocking=False):
            return
        try:
            while self._take():
                pass
        finally:
            self._asking.release()

    async def ended(self) -> None:
        """Wait until it has ended, whoever hears of that."""
        while self.is_running:
            await self._line.wait_for_word()
            self.hear()

    def written(self) -> tuple[Written, bool]:
        """Return what it is known to have written since this was asked last, and whether it may yet write more."""
        with self._asking:
            if self._started.watched:
                self._ask(b"written", "told")
            return self._line.take_written(), self.is_running

    def _ask(self, word: bytes = b"status", answer: str = "status") -> None:
        if not self.is_running:
            return
        self._line.say(word)
        deadline = time.monotonic() + _ANSWER_TAKES_S
        while self.is_running and time.monotonic() < deadline:
            if self._take(timeout_s=_LOOK_S) == answer:
                return

    def _take(self, timeout_s: float = 0) -> str:
        """Take one word and what it says of the job; return its name, "" when none came.

        Who calls it holds `_asking`: two that took words at once would tear them, or one close what the other reads.
        """
        if not self.is_running:
            return ""
        try:
            event, facts = self._line.take_event(timeout_s)
        except BlockingIOError:
            return ""
        except SupervisorGoneError:
            self._ended()
            return ""
        self._hear(event, facts)
        return event

    @property
    def has_terminal(self) -> bool:
        """Whether it can be typed into."""
        return self._screen is not None

    async def wait(self, until: Until, typed: str | None = None) -> str:
        """Wait, having typed into its terminal; return why that is over: `ended`, `matched`, `quiet`, `waited`.

        What is typed is answered by what comes after it; without it, what was printed before may match too.
        """
        await to_thread.run_sync(self.refresh)
        waiting = Waiting(until, self._line, typed)
        if typed is not None:
            self._line.type(typed.encode("utf-8", "replace"))
        while self.is_running:
            if over := waiting.over():
                return over
            if self._screen is not None:
                await self._screen.answer()
            await anyio.sleep(_LOOK_S)
            await to_thread.run_sync(self.refresh)
        return "ended"

    def output(self, max_bytes: int, *, only_new: bool = False) -> tuple[str, str]:
        """Return standard output and error so far, each with its middle left out past `max_bytes`.

        `only_new` leaves out what an earlier call, or the command's own result, has shown.
        """
        with self._asking:  # what is read may move meanwhile
            self._ask()
            if self._screen is not None:
                return self._screen.text(only_new=only_new)[-max_bytes:], ""
            return self._text("stdout", max_bytes, only_new), self._text("stderr", max_bytes, only_new)

    async def stop(self) -> None:
        """End all of its processes: SIGTERM, 2 s, SIGKILL; returns when they are gone."""
        self._line.say(b"end")
        with anyio.move_on_after(_STOP_TAKES_S):
            while self.is_running:
                if not await self._line.is_alive():
                    self._ended()
                self.hear()

    def keep(self) -> None:
        """Let it live on after this program. Raises `ToolError` where nobody could find it then."""
        if self.stored is None:
            raise ToolError(ErrorKind.IO_ERROR, told("It belongs to its session, and ends with it."))
        self.stored.keep()

    def ask_to_end(self) -> None:
        """Have it ended, unless it is kept; without waiting."""
        if self.is_running and not self.is_kept:
            self._line.say(b"end")

    def close(self) -> None:
        """Let go of it; one that isn't kept is ended first, and waited for."""
        self.ask_to_end()
        deadline = time.monotonic() + _STOP_TAKES_S
        while self.is_running and not self.is_kept and time.monotonic() < deadline:
            with self._asking:
                self._take(timeout_s=_LOOK_S)
        is_left = self.stored is not None and self.is_kept
        with self._asking:
            self._ended()
            self._line.close()
        if self.stored is not None and not is_left:
            self.stored.forget()

    def _hear(self, event: str, facts: dict[str, Any]) -> None:
        if event in ("status", "ended"):
            self._pids = tuple(facts["pids"])
            exit_code, signal = ending_of(facts["status"], self._started)
            known = f"exit code {exit_code}" if signal is None else f"signal {signal}"
            self.ending = known if facts["status"] is not None else ""
        if event == "unmoved":
            self._moving = None
        if event == "moved":
            self._moved(facts["supervisor"])
        if event == "ended":
            self._ended()

    def _moved(self, supervisor: int) -> None:
        """Read from the folder that its supervisor prints into now, and make it one in which others find it."""
        if self._moving is None:
            return
        (jobs, folder, directory), self._moving = self._moving, None
        record = JobRecord(self.pgid, self.command, directory, time.time(), supervisor, birth_of(supervisor))
        try:
            self._line.move_outputs(folder)
            self.stored = jobs.finish(folder, record)
        except OSError:
            return

    def _ended(self) -> None:
        self.is_running = False
        self._pids = ()

    def _text(self, stream: str, max_bytes: int, only_new: bool) -> str:
        total_bytes = self._line.total_bytes(stream)
        first, left_out_bytes, last = self._line.ends(stream, max_bytes)
        if only_new:
            new_bytes = total_bytes - self._read_bytes[stream]
            whole = first + last
            if not left_out_bytes or new_bytes <= len(last):
                first, left_out_bytes, last = whole[len(whole) - new_bytes :], 0, b""
        self._read_bytes[stream] = total_bytes
        return readable(first, left_out_bytes, last)
