"""Measures whole processes by the operating system's own accounting, two commands in turn so that their ratio holds."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """One finished process: CPU and wall seconds, peak memory in MB, exit status."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    status: int


def run(command: Sequence[str], *, environ: Mapping[str, str] | None = None, stdin: bytes = b"", cwd: str = "/") -> Run:
    """Run a command to its end, its output thrown away."""
    environment = {**os.environ, **(environ or {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, env=environment, cwd=cwd
        )
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - started
    return Run(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss / 1024, process.returncode)


def median(runs: Sequence[Run]) -> Run:
    """Return the median of each figure; the worst status."""
    return Run(
        statistics.median(run.cpu_s for run in runs),
        statistics.median(run.wall_s for run in runs),
        statistics.median(run.peak_mb for run in runs),
        max(run.status for run in runs),
    )


def several(command: Sequence[str], count: int = 7, **more: object) -> Run:
    """Return the median of `count` runs after one that isn't counted."""
    run(command, **more)  # pyright: ignore[reportArgumentType]  (passed through)
    return median([run(command, **more) for _ in range(count)])  # pyright: ignore[reportArgumentType]  (passed through)


def side_by_side(
    one: Sequence[str], other: Sequence[str], count: int = 9, **more: object
) -> tuple[Run, Run, float, float]:
    """Run two commands in turn; return both medians and the median ratios of wall and of CPU, one to other."""
    pairs: list[tuple[Run, Run]] = []
    for _ in range(count + 1):
        pairs.append((run(one, **more), run(other, **more)))  # pyright: ignore[reportArgumentType]  (passed through)
    del pairs[0]
    wall = statistics.median(first.wall_s / second.wall_s for first, second in pairs)
    cpu = statistics.median(first.cpu_s / max(second.cpu_s, 1e-4) for first, second in pairs)
    return median([first for first, _ in pairs]), median([second for _, second in pairs]), wall, cpu


def row(what: str, reached: str, target: str) -> None:
    """Print one line of the table."""
    print(f"{what:<58} {reached:<44} reach: {target}", flush=True)
