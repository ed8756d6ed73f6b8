"""What shells run of programs made by chance, the judge has seen: the test that finds what no one thought of."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterator

import pytest

from dogu.policy.commands.judge import judge_command
from dogu.policy.rules import Rules
from policy.bash_programs import NAMES, Playground, Programs, is_safe

_EXCLUDE = {name: Rules.from_lists(None, [f"run_shell_command({name})"]).shell_exclude() for name in NAMES}
_BASH = shutil.which("bash") or ""
_PROGRAMS = 500  # the same on each machine; for more, a time is given
_BUDGET_S = float(os.environ.get("DOGU_FUZZ_S", "0"))
_SEED = int(os.environ.get("DOGU_FUZZ_SEED", "20250701"))


@pytest.fixture
def playground() -> Iterator[Playground]:
    made = Playground(_BASH)
    yield made
    made.close()


def passed(playground: Playground, program: Callable[[], str]) -> tuple[list[tuple[str, str]], int]:
    """What ran although it was excluded and the judge let it pass, and how many programs ran."""
    ended = time.monotonic() + _BUDGET_S
    made = count = 0
    found: list[tuple[str, str]] = []
    while made < _PROGRAMS or time.monotonic() < ended:
        made += 1
        text = program()
        allowed = {name for name in NAMES if judge_command(text, None, _EXCLUDE[name]).gate == "allow"}
        if not allowed or not is_safe(text):
            continue
        names, _ = playground.run(text)
        count += bool(names)
        found += [(name, text) for name in names & allowed]
    return found, count


@pytest.mark.skipif(not _BASH, reason="there is no bash")
@pytest.mark.timeout(int(_BUDGET_S) + 60)
def test_no_program_runs_that_the_judge_let_pass_although_it_was_excluded(playground: Playground) -> None:
    found, count = passed(playground, Programs(_SEED, playground.shells).program)
    assert found == []
    assert count > 0


@pytest.mark.skipif(not _BASH, reason="there is no bash")
@pytest.mark.timeout(int(_BUDGET_S) + 60)
def test_nor_does_one_in_a_text_for_another_shell(playground: Playground) -> None:
    found, count = passed(playground, Programs(_SEED, playground.shells).program_for_another)
    assert found == []
    assert count > 0


@pytest.mark.skipif(not _BASH, reason="there is no bash")
@pytest.mark.parametrize(
    "text",
    [
        "(( '$(rm)' ))",
        "echo ${x['$(rm)']}",
        "x=(['$(rm)']=1)",
        "[[ <(rm) == a ]]",
        "xargs -rn 1 rm <<< x",
        "exec -la x rm",
        "cat <<E\nEO\\\nF\n`rm`\nE",
        "y=abc; echo ${y:'$(rm)'}",
        "time -p -- rm",
        "case a in a) rm; esac",
        "{fd}>f rm",
        "env -S 'nice rm'",
        "env -Snice rm",
        '((: <<"E F"\n<(rm)\nE F\n) )',
        "env --split-string=nice rm",
        "env -S '-u x rm'",
        r"env -S 'nice\_rm'",
        r"printf '\162m' | sh",
        "nice rm; nice() { :; }",
        "(nice() { :; }); nice rm",
        "bash +B -c 'env -u {a,b} rm'",
        "set +B; env -u {a,b} rm",
        "bash -kc 'nice A=1 rm'",
        "bash -c -- rm",
    ],
)
def test_bash_runs_rm_and_the_judge_knows(text: str, playground: Playground) -> None:
    ran, errors = playground.run(text)
    assert "rm" in ran, errors
    assert judge_command(text, None, _EXCLUDE["rm"]).gate != "allow"


@pytest.mark.skipif(not _BASH, reason="there is no bash")
@pytest.mark.parametrize(
    ("shell", "text"),
    [
        ("dash", "! ((! rm))"),
        ("dash", "a=$'x\\'\nrm\n'"),
        ("dash", "a &>f rm"),
        ("dash", "env -u {a,b} rm"),
        ("dash", "nice -n 10>f rm"),
        ("dash", "env -u {v}>f rm"),
        ("dash", "[[ a || rm ]]"),
        ("dash", "echo $[ 1; rm ]"),
        ("dash", "eval '((rm))'"),
        ("mksh", "time>f -p eval rm"),
        ("mksh", "time A=1 -p eval rm"),
        ("zsh", "=rm"),
        ("zsh", "true; - rm"),
        ("zsh", "true && {rm\t,x}"),
        ("zsh", "noglob rm"),
        ("zsh", "repeat 1 rm"),
        ("zsh", "emulate sh -c rm"),
        ("zsh", ">! f rm"),
        ("zsh", "1=x rm"),
    ],
)
def test_another_shell_runs_rm_and_the_judge_knows(shell: str, text: str, playground: Playground) -> None:
    if shell not in playground.shells:
        pytest.skip(f"there is no {shell}")
    command = f"{shell} -c {shlex.quote(text)}"
    ran, errors = playground.run(command)
    assert "rm" in ran, errors
    assert judge_command(command, None, _EXCLUDE["rm"]).gate != "allow"
