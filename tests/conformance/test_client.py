"""The conformance suite against dogu as a client: every scenario that counts for a revision passes.

It runs `client.py` beside this file once a scenario, which has the shipped program log in and call the tools. Source:
https://github.com/modelcontextprotocol/conformance; skipped where npm can't give it. `make conformance` runs it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.peer import peers

CLIENT = Path(__file__).parent / "client.py"
SOURCES = CLIENT.parents[2] / "src"


def passes_alone(scenario: str, revision: str, folder: Path) -> bool:
    """Run one scenario by itself: all at once they overrun the suite's own time limits on a busy machine."""
    command = [*peers().conformance, "client", "--command", f"{sys.executable} {CLIENT}", "--scenario", scenario]
    done = subprocess.run(
        [*command, "--spec-version", revision, "--force", "--timeout", "120000", "-o", str(folder / "alone")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCES), "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    return done.returncode == 0 and "OVERALL: PASSED" in done.stdout + done.stderr  # a skipped one is no success


@pytest.mark.conformance
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("revision", "scored"), [("2025-11-25", 18), ("2026-07-28", 32)])
def test_every_scored_scenario_passes(tmp_path: Path, revision: str, scored: int):
    suite = peers().conformance
    command = [*suite, "client", "--command", f"{sys.executable} {CLIENT}", "--requirements", revision]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "HOME": str(tmp_path)}
    done = subprocess.run(
        [*command, "--timeout", "120000", "-o", str(tmp_path / "results")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    summary = plain.partition("=== SUITE SUMMARY ===")[2]
    results = {name: mark for mark, name in re.findall(r"^([✓✗]) (\S+):", summary, re.MULTILINE)}
    unscored = set(re.findall(r"^ +[✓✗] (\S+) \(", summary, re.MULTILINE))
    failed = [name for name, mark in results.items() if mark == "✗" and name not in unscored]
    assert len(results.keys() - unscored) == scored, plain[-3000:]
    assert [name for name in failed if not passes_alone(name, revision, tmp_path)] == [], summary


UNSCORED = """client-credentials-jwt client-credentials-basic enterprise-managed-authorization wif-jwt-bearer dpop
    dpop-nonce"""


@pytest.mark.conformance
@pytest.mark.timeout(180)
@pytest.mark.parametrize("scenario", UNSCORED.split())
def test_each_extension_of_logins_passes(tmp_path: Path, scenario: str):
    assert passes_alone(f"auth/{scenario}", "2026-07-28", tmp_path)


@pytest.mark.conformance
@pytest.mark.timeout(180)
@pytest.mark.parametrize("scenario", ["metadata-backcompat", "endpoint-fallback"])
def test_logins_of_2025_03_26_still_pass(tmp_path: Path, scenario: str):
    assert passes_alone(f"auth/2025-03-26-oauth-{scenario}", "2025-03-26", tmp_path)
