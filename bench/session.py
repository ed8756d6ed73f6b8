"""What a headless session costs against a fake Gemini server, as a whole process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from statistics import median
from typing import Self

from bench.measure import Run, row, run, several
from dogu import testing
from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call

_PROCESS_CLOCK = 2  # of a process's number: the time that all of its threads had, clock_getcpuclockid(3)
_WIRES = {
    "FakeGemini": ("gemini", "gemini-2.5-flash"),
    "FakeOpenAI": ("openai_compatible", "any"),
    "FakeResponses": ("openai_responses", "gpt-5.1"),
    "FakeMessages": ("anthropic", "claude-sonnet-4-5"),
}
_PROGRAM = os.path.join(os.path.dirname(sys.executable), "dogu")


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(50):
            with open(os.path.join(folder, f"file{number}.txt"), "w", encoding="utf-8") as file:
                file.write(f"the text of file {number}\n" * 20)
        one = several(**_command(folder, 0))  # pyright: ignore[reportArgumentType]  (a mapping of mixed values)
        row(
            "headless one-turn answer",
            f"{one.cpu_s:.2f} s CPU, {one.peak_mb:.0f} MB (status {one.status})",
            "0.30 s, 60 MB",
        )
        hundred = _with_calls(folder, 100)
        reached = f"{hundred.cpu_s:.2f} s CPU, {hundred.peak_mb:.0f} MB (status {hundred.status})"
        row("100 tool calls, one a turn", reached, "0.8 s CPU")
        for wire in _WIRES:
            early, late = _early_and_late(folder, wire)
            reached = f"{early * 1000:.1f} ms / {late * 1000:.1f} ms a turn = {late / early:.2f} x"
            row(f"turns 901-1,000 against 11-110, {wire}", reached, "1.15 x")


class _Paced:
    """A run of some turns whose last hundred wait for `may_ask`, and count what each of them costs."""

    def __init__(self, wire: str, turns: int, folder: str) -> None:
        self.may_ask, self.has_asked = threading.Semaphore(0), threading.Semaphore(0)
        self.costs: list[float] = []
        self._first, self._folder, self._asked, self._last = turns - 100, folder, 0, 0.0
        self._server = getattr(testing, wire)(self._turn for _ in range(turns + 1))
        self._provider, self._name = _WIRES[wire]

    def __enter__(self) -> Self:
        self._server.__enter__()
        model = {"provider": self._provider, "baseUrl": self._server.base_url, "name": self._name}
        settings = os.path.join(self._folder, f"{self._first}.json")
        with open(settings, "w", encoding="utf-8") as file:
            json.dump({"model": model}, file)
        keys = dict.fromkeys(("GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "test")
        environ = {**os.environ, **keys, "HOME": self._folder}
        command = [_PROGRAM, "-p", "go", "--settings", settings]
        self._program = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ, cwd=self._folder
        )
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._program.terminate()
        self._program.wait()
        self._server.__exit__(None, None, None)

    def _turn(self, _request: object) -> Turn:
        now = time.clock_gettime(~self._program.pid << 3 | _PROCESS_CLOCK)
        number, self._asked = self._asked, self._asked + 1
        if number > self._first:
            self.costs.append(now - self._last)
        self._last = now
        if number >= self._first:
            self.has_asked.release()
            self.may_ask.acquire()
        file = f"{self._folder}/file{number % 50}.txt"
        return Turn(calls=[call("read_file", path=file, offset=number // 50 % 20)])


def _early_and_late(folder: str, wire: str) -> tuple[float, float]:
    """Let an early turn and a late one happen by turns, so that the machine is as busy for both; what each costs."""
    with _Paced(wire, 1_000, folder) as late, _Paced(wire, 110, folder) as early:
        for each in (late, early):
            each.has_asked.acquire()
        for _ in range(99):
            for each in (late, early):
                each.may_ask.release()
                each.has_asked.acquire()
        for each in (late, early):
            each.may_ask.release()
    return median(early.costs), median(late.costs)


def _command(folder: str, calls: int) -> dict[str, object]:
    server = FakeGemini(lambda request: _turn(request, folder, calls))
    server.__enter__()
    settings = os.path.join(folder, "settings.json")
    with open(settings, "w", encoding="utf-8") as file:
        json.dump({"model": {"maxSessionTurns": 5000}}, file)
    environ = {"GEMINI_API_KEY": "test", "GOOGLE_GEMINI_BASE_URL": server.base_url, "HOME": folder}
    return {"command": [_PROGRAM, "-p", "go", "--settings", settings], "environ": environ, "cwd": folder}


def _with_calls(folder: str, calls: int) -> Run:
    return run(**_command(folder, calls))  # pyright: ignore[reportArgumentType]  (a mapping of mixed values)


def _turn(request: GeminiRequest, folder: str, calls: int) -> Turn | str:
    done = sum("functionResponse" in part for content in request.contents for part in content.get("parts", ()))
    if done >= calls:
        return "All done."
    return Turn(calls=[call("read_file", path=f"{folder}/file{done % 50}.txt", offset=done // 50 % 20)])
