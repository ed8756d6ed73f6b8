"""A fleet in a terminal: how far it is, and what Ctrl-C does to it, once and twice."""

from __future__ import annotations

from collections import Counter
from threading import Event

import msgspec
import pytest

from dogu.fleet.store import Fleet
from dogu.testing import FakeGemini, Turn
from dogu.testing.fake_gemini import GeminiRequest
from e2e.program import Program
from e2e.screens import Terminal

_STOPPED = 53


class _Model:
    """Answers when it may, and counts what it was asked."""

    def __init__(self) -> None:
        self.may_answer = Event()
        self.asked = Counter[str]()

    def __call__(self, request: GeminiRequest) -> Turn:
        self.asked[str(request.contents[0]["parts"][0]["text"])] += 1
        self.may_answer.wait(60)
        return Turn(text="done")


def _fleet(program: Program, server: FakeGemini, *words: str) -> Terminal:
    return Terminal(
        program, ["fleet", *words], columns=120, GEMINI_API_KEY="test-key", GOOGLE_GEMINI_BASE_URL=server.base_url
    )


def _begin(program: Program, server: FakeGemini, model: _Model) -> Terminal:
    tasks = [msgspec.json.encode({"id": f"t{number}", "prompt": f"task {number}"}) for number in range(4)]
    (program.root / "tasks.jsonl").write_bytes(b"\n".join(tasks))
    terminal = _fleet(program, server, "run", "tasks.jsonl", "--out", "out", "--jobs", "2")
    terminal.until("0 of 4 done, 0 passed, 0 failed, 2 running")
    terminal.until(lambda: bool(model.asked))
    return terminal


def _ended(program: Program) -> list[str]:
    with Fleet.open(str(program.root / "out")) as fleet:
        return sorted(row.id for row in fleet.rows())


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_lets_what_runs_end_and_once_more_ends_it_too(program: Program, presses: int) -> None:
    model = _Model()
    with FakeGemini(model) as server:
        terminal = _begin(program, server, model)
        terminal.send("\x03")
        terminal.until(
            "Running tasks are finished first; Ctrl-C again ends them too. Either way the fleet can be resumed."
        )
        if presses == 2:
            terminal.send("\x03")
            terminal.until("0 of 4 done: ")
        model.may_answer.set()
        terminal.until("Stopped: stopped by you. `dogu fleet resume")
        assert terminal.ended() == _STOPPED
        assert _ended(program) == ([] if presses == 2 else ["t0", "t1"])
        assert set(model.asked) <= {"task 0", "task 1"}

        again = _fleet(program, server, "resume", "out")
        again.until("4 of 4 done: ")
        assert again.ended() == 0
        assert _ended(program) == ["t0", "t1", "t2", "t3"]
        assert presses == 2 or set(model.asked.values()) == {1}  # none that was done is done again
