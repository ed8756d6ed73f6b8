"""SIGKILL at any time: `dogu --resume` goes on, the record is whole, nothing ran twice, no child is left."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from dogu.workspace.system import IS_LINUX
from e2e.program import PROGRAM, Program

_UNDONE_TOO = () if IS_LINUX else ("--unsure",)  # elsewhere nothing tells who changed what a command ran beside

COMMAND = "echo $$ >> pids; echo ran >> log; sleep 0.2; echo ended >> log"
LINES = 14  # what a whole run prints, as lines of JSON
SEEDS = range(2)
KILLS = 6


def script(request: GeminiRequest) -> Turn | str:
    answered = [
        part["functionResponse"]["name"]
        for content in request.contents
        for part in content.get("parts", ())
        if "functionResponse" in part
    ]
    if "run_shell_command" in answered:
        return Turn(text="All of it is done.", pieces=3)
    if "write_file" in answered:
        return Turn(text="Now I run it.", pieces=2, calls=[call("run_shell_command", command=COMMAND)])
    return Turn(text="I write it.", pieces=2, calls=[call("write_file", file_path="a.txt", content="written\n")])


def run_killed_after(program: Program, environ: dict[str, str], lines: int) -> None:
    words = ["-p", "do it", "--approval-mode", "yolo", "--output-format", "stream-json"]
    process = subprocess.Popen(
        [*PROGRAM, *words],
        cwd=program.root,
        env=program.environ(**environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    for _ in range(lines):
        if not process.stdout.readline():
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def assert_it_can_be_sent(contents: list[dict[str, Any]]) -> None:
    roles = [content["role"] for content in contents]
    assert roles == (["user", "model"] * len(roles))[: len(roles)]
    for at, content in enumerate(contents):
        asked = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
        if asked:
            answers = [part["functionResponse"]["name"] for part in contents[at + 1]["parts"][: len(asked)]]
            assert answers == asked


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail(f"process {pid} is still there")


@pytest.mark.parametrize("lines", range(2, LINES, 2))
def test_killed_at_any_time_it_goes_on_and_nothing_runs_twice(program: Program, lines: int):
    with FakeGemini(script) as server:
        environ = {"GEMINI_API_KEY": "a-key-of-the-test", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        run_killed_after(program, environ, lines)
        before = len(server.requests)
        resumed = program.run(
            "--resume", "-p", "go on", "--approval-mode", "yolo", "--output-format", "json", environ=environ
        )
        assert resumed.returncode == 0, resumed.stderr
        for request in server.requests[before:]:
            assert_it_can_be_sent(request.contents)
    assert "All of it is done." in json.loads(resumed.stdout)["response"]
    pids = program.root / "pids"
    for pid in pids.read_text().split() if pids.exists() else []:
        wait_until_gone(int(pid))
    log = program.root / "log"
    assert (log.read_text() if log.exists() else "").count("ran") <= 1  # not run again, though it was cut short
    (folder,) = (program.home / ".dogu" / "sessions").iterdir()
    assert program.run("sessions", "verify").returncode == 0
    assert b"a-key-of-the-test" not in (folder / "record.jsonl").read_bytes()
    assert no_temporary_file(program.root)
    assert program.run("undo", "--turn", *_UNDONE_TOO).returncode == 0


def run_killed_when_recorded(program: Program, environ: dict[str, str], words: list[str], more_bytes: int) -> None:
    """Kill it when its record has so many bytes more than it had, or let it end."""
    folders = program.home / ".dogu" / "sessions"

    def recorded() -> int:
        return sum(record.stat().st_size for record in folders.glob("*/record.jsonl"))

    enough = recorded() + more_bytes
    process = subprocess.Popen(
        [*PROGRAM, *words, "--approval-mode", "yolo"],
        cwd=program.root,
        env=program.environ(**environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while process.poll() is None and recorded() < enough:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_random_again_and_again_also_while_resuming_it_goes_on(program: Program, seed: int):
    chance = random.Random(seed)

    def scripted(request: GeminiRequest) -> Turn | str:
        if chance.random() < 0.3:
            return Turn(text="Said in pieces.", pieces=4)
        command = f"echo $$ >> pids; echo {chance.randrange(100)} > b.txt; sleep 0.05; echo ran >> log"
        write = call("write_file", file_path="a.txt", content=f"{chance.random()}\n")
        return Turn(text="I do it.", pieces=2, calls=[write, call("run_shell_command", command=command)])

    with FakeGemini(scripted) as server:
        environ = {"GEMINI_API_KEY": "a-key-of-the-test", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        for round_number in range(KILLS):
            resumes = ["--resume"] if any((program.home / ".dogu" / "sessions").glob("*/record.jsonl")) else []
            words = [*resumes, "-p", f"round {round_number}", "--max-turns", "4"]
            run_killed_when_recorded(program, environ, words, chance.randrange(1, 9_000))
            assert program.run("sessions", "verify").returncode == 0
        before = len(server.requests)
        resumed = program.run("--resume", "-p", "go on", "--approval-mode", "plan", "--max-turns", "1", environ=environ)
        assert resumed.returncode in (0, 53), resumed.stderr
        assert len(server.requests) == before + 1
        for request in server.requests:
            assert_it_can_be_sent(request.contents)
    pids = program.root / "pids"
    for pid in pids.read_text().split() if pids.exists() else []:
        wait_until_gone(int(pid))
    assert program.run("sessions", "verify").returncode == 0
    assert {path.name for path in program.root.iterdir()} <= {"a.txt", "b.txt", "log", "pids"}
    told = json.loads(program.run("sessions", "show", "--json").stdout)
    calls = [change["call"] for turn in told["turns"] for change in turn["changes"]]
    if calls:
        undone = program.run("undo", "--to", str(min(calls)), *_UNDONE_TOO)
        assert undone.returncode == 0, undone.stderr
    assert {path.name for path in program.root.iterdir()} == set()


def no_temporary_file(root: Path) -> bool:
    return {path.name for path in root.iterdir()} <= {"a.txt", "log", "pids"}
