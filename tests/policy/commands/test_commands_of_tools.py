"""Tools that agents use: their ordinary commands pass, and what is more than their program is asked about."""

from __future__ import annotations

from dogu.policy.commands.judge import judge_command
from policy.commands_of_tools import MORE_THAN_THEIR_PROGRAM, ORDINARY
from policy.commands_that_do_more import lines
from policy.judging import gate


def programs(command: str) -> list[str]:
    """Every program that the command names, wrapped ones too."""
    return sorted({each.words[0] for each in judge_command(command, None, ()).commands} - {""})


def test_a_list_of_programs_covers_their_ordinary_use() -> None:
    assert [each for each in lines(ORDINARY) if gate(each, programs(each)) != "allow"] == []


def test_a_list_that_excludes_another_program_stops_none_of_it() -> None:
    assert [each for each in lines(ORDINARY) if gate(each, ["*"], ["shutdown", "git push --mirror"]) != "allow"] == []


def test_a_rule_that_names_a_program_does_not_cover_what_is_more_than_it() -> None:
    named = {each: each.split(maxsplit=1)[0] for each in lines(MORE_THAN_THEIR_PROGRAM)}
    assert [each for each, program in named.items() if gate(each, [program]) == "allow"] == []
