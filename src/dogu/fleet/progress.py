"""How a fleet is seen while it runs: a bar where there is a terminal, a line a task where there is none."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, assert_never

from dogu.agent.budget import usd
from dogu.fleet.driver import Begun, Ended, FleetEvent, PutBack, Watch
from dogu.fleet.rows import Row
from dogu.fleet.store import Counts
from dogu.language import said, say
from dogu.workspace.truncation import cut_middle
from dogu.workspace.visible import VisibleStream, make_visible, visible_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_LONGEST_CHARS = 160


class Tally:
    """What is counted of a run while it goes on."""

    def __init__(self, counts: Counts) -> None:
        self.total = counts.total
        self.passed, self.failed, self.unchecked = counts.passed, counts.failed, counts.unchecked
        self.cost_usd = counts.cost_usd
        self.tokens = 0
        self.running = 0

    def take(self, event: FleetEvent) -> None:
        """Count an event."""
        match event:
            case Begun():
                self.running += 1
            case PutBack():
                self.running = max(0, self.running - 1)
            case Ended(row=row):
                self.running = max(0, self.running - 1)
                self.passed += row.passed is True
                self.failed += row.passed is False
                self.unchecked += row.passed is None
                self.cost_usd += row.cost_usd or 0.0
                self.tokens += row.usage.total
            case _:
                assert_never(event)

    @property
    def done(self) -> int:
        """How many are done."""
        return self.passed + self.failed + self.unchecked

    @property
    def line(self) -> str:
        """All of it in a line."""
        return say(
            "{done} of {total} done, {passed} passed, {failed} failed, {running} running, {tokens} tokens, {cost}",
            done=self.done,
            total=self.total,
            passed=self.passed,
            failed=self.failed,
            running=self.running,
            tokens=f"{self.tokens:,}",
            cost=usd(self.cost_usd),
        )


@contextmanager
def shown(counts: Counts) -> Generator[Watch]:
    """Show a run on standard error while the context is open."""
    tally = Tally(counts)
    if sys.stderr.isatty():
        with _bar(tally) as watch:
            yield watch
        return

    def watch_lines(event: FleetEvent) -> None:
        tally.take(event)
        if isinstance(event, Ended):
            sys.stderr.write(f"{row_line(event.row)}  [{tally.done}/{tally.total}]\n")
        elif isinstance(event, PutBack) and event.why:
            sys.stderr.write(f"{event.task_id}: {said(event.why)}\n")

    yield watch_lines


@contextmanager
def _bar(tally: Tally) -> Generator[Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    stream = sys.stderr
    console = Console(file=stream.behind if isinstance(stream, VisibleStream) else stream)
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, refresh_per_second=4) as progress:
        bar = progress.add_task(tally.line, total=tally.total, completed=tally.done)

        def watch(event: FleetEvent) -> None:
            tally.take(event)
            if isinstance(event, Ended) and event.row.passed is False:
                progress.console.print(make_visible(row_line(event.row)), markup=False, highlight=False)
            _move(progress, bar, tally)

        yield watch


def _move(progress: Progress, bar: TaskID, tally: Tally) -> None:
    progress.update(bar, description=tally.line, completed=tally.done)


def row_line(row: Row) -> str:
    """Return a row in a line, for people."""
    mark = {True: "✔", False: "✘", None: "·"}[row.passed]
    about = [str(row.reason), time_words(row.wall_s)]
    if row.check is not None and row.check.exit_code:
        about.insert(1, f"check: {row.check.ending}")
    if row.patch.files:
        about.append(f"+{row.patch.added} -{row.patch.removed}")
    if row.cost_usd:
        about.append(usd(row.cost_usd))
    why = cut_middle(visible_line(row.message.split("\n", 1)[0]), _LONGEST_CHARS)
    return f"{mark} {row.id}  {', '.join(about)}" + (f"  {why}" if why else "")


def time_words(seconds: float) -> str:
    """Return a time as people read it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    return time.strftime("%H:%M:%S" if whole >= 3600 else "%M:%S", time.gmtime(whole))
