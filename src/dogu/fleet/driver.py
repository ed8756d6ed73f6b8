"""Drives a fleet: begins tasks, records their rows, and stops when it should."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TypeAlias

import msgspec

from dogu.contract import ErrorKind, ToolError
from dogu.fleet.engine import Engine
from dogu.fleet.limits import SharedLimits
from dogu.fleet.local import LocalEngine
from dogu.fleet.plan import Plan
from dogu.fleet.rows import Reason, Row
from dogu.fleet.store import Counts, DamagedError, DamagedTaskError, Fleet
from dogu.fleet.tasks import Task, Work, checked
from dogu.language import sentence, told

_MOST_LOSSES = 2


class Begun(msgspec.Struct, frozen=True):
    """A task was begun."""

    work: Work


class Ended(msgspec.Struct, frozen=True):
    """A task has its row, which is on the disk."""

    row: Row


class PutBack(msgspec.Struct, frozen=True):
    """A task waits again."""

    task_id: str
    why: str


FleetEvent: TypeAlias = Begun | Ended | PutBack
Watch: TypeAlias = Callable[[FleetEvent], None]


class Report(msgspec.Struct, frozen=True):
    """How a run of a fleet ended. `stopped` says why it ended before all was done, empty when it didn't.

    `can_go_on` says whether a `resume` would get any further.
    """

    folder: str
    counts: Counts
    stopped: str = ""
    can_go_on: bool = True

    @property
    def passed(self) -> int:
        """How many passed."""
        return self.counts.passed

    @property
    def failed(self) -> int:
        """How many didn't."""
        return self.counts.failed


class Driver:
    """Takes an open fleet to its end. `drain` lets what runs end and begins nothing more."""

    def __init__(self, fleet: Fleet, watch: Watch = lambda _: None) -> None:
        self._fleet = fleet
        self._plan = fleet.plan
        self._plan.check()
        self._moves = 0
        self._watch = watch
        self._running: dict[str, Work] = {}
        self._losses: dict[str, int] = {}
        self._stopped = ""
        self._is_damaged = False
        self._failures = 0
        self.limits = SharedLimits(
            self._plan.requests_per_minute,
            self._plan.tokens_per_minute,
            self._plan.max_cost,
            fleet.spent_usd(),
            keep=fleet.keep_spent,
        )

    async def run(self, engine: Engine) -> Report:
        """Run the fleet; what was begun and cut short is begun anew, in a clean world. Raises `ToolError`."""
        for task_id in self._fleet.take_back():
            self._watch(PutBack(task_id, told("it was cut short, and is run again")))
        try:
            while not self._stopped and self._fleet.counts().queued:
                moves = self._moves
                await engine.run(self, self.limits)
                if self._moves == moves and not self._stopped:
                    raise ToolError(ErrorKind.IO_ERROR, told("nothing could be run: no task was begun"))
        finally:
            for work in [*self._running.values()]:
                self.put_back(work)
        return self.report()

    def report(self) -> Report:
        """How far it is. Whatever should have stopped it, what is all done wasn't."""
        counts = self._fleet.counts()
        stopped = self._stopped if counts.done < counts.total else ""
        return Report(self._fleet.folder, counts, stopped, not self._is_damaged)

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is begun."""
        return bool(self._stopped)

    def drain(self) -> None:
        """Begin no other task."""
        self._stopped = self._stopped or told("stopped by you")

    @contextmanager
    def _stopping(self) -> Generator[None]:
        """Stop when what is noted can't be written; what runs then runs once more after `resume`."""
        try:
            yield
        except ToolError as error:
            self._stopped = self._stopped or error.message
            self._is_damaged |= isinstance(error, DamagedError)

    def take(self) -> Work | None:
        """Begin the next task; see `Tasks`."""
        if self.limits.is_spent:
            words = sentence("the fleet has spent its {limit:.2f} USD: a larger --max-cost lets it go on")
            self._stopped = told(words, limit=self._plan.max_cost)
        while not self._stopped:
            begun = None
            try:
                with self._stopping():
                    begun = self._fleet.next_task()
            except DamagedTaskError as error:
                self._moves += 1
                self.finish(Row(error.task_id, False, Reason.WORLD, str(error), attempt=error.attempt))
                continue
            if begun is None:
                break
            self._moves += 1
            work = self._running[begun[0].id] = Work(*begun)
            self._watch(Begun(work))
            return work
        return None

    def finish(self, row: Row) -> None:
        """Record a row; see `Tasks`."""
        self._running.pop(row.id, None)
        is_kept = False
        with self._stopping():
            self._fleet.finish(row)
            is_kept = True
        if not is_kept:  # it runs once more, as after a power cut
            self._watch(PutBack(row.id, self._stopped))
            return
        self._failures += row.passed is False
        most = self._plan.max_failures
        if most is not None and self._failures >= most:
            self._stopped = self._stopped or told("{count} tasks failed, which is the limit", count=self._failures)
        self._watch(Ended(row))

    def put_back(self, work: Work) -> None:
        """Queue a task again; see `Tasks`."""
        self._running.pop(work.task.id, None)
        with self._stopping():
            self._fleet.put_back(work.task.id)
        self._watch(PutBack(work.task.id, self._stopped))

    def lost(self, work: Work) -> None:
        """Try a task once more whose worker died, then give it up; see `Tasks`."""
        losses = self._losses[work.task.id] = self._losses.get(work.task.id, 0) + 1
        if losses < _MOST_LOSSES:
            self.put_back(work)
            return
        message = told("its worker ended {count} times", count=losses)
        row = Row(work.task.id, False, Reason.LOST, message, group=work.task.group, attempt=work.attempt)
        self.finish(row)


async def run(
    tasks: Iterable[Task],
    out: str,
    plan: Plan | None = None,
    *,
    engine: Engine | None = None,
    watch: Watch | None = None,
) -> Report:
    """Make a fleet of the tasks in the folder `out`, which is new or empty, and run it.

    Raises `ToolError` for tasks that can't be run, and for a folder that isn't empty.
    """
    plan = plan or Plan()
    plan.check()
    with Fleet.create(out, plan, checked(tasks)) as fleet:
        return await resume(fleet, engine=engine, watch=watch)


async def resume(fleet: Fleet, *, engine: Engine | None = None, watch: Watch | None = None) -> Report:
    """Go on with a fleet: what is done stays done."""
    driver = Driver(fleet, watch or (lambda _: None))
    return await driver.run(engine or LocalEngine(fleet.folder, fleet.plan))
