"""Fleets: one agent over many tasks, each in a world of its own, every result durable before it counts.

import anyio, dogu.fleet

tasks = [dogu.fleet.Task("greet", "Write hello.txt that says hello", check="grep -q hello hello.txt")]
report = anyio.run(dogu.fleet.run, tasks, "out")
print(report.passed, report.failed)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dogu.fleet.driver import Report, run
    from dogu.fleet.plan import Plan
    from dogu.fleet.rows import Row
    from dogu.fleet.store import Fleet
    from dogu.fleet.tasks import Bounds, Task

_MODULE_OF = {
    "Bounds": "tasks",
    "Fleet": "store",
    "Plan": "plan",
    "Report": "driver",
    "Row": "rows",
    "Task": "tasks",
    "run": "driver",
}

__all__ = ["Bounds", "Fleet", "Plan", "Report", "Row", "Task", "run"]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'dogu.fleet' has no attribute {name!r}")
    return getattr(import_module(f"dogu.fleet.{module}"), name)
