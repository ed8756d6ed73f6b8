"""Running commands: started in a session of their own, followed to the end, ended without leaving anything behind.

Above: the shell tool, discovered tools. Below: a launcher process that forks one keeper a command (`launcher`,
`keeper`); this module orders, listens and reads what was printed. Linux; elsewhere a command can't start.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import anyio
import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import sentence, told
from dogu.workspace.process.descriptors import SHELLS
from dogu.workspace.process.jobs import Job
from dogu.workspace.process.output import LiveText, readable
from dogu.workspace.process.wire import KeeperGoneError, Launch, Line, NeverStartedError

KEPT_BYTES = 1024 * 1024  # of a stream, in memory; the ring on disk holds more
IDLE_TIMEOUT_S = 300.0
MAX_PROCESSES = 1000
_MOST_AT_ONCE = 32
_MOST_JOBS = 30
_ENDING_SIGNALS = frozenset((1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 24, 25, 31))
_END_TAKES_S = 12.0  # a keeper's grace, its last try, and some


class ShellCommand(msgspec.Struct, frozen=True):
    """What to run and within which bounds.

    `text` goes to `bash -c` unchanged; `argv`, if given, runs instead, without a shell. `directory` is a path or an
    open descriptor (the caller's to close). `environment` is all of the child's environment. Times and sizes of None or
    0 mean no limit; `idle_timeout_s` is time without output. `confinement` is a sandbox's order (`sandbox.confine`).
    """

    text: str
    directory: str | int
    environment: Mapping[str, str]
    timeout_s: float | None = None
    idle_timeout_s: float | None = IDLE_TIMEOUT_S
    argv: tuple[str, ...] = ()
    stdin: bytes = b""
    max_processes: int = MAX_PROCESSES
    max_memory_bytes: int | None = None
    confinement: Mapping[str, Any] | None = None


class ProcessResult(msgspec.Struct, frozen=True):
    """How a command ended and what it printed.

    Exactly one of `exit_code` and `signal` is set, unless its keeper was lost. `error` says why it was ended, if it
    was. `background_pids` live on. `output_files` name the longer record of a stream that was cut, per stream.
    `refused_hosts` were asked for while it ran and aren't among those it may reach.
    """

    stdout: str
    stderr: str
    exit_code: int | None
    signal: int | None
    pgid: int
    error: str = ""
    background_pids: tuple[int, ...] = ()
    timed_out: bool = False
    truncated: bool = False
    output_bytes: int = 0
    output_files: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    duration_s: float = 0.0
    refused_hosts: tuple[str, ...] = ()


Report = Callable[[str], None]


class Processes(Protocol):
    """Whatever can run a command: this machine, or another."""

    async def run(self, command: ShellCommand, report: Report | None = None) -> ProcessResult:
        """Run to the end of the foreground; live output goes to `report` at most 10 times a second."""
        ...


class LocalProcesses:
    """Runs commands on this machine; closing it ends every background job that wasn't kept.

    `output_folder` takes the records of outputs too long for memory (ring of 16 MB a stream); without one they are gone
    after the result is made. Use as a context manager, or call `close`.
    """

    def __init__(self, *, output_folder: str | None = None) -> None:
        self._output_folder = output_folder
        self._launches: dict[tuple[bool, tuple[str, ...] | None], Launch] = {}
        self._jobs: dict[int, Job] = {}
        self._limiter: anyio.CapacityLimiter | None = None

    def prepare(self, *, is_scoped: bool = False) -> None:
        """Start the launcher now, so that the first command (with a confinement: `is_scoped`) needn't wait 20 ms."""
        self._launch({"is_scoped": is_scoped}).start()

    async def run(self, command: ShellCommand, report: Report | None = None) -> ProcessResult:
        """Run a command and return when its foreground has ended, though children may live on.

        Cancelled or out of time, every process that it started is ended: SIGTERM, 2 s, SIGKILL; what it printed until
        then has gone to `report`. Raises `ToolError`: INVALID_ARGUMENTS for what no command line can hold, START_FAILED
        with the system's reason.
        """
        _check(command)
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_MOST_AT_ONCE)
        async with self._limiter:
            started = time.monotonic()
            launch = self._launch(command.confinement or {})
            mark = launch.refused_count
            order = _order(command, report is not None)
            try:
                line, facts = await _follow(launch, order, command, report or _ignore)
            except NeverStartedError:  # its launcher was lost just then; another makes a new keeper
                line, facts = await _follow(launch, order, command, report or _ignore)
            result = self._result(command, line, facts, time.monotonic() - started)
            refused = launch.refused_since(mark)
            return msgspec.structs.replace(result, refused_hosts=refused) if refused else result

    def _launch(self, confinement: Mapping[str, Any]) -> Launch:
        """The launcher for commands confined so; those with the same hosts share a network, and reach one another."""
        is_scoped, hosts = bool(confinement.get("is_scoped")), confinement.get("hosts")
        return self._launches.setdefault((is_scoped, hosts), Launch(is_scoped=is_scoped, hosts=hosts))

    def _result(self, command: ShellCommand, line: Line, facts: dict[str, Any], duration_s: float) -> ProcessResult:
        exit_code, signal = _ending(facts["status"], command.confinement or {})
        files: dict[str, str] = {}
        texts: dict[str, str] = {}
        truncated = False
        for stream in ("stdout", "stderr"):
            first, left_out, last = line.ends(stream, KEPT_BYTES)
            if left_out and self._output_folder is not None:
                files[stream] = line.save(stream, self._output_folder)
            truncated = truncated or left_out > 0
            texts[stream] = readable(first, left_out, last, files.get(stream, ""))
        if facts["reason"] in ("moved", "sandbox"):
            told = line.ends("stderr", KEPT_BYTES)[0].decode(errors="replace").strip()
            line.close()
            raise _start_failure(0, facts["reason"], told)
        if facts["pids"]:
            self._forget_ended_jobs()
            self._jobs[line.pid] = Job(command.text, line, time.time())
        else:
            line.close()
        return ProcessResult(
            texts["stdout"],
            texts["stderr"],
            exit_code=exit_code,
            signal=signal,
            pgid=line.pid,
            error=_error(command, facts),
            background_pids=tuple(facts["pids"]),
            timed_out=facts["reason"] in ("timeout", "idle"),
            truncated=truncated,
            output_bytes=sum(facts["bytes"].values()),
            output_files=files,
            duration_s=duration_s,
        )

    def _forget_ended_jobs(self) -> None:
        """Keep the list and its descriptors bounded: past `_MOST_JOBS`, ended ones go."""
        if len(self._jobs) >= _MOST_JOBS:
            for job in self.jobs:
                job.refresh()
                if not job.is_running:
                    self._jobs.pop(job.pgid).close()

    @property
    def jobs(self) -> tuple[Job, ...]:
        """What earlier commands left running, oldest first; ended jobs stay listed for a while."""
        return tuple(self._jobs.values())

    def job(self, pid: int) -> Job | None:
        """Find a job by its process group or by any of its processes."""
        return self._jobs.get(pid) or next((job for job in self.jobs if pid in job.pids), None)

    def close(self) -> None:
        """End every background job that wasn't kept, and the launcher; returns when they are gone (2 s, rarely 7)."""
        jobs, self._jobs = self.jobs, {}
        for job in jobs:
            job.ask_to_end()
        for job in jobs:
            job.close()
        for launch in self._launches.values():
            launch.close(wait=not any(job.is_kept for job in jobs))

    async def aclose(self) -> None:
        """Do what `close` does without blocking the loop; cancellation waits for it."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.close)

    def __enter__(self) -> LocalProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> LocalProcesses:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def _follow(
    launch: Launch, order: dict[str, Any], command: ShellCommand, report: Report
) -> tuple[Line, dict[str, Any]]:
    """Have an order carried out to the end of the foreground; whatever prevents that ends all of it."""
    line = launch.order(order, command.directory, command.stdin)
    talk = _Talk(line, report)
    is_done = False
    try:
        facts = await talk.until_done()
        is_done = True
    finally:
        if not is_done:
            await talk.end()
            line.close()
    return line, facts


class _Talk:
    """What is said on a command's line while it runs; live output goes to the report as text."""

    def __init__(self, line: Line, report: Report) -> None:
        self._line = line
        self._report = report
        self._texts = {"stdout": LiveText(), "stderr": LiveText()}

    async def until_done(self) -> dict[str, Any]:
        try:
            while True:
                event, facts = await self._line.next_event()
                if event == "live":
                    self._report_live(facts["output"])
                elif event == "failed":
                    raise _start_failure(facts["errno"], facts["step"])
                elif event == "started":
                    self._line.pid = facts["pid"]
                elif event == "done":
                    return facts
        except KeeperGoneError:
            return self._line.last_facts()

    async def end(self) -> None:
        """End everything of the command, if anything is left, and wait; not to be cancelled, but bounded."""
        if self._line.is_settled:
            return
        with anyio.move_on_after(_END_TAKES_S, shield=True):
            self._line.say(b"end")
            try:
                await self.until_done()
            except ToolError:  # it never started
                return

    def _report_live(self, output: list[tuple[str, bytes]]) -> None:
        text = "".join(self._texts[stream].feed(data) for stream, data in output)
        if text:
            self._report(text)


def _ending(status: int | None, confinement: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """The exit code, or the signal that ended it.

    Where a sandbox numbers its own processes, its init stands between and tells a signal as 128 and its number: there
    a code that names a signal counts as one, and a command that really exits so (`exit 143`) can't be told apart.
    """
    if status is None:
        return None, None
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    code = os.WEXITSTATUS(status)
    is_told_by_init = confinement.get("has_own_processes", False) and code - 128 in _ENDING_SIGNALS
    return (None, code - 128) if is_told_by_init else (code, None)


def _ignore(_text: str) -> None:
    return None


def _check(command: ShellCommand) -> None:
    for text in (command.text, *command.argv):
        if "\0" in text:
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, "The command holds a NUL character: remove it.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ToolError(
                ErrorKind.INVALID_ARGUMENTS,
                f"The command holds half a character (a lone surrogate) at position {error.start}: "
                "write a byte that is no character as $'\\xNN'.",
            ) from error


def _order(command: ShellCommand, is_live: bool) -> dict[str, Any]:
    argv = command.argv or ("bash", "-c", command.text)
    if command.confinement and "outer" in command.confinement:
        if not command.argv:  # it calls itself `bash` as elsewhere, though started by its path
            argv = (next((path for path in SHELLS if os.access(path, os.X_OK)), "bash"), *argv[1:], "bash")
        argv = (*command.confinement["outer"], *argv)
    if command.confinement:
        argv = (*command.confinement.get("prefix", ()), *argv)
    return {
        "argv": [os.fsencode(word) for word in argv],
        "environment": {os.fsencode(name): os.fsencode(value) for name, value in command.environment.items()},
        "timeout_s": command.timeout_s,
        "idle_timeout_s": command.idle_timeout_s,
        "max_processes": command.max_processes,
        "max_memory_bytes": command.max_memory_bytes,
        "live": is_live,
        "confinement": dict(command.confinement) if command.confinement else None,
    }


_STEPS = {
    "directory": sentence("its directory is gone or can't be entered"),
    "moved": sentence("its directory was moved or swapped meanwhile"),
    "sandbox": sentence("the sandbox could not be set up"),
    "limits": sentence("its limits could not be set"),
    "exec": sentence("the program could not be started"),
    "streams": sentence("its streams could not be opened"),
}


def _start_failure(number: int, step: str, found: str = "") -> ToolError:
    why = _STEPS.get(step, step)
    reason = os.strerror(number) if number else found
    message = told("The command could not start: {why}.", why=why)
    if reason:
        message = told("The command could not start: {why} ({reason}).", why=why, reason=reason)
    if number == errno.E2BIG:
        message += " " + told("It is too long for a command line (128 kB): write it to a file and run that.")
    return ToolError(ErrorKind.START_FAILED, message)


def _error(command: ShellCommand, facts: dict[str, Any]) -> str:
    error = ""
    match facts["reason"]:
        case "timeout" if command.timeout_s:
            limit_s = command.timeout_s
            error = told(
                "Timed out after {limit_s:g} s and was ended, with everything it had started.", limit_s=limit_s
            )
        case "idle" if command.idle_timeout_s:
            limit_s = command.idle_timeout_s
            error = told(
                "Printed nothing for {limit_s:g} s and was ended, with everything it had started.", limit_s=limit_s
            )
        case "processes":
            most = command.max_processes
            error = told("Started more than {count} processes and was ended, with all of them.", count=most)
        case "ended":
            error = told("Was ended on request.")
        case "lost":
            error = told("The process that watched over it was killed; everything it had started was ended.")
        case _:
            pass
    if facts["failure"]:
        lost = told("A part of the output could not be kept: {reason}.", reason=facts["failure"])
        return f"{error} {lost}".strip()
    return error
