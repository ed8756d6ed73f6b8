"""A fleet's folder: tasks, their states and rows in one SQLite file; patches and records beside it.

A result counts once its row is in the database, which is synced; its patch and its record are on the disk before. One
process at a time drives a fleet; any number may look.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TypeVar
from urllib.parse import quote

import msgspec

from dogu.contract import ErrorKind, ToolError
from dogu.fleet.plan import Plan
from dogu.fleet.rows import Row
from dogu.fleet.tasks import Task
from dogu.language import plain, sentence, told
from dogu.workspace import fs

_T = TypeVar("_T")
_FILE = "fleet.sqlite"
_SPENT = "spent"
_DRIVERS_LOCK = "driver.lock"
WORKERS_LOCK = "workers.lock"  # shared by all workers while they live
_UNFINISHED = f"{_FILE}.new"
_ROOM_BYTES = 8 * 1024 * 1024  # twice what SQLite's log grows to before it is written from its beginning again
_PIECE_BYTES = 64 * 1024  # SQLite has what it deletes in memory
_WORKERS_TAKE_S = 30.0
_CONTROL = re.compile(r"[\0-\x1f\x7f-\x9f\ud800-\udfff]")  # or bytes that are no UTF-8
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # the last: a table that isn't there
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tasks (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, task BLOB NOT NULL,
    state TEXT NOT NULL DEFAULT 'queued', attempt INTEGER NOT NULL DEFAULT 0, begun REAL
);
CREATE INDEX IF NOT EXISTS by_state ON tasks (state, number);
CREATE TABLE IF NOT EXISTS rows (
    id TEXT PRIMARY KEY REFERENCES tasks (id), row BLOB NOT NULL, passed INTEGER, reason TEXT NOT NULL, cost REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS former (id TEXT NOT NULL, row BLOB NOT NULL);
"""
_VERSION = "1"


class Counts(msgspec.Struct, frozen=True):
    """How far a fleet is. `unchecked` are done and had no check; `cost_usd` is of what is done."""

    total: int
    queued: int
    running: int
    passed: int
    failed: int
    unchecked: int
    cost_usd: float

    @property
    def done(self) -> int:
        """How many have a row."""
        return self.passed + self.failed + self.unchecked


class DamagedError(ToolError):
    """The fleet's file isn't as it was written, or not where it was: no other try reads more of it."""


class DamagedTaskError(Exception):
    """A task that was begun can't be read, and is no reason for the others to wait."""

    def __init__(self, task_id: str, attempt: int, why: str) -> None:
        super().__init__(why)
        self.task_id = task_id
        self.attempt = attempt


class Fleet:
    """The folder of a fleet, open. `create` makes it, `open` finds it; close it, or use it as a context manager."""

    def __init__(self, folder: str, database: sqlite3.Connection) -> None:
        self.folder = os.path.realpath(folder)  # worlds lie in it, whose commands are held to where they truly are
        self._database = database
        self._place = os.path.join(self.folder, _FILE)
        self._is = os.stat(self._place)
        self._lock: int | None = None

    @classmethod
    def create(cls, folder: str, plan: Plan, tasks: Iterable[Task]) -> Fleet:
        """Make a fleet of the tasks. Raises `ToolError` where there is one already, or the folder holds other files."""
        _check_name(os.path.abspath(folder))
        try:
            cls._make(folder, plan, tasks)
        except (OSError, sqlite3.Error) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise ToolError(
                ErrorKind.IO_ERROR, told("{folder} can't be written: {why}", folder=folder, why=why)
            ) from error
        return cls.open(folder)

    @staticmethod
    def _make(folder: str, plan: Plan, tasks: Iterable[Task]) -> None:
        """Write it beside its place, then put it there: all of its tasks, or no fleet."""
        if os.path.lexists(folder) and not os.path.isdir(folder):
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, told("{folder} isn't a folder", folder=folder))
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if any(not name.startswith(_UNFINISHED) for name in os.listdir(folder)):
            message = told(
                "{folder} isn't empty: name another folder, or continue with `dogu fleet resume`.", folder=folder
            )
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        beside = os.path.join(folder, _UNFINISHED)
        with closing(_connect(beside)) as database, database:
            database.executescript(_SCHEMA)
            database.execute(
                "INSERT INTO meta VALUES ('version', ?), ('plan', ?)", (_VERSION, msgspec.json.encode(plan))
            )
            encoder = msgspec.json.Encoder()
            rows = ((number, task.id, encoder.encode(task)) for number, task in enumerate(tasks, 1))
            if not database.executemany("INSERT INTO tasks (number, id, task) VALUES (?, ?, ?)", rows).rowcount:
                raise ToolError(ErrorKind.INVALID_ARGUMENTS, told("There are no tasks."))
        fs.rename(beside, os.path.join(folder, _FILE))

    @classmethod
    def open(cls, folder: str) -> Fleet:
        """Open the fleet of a folder; it may be one that nobody can write. Raises `ToolError` where there is none."""
        path = os.path.join(folder, _FILE)
        if not os.path.isfile(path):
            message = told("{folder} holds no fleet: `dogu fleet run TASKS --out {folder}` starts one.", folder=folder)
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
        try:
            database = _connect(path)
            if os.access(folder, os.W_OK):
                database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            version = database.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
        except sqlite3.Error as error:
            raise _unreadable(path, error) from error
        if version != (_VERSION,):
            database.close()
            found = version[0] if version else None
            words = sentence("{path} has the format {found}, this dogu reads {known}: use the dogu that made it")
            raise ToolError(ErrorKind.IO_ERROR, told(words, path=path, found=found, known=_VERSION))
        return cls(folder, database)

    def close(self) -> None:
        """Close it, and let others drive it."""
        self._database.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def plan(self) -> Plan:
        """How it runs."""
        with self._reading() as database:
            found = database.execute("SELECT value FROM meta WHERE name = 'plan'").fetchone()
            return _decoded(found and found[0], Plan)

    def change_plan(self, plan: Plan) -> None:
        """Have it run otherwise from now on."""
        with self._writing() as database:
            database.execute("UPDATE meta SET value = ? WHERE name = 'plan'", (msgspec.json.encode(plan),))

    def drive(self) -> None:
        """Take the fleet for this process. Raises `ToolError` when another process drives it."""
        if self._lock is not None:
            return
        _check_name(self.folder)
        try:
            lock = fs.open(self.place(_DRIVERS_LOCK), os.O_RDWR | os.O_CREAT | fs.O_CLOEXEC, 0o600)
        except OSError as error:
            message = told("{folder} can't be written: {why}", folder=self.folder, why=error.strerror)
            raise ToolError(ErrorKind.IO_ERROR, message) from error
        try:
            fs.flock(lock, fs.LOCK_EX | fs.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            message = told("{folder} is being run by another process.", folder=self.folder)
            raise ToolError(ErrorKind.IO_ERROR, message) from None
        self._lock = lock
        _await_workers(self.place(WORKERS_LOCK), self.folder)
        with suppress(sqlite3.Error, OSError):
            self._hold_room()

    def _hold_room(self) -> None:
        """Have the file and its log as large as they may become, so that rows can be written on a disk that is full."""
        pieces = min(_ROOM_BYTES, shutil.disk_usage(self.folder).free // 20) // _PIECE_BYTES
        with self._database:
            room = ((f"room {number}", _PIECE_BYTES) for number in range(pieces))
            self._database.executemany("INSERT OR REPLACE INTO meta VALUES (?, zeroblob(?))", room)
        with self._database:
            self._database.execute("DELETE FROM meta WHERE name LIKE 'room%'")
        self._database.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        self._database.execute("PRAGMA shrink_memory")

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        """Read and decode. Raises `ToolError` (IO_ERROR) for what isn't as it was written."""
        try:
            yield self._database
        except (sqlite3.Error, msgspec.DecodeError) as error:
            raise _unreadable(self._place, error) from error

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        """One transaction. Raises `ToolError` (IO_ERROR) on a disk that is full; then nothing is written.

        So it does where the folder is no longer in its place, where patches and records are written.
        """
        try:
            is_in_place = os.path.samestat(os.stat(self._place), self._is)
        except OSError:
            is_in_place = False
        if not is_in_place:
            message = told("{folder} was moved or deleted while it was in use", folder=self.folder)
            raise DamagedError(ErrorKind.IO_ERROR, message)
        try:
            with self._database:
                yield self._database
        except (sqlite3.Error, msgspec.DecodeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _FULL:
                raise _unreadable(self._place, error) from error
            message = told("{folder} can't be written: {why}", folder=self.folder, why=str(error))
            raise ToolError(ErrorKind.IO_ERROR, message) from error

    def take_back(self) -> list[str]:
        """Drive it, and queue again what a driver that died had begun; return those ids. Raises `ToolError`."""
        self.drive()
        with self._writing() as database:
            cut_short = "UPDATE tasks SET state = 'queued' WHERE state = 'running' RETURNING id"
            return sorted(task_id for (task_id,) in database.execute(cut_short).fetchall())

    def spent_usd(self) -> float:
        """What has been spent: the rows' cost, that of tasks' earlier tries, and of attempts that have no row."""
        with self._reading() as database:  # one that was damaged is run once more, and its former row says nothing
            former = "SELECT total(json_extract(row, '$.cost_usd')) FROM former WHERE json_valid(row)"
            known = self.counts().cost_usd + database.execute(former).fetchone()[0]
        try:
            with open(self.place(_SPENT), encoding="ascii") as file:
                return max(known, float(file.read(64)))
        except (OSError, ValueError):
            return known

    def keep_spent(self, usd: float) -> None:
        """Keep what has been spent, for each request: not synced, so a power cut may forget the last ones."""
        with suppress(OSError):  # on a disk that is full, which a number as long as the last isn't hindered by
            file = fs.open(self.place(_SPENT), os.O_WRONLY | os.O_CREAT | fs.O_CLOEXEC, 0o600)
            try:
                os.write(file, f"{usd:<32.9f}".encode())
            finally:
                os.close(file)

    def needs_model(self) -> bool:
        """Whether a task waits that names no model of its own."""
        with self._reading() as database:
            waiting = "SELECT 1 FROM tasks WHERE state <> 'done' AND json_valid(task)"
            nameless = "coalesce(json_extract(task, '$.model'), '') = '' LIMIT 1"
            return database.execute(f"{waiting} AND {nameless}").fetchone() is not None

    def next_task(self) -> tuple[Task, int] | None:
        """Begin the first task that waits, and return it with the number of its attempt; None when none waits.

        Raises `DamagedTaskError` for one that can't be read, which is begun all the same.
        """
        with self._writing() as database:
            begun = database.execute(
                "UPDATE tasks SET state = 'running', attempt = attempt + 1, begun = ? WHERE number ="
                " (SELECT number FROM tasks WHERE state = 'queued' ORDER BY number LIMIT 1)"
                " RETURNING id, task, attempt",
                (time.time(),),
            ).fetchone()
        if begun is None:
            return None
        task_id, task, attempt = begun
        try:
            return _decoded(task, Task), attempt
        except msgspec.DecodeError as error:
            why = told("the task can't be read, its line in {path} is damaged: {why}", path=self._place, why=str(error))
            raise DamagedTaskError(task_id, attempt, why) from error

    def put_back(self, task_id: str) -> None:
        """Queue a task again that was begun and cut short."""
        with self._writing() as database:
            database.execute("UPDATE tasks SET state = 'queued' WHERE id = ? AND state = 'running'", (task_id,))

    def finish(self, row: Row) -> None:
        """Record what came of a task that was begun; from here on it is never run again. Once a task."""
        passed = None if row.passed is None else int(row.passed)
        values = (row.id, msgspec.json.encode(row, enc_hook=plain), passed, str(row.reason), row.cost_usd)
        with self._writing() as database:
            done = "UPDATE tasks SET state = 'done' WHERE id = ? AND state = 'running'"
            if database.execute(done, (row.id,)).rowcount != 1:
                return
            database.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", values)

    def retry(self, ids: Sequence[str] = ()) -> int:
        """Queue again what is done and named, else all that failed; their rows become former ones. Return how many."""
        chosen = (
            "SELECT id FROM rows WHERE passed = 0" if not ids else f"SELECT id FROM rows WHERE id IN ({_marks(ids)})"
        )
        with self._writing() as database:
            found = [task_id for (task_id,) in database.execute(chosen, ids).fetchall()]
            for task_id in found:
                database.execute("INSERT INTO former SELECT id, row FROM rows WHERE id = ?", (task_id,))
                database.execute("DELETE FROM rows WHERE id = ?", (task_id,))
                database.execute("UPDATE tasks SET state = 'queued' WHERE id = ?", (task_id,))
        return len(found)

    def counts(self) -> Counts:
        """Count tasks by how far they are."""
        with self._reading() as database:
            states = dict(database.execute("SELECT state, count(*) FROM tasks GROUP BY state").fetchall())
            passed = dict(database.execute("SELECT passed, count(*) FROM rows GROUP BY passed").fetchall())
            (cost,) = database.execute("SELECT total(cost) FROM rows").fetchone()
        total = sum(states.values())
        queued, running = states.get("queued", 0), states.get("running", 0)
        return Counts(total, queued, running, passed.get(1, 0), passed.get(0, 0), passed.get(None, 0), cost)

    def rows(self) -> Iterator[Row]:
        """Give all rows, in the order of the tasks."""
        with self._reading() as database:
            for task_id, row in database.execute("SELECT id, row FROM tasks JOIN rows USING (id) ORDER BY number"):
                yield self._row(task_id, row)

    def row(self, task_id: str) -> Row | None:
        """Find a task's row."""
        with self._reading() as database:
            found = database.execute("SELECT row FROM rows WHERE id = ?", (task_id,)).fetchone()
            return None if found is None else self._row(task_id, found[0])

    def _row(self, task_id: str, row: bytes) -> Row:
        """Read a row. Raises `ToolError` that says how to have another."""
        try:
            return _decoded(row, Row)
        except msgspec.DecodeError as error:
            words = sentence(
                "{path} is damaged: what came of {id} can't be read ({why}); "
                "`dogu fleet retry {folder} {id}` runs it once more"
            )
            message = told(words, path=self._place, id=task_id, why=str(error), folder=self.folder)
            raise ToolError(ErrorKind.IO_ERROR, message) from error

    def task(self, task_id: str) -> tuple[Task, str] | None:
        """Find a task and its state: queued, running, done."""
        with self._reading() as database:
            found = database.execute("SELECT task, state FROM tasks WHERE id = ?", (task_id,)).fetchone()
            return None if found is None else (_decoded(found[0], Task), found[1])

    def owns(self, path: str) -> bool:
        """Whether a path is one of the files that the fleet is made of, which nothing else may be written over."""
        parts = os.path.relpath(os.path.realpath(path), self.folder).split(os.sep)
        return parts[0].startswith(_FILE) or parts[0] in (_SPENT, _DRIVERS_LOCK, WORKERS_LOCK, "tasks", "repos")

    def place(self, *names: str) -> str:
        """Return the path of something in the fleet's folder."""
        return os.path.join(self.folder, *names)


def _check_name(folder: str) -> None:
    """Raise `ToolError` for what scripts, terminals and workers can't be told of, a line of UTF-8 a path."""
    if _CONTROL.search(folder):
        words = sentence("{folder} has control characters in its name, or isn't UTF-8: name another folder.")
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, told(words, folder=ascii(folder)))


def _await_workers(path: str, folder: str) -> None:
    """Wait until the workers of a driver that died have ended: they may still be in the tasks' folders."""
    lock = fs.open(path, os.O_RDWR | os.O_CREAT | fs.O_CLOEXEC, 0o600)
    until = time.monotonic() + _WORKERS_TAKE_S
    try:
        while True:
            try:
                fs.flock(lock, fs.LOCK_EX | fs.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > until:
                    message = told("{folder} still has workers of a run that ended.", folder=folder)
                    raise ToolError(ErrorKind.IO_ERROR, message) from None
                time.sleep(0.05)
    finally:
        os.close(lock)


def _decoded(data: object, kind: type[_T]) -> _T:
    """Read what was written as JSON. Raises `msgspec.DecodeError`, also for what is no text."""
    return msgspec.json.decode(data if isinstance(data, bytes | str) else b"", type=kind)


def _unreadable(path: str, error: Exception) -> ToolError:
    """Say why the file can't be used, and what is left where it is damaged."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF  # or it isn't the JSON that was written
    if code not in _DAMAGED:
        return ToolError(ErrorKind.IO_ERROR, told("{path} can't be read: {why}", path=path, why=str(error)))
    words = sentence(
        "{path} is damaged ({why}): patches and records are files beside it, in tasks; "
        "`dogu fleet run TASKS --out ANOTHER` begins anew"
    )
    return DamagedError(ErrorKind.IO_ERROR, told(words, path=path, why=str(error)))


def _connect(path: str) -> sqlite3.Connection:
    address = f"file:{quote(os.fsencode(os.path.abspath(path)))}"
    is_whole = not os.path.exists(f"{path}-wal") or not os.path.getsize(f"{path}-wal")
    if not os.access(os.path.dirname(path), os.W_OK) and is_whole:  # where SQLite could make no log to read by
        address += "?immutable=1"
    return sqlite3.connect(address, timeout=30.0, check_same_thread=False, uri=True)


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
