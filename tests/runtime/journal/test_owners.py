"""What keeps even its owner out is seen and put back as anything else: what root, who runs most tests, never meets."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pytest

from dogu.runtime.journal.states import put_attributes, see
from dogu.workspace.digest import digest_of
from dogu.workspace.openat import Place
from dogu.workspace.system import IS_LINUX

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="modes and attributes as Linux has them")

_NOBODY = 65_534
_SOMEBODY = 65_533  # nobody's number is what a user namespace shows of all others
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


def run_as_nobody(
    home: Path, python: str, *args: str, user: int = _NOBODY, cwd: Path = _TESTS.parent
) -> subprocess.CompletedProcess[str]:
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
        cwd=cwd,
        user=user,
        group=user,
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


def somebodys_dogu(home: Path) -> tuple[Callable[..., str], Path]:
    """Return dogu as one runs it who is neither root nor nobody, and the workspace of theirs that it runs in."""
    python, root = python_of_nobody(home), home / "w"
    if not python:
        pytest.skip("nobody may read the program or its tests here")
    root.mkdir()
    for path in (home, root):
        os.chown(path, _SOMEBODY, _SOMEBODY)

    def dogu(*args: str, start: Sequence[str] = ("-m", "dogu"), status: int = 0) -> str:
        ran = run_as_nobody(home, python, *start, *args, user=_SOMEBODY, cwd=root)
        assert ran.returncode == status, ran.stdout + ran.stderr
        return ran.stdout

    return dogu, root


def calling(command: str) -> tuple[str, ...]:
    return "call", "--approval-mode", "yolo", "run_shell_command", json.dumps({"command": command})


_KILLED = """
import os, signal, sys
from dogu.cli import main
from dogu.runtime.journal.apply import Applier

swap, left = Applier._swap, [int(sys.argv.pop(1))]

def swap_or_die(self, place, step):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    swap(self, place, step)

Applier._swap = swap_or_die
main(sys.argv[1:])
"""


@pytest.mark.parametrize("puts", [0, 1])
def test_what_is_anothers_is_moved_back_also_where_the_undo_was_killed(home_of_nobody: Path, puts: int) -> None:
    dogu, root = somebodys_dogu(home_of_nobody)
    for name in ("theirs", "secret"):
        (root / name).write_text(f"{name}\n")
        (root / name).chmod(0o600)
    dogu(*calling("mv theirs a; mv secret b # until it is watched"))
    dogu(str(puts), "undo", start=("-c", _KILLED), status=-9)
    dogu("sessions")
    assert {path.name: (path.read_text(), path.lstat().st_uid) for path in root.iterdir()} == {
        "theirs": ("theirs\n", 0),
        "secret": ("secret\n", 0),
    }


def test_what_is_anothers_goes_back_as_it_is_or_comes_back_as_the_users_own(home_of_nobody: Path) -> None:
    """Whose owner can't be given again: moved, written to where it stands, or brought back by its content."""
    dogu, root = somebodys_dogu(home_of_nobody)
    for name, mode in {"theirs": 0o644, "secret": 0o600, "gone": 0o4644, "shared": 0o664}.items():
        (root / name).write_text(f"{name}\n")
        (root / name).chmod(mode)
    os.chown(root / "shared", _SOMEBODY, 0)

    def tree() -> dict[str, tuple[int, int, int, str]]:
        stats = {path: path.lstat() for path in sorted(root.iterdir())}
        return {path.name: (at.st_mode, at.st_uid, at.st_gid, path.read_text()) for path, at in stats.items()}

    before = tree()
    command = "mv theirs a; mv secret b; rm -f gone; echo more >> shared # until it is watched"
    told = dogu(*calling(command))
    after = tree()
    assert after.keys() == {"a", "b", "shared"}
    assert "Can't be undone" not in told
    assert "brought back as your own" in dogu("undo")
    assert tree() == before | {"gone": (stat.S_IFREG | 0o644, _SOMEBODY, _SOMEBODY, "gone\n")}
    dogu("redo")
    assert tree() == after


def test_in_a_folder_of_a_group_that_is_not_the_users_a_command_does_what_it_does_without_a_layer(
    home_of_nobody: Path,
) -> None:
    dogu, root = somebodys_dogu(home_of_nobody)
    shared = root / "shared"
    shared.mkdir()
    (shared / "f").write_text("f\n")
    for path in (shared, shared / "f"):
        os.chown(path, _SOMEBODY, 33)
    shared.chmod(0o2775)

    assert "another user or group" in dogu(*calling("mkdir shared/n; echo z >> shared/f"))
    assert (shared / "f").read_text() == "f\nz\n"
    assert (shared / "n").stat().st_gid == 33
    dogu("undo")
    assert [(path.name, path.read_text(), path.stat().st_gid) for path in shared.iterdir()] == [("f", "f\n", 33)]

    os.chown(root, _SOMEBODY, 33)
    root.chmod(0o2775)
    dogu(*calling("echo z > new"))
    assert ((root / "new").stat().st_gid, root.stat().st_gid, stat.S_IMODE(root.stat().st_mode)) == (33, 33, 0o2775)
