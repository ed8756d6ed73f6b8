"""A repository's own settings name programs; a command that looks at it runs none of them."""

import os
import subprocess
from pathlib import Path

import pytest

from dogu.workspace.environment import command_environment
from dogu.workspace.git_programs import GitPrograms


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose monitor, filters, programs for differences and hooks leave a mark."""
    root = tmp_path / "root"
    root.mkdir()
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {tmp_path}/mark\ncat\n")
    program.chmod(0o755)
    git(root, {}, "init", "-q")
    for key in (
        "core.fsmonitor",
        "filter.f.clean",
        "filter.f.smudge",
        "filter.f.process",
        "diff.d.textconv",
        "diff.e.command",
        "diff.external",
        "core.sshCommand",
        "alias.look",
    ):
        git(root, {}, "config", key, f"!{program}" if key.startswith("alias") else str(program))
    (root / ".gitattributes").write_text("a filter=f diff=d\nb diff=e\n")
    (root / ".git" / "hooks" / "pre-commit").write_text(program.read_text())
    (root / ".git" / "hooks" / "pre-commit").chmod(0o755)
    for name in "ab":
        (root / name).write_text("1\n")
    return root


def git(root: Path, more: dict[str, str], *words: str) -> str:
    environment = command_environment(os.environ) | {"HOME": str(root.parent)} | more
    command = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout


def test_looking_at_a_repository_runs_none_of_its_programs(repository: Path) -> None:
    harmless = GitPrograms([str(repository)], is_trusted=False).environment(command_environment(os.environ))
    git(repository, harmless, "add", ".")
    git(repository, harmless, "commit", "-q", "-m", "one")
    for name in "ab":
        (repository / name).write_text("2\n")
    assert " M a" in git(repository, harmless, "status", "--short")
    shown = git(repository, harmless, "diff")
    assert "-1\n+2\n" in shown
    git(repository, harmless, "look")
    git(repository, harmless, "fetch", "ssh://nobody@127.0.0.1:9/x")
    assert not (repository.parent / "mark").exists()


def test_a_trusted_repository_runs_its_own(repository: Path) -> None:
    trusted = GitPrograms([str(repository)], is_trusted=True).environment({})
    git(repository, trusted, "status")
    assert (repository.parent / "mark").exists()


def test_a_program_that_is_named_later_is_off_too(tmp_path: Path) -> None:
    git(tmp_path, {}, "init", "-q")
    programs = GitPrograms([str(tmp_path)], is_trusted=False)
    environment = command_environment(os.environ)
    assert "filter.new.clean" not in programs.environment(environment).values()
    git(tmp_path, {}, "config", "filter.new.clean", "./x")
    assert "filter.new.clean" in programs.environment(environment).values()


@pytest.mark.parametrize("is_trusted", [False, True])
def test_a_bare_repository_of_ordinary_files_is_none(tmp_path: Path, is_trusted: bool) -> None:
    for folder in ("objects", "refs"):
        (tmp_path / "evil" / folder).mkdir(parents=True)
    (tmp_path / "evil" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "evil" / "config").write_text(f"[core]\nfsmonitor = touch {tmp_path}/mark\nworktree = {tmp_path}\n")
    git(tmp_path / "evil", GitPrograms([], is_trusted=is_trusted).environment({}), "status")
    assert not (tmp_path / "mark").exists()
