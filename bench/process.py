"""What running a command costs: beside subprocess.run, in each sandbox, and under a flood. Prints; asserts nothing."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable

import anyio

from bench.measure import row
from dogu.workspace.process.command import ShellCommand
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.sandbox.ladder import Sandbox, SandboxSettings, Step
from dogu.workspace.sandbox.watch import Watch

ROUNDS = 60
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}


async def median_ms(act: Callable[[], Awaitable[object]]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        await act()
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


async def by_subprocess() -> None:
    subprocess.run(  # noqa: ASYNC221  (the peer being measured)
        ["bash", "-c", "true"], env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )


async def starts(folder: str) -> None:
    bare = await median_ms(by_subprocess)
    row("start and end of `true`: subprocess.run", f"{bare:.1f} ms", "")
    for step in (Step.NONE, Step.SECCOMP, Step.LANDLOCK, Step.BUBBLEWRAP):
        sandbox = Sandbox.detect(SandboxSettings(), best=step)
        if sandbox.step is not step:
            row(f"the same, sandbox {step}", "not on this machine", "")
            continue
        async with LocalProcesses() as processes:

            async def once(sandbox: Sandbox = sandbox, processes: LocalProcesses = processes) -> None:
                confined = sandbox.confine([folder], ENVIRONMENT)
                order, environment = confined.order, confined.environment
                await processes.run(ShellCommand("true", folder, environment, confinement=order))

            started = time.perf_counter()
            await once()
            first = (time.perf_counter() - started) * 1000
            each = await median_ms(once)
        reach = "+15 ms" if step is Step.NONE else "+40 ms"
        row(f"the same, sandbox {step}", f"{each:.1f} ms ({each - bare:+.1f}), the first {first:.0f} ms", reach)


async def floods(folder: str) -> None:
    async with LocalProcesses() as processes:
        await processes.run(ShellCommand("true", folder, ENVIRONMENT))
        for text, limit_s in (("yes", 2.0), ("cat /dev/urandom", 2.0), ("head -c 300000000 /dev/zero", 30.0)):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            started = time.perf_counter()
            result = await processes.run(ShellCommand(text, folder, ENVIRONMENT, timeout_s=limit_s), _ignore)
            took_s = time.perf_counter() - started
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            reached = f"{took_s:.2f} s, {result.output_bytes / 1e6:.0f} MB printed, +{grown:.1f} MB"
            row(f"{text}, limit {limit_s:g} s", reached, "limit + 0.6 s, +10 MB")


async def cancels(folder: str) -> None:
    async with LocalProcesses() as processes:
        for name, text in (("plain", "sleep 99"), ("ignores SIGTERM", "trap '' TERM; setsid sleep 99 & sleep 99")):
            with anyio.move_on_after(0.3):
                await processes.run(ShellCommand(text, folder, ENVIRONMENT))
            started = time.perf_counter()
            with anyio.move_on_after(0.3):
                await processes.run(ShellCommand(text, folder, ENVIRONMENT))
            row(f"cancel a command: {name}", f"{time.perf_counter() - started - 0.3:.2f} s", "2 s and a little")
        started = time.perf_counter()
        async with anyio.create_task_group() as group:
            for _ in range(300):
                group.start_soon(processes.run, ShellCommand("true", folder, ENVIRONMENT))
        row("300 commands at once", f"{time.perf_counter() - started:.2f} s", "")


def watch(root: str) -> None:
    looks = Watch([root])
    looks.snapshot()
    started = time.perf_counter()
    count = len(looks.snapshot())
    took_ms = (time.perf_counter() - started) * 1000
    row("one look at what runs later (two a command)", f"{took_ms:.1f} ms, {count} places", "")


def _ignore(_text: str) -> None:
    return None


async def measure(folder: str) -> None:
    await starts(folder)
    await floods(folder)
    await cancels(folder)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(measure, folder)
    watch(os.environ.get("DOGU_BENCH_TREE") or os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
