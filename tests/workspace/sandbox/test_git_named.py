"""What a repository's own settings name in the workspace runs later, as what lies in `.git` does."""

import os
import sys
from pathlib import Path

import pytest

from dogu.workspace.files import LocalFiles
from dogu.workspace.roots import Roots
from dogu.workspace.sandbox.git_named import included_by_git, named_by_git
from dogu.workspace.sandbox.watch import Watch, changes, runs_later
from dogu.workspace.staged import StagedChange

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the sandbox's, which Windows has none of")

_SETTINGS = """
[core]
	bare = false
	hooksPath = ci
	worktree = sub
	excludesFile = own/ignored
[include]
	path = ../inc.cfg
[includeIf "gitdir:x"]
	path = more.cfg
[filter "f"]
	clean = sh -c './tools/clean "%f"'
[credential]
	helper = store
[remote "origin"]
	url = ../outside/origin.git
[alias]
	st = !sub/status
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "w"
    for folder in (".git", "sub", "store"):
        (root / folder).mkdir(parents=True)
    (root / ".git" / "config").write_text(_SETTINGS)
    return root


def test_settings_name_hooks_included_settings_and_programs(root: Path) -> None:
    names = {os.path.relpath(path, root) for path in named_by_git(str(root))}
    assert names == {"ci", "inc.cfg", ".git/more.cfg", "tools/clean", "sub/status"}
    assert {os.path.relpath(path, root) for path in included_by_git(str(root))} == {"inc.cfg", ".git/more.cfg"}
    (root / ".git" / "config").write_text("[core]\n\thooksPath = other\n")
    assert named_by_git(str(root)) == (str(root / "other"),)
    (root / ".git" / "config").unlink()
    os.mkfifo(root / ".git" / "config")
    assert named_by_git(str(root)) == ()


def test_what_included_settings_include_and_name_counts_too(root: Path) -> None:
    outside = root.parent / "own.cfg"  # the user's, which no command writes; what it includes one may
    (root / ".git" / "config").write_text(f"[include]\n\tpath = {outside}\n")
    outside.write_text("[include]\n\tpath = w/first.cfg\n")
    (root / "first.cfg").write_text("[core]\n\thooksPath = ci\n[include]\n\tpath = sub/second.cfg\n")
    (root / "sub" / "second.cfg").write_text("[include]\n\tpath = ../first.cfg\n")  # git gives up here; we don't
    assert {os.path.relpath(path, root) for path in named_by_git(str(root))} == {"first.cfg", "ci", "sub/second.cfg"}
    assert {Path(path).name for path in included_by_git(str(root))} == {"first.cfg", "second.cfg"}


def test_a_worktree_has_its_repositorys_settings(root: Path) -> None:
    worktree, own = root.parent / "v", root / ".git" / "worktrees" / "v"
    for folder in (worktree, own):
        folder.mkdir(parents=True)
    (root / ".git" / "HEAD").touch()
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{worktree}/.git\n")
    (worktree / ".git").write_text(f"gitdir: {own}\n")
    assert str(worktree / "ci") in named_by_git(str(worktree))


def test_a_command_changes_them_not_unseen(root: Path) -> None:
    (root / "inc.cfg").write_text("[user]\n\tname = a\n")
    watch = Watch([str(root)])
    before = watch.snapshot()
    watch.keep(before)
    (root / "inc.cfg").write_text("[core]\n\tfsmonitor = ./x\n")
    (root / "ci").mkdir()
    (root / "ci" / "pre-commit").write_text("x")
    after = watch.snapshot()
    assert watch.put_back(before, after) == [str(root / "inc.cfg")]
    assert (root / "inc.cfg").read_text() == "[user]\n\tname = a\n"
    assert str(root / "ci" / "pre-commit") in changes(before, watch.snapshot())


def test_nor_in_a_layer(root: Path) -> None:
    def changed(name: str) -> StagedChange:
        return StagedChange(str(root / name), "/dev/null")

    hook, included = changed("ci/pre-commit"), changed("inc.cfg")
    assert runs_later([hook, included, changed("sub/a.py")], [str(root)]) == ([included], [hook])


@pytest.mark.parametrize("name", ["ci/pre-commit", "inc.cfg", "tools/clean"])
def test_the_tools_that_write_ask(root: Path, name: str) -> None:
    files = LocalFiles(Roots(str(root)))
    assert files.protected_reason(str(root / name))
    assert not files.protected_reason(str(root / "sub" / "a.py"))
