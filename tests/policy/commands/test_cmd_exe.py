"""Windows' cmd.exe: what isn't plain is refused under a list and asked about without."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dogu.contract.tool import Kind
from dogu.contract.tool_names import SHELL_TOOL
from dogu.policy.commands.cmd_exe import judge_for_cmd
from dogu.policy.decide import decide
from dogu.policy.explain import explain
from dogu.policy.mode import ApprovalMode
from dogu.policy.rules import Rules
from dogu.policy.verdict import CallFacts
from policy.judging import entries

HARD = [
    "dir && del x",
    "dir & del x",
    "dir | del x",
    "(del x)",
    "@del x",
    "for %i in (x) do del %i",
    "if exist x del x",
    "d^el x",
    "%COMSPEC% /c del x",
    'd""el x',
    "call del x",
    "start del x",
    "cmd /c del x",
    "powershell -c del x",
    "dir\ndel x",
    "dir > x & del y",
    "dir `del x`",
    "dir;del x",
    "dir,del x",
    "",
]


def gate(command: str, core: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> str:
    rules = Rules.from_lists(entries(core), entries(exclude))
    return str(judge_for_cmd(command, rules.shell_core(), rules.shell_exclude()).gate)


@pytest.mark.parametrize("command", HARD)
def test_what_cannot_be_known_is_refused_under_a_list_and_asked_about_without(command: str) -> None:
    assert gate(command, ["dir"]) == "deny"
    assert gate(command, ["*"], ["del"]) == "deny"
    assert gate(command) == "ask"


@pytest.mark.parametrize(
    "command", ["del x", "DEL x", "Del.EXE x", "erase x & del y", "C:\\tools\\del.exe x", 'd^e"l" x']
)
def test_an_excluded_program_is_refused_by_any_spelling_of_its_name(command: str) -> None:
    assert gate(command, None, ["del"]) == "deny"
    assert gate(command, ["*"], ["Del"]) == "deny"


def test_under_a_list_of_exclusions_another_name_may_be_the_same_thing() -> None:
    assert gate("erase x", ["*"], ["del"]) == "ask"
    assert gate("ri x", None, ["Remove-Item"]) == "ask"


@pytest.mark.parametrize("command", ["git status", "GIT status", "git.exe status", "git log --oneline"])
def test_plain_words_of_an_allowed_program_pass(command: str) -> None:
    assert gate(command, ["git"]) == "allow"
    assert gate(command, ["npm"]) == "deny"
    assert gate(command) == "allow"


def test_arguments_that_run_or_write_are_asked_about_as_elsewhere() -> None:
    assert gate("git log --output=f", ["git"]) == "ask"
    assert gate("git status > x", ["git"]) == gate("type f >> %USERPROFILE%\\x.bat", ["type"]) == "ask"
    assert gate("npm x > y", ["git"]) == "deny"
    assert gate("C:\\x\\git status", ["git"]) == "deny"
    assert gate("git push", ["git log"]) == "deny"
    assert gate("git log x", ["git log"]) == "allow"


def test_the_shell_that_reads_the_command_decides_how_it_is_judged() -> None:
    rules = Rules.from_lists(["run_shell_command(git)"], None)
    for shell, decision in {"bash": "deny", "cmd": "allow"}.items():
        facts = CallFacts(SHELL_TOOL, Kind.EXECUTE, "GIT status", shell=shell)
        assert str(decide(facts, rules, ApprovalMode.YOLO).decision) == decision
    assert str(explain("GIT status", rules, ApprovalMode.YOLO, "windows").gate) == "allow"
    assert str(explain("GIT status", rules, ApprovalMode.YOLO, "posix").gate) == "deny"
