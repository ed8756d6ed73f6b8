"""The ways out that each step holds on this machine: all but those that it says it can't."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.sandbox.ladder import Confined, Sandbox, Step
from workspace.sandbox.probes import PROBES, as_it_is, best_of, by_bubblewrap, came_through

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the ladder is Linux's"),
]

# What `Sandbox.limits` names: modes and times; where files aren't protected, all of them, and signals.
COME_THROUGH: dict[Step, set[str]] = {
    Step.BUBBLEWRAP: set(),
    Step.LANDLOCK: {"the mode of a file beside it", "the times of a file beside it"},
    Step.SECCOMP: {
        "a new file beside the project",
        "appending to a file beside it",
        "removing a file beside it",
        "moving a file out",
        "a new folder beside it",
        "writing through a hard link",
        "writing through a symbolic link",
        "emptying a file beside it",
        "a start-up file of the shell",
        "keys that may log in",
        "the system's users",
        "a program for everybody",
        "the mode of a file beside it",
        "the times of a file beside it",
        "an unnamed file beside it",
        "a private key",
        "passwords of the network",
        "the settings with this program's own key",
        "a key by a symbolic link",
        "a key by a hard link",
        "a key by /proc/self/root",
        "a key by moving its folder",
        "the system's passwords",
        "a signal to another process",
        # where its rights aren't more than the command's, as root's are
        "the memory of another process",
        "another process's environment",
        "a key by another process's root",
    },
}


@pytest.fixture(params=[Step.BUBBLEWRAP, Step.LANDLOCK, Step.SECCOMP])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    found = best_of(request.param)
    if found.step is not request.param:
        pytest.skip(f"this machine has no {request.param}")
    if found.landlock_abi < 6 and found.step is not Step.SECCOMP:
        pytest.skip("signals and sockets without a file are held from Landlock's ABI 6 on")
    return found


def test_there_are_as_many_probes_as_are_told() -> None:
    assert len(PROBES) == 45


@pytest.mark.parametrize(("how", "before_it"), [(as_it_is, 0), (as_it_is, 2), (by_bubblewrap, 0)])
async def test_no_way_out_leads_through_but_those_that_a_step_names(
    sandbox: Sandbox, how: Callable[[Confined], Confined], before_it: int, tmp_path: Path
) -> None:
    if (before_it or how is by_bubblewrap) and sandbox.step is not Step.BUBBLEWRAP:
        pytest.skip("bubblewrap is of its own step only")
    through: set[str] = set()
    async with LocalProcesses() as processes:
        for number, name in enumerate(PROBES):
            if await came_through(sandbox, name, tmp_path / str(number), processes, how, before_it):
                through.add(name)
    assert through <= COME_THROUGH[sandbox.step]
