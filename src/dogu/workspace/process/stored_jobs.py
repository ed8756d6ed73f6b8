"""Background jobs as any program of the user finds them: a folder each, also when the one that started them is gone.

A job is known by its supervisor's process and by when that began to live, so that another process that has its number
later is never taken for it; nothing here sends a signal (`launcher.job_folder`).
"""

from __future__ import annotations

import os
import shutil
import time
from functools import cache

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace.launcher import ring, tree
from dogu.workspace.launcher.job_folder import ENDED, KEEP, STOP, read_sizes
from dogu.workspace.process.output import readable
from dogu.workspace.system import IS_LINUX, IS_WINDOWS

_RECORD = "job.json"
_NEW = ".new-"
_STOP_TAKES_S = 15.0
_LOOK_S = 0.05
_ENDED_KEPT_S = 7 * 86400.0


class JobRecord(msgspec.Struct, frozen=True):
    """What was known of a job when it went to the background. Times are seconds since 1970."""

    pgid: int
    command: str
    directory: str
    started_at: float
    supervisor: int
    birth: str
    """When the supervisor began to live, as `birth_of` says it."""


class StoredJob:
    """One job's folder."""

    def __init__(self, folder: str, record: JobRecord) -> None:
        self.folder = folder
        self.record = record

    @property
    def pgid(self) -> int:
        """Its process group, by which the user names it."""
        return self.record.pgid

    @property
    def is_running(self) -> bool:
        """Whether anything of it lives, or may: of one that `is_elsewhere` only its folder says that it ended."""
        return not self._has(ENDED) and (self.is_elsewhere or _lives(self.record))

    @property
    def is_elsewhere(self) -> bool:
        """Whether it began in another space of process numbers (a container's), whose processes aren't seen here."""
        theirs, ours = self.record.birth.split(), _place().split()
        return len(ours) == 2 and len(theirs) == 3 and theirs[0] == ours[0] and theirs[1] != ours[1]

    @property
    def is_kept(self) -> bool:
        """Whether it lives on after the program that started it."""
        return self._has(KEEP)

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that live now."""
        if self.is_elsewhere or not self.is_running:
            return ()
        return tuple(tree.survivors(self.record.supervisor) if IS_LINUX else _below(self.record))

    def output(self, max_bytes: int) -> tuple[str, str]:
        """Return standard output and error so far, each with its middle left out past `max_bytes`."""
        sizes = read_sizes(self.folder)
        return self._text("stdout", sizes["stdout"], max_bytes), self._text("stderr", sizes["stderr"], max_bytes)

    def keep(self) -> None:
        """Have it live on. Raises `ToolError` when that can't be noted."""
        self._want(KEEP)

    def stop(self) -> bool:
        """Have all of its processes ended (SIGTERM, 2 s, SIGKILL) and wait; False when something outlives that."""
        self._want(STOP)
        deadline = time.monotonic() + _STOP_TAKES_S
        while self.is_running and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        return not self.is_running

    def forget(self) -> None:
        """Clear its folder away; what still runs of it isn't found any more."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _want(self, name: str) -> None:
        try:
            os.close(
                os.open(os.path.join(self.folder, name), os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            )
        except OSError as error:
            why = error.strerror or str(error)
            raise ToolError(
                ErrorKind.IO_ERROR, told("{folder} can't be written: {why}.", folder=self.folder, why=why)
            ) from error

    def _has(self, name: str) -> bool:
        return os.path.lexists(os.path.join(self.folder, name))

    def _text(self, stream: str, total_bytes: int, max_bytes: int) -> str:
        try:
            with open(os.path.join(self.folder, stream), "rb") as file:
                return readable(*ring.read_ends(file.fileno(), total_bytes, max_bytes))
        except OSError:
            return ""


class StoredJobs:
    """All jobs' folders, in one. Those that ended and weren't kept are cleared away, kept ones a week later."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def all(self) -> list[StoredJob]:
        """Return the jobs there are, oldest first; nothing is made and nothing raised where there are none."""
        found: list[StoredJob] = []
        for name in _names(self._folder):
            folder = os.path.join(self._folder, name)
            record = _read(folder)
            if record is None:
                _clear_if_old(folder)
                continue
            job = StoredJob(folder, record)
            if _is_over(job):
                job.forget()
            else:
                found.append(job)
        return sorted(found, key=lambda job: job.record.started_at)

    def find(self, pid: int) -> StoredJob | None:
        """Find a job by its process group or by any of its processes; a running one before one that ended."""
        jobs = [job for job in reversed(self.all()) if job.pgid == pid]
        running = [job for job in jobs if job.is_running]
        if running or jobs:
            return (running or jobs)[0]
        return next((job for job in self.all() if pid in job.pids), None)

    def begin(self) -> str:
        """Make a new folder, whose name says that it is none yet; `finish` makes it one. Raises `OSError`.

        Windows renames no folder in which files are open: there its record alone makes it one.
        """
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        folder = os.path.join(self._folder, f"{'' if IS_WINDOWS else _NEW}{os.urandom(8).hex()}")
        os.mkdir(folder, 0o700)
        return folder

    def finish(self, folder: str, record: JobRecord) -> StoredJob:
        """Make the new folder a job's. Raises `OSError`."""
        with open(os.path.join(folder, _RECORD), "xb") as file:
            file.write(msgspec.json.encode(record))
        if IS_WINDOWS:
            return StoredJob(folder, record)
        name = os.path.join(self._folder, f"{record.pgid}-{os.path.basename(folder).removeprefix(_NEW)}")
        os.rename(folder, name)
        return StoredJob(name, record)


def birth_of(pid: int) -> str:
    """Return what tells a living process from any other that has had its number, or will; "" when it is gone."""
    return _born_here(pid) if IS_LINUX and _place() else _born_at(pid)


def _lives(record: JobRecord) -> bool:
    """Whether its supervisor lives; whoever wrote the record may have known births in the other way."""
    if not record.birth:  # nothing told it when the record was written, as in a hidden /proc
        return not IS_WINDOWS and tree.lives(record.supervisor)
    is_timed = " " not in record.birth
    return record.birth == (_born_at if is_timed else _born_here)(record.supervisor)


def _born_here(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
        return "" if fields[0] in (b"Z", b"X") else f"{_place()} {int(fields[19])}"
    except (OSError, IndexError):
        return ""


def _born_at(pid: int) -> str:
    import psutil

    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return ""


def _below(record: JobRecord) -> list[int]:
    import psutil

    try:
        below = [child.pid for child in psutil.Process(record.supervisor).children(recursive=True)]
    except psutil.Error:
        return []
    return below or [record.supervisor]  # what lost its parent isn't seen from here; its supervisor knows of it


@cache
def _place() -> str:
    """Name this start of the machine and this space of process numbers; "" where the kernel doesn't tell."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read(folder: str) -> JobRecord | None:
    try:
        with open(os.path.join(folder, _RECORD), "rb") as file:
            return msgspec.json.decode(file.read(), type=JobRecord)
    except (OSError, msgspec.MsgspecError):
        return None


def _clear_if_old(folder: str) -> None:
    """Clear away what never became a job's folder."""
    try:
        if time.time() - os.lstat(folder).st_mtime > _ENDED_KEPT_S:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass


def _is_over(job: StoredJob) -> bool:
    if job.is_running:
        return False
    try:
        return not job.is_kept or time.time() - os.lstat(job.folder).st_mtime > _ENDED_KEPT_S
    except OSError:
        return True
