"""The walker on hostile trees: depth, loops, odd names, folders that vanish or can't be read."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from dogu.workspace import fs
from dogu.workspace.ignore import Ignore
from dogu.workspace.walk import Walk, WalkCounts


@contextlib.contextmanager
def opened(path: Path) -> Generator[int]:
    descriptor = fs.open(str(path), os.O_RDONLY | fs.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def walked(root: Path, walk: Walk | None = None) -> list[str]:
    with opened(root) as descriptor:
        found = [folder.path + name for folder in (walk or Walk()).folders(descriptor) for name in folder.names]
    return sorted(found)


def with_rules(root: Path) -> Walk:
    ignore = Ignore(str(root), {})
    with opened(root) as descriptor:
        return Walk(ignore, ignore.root_rules(descriptor))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def open_descriptors() -> set[str]:
    return {str(number) for number in range(1024) if _is_open(number)}


def test_links_are_listed_and_links_to_folders_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").touch()
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "link").symlink_to("real/f")
    (tmp_path / "broken").symlink_to("nowhere")
    assert walked(tmp_path) == ["broken", "link", "loop", "real/f"]


def test_odd_names_come_back_as_they_are(tmp_path: Path) -> None:
    names = ["a\nb", "-rf", "\udcff\udcfe", "x" * 255, "e\u0301", "\u00e9", "\U0001f600", "\x1b[31m", " "]
    for name in names:
        (tmp_path / name).touch()
    assert walked(tmp_path) == sorted(names)


def test_a_thousand_deep_tree_with_siblings_is_walked_with_few_descriptors(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("side", dir_fd=descriptor)
        os.close(os.open("side/f", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    most = 0
    found = 0
    before = len(open_descriptors())
    try:
        with opened(tmp_path) as start:
            for folder in Walk().folders(start):
                found += len(folder.names)
                if found % 20 == 0:  # to count them takes longer than to walk
                    most = max(most, len(open_descriptors()))
        assert found == 1000
        assert most - before < 110
    finally:
        subprocess.run(["rm", "-rf", "--", str(tmp_path / "d")], check=True)


def test_a_folder_that_vanishes_meanwhile_is_passed_over(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").touch()
    counts = WalkCounts()
    found: list[str] = []
    with opened(tmp_path) as start:
        for folder in Walk(counts=counts).folders(start):
            if not folder.path:
                shutil.rmtree(tmp_path / "b")
            found += [folder.path + name for name in folder.names]
    assert sorted(found) == ["a/f", "c/f"]
    assert counts.unreadable == 0


def test_a_folder_swapped_for_a_link_meanwhile_is_not_followed(tmp_path: Path) -> None:
    root, out = tmp_path / "root", tmp_path / "out"
    (root / "a").mkdir(parents=True)
    out.mkdir()
    (out / "secret").touch()
    found: list[str] = []
    with opened(root) as start:
        for folder in Walk().folders(start):
            if not folder.path:
                (root / "a").rmdir()
                (root / "a").symlink_to(out)
            found += folder.names
    assert found == []


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_counted(tmp_path: Path) -> None:
    (tmp_path / "shut").mkdir(mode=0)
    (tmp_path / "f").touch()
    counts = WalkCounts()
    assert walked(tmp_path, Walk(counts=counts)) == ["f"]
    assert counts.unreadable == 1
    (tmp_path / "shut").chmod(0o700)


def test_ignored_folders_are_not_entered_and_are_counted(tmp_path: Path) -> None:
    for path in ["build/x", "src/build/y", "src/a.o", "src/a.c", "node_modules/m", ".git/config"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / ".gitignore").write_text("/build/\n*.o\n")
    walk = with_rules(tmp_path)
    with opened(tmp_path) as start:
        filtered = [f.path + name for f in walk.folders(start) for name in f.filtered(f.names, walk.counts)]
    assert sorted(filtered) == [".gitignore", "src/a.c", "src/build/y"]
    assert walk.counts == WalkCounts(git_ignored_files=1, git_ignored_folders=1)


def test_a_walk_that_is_given_up_leaves_no_descriptor_open(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    before = open_descriptors()
    with opened(tmp_path) as start:
        steps = Walk().folders(start)
        next(steps)
        next(steps)
        steps.close()  # pyright: ignore[reportAttributeAccessIssue]  (the iterator is a generator)
    assert open_descriptors() == before
