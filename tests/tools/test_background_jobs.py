import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dogu.contract.errors import ErrorKind
from dogu.testing.workspace import check_tool, run_tool
from dogu.tools.background_jobs import BackgroundJobs
from dogu.tools.stop_background_job import StopBackgroundJob
from dogu.workspace.process.command import ShellCommand
from dogu.workspace.process.local import LocalProcesses
from processes import running_in, shared_fork_server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="supervisors need Linux"),
]


@pytest.fixture
async def processes() -> AsyncIterator[LocalProcesses]:
    async with LocalProcesses(fork_server=shared_fork_server()) as processes:
        yield processes


def test_the_tools_keep_the_contract() -> None:
    check_tool(BackgroundJobs(LocalProcesses()))
    check_tool(StopBackgroundJob(LocalProcesses()))


async def test_a_job_is_listed_read_and_stopped(processes: LocalProcesses, tmp_path: Path) -> None:
    jobs, stop = BackgroundJobs(processes), StopBackgroundJob(processes)
    assert (await run_tool(jobs)).llm_content == "No background jobs."
    command = ShellCommand("echo on; sleep 95 &", str(tmp_path), {"PATH": os.environ["PATH"]})
    result = await processes.run(command)
    pid = result.background_pids[0]
    listed = str((await run_tool(jobs)).llm_content)
    assert listed.startswith(f"{result.pgid}: running, PIDs {pid}, started 0 s ago: echo on; sleep 95 &")
    read = str((await run_tool(jobs, pid=pid)).llm_content)
    assert read.endswith("\nStdout: on\n\nStderr: (empty)")
    assert str((await run_tool(jobs, pid=pid, only_new=True)).llm_content).endswith(
        "\nStdout: (empty)\nStderr: (empty)"
    )
    assert (await run_tool(stop, pid=result.pgid)).llm_content == f"Stopped job {result.pgid} (PIDs {pid})."
    assert pid not in {found.pid for found in running_in(tmp_path)}
    assert "ended" in str((await run_tool(jobs)).llm_content)
    assert (await run_tool(stop, pid=result.pgid)).llm_content == "It had ended by itself."


async def test_other_processes_are_not_jobs(processes: LocalProcesses) -> None:
    for tool in (BackgroundJobs(processes), StopBackgroundJob(processes)):
        result = await run_tool(tool, pid=os.getpid())
        assert result.error is not None
        assert result.error.kind is ErrorKind.NOT_FOUND
