"""What the gate says of commands, category by category."""

from __future__ import annotations

import pytest

from policy.commands_under_lists import ROWS
from policy.commands_without_rm import MAY_RUN_RM, RUNS_NO_RM, RUNS_RM
from policy.judging import gate, without_rm


@pytest.mark.parametrize("command", RUNS_RM)
def test_an_excluded_program_is_refused_wherever_bash_would_run_it(command: str) -> None:
    assert without_rm(command) == "deny"


@pytest.mark.parametrize("command", MAY_RUN_RM)
def test_what_might_be_an_excluded_program_is_asked_about(command: str) -> None:
    assert without_rm(command) == "ask"


@pytest.mark.parametrize("command", RUNS_NO_RM)
def test_an_excluded_name_that_is_only_data_stops_nothing(command: str) -> None:
    assert without_rm(command) == "allow"


@pytest.mark.parametrize(
    ("core", "expected", "command"), [(core, gate, command) for core, gate, commands in ROWS for command in commands]
)
def test_a_list_of_programs_covers_their_ordinary_use(core: list[str], expected: str, command: str) -> None:
    assert gate(command, core) == expected


@pytest.mark.parametrize("program", ["git", "find", "curl", "python3", "sed", "npm", "ls"])
def test_without_lists_everything_that_can_be_read_passes(program: str) -> None:
    assert gate(f"{program} x > out && FOO=1 {program} -i y | tee z; rm -rf build") == "allow"
    assert gate(f'{program} "$X"; for i in *; do {program} "$i"; done') == "allow"


@pytest.mark.parametrize("command", ["$X y", "a@(b|c)", "f $'\\x{41}'"])
def test_without_lists_only_what_cannot_be_known_is_asked_about(command: str) -> None:
    assert gate(command) == "ask"


def test_two_thousand_nested_substitutions_take_no_time_and_do_not_pass() -> None:
    assert gate("echo " + "$(echo " * 2_000 + ")" * 2_000, ["echo"]) in ("deny", "ask")


@pytest.mark.parametrize(
    ("open_", "close"), [("( ", " )"), ("{ ", "; }"), ("if ", "; then :; fi"), ("( ( ", " ) )"), ("[[ (", ") ]]")]
)
def test_two_thousand_nested_groups_do_not_pass(open_: str, close: str) -> None:
    assert gate(open_ * 2_000 + "rm x" + close * 2_000, ["*"], ["rm"]) in ("deny", "ask")


@pytest.mark.parametrize(
    "bomb", ["{a,b}" * 18, "{1..100000000}", "{" * 3_000 + "," * 3_000 + "}" * 3_000, "{a,b," * 40 + "}" * 40]
)
def test_a_bomb_of_braces_is_bounded_and_does_not_pass_under_a_list(bomb: str) -> None:
    assert gate(f"echo {bomb}", ["echo"]) in ("ask", "allow" if "," not in bomb or bomb.startswith("{{") else "ask")


def test_the_last_of_many_commands_counts_as_the_first() -> None:
    assert gate("git status; " * 500 + "rm x", ["git"]) == "deny"
    assert gate("git status; " * 500 + "git log", ["git"]) == "allow"
