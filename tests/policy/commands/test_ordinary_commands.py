"""What agents run all day isn't stopped: a restriction is for what it names."""

from __future__ import annotations

import pytest

from dogu.policy.commands.judge import judge_command
from policy.judging import gate
from policy.ordinary_commands import LOOKING, MIXED, WORKING, lines

_NAMED = [*lines(LOOKING), *lines(WORKING)]
_ALL = [*_NAMED, *lines(MIXED)]
_PROGRAMS = sorted({each.words[0] for command in _ALL for each in judge_command(command, None, ()).commands} - {""})
_ASKED = {  # these run what isn't seen, or lead out of the project: a list of programs doesn't answer for them
    "docker build -t app .",
    "docker compose up -d",
    "bash scripts/setup.sh",
    "ln -s ../shared lib",
}


def test_there_are_enough_of_them() -> None:
    assert len(_NAMED) > 300
    assert len(_ASKED) <= len(_NAMED) // 100


@pytest.mark.parametrize("command", _ALL)
def test_without_lists_no_ordinary_command_is_stopped(command: str) -> None:
    assert gate(command) == "allow"


@pytest.mark.parametrize("command", [each for each in _NAMED if each not in _ASKED])
def test_a_list_of_programs_covers_what_they_are_for(command: str) -> None:
    assert gate(command, _PROGRAMS) == "allow"


@pytest.mark.parametrize("command", [each for each in _NAMED if each not in _ASKED])
def test_a_program_that_is_excluded_stops_no_other(command: str) -> None:
    assert gate(command, None, ["shutdown"]) == "allow"
    assert gate(command, ["*"], ["shutdown", "git filter-branch"]) == "allow"


@pytest.mark.parametrize("command", lines(MIXED))
def test_what_is_more_than_its_program_is_no_refusal(command: str) -> None:
    assert gate(command, _PROGRAMS) in ("allow", "ask")
