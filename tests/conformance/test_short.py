"""The short form of the conformance suite: one scenario as a client and one as a server, where it is installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conformance.peer import installed_peers
from conformance.test_client import passes_alone
from conformance.test_server import WITH_THE_SUITES, served

REVISIONS = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])


@REVISIONS
def test_a_client_s_scenario_passes(tmp_path: Path, revision: str) -> None:
    installed_peers()
    assert passes_alone("tools_call", revision, tmp_path)


@REVISIONS
def test_a_server_s_scenario_passes(tmp_path: Path, revision: str) -> None:
    words = [*installed_peers().conformance, "server", "--scenario", "tools-call-simple-text"]
    with served(tmp_path, *WITH_THE_SUITES) as url:
        words += ["--spec-version", revision, "--url", url, "-o", str(tmp_path / "results")]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
