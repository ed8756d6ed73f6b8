import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import pytest

from dogu.workspace.process.command import ShellCommand
from dogu.workspace.process.jobs import Job
from dogu.workspace.process.local import LocalProcesses

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
    assert not {str(pid) for pid in pids} & {*os.listdir("/proc")}


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
    async with LocalProcesses() as processes:
        job = await start(processes, tmp_path, "(until test -e go; do sleep 0.02; done; echo here; touch done) &")
        other = await start(processes, tmp_path, "sleep 72 &")
        pids, others = job.pids, other.pids
        job.keep()
        started = time.monotonic()
    assert time.monotonic() - started < 5
    assert {str(pid) for pid in pids} & {*os.listdir("/proc")}  # all but the sleep of that moment
    assert not {str(pid) for pid in others} & {*os.listdir("/proc")}
    (tmp_path / "go").touch()
    await until((tmp_path / "done").exists)
