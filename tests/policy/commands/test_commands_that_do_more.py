"""What makes well-known programs run another one or write a file is asked about, each with its reason."""

from __future__ import annotations

import pytest

from dogu.policy.commands.judge import judge_command
from policy.commands_that_do_more import RUNS, WRITES, lines
from policy.judging import gate

_RUNS, _WRITES = lines(RUNS), lines(WRITES)
_HIDDEN = [each for each in _RUNS if "make" in each and each.split()[0] != "make"]


def programs(command: str) -> list[str]:
    """Every program that the command names, wrapped ones too."""
    return sorted({each.words[0] for each in judge_command(command, None, ()).commands} - {""})


@pytest.mark.parametrize("command", _RUNS)
def test_a_rule_that_names_a_program_does_not_cover_what_it_runs(command: str) -> None:
    assert gate(command, [command.split(maxsplit=1)[0]]) != "allow"


@pytest.mark.parametrize("command", _HIDDEN)
def test_an_excluded_program_is_not_run_by_another(command: str) -> None:
    assert gate(command, None, ["make"]) != "allow"


@pytest.mark.parametrize("command", _WRITES)
def test_a_rule_that_names_a_program_does_not_cover_what_it_overwrites(command: str) -> None:
    assert gate(command, programs(command)) != "allow"


@pytest.mark.parametrize(
    "command",
    [
        "unshare --kill-child make",
        "strace --decode-fds make",
        "perf record -g make",
        "rlwrap -p make",
        "mise exec node@20 -- make x",
        "mise x -c 'make x'",
        "script -q /dev/null make",
        "script -qc 'make x' /dev/null",
        "chroot --userspec 1:1 / make",
        "setpriv --euid 1 make",
        "npm exec -- make",
        "op run --env-file x -- make",
        "aws-vault exec p -- make",
        "parallel --plus make ::: x",
        "parallel --env X make ::: x",
        "uv run --index x make",
        "xargs --process-slot-var X make",
        "sudo --role x make",
        "rustup run stable make",
        "opam exec -- make",
    ],
)
def test_options_of_a_wrapper_hide_no_program(command: str) -> None:
    assert gate(command, None, ["make"]) == "deny"


@pytest.mark.parametrize(
    "nested", ["npm exec -- ", "poetry run npm exec -- ", "uv run ", "env -S env ", "mise exec node@20 -- ", "nice "]
)
def test_wrappers_around_wrappers_are_followed_so_far_and_never_twice(nested: str) -> None:
    judged = judge_command(nested * 300 + "make", None, ())
    assert len(judged.commands) < 50
    assert gate(nested * 300 + "make", None, ["make"]) != "allow"
