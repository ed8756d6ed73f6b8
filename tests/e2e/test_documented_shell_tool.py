"""The shell tool's document, sentence by sentence, through the executor and as a model would call it."""

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import psutil
import pytest

import dogu
from dogu.contract import CommandPreview, text_of
from dogu.policy.verdict import CallFacts, Decision
from e2e.documented import Documented, open_documented

pytestmark = pytest.mark.anyio
ON_WINDOWS = os.name == "nt"
AND = "&" if ON_WINDOWS else ";"
PYTHON = f'"{sys.executable}"'


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Documented]:
    async with open_documented(tmp_path) as opened:
        yield opened


async def fields(tools: Documented, command: str, **args: str) -> dict[str, str]:
    """Run a command and return the fields of its result; a line that begins none belongs to the one before."""
    found: dict[str, str] = {}
    name = ""
    for line in (await tools.text("run_shell_command", command=command, **args)).splitlines():
        first, colon, rest = line.partition(": ")
        if colon and first in NAMES:
            name, line = first, rest
            found[name] = line
        else:
            found[name] += "\n" + line
    return found


NAMES = (
    "Command",
    "Directory",
    "Stdout",
    "Stderr",
    "Error",
    "Exit Code",
    "Signal",
    "Background PIDs",
    "Process Group PGID",
)


def here(bash: str, cmd: str) -> str:
    """Return what says it to this system's shell."""
    return cmd if ON_WINDOWS else bash


class TestRunning:
    @pytest.mark.requirement("shell.purpose")
    @pytest.mark.requirement("shell.runs_command")
    @pytest.mark.requirement("shell.command")
    @pytest.mark.requirement("shell.call")
    @pytest.mark.requirement("shell.result.command")
    @pytest.mark.requirement("shell.result.directory")
    @pytest.mark.requirement("shell.result.stdout")
    @pytest.mark.requirement("shell.result.stderr")
    @pytest.mark.requirement("shell.result.error")
    @pytest.mark.requirement("shell.result.exit_code")
    @pytest.mark.requirement("api.builtin.shell")
    async def test_a_command_is_run_and_every_field_told(self, tools: Documented) -> None:
        (tools.root / "folder").mkdir()
        command = here("echo out; echo err >&2; exit 3", "echo out& echo err>&2& exit 3")
        told = await fields(tools, command, description="Print and fail.", directory="folder")
        assert list(told) == list(NAMES)
        assert told["Command"] == command
        assert told["Directory"] == "folder"
        assert (told["Stdout"].strip(), told["Stderr"].strip()) == ("out", "err")
        assert (told["Error"], told["Exit Code"], told["Signal"]) == ("(none)", "3", "(none)")
        assert told["Background PIDs"] == "(none)"

    @pytest.mark.requirement("shell.result.error")
    async def test_an_error_of_the_process_is_told_beside_what_it_wrote(self, tools: Documented) -> None:
        sleeps = here("sleep 60", f'{PYTHON} -c "import time; time.sleep(60)"')
        late = await tools.call("run_shell_command", command=f"echo begun{AND} {sleeps}", timeout_s=1)
        told = text_of(late.llm_content).splitlines()
        assert "Stdout: begun" in told
        assert "Error: Timed out after 1 s and was ended, with everything it had started." in told
        missing = await fields(tools, here("exec /no/such/program", r"\no\such\program"))
        assert ON_WINDOWS or "/no/such/program" in missing["Stderr"]
        assert missing["Stderr"] != "(empty)"
        assert missing["Exit Code"] == "127" or (ON_WINDOWS and missing["Exit Code"] != "0")

    @pytest.mark.requirement("shell.bash")
    async def test_it_is_bash_that_runs_it(self, tools: Documented) -> None:
        assert (await fields(tools, 'a=(x y); [[ ${a[1]} == y ]] && echo "$0"'))["Stdout"].strip() == "bash"

    @pytest.mark.requirement("shell.description")
    async def test_the_description_is_shown_to_the_user(self, tools: Documented) -> None:
        await fields(tools, here("true", "cd ."), description="Do nothing at all.")
        (question,) = tools.questions
        display = question.confirmation.display
        assert isinstance(display, CommandPreview)
        assert display.description == "Do nothing at all."
        assert "Do nothing at all." in question.description

    @pytest.mark.requirement("shell.directory")
    @pytest.mark.requirement("shell.directory.default")
    async def test_it_runs_in_the_root_or_a_directory_of_it(self, tools: Documented) -> None:
        (tools.root / "scripts").mkdir()
        where = here("pwd", "cd")
        assert Path((await fields(tools, where))["Stdout"].strip()) == tools.root
        assert Path((await fields(tools, where, directory="scripts"))["Stdout"].strip()) == tools.root / "scripts"
        kind, _ = await tools.error("run_shell_command", command=where, directory="..")
        assert kind == "outside_workspace"

    @pytest.mark.requirement("shell.subprocess")
    async def test_it_is_a_process_of_its_own(self, tools: Documented) -> None:
        told = await fields(tools, here("echo $$", f'{PYTHON} -c "import os; print(os.getpid())"'))
        assert int(told["Stdout"]) != os.getpid()
        cwd = os.getcwd()
        await fields(tools, here("cd / && export CHANGED=1 && exit 0", "cd \\ && set CHANGED=1&& exit 0"))
        assert (os.getcwd(), os.environ.get("CHANGED")) == (cwd, None)

    @pytest.mark.requirement("shell.result.signal")
    async def test_a_signal_that_ended_it_is_told(self, tools: Documented) -> None:
        assert (await fields(tools, "kill -TERM $$"))["Signal"] == "15"

    @pytest.mark.requirement("shell.background")
    @pytest.mark.requirement("shell.note.background")
    @pytest.mark.requirement("shell.result.background_pids")
    @pytest.mark.requirement("shell.example.background")
    async def test_with_an_ampersand_it_returns_at_once_and_the_process_goes_on(self, tools: Documented) -> None:
        bin_folder = tools.root / "bin"
        bin_folder.mkdir()
        serves = "import time; open('serving', 'w').close(); time.sleep(60)"
        os.chmod(tools.write("bin/npm", "#!/bin/sh\necho serving on 3000\nexec sleep 60\n"), 0o755)
        tools.write("bin/npm.cmd", f'@echo serving on 3000\r\n@{PYTHON} -c "{serves}"\r\n')
        on_path = here(f"PATH={bin_folder}:$PATH; ", f"set PATH={str(bin_folder).replace('/', os.sep)};%PATH%& ")
        example = here("npm run dev &", "start /b npm run dev")
        with anyio.fail_after(40):
            told = await fields(tools, on_path + example, description="Start a server.")
            pids = [int(pid) for pid in told["Background PIDs"].split(", ")]
            group = int(told["Process Group PGID"].splitlines()[0])  # after it, what was written while it ran
            seen = ""
            # Wine's `start` gives what it starts no streams; Windows' does.
            while "serving on 3000" not in seen and not (ON_WINDOWS and (tools.root / "serving").exists()):
                await anyio.sleep(0.1)
                seen = await tools.text("background_jobs", pid=group)
        assert "running" in await tools.text("background_jobs", pid=group)
        assert ON_WINDOWS or ["sleep", "60"] in [psutil.Process(pid).cmdline() for pid in pids], "by these very ids"

    @pytest.mark.requirement("shell.example.list")
    async def test_the_example_that_lists_files(self, tools: Documented) -> None:
        tools.write("a.txt")
        assert "a.txt" in (await fields(tools, here("ls -la", "dir")))["Stdout"]

    @pytest.mark.requirement("shell.example.script")
    async def test_the_example_that_runs_a_script(self, tools: Documented) -> None:
        os.chmod(tools.write("scripts/my_script.sh", "#!/bin/bash\necho mine\n"), 0o755)
        tools.write("scripts/my_script.cmd", "@echo mine\r\n")
        script = here("./my_script.sh", r".\my_script.cmd")
        told = await fields(tools, script, directory="scripts", description="Run my own script.")
        assert told["Stdout"].strip() == "mine"


class TestNotes:
    @pytest.mark.requirement("shell.note.caution")
    async def test_a_user_sees_the_command_before_it_runs(self, tmp_path: Path) -> None:
        async def decline(question: dogu.Question) -> dogu.Declined:
            display = question.confirmation.display
            assert isinstance(display, CommandPreview)
            assert display.command == "touch 'a; rm -rf b'"
            return dogu.Declined()

        options = dogu.Options(root=str(tmp_path), home=str(tmp_path / "home"))
        async with dogu.open_runtime(options, confirm=decline) as runtime:
            answer = await runtime.call("run_shell_command", command="touch 'a; rm -rf b'")
        assert answer.result.error is not None
        assert not (tmp_path / "a; rm -rf b").exists()

    @pytest.mark.requirement("shell.note.interactive")
    async def test_a_command_that_wants_input_does_not_hang(self, tools: Documented) -> None:
        with anyio.fail_after(20):
            said = "print('got', repr(sys.stdin.read()), sys.stdin.isatty() or 'no terminal')"
            reads = here(
                "read answer; echo \"got '$answer' $?\"; test -t 0 || echo no terminal",
                f'{PYTHON} -c "import sys; {said}"',
            )
            told = await fields(tools, reads)
        assert "got ''" in told["Stdout"]
        assert "no terminal" in told["Stdout"]
        assert "npm init -y" in tools.runtime.registry.get("run_shell_command").description

    @pytest.mark.requirement("shell.note.errors")
    async def test_the_fields_tell_whether_it_succeeded(self, tools: Documented) -> None:
        good, bad = (
            await fields(tools, here("true", "cd .")),
            await fields(tools, here("ls /no/such/folder", f"{PYTHON} /no/such/folder")),
        )
        assert (good["Stderr"], good["Error"], good["Exit Code"]) == ("(empty)", "(none)", "0")
        assert "/no/such/folder" in bad["Stderr"].replace("\\\\", "/")
        assert bad["Exit Code"] not in ("0", "(none)")

    @pytest.mark.requirement("shell.env.gemini_cli")
    async def test_gemini_cli_is_in_the_environment(self, tools: Documented, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GEMINI_API_KEY", "secret")
        asks = here("sh -c 'echo $GEMINI_CLI $DOGU $GEMINI_API_KEY'", 'cmd /c "echo %GEMINI_CLI% %DOGU%"')
        assert (await fields(tools, asks))["Stdout"].strip() == "1 1"
        assert "secret" not in (await fields(tools, here("env", "set")))["Stdout"]


# Every example of the document: the settings, then the commands and whether they run.
EXAMPLES = {
    "allow_two": (
        {"coreTools": ["run_shell_command(git)", "run_shell_command(npm)"]},
        {"git status": True, "npm install": True, "ls -l": False},
    ),
    "block_rm": (
        {"coreTools": ["run_shell_command"], "excludeTools": ["run_shell_command(rm)"]},
        {"rm -rf /": False, "git status": True, "npm install": True},
    ),
    "deny_first": (
        {"coreTools": ["run_shell_command(git)"], "excludeTools": ["run_shell_command(git push)"]},
        {"git push origin main": False, "git status": True},
    ),
    "block_all": ({"excludeTools": ["run_shell_command"]}, {"ls -l": False, "echo any other": False}),
    "core": (
        {"coreTools": ["run_shell_command(git)"]},
        {"git log": True, "git": True, "gitevil": False, "rm -rf x": False},
    ),
    "core_wildcard": ({"coreTools": ["run_shell_command"]}, {"ls -l": True, "git log": True}),
    "exclude": ({"excludeTools": ["run_shell_command(rm)"]}, {"rm -rf x": False, "ls": True}),
    "chains": (
        {"coreTools": ["run_shell_command(git)"]},
        {
            "git status && git log": True,
            "git status && rm -rf x": False,
            "git status || rm -rf x": False,
            f"git status{AND} rm -rf x": False,
            f"git status{AND} git log": True,
        },
    ),
}


class TestRestrictions:
    @pytest.mark.requirement("shell.limit.settings")
    @pytest.mark.requirement("shell.limit.core")
    @pytest.mark.requirement("shell.limit.core.wildcard")
    @pytest.mark.requirement("shell.limit.exclude")
    @pytest.mark.requirement("shell.limit.chains")
    @pytest.mark.requirement("shell.limit.prefix")
    @pytest.mark.requirement("shell.limit.deny_first")
    @pytest.mark.requirement("shell.limit.example.allow_two")
    @pytest.mark.requirement("shell.limit.example.block_rm")
    @pytest.mark.requirement("shell.limit.example.deny_first")
    @pytest.mark.requirement("shell.limit.example.block_all")
    @pytest.mark.requirement("shell.limit.core_is_advised")
    @pytest.mark.parametrize("example", EXAMPLES)
    async def test_the_documents_examples(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: str) -> None:
        settings, commands = EXAMPLES[example]
        async with open_documented(tmp_path, json.dumps(settings)) as tools:
            monkeypatch.setenv("PATH", str(tools.root / "bin"), prepend=os.pathsep)
            for program in ("git", "npm", "rm", "ls", "gitevil"):
                os.chmod(tools.write(f"bin/{program}", '#!/bin/sh\necho "ran $*"\n'), 0o755)
                tools.write(f"bin/{program}.cmd", "@echo ran %*\r\n")
            for command, runs in commands.items():
                facts = CallFacts("run_shell_command", dogu.Kind.EXECUTE, command, str(tools.root))
                gate = tools.runtime.policy.decide(facts).gate
                assert (gate is Decision.DENY) is not runs, (command, gate)  # before it is called: it may be rm -rf /
                if runs:
                    assert "ran" in (await fields(tools, command))["Stdout"]
                else:
                    assert (await tools.error("run_shell_command", command=command))[0] == "refused"
            assert {str((question.call.args or {})["command"]) for question in tools.questions} <= {
                command for command, runs in commands.items() if runs
            }

    @pytest.mark.requirement("shell.limit.exclude_is_no_boundary")
    @pytest.mark.requirement("shell.limit.core_is_advised")
    async def test_who_writes_a_deny_list_is_told_that_it_is_no_boundary(self) -> None:
        page = await anyio.Path(__file__).parent.parent.parent.joinpath("docs", "settings.md").read_text("utf-8")
        told = " ".join(page.split())
        assert "`tools.exclude` is no boundary" in told
        assert "choose what may run with `tools.core`" in told

    @pytest.mark.requirement("shell.limit.example.block_all")
    async def test_an_excluded_tool_cannot_be_called(self, tmp_path: Path) -> None:
        async with open_documented(tmp_path, '{"excludeTools": ["run_shell_command"]}') as tools:
            assert "run_shell_command" not in tools.runtime.registry
            assert (await tools.error("run_shell_command", command="echo a"))[0] == "refused"

    @pytest.mark.requirement("shell.limit.settings")
    async def test_a_refused_command_does_not_run(self, tmp_path: Path) -> None:
        async with open_documented(tmp_path, '{"coreTools": ["run_shell_command(git)"]}') as tools:
            assert (await tools.error("run_shell_command", command="touch made"))[0] == "refused"
            assert tools.questions == []
            assert not (tools.root / "made").exists()
