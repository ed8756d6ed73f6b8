"""Commands that are talked to: started in a terminal, typed into, judged by who reads what is typed."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogu.contract.errors import ErrorKind
from dogu.contract.result import ToolResult
from dogu.policy.policy import Policy
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode, Decision
from dogu.runtime.approval import Approval
from dogu.runtime.events import ToolCall
from dogu.runtime.executor import Executor
from dogu.runtime.questions import Approved, Outcome, Question
from dogu.runtime.registry import ToolRegistry
from dogu.testing.workspace import check_tool
from dogu.tools.background_jobs import BackgroundJobs
from dogu.tools.run_shell_command import RunShellCommand, ShellLimits
from dogu.tools.send_input import SendInput
from dogu.workspace.environment import command_environment
from dogu.workspace.launcher.inside import heeding
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.roots import Roots
from dogu.workspace.sandbox.ladder import Sandbox, SandboxSettings, Step
from processes import running_in, shared_fork_server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="supervisors need Linux"),
]

_SHELL = "bash --norc --noprofile -i"
_ASKING = "import sys; sys.ps1 = ''\nname = input('name? ')\nprint('hello', name)\ninput()\nprint('over')"


class Talk:
    """The tools over one folder, each call through the executor, and what was asked on the way."""

    def __init__(
        self,
        root: Path,
        processes: LocalProcesses,
        rules: Rules | None = None,
        mode: str = "yolo",
        sandbox: Sandbox | None = None,
    ) -> None:
        roots = Roots(str(root))
        self.processes = processes
        limits = ShellLimits(idle_timeout_s=20)
        environment = {**command_environment(os.environ), "HISTFILE": os.devnull}  # no keys find what others typed
        self.run_tool = RunShellCommand(roots, processes, lambda: environment, limits, lambda: sandbox)
        self.asked: list[Question] = []
        tools = ToolRegistry([self.run_tool, SendInput(processes), BackgroundJobs(processes)])
        self.policy = Policy(rules or Rules(), ApprovalMode(mode))
        self._executor = Executor(tools, Approval(self.policy, self._confirm))

    async def _confirm(self, question: Question) -> Outcome:
        self.asked.append(question)
        return Approved()

    async def call(self, name: str, /, **args: Any) -> ToolResult:
        return (await self._executor.run(ToolCall("test", name, args))).result

    async def start(self, command: str, **more: Any) -> tuple[int, str]:
        result = await self.call("run_shell_command", command=command, pty=True, **more)
        assert result.error is None, result.error
        text = str(result.llm_content)
        match = re.search(r"PGID: (\d+)", text)
        assert match is not None
        return int(match[1]), text

    async def type(self, pid: int, **args: Any) -> str:
        return str((await self.call("send_input", pid=pid, **args)).llm_content)


@pytest.fixture
async def processes() -> AsyncIterator[LocalProcesses]:
    async with LocalProcesses(fork_server=shared_fork_server()) as processes:
        yield processes
        for job in processes.jobs:  # an interactive shell that is asked to end by SIGTERM is waited for
            with suppress(ProcessLookupError):
                os.killpg(job.pgid, signal.SIGHUP)


@pytest.fixture
async def talk(tmp_path: Path, processes: LocalProcesses) -> Talk:
    return Talk(tmp_path, processes)


def test_the_tool_keeps_the_contract() -> None:
    check_tool(SendInput(LocalProcesses()))


async def test_a_program_that_asks_is_answered(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text(_ASKING)
    pid, text = await talk.start(f"{sys.executable} ask.py", wait_for="name")
    assert "Stdout: name?" in text
    assert "send_input types into" in text
    text = await talk.type(pid, text="dogu\n", wait_for="^hello")
    assert "hello dogu" in text
    assert "running, output matched" in text
    text = await talk.type(pid, keys=["enter"], wait_for="never")
    assert text.endswith("over\n\n[ended, exit code 0]")
    assert "ended, exit code 0" in str((await talk.call("background_jobs")).llm_content)


async def test_what_is_typed_is_not_taken_for_its_answer(talk: Talk) -> None:
    pid, _ = await talk.start("cat > /dev/null", wait_for="nothing", timeout_s=0.2)
    text = await talk.type(pid, text="ready\n", wait_for="ready", timeout_s=0.5)
    assert "no match, within 0.5 s" in text


async def test_the_end_of_file_and_an_interrupt_are_keys(talk: Talk) -> None:
    pid, _ = await talk.start("cat; echo and on; sleep 60", wait_for="nothing", timeout_s=0.2)
    assert "and on" in await talk.type(pid, keys=["end_of_file"], wait_for="and on")
    assert "ended, signal 2" in await talk.type(pid, keys=["ctrl-c"], wait_for="never")


_HEARING = """
import signal, sys
def hear(number, frame): print("heard", signal.Signals(number).name, flush=True)
for each in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP): signal.signal(each, hear)
print("listening", flush=True)
for line in sys.stdin: print("read", line.strip(), flush=True)
"""


async def test_a_sandbox_s_own_program_lives_on_when_a_key_interrupts_the_command(
    tmp_path: Path, processes: LocalProcesses
) -> None:
    sandbox = Sandbox.detect(SandboxSettings(network=False))
    if sandbox.step is not Step.BUBBLEWRAP or not heeding():
        pytest.skip("needs bubblewrap and GNU env")
    talk = Talk(tmp_path, processes, sandbox=sandbox)
    (tmp_path / "hear.py").write_text(_HEARING)
    pid, _ = await talk.start("/usr/bin/env python3 hear.py", wait_for="listening", timeout_s=60)
    for key, name in (("ctrl-c", "SIGINT"), ("ctrl-z", "SIGTSTP")):
        assert "running, output matched" in await talk.type(pid, keys=[key], wait_for=f"heard {name}")
    assert "read it" in await talk.type(pid, text="it\n", wait_for="read it")
    assert "ended, exit code 0" in await talk.type(pid, keys=["end_of_file"], wait_for="never")
    pid, _ = await talk.start("echo up; cat", wait_for="up")
    assert "ended, signal 2" in await talk.type(pid, keys=["ctrl-c"], wait_for="never")
    assert f"{pid}: ended, signal 2" in str((await talk.call("background_jobs")).llm_content)


@pytest.mark.parametrize("question", ["[6n", "[5n", "[c", "]11;?\\a\\033[6n"])
async def test_a_program_that_asks_its_terminal_is_answered_while_it_is_waited_for(talk: Talk, question: str) -> None:
    asking = f"stty raw -echo; printf '\\033{question}'; head -c 1 | wc -c; stty sane; printf 'next? '; cat"
    _pid, text = await talk.start(asking, wait_for="next", timeout_s=60)
    assert "The output matched" in text


async def test_a_program_that_closes_its_streams_before_it_ends_is_not_hung_up_on(talk: Talk) -> None:
    closing = "printf 'all said'; exec <&- >&- 2>&-; sleep 0.5; exit 7"
    result = await talk.call("run_shell_command", command=closing, pty=True, timeout_s=60)
    assert "Stdout: all said" in str(result.llm_content)
    assert "Exit Code: 7" in str(result.llm_content)


async def test_a_full_screen_is_read_as_text_and_left_again(talk: Talk) -> None:
    draw = (
        r"printf 'before\n\033[?1049h\033[2J\033[3;5Hmiddle\033[31mred\033[0m'; read -r x; printf '\033[?1049lafter\n'"
    )
    pid, text = await talk.start(draw, wait_for="red")
    stdout = text.partition("Stdout: ")[2]
    assert stdout.startswith("    middlered")
    assert "\x1b" not in stdout
    assert "before" not in stdout
    text = await talk.type(pid, keys=["enter"], wait_for="never")
    assert "before" in text
    assert "after" in text
    assert "middle" not in text


async def test_lines_that_scrolled_off_are_told_once(talk: Talk) -> None:
    pid, text = await talk.start("seq 100; cat", wait_for="^100")
    assert "\n1\n2\n" in text.replace("Stdout: ", "\n")
    text = await talk.type(pid, text="more\n", wait_for="more")
    assert "\n100\n" in text
    assert not re.search(r"^1$", text, re.MULTILINE)


async def test_a_terminal_is_really_there(talk: Talk) -> None:
    result = await talk.call("run_shell_command", command="test -t 0 && test -t 1 && stty size", pty=True)
    assert "Stdout: 30 100\n" in str(result.llm_content)
    assert "Exit Code: 0" in str(result.llm_content)


async def test_what_outlives_its_call_ends_with_the_session(tmp_path: Path) -> None:
    async with LocalProcesses() as processes:
        pid, _ = await Talk(tmp_path, processes).start("sleep 81", wait_for="nothing", timeout_s=0.2)
        assert processes.job(pid) is not None
        assert any(found.command == "sleep 81" for found in running_in(tmp_path))
    assert not any(found.command == "sleep 81" for found in running_in(tmp_path))


async def test_a_server_is_waited_for_and_goes_on(talk: Talk) -> None:
    command = "echo starting; sleep 0.1; echo listening on 80; exec sleep 82"
    result = await talk.call("run_shell_command", command=command, wait_for=r"listening on \d+")
    text = str(result.llm_content)
    assert "Stdout: starting\nlistening on 80\n" in text
    assert "Exit Code: (none)" in text
    assert "it goes on in the background" in text
    (job,) = talk.processes.jobs
    assert job.pids
    looked = await talk.call("background_jobs", pid=job.pgid, wait_for="listening")
    assert "listening on 80" in str(looked.llm_content)


async def test_a_command_that_ends_before_it_matches_is_told_as_ever(talk: Talk) -> None:
    result = await talk.call("run_shell_command", command="echo no; exit 4", wait_for="yes")
    assert "Exit Code: 4" in str(result.llm_content)
    assert "Background PIDs: (none)" in str(result.llm_content)


async def test_time_can_move_a_command_to_the_background(talk: Talk) -> None:
    result = await talk.call("run_shell_command", command="sleep 83", timeout_s=0.2, on_timeout="background")
    assert result.error is None
    assert "goes on in the background after 0.2 s" in str(result.llm_content)
    assert talk.processes.jobs[0].pids


async def test_a_user_can_move_what_runs_to_the_background(talk: Talk) -> None:
    results: list[ToolResult] = []
    assert not talk.processes.to_background()

    async def run() -> None:
        results.append(await talk.call("run_shell_command", command="echo begun; sleep 84"))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            while not talk.processes.to_background():
                await anyio.lowlevel.checkpoint()
    assert "The user moved it to the background." in str(results[0].llm_content)
    assert talk.processes.jobs[0].pids


async def test_a_job_without_a_terminal_is_not_typed_into(talk: Talk) -> None:
    await talk.call("run_shell_command", command="sleep 85 &")
    result = await talk.call("send_input", pid=talk.processes.jobs[0].pgid, text="x")
    assert result.error is not None
    assert result.error.kind is ErrorKind.INVALID_ARGUMENTS
    assert "pty" in result.error.message


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({}, "Nothing to type"),
        ({"keys": ["hyper-x"]}, "No such key: 'hyper-x'"),
        ({"text": "x", "wait_for": "("}, "Bad pattern in 'wait_for'"),
        ({"text": "x" * 40_000}, "at most"),
    ],
)
async def test_what_can_not_be_typed_is_refused(talk: Talk, args: dict[str, Any], words: str) -> None:
    pid, _ = await talk.start("cat", wait_for="nothing", timeout_s=0.1)
    result = await talk.call("send_input", pid=pid, **args)
    assert result.error is not None
    assert words in result.error.message


# ---- what is typed is judged


async def test_each_answer_is_asked_about_with_what_will_be_typed(tmp_path: Path, processes: LocalProcesses) -> None:
    talk = Talk(tmp_path, processes, mode="default")
    pid, _ = await talk.start("cat", wait_for="nothing", timeout_s=0.1)
    talk.asked.clear()
    await talk.type(pid, text="yes\n", wait_for="yes")
    (question,) = talk.asked
    assert "yes" in str(question.confirmation.display)
    assert "cat" in question.confirmation.title


@pytest.mark.parametrize(
    "parts",
    [
        ["rm -rf x\n"],
        ["rm -r", "f x\n"],
        ["true; rm x\n"],
        ["echo $(rm x)\n"],
        ["echo \x03rm x\n"],
        ["echo ", "\x03", "rm x\n"],
    ],
)
async def test_what_a_shell_would_run_is_judged_as_its_command(
    tmp_path: Path, processes: LocalProcesses, parts: list[str]
) -> None:
    talk = Talk(tmp_path, processes, Rules.from_lists(None, ("run_shell_command(rm)",), ()))
    (tmp_path / "x").touch()
    pid, _ = await talk.start(_SHELL, wait_for="bash.*[$#] ")
    results = [await talk.call("send_input", pid=pid, text=part, timeout_s=1) for part in parts]
    assert any(result.error is not None and result.error.kind is ErrorKind.REFUSED for result in results)
    assert (tmp_path / "x").exists()


async def test_a_shell_below_another_program_counts(tmp_path: Path, processes: LocalProcesses) -> None:
    talk = Talk(tmp_path, processes, Rules.from_lists(None, ("run_shell_command(rm)",), ()))
    (tmp_path / "x").touch()
    pid, _ = await talk.start(_SHELL, wait_for="bash.*[$#] ")
    await talk.type(pid, text="cat\n")
    result = await talk.call("send_input", pid=pid, text="\x04rm x\n", timeout_s=1)
    assert result.error is not None or talk.asked
    result = await talk.call("send_input", pid=pid, text="rm x\n", timeout_s=1)
    assert result.error is not None
    assert (tmp_path / "x").exists()


async def test_keys_whose_meaning_for_a_shell_is_unknown_are_always_asked(
    tmp_path: Path, processes: LocalProcesses
) -> None:
    talk = Talk(tmp_path, processes)
    pid, _ = await talk.start(_SHELL, wait_for="bash.*[$#] ")
    await talk.type(pid, keys=["up", "enter"])
    (question,) = talk.asked
    assert question.verdict.gate is Decision.ASK
    talk.asked.clear()
    assert "there" in await talk.type(pid, text="echo there\n")
    assert talk.asked == []


async def test_enter_an_interrupt_and_the_end_are_keys_for_a_shell_too(
    tmp_path: Path, processes: LocalProcesses
) -> None:
    talk = Talk(tmp_path, processes)
    pid, _ = await talk.start(_SHELL, wait_for="bash.*[$#] ")
    assert "running" in await talk.type(pid, keys=["enter"])
    assert "running" in await talk.type(pid, text="echo half", keys=["ctrl-c"])
    assert "ended, exit code" in await talk.type(pid, keys=["end_of_file"])
    assert talk.asked == []


@pytest.mark.parametrize("text", ["^echo^rm\n", "echo !echo\n", "true; !ec\n", "echo a\n ^a^b\n"])
async def test_what_a_shell_takes_from_its_history_is_always_asked(
    tmp_path: Path, processes: LocalProcesses, text: str
) -> None:
    talk = Talk(tmp_path, processes)
    pid, _ = await talk.start(_SHELL, wait_for="bash.*[$#] ")
    await talk.type(pid, text="echo there; [ ! -e x ]\n")
    assert talk.asked == []
    await talk.type(pid, text=text)
    (question,) = talk.asked
    assert question.verdict.gate is Decision.ASK


@pytest.mark.parametrize(
    ("parts", "is_asked"),
    [
        (["r\\\n", "m x\n"], False),
        (["echo \\\x03", "rm x\n"], True),
        (["cd .git/hooks\n", "echo x > pre-commit\n"], True),
        (["cd .git/hooks\n", "exit\n", "ls\n", "echo x > pre-commit\n"], True),
    ],
)
async def test_what_stands_in_pieces_is_judged_as_a_whole(
    tmp_path: Path, processes: LocalProcesses, parts: list[str], is_asked: bool
) -> None:
    rules = Rules.from_lists(None, ("run_shell_command(rm)",), ("run_shell_command(cd)", "run_shell_command(ls)"))
    talk = Talk(tmp_path, processes, rules, mode="auto_edit")
    pid, _ = await talk.start(_SHELL, wait_for="bash.*[$#] ")
    talk.asked.clear()
    errors = [(await talk.call("send_input", pid=pid, text=part, timeout_s=1)).error for part in parts]
    assert errors[-1] is not None or is_asked
    assert any((question.call.args or {}).get("text") == parts[-1] for question in talk.asked) == is_asked


_READING = {"go.sh": "read -r line\neval $line", "Makefile": "all:\n\t@bash /dev/stdin\n", "long": "line\n" * 99}


@pytest.mark.parametrize(("command", "text"), [("less long", "!rm x\n"), ("sh go.sh", "rm x\n"), ("make", "rm x\n")])
async def test_a_rule_for_a_program_is_none_for_what_it_is_told(
    tmp_path: Path, processes: LocalProcesses, command: str, text: str
) -> None:
    for name, content in _READING.items():
        (tmp_path / name).write_text(content)
    rules = Rules.from_lists(None, (), (f"run_shell_command({command})",))
    talk = Talk(tmp_path, processes, rules, mode="default")
    pid, _ = await talk.start(command, timeout_s=2)
    assert talk.asked == []
    await talk.type(pid, keys=["1"])
    assert talk.asked == []
    await talk.type(pid, text=text)
    assert len(talk.asked) == 1


async def test_nothing_is_typed_in_approval_mode_plan(talk: Talk) -> None:
    pid, _ = await talk.start("cat", wait_for="nothing", timeout_s=0.1)
    talk.policy.mode = ApprovalMode.PLAN
    result = await talk.call("send_input", pid=pid, text="x\n")
    assert result.error is not None
    assert result.error.kind is ErrorKind.REFUSED
