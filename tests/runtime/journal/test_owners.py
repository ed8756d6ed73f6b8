"""What keeps even its owner out is seen and put back as anything else: what root, who runs most tests, never meets."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from dogu.runtime.journal.states import put_attributes, see
from dogu.workspace.digest import digest_of
from dogu.workspace.openat import Place
from dogu.workspace.system import IS_LINUX

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="modes and attributes as Linux has them")

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


_TESTS = Path(__file__).parents[2]


@pytest.fixture
def home_of_nobody() -> Generator[Path]:
    """A folder of its own for one who is not root."""
    if os.geteuid() != 0:
        pytest.skip("all tests run as one who is not root already")
    home = Path(tempfile.mkdtemp(prefix="dogu-nobody-", dir="/tmp"))
    os.chown(home, _NOBODY, _NOBODY)
    yield home
    shutil.rmtree(home, ignore_errors=True)


def run_as_nobody(home: Path, python: str, *args: str) -> subprocess.CompletedProcess[str]:
    paths = [_TESTS.parent / "src", *(path for path in sys.path if path.endswith("site-packages"))]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        [python, *args],
        env=environment,
        cwd=_TESTS.parent,
        user=_NOBODY,
        group=_NOBODY,
        extra_groups=(),
        capture_output=True,
        text=True,
        check=False,
    )


def python_of_nobody(home: Path) -> str:
    """Find a Python that nobody may run, with the packages that these tests need; "" where there is none."""
    tried = f"import pytest, msgspec, subprocess, sys; open({str(_TESTS / 'conftest.py')!r}); "
    tried += "subprocess.run([sys.executable, '-c', ''], check=True)"
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        with contextlib.suppress(OSError):
            if run_as_nobody(home, python, "-c", tried).returncode == 0:
                return python
    return ""


@pytest.mark.timeout(600)
def test_layers_watch_undo_and_redo_hold_for_one_who_is_not_root(
    home_of_nobody: Path, request: pytest.FixtureRequest
) -> None:
    """Run a third of what root has run, another one each day; for a release, all of it."""
    python = python_of_nobody(home_of_nobody)
    if not python:
        pytest.skip("nobody may read the program or its tests here")
    part = [] if request.config.getoption("--release") else [f"--part={time.gmtime().tm_yday % 3}/3"]
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={home_of_nobody}/t", *part]
    named = "what_a_command_did_is_undone or what_a_command_without_a_layer_did or does_in_a_layer"
    files = ["tests/runtime/journal/test_commit.py", "tests/workspace/layer/test_layers.py"]
    ran = run_as_nobody(home_of_nobody, python, "-m", "pytest", *options, "-k", named, *files)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-1000:]
    assert " passed" in ran.stdout
