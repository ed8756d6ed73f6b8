"""The journal itself: writes down what each call changes, and has it undone. Below: `log` (the file), `undo`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import Message, told
from dogu.runtime.journal.choice import calls_to_undo, explained
from dogu.runtime.journal.entries import Entries, Entry, PathChange, net_changes
from dogu.runtime.journal.log import (
    FILE_NAME,
    MISSING,
    UNKNOWN_MODE,
    ChangeRecord,
    JournalLog,
    Record,
    RecordKind,
    State,
)
from dogu.runtime.journal.net import NetChange, net_to_now
from dogu.runtime.journal.reach import JournalReach
from dogu.runtime.journal.undo import (
    Restorer,
    UndoRefusal,
    UndoReport,
    is_stamp,
    present_state,
    state_of_file,
)
from dogu.runtime.journal.watch import ChangeWatch, UnwatchedError
from dogu.workspace.atomic_write import AtomicWriter
from dogu.workspace.files import FileChange
from dogu.workspace.pending_writes import PendingWrites
from dogu.workspace.roots import Roots

if TYPE_CHECKING:
    from dogu.workspace.snapshot.trees import SnapshotLimits


def _tell_nobody(_paths: Sequence[str]) -> None:
    return None


class Journal:
    """The journal in `folder` (absolute; made when something is to be kept), over `roots`.

    `pending` as for `LocalFiles`. Several processes may open one journal; the roots are looked at by the one that runs
    calls. `undone` is told the paths that an undo brought back; `turn` is the last prompt's number, where a session
    goes on. Methods block, but for `call`; call them from a thread.
    """

    def __init__(
        self,
        folder: str,
        roots: Roots,
        *,
        pending: str | None = None,
        limits: SnapshotLimits | None = None,
        undone: Callable[[Sequence[str]], None] = _tell_nobody,
        turn: int = 0,
    ) -> None:
        self.folder = folder
        self.turn = turn
        self._undone = undone
        self._roots = roots
        self._log = JournalLog(os.path.join(folder, FILE_NAME))
        self._writer = AtomicWriter(PendingWrites(pending))
        self._watch = ChangeWatch(folder, roots.all, limits)
        self._known = Entries()
        self._lock = threading.RLock()
        self._now: Record | None = None

    @asynccontextmanager
    async def call(self, call_id: str, title: str, *, snapshot: bool) -> AsyncGenerator[None]:
        """Record the changes made inside the context as this call's; `snapshot` when they are made behind our back."""
        try:
            await to_thread.run_sync(self._begin, call_id, title, snapshot)
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._end)

    @contextmanager
    def aside(self, title: str) -> Generator[None]:
        """Record what this thread writes inside the context by itself: it is no call's and no turn's."""
        with self._lock:
            self._catch_up()
            running = self._now
            number = max(self._known.last_number, running.number if running else 0) + 1
            self._now = Record("changes", number, f"aside-{number}", _writable(title), 0, time.time())
            try:
                yield
            finally:
                self._now = running

    def next_turn(self) -> int:
        """Count one more prompt of the user; what follows belongs to it."""
        with self._lock:
            self._catch_up()
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
            self._catch_up()
            if self._known.unseen and self._now is None and self._watch.own():
                self.recover()
            return self._known.told()

    def content(self, state: State) -> bytes | None:
        """Return what a file held in a state that the journal names; None when it wasn't kept."""
        return self._log.content(state)

    def net(self) -> list[NetChange]:
        """Return what all of the calls changed, path by path: from before the first one to what is there now."""
        with self._lock:
            self.entries()
            changes, _ = net_changes(self._known.with_changes())
            return [*net_to_now(changes, self._reach(), self._log.content)]

    def before_write(self, change: FileChange) -> None:
        """Keep what a file held before it is written; see `WriteObserver`."""
        with self._lock:
            old = MISSING
            if change.old is not None:
                old = State("file", change.old_mode or 0, change.old.status.st_size, change.old.digest, where=0)
            mode = UNKNOWN_MODE if change.old_mode is None else change.old_mode
            new = MISSING if change.new is None else State("file", mode, len(change.new), change.new_digest)
            outside = not any(change.path.startswith(f"{root.rstrip('/')}/") for root in self._roots.all)
            made = [ChangeRecord(os.fsencode(path), MISSING, _NEW_FOLDER, outside) for path in change.made]
            written = ChangeRecord(os.fsencode(change.path), old, new, outside)
            record = self._record("changes", (*made, written))
            content = change.old.blocks() if change.old else ()
            self._log.append(record, content, durable=True, content_bytes=old.size)

    def after_write(self, change: FileChange, done: bool) -> None:
        """Take back the note of a write that failed; see `WriteObserver`."""
        if done:
            return
        with self._lock:
            for path in (change.path, *reversed(change.made)):
                self._log.append(self._record("failed", path=os.fsencode(path)))

    def undo(
        self,
        last: int = 1,
        *,
        call_id: str = "",
        turn: int = 0,
        to: str = "",
        since: int = 0,
        force: bool = False,
    ) -> UndoReport:
        """Undo the `last` calls that changed something, or the one named, or those of a turn, or all back to one.

        `call_id` and `to` take a call's id or its number in the journal, `since` a turn with all that follow. Where a
        path is no longer as the calls left it, nothing is undone and the report says why, unless `force`; one outside
        of the roots, which others use, stays as it is even then. Raises `ToolError` (NOT_FOUND: nothing to undo;
        REFUSED: a command is still running).
        """
        with self._lock:
            self.recover()
            chosen = calls_to_undo(self._known, last=last, call_id=call_id, to=to, turn=turn, since=since)
            net, broken = net_changes(chosen)
            reach = self._reach()
            restorer = Restorer(reach, self._writer, self._log.content)
            refused = restorer.impossible(net)
            objections = [UndoRefusal(path, why) for path, why in broken.items()]
            objections += [explained(each, self._known, chosen[-1]) for each in restorer.objections(net)]
            refused += [each for each in objections if not force or net[each.path].is_outside]
            if refused and not force:
                return UndoReport(refused=tuple({each.path: each for each in refused}.values()), needs_force=True)
            self._keep_present(net, chosen, reach)
            possible = {path: change for path, change in net.items() if path not in {each.path for each in refused}}
            restored, failed = restorer.restore(possible)
            # What failed now may go well later: the calls stay open for that.
            is_over = force or all(each.is_final for each in failed)
            numbers = tuple(entry.number for entry in reversed(chosen)) if is_over else ()
            if is_over:
                self._log.append(self._record("undone", numbers=numbers), durable=True)
            self._now = None
            self._undone([path for path, _ in restored])
            return UndoReport(numbers, tuple(restored), (*refused, *failed))

    def recover(self) -> None:
        """Find out what a call did whose process died in the middle of it; `entries` and `undo` do so by themselves.

        Raises `ToolError` (REFUSED) when the call is still running in another process.
        """
        with self._lock:
            self._catch_up()
            if self._now is not None or not self._known.unseen:
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
            self._watch.close()
            self._catch_up()

    def close(self) -> None:
        """Remove what served only the looks; the journal itself stays if it holds anything."""
        with self._lock:
            self._catch_up()
            if not self._known.told() and not self._known.unseen:
                self._log.remove()
            self._watch.close()

    def _begin(self, call_id: str, title: str, snapshot: bool) -> None:
        with self._lock:
            try:
                self._catch_up()
                number = self._known.last_number + 1
                self._now = Record("changes", number, _writable(call_id), _writable(title), self.turn, time.time())
                if snapshot:
                    self._begin_look()
            except OSError as error:
                message = told(
                    "Not run: what it changes couldn't be recorded for undo in {folder}: {strerror}.",
                    folder=self.folder,
                    strerror=error.strerror,
                )
                raise ToolError(ErrorKind.IO_ERROR, message) from error

    def _begin_look(self) -> None:
        try:
            self._watch.look()
        except UnwatchedError as error:
            self._log.append(self._record("changes", notes=(str(error),)))
            return
        record = self._record("look", position=self._watch.position)
        self._log.append(record)
        self._now = record

    def _end(self) -> None:
        with self._lock:
            try:
                if self._now is not None and self._now.kind == "look":
                    self._note_seen(None)
            except OSError:
                pass  # the call is done and its result counts; what it did is found out about by `recover`
            finally:
                self._now = None

    def _note_seen(self, since: int | None) -> None:
        """Put into the log what this call did behind our back; `since` where a dead process left off."""
        number = self._now.number if self._now else 0
        try:
            seen = self._watch.look() if since is None else self._watch.resume(since)
        except UnwatchedError as error:
            self._log.append(self._record("changes", notes=(str(error),)))
            self._log.append(self._record("seen"))
            return
        self._catch_up()
        noted = self._known.calls.get(number)
        already = {change.path: change.after for change in noted.changes} if noted else {}
        changes, contents = self._watch.as_records(seen, already)
        if changes:
            lost = any(each.before.kind == "file" and each.before.where < 0 for each in changes)
            notes = self._watch.notes if lost else ()
            self._log.append(self._record("changes", tuple(changes), notes=notes), contents, durable=True)
        self._log.append(self._record("seen"))

    def _record(
        self,
        kind: RecordKind,
        changes: tuple[ChangeRecord, ...] = (),
        *,
        path: bytes = b"",
        numbers: tuple[int, ...] = (),
        position: int = 0,
        notes: tuple[str, ...] = (),
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
            numbers,
            position,
            (*now.notes, *notes),
        )

    def _reach(self) -> JournalReach:
        changes = (change for entry in self._known.with_changes() for change in entry.changes)
        return JournalReach(self._roots, (change.path for change in changes if change.is_outside))

    def _catch_up(self) -> None:
        self._known.add(self._log.read_new())

    def _keep_present(self, net: dict[str, PathChange], chosen: Sequence[Entry], reach: JournalReach) -> None:
        """Note the undo as a call of its own before it changes anything, so that it can be undone too."""
        titles = ", ".join(entry.title or entry.call_id for entry in reversed(chosen))
        number = self._known.last_number + 1
        title = told("Undo: {titles}", titles=titles)
        self._now = Record("changes", number, f"undo-{number}", title, self.turn, time.time(), is_undo=True)
        changes: list[ChangeRecord] = []
        contents: list[bytes] = []
        size = 0
        for path, change in net.items():
            data, now = _present(reach, path, change.after, size)
            contents.append(data)
            size += len(data)
            changes.append(ChangeRecord(os.fsencode(path), now, _unplaced(change.before), change.is_outside))
        self._log.append(self._record("changes", tuple(changes)), contents, durable=True)


_NEW_FOLDER = State("folder", UNKNOWN_MODE)


def _present(reach: JournalReach, path: str, like: State, where: int) -> tuple[bytes, State]:
    state = present_state(reach, path, like)
    if state.kind != "file" or is_stamp(state.digest):
        return b"", state
    with os.fdopen(reach.open_file(path), "rb") as stream:
        data = stream.read()
    return data, state_of_file(data, state.mode, where)


def _writable(text: str) -> str:
    """Return a text that can be encoded: names of files may hold bytes that are no characters."""
    return text if isinstance(text, Message) else text.encode("utf-8", "backslashreplace").decode()


def _unplaced(state: State) -> State:
    return State(state.kind, state.mode, state.size, state.digest, state.target)
