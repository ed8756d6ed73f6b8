"""A defect of our own in the midst of a run: one result row, the status that says whose fault it is, and a session that
goes on."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call
from e2e.program import Program

_BROKEN = """
import importlib, os, sys
module, _, path = sys.argv[1].partition(":")
owner, name = importlib.import_module(module), path.rpartition(".")[2]
for each in path.split(".")[:-1]:
    owner = getattr(owner, each)
works, when = getattr(owner, name), sys.argv[2]
def broken(*args, **kwargs):
    if not when or os.path.exists(when):
        raise RuntimeError("a wheel came off")
    return works(*args, **kwargs)
setattr(owner, name, broken)
del sys.argv[1:3]
from dogu.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("place", "reason", "is_written"),
    [
        pytest.param("dogu.tools.glob:Glob.execute", "tool_failed", True, id="a tool"),
        pytest.param("dogu.policy.policy:Policy.decide", "tool_failed", True, id="the policy"),
        pytest.param("dogu.agent.session.live:Session.event", "failed", True, id="the record"),
        pytest.param("dogu.serve.run_printers:_StreamPrinter.event", "failed", False, id="the events' printer"),
        pytest.param("dogu.models.gemini:GeminiAnswer.absorb", "failed", True, id="the wire"),
        pytest.param("dogu.agent.history:History.answer", "failed", True, id="the history"),
        pytest.param("dogu.agent.budget:Meter.add", "failed", False, id="the meter"),
    ],
)
def test_a_defect_in_the_midst_of_a_run_is_told_as_ours_and_costs_no_session(
    program: Program, place: str, reason: str, is_written: bool
):
    file = program.root / "b.txt"
    calls = [call("write_file", file_path=str(file), content="hi\n"), call("glob", pattern="*")]
    when, words = str(file) if is_written else "", ["--approval-mode", "yolo", "--output-format", "stream-json"]
    with FakeGemini([Turn(text="Looking.", calls=calls), "Done."]) as server:
        environ = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        done = subprocess.run(
            [sys.executable, "-c", _BROKEN, place, when, "-p", "go", *words],
            cwd=program.root,
            env=program.environ(**environ),
            capture_output=True,
            timeout=60,
            check=False,
        )
    results = [row for row in map(json.loads, done.stdout.splitlines()) if row["type"] == "result"]
    assert len(results) == 1
    (row,) = results
    assert (done.returncode, row["exit_code"], row["reason"], row["can_retry"]) == (70, 70, reason, False)
    assert row["error"]["type"] == "defect"
    assert b"Traceback" not in done.stderr
    assert [change["path"] for change in row["changes"]] == ([str(file)] if is_written else [])
    assert file.exists() == is_written
    with FakeGemini(["Here again."]) as server:
        again = program.run("-p", "go on", "--resume", environ={**environ, "GOOGLE_GEMINI_BASE_URL": server.base_url})
        assert server.problems == []
    assert (again.returncode, again.stdout) == (0, b"Here again.\n")
