"""What steps move elsewhere is taken aside before anything goes: folders are empty then, and places free.

It lies in a folder that stays one, under a name that follows from what was noted, so that whoever finishes what was
killed finds it there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from dogu.contract.errors import ToolError
from dogu.runtime.journal.reach import JournalReach
from dogu.runtime.journal.states import MISSING, Seen, State
from dogu.runtime.journal.steps import Step
from dogu.workspace import fs
from dogu.workspace.openat import Place
from dogu.workspace.syscalls import Syscalls

CANNOT = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def folders_replaced(changes: Iterable[tuple[str, State, State]]) -> set[str]:
    """Return the folders in whose place something else comes, of paths with what is there and what shall be."""
    return {path for path, now, target in changes if now.kind == "folder" and target.kind not in ("folder", "missing")}


def aside_of(step: Step, name: str, replaced: Collection[str]) -> str:
    """Return where what a step moves is taken aside, called `name`: in the nearest folder above it that stays one."""
    found = above = os.path.dirname(step.source)
    while above != os.path.dirname(above):
        if above in replaced:
            found = os.path.dirname(above)
        above = os.path.dirname(above)
    return os.path.join(found, name)


def going_late(steps: Sequence[Step]) -> set[str]:
    """Return the folders that go once what was taken aside in them, or must go back to them, is where it shall be."""
    left: set[str] = set()
    for source in {step.source for step in steps if step.source}:
        while (source := os.path.dirname(source)) not in left and source != "/":
            left.add(source)
    replaced = folders_replaced((step.path, step.now.state, step.target) for step in steps)
    going = (step for step in steps if step.now.state.kind == "folder" and step.target.kind == "missing")
    return {step.path for step in going if step.path in left and not _is_within(step.path, replaced)}


def _is_within(path: str, folders: Collection[str]) -> bool:
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        if path in folders:
            return True
    return False


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
    into = place.parent if folder == os.path.dirname(place.path) else reach.place(aside).parent
    try:
        move(place.parent, place.name, name, into)
        try:
            check(fs.stat(name, dir_fd=into, follow_symlinks=False))
        except ToolError:
            move(into, name, place.name, place.parent)
            raise
    finally:
        if into != place.parent:
            os.close(into)


def move(folder: int, old: str, new: str, into: int | None = None) -> None:
    """Rename in a folder, or `into` another, what must not replace anything. Raises OSError."""
    try:
        Syscalls().rename_to_new(folder, old, new, into)
    except OSError as error:
        if error.errno not in CANNOT:
            raise
        fs.link(old, new, src_dir_fd=folder, dst_dir_fd=folder if into is None else into, follow_symlinks=False)
        fs.unlink(old, dir_fd=folder)
