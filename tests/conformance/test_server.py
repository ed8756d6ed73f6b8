"""The conformance suite against dogu as a server: every scenario that counts for a revision passes.

The server is `server.py` beside this file, made of dogu's own tools, offers and MCP door. Source:
https://github.com/modelcontextprotocol/conformance; skipped where npm can't give it. `make conformance` runs it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance.peer import peers

SERVER = Path(__file__).parent / "server.py"
SOURCES = SERVER.parents[2] / "src"


@contextmanager
def served(home: Path) -> Generator[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "HOME": str(home)}
    with (
        (home / "log").open("wb") as log,
        subprocess.Popen([sys.executable, str(SERVER)], env=environment, stderr=subprocess.PIPE, stdout=log) as process,
    ):
        assert process.stderr is not None
        try:
            line = process.stderr.readline().decode()
            found = re.search(r"http://\S+/mcp", line)
            assert found is not None, line + process.stderr.read().decode()
            yield found[0]
        finally:
            process.send_signal(signal.SIGTERM)
            process.stderr.read()
            process.wait(20)


@pytest.mark.conformance
@pytest.mark.timeout(240)
@pytest.mark.parametrize(("revision", "scored"), [("2025-11-25", 30), ("2026-07-28", 37)])
def test_every_scored_scenario_passes(tmp_path: Path, revision: str, scored: int):
    suite = peers().conformance
    with served(tmp_path) as url:
        done = subprocess.run(
            [*suite, "server", "--url", url, "--requirements", revision, "-o", str(tmp_path / "results")],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=220,
            check=False,
        )
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    (tmp_path / "told").write_text(plain)
    summary = plain.partition("=== SUMMARY ===")[2]
    results = {name: mark for mark, name in re.findall(r"^([✓✗]) (\S+):", summary, re.MULTILINE)}
    unscored = set(re.findall(r"^ +[✓✗] (\S+) \(", summary, re.MULTILINE))
    failed = [name for name, mark in results.items() if mark == "✗" and name not in unscored]
    assert failed == [], plain[-6000:]
    assert len(results.keys() - unscored) == scored, summary
    assert done.returncode == 0
