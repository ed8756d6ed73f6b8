import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import psutil
import pytest

from dogu.contract.confirmation import CallContext
from dogu.contract.display import CommandPreview, TerminalOutput
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.runtime.events import CallOutput, ToolCall
from dogu.runtime.questions import Approved, Declined, Outcome, Question
from dogu.testing.workspace import check_tool, executor_for, run_tool
from dogu.tools.run_shell_command import RunShellCommand, RunShellCommandArgs, ShellLimits
from dogu.workspace.environment import command_environment
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.roots import Roots
from dogu.workspace.sandbox.ladder import UNCONFINED, Sandbox, SandboxSettings, Step
from processes import shared_fork_server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="supervisors need Linux"),
]

FIELDS = [
    "Command", "Directory", "Stdout", "Stderr", "Error", "Exit Code", "Signal", "Background PIDs", "Process Group PGID",
]  # fmt: skip


@pytest.fixture
async def tool(tmp_path: Path) -> AsyncIterator[RunShellCommand]:
    root = tmp_path / "root"
    (root / "scripts").mkdir(parents=True)
    async with LocalProcesses(fork_server=shared_fork_server()) as processes:
        yield RunShellCommand(
            Roots(str(root)), processes, lambda: command_environment(os.environ), ShellLimits(idle_timeout_s=20)
        )


def told(result: ToolResult) -> str:
    assert isinstance(result.llm_content, str)
    return result.llm_content


def test_the_tool_keeps_the_contract() -> None:
    tool = RunShellCommand(Roots("/"), LocalProcesses(), dict)
    check_tool(tool)
    names = ["command", "description", "directory", "timeout_s", "on_timeout", "wait_for", "pty"]
    assert [*tool.parameter_schema["properties"]] == names
    assert tool.parameter_schema["required"] == ["command"]


async def test_every_field_is_told_on_a_line_of_its_own(tool: RunShellCommand) -> None:
    result = await run_tool(tool, command="echo out")
    head, _, pgid = told(result).rpartition(" ")
    assert head == (
        "Command: echo out\nDirectory: (root)\nStdout: out\n\nStderr: (empty)\nError: (none)\nExit Code: 0\n"
        "Signal: (none)\nBackground PIDs: (none)\nProcess Group PGID:"
    )
    assert int(pgid) > 1
    assert result.error is None
    assert result.return_display == TerminalOutput("echo out", "out\n", 0)


async def test_a_failing_command_is_no_failure_of_the_tool(tool: RunShellCommand) -> None:
    result = await run_tool(tool, command="echo bad >&2; exit 3")
    assert "Stdout: (empty)\nStderr: bad\n\nError: (none)\nExit Code: 3\nSignal: (none)" in told(result)
    assert result.error is None
    assert result.return_display == TerminalOutput("echo bad >&2; exit 3", "bad\n", 3, ("Exit code 3.",))


async def test_a_signal_is_told_by_its_number(tool: RunShellCommand) -> None:
    assert "Exit Code: (none)\nSignal: 9\n" in told(await run_tool(tool, command="kill -9 $$"))


@pytest.mark.parametrize("spelling", ["directory", "dir_path"])
async def test_a_command_runs_in_a_directory_of_the_root(tool: RunShellCommand, tmp_path: Path, spelling: str) -> None:
    scripts = tmp_path / "root" / "scripts"
    for directory in ("scripts", str(scripts)):
        raw: dict[str, Any] = {"command": "pwd", spelling: directory}
        assert f"Directory: {directory}\nStdout: {scripts}\n" in told(await run_tool(tool, **raw))


@pytest.mark.parametrize(
    ("directory", "kind"),
    [
        ("..", ErrorKind.OUTSIDE_WORKSPACE),
        ("/", ErrorKind.OUTSIDE_WORKSPACE),
        ("out", ErrorKind.OUTSIDE_WORKSPACE),
        ("missing", ErrorKind.NOT_FOUND),
        ("file", ErrorKind.WRONG_FILE_TYPE),
        ("a\0b", ErrorKind.INVALID_ARGUMENTS),
    ],
)
async def test_a_directory_outside_or_missing_is_refused(
    tool: RunShellCommand, tmp_path: Path, directory: str, kind: ErrorKind
) -> None:
    (tmp_path / "root" / "out").symlink_to("/")
    (tmp_path / "root" / "file").touch()
    result = await run_tool(tool, command="touch was_run", directory=directory)
    assert result.error is not None
    assert result.error.kind is kind
    assert not (tmp_path / "root" / "was_run").exists()


@pytest.mark.parametrize("command", ["", "  \n", "a\0b", "echo \udcff", "echo " + "x" * 9_000_000])
async def test_what_cannot_run_is_a_failure_that_says_so(tool: RunShellCommand, command: str) -> None:
    result = await run_tool(tool, command=command)
    assert result.error is not None
    assert result.error.kind in (ErrorKind.INVALID_ARGUMENTS, ErrorKind.START_FAILED, ErrorKind.REFUSED)
    assert "Traceback" not in told(result)


async def test_a_timeout_tells_what_was_printed_and_is_a_failure(tool: RunShellCommand) -> None:
    result = await run_tool(tool, command="echo on; sleep 81", timeout_s=0.3)
    assert result.error is not None
    assert result.error.kind is ErrorKind.TIMED_OUT
    assert "Stdout: on\n\nStderr: (empty)\nError: Timed out after 0.3 s" in told(result)


async def test_background_processes_are_told_to_the_user_by_the_number_of_their_job(tool: RunShellCommand) -> None:
    result = await run_tool(tool, command="sleep 82 & echo started $!")
    pid = told(result).partition("Stdout: started ")[2].partition("\n")[0]
    assert f"Background PIDs: {pid}\n" in told(result)
    assert isinstance(result.return_display, TerminalOutput)
    job = told(result).partition("Process Group PGID: ")[2].partition("\n")[0]
    assert job != pid
    assert result.return_display.notes == (f"Still running in the background: {job}.",)


async def test_the_child_knows_that_it_runs_inside(tool: RunShellCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "leak")
    result = await run_tool(tool, command="echo $GEMINI_CLI$DOGU$GEMINI_API_KEY$PAGER")
    assert "Stdout: 11cat\n" in told(result)


async def test_live_output_reaches_the_door(tool: RunShellCommand) -> None:
    events: list[object] = []
    await run_tool(tool, emit=events.append, command="echo one; sleep 0.3; echo two")
    assert "".join(event.text for event in events if isinstance(event, CallOutput)) == "one\ntwo\n"


async def test_the_question_shows_the_command_and_takes_an_edited_one(tool: RunShellCommand, tmp_path: Path) -> None:
    args = RunShellCommandArgs(command="rm -rf x", description="tidy up", directory="scripts")
    question = await tool.should_confirm_execute(args)
    assert question is not None
    directory = str(tmp_path / "root" / "scripts")
    assert question.display == CommandPreview("rm -rf x", directory, "tidy up", (UNCONFINED,))
    assert question.editable_text == "rm -rf x"
    assert question.revise is not None
    revised = question.revise("echo instead; pwd")
    assert revised.editable_text == "echo instead; pwd"
    result = await tool.execute(args, CallContext(approved=revised.proposal))
    assert told(result).startswith("Command: echo instead; pwd\nDirectory: scripts\nStdout: instead\n")
    with pytest.raises(ToolError):
        question.revise(" ")


@pytest.fixture
async def confined(tmp_path: Path) -> AsyncIterator[Callable[[bool], RunShellCommand]]:
    """Make the tool in a sandbox that holds files, with and without a user; only `root` may be written."""
    sandbox = Sandbox.detect()
    if sandbox.step not in (Step.BUBBLEWRAP, Step.LANDLOCK):
        pytest.skip("this machine has no sandbox for files")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    (tmp_path / "root").mkdir()
    async with LocalProcesses() as processes:

        def make(has_user: bool) -> RunShellCommand:
            roots = Roots(str(tmp_path / "root"))
            return RunShellCommand(roots, processes, lambda: environment, None, lambda: sandbox, has_user=has_user)

        yield make


Confined = Callable[[bool], RunShellCommand]


async def test_a_refusal_of_the_sandbox_is_told_as_such(confined: Confined, tmp_path: Path) -> None:
    tool = confined(False)
    result = await run_tool(tool, command="echo x > ../outside")
    assert "\nError: The sandbox may have refused a part of this (bash: line 1: ../outside: " in told(result)
    assert isinstance(result.return_display, TerminalOutput)
    assert "The sandbox may have refused" in result.return_display.notes[1]
    assert not (tmp_path / "outside").exists()
    assert "\nError: (none)\n" in told(await run_tool(tool, command="echo x > inside"))


async def test_the_question_tells_what_it_may_write_and_reach(confined: Confined) -> None:
    question = await confined(True).should_confirm_execute(RunShellCommandArgs(command="make"))
    assert question is not None
    assert isinstance(question.display, CommandPreview)
    [reach] = question.display.reasons
    assert reach.startswith("In the sandbox: it may write to the project and a temporary folder. Network: ")


async def test_what_the_sandbox_hides_is_told_by_its_name(confined: Confined, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("for people")
    result = told(await run_tool(confined(False), command="cat ../notes ../nothing"))
    assert f"The sandbox hides {tmp_path}/notes" in result or "Permission denied" in result
    assert "for people" not in result


async def test_what_runs_later_is_put_back_and_told(confined: Confined, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    command = (
        "echo x > .git/config; echo x > .git/hooks/pre-commit; mkdir .vscode; echo x > .vscode/tasks.json; echo x > f"
    )
    result = told(await run_tool(confined(False), command=command))
    assert f"The sandbox put back what runs later: {root}/" in result
    assert (root / ".git" / "config").read_text() == "[core]\n"
    assert list((root / ".git" / "hooks").iterdir()) == []
    assert not (root / ".vscode").exists()
    assert (root / "f").read_text() == "x\n"


async def test_a_cloned_repository_stays_and_its_programs_go(confined: Confined, tmp_path: Path) -> None:
    tool = confined(False)
    result = told(await run_tool(tool, command="git init -q a && cd a && git remote add origin https://example.com/a"))
    assert "\nError: (none)\n" in result
    assert "example.com" in (tmp_path / "root" / "a" / ".git" / "config").read_text()
    result = told(await run_tool(tool, command="git init -q b && cd b && git config core.fsmonitor ./x"))
    assert "put back what runs later" in result
    assert not (tmp_path / "root" / "b" / ".git" / "config").exists()


@pytest.mark.parametrize(
    "command",
    [
        "mv .git g2",
        "cp -r .git g2 && git config -f g2/config core.pager less && rm -rf .git",
        "cp -r .git g2 && git config -f g2/config core.pager less && rm -f .git/config",
    ],
)
async def test_the_last_copy_of_a_repository_s_settings_stays(confined: Confined, tmp_path: Path, command: str) -> None:
    await run_tool(confined(False), command="git init -q . && git remote add origin https://example.com/a")
    await run_tool(confined(False), command=command)
    places = [tmp_path / "root" / name / "config" for name in (".git", "g2")]
    assert any(place.exists() and "example.com" in place.read_text() for place in places)


async def test_lines_that_a_rebase_would_run_are_told(confined: Confined) -> None:
    await run_tool(confined(False), command="git init -q .")
    todo = ".git/rebase-merge/git-rebase-todo"
    result = told(await run_tool(confined(False), command=f"mkdir .git/rebase-merge; echo 'exec ./x' > {todo}; ls -R"))
    assert "This changed what runs later" in result
    assert "git-rebase-todo" in result.split("This changed what runs later")[1]


async def test_in_plan_mode_a_command_reads_and_writes_nothing(confined: Confined, tmp_path: Path) -> None:
    if Sandbox.detect(SandboxSettings(network=False)).step is not Step.BUBBLEWRAP:
        pytest.skip("only bubblewrap holds all")
    (tmp_path / "root" / "f").write_text("read")
    sandbox = Sandbox.detect(SandboxSettings(network=False))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    async with LocalProcesses() as processes:
        roots = Roots(str(tmp_path / "root"))
        tool = RunShellCommand(roots, processes, lambda: environment, None, lambda: sandbox)
        call = ToolCall("1", "run_shell_command", {"command": "cat f; echo x > f; echo y > $TMPDIR/t && cat $TMPDIR/t"})
        result = (await executor_for(tool, confirm=None, mode="plan").run(call)).result
        call = ToolCall("2", "run_shell_command", {"command": "exec 3<>/dev/tcp/127.0.0.1/9"})
        cut_off = (await executor_for(tool, confirm=None, mode="plan").run(call)).result
    assert "reaches no network" in told(cut_off)
    assert "reaches no network" not in told(result)
    assert "Stdout: ready\n" in told(result)
    assert "Read-only file system" in told(result)
    assert (tmp_path / "root" / "f").read_text() == "read"


async def test_without_a_sandbox_that_holds_plan_mode_runs_nothing(tool: RunShellCommand) -> None:
    call = ToolCall("1", "run_shell_command", {"command": "echo ran"})
    result = (await executor_for(tool, mode="plan").run(call)).result
    assert result.error is not None
    assert result.error.kind is ErrorKind.REFUSED


class User:
    """Answers every question alike and remembers what was asked."""

    def __init__(self, answer: Outcome) -> None:
        self.answer = answer
        self.questions: list[Question] = []

    async def __call__(self, question: Question) -> Outcome:
        self.questions.append(question)
        return self.answer


async def test_what_the_sandbox_refused_runs_outside_when_a_user_says_so(confined: Confined, tmp_path: Path) -> None:
    user = User(Approved())
    executor = executor_for(confined(True), confirm=user, mode="yolo")
    call = ToolCall("test", "run_shell_command", {"command": "echo x > ../outside"})
    first = await executor.run(call)
    assert "call it again unchanged" in told(first.result)
    assert not user.questions
    second = await executor.run(call)
    assert (tmp_path / "outside").read_text() == "x\n"
    assert "Ran outside the sandbox" in told(second.result)
    assert isinstance(second.result.return_display, TerminalOutput)
    assert "Ran outside the sandbox, as the user allowed." in second.result.return_display.notes
    [question] = user.questions
    assert "OUTSIDE" in question.confirmation.title
    assert question.always_rule is None
    assert "runs it once outside" in question.verdict.reason
    await executor.run(call)
    assert len(user.questions) == 2


async def test_other_commands_stay_in_the_sandbox_after_a_refusal(confined: Confined, tmp_path: Path) -> None:
    user = User(Approved())
    executor = executor_for(confined(True), confirm=user, mode="yolo")
    for command in ("echo x > ../outside", "echo y > ../outside", "echo x > ../outside "):
        result = (await executor.run(ToolCall("test", "run_shell_command", {"command": command}))).result
        assert "The sandbox may have refused" in told(result)
    assert not user.questions
    assert not (tmp_path / "outside").exists()


async def test_a_user_who_declines_is_not_asked_for_ever(confined: Confined, tmp_path: Path) -> None:
    user = User(Declined())
    executor = executor_for(confined(True), confirm=user, mode="yolo")
    call = ToolCall("test", "run_shell_command", {"command": "echo x > ../outside"})
    kinds = [(await executor.run(call)).result.error for _ in range(5)]
    assert [error and error.kind for error in kinds] == [None, ErrorKind.DECLINED, ErrorKind.DECLINED, None, None]
    assert not (tmp_path / "outside").exists()


async def test_without_a_user_nothing_runs_outside(confined: Confined, tmp_path: Path) -> None:
    executor = executor_for(confined(False), confirm=None, mode="yolo")
    call = ToolCall("test", "run_shell_command", {"command": "echo x > ../outside"})
    for _ in range(2):
        assert "the user can run it themselves" in told((await executor.run(call)).result)
    assert not (tmp_path / "outside").exists()


async def test_a_change_of_what_runs_later_is_told(tool: RunShellCommand, tmp_path: Path) -> None:
    result = await run_tool(tool, command="mkdir -p .git/hooks; echo x > .git/hooks/pre-commit")
    hook = tmp_path / "root" / ".git" / "hooks" / "pre-commit"
    assert f"Error: This changed what runs later: {hook}." in told(result)
    assert result.error is None


async def test_cancelled_everything_it_started_is_gone(tool: RunShellCommand, tmp_path: Path) -> None:
    pid_file = tmp_path / "root" / "pid"
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            command = "setsid sleep 83 & echo $! > pid.new; mv pid.new pid; sleep 83"
            group.start_soon(tool.execute, RunShellCommandArgs(command=command), CallContext())
            while not pid_file.exists():  # noqa: ASYNC110  (another process's doing has no event here)
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    assert not psutil.pid_exists(int(pid_file.read_text()))


def test_the_one_line_description_names_command_place_and_purpose(tmp_path: Path) -> None:
    tool = RunShellCommand(Roots(str(tmp_path)), LocalProcesses(), dict)
    args = RunShellCommandArgs(command="make\n  test", directory="sub", description="run the tests")
    assert tool.get_description(args) == "make test [in sub] (run the tests)"
    long = tool.get_description(msgspec.structs.replace(args, command="x" * 500 + " rm -rf END"))
    assert "rm -rf END" in long
    assert len(long) < 200


def test_the_fields_are_the_documents() -> None:
    description = RunShellCommand(Roots("/"), LocalProcesses(), dict).description.replace("\n", " ")
    assert ", ".join(FIELDS) in description


async def test_a_command_longer_than_a_word_may_be_runs_as_any_other(tool: RunShellCommand, tmp_path: Path) -> None:
    heredoc = "cat > long.txt <<'END'\n" + "日本\\n'\"$x\n" * 30_000 + "END\n"
    command = heredoc + 'echo "$0|$#|$*|$LINENO"; printf %q "$IFS"; exit 3'
    assert len(command.encode()) > 300_000
    result = await run_tool(tool, command=command)
    assert (tmp_path / "root" / "long.txt").read_text() == "日本\\n'\"$x\n" * 30_000
    assert "bash|0||30003" in told(result)
    assert "$' \\t\\n'" in told(result)
    assert "Exit Code: 3" in told(result)
