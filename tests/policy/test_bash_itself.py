"""What bash runs of programs made by chance, the judge has seen: the test that finds what no one thought of."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from dogu.policy.command_judge import judge_command
from dogu.policy.rules import Rules
from policy.bash_programs import NAMES, Playground, Programs, is_safe

_EXCLUDE = {name: Rules.from_lists(None, [f"run_shell_command({name})"]).shell_exclude() for name in NAMES}
_BASH = shutil.which("bash") or ""
_BUDGET_S = float(os.environ.get("DOGU_FUZZ_S", "4"))
_SEED = int(os.environ.get("DOGU_FUZZ_SEED", "20250701"))


@pytest.mark.skipif(not _BASH, reason="there is no bash")
@pytest.mark.timeout(int(_BUDGET_S) + 60)
def test_no_program_runs_that_the_judge_let_pass_although_it_was_excluded(tmp_path: Path) -> None:
    playground, programs = Playground(tmp_path / "fuzz", _BASH), Programs(_SEED)
    ended = time.monotonic() + _BUDGET_S
    ran = 0
    passed: list[tuple[str, str]] = []
    while time.monotonic() < ended:
        text = programs.program()
        if not is_safe(text):
            continue
        names, _ = playground.run(text)
        ran += len(names)
        passed += [(name, text) for name in names if judge_command(text, None, _EXCLUDE[name]).gate == "allow"]
    assert passed == []
    assert ran > 0


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
    ],
)
def test_bash_runs_rm_and_the_judge_knows(text: str, tmp_path: Path) -> None:
    ran, errors = Playground(tmp_path / "fuzz", _BASH).run(text)
    assert "rm" in ran, errors
    assert judge_command(text, None, _EXCLUDE["rm"]).gate != "allow"
