"""What others read of a fleet, read by their own programs: mini-swe-agent's viewer, Harbor's model. (`make scores`)"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from dogu.fleet.driver import run
from dogu.fleet.export import export, export_to
from dogu.fleet.plan import Plan
from dogu.fleet.store import Fleet
from dogu.fleet.tasks import Task
from dogu.testing import FakeGemini, Turn, call
from dogu.testing.fake_gemini import GeminiRequest

_VIEW = """
import asyncio, sys
from pathlib import Path
from minisweagent.run.utilities.inspector import TrajectoryInspector
async def main():
    app = TrajectoryInspector(sorted(Path(sys.argv[1]).rglob("*.traj.json")))
    async with app.run_test() as pilot:
        for number in range(app.n_trajectories):
            heads = []
            for step in range(app.n_steps):
                heads += [str(each.render()) for each in app.query(".message-header")]
                await pilot.press("l")
            print(app.current_trajectory_name, *heads)
            await pilot.press("L")
asyncio.run(main())
"""
_READ = """
import sys
from harbor.models.trajectories.trajectory import Trajectory
for line in sys.stdin:
    print(len(Trajectory.model_validate_json(line).steps))
"""

# Harbor's installed agent as Harbor drives it, in an environment that is this machine: all but the installing.
_RUN = """
import asyncio, os, subprocess, sys
from pathlib import Path
from harbor.environments.base import ExecResult
from harbor.models.agent.context import AgentContext
sys.path.insert(0, sys.argv[1])
import harbor_agent
class Here:
    default_user = None
    async def exec(self, command, env=None, **more):
        words = dict(cwd=sys.argv[2], env={**os.environ, **(env or {})}, capture_output=True, text=True)
        done = subprocess.run(["bash", "-c", command], **words)
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.returncode)
class Paths:
    agent_dir = sys.argv[2]
harbor_agent.EnvironmentPaths = Paths
agent, context = harbor_agent.Dogu(logs_dir=Path(sys.argv[2]), model_name="google/gemini-2.5-pro"), AgentContext()
asyncio.run(agent.run("x", Here(), context))
agent.populate_context_post_run(context)
print(context.n_input_tokens > 0, context.cost_usd > 0)
print(Path(sys.argv[2], "trajectory.json").read_text())
"""


def answer(request: GeminiRequest) -> Turn:
    if len(request.contents) > 1:
        return Turn(text="done 日本語 \U0001f600")
    words = "printf 'a\\xff\\x1b[31mred\\x1b[0m\\x00\\n'; exit 3"
    return Turn(calls=(call("run_shell_command", command=words), call("read_file", file_path="nothing")))


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("fleet")
    (place / "home").mkdir()
    with pytest.MonkeyPatch.context() as patch, FakeGemini(answer) as fake:
        patch.setenv("GEMINI_API_KEY", "key")
        patch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        patch.setenv("HOME", str(place / "home"))
        tasks = [Task("lost", "x", repo=str(place / "nowhere")), Task("odd", "한국어 \u2028 <b>")]
        anyio.run(run, tasks, str(place / "out"), Plan(jobs=2))
    return str(place / "out")


def theirs(name: str, words: Sequence[str], given: bytes, home: Path) -> list[str]:
    """Run a program of theirs, by the Python that the variable `name` names."""
    python = os.environ.get(name)
    if not python:
        pytest.skip(f"{name} names no Python: `make scores` installs and tries it")
    environment = {**os.environ, "HOME": str(home), "MSWEA_SILENT_STARTUP": "1"}
    done = subprocess.run([python, "-c", *words], input=given, capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


def test_mini_swe_agents_viewer_shows_every_message(out: str, tmp_path: Path) -> None:
    with Fleet.open(out) as fleet:
        export_to(fleet, "traj", str(tmp_path / "shown"))
    assert theirs("MINI_SWE_AGENT", [_VIEW, str(tmp_path / "shown")], b"", tmp_path) == [
        "lost.traj.json SYSTEM EXIT",
        "odd.traj.json USER ASSISTANT TOOL TOOL ASSISTANT EXIT",
    ]


def test_harbors_own_model_takes_every_trajectory(out: str, tmp_path: Path) -> None:
    parts: list[bytes] = []
    with Fleet.open(out) as fleet:
        export(fleet, "atif", parts.append)
    assert theirs("HARBOR", [_READ], b"".join(parts), tmp_path) == ["1", "3"]


def test_harbor_runs_dogu_as_an_installed_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = Path(__file__).parents[2] / "examples" / "scores"
    monkeypatch.setenv("GEMINI_API_KEY", "key")
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
    with FakeGemini(answer) as fake:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        used, *trajectory = theirs("HARBOR", [_RUN, str(scores), str(tmp_path)], b"", tmp_path)
    assert used == "True True"
    assert theirs("HARBOR", [_READ], "".join(trajectory).encode() + b"\n", tmp_path) == ["3"]
