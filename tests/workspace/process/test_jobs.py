import marshal
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import psutil
import pytest
from anyio import to_thread

from dogu.workspace.launcher import packets
from dogu.workspace.launcher.job_folder import ENDED
from dogu.workspace.launcher.packets import Packets
from dogu.workspace.process.command import ShellCommand
from dogu.workspace.process.jobs import Job
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.process.stored_jobs import JobRecord, StoredJobs, birth_of
from dogu.workspace.process.supervisor_line import SupervisorLine
from dogu.workspace.system import IS_LINUX
from processes import is_alive, running_in

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="supervisors need Linux"),
]


@pytest.fixture
async def processes() -> AsyncIterator[LocalProcesses]:
    async with LocalProcesses() as processes:
        yield processes


async def start(processes: LocalProcesses, folder: Path, text: str) -> Job:
    command = ShellCommand(text, str(folder), {"PATH": os.environ["PATH"]})
    result = await processes.run(command)
    job = processes.job(result.pgid)
    assert job is not None
    return job


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not condition():  # noqa: ASYNC110  (another process's doing has no event here)
            await anyio.sleep(0.01)


async def test_a_job_is_listed_read_and_stopped(processes: LocalProcesses, tmp_path: Path) -> None:
    text = "(echo one; until test -e go; do sleep 0.02; done; echo two; echo bad >&2; sleep 71) &"
    job = await start(processes, tmp_path, text)
    assert processes.jobs == (job,)
    assert processes.job(job.pids[0]) is job
    assert job.output(1000) == ("one\n", "")
    assert job.output(1000, only_new=True) == ("", "")
    (tmp_path / "go").touch()
    await until(lambda: job.output(1000)[1] == "bad\n")
    assert job.output(1000)[0] == "one\ntwo\n"
    pids = job.pids
    await job.stop()
    assert not job.is_running
    assert not {found.pid for found in running_in(tmp_path)} & {*pids}


async def test_new_output_of_a_job_is_told_once(processes: LocalProcesses, tmp_path: Path) -> None:
    job = await start(processes, tmp_path, "(echo one; until test -e go; do sleep 0.02; done; echo two) &")
    (tmp_path / "go").touch()
    # The last process may be gone before what it wrote has been read.
    await until(lambda: not job.pids and not job.is_running)
    assert job.output(1000, only_new=True) == ("two\n", "")
    assert job.output(1000, only_new=True) == ("", "")
    assert not job.is_running


async def test_a_job_floods_without_harm(processes: LocalProcesses, tmp_path: Path) -> None:
    job = await start(processes, tmp_path, "yes &")
    await until(lambda: len(job.output(10_000)[0]) > 9_000)
    await job.stop()
    text = job.output(1000)[0]
    assert "bytes left out" in text
    assert len(text) < 1100


async def test_a_kept_job_lives_on(tmp_path: Path) -> None:
    async with LocalProcesses(jobs_folder=str(tmp_path / "jobs")) as processes:
        job = await start(processes, tmp_path, "(until test -e go; do sleep 0.02; done; echo here; touch done) &")
        other = await start(processes, tmp_path, "sleep 72 &")
        pids, others = job.pids, other.pids
        job.keep()
        started = time.monotonic()
    assert time.monotonic() - started < 5
    assert any(is_alive(pid) for pid in pids)  # all but the sleep of that moment
    assert not {found.pid for found in running_in(tmp_path)} & {*others}
    (tmp_path / "go").touch()
    await until((tmp_path / "done").exists)


@pytest.fixture
async def stored(tmp_path: Path) -> AsyncIterator[tuple[LocalProcesses, StoredJobs]]:
    folder = str(tmp_path / "jobs")
    async with LocalProcesses(jobs_folder=folder) as processes:
        yield processes, StoredJobs(folder)


def pids_of(name: str, folder: Path) -> list[int]:
    return [found.pid for found in running_in(folder) if found.command == name]


async def test_a_kept_job_is_read_and_stopped_by_others(tmp_path: Path) -> None:
    folder = str(tmp_path / "jobs")
    async with LocalProcesses(jobs_folder=folder) as processes:
        job = await start(
            processes, tmp_path, "(echo one; until test -e go; do sleep 0.02; done; echo two; exec sleep 71) &"
        )
        assert [(settled.pgid, settled.is_kept) for settled in processes.settle(keep=True)] == [(job.pgid, True)]
        assert len(processes.settle(keep=False)) == 1
    (found,) = StoredJobs(folder).all()
    assert (found.pgid, found.is_running, found.is_kept, found.record.directory) == (
        job.pgid,
        True,
        True,
        str(tmp_path),
    )
    (tmp_path / "go").touch()
    await until(lambda: found.output(1000) == ("one\ntwo\n", ""))
    assert StoredJobs(folder).find(found.pids[0]) is not None
    assert found.stop()
    assert not pids_of("sleep 71", tmp_path)
    assert not found.is_running
    assert found.output(1000) == ("one\ntwo\n", "")


async def test_a_long_output_is_found_whole_at_its_ends_after_the_move(tmp_path: Path) -> None:
    folder = str(tmp_path / "jobs")
    async with LocalProcesses(jobs_folder=folder) as processes:
        text = (
            "head -c 20000000 /dev/zero | tr '\\0' x; echo begun; (until test -e go; do sleep 0.02; done; echo last) &"
        )
        await start(processes, tmp_path, text)
        processes.settle(keep=True)
    (found,) = StoredJobs(folder).all()
    (tmp_path / "go").touch()
    await until(lambda: not found.is_running)
    stdout = found.output(1000)[0]
    assert stdout.startswith("xxx")
    assert stdout.endswith("\nlast\n")
    assert "bytes left out" in stdout


async def test_a_job_that_is_not_kept_ends_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    async with LocalProcesses(jobs_folder=str(folder)) as processes:
        job = await start(processes, tmp_path, "sleep 73 &")
        assert StoredJobs(str(folder)).all()[0].is_running
        assert [settled.is_kept for settled in processes.settle()] == [False]
        assert job.pgid == processes.settled[0].pgid
    assert not pids_of("sleep 73", tmp_path)
    assert [*folder.iterdir()] == []


async def test_others_stop_a_job_of_a_living_session(stored: tuple[LocalProcesses, StoredJobs], tmp_path: Path) -> None:
    processes, jobs = stored
    job = await start(processes, tmp_path, "sleep 74 &")
    other = jobs.find(job.pgid)
    assert other is not None
    assert await to_thread.run_sync(other.stop)
    await until(lambda: not job.pids)
    assert processes.settle() == ()


async def test_a_job_kept_by_others_outlives_the_session(tmp_path: Path) -> None:
    jobs = StoredJobs(str(tmp_path / "jobs"))
    async with LocalProcesses(jobs_folder=str(tmp_path / "jobs")) as processes:
        await start(processes, tmp_path, "sleep 75 &")
        jobs.all()[0].keep()
        assert processes.settle()[0].is_kept
    assert pids_of("sleep 75", tmp_path)
    assert jobs.all()[0].stop()


async def test_a_job_is_found_by_others_though_it_was_asked_after_while_it_moved(
    stored: tuple[LocalProcesses, StoredJobs], tmp_path: Path
) -> None:
    processes, jobs = stored
    started: list[Job] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            for job in processes.jobs:
                job.refresh()

    async with anyio.create_task_group() as group:
        group.start_soon(to_thread.run_sync, ask)
        try:
            for _ in range(8):
                started.append(await start(processes, tmp_path, "sleep 71 &"))
        finally:
            over.set()
    assert {job.pgid for job in started} == {job.pgid for job in jobs.all()}


async def test_another_process_with_the_number_of_a_job_is_never_taken_for_it(tmp_path: Path) -> None:
    jobs = StoredJobs(str(tmp_path / "jobs"))
    bystander = await anyio.open_process(["sleep", "76"])
    record = JobRecord(1234, "npm run dev", "/", 0.0, bystander.pid, "another boot 17")
    job = jobs.finish(jobs.begin(), record)
    job.keep()
    assert not job.is_running
    assert job.pids == ()
    assert job.stop()
    assert bystander.returncode is None
    bystander.terminate()
    await bystander.wait()


@pytest.mark.skipif(not IS_LINUX, reason="elsewhere containers have machines, and numbers, of their own")
async def test_a_job_of_another_container_is_listed_and_left_until_it_says_that_it_ended(tmp_path: Path) -> None:
    jobs = StoredJobs(str(tmp_path / "jobs"))
    boot, _, ticks = birth_of(os.getpid()).split()
    jobs.finish(jobs.begin(), JobRecord(1234, "npm run dev", "/", 0.0, os.getpid(), f"{boot} pid:[1] {ticks}"))
    (job,) = jobs.all()
    assert (job.is_running, job.is_elsewhere, job.pids) == (True, True, ())
    (Path(job.folder) / ENDED).touch()
    assert not job.is_running
    assert jobs.all() == []


async def test_a_job_is_known_however_its_birth_was_written(tmp_path: Path) -> None:
    jobs = StoredJobs(str(tmp_path / "jobs"))
    began = f"{psutil.Process().create_time():.2f}"
    for birth in (birth_of(os.getpid()), began):
        job = jobs.finish(jobs.begin(), JobRecord(1234, "npm run dev", "/", 0.0, os.getpid(), birth))
        assert job.is_running
    assert not jobs.finish(jobs.begin(), JobRecord(1234, "x", "/", 0.0, os.getpid(), "1.00")).is_running


async def test_without_a_folder_a_job_is_ended_and_the_reason_told(tmp_path: Path) -> None:
    async with LocalProcesses() as processes:
        await start(processes, tmp_path, "sleep 77 &")
        (settled,) = processes.settle(keep=True)
    assert not settled.is_kept
    assert "ends with it" in settled.problem
    assert not pids_of("sleep 77", tmp_path)


async def test_a_job_is_watched_while_another_thread_ends_it(tmp_path: Path) -> None:
    near, far = packets.pair()
    line = SupervisorLine(Packets(near), {})
    job = Job(ShellCommand("true", str(tmp_path), {}), line, 0.0)
    word = {"status": None, "bytes": {"stdout": 0, "stderr": 0}}

    def talk() -> None:
        with far:  # a supervisor goes with its last word
            for count in range(1_000):  # as long as the number of processes says
                far.send(marshal.dumps(("status", {**word, "pids": list(range(count * 7 % 97))})))
            far.send(marshal.dumps(("ended", {**word, "pids": []})))

    def look() -> None:
        while job.is_running:
            job.hear()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for act in (talk, job.close, look):
                group.start_soon(to_thread.run_sync, act)
            group.start_soon(job.ended)
    assert job.pids == ()


async def test_who_waits_for_a_word_hears_nothing_of_what_another_thread_has_closed() -> None:
    near, far = packets.pair()
    line = SupervisorLine(Packets(near), {})
    with far:
        line.close()
        with anyio.fail_after(30):
            await line.wait_for_word()
