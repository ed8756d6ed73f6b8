"""What holds for all tasks of a fleet: kept with it, so that a resumed one goes on as it was begun."""

from __future__ import annotations

import msgspec

from dogu.contract import ErrorKind, ToolError
from dogu.fleet.tasks import Bounds, bounds_problem
from dogu.language import sentence, told

_NUMBERS = {
    "jobs": (1, 10_000),
    "workers": (0, 1_000),
    "max_failures": (1, 1e9),
    "max_cost": (0, 1e9),
    "requests_per_minute": (0.001, 1e9),
    "tokens_per_minute": (1, 1e12),
    "check_timeout_s": (0.001, 1e7),
}


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a fleet runs. `jobs` tasks at once, in `workers` processes (0: one per 32 jobs, at most one per processor).

    `bounds` are those of a task that says none. `max_cost` (US dollars) and `max_failures` (tasks whose check failed,
    or that couldn't be run) end the whole; requests and tokens a minute are shared by all tasks, None for no limit
    but the server's. `check_timeout_s` bounds each `setup` and `check`. `keep_worlds` leaves the folders there. The
    rest is what the command line says of the agent; see `Options`.
    """

    jobs: int = 8
    workers: int = 0
    model: str | None = None
    settings_file: str | None = None
    approval_mode: str = "yolo"
    bounds: Bounds = Bounds(timeout_s=3600.0)
    max_cost: float | None = None
    max_failures: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    check_timeout_s: float = 600.0
    keep_worlds: bool = False
    effort: str | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    allowed_tools: tuple[str, ...] = ()
    retry_for_s: float | None = None
    commands: str | None = None
    is_container: bool = False

    def check(self) -> None:
        """Raise `ToolError` for numbers that mean nothing."""
        problem = bounds_problem(self.bounds)
        for name, (least, most) in _NUMBERS.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                words = sentence("{name} must be from {least:,.15g} to {most:,.15g}, not {value}")
                problem = problem or told(words, name=name, least=least, most=most, value=value)
        if problem:
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, problem)

    def bounds_of(self, given: Bounds) -> Bounds:
        """A task's own bounds, and the fleet's where it has none."""
        mine = self.bounds
        return Bounds(
            given.max_turns if given.max_turns is not None else mine.max_turns,
            given.max_cost if given.max_cost is not None else mine.max_cost,
            given.timeout_s if given.timeout_s is not None else mine.timeout_s,
        )
