"""What is lost when a fleet's driver is killed: `DOGU_KILLS` (200) kills with SIGKILL at random moments, each resumed.

Fleets of eight tasks in turn, whose agents append a line to a file and wait, are killed and resumed until they are
done. No row that was there before a kill may change, no task have two, each patch hold each line once; and of the
model's answers none is asked for again that a finished task had. `DOGU_SEED` (19) chooses the moments.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.measure import row
from dogu.fleet.rows import Row
from dogu.fleet.store import Fleet
from dogu.testing import FakeGemini, Turn, call
from dogu.testing.fake_gemini import GeminiRequest

_TASKS = 8
_STEPS = 3
_LONGEST_S = 6.0
_LOOK_S = 0.01
_MOST_A_FLEET = 20  # where a machine is so busy that little is done between two kills, one fleet would take them all


class Steps:
    """Has each task write its lines, one a request; `asked` counts the requests of each task."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    def __call__(self, request: GeminiRequest) -> Turn:
        name = next(part["text"] for part in request.contents[0]["parts"] if part.get("text", "").startswith("task-"))
        self.asked[name] = self.asked.get(name, 0) + 1
        if "full" in str(request.contents[-1]):
            return Turn(text="done")
        step = "echo $n >> lines.txt; sleep 0.2"
        words = f"n=$(cat lines.txt 2>&- | wc -l); if test $n -ge {_STEPS}; then echo fu''ll; else {step}; fi"
        return Turn(calls=(call("run_shell_command", command=words),))


class Ended(msgspec.Struct, frozen=True):
    """What came of one fleet: how often it was killed; of its tasks, how many were begun again, and went on."""

    kills: int
    begun_again: int
    went_on: int


def main() -> None:
    """Kill, resume, and print what came of it."""
    kills, seed = int(os.environ.get("DOGU_KILLS", "200")), os.environ.get("DOGU_SEED", "19")
    tally = Path(os.environ.get("DOGU_TALLY", os.devnull))
    lines = tally.read_bytes().splitlines() if tally.exists() else ()
    ended = [msgspec.json.decode(line, type=Ended) for line in lines]
    with tempfile.TemporaryDirectory() as base:
        while (done := sum(each.kills for each in ended)) < kills:
            number = len(ended) + 1
            most = min(kills - done, _MOST_A_FLEET)
            killed, rows = _fleet(Path(os.path.realpath(base), str(number)), random.Random(f"{seed}/{number}"), most)
            begun_again, went_on = (sum(each.attempt > 1 for each in rows), sum(each.continued for each in rows))
            ended.append(Ended(killed, begun_again, went_on))
            with tally.open("ab") as file:
                file.write(msgspec.json.encode(ended[-1]) + b"\n")
            row(f"fleet {number}, killed {killed} times", f"{went_on} of {begun_again} went on", "")
    begun_again, went_on = (sum(each.begun_again for each in ended), sum(each.went_on for each in ended))
    row(f"{done} kills of {len(ended)} fleets", f"nothing lost or repeated; {went_on} of {begun_again} went on", "")


def _fleet(folder: Path, chance: random.Random, kills: int) -> tuple[int, list[Row]]:
    """Run one fleet to its end through at most so many kills; return how many there were."""
    (folder / "home").mkdir(parents=True)
    (folder / "t.jsonl").write_text(
        "".join(
            json.dumps(
                {"id": f"t{number}", "prompt": f"task-{number}", "check": f"test $(wc -l < lines.txt) = {_STEPS}"}
            )
            + "\n"
            for number in range(_TASKS)
        )
    )
    killed = 0
    with FakeGemini(steps := Steps()) as fake:
        environment = {
            **os.environ,
            "HOME": str(folder / "home"),
            "GEMINI_API_KEY": "key",
            "GOOGLE_GEMINI_BASE_URL": fake.base_url,
        }
        seen: dict[str, tuple[float, int]] = {}
        while True:
            is_there = (folder / "out" / "fleet.sqlite").exists()
            words = ["resume", "out"] if is_there else ["run", "t.jsonl", "--out", "out", "--jobs", "3"]
            due = _moment(chance, steps) if killed < kills else None
            status = _run([sys.executable, "-m", "dogu", "fleet", *words], folder, environment, due)
            killed += status == -9
            seen = _checked(folder, seen, steps)
            if status not in (-9, 0):
                raise AssertionError(f"status {status} in {folder}")
            if status == 0:
                break
    with Fleet.open(str(folder / "out")) as fleet:
        rows = list(fleet.rows())
    assert sorted(each.id for each in rows) == [f"t{number}" for number in range(_TASKS)], "a row a task"
    for each in rows:
        patch = (folder / "out" / each.patch.file).read_text()
        assert each.passed, each
        assert [patch.count(f"\n+{number}\n") for number in range(_STEPS)] == [1] * _STEPS, patch
    return killed, rows


def _moment(chance: random.Random, steps: Steps) -> Callable[[], bool]:
    """Choose when to kill: after a while, or soon after so many requests more, however slow the machine is."""
    after_s, requests = (chance.uniform(0.1, _LONGEST_S), 0), (chance.uniform(0.0, 0.4), chance.randint(1, 8))
    wait_s, more = chance.choice((after_s, requests))
    goal = sum(steps.asked.values()) + more
    until: list[float] = []

    def is_due() -> bool:
        if not until and sum(steps.asked.values()) >= goal:
            until.append(time.monotonic() + wait_s)
        return bool(until) and time.monotonic() >= until[0]

    return is_due


def _run(words: list[str], folder: Path, environment: dict[str, str], is_due: Callable[[], bool] | None) -> int:
    with (folder / "said").open("ab") as said:
        driver = subprocess.Popen(words, cwd=folder, env=environment, stdout=said, stderr=said)
        while is_due is not None:
            try:
                return driver.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                if is_due():
                    driver.kill()
                    break
        return driver.wait()


def _checked(folder: Path, seen: dict[str, tuple[float, int]], steps: Steps) -> dict[str, tuple[float, int]]:
    """Hold that no row changed and no finished task was asked about; return what is finished now."""
    if not (folder / "out" / "fleet.sqlite").exists():
        return seen
    with Fleet.open(str(folder / "out")) as fleet:
        rows = {each.id: each for each in fleet.rows()}
    for task_id, (finished, asked) in seen.items():
        assert rows[task_id].finished == finished, task_id
        assert steps.asked[f"task-{task_id[1:]}"] == asked, task_id
    return {each.id: (each.finished, steps.asked[f"task-{each.id[1:]}"]) for each in rows.values()}


if __name__ == "__main__":
    main()
