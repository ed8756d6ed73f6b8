"""Running commands: started in a session of their own, followed to the end, ended without leaving anything behind.

Above: the shell tool, discovered tools. Below: a launcher process that forks one supervisor a command (`launcher`,
`supervisor`); this module orders, listens and reads what was printed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace.process.command import KEPT_BYTES, ProcessResult, Report, ShellCommand, Until
from dogu.workspace.process.endings import ending_of, error_of, start_failure
from dogu.workspace.process.jobs import Job, SettledJob
from dogu.workspace.process.launch import ForkServer, Launch
from dogu.workspace.process.order import check_command, order_of
from dogu.workspace.process.output import LiveText, readable
from dogu.workspace.process.starting import launcher
from dogu.workspace.process.stored_jobs import StoredJobs
from dogu.workspace.process.supervisor_line import NeverStartedError, SupervisorGoneError, SupervisorLine
from dogu.workspace.process.waiting import Waiting
from dogu.workspace.system import IS_LINUX, path_of

if TYPE_CHECKING:
    from dogu.workspace.process.screen import TerminalScreen
    from dogu.workspace.sandbox.proxy import HostRequest

    _Followed = tuple[SupervisorLine, dict[str, Any], TerminalScreen | None]

_MOST_AT_ONCE = 32
_MOST_JOBS = 30
_LOOK_S = 0.1
_END_TAKES_S = 12.0  # a supervisor's grace, its last try, and some


class LocalProcesses:
    """Runs commands on this machine; closing it ends every background job that wasn't kept.

    `output_folder` takes the records of outputs too long for memory (ring of 16 MB a stream); without one they are gone
    after the result is made. In `jobs_folder` background jobs are found by other programs, and can be kept. A
    `fork_server` starts launchers quicker, if given, and shares the one of commands that nothing confines. Use as a
    context manager, or call `close`.
    """

    def __init__(
        self,
        *,
        output_folder: str | None = None,
        jobs_folder: str | None = None,
        fork_server: ForkServer | None = None,
    ) -> None:
        self._fork_server = fork_server
        self._output_folder = output_folder
        self._stored = StoredJobs(jobs_folder) if jobs_folder is not None else None
        self._settled: dict[int, SettledJob] = {}
        self._launches: dict[tuple[bool, bool, tuple[str, ...] | None], Launch] = {}
        self._jobs: dict[int, Job] = {}
        self._foreground: set[SupervisorLine] = set()
        self._limiter: anyio.CapacityLimiter | None = None

    def prepare(self, *, is_scoped: bool = False, mounts: bool = False, hosts: tuple[str, ...] | None = None) -> None:
        """Start the launcher now, so that the first command (with a confinement that says so) needn't wait 20 ms."""
        self._launch({"is_scoped": is_scoped, "mounts": mounts, "hosts": hosts}).start()

    async def run(self, command: ShellCommand, report: Report | None = None) -> ProcessResult:
        """Run a command and return when its foreground has ended, though children may live on.

        Cancelled or out of time, every process that it started is ended: SIGTERM, 2 s, SIGKILL; what it printed until
        then has gone to `report`. Raises `ToolError`: INVALID_ARGUMENTS for what no command line can hold, START_FAILED
        with the system's reason.
        """
        check_command(command)
        if command.has_terminal or command.until is not None:
            await anyio.to_thread.run_sync(self._check_room)
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_MOST_AT_ONCE)
        async with self._limiter:
            started = time.monotonic()
            launch = self._launch(command.confinement or {})
            mark = launch.refused_count
            order = order_of(command, report is not None)
            try:
                line, facts, screen = await _follow_asking(launch, order, command, report or _ignore, self._foreground)
            except NeverStartedError:  # its launcher was lost just then; another makes a new supervisor
                line, facts, screen = await _follow_asking(launch, order, command, report or _ignore, self._foreground)
            shown = None
            with anyio.CancelScope(shield=True):  # it lasts milliseconds, and nobody else knows of the command
                shown = await anyio.to_thread.run_sync(screen.text) if screen is not None else None
            result = self._result(command, line, facts, time.monotonic() - started, shown)
            with anyio.CancelScope(shield=True):
                if facts["pids"]:
                    await self._add_job(command, line, screen)
            refused = launch.refused_since(mark)
            return msgspec.structs.replace(result, refused_hosts=refused) if refused else result

    def _launch(self, confinement: Mapping[str, Any]) -> Launch:
        """The launcher for commands confined so; those with the same hosts share a network, and reach one another."""
        is_scoped, mounts = bool(confinement.get("is_scoped")), bool(confinement.get("mounts"))
        hosts = confinement.get("hosts")
        if self._fork_server is not None and not (is_scoped or mounts or hosts is not None) and IS_LINUX:
            return self._fork_server.plain
        made = launcher(is_scoped=is_scoped, mounts=mounts, hosts=hosts, fork_server=self._fork_server)
        return self._launches.setdefault((is_scoped, mounts, hosts), made)

    def _result(
        self,
        command: ShellCommand,
        line: SupervisorLine,
        facts: dict[str, Any],
        duration_s: float,
        shown: str | None = None,
    ) -> ProcessResult:
        exit_code, signal = ending_of(facts["status"], command)
        files: dict[str, str] = {}
        texts: dict[str, str] = {}
        truncated = False
        for stream in ("stdout", "stderr"):
            first, left_out, last = line.ends(stream, command.kept_bytes)
            if left_out and self._output_folder is not None and shown is None:
                files[stream] = line.save(stream, self._output_folder)
            truncated = truncated or left_out > 0
            texts[stream] = readable(first, left_out, last, files.get(stream, ""), line.code_page)
        if facts["reason"] in ("moved", "sandbox"):
            found = line.ends("stderr", KEPT_BYTES)[0].decode(errors="replace").strip()
            line.close()
            raise start_failure(0, facts["reason"], found)
        if not facts["pids"]:
            line.close()
        return ProcessResult(
            texts["stdout"] if shown is None else shown,
            texts["stderr"],
            exit_code=exit_code,
            signal=signal,
            pgid=line.pid,
            error=error_of(command, facts),
            background_pids=tuple(facts["pids"]),
            refused_rename=facts.get("refused_rename", False),
            parted_names=facts.get("parted_names", False),
            timed_out=facts["reason"] in ("timeout", "idle"),
            truncated=truncated,
            output_bytes=sum(facts["bytes"].values()),
            output_files=files,
            duration_s=duration_s,
            moved=facts.get("moved", ""),
            written=line.take_written() if command.watched else None,
        )

    async def _add_job(self, command: ShellCommand, line: SupervisorLine, screen: TerminalScreen | None) -> None:
        self._forget_ended_jobs()
        job = self._jobs[line.pid] = Job(command, line, time.time(), screen)
        # What is written in a layer of the session's goes with the session: such a job can't outlive it.
        if self._stored is not None and not (command.confinement or {}).get("layers"):
            place = command.directory
            folder = place if isinstance(place, str) else path_of(place)
            await job.store(self._stored, folder)

    def _check_room(self) -> None:
        """Raise `ToolError` when so many jobs run that one which is sure to become another would be too many."""
        if sum(1 for job in self.jobs if job.pids) >= _MOST_JOBS:
            message = told("{count} background jobs run already: stop one first.", count=_MOST_JOBS)
            raise ToolError(ErrorKind.START_FAILED, message)

    def to_background(self) -> bool:
        """Let what runs in the foreground go on in the background; its calls return at once. False: nothing ran."""
        for line in self._foreground:
            line.say(b"release")
        return bool(self._foreground)

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

    def settle(self, *, keep: bool = False) -> tuple[SettledJob, ...]:
        """Keep or end what still runs, as `keep` says, and wait for that (2 s, rarely 7); each job is told once.

        What was kept before stays so. Returns what still ran, also when it is called again.
        """
        running = [job for job in self.jobs if job.pgid not in self._settled and job.pids]
        problems = {job.pgid: _keep(job) for job in running if keep}
        for job in running:
            job.ask_to_end()
        for job in running:
            is_kept = job.is_kept
            problem = problems.get(job.pgid, "")
            self._settled[job.pgid] = SettledJob(job.pgid, job.command, is_kept, problem, job.can_be_kept)
            if not is_kept:
                self._jobs.pop(job.pgid).close()
        return self.settled

    @property
    def settled(self) -> tuple[SettledJob, ...]:
        """What became of the jobs that still ran when they were settled."""
        return tuple(self._settled.values())

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


def _keep(job: Job) -> str:
    """Keep a job; return why it can't be."""
    try:
        job.keep()
    except ToolError as error:
        return error.message
    return ""


async def _follow_asking(
    launch: Launch, order: dict[str, Any], command: ShellCommand, report: Report, foreground: set[SupervisorLine]
) -> _Followed:
    """Follow a command, and beside it have the hosts asked for that it wants to reach, one at a time."""
    ask = command.ask_host
    if ask is None:
        return await _follow(launch, order, command, report, foreground)
    send, receive = anyio.create_memory_object_stream["HostRequest"](math.inf)
    token = anyio.lowlevel.current_token()

    def asked(request: HostRequest) -> None:  # in a thread of the proxy's
        anyio.from_thread.run_sync(send.send_nowait, request, token=token)

    async def answer_all() -> None:
        async for request in receive:
            request.answer(await ask(command.text, request.host, request.port, request.private))

    failure: ToolError | None = None
    followed: _Followed | None = None
    with send, receive, launch.asking(asked):
        async with anyio.create_task_group() as group:
            group.start_soon(answer_all)
            try:
                followed = await _follow(launch, order, command, report, foreground)
            except ToolError as error:  # out of the group as what it is
                failure = error
            group.cancel_scope.cancel()
    if followed is None:
        raise failure or ToolError(ErrorKind.CANCELLED, "The command was cancelled.")
    return followed


async def _follow(
    launch: Launch, order: dict[str, Any], command: ShellCommand, report: Report, foreground: set[SupervisorLine]
) -> _Followed:
    """Have an order carried out to the end of the foreground; whatever prevents that ends all of it."""
    line = launch.order(order, command.directory, command.stdin)
    screen = _screen_of(command, line)
    talk = _Talk(line, report, screen)
    is_done = False
    foreground.add(line)
    try:
        facts = await talk.until_done(command.until)
        is_done = True
    finally:
        foreground.discard(line)
        if not is_done:
            await talk.end()
            line.close()
    return line, facts, screen


def _screen_of(command: ShellCommand, line: SupervisorLine) -> TerminalScreen | None:
    if not command.has_terminal:
        return None
    from dogu.workspace.process.screen import TerminalScreen

    return TerminalScreen(line)


class _Talk:
    """What is said on a command's line while it runs; live output goes to the report as text."""

    def __init__(self, line: SupervisorLine, report: Report, screen: TerminalScreen | None = None) -> None:
        self._line = line
        self._screen = screen
        self._report = report
        self._texts = {"stdout": LiveText(), "stderr": LiveText()}
        self._waiting: Waiting | None = None
        self._over = ""

    async def until_done(self, until: Until | None = None) -> dict[str, Any]:
        """Follow it to the end of its foreground; past `until` it is sent to the background, which ends that too."""
        self._waiting = Waiting(until, self._line) if until is not None else None
        try:
            while True:
                with anyio.move_on_after(_LOOK_S if self._waiting else None):
                    event, facts = await self._line.next_event()
                    self._hear(event, facts)
                    if event == "done":
                        return {**facts, "moved": self._over or facts["moved"]} if facts["moved"] else facts
                self._look()
                if self._screen is not None:
                    await self._screen.answer()
        except SupervisorGoneError:
            return self._line.last_facts()

    def _hear(self, event: str, facts: dict[str, Any]) -> None:
        if event == "live":
            self._report_live(facts["output"])
        elif event == "failed":
            raise start_failure(facts["errno"], facts["step"], facts.get("path", ""))
        elif event == "started":
            self._line.pid = facts["pid"]

    def _look(self) -> None:
        if self._waiting and (over := self._waiting.over()):
            self._over, self._waiting = over, None
            self._line.say(b"release")

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


def _ignore(_text: str) -> None:
    return None
