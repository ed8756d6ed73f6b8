"""The files for CI that `docs/headless.md` offers: their steps, run as they are printed."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call
from e2e.program import Program, ready_program

_CI = Path(__file__).parents[2] / "examples" / "ci"
_INSTALLS = "pipx install dogu-agent"


@pytest.fixture
def repository(program: Program) -> str:
    """A repository with one commit and a change on top, and `dogu` on PATH; return the first commit."""
    bin_folder = program.home / "bin"
    bin_folder.mkdir()
    (bin_folder / "dogu").write_text(f'#!/bin/sh\nexec {shlex.join(ready_program())} "$@"\n')
    (bin_folder / "dogu").chmod(0o755)
    program.settle('{"model": {"retryFor": 0}}')
    run(program, "git init -q && echo one > a.txt && git add -A && git commit -qm one")
    base = run(program, "git rev-parse HEAD").stdout.decode().strip()
    run(program, "echo two > a.txt && git commit -qam two")
    return base


def run(
    program: Program, script: str, server: FakeGemini | None = None, **more: str
) -> subprocess.CompletedProcess[bytes]:
    who = {f"GIT_{role}_{what}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    served = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": server.base_url} if server else {}
    path = f"{program.home}/bin:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=program.root,
        env=program.environ(PATH=path, **who, **served, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


def steps() -> list[str]:
    workflow = cast("dict[str, Any]", yaml.safe_load((_CI / "review.yml").read_text()))
    scripts = [step["run"] for step in workflow["jobs"]["review"]["steps"] if "run" in step]
    assert _INSTALLS in scripts[0]
    return scripts[1:]


@pytest.mark.parametrize("failures", [0, 1])
def test_the_workflow_reviews_a_change_and_tries_again_what_failed_for_now(
    program: Program, repository: str, failures: int
):
    summary = program.home / "summary.md"
    with FakeGemini([*[Turn(fault="e503")] * failures, Turn(text="a.txt:1 says two.")]) as server:
        for step in steps():
            done = run(program, step, server, BASE=repository, GITHUB_STEP_SUMMARY=str(summary), RETRY_AFTER="0")
            assert done.returncode == 0, done.stderr
        assert "+two" in server.requests[-1].prompt
    assert summary.read_text().startswith("a.txt:1 says two.\n\ndone, 1 requests")


def test_the_workflow_fails_for_good_where_the_key_is_refused(program: Program, repository: str):
    summary = program.home / "summary.md"
    review, show = steps()
    with FakeGemini([Turn(fault="e403")]) as server:
        assert run(program, review, server, BASE=repository).returncode == 41
        assert len(server.requests) == 1
    assert run(program, show, GITHUB_STEP_SUMMARY=str(summary)).returncode == 0
    assert "credentials" in summary.read_text()


@pytest.mark.parametrize(
    ("turn", "code", "said"),
    [
        (Turn(calls=[call("final_answer", bugs=[])]), 0, ""),
        (Turn(calls=[call("final_answer", bugs=["a.txt:1 is wrong"])]), 1, "a.txt:1 is wrong"),
        (Turn(fault="e503"), 0, "could not look"),
    ],
)
def test_the_hook_stops_a_commit_with_a_bug_and_no_other(
    program: Program, repository: str, turn: Turn, code: int, said: str
):
    hook = program.root / ".git" / "hooks" / "pre-commit"
    hook.write_bytes((_CI / "pre-commit").read_bytes())
    hook.chmod(0o755)
    with FakeGemini([turn]) as server:
        done = run(program, "echo three > a.txt; git commit -qam three", server)
        assert "+three" in server.requests[0].prompt
    assert done.returncode == code, done.stderr
    assert said in done.stderr.decode()
