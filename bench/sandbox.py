"""Which of forty-five ways out each step of the sandbox holds on this machine; to compare, run it without root."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path
from types import ModuleType

import anyio

from bench.measure import row
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.sandbox.ladder import Step

_PROBES = Path(__file__).parent.parent / "tests" / "workspace" / "sandbox" / "probes.py"
_REACH = {Step.NONE: "", Step.SECCOMP: "", Step.LANDLOCK: "40 of 45", Step.BUBBLEWRAP: "45 of 45"}


def _probes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sandbox_probes", _PROBES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def measure() -> None:
    """Run every probe in every step."""
    probes = _probes()
    print(f"as user {os.geteuid()}")
    for step, reach in _REACH.items():
        sandbox = probes.best_of(step)
        if sandbox.step is not step:
            row(f"sandbox {step}", "not on this machine", reach)
            continue
        through: list[str] = []
        async with LocalProcesses() as processes:
            for name in probes.PROBES:
                with tempfile.TemporaryDirectory() as folder:
                    if await probes.came_through(sandbox, name, Path(folder), processes):
                        through.append(name)
        count = len(probes.PROBES)
        row(f"sandbox {step}: held", f"{count - len(through)} of {count}", reach)
        if step in (Step.LANDLOCK, Step.BUBBLEWRAP):
            print("".join(f"    came through: {name}\n" for name in through), end="")


def main() -> None:
    """Print the table."""
    anyio.run(measure)
