"""The conformance suite against dogu as a server: every scenario that counts for a revision passes.

The server is the program, `dogu mcp --http --with server.py`: the file beside this one has the tools and offers that the
scenarios call. Those that ask for no such tool are also run against the program as it comes. Source:
https://github.com/modelcontextprotocol/conformance; skipped where npm can't give it. `make conformance` runs it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance.peer import peers
from conformance.server import TOOLS

SERVER = Path(__file__).parent / "server.py"
WITH_THE_SUITES = ("--with", str(SERVER), "--task-after", "0.3")
SOURCES = SERVER.parents[2] / "src"


SHIPPED = {
    "2025-11-25": """server-initialize logging-set-level ping completion-complete tools-list tools-call-simple-text
        tools-call-error server-sse-multiple-streams resources-list resources-subscribe resources-unsubscribe
        prompts-list dns-rebinding-protection server-session-lifecycle""",
    "2026-07-28": """completion-complete tools-list tools-call-simple-text tools-call-error server-sse-multiple-streams
        resources-list sep-2164-resource-not-found prompts-list dns-rebinding-protection caching http-header-validation
        input-required-result-missing-input-response input-required-result-unsupported-methods
        input-required-result-ignore-extra-params input-required-result-validate-input""",
}


@contextmanager
def served(home: Path, *words: str) -> Generator[str]:
    """Serve by the program, with these words behind its `mcp --http 0`; give the address."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "HOME": str(home)}
    command = [sys.executable, "-m", "dogu", "mcp", "--http", "0", *words]
    with (
        (home / "log").open("wb") as log,
        subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=log, cwd=home) as process,
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
@pytest.mark.parametrize("rooted", [False, True])
def test_every_scored_scenario_passes(tmp_path: Path, revision: str, scored: int, rooted: bool):
    marks, unscored, done = _run(tmp_path, revision, *WITH_THE_SUITES, *(["--root", str(tmp_path)] if rooted else []))
    failed = [name for name, mark in marks.items() if mark == "✗" and name not in unscored]
    assert failed == [], (tmp_path / "told").read_text()[-6000:]
    assert len(marks.keys() - unscored) == scored
    assert done == 0


@pytest.mark.conformance
@pytest.mark.timeout(240)
@pytest.mark.parametrize("revision", SHIPPED)
@pytest.mark.parametrize("rooted", [False, True])
def test_the_shipped_program_passes_what_asks_for_no_tool_of_the_suite(tmp_path: Path, revision: str, rooted: bool):
    marks, _, _ = _run(tmp_path, revision, *(["--root", str(tmp_path)] if rooted else []))
    assert [name for name in SHIPPED[revision].split() if marks[name] != "✓"] == []


OF_A_SERVER = {
    "2025-11-25": """tools-call-image tools-call-audio tools-call-with-progress tools-call-elicitation
        elicitation-sep1034-defaults elicitation-sep1330-enums json-schema-2020-12""",
    "2026-07-28": """tools-call-image tools-call-audio tools-call-with-progress json-schema-2020-12
        http-header-validation http-custom-header-server-validation""",
}


@pytest.mark.conformance
@pytest.mark.timeout(240)
@pytest.mark.parametrize("revision", OF_A_SERVER)
def test_the_shipped_program_passes_with_tools_of_a_server_of_the_users(tmp_path: Path, revision: str):
    """The suite asks for tools by names of its own: in its copy here they have the server's alias before them."""
    (tmp_path / "elsewhere").mkdir()
    words = ["-m", "dogu", "mcp", "--root", str(tmp_path / "elsewhere"), *WITH_THE_SUITES]
    server = {"command": sys.executable, "args": words, "trust": True}
    (tmp_path / ".dogu").mkdir()
    (tmp_path / ".dogu" / "settings.json").write_text(json.dumps({"mcpServers": {"suite": server}}))
    marks, _, _ = _run(tmp_path, revision, "--root", str(tmp_path), suite=_renamed(tmp_path / "suite"))
    assert [name for name in OF_A_SERVER[revision].split() if marks[name] != "✓"] == []


def _renamed(folder: Path) -> list[str]:
    """Copy the suite with the server's alias before the names of tools."""
    node, program = peers().conformance
    shutil.copytree(Path(program).parents[1], folder)
    (folder / "node_modules").symlink_to(Path(program).parents[3])
    copy = folder / "dist" / "index.js"
    names = rf"\b({'|'.join(TOOLS)}|json_schema_2020_12_tool|test_header_tool)\b"
    copy.write_text(re.sub(names, r"suite__\1", copy.read_text(encoding="utf-8")), encoding="utf-8")
    return [node, str(copy)]


UNSCORED = """json-schema-2020-12 server-sse-polling http-custom-header-server-validation tasks-lifecycle
    tasks-capability-negotiation tasks-wire-fields tasks-request-state-removal tasks-mrtr-input tasks-request-headers tasks-dispatch-and-envelope
    tasks-required-task-error tasks-mrtr-composition"""


@pytest.mark.conformance
@pytest.mark.timeout(240)
def test_each_extension_that_is_offered_passes(tmp_path: Path):
    suite = peers().conformance
    failed: list[str] = []
    with served(tmp_path, *WITH_THE_SUITES) as url:
        for name in UNSCORED.split():
            words = ["server", "--url", url, "--scenario", name, "-o", str(tmp_path / "results")]
            done = subprocess.run(
                [*suite, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
            )
            if done.returncode or ", 0 failed, 0 warnings" not in done.stdout:
                failed.append(name + done.stdout[-2000:] + done.stderr[-500:])
    assert failed == []


@pytest.mark.conformance
def test_the_page_says_of_each_unscored_scenario_how_it_is(tmp_path: Path):
    suite = peers()
    listed = subprocess.run([*suite.conformance, "list"], capture_output=True, text=True, timeout=60, check=True).stdout
    page = (SOURCES.parent / "docs" / "mcp.md").read_text(encoding="utf-8").partition("## The conformance suite")[2]
    scored = set().union(*(suite.scored(revision) for revision in SHIPPED))
    named = set(re.findall(r"^  - (\S+) ", listed, re.MULTILINE))
    assert len(named) > 100
    assert {name for name in named - scored if f"`{name}`" not in page} == set()


def _run(
    folder: Path, revision: str, *words: str, suite: list[str] | None = None
) -> tuple[dict[str, str], set[str], int]:
    """Run the suite; return each scenario's mark, those that don't count, and the suite's status."""
    with served(folder, *words) as url:
        done = subprocess.run(
            [
                *(suite or peers().conformance),
                "server",
                "--url",
                url,
                "--requirements",
                revision,
                "-o",
                str(folder / "results"),
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=220,
            check=False,
        )
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    (folder / "told").write_text(plain)
    summary = plain.partition("=== SUMMARY ===")[2]
    marks = {name: mark for mark, name in re.findall(r"^([✓✗]) (\S+):", summary, re.MULTILINE)}
    return marks, set(re.findall(r"^ +[✓✗] (\S+) \(", summary, re.MULTILINE)), done.returncode
