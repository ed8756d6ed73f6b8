"""What is told of background jobs: those that still ran at the end, and those that any program of the user finds."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dogu.contract import ErrorKind, ToolError
from dogu.language import say, told
from dogu.runtime.journal.words import path_within
from dogu.workspace.visible import make_visible, visible_line

if TYPE_CHECKING:
    from dogu.workspace.process.jobs import Job, SettledJob
    from dogu.workspace.process.stored_jobs import StoredJob, StoredJobs

_LONGEST_COMMAND_CHARS = 120
_OUTPUT_BYTES = 100_000


def settled_lines(jobs: Iterable[SettledJob]) -> list[str]:
    """Say what became of each job that still ran at the end, in a line each."""
    return [_settled_line(job) for job in jobs]


def settled_rows(jobs: Iterable[SettledJob]) -> list[dict[str, Any]]:
    """Return the same for machines: `pid`, `command`, `state` (`kept`, `ended`), how to `stop` one, a `problem`."""
    return [
        {"pid": job.pgid, "command": job.command, "state": "kept" if job.is_kept else "ended"}
        | ({"stop": f"dogu jobs stop {job.pgid}"} if job.is_kept else {})
        | ({"problem": job.problem} if job.problem else {})
        for job in jobs
    ]


def _settled_line(job: SettledJob) -> str:
    command, pid = _short(job.command), job.pgid
    if job.is_kept:
        return say(
            "Still running: {command}. Its output: dogu jobs output {pid}; to stop it: dogu jobs stop {pid}",
            command=command,
            pid=pid,
        )
    if job.problem:
        return say("Ended, because it could not be kept: {command} ({why})", command=command, why=say(job.problem))
    if not job.can_be_kept:
        return say("Ended with the session: {command}", command=command)
    return say("Ended with the session: {command} (--keep-jobs keeps it running)", command=command)


def job_line(job: StoredJob, folder: str = "") -> str:
    """Say of one job how it stands; and where it runs, unless that is `folder`."""
    record = job.record
    values = {
        "pid": job.pgid,
        "command": _short(record.command),
        "age": _age(time.time() - record.started_at),
    }
    where = "" if record.directory == folder else f"  [{visible_line(path_within(folder, record.directory))}]"
    if not job.is_running:
        return say("{pid}  ended  {age}  {command}", **values) + where
    if job.is_elsewhere:
        return say("{pid}  in another container  {age}  {command}", **values) + where
    if job.is_kept:
        return say("{pid}  running, kept  {age}  {command}", **values) + where
    return say("{pid}  running, ends with its session  {age}  {command}", **values) + where


def own_job_line(job: Job) -> str:
    """Say the same of a job that only its own session knows of, and that ends with it."""
    values = {"pid": job.pgid, "command": _short(job.command), "age": _age(time.time() - job.started_at)}
    if not job.pids:
        return say("{pid}  ended  {age}  {command}", **values)
    return say("{pid}  running, ends with this session  {age}  {command}", **values)


def job_row(job: StoredJob) -> dict[str, Any]:
    """Return the same for machines."""
    record, pids = job.record, job.pids
    return {
        "pid": job.pgid,
        "pids": list(pids),
        "command": record.command,
        "directory": record.directory,
        "startedAt": record.started_at,
        "isRunning": job.is_running,
        "isKept": job.is_kept,
        "output": job.folder,
    }


def job_of(jobs: StoredJobs, word: str) -> StoredJob:
    """Find the job that the user names by its number. Raises `ToolError` (NOT_FOUND, INVALID_ARGUMENTS)."""
    if not word.isascii() or not word.isdigit():
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, told("Name a job by its number, not {word!r}.", word=word))
    job = jobs.find(int(word))
    if job is None:
        raise ToolError(ErrorKind.NOT_FOUND, told("There is no background job {pid}.", pid=word))
    return job


def output_of(job: StoredJob) -> str:
    """Return what a job printed so far, standard error after standard output."""
    return joined_output(job)


def joined_output(job: StoredJob | Job) -> str:
    """Return standard output so far, and behind it standard error."""
    stdout, stderr = job.output(_OUTPUT_BYTES)
    between = "\n" if stdout and stderr and not stdout.endswith("\n") else ""
    return stdout + between + stderr


def keep_job(job: StoredJob, jobs: str = "dogu jobs") -> str:
    """Have a job live on, and say so; `jobs` is the command that knows it. Raises `ToolError`."""
    if not job.is_running:
        return say("It has ended: {command}", command=_short(job.record.command))
    job.keep()
    return say(
        "Kept: {command} keeps running after its session. To stop it: {jobs} stop {pid}",
        command=_short(job.record.command),
        jobs=jobs,
        pid=job.pgid,
    )


def stop_job(job: StoredJob) -> str:
    """End a job and say so. Raises `ToolError` when something of it outlives that."""
    command = _short(job.record.command)
    if not job.is_running:
        return say("It has ended: {command}", command=command)
    if not job.stop():
        raise ToolError(
            ErrorKind.IO_ERROR, told("{command} hasn't ended: a process in it can't be killed.", command=command)
        )
    return say("Stopped: {command}", command=command)


def _short(command: str) -> str:
    line = make_visible(" ".join(command.split()))
    return line if len(line) <= _LONGEST_COMMAND_CHARS else line[:_LONGEST_COMMAND_CHARS] + "..."


def _age(age_s: float) -> str:
    if age_s >= 86_400:
        return say("{count} d", count=f"{age_s / 86_400:.0f}")
    if age_s >= 3_600:
        return say("{count} h", count=f"{age_s / 3_600:.0f}")
    if age_s >= 60:
        return say("{count} min", count=f"{age_s / 60:.0f}")
    return say("{seconds} s", seconds=f"{max(0.0, age_s):.0f}")
