"""A `CommandChanges` that moves what is kept into place, for tests of what comes before it."""

import os
import shutil
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager

from dogu.runtime.journal.watch import ToldOf
from dogu.workspace.staged import CommitReport, StagedChange, Watching


class MovingChanges:
    """Keeps nothing of what was there; counts the looks at the roots."""

    def __init__(self) -> None:
        self.looks = 0
        self.commits: list[list[StagedChange]] = []

    def commit(
        self, changes: Sequence[StagedChange], began_ns: int, *, force: Collection[str] = (), beside: str = ""
    ) -> CommitReport:
        self.commits.append([*changes])
        done: list[str] = []
        conflicts: list[tuple[str, str]] = []
        held = _take_out(changes)
        for change in changes:
            if change.moved_from:
                os.rename(held[change.path], change.path)
                shutil.copystat(change.source, change.path)
                continue
            if _is_foreign(change, began_ns) and change.path not in force:
                conflicts.append((change.path, "changed"))
                continue
            _put(change)
            done.append(change.path)
        return CommitReport(tuple(done), tuple(conflicts))

    @contextmanager
    def watched(self, *, is_told: bool = False) -> Generator[Watching]:
        self.looks += 1
        yield ToldOf(None, "")


def _take_out(changes: Sequence[StagedChange]) -> dict[str, str]:
    """Hold what is moved somewhere else first: folders may have been swapped."""
    held: dict[str, str] = {}
    moved = [change for change in changes if change.moved_from]
    for number, change in enumerate(sorted(moved, key=lambda change: -change.moved_from.count("/"))):
        held[change.path] = f"{os.path.dirname(change.source)}/held-{number}"
        os.rename(change.moved_from, held[change.path])
    return held


def _is_foreign(change: StagedChange, began_ns: int) -> bool:
    if not os.path.lexists(change.path):
        return change.was_there and bool(change.source)
    if os.path.isdir(change.path):
        return False
    return os.lstat(change.path).st_ctime_ns > began_ns


def _put(change: StagedChange) -> None:
    if not change.source:
        if os.path.isdir(change.path) and not os.path.islink(change.path):
            shutil.rmtree(change.path)
        elif os.path.lexists(change.path):
            os.unlink(change.path)
    elif os.path.isdir(change.source) and not os.path.islink(change.source):
        if os.path.lexists(change.path) and not os.path.isdir(change.path):
            os.unlink(change.path)
        os.makedirs(change.path, exist_ok=True)
        shutil.copystat(change.source, change.path)
    elif change.in_place:
        shutil.copyfile(change.source, change.path)
    else:
        if os.path.isdir(change.path) and not os.path.islink(change.path):
            shutil.rmtree(change.path)
        os.rename(change.source, change.path)
