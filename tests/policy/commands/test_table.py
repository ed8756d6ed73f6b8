"""The table of programs: what each block says of itself, and how it is written."""

from __future__ import annotations

from collections import Counter

from dogu.policy.commands.judge import judge_command
from dogu.policy.commands.patterns import kind
from dogu.policy.commands.table import all_programs
from dogu.policy.commands.values import KINDS
from policy.judging import gate


def programs(command: str) -> list[str]:
    """Every program that the command names, wrapped ones too."""
    return sorted({each.words[0] for each in judge_command(command, None, ()).commands} - {""})


def test_every_example_that_a_block_gives_is_covered_by_a_rule_for_its_programs() -> None:
    found = [each for program in all_programs() for each in program.examples("match")]
    assert len(found) > 100
    assert [each for each in found if gate(each, programs(each)) != "allow"] == []


def test_every_counterexample_is_not() -> None:
    found = [each for program in all_programs() for each in program.examples("not_match")]
    assert len(found) > 100
    assert [each for each in found if gate(each, programs(each)) == "allow"] == []


def test_every_program_stands_in_one_block() -> None:
    names = Counter(name for program in all_programs() for name in program.names)
    assert [name for name, count in names.items() if count > 1] == []


def test_every_block_can_be_read_to_its_last_subcommand() -> None:
    for program in all_programs():
        assert program.grammar is not None
        assert all(program.subcommand(name) is not None for name in program.subcommands())


def test_every_kind_of_value_that_is_named_is_known() -> None:
    named = {
        option.kind
        for program in all_programs()
        for grammar in program.grammars()
        for option in grammar.options.values()
    }
    operands = {
        each.removesuffix("...")
        for program in all_programs()
        for grammar in program.grammars()
        for each in grammar.operands
    }
    unknown = {
        each for each in named | operands if each not in KINDS and each[:1] not in ("{", "!", "") and kind(each) is None
    }
    assert unknown == set()


def test_an_option_that_is_not_in_the_table_is_asked_about() -> None:
    found = [program for program in all_programs() if program.effect is None and not program.is_harmless]
    asked = {
        program.names[0] for program in found if gate(f"{program.names[0]} --unheard-of=1", [program.names[0]]) == "ask"
    }
    assert {program.names[0] for program in found} - asked - {"builtin"} == set()
