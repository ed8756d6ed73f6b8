"""What background jobs write after their call: known as theirs whenever the roots are looked at.

Above: `journal`, which looks and notes. Below: `authorship`, which tells whose a change is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dogu.language import told
from dogu.runtime.journal.authorship import FOREIGN, Authorship, stamp_of
from dogu.runtime.journal.log import Record
from dogu.workspace.staged import Share, Written

if TYPE_CHECKING:
    from dogu.runtime.journal.authorship import Opened
    from dogu.runtime.journal.log import ChangeRecord
    from dogu.workspace.snapshot.rows import TreeChange
    from dogu.workspace.staged import Later, Stamp


class JobWrites:
    """One job that the call of `record` left, which has told what it wrote until a look, and tells `later` what since.

    `written` is what no look has seen yet, and what it has open.
    """

    def __init__(self, record: Record, written: Written, later: Later) -> None:
        self.record = record
        self.written = written
        self.is_over = False
        self._later = later

    def ask(self) -> bool:
        """Ask what it has written; whether anything may be found now."""
        if self.is_over:
            return False
        later, goes_on = self._later()
        self.is_over = not goes_on
        self.written = _joined(self.written, later)
        return bool(later.paths or later.moves or later.open_ns)

    def note(self, number: int, changes: Sequence[ChangeRecord], notes: tuple[str, ...]) -> Record:
        """Return what the journal notes of changes that the job made, as a call with this number."""
        title, now_s = told("Background job: {title}", title=self.record.title), time.time()
        return Record(
            "changes",
            number,
            f"job-{number}",
            title,
            self.record.turn,
            now_s,
            changes=tuple(changes),
            notes=notes,
            ended_s=now_s,
            job_of=self.record.number,
        )

    def has_been_seen(self, changes: Sequence[TreeChange], until_ns: int) -> None:
        """Go on from a look that began at a time, and from what it saw."""
        seen = {change.path: change for change in changes}
        paths: dict[str, tuple[Stamp, int, int]] = {}
        for path, (first, now, last_ns) in self.written.paths.items():
            change = seen.get(path)
            if change is None and last_ns >= until_ns:
                paths[path] = (first, now, last_ns)
            elif change is not None and change.after is not None and now != FOREIGN:
                paths[path] = (stamp_of(change.after), change.after.stamp[2], last_ns)
        moves = tuple(move for move in self.written.moves if move[1] not in seen)
        late = {now for _, now, last_ns in paths.values() if last_ns >= until_ns}
        shares = {inode: share for inode, share in self.written.shares.items() if inode in late or not inode}
        self.written = Written(paths, moves, shares=shares)


def asked(jobs: Sequence[JobWrites]) -> list[Written]:
    """Ask all jobs, and return what they have written that no look has seen."""
    for job in jobs:
        job.ask()
    return [job.written for job in jobs]


def shared_out(
    jobs: Sequence[JobWrites], seen: Sequence[TreeChange], written: Written | None, began_ns: int, opened: Opened
) -> tuple[list[TreeChange], list[tuple[JobWrites, list[TreeChange]]]]:
    """Say of what a look saw that began at a time, beside a command that has `written`, what which job did.

    Returns first what is none of theirs, nor what several touched.
    """
    known = asked(jobs)  # what they did in the middle of the look is their doing too
    touched = Counter(path for each in (*known, written) if each for path in each.paths)
    left = [*seen]
    owned: list[tuple[JobWrites, list[TreeChange]]] = []
    for job in jobs:
        covers = Authorship(job.written, seen, opened).covers
        own = [change for change in left if touched[change.path] < 2 and covers(change)]
        if own:
            owned.append((job, own))
            paths = {change.path for change in own}
            left = [change for change in left if change.path not in paths]
        job.has_been_seen(seen, began_ns)
    return left, owned


def _joined(known: Written, later: Written) -> Written:
    """Return what was told twice as if it had been told once."""
    paths = {
        path: (first, now, max(until_ns, later.open_ns.get(now, 0)))
        for path, (first, now, until_ns) in known.paths.items()
    }
    for path, (first, now, until_ns) in later.paths.items():
        before, then, _ = paths.get(path, (first, first[2] if first else 0, 0))
        is_other = then not in (-1, first[2] if first else 0)
        paths[path] = (before, FOREIGN if is_other else now, until_ns)
    shares = dict(later.shares)
    for inode, (kept_bytes, only_appends, stretches) in known.shares.items():
        also = later.shares.get(inode, Share(kept_bytes, only_appends, stretches))
        kept_bytes, only_appends = min(kept_bytes, also.kept_bytes), only_appends and also.only_appends
        shares[inode] = Share(kept_bytes, only_appends, stretches or also.stretches)
    return Written(paths, known.moves + later.moves, shares=shares)
