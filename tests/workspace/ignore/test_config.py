"""Where the user's own ignore file is found, against git's own answer."""

import os
import subprocess
from pathlib import Path

import pytest

from dogu.workspace.ignore.config import excludes_file, find_repository


def says_git(top: Path, environ: dict[str, str]) -> str:
    done = subprocess.run(
        ["git", "config", "--type=path", "core.excludesFile"], cwd=top, env=environ, capture_output=True, check=False
    )
    return os.fsdecode(done.stdout.removesuffix(b"\n"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "top").mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q"], cwd=tmp_path / "top", env=environ, check=True)
    return tmp_path


@pytest.mark.parametrize(
    "config",
    [
        "[core]\n\texcludesFile = ~/my ignore\n",
        '[Core]\nEXCLUDESFILE="~/a#b" ; comment\n',
        "[core] excludesfile = /x/y # comment\n",
        "[core]\nexcludesFile = /one\n[other]\nexcludesFile = /two\n",
        "[core]\nexcludesFile = /one\n[core]\nexcludesFile = /two\n",
        '[core "sub"]\nexcludesFile = /one\n',
        '[core]\nexcludesFile = "/with \\"quotes\\" and \\\\"\n',
        "[core]\nexcludesFile = /joined\\\n/line\n",
        "[include]\npath = extra\n",
        '[includeIf "gitdir:~/top/"]\npath = extra\n',
        '[includeIf "gitdir:top/.git"]\npath = extra\n',
        '[includeIf "gitdir/i:~/TOP/"]\npath = extra\n',
        '[includeIf "gitdir:~/elsewhere/"]\npath = extra\n',
    ],
)
def test_the_configured_file_is_the_one_git_names(home: Path, config: str) -> None:
    (home / ".gitconfig").write_text(config)
    (home / "extra").write_text("[core]\nexcludesFile = ~/from-extra\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    repository = find_repository(str(home / "top"))
    assert repository
    expected = says_git(home / "top", environ) or str(home / ".config" / "git" / "ignore")
    assert excludes_file(environ, repository.git_folder) == expected


def test_the_last_of_the_files_wins(home: Path) -> None:
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "config").write_text("[core]\nexcludesFile = /xdg\n")
    environ = {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    assert excludes_file(environ) == "/xdg"
    (home / ".gitconfig").write_text("[core]\nexcludesFile = /home\n")
    assert excludes_file(environ) == "/home"
    with (home / "top" / ".git" / "config").open("a") as config:
        config.write("[core]\nexcludesFile = /repository\n")
    assert excludes_file(environ, str(home / "top" / ".git")) == "/repository"


def test_another_configuration_home_and_global_file_are_honoured(home: Path) -> None:
    assert excludes_file({"HOME": "/h", "XDG_CONFIG_HOME": "/x", "GIT_CONFIG_NOSYSTEM": "1"}) == "/x/git/ignore"
    (home / "global").write_text("[core]\nexcludesFile = /g\n")
    (home / ".gitconfig").write_text("[core]\nexcludesFile = /home\n")
    environ = {"HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / "global"), "GIT_CONFIG_NOSYSTEM": "1"}
    assert excludes_file(environ) == "/g"
    assert excludes_file({"GIT_CONFIG_NOSYSTEM": "1"}) == ""


def test_an_include_of_itself_ends(home: Path) -> None:
    (home / ".gitconfig").write_text("[include]\npath = .gitconfig\n[core]\nexcludesFile = /x\n")
    assert excludes_file({"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}) == "/x"


def test_a_device_or_fifo_named_as_configuration_is_not_read(home: Path) -> None:
    os.mkfifo(home / ".gitconfig")
    environ = {"HOME": str(home), "GIT_CONFIG_SYSTEM": "/dev/zero"}
    assert excludes_file(environ) == str(home / ".config" / "git" / "ignore")


def test_a_folder_named_git_without_a_head_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "a" / ".git").mkdir(parents=True)
    repository = find_repository(str(tmp_path / "a"))
    assert repository is None or repository.top != str(tmp_path / "a")
