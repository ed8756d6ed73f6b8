"""Windows' cmd.exe: what isn't plain is refused under a list and asked about without."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dogu.contract.tool import Kind
from dogu.contract.tool_names import SHELL_TOOL
from dogu.policy.commands.cmd_exe import judge_for_cmd, judge_for_powershell
from dogu.policy.decide import decide
from dogu.policy.explain import explain
from dogu.policy.narrow import narrow_rule
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode, CallFacts
from policy.judging import entries

UNKNOWN = [
    "for /f %i in (%X%) do del %i",
    "%COMSPEC% /c del x",
    "echo %PATH:a=& del x%",
    "call %1",
    "call :label",
    "dir\ndel x",
    "dir)",
    "(del x",
    "dir ^",
    "del^",
    "npm x ^& del y",
    "echo ^%PATH^% | cmd",
    "bin/del x",
    "cmd /v:on /c echo !X!",
    'cmd /c "C:\\a b\\del.exe"',
    "f^or x",
    "rem x & del x",
    ":x & del x",
    "copy\\del x",
    'git a"b""c" d',
    "del && ",
    "start /x del",
    "dir >n^ul",
    "git=x del",
    'start /b "del" x',
    "powershell dir`del",
    "cd %CD%",
    "for %i in (a b) do %i",
    "for %i in (a b) do cmd /c %i",
    "for %i in (a b) do for /f %j in ('%i') do echo x",
    "(dir) > nul&echo del",
    "if a==a title x (del y)",
    "if a==b title else (del y)",
    "for %i in (1) do title (del y)",
    'set "x y=& del z"& cmd /c echo %x y%',
    "s^et 1=x& cmd /c echo %1%",
    "for /f %i in ('echo %#%') do echo %i & set #=x",
    "echo %=C:%",
    "%COM^SPEC% /c del x",
    'cmd /c "dir src\\del.exe"',
    'cmd /c "git log /../del.exe"',
]
"""What can't be known: refused under a list of what may run, asked about otherwise."""

OTHERS = [
    "dir && del x",
    "dir & del x",
    "dir || del x",
    "dir | del x",
    "(del x)",
    "@del x",
    ",;= del x",
    "(dir & (del x)) > nul",
    "for %i in (x) do @del %i",
    "for /f \"tokens=1\" %i in ('del x') do dir",
    'for /f "usebackq" %i in (`del x`) do dir',
    "if exist x del x",
    "if not exist x (dir) else (del x)",
    'if /i "%OS%"=="x" del x',
    "if %ERRORLEVEL% NEQ 0 del x",
    "if errorlevel 1 del x",
    "d^el x",
    "call del x",
    "start /b del x",
    'start "del" /wait /d src del x',
    "cmd /c del x",
    'cmd.exe /d /s /c "dir & del x"',
    "2>nul del x",
    "dir > nul & del y",
    "dir 2>&1 & erase y",
    'dir "a & b" & DEL y',
    'dir "a\\" & del y',
    "dir ^& & del y",
    "dir 100% & del 5%",
    "dir & C:\\Windows\\System32\\del.exe x",
    'bash -c "del x"',
    "npx del",
]
"""What runs `del` besides `dir` or instead of it, and is seen to."""

PLAIN = [
    "dir",
    "dir /s/b & dir",
    "DIR && dir | dir || dir",
    "dir > nul 2>&1",
    "@dir",
    "(dir)",
    "dir &",
    "for %i in (a b) do dir",
    "for /l %i in (1,1,3) do @dir",
    "for /f %i in ('dir') do dir",
    "if exist x dir",
    'dir "a & b"',
    "dir 100% sure",
    "dir %20%3A",
    'dir "%USERPROFILE%\\x"',
    "call dir",
    'start "" /b dir',
    "rem anything",
]
"""What runs `dir` and nothing else."""


def gate(command: str, core: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> str:
    rules = Rules.from_lists(entries(core), entries(exclude))
    return str(judge_for_cmd(command, rules.shell_core(), rules.shell_exclude()).gate)


@pytest.mark.parametrize("command", UNKNOWN)
def test_what_cannot_be_known_is_refused_under_a_list_and_asked_about_without(command: str) -> None:
    assert gate(command, ["dir", "git", "npm", "echo", "cmd", "for", "del", "cd"]) in ("deny", "ask")
    assert gate(command, ["*"], ["shutdown"]) == "ask"
    assert gate(command, ["*"], ["del"]) in ("deny", "ask")


@pytest.mark.parametrize("command", OTHERS)
def test_every_command_of_a_line_is_found_wherever_it_stands(command: str) -> None:
    assert gate(command, ["dir", "cmd", "bash"]) in ("deny", "ask")
    assert gate(command, ["*"], ["del"]) == "deny"
    assert gate(command) == "allow"


@pytest.mark.parametrize("command", PLAIN)
def test_a_line_of_nothing_but_allowed_commands_passes(command: str) -> None:
    assert gate(command, ["dir"]) == "allow"
    assert gate(command, ["*"], ["del"]) == "allow"
    assert gate(command, ["echo"]) == ("allow" if command.startswith("rem") else "deny")


@pytest.mark.parametrize(
    "command", ["del x", "DEL x", "Del.EXE x", "erase x & del y", "C:\\tools\\del.exe x", 'd^e"l" x']
)
def test_an_excluded_program_is_refused_by_any_spelling_of_its_name(command: str) -> None:
    assert gate(command, None, ["del"]) == "deny"
    assert gate(command, ["*"], ["Del"]) == "deny"


def test_an_alias_is_excluded_with_its_command() -> None:
    assert gate("erase x", ["*"], ["del"]) == gate("del x", ["*"], ["erase"]) == "deny"
    assert gate("rmdir x", ["*"], ["rd"]) == gate("chdir x", ["*"], ["cd"]) == "deny"


@pytest.mark.parametrize("command", ["ri x", "del x", "erase x", "rd /s x", "cd src && RI x"])
def test_a_cmdlet_is_excluded_by_its_other_names(command: str) -> None:
    assert gate(command, exclude=["Remove-Item"]) == "deny"
    assert gate(command, exclude=["Get-Process"]) == "allow"


@pytest.mark.parametrize(
    "command", ["git status", "GIT status", "git.exe status", "git log --oneline", "git.cmd log", '"git" log']
)
def test_plain_words_of_an_allowed_program_pass(command: str) -> None:
    assert gate(command, ["git"]) == "allow"
    assert gate(command, ["npm"]) == "deny"
    assert gate(command) == "allow"


def test_arguments_that_run_or_write_are_asked_about_as_elsewhere() -> None:
    assert gate("git log --output=f", ["git"]) == gate("cd x && git log", ["cd", "git"]) == "ask"
    assert gate("git status > x", ["git"]) == gate('type f >> "%USERPROFILE%\\x.bat"', ["type"]) == "ask"
    assert gate("npm x > y", ["git"]) == "deny"
    assert gate("git -C C:\\x status", ["git"]) == gate("echo del x | cmd", ["echo", "cmd"]) == "ask"
    assert gate("C:\\x\\git status", ["git"]) == "deny"
    assert gate("git push", ["git log"]) == "deny"
    assert gate("git log x", ["git log"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "set path=",
        "set NoDefaultCurrentDirectoryInExePath=",
        "set ,;path=x",
        'set "  path=x"',
        "set /p pathext=",
        "set /p pathext=<a.txt",
        'set /a "x=1, comspec=2"',
        "set %OS%=x",
        "for /f %i in ('type a') do set %i",
        "for /f %i in ('type a') do set \"%i\"",
        "call set node_options=x",
    ],
)
def test_a_variable_that_changes_what_runs_is_asked_about_however_it_is_set(command: str) -> None:
    assert gate(command, ["set", "for", "type", "call"]) == gate(command, ["*"], ["del"]) == "ask"


@pytest.mark.parametrize(
    "command", ["set", "set path", "set x=%OS%", "set /a x=1+2", "set x=a, path=b", "set x=\\\\a\\b\\c"]
)
def test_another_variable_is_set_and_shown(command: str) -> None:
    assert gate(command, ["set"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "type \\\\server\\share\\x",
        "type //server/share/x",
        'type "\\\\server"\\share\\x',
        "dir \\\\?\\UNC\\server\\share",
        "dir /b\\\\server\\share\\x",
        "findstr /g:\\\\server\\share\\x y",
        "sort < \\\\server\\share\\x",
        "git clone \\\\server\\share\\x",
        "if exist \\\\server\\share\\x dir",
        "for %i in (\\\\server\\share\\*) do dir",
        "for /r \\\\server\\share\\x %i in (*) do dir",
        "for /f %i in (\\\\server\\share\\x) do dir",
        'start "" /d \\\\server\\share\\x dir',
    ],
)
def test_another_machine_is_reached_after_a_question_alone(command: str) -> None:
    assert gate(command, ["type", "dir", "findstr", "sort", "git", "cd"]) in ("ask", "deny")
    assert gate(command, ["*"], ["del"]) == "ask"


@pytest.mark.parametrize(
    "command",
    ["type src\\\\share\\x", 'findstr "//TODO" x', 'findstr "\\\\d" x', "dir \\\\?\\C:\\x", "echo \\\\server\\x\\y"],
)
def test_what_only_looks_like_another_machine_is_not_asked_about(command: str) -> None:
    assert gate(command, ["*"], ["del"]) == "allow"


def test_words_that_a_code_page_makes_others_of_are_asked_about() -> None:
    for word in ('"x\uff02 --output=y"', "\uff0d-output=y", '"x\u00a5"', "..\uff0fx"):
        assert gate(f"git log {word}", ["git"]) == "ask"
        assert gate(f"echo {word}", ["echo"]) == "allow"
    assert gate("git log --grep \u4fa1\u683c\u00a5100\u2014x", ["git"]) == "allow"


def test_the_folder_that_start_begins_in_is_one_that_is_gone_to() -> None:
    assert gate("start /d src git log", ["git"]) == "deny"
    assert gate("start /d src git log", ["git", "cd"]) == gate('start "" /d.. dir', ["dir", "cd"]) == "ask"
    assert gate('start "" /d src dir', ["dir", "cd"]) == "allow"


def test_the_shell_that_reads_the_command_decides_how_it_is_judged() -> None:
    rules = Rules.from_lists(["run_shell_command(git)"], None)
    for shell, decision in {"bash": "deny", "cmd": "allow"}.items():
        facts = CallFacts(SHELL_TOOL, Kind.EXECUTE, "GIT status", shell=shell)
        assert str(decide(facts, rules, ApprovalMode.YOLO).decision) == decision
    always = narrow_rule(CallFacts(SHELL_TOOL, Kind.EXECUTE, "GIT.exe status && dir", shell="cmd"))
    assert always is not None
    assert [part.words for part in always.parts] == [("git", "status"), ("dir",)]
    facts = CallFacts(SHELL_TOOL, Kind.EXECUTE, "dir /s & git status -s", shell="cmd")
    assert str(decide(facts, Rules(allowed=(always, *always.parts)), ApprovalMode.DEFAULT).decision) == "allow"
    assert narrow_rule(CallFacts(SHELL_TOOL, Kind.EXECUTE, "git status > %X%", shell="cmd")) is None
    assert str(explain("GIT status", rules, ApprovalMode.YOLO, "windows").gate) == "allow"
    assert str(explain("GIT status", rules, ApprovalMode.YOLO, "posix").gate) == "deny"


def test_a_rule_for_a_program_of_a_folder_means_that_one() -> None:
    assert gate(".\\build.bat x", [".\\build.bat"]) == gate(".\\BUILD x", ["./build.bat"]) == "allow"
    assert gate("build.bat x", [".\\build.bat"]) == gate("..\\build.bat x", [".\\build.bat"]) == "deny"


def test_of_powershell_plain_words_alone_are_known() -> None:
    def judged(command: str, *core: str) -> str:
        rules = Rules.from_lists(entries(core) if core else None, None)
        return str(judge_for_powershell(command, rules.shell_core(), ()).gate)

    assert judged("git log --oneline", "git") == judged("Get-ChildItem -Recurse src", "get-childitem") == "allow"
    for command in ("git log; del x", "git $(del x)", "git log | iex", "& git log", "git log > x", "curl x"):
        assert judged(command, "git", "iex", "curl") == "deny"
        assert judged(command) == "ask"
