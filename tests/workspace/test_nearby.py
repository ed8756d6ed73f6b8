"""What a judge of commands is told of the folder they are run in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dogu.workspace.nearby import Nearby


def test_a_broken_link_takes_a_place(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    assert not Nearby(str(tmp_path)).is_free("link")
    assert Nearby(str(tmp_path)).is_free("other")


def test_a_path_is_followed_through_links_and_out_of_the_folder_by_none(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "a" / "b").mkdir(parents=True)
    for name, target in {"in": "a/b", "top": ".", "away": "..", "broken": "a/c", "a/up": "../a/b"}.items():
        (work / name).symlink_to(target)
    near = Nearby(str(work))
    paths = ("x", "a/./b/", "in/x", "top", "away", "away/work/a", "broken", "broken/x", "a/up/x", "in", "a\0")
    followed = ["x", "a/b", "a/b/x", ".", None, "a", "a/c", "a/c/x", "a/b/x", "a/b", None]
    assert [near.leads_to(each, is_entry=False) for each in paths] == followed
    assert [near.leads_to(each, is_entry=True) for each in ("in", "in/", "away", "away/x")] == [
        "in",
        "a/b",
        "away",
        None,
    ]


def test_a_folder_in_which_a_repository_begins_is_not_of_this_one(tmp_path: Path) -> None:
    for folder in ("a/b", "a/c/.git", "bare", "a/worktree"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "bare" / "HEAD").touch()
    (tmp_path / "a" / "worktree" / ".git").write_text("gitdir: ../..")
    near = Nearby(str(tmp_path))
    assert [near.is_same_repository(each) for each in ("a", "a/b", "./a/b/", ".")] == [True] * 4
    others = ("a/c", "bare", "a/worktree", "a/../a", "/", str(tmp_path / "a"), "gone", "a\0")
    assert [near.is_same_repository(each) for each in others] == [False] * 8


def test_files_are_told_of_a_folder_here_and_of_none_that_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "a" / ".b").mkdir(parents=True)
    (tmp_path / "a" / ".b" / "x y").touch()
    (tmp_path / "a" / "z").touch()
    (tmp_path / "link").symlink_to("a")
    near = Nearby(str(tmp_path))
    assert [sorted(near.files_below(each) or ()) for each in ("a", "./a/")] == [["a/.b/x y", "a/z"]] * 2
    assert [near.files_below(each) for each in ("link", "../x", "/etc", "a/..", "a\0")] == [None] * 5


def test_a_module_is_a_file_here_and_none_of_pythons_own(tmp_path: Path) -> None:
    (tmp_path / "src" / "app").mkdir(parents=True)
    (tmp_path / "src" / "app" / "__main__.py").touch()
    for name in ("job.py", "json.py"):
        (tmp_path / name).touch()
    (tmp_path / "far.py").symlink_to("/usr/lib/far.py")
    near = Nearby(str(tmp_path))
    names = ("app", "job", "json", "far", "src.app", "gone", "../job", "job.py")
    assert [near.has_module(each) for each in names] == [True, True, False, False, True, False, False, False]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
def test_a_fifo_in_the_place_of_gits_files_is_not_waited_on(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    near = Nearby(str(tmp_path))
    assert (near.pushed_to(by_any_branch=True), near.has_tag_like_an_option()) == ([], False)
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").mkdir()
    for name in ("config", "HEAD", "packed-refs", "commondir"):
        os.mkfifo(tmp_path / ".git" / name)
    assert (near.pushed_to(by_any_branch=False), near.has_tag_like_an_option()) == ([], False)
