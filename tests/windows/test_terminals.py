"""Commands in a pseudo-console on Windows, run by Windows' own Python (`make windows`): typed into, looked at, ended.

The programs open `CONIN$` and `CONOUT$` themselves: Wine 8 gives a program in a pseudo-console no standard streams,
which the test that fails there shows.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from dogu.workspace.environment import command_environment
from dogu.workspace.process.command import ProcessResult, ShellCommand, Until
from dogu.workspace.process.local import LocalProcesses
from e2e.documented import open_documented

pytestmark = [
    pytest.mark.skipif(sys.platform != "win32", reason="Windows' own Python runs these"),
    pytest.mark.anyio,
]
PYTHON = f'"{sys.executable}"'
OPENED = 'shown = open("CONOUT$", "w", encoding="utf-8"); keys = open("CONIN$")\n'
TALKS = OPENED + (
    'print("name?", end=" ", file=shown, flush=True)\n'
    'print("hello", keys.readline().strip(), file=shown, flush=True)\n'
    'keys.readline(); print("100%\\rX", file=shown, flush=True); raise SystemExit(7)\n'
)


@asynccontextmanager
async def begun(folder: Path, program: str, until: Until) -> AsyncGenerator[tuple[LocalProcesses, ProcessResult]]:
    (folder / "program.py").write_text(program, "utf-8")
    environment = command_environment(os.environ)
    command = ShellCommand(f"{PYTHON} program.py", str(folder), environment, has_terminal=True, until=until)
    async with LocalProcesses() as processes:
        with anyio.fail_after(60):
            yield processes, await processes.run(command)


async def test_a_command_asks_is_answered_and_ends(tmp_path: Path) -> None:
    async with begun(tmp_path, TALKS, Until("name", None, 30)) as (processes, result):
        assert (result.moved, result.stdout) == ("matched", "name?")
        job = processes.job(result.pgid)
        assert job is not None
        assert await job.wait(Until("hello", None, 20), typed="Ann\r") == "matched"
        assert job.output(1000)[0].splitlines() == ["name? Ann", "hello Ann"]
        assert await job.wait(Until("", None, 20), typed="\r") == "ended"
        assert job.output(1000)[0].splitlines()[-1] == "X00%"
        assert (job.pids, job.ending) == ((), "exit code 7")


async def test_one_that_waits_for_ever_is_ended_with_all_it_started(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys, time\n" + OPENED + "subprocess.Popen([sys.executable, '-c', 'import time; "
        "time.sleep(60)'])\nprint('waits', file=shown, flush=True)\ntime.sleep(60)\n"
    )
    async with begun(tmp_path, program, Until("waits", None, 30)) as (processes, result):
        assert len(result.background_pids) == 3  # cmd.exe, Python, what that started
        job = processes.job(result.pgid)
        assert job is not None
        await job.stop()
        assert (job.is_running, job.pids) == (False, ())


async def test_what_is_typed_is_read_in_every_alphabet(tmp_path: Path) -> None:
    program = OPENED + "print(ascii(keys.readline().strip()), file=shown, flush=True)\n"
    async with begun(tmp_path, program, Until("", 1, 30)) as (processes, result):
        job = processes.job(result.pgid)
        assert job is not None
        assert await job.wait(Until("", None, 20), typed="é日本 ab\r") == "ended"
        assert r"'\xe9\u65e5\u672c ab'" in job.output(1000)[0]


async def test_the_tools_start_type_and_look(tmp_path: Path) -> None:
    async with open_documented(tmp_path, files={"talks.py": TALKS}) as tools:
        command = f"{PYTHON} talks.py"
        told = await tools.text("run_shell_command", command=command, pty=True, wait_for="name")
        pid = re.search(r"PGID: (\d+)", told)
        assert pid is not None
        assert "hello Bea" in await tools.text("send_input", pid=int(pid[1]), text="Bea\n", wait_for="hello")
        assert "ended, exit code 7" in await tools.text("send_input", pid=int(pid[1]), keys=["enter"])
        kind, message = await tools.error("run_shell_command", command=r'"C:\Program Files\Vim\vim.exe" a.txt')
        assert kind == "invalid_arguments"
        assert "vim needs a terminal" in message


@pytest.mark.xfail(
    "WINEPREFIX" in os.environ, strict=True, reason="Wine 8 gives programs in a pseudo-console no standard streams"
)
async def test_the_terminal_is_the_commands_standard_streams(tmp_path: Path) -> None:
    program = "print('name?', input())\n"
    async with begun(tmp_path, program, Until("", 1, 30)) as (processes, result):
        job = processes.job(result.pgid)
        assert job is not None
        assert await job.wait(Until("", None, 20), typed="Ann\r") == "ended"
        assert "name? Ann" in job.output(1000)[0]
