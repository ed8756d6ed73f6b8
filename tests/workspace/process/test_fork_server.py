"""Launchers that are forked by a server of launchers: as apart from one another as those that are started alone."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import psutil
import pytest

from dogu.workspace.launcher import landlock
from dogu.workspace.process.command import ProcessResult, ShellCommand
from dogu.workspace.process.launch import ForkServer
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.system import IS_LINUX

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux") or not IS_LINUX, reason="only Linux forks launchers"),
]
PATH = os.environ.get("PATH", "/usr/bin:/bin")
SCOPED: dict[str, object] = {"is_scoped": True}


@pytest.fixture
def server() -> Iterator[ForkServer]:
    with ForkServer() as server:
        yield server


@pytest.fixture
async def processes(server: ForkServer) -> AsyncIterator[LocalProcesses]:
    async with LocalProcesses(fork_server=server) as processes:
        yield processes


async def run(processes: LocalProcesses, text: str, folder: Path, confinement: dict[str, object]) -> ProcessResult:
    return await processes.run(ShellCommand(text, str(folder), {"PATH": PATH}, confinement=confinement))


def children() -> list[psutil.Process]:
    return psutil.Process().children()


async def test_launchers_come_from_one_server_and_end_apart(server: ForkServer, tmp_path: Path) -> None:
    before = {child.pid for child in children()}
    for number in range(3):
        async with LocalProcesses(fork_server=server) as processes:
            assert (await run(processes, f"exit {number}", tmp_path, SCOPED)).exit_code == number
    (ours,) = [child for child in children() if child.pid not in before]
    assert [child for child in ours.children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE] == []
    server.close()
    assert not ours.is_running()


async def test_sessions_that_nothing_confines_share_a_launcher_and_end_their_own_jobs(
    server: ForkServer, processes: LocalProcesses, tmp_path: Path
) -> None:
    (theirs,) = (await run(processes, "sleep 60 & exit", tmp_path, {})).background_pids
    async with LocalProcesses(fork_server=server) as others:
        (ours,) = (await run(others, "sleep 60 & exit", tmp_path, {})).background_pids
        assert launcher_of(ours) == launcher_of(theirs)
    assert not psutil.pid_exists(ours)
    assert psutil.pid_exists(theirs)
    launcher = psutil.Process(launcher_of(theirs))
    launcher.kill()  # as a command of any of them may: the next one has another
    assert (await run(processes, "true", tmp_path, {})).exit_code == 0
    await processes.aclose()
    assert not psutil.pid_exists(theirs)


async def test_commands_that_wait_for_one_another_all_start(processes: LocalProcesses, tmp_path: Path) -> None:
    everyone = 30  # many more than start in the same moment
    text = f"touch $NUMBER; until [ $(ls | wc -l) = {everyone} ]; do sleep 0.05; done"
    codes: list[int | None] = []

    async def one(number: int) -> None:
        environment = {"PATH": PATH, "NUMBER": str(number)}
        codes.append((await processes.run(ShellCommand(text, str(tmp_path), environment))).exit_code)

    async with anyio.create_task_group() as group:
        for number in range(everyone):
            group.start_soon(one, number)
    assert codes == [0] * everyone


def launcher_of(pid: int) -> int:
    return next(each.pid for each in psutil.Process(pid).parents() if each.name() == "dogu-launcher")


@pytest.mark.skipif(landlock.abi() < 6, reason="signals are scoped from Landlock's ABI 6 on")
async def test_commands_of_one_launcher_cannot_signal_those_of_another(
    server: ForkServer, processes: LocalProcesses, tmp_path: Path
) -> None:
    (background,) = (await run(processes, "sleep 60 & exit", tmp_path, SCOPED)).background_pids
    kill = f"kill -9 {background}"
    async with LocalProcesses(fork_server=server) as others:
        assert "Operation not permitted" in (await run(others, kill, tmp_path, SCOPED)).stderr
    assert (await run(processes, kill, tmp_path, SCOPED)).exit_code == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_server_that_is_lost_or_stopped_costs_no_command(
    server: ForkServer, processes: LocalProcesses, tmp_path: Path, number: signal.Signals
) -> None:
    before = {child.pid for child in children()}
    assert (await run(processes, "true", tmp_path, {})).exit_code == 0
    (ours,) = [child for child in children() if child.pid not in before]
    ours.send_signal(number)
    with anyio.fail_after(30):
        while ours.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_STOPPED):  # noqa: ASYNC110  (no event tells)
            await anyio.sleep(0.01)
    for _ in range(2):  # the first in its stead, the second by another; the launcher that it had made lives on
        async with LocalProcesses(fork_server=server) as others:
            for each in (processes, others):
                assert (await run(each, "true", tmp_path, {})).exit_code == 0
