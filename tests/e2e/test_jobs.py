"""Background jobs at the end of a session, of `-p` and of `call`: told each time, kept or ended, and found by `dogu jobs`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from dogu.workspace.system import IS_LINUX
from e2e.program import PROGRAM, Program
from e2e.screens import Terminal
from processes import running_in, wait_for

_SERVER = "echo ready; exec sleep 1000"


def lives(folder: Path) -> bool:
    return any("sleep 1000" in process.command for process in running_in(folder))


def jobs_of(program: Program) -> list[dict[str, Any]]:
    return json.loads(program.run("jobs", "--json").stdout)["jobs"]


def answering(request: GeminiRequest) -> Turn:
    if request.responses:
        return Turn(text="It runs.")
    return Turn(calls=[call("run_shell_command", command=f"({_SERVER}) &")])


def key(server: FakeGemini) -> dict[str, str]:
    return {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url}


def test_a_call_keeps_what_it_left_running_and_says_how_to_stop_it(program: Program):
    done = program.run("call", "--approval-mode", "yolo", "run_shell_command", f"command=({_SERVER}) &")
    assert done.returncode == 0
    (job,) = jobs_of(program)
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("Still running: (echo ready; exec sleep 1000) &.")
    assert line.endswith(f"dogu jobs stop {job['pid']}")
    assert lives(program.root)
    assert f"{job['pid']}  running, kept" in program.run("jobs").stdout.decode()
    wait_for(lambda: program.run("jobs", "output", str(job["pid"])).stdout == b"ready\n")
    stopped = program.run("jobs", "stop", str(job["pid"]))
    assert stopped.stdout.decode() == "Stopped: (echo ready; exec sleep 1000) &\n"
    assert not lives(program.root)
    assert [job["isRunning"] for job in jobs_of(program)] == [False]


@pytest.mark.parametrize(("words", "state"), [((), "kept"), (("--keep-jobs",), "kept"), (("--no-keep-jobs",), "ended")])
def test_the_json_of_a_call_says_what_became_of_its_jobs(program: Program, words: tuple[str, ...], state: str):
    done = program.run(
        "call", "--json", *words, "--approval-mode", "yolo", "run_shell_command", f"command=({_SERVER}) &"
    )
    (job,) = json.loads(done.stdout)["jobs"]
    assert (job["state"], job["command"]) == (state, f"({_SERVER}) &")
    assert lives(program.root) == (state == "kept")


@pytest.mark.skipif(not IS_LINUX, reason="without a sandbox such a command is asked about")
def test_a_job_s_name_is_shown_and_never_obeyed_by_the_terminal(program: Program):
    done = program.run("call", "--approval-mode", "yolo", "run_shell_command", f"command=({_SERVER}) & : '\x1b[2J'")
    assert "\x1b" not in done.stderr.decode() + program.run("jobs").stdout.decode()
    (job,) = jobs_of(program)
    assert program.run("jobs", "stop", str(job["pid"])).stdout.decode().endswith("'␛[2J'\n")


def test_a_call_without_jobs_says_nothing_of_them(program: Program):
    done = program.run("call", "--json", "--approval-mode", "yolo", "run_shell_command", "command=echo one")
    assert "jobs" not in json.loads(done.stdout)
    assert done.stderr == b""


@pytest.mark.parametrize(("setting", "state"), [("{}", "ended"), ('{"tools": {"shell": {"keepJobs": true}}}', "kept")])
def test_one_answer_ends_its_jobs_unless_they_are_to_be_kept(program: Program, setting: str, state: str):
    program.settle(setting)
    with FakeGemini(answering) as server:
        done = program.run("-p", "go", "--approval-mode", "yolo", "--output-format", "json", environ=key(server))
    assert [job["state"] for job in json.loads(done.stdout)["jobs"]] == [state]
    words = {"ended": "Ended with the session:", "kept": "Still running:"}
    assert done.stderr.decode().startswith(words[state])
    assert lives(program.root) == (state == "kept")


def test_lines_of_calls_end_with_what_became_of_jobs(program: Program):
    row = {"tool": "run_shell_command", "args": {"command": f"({_SERVER}) &"}}
    done = program.run("call", "--jsonl", "--approval-mode", "yolo", stdin=json.dumps(row).encode())
    assert [job["state"] for job in json.loads(done.stdout.splitlines()[-1])["jobs"]] == ["ended"]
    assert not lives(program.root)


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_lines_of_calls_that_wait_for_the_next(program: Program, number: str):
    words = [*PROGRAM, "call", "--jsonl", "--approval-mode", "yolo"]
    with subprocess.Popen(
        words, cwd=program.root, env=program.environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as dogu:
        assert dogu.stdin
        assert dogu.stdout
        dogu.stdin.write(b'{"tool": "run_shell_command", "args": {"command": "%s &"}}\n' % _SERVER.encode())
        dogu.stdin.flush()
        assert b"Background PIDs" in dogu.stdout.readline()
        dogu.send_signal(signal.Signals[number])
        assert dogu.wait(30) == 128 + signal.Signals[number]
    wait_for(lambda: not lives(program.root))


def test_a_killed_dogu_leaves_only_what_was_kept(program: Program):
    words = ["call", "--jsonl", "--approval-mode", "yolo"]
    with subprocess.Popen(
        [*PROGRAM, *words], cwd=program.root, env=program.environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for command in ("exec sleep 1000", "exec sleep 2000"):
            row = {"tool": "run_shell_command", "args": {"command": f"({command}) &"}}
            child.stdin.write(json.dumps(row).encode() + b"\n")
            child.stdin.flush()
            child.stdout.readline()
        pid = next(job["pid"] for job in jobs_of(program) if "1000" in job["command"])
        assert "Kept: " in program.run("jobs", "keep", str(pid)).stdout.decode()
        child.kill()
    wait_for(lambda: not any("sleep 2000" in found.command for found in running_in(program.root)))
    assert lives(program.root)
    wait_for(lambda: [job["pid"] for job in jobs_of(program)] == [pid])
    assert program.run("jobs", "stop", str(pid)).returncode == 0
    assert not lives(program.root)


def test_a_job_nobody_knows_is_told(program: Program):
    done = program.run("jobs", "stop", str(os.getpid()))
    assert done.returncode == 54
    assert done.stderr.decode() == f"There is no background job {os.getpid()}.\n"


@pytest.mark.parametrize("answer", ["y", "n", None])
def test_leaving_the_terminal_asks_whether_jobs_live_on(program: Program, answer: str | None):
    with FakeGemini(answering) as server:
        terminal = Terminal(program, ("--approval-mode", "yolo"), **key(server))  # pyright: ignore[reportArgumentType]  (the environment)
        terminal.say("go")
        terminal.until("It runs.")
        if answer is None:
            os.kill(int(terminal.child.pid or 0), signal.SIGHUP)
        else:
            terminal.say("/quit")
            terminal.until("(n)")
            terminal.send(answer)
        terminal.ended()
    is_kept = answer == "y"
    wait_for(lambda: lives(program.root) == is_kept)
    if is_kept:
        assert [job["isKept"] for job in jobs_of(program)] == [True]


def test_jobs_are_listed_and_stopped_from_within_the_session(program: Program):
    with FakeGemini(answering) as server:
        terminal = Terminal(program, ("--approval-mode", "yolo"), **key(server))  # pyright: ignore[reportArgumentType]  (the environment)
        terminal.say("go")
        terminal.until("It runs.")
        (job,) = jobs_of(program)
        terminal.say("/jobs")
        terminal.until("Enter picks")  # "Esc cancels" stands beside what waits, too
        terminal.send("\x1b")
        terminal.until(lambda: "Enter picks" not in terminal.text)
        terminal.say(f"/jobs stop {job['pid']}")
        terminal.until("Stopped: ")
        assert not lives(program.root)
        terminal.say("/quit")
        assert terminal.ended() == 0


def test_the_line_at_the_bottom_tells_a_jobs_end_while_nothing_else_happens(program: Program):
    command = "(until [ -e end ]; do sleep 0.05; done) & echo begun"
    with FakeGemini(lambda _request: Turn(text="Never asked.")) as server:
        terminal = Terminal(program, **key(server))  # pyright: ignore[reportArgumentType]  (the environment)
        terminal.say(f"!{command}")
        terminal.until(lambda: "  1 job · gemini-2.5-pro" in terminal.lines)
        (program.root / "end").touch()
        terminal.until(lambda: "  gemini-2.5-pro" in terminal.lines)
        terminal.say("/quit")
        assert terminal.ended() == 0
