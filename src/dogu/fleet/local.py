"""The engine on this machine: a few worker processes, many agents in each. One that dies or hangs is replaced."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from math import ceil

import anyio
import msgspec
from anyio.abc import Process, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

from dogu.fleet.engine import Engine, Tasks, deadline_s
from dogu.fleet.limits import SharedLimits, Spent
from dogu.fleet.plan import Plan
from dogu.fleet.rows import Row
from dogu.fleet.tasks import Work
from dogu.fleet.wire import (
    LONGEST_LINE_BYTES,
    Begin,
    Done,
    FromWorker,
    Granted,
    Paid,
    Run,
    ToWorker,
    Used,
    Wants,
    line_of,
)
from dogu.language import spoken
from dogu.workspace.system import IS_WINDOWS, end_group

_ENDS_WITHIN_S = 20.0
_SEATS = 32  # of a worker: so many agents wait for their models most of the time, and one process has time for all
_GONE = (anyio.IncompleteRead, anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError)


class LocalEngine(Engine):
    """Runs a fleet's tasks in processes of this machine. `home` is where the user's settings are."""

    def __init__(self, folder: str, plan: Plan, home: str = "") -> None:
        self._folder = folder
        self._plan = plan
        self._home = home or os.path.expanduser("~")

    async def run(self, tasks: Tasks, limits: SharedLimits) -> None:
        """Run until there is no task to take; cancelled, every worker and what it started is ended."""
        plan = self._plan
        jobs = max(1, plan.jobs)
        workers = min(jobs, plan.workers or min(ceil(jobs / _SEATS), os.cpu_count() or 1))
        async with anyio.create_task_group() as group:
            for number in range(workers):
                seats = jobs // workers + (number < jobs % workers)
                group.start_soon(self._seats, seats, tasks, limits, workers == 1)

    async def _seats(self, seats: int, tasks: Tasks, limits: SharedLimits, is_alone: bool) -> None:
        """Keep one worker's seats taken; another worker takes its place when it is lost."""
        is_lost = True
        while is_lost:
            spent_usd = limits.spent_usd if is_alone else None
            begin = Begin(self._folder, self._plan, self._home, spoken(), spent_usd)
            async with _worker(begin, limits) as worker:
                async with anyio.create_task_group() as group:
                    for _ in range(seats):
                        group.start_soon(self._seat, worker, tasks)
                is_lost = worker.is_lost

    async def _seat(self, worker: _Worker, tasks: Tasks) -> None:
        while not worker.is_lost and (work := tasks.take()) is not None:
            try:
                with anyio.fail_after(deadline_s(self._plan, work)):
                    row = await worker.run(work)
            except (_LostError, TimeoutError) as error:  # a worker that doesn't end a task in time hangs
                if isinstance(error, TimeoutError):  # to one that is gone, asyncio would miss its end, and say so
                    worker.kill()
                tasks.lost(work)
                return
            if row is None:
                tasks.put_back(work)
                return
            tasks.finish(row)


class _LostError(Exception):
    """The worker is gone."""


class _Worker:
    """One worker process, as the driver sees it."""

    def __init__(self, process: Process, limits: SharedLimits) -> None:
        self._process = process
        self._limits = limits
        self._rows: dict[str, Row | None] = {}
        self._waiting: dict[str, anyio.Event] = {}
        self._granted = Counter[str]()  # requests under way, by account
        self._sending = anyio.Lock()
        self.is_lost = False

    async def run(self, work: Work) -> Row | None:
        """Have it run a task, and wait. Raises `_LostError`."""
        done = self._waiting[work.task.id] = anyio.Event()
        try:
            await self.say(Run(work))
            await done.wait()
        finally:
            self._waiting.pop(work.task.id, None)
        if work.task.id not in self._rows:
            raise _LostError
        return self._rows.pop(work.task.id)

    async def say(self, message: ToWorker) -> None:
        """Send it a message. Raises `_LostError`."""
        stdin = self._process.stdin
        try:
            async with self._sending:
                if stdin is None or self.is_lost:
                    raise _LostError
                await stdin.send(line_of(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise _LostError from None

    async def listen(self) -> None:
        """Hear it until it is gone; then nobody waits for it any longer."""
        try:
            async with anyio.create_task_group() as group:
                with contextlib.suppress(*_GONE):
                    async for message in self._messages():
                        await self._heard(message, group)
                group.cancel_scope.cancel()
        finally:
            self.is_lost = True
            for waiting in self._waiting.values():
                waiting.set()
            with anyio.CancelScope(shield=True):
                for account in self._granted.elements():  # what it had under way came to nothing
                    await self._limits.end(Spent(account))

    async def _messages(self) -> AsyncGenerator[FromWorker]:
        decoder: msgspec.json.Decoder[FromWorker] = msgspec.json.Decoder(FromWorker)
        stdout = self._process.stdout
        if stdout is not None:
            lines = BufferedByteReceiveStream(stdout)
            while True:
                yield decoder.decode(await lines.receive_until(b"\n", LONGEST_LINE_BYTES))

    async def _heard(self, message: FromWorker, group: TaskGroup) -> None:
        match message:
            case Done(task_id=task_id, row=row):
                self._rows[task_id] = row
                if (waiting := self._waiting.get(task_id)) is not None:
                    waiting.set()
            case Wants():
                group.start_soon(self._grant, message)
            case Used(spent=spent):
                self._granted[spent.account] -= spent.is_over
                await self._limits.end(spent)
            case Paid(usd=usd):
                self._limits.note_spent(usd)

    async def _grant(self, wanted: Wants) -> None:
        refused = await self._limits.begin(wanted.account, wanted.tokens)
        if not refused:
            self._granted[wanted.account] += 1
        with contextlib.suppress(_LostError):
            await self.say(Granted(wanted.number, wanted.account, refused))

    def kill(self) -> None:
        """End it at once; what it started ends with it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def aclose(self) -> None:
        """Let it end by itself, as it does when nobody speaks to it; after a while, end it."""
        with anyio.CancelScope(shield=True):
            if self._process.stdin is not None:
                await self._process.stdin.aclose()
            with anyio.move_on_after(_ENDS_WITHIN_S):
                await self._process.wait()
            if self._process.returncode is None:
                self.kill()
                await self._process.wait()


def _standard_error() -> int | None:
    """What a worker writes its errors to: this process's own, unless that is closed, and its number another file's."""
    with contextlib.suppress(OSError):
        if IS_WINDOWS or os.get_inheritable(2):
            return None
    return subprocess.DEVNULL


@contextlib.asynccontextmanager
async def _worker(begin: Begin, limits: SharedLimits) -> AsyncGenerator[_Worker]:
    process = await anyio.open_process(
        [sys.executable, "-P", "-m", "dogu.fleet.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=_standard_error(),
        start_new_session=True,  # Ctrl-C is the driver's
    )
    worker = _Worker(process, limits)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(worker.listen)
            with contextlib.suppress(_LostError):
                await worker.say(begin)
            yield worker
            await worker.aclose()
            group.cancel_scope.cancel()
    finally:
        await worker.aclose()
        end_group(process.pid)  # git, of one that was killed
