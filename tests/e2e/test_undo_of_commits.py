"""Git's index is written anew where somebody only looks: that is nobody's change."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from dogu.workspace.git_index import digest_of_index
from dogu.workspace.system import IS_LINUX
from e2e.program import Program

pytestmark = pytest.mark.skipif(not IS_LINUX or shutil.which("git") is None, reason="git isn't here")
_FILES = 40


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=b")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def look(folder: Path) -> None:
    """Have git find every file's times changed, and write its index anew."""
    time_s = time.monotonic_ns() % 1_000_000_000  # never the same twice
    for path in folder.glob("[!.]*"):
        os.utime(path, (time_s, time_s))
    before = (folder / ".git/index").read_bytes()
    git(folder, "status")
    assert (folder / ".git/index").read_bytes() != before


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_an_index_says_the_same_after_a_look_and_something_else_after_each_change(
    tmp_path: Path, version: str, hashes: str
):
    git(tmp_path, "init", "-q", f"--object-format={hashes}")
    for number in range(_FILES):
        (tmp_path / f"{number:03}").write_text(f"{number}\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "update-index", "--index-version", version)

    def said() -> str:
        return digest_of_index((tmp_path / ".git/index").read_bytes())

    seen = [said()]
    look(tmp_path)
    assert said() == seen[0] != ""
    (tmp_path / "001").write_text("other\n")
    for words in (
        ("add", "001"),
        ("update-index", "--assume-unchanged", "002"),
        ("update-index", "--skip-worktree", "003"),
        ("update-index", "--chmod=+x", "004"),
        ("rm", "-q", "--cached", "005"),
        ("add", "-N", "005"),
    ):
        git(tmp_path, *words)
        seen.append(said())
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("damage", [b"", b"DIRC", b"DIRC" + bytes(40), b"text"])
def test_what_is_no_index_says_nothing(damage: bytes):
    assert digest_of_index(damage) == ""


@pytest.mark.parametrize("begins", ["", "sleep 0 & "])
def test_a_commit_is_undone_and_redone_though_somebody_looked_at_the_repository(program: Program, begins: str):
    root = program.root
    git(root, "init", "-q")
    (root / "a").write_text("one\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "1")
    git(root, "worktree", "add", "-q", "wt", "-b", "side")
    command = f"{begins}echo two > b; git add b; git -c user.name=a -c user.email=b commit -qm 2"
    done = program.run("call", "--approval-mode", "yolo", "run_shell_command", f"command={command}")
    assert done.returncode == 0, done.stderr
    for words, commits in (("undo", 1), ("redo", 2)):
        look(root)
        os.utime(root / "wt/a", (1, 1))
        git(root / "wt", "status")
        done = program.run(words, *(("--unsure",) if words == "undo" else ()))
        assert done.returncode == 0, done
        assert len(git(root, "log", "--oneline").splitlines()) == commits
        assert git(root, "status", "--short") == "?? wt/\n"
        git(root, "fsck", "--strict")


@pytest.mark.parametrize("where", ["", "wt"])
def test_a_commit_stays_where_somebody_has_staged_what_it_made(program: Program, where: str):
    root = program.root
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "1")
    git(root, "worktree", "add", "-q", "wt", "-b", "side")
    command = "echo two > b; git add b; git -c user.name=a -c user.email=b commit -qm 2"
    assert program.run("call", "--approval-mode", "yolo", "run_shell_command", f"command={command}").returncode == 0
    (root / where / "mine").write_text("two\n")
    git(root / where, "add", "mine")
    done = program.run("undo")
    assert (done.returncode, b"undone as a whole or not at all" in done.stdout + done.stderr) == (54, True), done
    git(root, "fsck", "--strict")
    assert git(root / where, "show", ":mine") == "two\n"
