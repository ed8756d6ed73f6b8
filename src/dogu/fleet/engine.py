"""What runs a fleet's tasks: an `Engine`, which takes them from `Tasks` and gives their rows back."""

from __future__ import annotations

from typing import Protocol

from dogu.fleet.limits import SharedLimits
from dogu.fleet.plan import Plan
from dogu.fleet.rows import Row
from dogu.fleet.tasks import Work

_WORLD_TAKES_S = 3600.0


class Tasks(Protocol):
    """The driver's side, as an engine sees it: taking a task begins it, and each that was taken is given back once."""

    def take(self) -> Work | None:
        """Begin the next task; None when there is none, or none may be begun any more."""
        ...

    def finish(self, row: Row) -> None:
        """Give its row."""
        ...

    def put_back(self, work: Work) -> None:
        """Say that it came to nothing, and isn't done."""
        ...

    def lost(self, work: Work) -> None:
        """Say that what ran it died: it is run once more, and given up when that happens again."""
        ...


class Engine(Protocol):
    """Where tasks are run."""

    async def run(self, tasks: Tasks, limits: SharedLimits) -> None:
        """Run tasks until there is none to take; cancelled, whatever runs is ended."""
        ...


def deadline_s(plan: Plan, work: Work) -> float | None:
    """When an attempt must have ended, however it hangs: all that it may take, one after the other, and some."""
    bound = plan.bounds_of(work.task.budget).timeout_s
    return None if bound is None else bound + 2 * plan.check_timeout_s + _WORLD_TAKES_S
