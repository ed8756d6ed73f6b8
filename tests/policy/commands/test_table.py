"""The table of programs: what each block says of itself, and how it is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from dogu.policy.commands.cmd_exe import judge_for_cmd
from dogu.policy.commands.judge import judge_command
from dogu.policy.commands.patterns import kind
from dogu.policy.commands.table import Program, all_programs, blocks
from dogu.policy.commands.values import _CHECKS, _PLACED
from dogu.policy.rule import Rule
from dogu.policy.rules import Rules
from dogu.policy.verdict import Judgement
from policy.judging import entries

Judge = Callable[[str, tuple[Rule, ...] | None, tuple[Rule, ...]], Judgement]


def judge_of(program: Program) -> Judge:
    """The judge of the shell in which the program is called so."""
    return judge_for_cmd if program.names[0].startswith("cmd:") else judge_command


def is_covered(command: str, judge: Judge) -> bool:
    """Whether rules for every program that the command names, wrapped ones too, let it run."""
    named = sorted({each.words[0] for each in judge(command, None, ()).commands} - {""})
    return str(judge(command, Rules.from_lists(entries(named), None).shell_core(), ()).gate) == "allow"


def examples(key: str) -> list[tuple[str, Judge]]:
    return [(each, judge_of(program)) for program in all_programs() for each in program.examples(key)]


def test_every_example_that_a_block_gives_is_covered_by_a_rule_for_its_programs() -> None:
    found = examples("match")
    assert len(found) > 100
    assert [each for each, judge in found if not is_covered(each, judge)] == []


def test_every_counterexample_is_not() -> None:
    found = examples("not_match")
    assert len(found) > 100
    assert [each for each, judge in found if is_covered(each, judge)] == []


def test_a_block_is_found_by_its_names_whatever_is_said_behind_them() -> None:
    assert list(blocks("[[program]]\nnames = 'a b'  # two\noptions = '-x'\n")) == ["a", "b"]


@pytest.mark.parametrize(
    "head", ["[[program]]\noptions = ''\nnames = 'a'\n", '[[program]]\nnames = "a"\n', "[[program]]\n"]
)
def test_a_block_that_would_not_be_found_is_an_error(head: str) -> None:
    with pytest.raises(ValueError, match="begin with"):
        blocks(head)


def test_every_program_stands_in_one_block() -> None:
    names = Counter(name for program in all_programs() for name in program.names)
    assert [name for name, count in names.items() if count > 1] == []


def test_every_block_can_be_read_to_its_last_subcommand() -> None:
    for program in all_programs():
        assert program.grammar is not None
        assert all(program.subcommand(name) is not None for name in program.subcommands())


def test_every_row_says_what_its_operands_are() -> None:
    silent = [
        (program.names[0], name)
        for program in all_programs()
        if program.effect is None and not program.is_harmless
        for name in (program.subcommands() or [""])
        if (found := program.subcommand(name) if name else program.grammar) and not (found.operands or found.effect)
    ]
    assert silent == []


def test_what_is_kept_with_any_arguments_is_a_subcommand_that_is_known() -> None:
    unknown = [
        (program.names[0], name)
        for program in all_programs()
        for name in program.reads - {""}
        if (found := program.subcommand(name)) is None or found.effect is not None
    ]
    assert unknown == []


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
    elsewhere = "any rest handed format text passed_on file pattern repository host package command module sql config"
    known = {*_CHECKS, *_PLACED, *elsewhere.split()}
    unknown = {
        each for each in named | operands if each not in known and each[:1] not in ("{", "!", "") and kind(each) is None
    }
    assert unknown == set()


def test_an_option_that_is_not_in_the_table_is_asked_about() -> None:
    found = [program for program in all_programs() if program.effect is None and not program.is_harmless]
    loose = [
        program.names[0] for program in found if is_covered(f"{name_of(program)} --unheard-of=1", judge_of(program))
    ]
    assert set(loose) <= {"builtin", "time"}  # what stands behind these is a command


def name_of(program: Program) -> str:
    return program.names[0].removeprefix("cmd:")
