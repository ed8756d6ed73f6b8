"""What a task begins with, packed where its fleet is driven and unpacked on a node: there it is what it was here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from dogu.fleet.aside import WorldError
from dogu.fleet.parcels import pack, stamp_of, unpack
from dogu.fleet.ray_engine import folder_of_attempt
from dogu.fleet.tasks import Task
from dogu.fleet.world import World, make_world


def git(place: Path, *words: str) -> str:
    own = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run([*own, *words], cwd=place, check=True, capture_output=True, text=True).stdout.strip()


def made_repo(place: Path) -> Path:
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    for text in ("one", "two"):
        (place / "a.txt").write_text(text)
        git(place, "add", ".")
        git(place, "commit", "-qm", text)
    return place


def sent(task: Task, here: Path, node: Path) -> World:
    """Pack it here, lose what it was made of, and make its world on a node."""
    place, _ = stamp_of(task, str(here))
    parcel = pack(place, str(here))
    shutil.rmtree(task.repo or task.folder)
    shutil.rmtree(here, ignore_errors=True)
    node.mkdir()
    return make_world(unpack(parcel, task, str(node)), str(node / "tasks" / task.id), str(node))


@pytest.mark.parametrize(("ref", "text"), [("", "two"), ("main~1", "one")])
def test_a_repository_is_there_with_its_history(tmp_path: Path, ref: str, text: str) -> None:
    repo = made_repo(tmp_path / "repo")
    world = sent(Task("t", "x", repo=str(repo), ref=ref), tmp_path / "here", tmp_path / "node")
    assert Path(world.root, "a.txt").read_text() == text
    assert git(Path(world.root), "log", "--format=%s").splitlines()[-1] == "one"


def test_a_commit_that_came_later_is_fetched_and_sent_anew(tmp_path: Path) -> None:
    repo, here = made_repo(tmp_path / "repo"), str(tmp_path / "here")
    first = stamp_of(Task("t", "x", repo=str(repo)), here)
    (repo / "a.txt").write_text("three")
    git(repo, "commit", "-qam", "three")
    later = Task("u", "x", repo=str(repo), ref=git(repo, "rev-parse", "HEAD"))
    assert stamp_of(later, here) != first
    assert stamp_of(later, here) == stamp_of(Task("v", "x", repo=str(repo)), here)
    assert Path(sent(later, Path(here), tmp_path / "node").root, "a.txt").read_text() == "three"


def test_a_folder_is_there_as_it_was_without_the_fleets_own(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    here = folder / "out"
    (here / "tasks").mkdir(parents=True)
    (folder / "run.sh").write_text("exit 0")
    (folder / "run.sh").chmod(0o755)
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("/nowhere")
    root = Path(sent(Task("t", "x", folder=str(folder)), here, tmp_path / "node").root)
    assert sorted(os.listdir(root)) == ["empty", "link", "run.sh"]
    assert os.access(root / "run.sh", os.X_OK)
    assert os.readlink(root / "link") == "/nowhere"


def test_what_begins_with_nothing_has_nothing_to_send_and_what_is_not_there_says_so(tmp_path: Path) -> None:
    assert stamp_of(Task("t", "x"), str(tmp_path)) == ("", 0)
    with pytest.raises(WorldError):
        stamp_of(Task("t", "x", repo=str(tmp_path / "nowhere")), str(tmp_path))


def test_what_killed_attempts_left_on_a_node_goes_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    results = tmp_path / "dogu-fleet-results"  # somebody's
    results.mkdir()
    with folder_of_attempt() as running:
        left, young = (Path(shutil.copytree(running, tmp_path / f"dogu-fleet-{name}")) for name in ("left", "young"))
        for folder in (Path(running), left):
            os.utime(folder / "attempt.lock", (0, 0))
        with folder_of_attempt() as other:
            assert {str(each) for each in tmp_path.iterdir()} == {running, other, str(young), str(results)}
    assert set(tmp_path.iterdir()) == {young, results}
