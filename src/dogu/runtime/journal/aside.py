"""What steps move elsewhere is taken aside before anything goes: folders are empty then, and places free.

It lies in a folder that stays one, under a name that follows from what was noted, so that whoever finishes what was
killed finds it there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from dogu.contract.errors import ToolError
from dogu.runtime.journal.reach import JournalReach
from dogu.runtime.journal.states import MISSING, Seen, State
from dogu.runtime.journal.steps import Step
from dogu.workspace import fs
from dogu.workspace.openat import Place
from dogu.workspace.sandbox.places import parents
from dogu.workspace.syscalls import Syscalls, move


def folders_replaced(changes: Iterable[tuple[str, State, State]]) -> set[str]:
    """Return the folders in whose place something else comes, of paths with what is there and what shall be."""
    return {path for path, now, target in changes if now.kind == "folder" and target.kind not in ("folder", "missing")}


def aside_of(step: Step, name: str, replaced: Collection[str]) -> str:
    """Return where what a step moves is taken aside, called `name`: in the nearest folder above it that stays one."""
    outermost = [above for above in parents(step.source) if above in replaced][-1:]
    return os.path.join(os.path.dirname(*(outermost or [step.source])), name)


def going_late(steps: Sequence[Step]) -> set[str]:
    """Return the folders that go once what was taken aside in them, or must go back to them, is where it shall be."""
    left = {above for step in steps if step.source for above in parents(step.source)}
    replaced = folders_replaced((step.path, step.now.state, step.target) for step in steps)
    going = (step for step in steps if step.now.state.kind == "folder" and step.target.kind == "missing")
    return {step.path for step in going if step.path in left and replaced.isdisjoint(parents(step.path))}


def left_to_do(steps: Sequence[Step], aside: Collection[str], refused: Collection[str]) -> list[Step]:
    """Return what is to be done once what lay at the paths `aside` has been taken from there."""
    return [
        msgspec.structs.replace(step, now=Seen(MISSING)) if step.path in aside else step
        for step in steps
        if step.path not in refused and not (step.path in aside and step.target.kind == "missing")
    ]


def take_aside(place: Place, aside: str, reach: JournalReach, check: Callable[[os.stat_result], None]) -> None:
    """Move what lies at a place aside, if it is what `check` takes. Raises `ToolError`, OSError."""
    folder, name = os.path.split(aside)
    system = Syscalls()
    into = place.parent if folder == os.path.dirname(place.path) else reach.place(aside).parent
    try:
        move(system, place.parent, place.name, name, into)
        try:
            check(fs.stat(name, dir_fd=into, follow_symlinks=False))
        except ToolError:
            move(system, into, name, place.name, place.parent)
            raise
    finally:
        if into != place.parent:
            os.close(into)
