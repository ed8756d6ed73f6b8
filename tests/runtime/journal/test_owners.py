"""What keeps even its owner out is seen and put back as anything else: what root, who runs most tests, never meets."""

from __future__ import annotations

import ctypes
import os
import stat
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from dogu.runtime.journal.states import put_attributes, see
from dogu.workspace.digest import digest_of
from dogu.workspace.openat import Place

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="modes and attributes as Linux has them")

_NOBODY = 65_534
_PR_SET_DUMPABLE = 4
_MARK = "user.overlay.origin"


def by_its_owner(folder: Path, act: Callable[[int], None]) -> None:
    """Do something in a folder as its owner, who is not root."""
    descriptor = os.open(folder, os.O_RDONLY)
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, _NOBODY, _NOBODY)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(_NOBODY)
                os.setuid(_NOBODY)
                ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1)  # its own /proc is its own again
            act(descriptor)
            status = 0
        finally:
            if status:
                traceback.print_exc()
            os._exit(status)
    os.close(descriptor)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("mode", [0, 0o200, 0o444])
def test_a_file_is_seen_whatever_its_mode_which_stays(tmp_path: Path, mode: int) -> None:
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "a").chmod(mode)

    def look(folder: int) -> None:
        seen = see(folder, "a", keep_bytes=100)
        assert (seen.state.digest, seen.state.mode, seen.data) == (digest_of(b"text"), mode, b"text")

    by_its_owner(tmp_path, look)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


@pytest.mark.parametrize("mode", [0, 0o200, 0o444])
def test_a_layers_marks_go_whatever_the_mode(tmp_path: Path, mode: int) -> None:
    (tmp_path / "a").write_bytes(b"text")
    os.setxattr(tmp_path / "a", _MARK, b"x")
    (tmp_path / "a").chmod(mode)

    def put(folder: int) -> None:
        wanted = see(folder, "a").state
        put_attributes(Place(folder, "a", "/a"), wanted, has_marks=True)
        assert see(folder, "a").state.mode == mode

    by_its_owner(tmp_path, put)
    assert os.listxattr(tmp_path / "a") == []
