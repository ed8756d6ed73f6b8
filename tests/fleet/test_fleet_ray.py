"""A fleet on a Ray cluster of two nodes, of which one is lost on the way: every task has one row. (`make ray`)"""

from __future__ import annotations

import socket
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogu.contract import ToolError
from dogu.fleet.driver import Ended, FleetEvent, run
from dogu.fleet.export import export
from dogu.fleet.plan import Plan
from dogu.fleet.ray_engine import RayEngine
from dogu.fleet.store import Fleet
from dogu.fleet.tasks import Task
from dogu.testing import FakeGemini, Turn, call
from dogu.testing.fake_gemini import GeminiRequest

ray: Any = pytest.importorskip("ray", reason="Ray isn't installed: `make ray` installs and tries it")
pytestmark = [pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]


def answer(request: GeminiRequest) -> Turn:
    if len(request.contents) > 1:
        return Turn(text="done")
    words = "sleep 1; echo hello > hello.txt"
    return Turn(calls=(call("run_shell_command", command=words),))


def made_repo(place: Path) -> Path:
    place.mkdir()
    (place / "a.txt").write_text("one")
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=place, check=True)
    return place


def test_a_cluster_that_does_not_answer_is_told_in_seconds(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        engine = RayEngine(out, Plan(), str(tmp_path), f"127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ToolError, match=r"There is no Ray cluster at 127\.0\.0\.1"):
            anyio.run(lambda: run([Task("one", "greet")], out, Plan(), engine=engine))


def test_a_node_that_is_lost_costs_an_attempt_and_no_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, out = tmp_path / "home", str(tmp_path / "out")
    home.mkdir()
    repo, folder = made_repo(tmp_path / "repo"), tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("one")
    check = "grep -q hello hello.txt && grep -q one a.txt"
    cloned = [Task(f"c{number}", "greet", repo=str(repo), check=check) for number in range(8)]
    copied = [Task(f"f{number}", "greet", folder=str(folder), check=check) for number in range(8)]
    tasks = [task for pair in zip(cloned, copied, strict=True) for task in pair]
    with FakeGemini(answer) as fake:
        monkeypatch.setenv("GEMINI_API_KEY", "key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        cluster: Any = import_module("ray.cluster_utils").Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        try:
            second = cluster.add_node(num_cpus=1)
            ray.init(address=cluster.address, log_to_driver=False)
            ended: list[str] = []

            def watch(event: FleetEvent) -> None:
                if isinstance(event, Ended):
                    ended.append(event.row.id)
                    if repo.exists() and len({name[0] for name in ended}) == 2:  # the rest comes by the store
                        repo.rename(tmp_path / "gone")
                        folder.rename(tmp_path / "gone too")
                    if len(ended) == 4:
                        cluster.remove_node(second, allow_graceful=False)
                        cluster.add_node(num_cpus=1)

            plan = Plan(jobs=6)
            engine = RayEngine(out, plan, str(home))
            report = anyio.run(lambda: run(tasks, out, plan, engine=engine, watch=watch))
        finally:
            ray.shutdown()
            cluster.shutdown()
    assert sorted(ended) == sorted(task.id for task in tasks)
    assert (report.passed, report.stopped) == (16, "")
    with Fleet.open(out) as fleet:
        rows = list(fleet.rows())
        assert max(row.attempt for row in rows) == 2  # something ran on the node that was lost
        assert all("+hello" in Path(out, row.patch.file).read_text() for row in rows)
        parts: list[bytes] = []
        export(fleet, "parquet", parts.append)
    assert b"".join(parts)[:4] == b"PAR1"
