"""The shell rows of the fault matrix, and what processes do to get away."""

import errno
import marshal
import os
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path

import anyio
import psutil
import pytest

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.launcher.packets import Packets, pair
from dogu.workspace.os_errors import limit_words
from dogu.workspace.process import supervisor_line
from dogu.workspace.process.command import ProcessResult, ShellCommand
from dogu.workspace.process.launch import ForkServer
from dogu.workspace.process.local import KEPT_BYTES, LocalProcesses
from dogu.workspace.process.starting import launcher, talked_to
from dogu.workspace.process.talked_to import Start, TalkedTo
from dogu.workspace.system import IS_LINUX
from processes import is_alive, running_in, shared_fork_server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="supervisors need Linux"),
]
with_subreaper = pytest.mark.skipif(not IS_LINUX, reason="what clears its environment and leaves its session is lost")
on_linux = pytest.mark.skipif(not IS_LINUX, reason="a supervisor for each command")

PATH = os.environ.get("PATH", "/usr/bin:/bin")


class Runner:
    """Runs commands in a folder of the test's own."""

    def __init__(self, processes: LocalProcesses, folder: Path) -> None:
        self.processes = processes
        self.folder = folder
        self.live: list[str] = []

    async def __call__(self, text: str, **options: object) -> ProcessResult:
        command = ShellCommand(text, str(self.folder), {"PATH": PATH}, **options)  # pyright: ignore[reportArgumentType]  (options by name)
        return await self.processes.run(command, self.live.append)

    async def cancelled_when(self, text: str, is_ready: Callable[[], bool]) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self, text)
            await until(is_ready)
            group.cancel_scope.cancel()


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Runner]:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "session").mkdir()
    async with LocalProcesses(output_folder=str(tmp_path / "session")) as processes:
        yield Runner(processes, folder)


@pytest.fixture
def waits_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor that doesn't answer is waited for as long as there is time for it to be scheduled, not eight seconds."""
    monkeypatch.setattr(supervisor_line, "_UNANSWERED_WHEN_DUE_S", 2.0)


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110  (another process's doing has no event here)
            await anyio.sleep(0.01)


def pids_in(path: Path) -> list[int]:
    return [int(word) for word in path.read_text().split()] if path.exists() else []


async def test_streams_exit_code_and_group_are_told(run: Runner) -> None:
    result = await run("echo out; echo err >&2; echo $$; exit 3")
    assert result.stdout == f"out\n{result.pgid}\n"
    assert result.stderr == "err\n"
    assert (result.exit_code, result.signal, result.error, result.background_pids) == (3, None, "", ())
    assert result.output_bytes == len(result.stdout) + 4


async def test_the_command_reaches_bash_unchanged(run: Runner) -> None:
    assert (await run("echo a # b")).stdout == "a\n"
    assert (await run("cat <<'X'\n$HOME `x` \\\nX")).stdout == "$HOME `x` \\\n"
    assert (await run("echo a \\\n b")).stdout == "a b\n"
    assert "syntax error" in (await run("echo (")).stderr
    assert (await run("echo $BASH_EXECUTION_STRING")).stdout == "echo $BASH_EXECUTION_STRING\n"


async def test_nothing_but_the_given_environment_is_seen(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "leak")
    result = await run("env; tr '\\0' '\\n' < /proc/$PPID/environ")
    names = {line.partition("=")[0] for line in result.stdout.splitlines()}
    assert names <= {
        "PATH",
        "PWD",
        "SHLVL",
        "_",
        "LD_LIBRARY_PATH",
        *(() if IS_LINUX else ("DOGU_COMMAND", "DOGU_PLATFORM")),
    }


@pytest.mark.parametrize(
    ("text", "exit_code", "number"),
    [
        ("kill -SEGV $$", None, 11),
        ("kill -9 $$", None, 9),
        ("kill $$", None, 15),
        ("exit 255", 255, None),
        ("exit 300", 44, None),
        ("no_such_program_here", 127, None),
        ("touch f; ./f", 126, None),
        ("yes | head -1", 0, None),
        ("kill -PIPE $$", None, 13),
    ],
)
async def test_signals_and_exit_codes_are_exact(
    run: Runner, text: str, exit_code: int | None, number: int | None
) -> None:
    result = await run(text)
    assert (result.exit_code, result.signal) == (exit_code, number)


async def test_a_flood_is_ended_at_the_limit_in_bounded_memory(run: Runner) -> None:
    await run("true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await run("echo first; yes", timeout_s=0.7)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000
    assert result.timed_out
    assert result.truncated
    assert "Timed out after 0.7 s" in result.error
    assert result.output_bytes > 10_000_000
    assert result.stdout.startswith("first\ny\n")
    assert result.stdout.endswith("y\n")
    assert "bytes left out" in result.stdout
    assert len(result.stdout) < KEPT_BYTES + 500


async def test_a_flood_is_reported_at_most_ten_times_a_second(run: Runner) -> None:
    started = time.monotonic()
    await run("yes", timeout_s=0.5)
    assert 1 <= len(run.live) <= (time.monotonic() - started) * 10 + 2
    assert max(map(len, run.live)) < 300_000


async def test_gigabytes_keep_their_count_and_a_record(run: Runner) -> None:
    result = await run("head -c 40000000 /dev/zero | tr '\\0' x; echo; echo end")
    assert (result.exit_code, result.output_bytes) == (0, 40_000_005)
    assert result.stdout.endswith("\nend\n")
    record = Path(result.output_files["stdout"])
    assert record.name in result.stdout
    assert 0 <= len(record.read_bytes()) - 16 * 1024 * 1024 < 200  # noqa: ASYNC240  (a test may wait for a disk)


async def test_binary_output_is_described(run: Runner) -> None:
    result = await run("head -c 3000000 /dev/zero")
    assert result.stdout.startswith("[binary output, 3000000 bytes, not shown")


async def test_a_program_that_ignores_sigterm_is_killed(run: Runner) -> None:
    result = await run("trap '' TERM; echo on; sleep 61", timeout_s=0.3)
    assert (result.stdout, result.signal, result.timed_out) == ("on\n", 9, True)


async def test_a_program_may_clean_up_on_sigterm(run: Runner) -> None:
    result = await run("trap 'echo cleaned; exit 5' TERM; echo on; sleep 61 & wait", timeout_s=0.3)
    assert (result.stdout, result.exit_code, result.timed_out) == ("on\ncleaned\n", 5, True)


async def test_a_closed_stdout_is_not_the_end(run: Runner) -> None:
    result = await run("exec >&- 2>&-; sleep 0.5; exit 7")
    assert result.exit_code == 7
    assert result.duration_s >= 0.5


async def test_silence_ends_a_command_and_output_does_not(run: Runner) -> None:
    result = await run("for i in 1 2 3 4; do echo $i; sleep 0.4; done", idle_timeout_s=1.4)
    assert (result.exit_code, result.stdout) == (0, "1\n2\n3\n4\n")
    result = await run("echo on; sleep 61", idle_timeout_s=0.2)
    assert (result.stdout, result.timed_out) == ("on\n", True)
    assert "Printed nothing for 0.2 s" in result.error


@pytest.mark.parametrize(
    "text",
    [
        "sleep 62 & echo started",
        "(sleep 62 &) ; echo started",
        "setsid sleep 62 & echo started",
        "nohup sleep 62 & echo started",
        "sleep 62 & disown; echo started",
        "(setsid bash -c 'sleep 62 & exit' &); echo started",
        pytest.param(
            "(env -i setsid bash -c '(exec sleep 62 <&- >&- 2>&-) & exit' &); echo started", marks=with_subreaper
        ),
    ],
)
async def test_background_processes_outlive_the_command_and_end_with_the_session(run: Runner, text: str) -> None:
    result = await run(text)
    assert result.stdout == "started\n"
    assert result.duration_s < 5
    assert result.background_pids
    assert all(map(is_alive, result.background_pids))
    await run.processes.aclose()
    assert not any(map(is_alive, result.background_pids))


async def test_late_output_is_caught_or_its_process_reported(run: Runner) -> None:
    result = await run("(sleep 0.05; echo late) & echo early")
    assert result.stdout.startswith("early\n")
    assert "late\n" in result.stdout or result.background_pids


@pytest.mark.parametrize(
    "escape",
    [
        "setsid sleep {mark} & sleep {mark}",
        "trap '' TERM HUP INT; sleep {mark} & sleep {mark}",
        "(setsid nohup bash -c 'trap \"\" TERM; sleep {mark}; :' > /dev/null 2>&1 &) ; sleep {mark}",
        pytest.param(
            "env -i {python} -c 'import os\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
            'os.execv("/bin/sleep", ["sleep", "{mark}"])\'; sleep {mark}',
            marks=with_subreaper,
        ),
        "setsid bash -c 'kill -STOP $$; sleep {mark}' & sleep {mark}",
    ],
)
async def test_a_cancelled_command_leaves_nothing(run: Runner, escape: str) -> None:
    text = escape.replace("{mark}", "6666").replace("{python}", sys.executable)
    await run.cancelled_when(text, lambda: sum("6666" in found.command for found in running_in(run.folder)) >= 2)
    assert running_in(run.folder) == []
    assert os.listdir(run.folder) == []


FORKS_WHILE_DYING = """
import os, signal, time
def child(depth):
    if os.fork() == 0:
        os.setsid()
        live(depth)
def die(*_):
    for _ in range(2):
        child(DEPTH + 1)
    time.sleep(0.05)
    os._exit(0)
def live(depth):
    global DEPTH
    DEPTH = depth
    if depth < 4:
        signal.signal(signal.SIGTERM, die)
    else:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open("pids", "a") as file:
        file.write(f"{os.getpid()} ")
    while True:
        time.sleep(63)
for _ in range(3):
    child(0)
live(9)
"""


async def test_programs_that_fork_while_dying_are_all_ended(run: Runner) -> None:
    (run.folder / "hydra.py").write_text(FORKS_WHILE_DYING)
    pids = run.folder / "pids"
    await run.cancelled_when(f"{sys.executable} hydra.py", lambda: len(pids_in(pids)) == 4)
    everyone = pids_in(pids)
    assert len(everyone) > 10
    assert not any(map(is_alive, everyone))


async def test_a_flood_of_processes_is_ended(run: Runner) -> None:
    result = await run("for i in $(seq 60); do sleep 64 & done; sleep 64", max_processes=40)
    assert "more than 40 processes" in result.error
    assert result.background_pids == ()


async def test_programs_that_read_get_the_end_of_input_and_no_terminal(run: Runner) -> None:
    assert (await run("cat; read x; echo $?")).stdout == "1\n"
    result = await run("read x < /dev/tty; tty; ps -o tty= -p $$ || echo ?")
    assert "/dev/tty" in result.stderr
    assert "not a tty" in result.stdout


async def test_standard_input_can_be_given(run: Runner) -> None:
    assert (await run("cat", stdin=b"x" * 200_000)).stdout == "x" * 200_000


async def test_arguments_run_without_a_shell(run: Runner) -> None:
    assert (await run("", argv=("printf", "%s|", "$HOME", "a b"))).stdout == "$HOME|a b|"
    with pytest.raises(ToolError, match=r"could not start.*No such file"):
        await run("", argv=("no_such_program_here",))


async def test_a_character_split_between_writes_arrives_whole(run: Runner) -> None:
    result = await run(r"printf '\xe6\x97'; sleep 0.3; printf '\xa5\n'")
    assert result.stdout == "日\n"
    assert "".join(run.live) == "日\n"


async def test_escape_sequences_reach_neither_model_nor_user(run: Runner) -> None:
    result = await run(r"printf '\e]52;c;ZXZpbA==\a\e]0;t\e\\\e]8;;http://x\e\\l\eP1$r\e\\\e_a\e\\\xc2\x9b31mok\n'")
    assert result.stdout == "lok\n"
    assert "".join(run.live) == "lok\n"


async def test_a_stopped_command_still_hears_the_limit(run: Runner) -> None:
    result = await run("kill -STOP $$", timeout_s=0.2)
    assert result.timed_out
    assert result.signal == signal.SIGTERM


@pytest.mark.parametrize(
    "stopping",
    [
        "kill -STOP $PPID",
        "kill -TSTP $PPID; kill -TTIN $PPID; kill -TTOU $PPID",
        "kill -STOP $PPID $LAUNCHER",
        "while kill -STOP $LAUNCHER $PPID; do :; done",
        "setsid bash -c 'while kill -STOP {supervisor}; do :; done' & sleep 67",
    ],
)
async def test_a_command_cannot_stop_what_watches_over_it(run: Runner, waits_less: None, stopping: str) -> None:
    text = stopping.replace("{supervisor}", "'$PPID'")
    result = await run(f"LAUNCHER=$(ps -o ppid= -p $PPID); {text}; sleep 67", timeout_s=0.5)
    assert result.timed_out
    assert running_in(run.folder) == []


async def test_a_command_that_ends_its_supervisor_and_keeps_stopping_the_launcher_is_ended(run: Runner) -> None:
    text = "LAUNCHER=$(ps -o ppid= -p $PPID); kill -KILL $PPID; while kill -STOP $LAUNCHER; do :; done"
    assert (await run(text)).exit_code is None
    assert running_in(run.folder) == []


async def test_with_a_supervisor_no_command_ends_but_its_own(run: Runner) -> None:
    ended: list[str] = []

    async def begin(text: str) -> None:
        ended.append((await run(text)).stdout)

    wait = "touch {0}; until [ -e {0}-on ]; do sleep 0.02; done; "
    async with anyio.create_task_group() as group:
        group.start_soon(begin, wait.format("first") + "kill -KILL $PPID; sleep 67")
        await until((run.folder / "first").exists)
        group.start_soon(begin, wait.format("second") + "echo done")
        await until((run.folder / "second").exists)
        (run.folder / "first-on").touch()
        await until(lambda: len(ended) == 1)
        (run.folder / "second-on").touch()
    assert ended == ["", "done\n"]


HOLDS = """
import ctypes, os, time
ATTACH, SUPERVISOR = 16, os.getppid()
print(ctypes.CDLL(None).ptrace(ATTACH, SUPERVISOR, 0, 0), flush=True)
time.sleep(68)
"""


@with_subreaper
async def test_a_supervisor_that_does_not_answer_is_ended_with_its_command(run: Runner, waits_less: None) -> None:
    (run.folder / "holds.py").write_text(HOLDS)
    result = await run(f"exec {sys.executable} holds.py", timeout_s=0.5)
    if result.stdout == "0\n":  # else the system lets nobody be traced by what they started
        assert result.timed_out
    assert running_in(run.folder) == []
    assert (await run("echo next")).stdout == "next\n"


@with_subreaper
async def test_a_command_that_kills_all_that_watches_over_it_leaves_nothing(run: Runner) -> None:
    result = await run("kill -9 $(ps -o ppid= -p $PPID) $PPID; sleep 69")
    assert "watched over it was killed" in result.error
    assert running_in(run.folder) == []
    assert (await run("echo next")).stdout == "next\n"


async def test_a_memory_hog_fails_alone(run: Runner) -> None:
    result = await run(f"{sys.executable} -c 'x = bytearray(1 << 40)'", max_memory_bytes=1 << 33)
    assert result.exit_code == 1
    assert "MemoryError" in result.stderr


def own_children() -> set[str]:
    return {str(child.pid) for child in psutil.Process().children()}


@pytest.mark.skipif(not IS_LINUX, reason="a child that ends as it is looked at may count as a job")
async def test_many_short_children_and_zombies_leave_no_trace(run: Runner) -> None:
    await run("true")
    before, children = (
        len(os.listdir("/proc/self/fd")),
        own_children(),
    )  # an earlier test's launcher may still be leaving
    result = await run("for i in $(seq 300); do /bin/true & done; wait; (for i in $(seq 20); do /bin/true & done) &")
    assert result.exit_code == 0
    for _ in range(5):
        await run("true")
    assert len(os.listdir("/proc/self/fd")) <= before
    assert own_children() <= children


@pytest.mark.parametrize(("text", "name"), [("echo " + "x" * 9_000_000, "A"), ("echo", "x" * 3_000_000)])
async def test_what_is_too_long_for_the_system_is_a_clear_error(run: Runner, text: str, name: str) -> None:
    command = ShellCommand(text, str(run.folder), {"PATH": PATH, name: "1"})
    with pytest.raises(ToolError, match="write it to a file") as caught:
        await run.processes.run(command)
    assert caught.value.kind is ErrorKind.START_FAILED


async def test_a_launcher_that_can_t_be_started_is_a_clear_error_in_time_and_ahead_of_it(
    run: Runner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "executable", str(run.folder / "gone"))
    for starting in (lambda: run("true"), lambda: anyio.to_thread.run_sync(run.processes.prepare)):
        with pytest.raises(ToolError, match="could not start: No such file") as caught:
            await starting()
        assert caught.value.kind is ErrorKind.START_FAILED


async def test_an_environment_no_program_can_have_is_a_clear_error(run: Runner) -> None:
    with pytest.raises(ToolError, match="could not be started"):
        await run.processes.run(ShellCommand("true", str(run.folder), {"A=B": "x"}))


@pytest.mark.parametrize("text", ["echo a\0b", "echo \ud800"])
async def test_what_no_command_line_can_hold_is_refused(run: Runner, text: str) -> None:
    with pytest.raises(ToolError) as caught:
        await run(text)
    assert caught.value.kind is ErrorKind.INVALID_ARGUMENTS


async def test_a_deleted_directory_is_a_clear_error(run: Runner) -> None:
    descriptor = os.open(run.folder, os.O_RDONLY)
    try:
        run.folder.rmdir()
        with pytest.raises(ToolError, match="directory is gone"):
            await run.processes.run(ShellCommand("echo x", descriptor, {"PATH": PATH}))
        with pytest.raises(ToolError) as caught:
            await run("echo x")
        assert caught.value.kind is ErrorKind.NOT_FOUND
    finally:
        os.close(descriptor)


async def test_a_directory_deleted_by_the_command_is_no_harm(run: Runner) -> None:
    assert (await run("mkdir d; cd d; rmdir $PWD; echo $?")).stdout == "0\n"


async def test_a_thousand_calls_at_once_are_bounded(run: Runner) -> None:
    before = most = psutil.Process().num_fds()  # what earlier tests left open, too
    results: list[ProcessResult] = []

    async def one() -> None:
        nonlocal most
        results.append(await run("echo x"))
        most = max(most, psutil.Process().num_fds())

    async with anyio.create_task_group() as group:
        for _ in range(300):
            group.start_soon(one)
    assert {(result.exit_code, result.stdout) for result in results} == {(0, "x\n")}
    assert most - before < 150


async def test_a_command_that_kills_its_supervisor_ends_too(run: Runner) -> None:
    result = await run("setsid sleep 65 & echo $! > pid; echo on; sleep 0.1; kill -9 $PPID; sleep 65")
    assert "was killed" in result.error
    assert result.stdout == "on\n"
    sleeper = pids_in(run.folder / "pid")[0]
    await until(lambda: not is_alive(sleeper))


def test_a_process_that_a_limit_forbids_is_told_as_that() -> None:
    assert "ulimit -u" in limit_words(BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)))


@on_linux
async def test_a_supervisor_keeps_one_command_after_the_other_and_nothing_of_them(run: Runner) -> None:
    held: dict[str, set[str]] = {}
    seen: list[str] = []
    # The fewest of some looks: while the command begins, its supervisor is still closing what only the command needs.
    look = "for _ in 1 2 3 4 5 6 7 8 9; do ls /proc/$PPID/fd | wc -l; done | sort -n | head -n 1"
    with anyio.fail_after(30):
        while all(seen.count(supervisor) < 3 for supervisor in seen):
            supervisor, opened = (await run(f"echo $PPID; {look}; echo >&2")).stdout.split()
            held.setdefault(supervisor, set()).add(opened)
            seen.append(supervisor)
    assert {len(counts) for counts in held.values()} == {1}


@on_linux
@pytest.mark.parametrize("most", [None, 1 << 30])
async def test_a_command_is_the_first_to_go_without_memory_and_leaves_no_core(run: Runner, most: int | None) -> None:
    """With a limit of memory the process of a command is made in another way."""
    again = "until grep -qx OWN /proc/$PPID/oom_score_adj; do :; done"  # its supervisor isn't, any more
    look = f"cat /proc/self/oom_score_adj; {again}; ulimit -Sc; ps -o sid= -p $$ | grep -qw $$ && pwd"
    look = look.replace("OWN", await anyio.Path("/proc/self/oom_score_adj").read_text()).replace("\n", "")
    for _ in range(2):
        result = await run(look, max_memory_bytes=most)
        assert result.stdout.split() == ["800", "0", str(run.folder)]


async def test_what_had_begun_when_its_supervisor_was_killed_is_not_begun_again() -> None:
    near, far = pair()
    outputs = {name: os.memfd_create(name) for name in ("stdout", "stderr")}
    line = supervisor_line.SupervisorLine(Packets(near), outputs)
    Packets(far).send(marshal.dumps(("begun", {"supervisor": os.getpid()})))
    far.close()
    assert (await line.next_event())[0] == "begun"
    with pytest.raises(supervisor_line.SupervisorGoneError):
        await line.next_event()
    assert line.last_facts()["reason"] == "lost"
    line.close()


@on_linux
async def test_what_lives_on_keeps_its_supervisor_to_itself(run: Runner) -> None:
    first = await run("echo $PPID; sleep 62 &")
    assert (await run("echo $PPID")).stdout != first.stdout
    assert is_alive(first.background_pids[0])


@on_linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_free_supervisor_may_be_killed_or_stopped(run: Runner, number: signal.Signals) -> None:
    supervisor = int((await run("echo $PPID")).stdout)
    os.kill(supervisor, number)
    assert (await run("echo again")).stdout == "again\n"


async def test_a_lost_launcher_is_started_again(run: Runner) -> None:
    result = await run("launcher=$(ps -o ppid= -p $PPID); kill -9 $launcher; echo $launcher")
    assert result.exit_code == 0
    assert (await run("echo again")).stdout == "again\n"


async def test_cancelling_twice_or_before_the_start_is_harmless(run: Runner) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await run("touch was_run")
    assert (await run("echo x")).stdout == "x\n"


async def test_an_error_of_the_listener_ends_the_command(run: Runner) -> None:
    def fail(_text: str) -> None:
        raise ZeroDivisionError

    command = ShellCommand("echo $$ > pid; echo on; sleep 66", str(run.folder), {"PATH": PATH})
    with pytest.raises(ZeroDivisionError):
        await run.processes.run(command, fail)
    assert not is_alive(pids_in(run.folder / "pid")[0])


async def test_everything_ends_when_the_program_dies(run: Runner) -> None:
    program = run.folder / "program.py"
    program.write_text(f"""
import sys
sys.path = {sys.path!r}
import anyio
from dogu.workspace.process.command import ShellCommand
from dogu.workspace.process.local import LocalProcesses
processes = LocalProcesses()
command = "setsid sleep 67 & echo $! > pid; sleep 67"
anyio.run(processes.run, ShellCommand(command, {str(run.folder)!r}, {{"PATH": {PATH!r}}}))
""")
    result = await run(
        f"{sys.executable} program.py & until test -s pid; do sleep 0.02; done; kill -9 $!; cat pid", timeout_s=20
    )
    sleeper = int(result.stdout)
    await until(lambda: not is_alive(sleeper))


@pytest.mark.parametrize("forked", [False, True])
async def test_commands_run_in_a_program_that_has_more_files_open_than_select_can_count(
    forked: bool, tmp_path: Path
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] < 2_000:
        pytest.skip("the machine lets no program open so many")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2_000, limits[1]))
    with ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        for _ in range(1_100):
            stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        server = stack.enter_context(ForkServer()) if forked else None
        async with LocalProcesses(fork_server=server) as processes:
            run = Runner(processes, tmp_path)
            assert (await run("sleep 60 & echo hi")).stdout == "hi\n"
            processes.settle(keep=False)
            await run.cancelled_when("echo > begun; sleep 60", (tmp_path / "begun").exists)


async def test_who_is_cancelled_hears_that_what_was_talked_to_ended_by_itself(tmp_path: Path) -> None:
    launch, start = launcher(fork_server=shared_fork_server()), Start(("cat",), {"PATH": PATH}, str(tmp_path))
    program: TalkedTo | None = None
    with anyio.fail_after(20):
        with anyio.CancelScope() as scope:
            async with talked_to(launch, start) as program:
                scope.cancel()
                try:
                    await anyio.sleep_forever()
                finally:
                    with anyio.CancelScope(shield=True):
                        program.close_input()
                        await program.ended.wait()
    assert program is not None
    assert program.ended.is_set()
    launch.close()
