"""Where a command's places really are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dogu.workspace.sandbox.places import is_in, resolved

_LINKS = {
    "link": "folder",
    "up": "../..",
    "folder/back": "../link/inside",
    "loop": "loop",
    "chain": "link",
    "nowhere": "missing/x",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    for name, target in _LINKS.items():
        (tmp_path / name).symlink_to(target)
    return tmp_path


def test_places_are_resolved_as_the_system_does(tree: Path) -> None:
    names = (
        *_LINKS,
        "link/inside",
        "chain/back/x",
        "up/tmp",
        "loop/x",
        "folder/../link",
        "link/",
        "nowhere/y",
        "./up",
        "d/" * 1_500 + "d",
    )
    paths = [f"{tree}/{name}" for name in names] + ["/", "//etc", "/etc/.", "/proc/self"]
    assert resolved(paths) == {path: os.path.realpath(path) for path in paths}


def test_a_place_is_in_a_folder_by_whole_names() -> None:
    inside = [("/a/b", "/a"), ("/a", "/a/"), ("/a", "/a"), ("/a", "/"), ("/", "/")]
    assert [(path, folder) for path, folder in inside if not is_in(path, [folder])] == []
    assert [
        (path, folder) for path, folder in [("/ab", "/a"), ("/", "/a"), ("/a", "/ab")] if is_in(path, [folder])
    ] == []
