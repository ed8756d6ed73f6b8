"""Trees of folders that are deeper than Python can call itself."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogu.workspace.fs import walked
from dogu.workspace.layer.linked import may_have_parted
from dogu.workspace.layer.make import remove_folder
from dogu.workspace.linked import names_of_linked
from dogu.workspace.staged import StagedChange

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no such tree again")
_LEVELS = 1_200


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[str]:
    top = os.path.join(os.path.realpath(tmp_path), "deep")
    path = os.path.join(top, *"a" * _LEVELS)
    os.makedirs(top)
    here = os.open(top, os.O_RDONLY)
    for _ in range(_LEVELS):
        os.mkdir("a", dir_fd=here)
        here, above = os.open("a", os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(here)
    with open(os.path.join(path, "f"), "w") as file:
        file.write("x")
    os.link(os.path.join(path, "f"), os.path.join(path, "g"))
    os.symlink(".", os.path.join(path, "link"))
    yield top
    remove_folder(top)


def test_each_folder_is_given_once_and_no_link_is_followed(deep: str) -> None:
    *above, (last, folders, names) = walked(deep)
    assert len(above) == _LEVELS
    assert all((folders, names) == (["a"], []) for _, folders, names in above)
    assert (last.count("/a"), folders, sorted(names)) == (_LEVELS, [], ["f", "g", "link"])


def test_what_looks_through_it_comes_to_its_end(deep: str) -> None:
    ((first, second),) = names_of_linked([deep]).values()
    assert {os.path.basename(first), os.path.basename(second)} == {"f", "g"}
    assert not may_have_parted([StagedChange(deep, was_there=True)])


def test_it_is_removed_whole(deep: str) -> None:
    remove_folder(deep)
    assert not os.path.lexists(deep)
