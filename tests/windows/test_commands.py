"""Commands on Windows, run by Windows' own Python (`make windows`): cmd.exe, job objects, code pages, batch files."""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from dogu.contract.errors import ToolError
from dogu.workspace.environment import command_environment
from dogu.workspace.process.command import ProcessResult, ShellCommand, Until
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.process.starting import launcher, talked_to
from dogu.workspace.process.stored_jobs import StoredJobs
from dogu.workspace.process.talked_to import Start

if sys.platform == "win32":
    from dogu.workspace.process.windows import command_line

pytestmark = [
    pytest.mark.skipif(sys.platform != "win32", reason="Windows' own Python runs these"),
    pytest.mark.anyio,
]
PYTHON = f'"{sys.executable}"'
WAITS = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(60)"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def environment() -> dict[str, str]:
    import os

    return command_environment(os.environ)


async def run(text: str, folder: Path, **bounds: object) -> ProcessResult:
    async with LocalProcesses() as processes:
        with anyio.fail_after(60):
            return await processes.run(ShellCommand(text, str(folder), environment(), **bounds))  # pyright: ignore[reportArgumentType]  (bounds by name)


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not await to_thread.run_sync(is_so):
            pass


@pytest.mark.requirement("shell.windows")
async def test_a_command_is_run_by_cmd_with_its_text_unchanged(tmp_path: Path) -> None:
    result = await run('echo "a  b" ^& c& echo err>&2& cd& exit /b 3', tmp_path)
    assert result.stdout.splitlines()[0].rstrip() == '"a  b" & c'
    assert result.stdout.splitlines()[1].replace("\\", "/").lower() == str(tmp_path).replace("\\", "/").lower()
    assert result.stderr.strip() == "err"
    assert (result.exit_code, result.signal, result.error) == (3, None, "")


async def test_a_program_finds_its_words_and_an_end_of_input(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text("import sys; print(sys.argv[1:], repr(sys.stdin.read()))")
    result = await run(f'{PYTHON} words.py "a b" c^&d "say \\"hi\\""', tmp_path)
    assert result.stdout.strip() == "['a b', 'c&d', 'say \"hi\"'] ''"
    assert (await run(f'{PYTHON} -c "import sys; sys.exit(258)"', tmp_path)).exit_code == 258
    assert "nosuch" in (await run("nosuch-program", tmp_path)).stderr


async def test_several_lines_are_refused_because_cmd_would_read_the_first_alone(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="one line"):
        await run("echo a\necho b", tmp_path)
    assert (await run("echo a\r\n", tmp_path)).stdout.strip() == "a"


async def test_output_is_read_in_the_consoles_code_page(tmp_path: Path) -> None:
    for page, text in (
        ("932", "日本語テスト"),
        ("949", "한국어"),
        ("936", "简体中文"),
        ("950", "繁體中文"),
        ("65001", "é日"),
    ):
        encoding = "utf-8" if page == "65001" else f"cp{page}"
        (tmp_path / "said.py").write_text(f"import sys; sys.stdout.buffer.write({text.encode(encoding)!r})")
        result = await run(f"chcp {page} >nul & {PYTHON} said.py", tmp_path)
        assert result.stdout == text


async def test_a_flood_is_bounded_and_binary_output_is_described(tmp_path: Path) -> None:
    (tmp_path / "flood.py").write_text(
        "import sys\nfor n in range(600): sys.stdout.write(''.join(f'{n}{m:03} ' + 'x' * 50 + chr(10) for m in range(1000)))"
    )
    result = await run(f"{PYTHON} flood.py", tmp_path)
    assert result.truncated
    assert result.output_bytes > 16 * 1024 * 1024
    assert result.stdout.startswith("0000 xxx")
    assert result.stdout.rstrip().splitlines()[-1].startswith("599999 ")
    (tmp_path / "zeros.py").write_text("import sys; sys.stdout.buffer.write(bytes(1000))")
    assert "1000 bytes, not shown" in (await run(f"{PYTHON} zeros.py", tmp_path)).stdout


async def test_out_of_time_everything_it_started_is_ended(tmp_path: Path) -> None:
    (tmp_path / "tree.py").write_text(
        "import subprocess, sys, time\n"
        "for name in ('a', 'b'):\n"
        f"    subprocess.Popen([sys.executable, '-c', {WAITS!r}, name], creationflags=0x8 | 0x200)\n"
        "time.sleep(60)\n"
    )
    began = time.monotonic()
    async with LocalProcesses() as processes:
        result = await processes.run(ShellCommand(f"{PYTHON} tree.py", str(tmp_path), environment(), timeout_s=4))
        assert result.timed_out
        assert result.background_pids == ()
        assert processes.jobs == ()
    assert time.monotonic() - began < 20


async def test_what_start_leaves_is_a_job_that_can_be_read_and_ends_with_the_session(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text("import time; print('ready', flush=True); time.sleep(60)")
    async with LocalProcesses() as processes:
        result = await processes.run(ShellCommand(f'start "" /b {PYTHON} waits.py', str(tmp_path), environment()))
        assert result.exit_code == 0
        assert len(result.background_pids) == 1
        job = processes.job(result.background_pids[0])
        assert job is not None
        await until(lambda: "ready" in job.output(1000)[0])
        assert job.pids == result.background_pids
    assert job.pids == ()


async def test_a_command_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    async with LocalProcesses() as processes, anyio.create_task_group() as group:
        command = ShellCommand(f"{PYTHON} waits.py here", str(tmp_path), environment())
        group.start_soon(processes.run, command)
        await until((tmp_path / "here").exists)
        group.cancel_scope.cancel()
    (tmp_path / "here").unlink()  # which no process has open any more


async def test_waiting_ends_when_the_output_matches_and_the_command_goes_on(tmp_path: Path) -> None:
    (tmp_path / "serves.py").write_text("import time; print('listening on 1', flush=True); time.sleep(60)")
    async with LocalProcesses() as processes:
        text = f"{PYTHON} serves.py"
        result = await processes.run(
            ShellCommand(text, str(tmp_path), environment(), until=Until("listening", None, 20))
        )
        assert result.moved == "matched"
        assert len(result.background_pids) == 2


async def test_a_kept_job_outlives_the_session_and_can_be_stopped(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text("import time; print('ready', flush=True); time.sleep(60)")
    folder = str(tmp_path / "jobs")
    async with LocalProcesses(jobs_folder=folder) as processes:
        await processes.run(ShellCommand(f'start "" /b {PYTHON} waits.py', str(tmp_path), environment()))
        assert [each.is_kept for each in processes.settle(keep=True)] == [True]
    [job] = StoredJobs(folder).all()
    assert job.is_running
    await until(lambda: "ready" in job.output(1000)[0])
    assert job.stop()
    assert not job.is_running


async def test_a_program_is_talked_to_over_its_streams(tmp_path: Path) -> None:
    code = "import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)"
    start = Start((sys.executable, "-c", code), environment(), str(tmp_path))
    launch = launcher()
    with anyio.fail_after(30):
        async with talked_to(launch, start) as program:
            for word in (b"one", b"two"):
                await program.send(word + b"\n")
                line = b""
                while not line.endswith(b"\n"):  # which may come in pieces
                    line += await program.receive("stdout")
                assert line.strip() == word.upper()
    launch.close()
    with pytest.raises(OSError, match="nosuch"):
        async with talked_to(launch, Start(("nosuch-server",), environment(), str(tmp_path))):
            pass


async def test_a_batch_file_gets_words_and_never_commands(tmp_path: Path) -> None:
    (tmp_path / "say.cmd").write_text("@echo off\r\necho [%1] [%2]\r\n")
    async with LocalProcesses() as processes:
        argv = (str(tmp_path / "say.cmd"), "a & echo x", "b|c")
        result = await processes.run(ShellCommand("", str(tmp_path), environment(), argv=argv))
        assert result.stdout.split() == '["a & echo x"] ["b|c"]'.split()
        with pytest.raises(ToolError, match="batch file"):
            await processes.run(ShellCommand("", str(tmp_path), environment(), argv=(argv[0], '" & echo x')))


async def test_a_shell_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="Git Bash"):
        await run("echo x", tmp_path, shell="bash")


TEXTS = [
    "ls",
    "ls *.txt",
    "./run*",
    "@file",
    "echo$IFS'a b'",
    'echo "a  b" \'c d\' \\"e\\"',
    'printf "%s\\n" "C:\\a b\\\\"',
    "echo a \\",
    "x\\\\",
    '"',
    '\\"',
    "if true; then\n  echo 道具 é 🎉\nfi",
    "echo %PATH% !X! ^& | & && ( ) < >",
    "$x = @{ a = 'b' }; \"$($x.a)\" | % { $_ }",
]


def read_by_windows(line: str) -> list[str]:
    """Split a command line as Windows gives it to its programs."""
    if sys.platform != "win32":
        return []
    import ctypes

    shell32 = ctypes.WinDLL("shell32")
    shell32.CommandLineToArgvW.restype = ctypes.POINTER(ctypes.c_wchar_p)
    count = ctypes.c_int()
    words = shell32.CommandLineToArgvW(ctypes.c_wchar_p(line), ctypes.byref(count))
    return [words[index] for index in range(count.value)]


@pytest.mark.parametrize("text", TEXTS)
async def test_git_bash_and_powershell_are_given_the_text_unchanged(tmp_path: Path, text: str) -> None:
    """The programs aren't there under Wine: what stands on their command lines is read back as Windows reads it."""
    if sys.platform != "win32":
        return
    bash = tmp_path / "Git" / "bin" / "bash.exe"
    bash.parent.mkdir(parents=True)
    bash.touch()
    (tmp_path / "pwsh.exe").touch()
    places = {**environment(), "PROGRAMFILES": str(tmp_path), "PATH": str(tmp_path)}
    program, line = command_line(ShellCommand(text, str(tmp_path), places, shell="bash"))
    assert program is not None
    assert Path(program) == bash
    assert read_by_windows(line) == [program, "-c", text]
    assert line.endswith('"')
    program, line = command_line(ShellCommand(text, str(tmp_path), places, shell="powershell"))
    assert program is not None
    assert Path(program) == tmp_path / "pwsh.exe"
    words = read_by_windows(line)
    assert words[:-1] == [
        program,
        "-NoLogo",
        "-NoProfile",
        "-NonInteractive",
        "-OutputFormat",
        "Text",
        "-EncodedCommand",
    ]
    assert base64.b64decode(words[-1]).decode("utf-16-le") == text
