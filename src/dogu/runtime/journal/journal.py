"""The journal itself: writes down what each call changes, and has it undone. Below: `log` (the file), `undo`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

import anyio
import msgspec
from anyio import to_thread

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal.authorship import Authorship
from dogu.runtime.journal.choice import Consent, Wanted
from dogu.runtime.journal.committing import Stager
from dogu.runtime.journal.entries import Entries, Entry, net_changes
from dogu.runtime.journal.jobs import JobWrites, asked, shared_out
from dogu.runtime.journal.kept import Keeping, Kept
from dogu.runtime.journal.log import FILE_NAME, ChangeRecord, Damage, JournalLog, Record, RecordKind
from dogu.runtime.journal.net import NetChange, net_to_now
from dogu.runtime.journal.reach import JournalReach
from dogu.runtime.journal.remains import let_go, noted
from dogu.runtime.journal.states import State
from dogu.runtime.journal.undo import (
    Restorer,
    UndoPlan,
    UndoReport,
    alone,
    contents_of,
    keep_by_name,
    tried_again,
    undo_title,
)
from dogu.runtime.journal.watch import TOLD_POSITION, ChangeWatch, ToldOf, UnwatchedError, own_write
from dogu.runtime.journal.words import unsure_notes, writable
from dogu.workspace.atomic_write import AtomicWriter
from dogu.workspace.files import FileChange
from dogu.workspace.os_errors import explain
from dogu.workspace.pending_writes import PendingWrites
from dogu.workspace.roots import Roots
from dogu.workspace.staged import CommitReport, Later, StagedChange, Watching, Written

if TYPE_CHECKING:
    from dogu.workspace.snapshot.rows import TreeChange


class Journal:
    """The journal in `folder` (absolute; made when something is to be kept), over `roots`.

    Several processes may open one journal; the roots are looked at by the one that runs calls. `undone` is told the
    paths that an undo brought back; `turn` is the last prompt's number, where a session goes on. Methods block, but for
    `call`; call them from a thread.
    """

    def __init__(
        self,
        folder: str,
        roots: Roots,
        keeping: Keeping | None = None,
        *,
        undone: Callable[[Sequence[str]], None] = lambda _paths: None,
        turn: int = 0,
    ) -> None:
        keeping = keeping or Keeping()
        self.folder = folder
        self.turn = turn
        self._undone = undone
        self._roots = roots
        self._pending = keeping.pending
        self._log = JournalLog(os.path.join(folder, FILE_NAME), keeping.key)
        self.kept = Kept(folder, self._log, keeping.budget)
        watched = tuple(root for root in roots.all if root != "/")  # a whole machine is too much to look through
        self._watch = ChangeWatch(folder, watched, keeping.limits)
        self._known = Entries()
        writer = AtomicWriter(PendingWrites(keeping.pending))
        self._restorer = Restorer(self._log, self.kept, self._known, writer, self._catch_up)
        self._lock = threading.RLock()
        self._now: Record | None = None
        self._jobs: list[JobWrites] = []
        self._notes: list[str] = []
        self.finished: list[str] = []  # what is to be said of what was finished after a kill

    @asynccontextmanager
    async def call(self, call_id: str, title: str, *, snapshot: bool) -> AsyncGenerator[list[str]]:
        """Record the changes made inside the context as this call's; `snapshot` when they are made behind our back.

        Afterwards the list says what of it can't be undone.
        """
        notes: list[str] = []
        try:
            await to_thread.run_sync(self._begin, call_id, title, snapshot)
            yield notes
        finally:
            with anyio.CancelScope(shield=True):
                notes += await to_thread.run_sync(self._end)

    @contextmanager
    def watched(self, *, is_told: bool = False) -> Generator[Watching]:
        """Take what is told of a command, or look at the roots before and after; see `CommandChanges`."""
        with self._lock:
            before = self._begin_told() if is_told else ""
            if not is_told:
                self._begin_watch()
        told_of = ToldOf(None if is_told else self._watch.keeps, before)
        try:
            yield told_of
        finally:
            with self._lock:
                self._end_watch(*told_of.last)

    def commit(
        self, changes: Sequence[StagedChange], began_ns: int, *, force: Collection[str] = (), beside: str = ""
    ) -> CommitReport:
        """Put there what a command left in its layer; see `CommandChanges`."""
        with self._lock:
            self._catch_up()
            with self._reach(change.path for change in changes if not self._is_inside(change.path)) as reach:
                return self._committed(changes, began_ns, force, beside, reach)

    @contextmanager
    def aside(self, title: str) -> Generator[None]:
        """Record what this thread writes inside the context by itself: it is no call's and no turn's."""
        with self._lock:
            self._catch_up()
            running = self._now
            number = max(self._known.last_number, running.number if running else 0) + 1
            self._now = Record("changes", number, f"aside-{number}", writable(title), 0, time.time())
            try:
                yield
            finally:
                self._now = running

    def next_turn(self) -> int:
        """Count one more prompt of the user; what follows belongs to it."""
        with self._lock:
            self._look_for_jobs()
            self.turn = max(self.turn, self._known.turn) + 1
            return self.turn

    def prepare(self) -> None:
        """Take the first look at the roots ahead of the first command, whose start it would delay."""
        with self._lock:
            try:
                self._watch.look()
            except UnwatchedError:
                return  # told when a command comes

    def entries(self) -> list[Entry]:
        """Return the calls that changed something, the oldest first, and those of which that can't be known."""
        with self._lock:
            self._look_for_jobs()
            if self._known.unseen and self._now is None and self._watch.own():
                self.recover()
            return self._known.told()

    def problems(self) -> list[Damage]:
        """Say where the journal isn't as it was written; what is damaged there can't be undone."""
        with self._lock:
            self._catch_up()
            return self._log.problems()

    def content(self, state: State) -> bytes | None:
        """Return what a file held in a state that the journal names; None when it wasn't kept, or is damaged."""
        try:
            return self.kept.read(state)
        except ToolError:
            return None

    def net(self) -> list[NetChange]:
        """Return what all of the calls changed, path by path: from before the first one to what is there now."""
        with self._lock:
            self.entries()
            changes, _ = net_changes(self._known.as_made())
            with self._reach() as reach:
                return [*net_to_now(changes, reach, self.content)]

    def before_write(self, change: FileChange) -> None:
        """Keep what a file held before it is written; see `WriteObserver`."""
        with self._lock:
            write = own_write(change, self._roots, self.kept, self._is_inside)
            self._notes += write.notes
            record = self._record("changes", write.records)
            content = change.old.blocks() if change.old and write.kept_bytes else ()
            try:
                self._log.append(record, content, durable=True, content_bytes=write.kept_bytes)
            except OSError as error:
                raise explain(error, self.folder) from error  # not of the disk that the file is on

    def after_write(self, change: FileChange, done: bool) -> None:
        """Take back the note of a write that failed; see `WriteObserver`."""
        if done:
            return
        with self._lock, suppress(OSError):  # why it failed is said; undo sees what is there
            for path in (change.path, *reversed(change.made)):
                self._log.append(self._record("failed", path=os.fsencode(path)))

    def plan(self, wanted: Wanted, consent: Consent | None = None, *, is_redo: bool = False) -> UndoPlan:
        """Say what `undo`, or `redo`, would do, path by path. Raises `ToolError` as they do."""
        with self._lock:
            self._look_for_jobs()
            self.recover()
            with self._reach() as reach:
                return self._restorer.plan(wanted, consent or Consent(), reach, is_redo=is_redo)

    def undo(self, wanted: Wanted | None = None, consent: Consent | None = None) -> UndoReport:
        """Undo what is wanted, by default the last call that changed something.

        A path that is no longer as the calls left it, or of which nobody knows who changed it, is left as it is, unless
        the user consents; so is one whose content wasn't kept. One outside of the roots, which others use, is left even
        then. Raises `ToolError` (NOT_FOUND: nothing to undo; REFUSED: a command or another undo is running).
        """
        return self._undo(wanted or Wanted(), consent or Consent(), is_redo=False)

    def redo(self, call_id: str = "", consent: Consent | None = None) -> UndoReport:
        """Do again what the last undo, or the one named, took back; see `undo`."""
        return self._undo(Wanted(call_id=call_id), consent or Consent(), is_redo=True)

    def recover(self) -> None:
        """Find out what a call did whose process died in the middle of it, and finish an undo or a commit that was
        killed; `entries` and `undo` do so by themselves.

        Raises `ToolError` (REFUSED) when the call is still running in another process.
        """
        with self._lock:
            self._catch_up()
            if self._now is not None or not (self._known.unseen or self._known.unfinished):
                return
            if not self._watch.own():
                message = told(
                    "A command of this session is still running: its changes can be undone when it has ended."
                )
                raise ToolError(ErrorKind.REFUSED, message)
            for record in list(self._known.unseen.values()):
                self._now = record
                self._note_seen(record.position)
            self._now = None
            if self._known.unfinished:
                with alone(self.folder), self._reach() as reach:
                    for number, changes in list(self._known.unfinished.items()):
                        refused = self._restorer.finish(number, changes, reach)
                        self._restorer.note_finished(number, refused)
                        self.finished += let_go([change.source for change in changes if change.source], refused)
            self._watch.close()
            self._catch_up()

    def close(self) -> None:
        """Remove what served only the looks; the journal itself stays if it holds anything."""
        with self._lock:
            self._look_for_jobs()
            if not self._known.told() and not self._known.unseen and not self._log.problems():
                self._log.remove()
            self._watch.close()

    def _committed(
        self,
        changes: Sequence[StagedChange],
        began_ns: int,
        force: Collection[str],
        beside: str,
        reach: JournalReach,
    ) -> CommitReport:
        staged = Stager(self._roots.all, reach, self.kept, beside).stage(changes, began_ns, force)
        if not staged.changes:
            return CommitReport(tuple(staged.nothing_to_do), tuple(staged.conflicts), final=frozenset(staged.final))
        record = self._record("changes", tuple(staged.changes), notes=staged.notes)
        record = msgspec.structs.replace(record, is_commit=True)
        sources = [step.source for step in staged.steps if step.source]
        with self._noted(sources):
            contents = contents_of(staged.contents, reach)
            self._log.append(record, contents, durable=True, content_bytes=staged.content_bytes)
            unkept = keep_by_name(staged.by_name, reach, self.kept, beside)
            staged.lost += [(step.path, step.now.state.size) for step in unkept]
            _, failed = self._restorer.applier_of(record.number, reach).apply(staged.steps)
            refused = {path: each.reason for each in failed for path in (each.path, *staged.along.get(each.path, ()))}
            self._log.append(self._record("committed", left=tuple(map(os.fsencode, refused))), durable=True)
        self._notes += staged.notes
        done = [path for change in staged.changes if (path := os.fsdecode(change.path)) not in refused]
        conflicts = (*staged.conflicts, *refused.items())
        final = staged.final.union(each.path for each in failed if each.by_system)
        return CommitReport((*done, *staged.nothing_to_do), conflicts, staged.notes, frozenset(final))

    def _undo(self, wanted: Wanted, consent: Consent, *, is_redo: bool) -> UndoReport:
        with self._lock:
            self._look_for_jobs()
            self.recover()

            def once() -> UndoReport:
                with self._reach() as reach:
                    plan = self._restorer.plan(wanted, consent, reach, is_redo=is_redo)
                    return self._restorer.do(plan, undo_title(plan, self._known.calls), self.turn, reach)

            try:
                with alone(self.folder), self._noted(()):
                    report = tried_again(once)
            except OSError as error:
                raise explain(error, self.folder) from error
            self._catch_up()
            self._undone([path for path, _ in report.restored])
            return report

    def _noted(self, sources: Sequence[str]) -> AbstractContextManager[None]:
        """Have whoever starts next finish what is done inside, if it is killed."""
        return noted(self._pending, self.folder, sources) if self._pending else nullcontext()

    def _begin(self, call_id: str, title: str, snapshot: bool) -> None:
        with self._lock:
            try:
                self._look_for_jobs()
                self._notes = []
                number = self._known.last_number + 1
                self._now = Record("changes", number, writable(call_id), writable(title), self.turn, time.time())
                if snapshot:
                    self._begin_watch()
            except OSError as error:
                message = told(
                    "Not run: what it changes couldn't be recorded for undo in {folder}: {strerror}.",
                    folder=self.folder,
                    strerror=error.strerror,
                )
                raise ToolError(ErrorKind.IO_ERROR, message) from error

    def _look_for_jobs(self) -> None:
        """Note what jobs have written since the last look, where nothing runs that will look anyway."""
        self._catch_up()
        if self._now is None and any(job.ask() for job in self._jobs):
            with suppress(UnwatchedError):
                self._look(is_full=False)

    def _look(self, written: Written | None = None, *, is_full: bool) -> tuple[list[TreeChange], list[TreeChange]]:
        """Look at the roots, fully or at what is told, and note what jobs did; return all that changed, and what isn't
        known to be theirs."""
        known = asked(self._jobs)
        began_ns = time.time_ns()
        is_full = is_full or any(job.record.position != TOLD_POSITION for job in self._jobs)
        seen = self._watch.look([*known, written] if written is not None else known, is_full=is_full)
        left, owned = shared_out(self._jobs, seen, written, began_ns, self._watch.opened)
        for job, own in owned:
            self._note_of_job(job, own)
        self._jobs = [job for job in self._jobs if not job.is_over]
        return seen, left

    def _note_of_job(self, job: JobWrites, own: Sequence[TreeChange]) -> None:
        self._catch_up()
        changes, contents = self._watch.as_records(own, {}, self._is_inside, self.kept, own.__contains__)
        notes = self._watch.notes_on(changes)
        number = max(self._known.last_number, self._now.number if self._now else 0) + 1
        self._log.append(job.note(number, changes, notes), contents, durable=True)
        self._catch_up()

    def _begin_told(self) -> str:
        """Begin to take what is told of a command; return where its supervisor is to note what it changes."""
        self._look_for_jobs()
        folder = self._watch.begin_told()
        self._notes += self._watch.unseen()
        self._now = self._record("look", position=TOLD_POSITION)
        self._log.append(self._now)
        return folder

    def _begin_watch(self) -> None:
        try:
            self._look(is_full=True)
        except UnwatchedError as error:
            self._log.append(self._record("changes", notes=(str(error),)))
            self._notes.append(str(error))
            return
        self._notes += self._watch.unseen()
        record = self._record("look", position=self._watch.position)
        self._log.append(record)
        self._now = record

    def _end(self) -> list[str]:
        with self._lock:
            self._end_watch()
            self._now = None
            notes, self._notes = [*dict.fromkeys(self._notes)], []
            return notes

    def _end_watch(self, written: Written | None = None, later: Later | None = None) -> None:
        try:
            if self._now is not None and self._now.kind == "look":
                self._note_seen(None, written, later)
                self._now = msgspec.structs.replace(self._now, kind="changes")
        except OSError as error:
            self._now = None  # the call is done and its result counts; what it did is found out about by `recover`
            self._notes.append(
                told(
                    "What it changed couldn't be recorded for undo in {folder}: {strerror}.",
                    folder=self.folder,
                    strerror=error.strerror,
                )
            )

    def _note_seen(self, since: int | None, written: Written | None = None, later: Later | None = None) -> None:
        """Put into the log what this call did behind our back; `since` where a dead process left off.

        A job that it left tells `later` what it writes from now on.
        """
        number = self._now.number if self._now else 0
        ended_s = time.time() if since is None else 0.0
        try:
            if since is None:
                is_full = self._now is None or self._now.position != TOLD_POSITION
                everything, seen = self._look(written, is_full=is_full)
            else:
                everything = seen = self._watch.resume(since)
        except UnwatchedError as error:
            self._log.append(self._record("changes", notes=(str(error),)))
            self._notes.append(str(error))
            self._log.append(self._record("seen"))
            return
        self._catch_up()
        noted = self._known.calls.get(number)
        already = {change.path: change.after for change in noted.changes} if noted else {}
        if written is not None and not written.is_whole and self._now and self._now.position == TOLD_POSITION:
            self._notes.append(told("Not all that it changed could be noted: what is missing can't be undone."))
        has_ended = later is None and not self._jobs
        covers = None
        if written is not None:
            covers = Authorship(written, everything, self._watch.opened, has_ended=has_ended).covers
        changes, contents = self._watch.as_records(seen, already, self._is_inside, self.kept, covers)
        if changes:
            notes = self._watch.notes_on(changes)
            self._notes += (*notes, *unsure_notes(changes))
            record = msgspec.structs.replace(self._record("changes", tuple(changes), notes=notes), ended_s=ended_s)
            self._log.append(record, contents, durable=True)
        self._log.append(self._record("seen"))
        if not self._jobs and later is None:
            self._watch.forget_going()
        if later is not None and written is not None and self._now is not None:
            job = JobWrites(self._now, written, later)
            job.has_been_seen(everything, 0)
            self._jobs.append(job)

    def _record(
        self,
        kind: RecordKind,
        changes: tuple[ChangeRecord, ...] = (),
        *,
        path: bytes = b"",
        position: int = 0,
        notes: tuple[str, ...] = (),
        left: tuple[bytes, ...] = (),
    ) -> Record:
        now = self._now
        if now is None:
            # Written outside of any call, by the program itself.
            self._catch_up()
            now = Record("changes", self._known.last_number + 1, "", "", self.turn, time.time())
        return Record(
            kind,
            now.number,
            now.call_id,
            now.title,
            now.turn,
            now.time_s,
            now.is_undo,
            changes,
            path,
            position=position,
            notes=notes,
            left=left,
        )

    def _is_inside(self, path: str) -> bool:
        return any(path.startswith(f"{root.rstrip('/')}/") for root in self._roots.all)

    def _reach(self, also: Iterable[str] = ()) -> JournalReach:
        changes = (change for entry in self._known.with_changes() for change in entry.changes)
        return JournalReach(self._roots, [*(change.path for change in changes if change.is_outside), *also])

    def _catch_up(self) -> None:
        records = self._log.read_new()
        for record in records:
            for change in record.changes:
                self.kept.know(change.path, change.before)
        self._known.add(records)
