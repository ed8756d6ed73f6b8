"""Commands in layers beside other programs: what those write stays theirs, and what wasn't done isn't called done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from subprocess import CompletedProcess

import pytest

from dogu.workspace.system import IS_LINUX
from e2e.program import Program

pytestmark = pytest.mark.skipif(not IS_LINUX or shutil.which("bwrap") is None, reason="no layers on this machine")


def run(program: Program, command: str) -> CompletedProcess[bytes]:
    words = ("call", "run_shell_command", json.dumps({"command": command}), "--approval-mode", "yolo")
    return program.run(*words)


def test_a_program_that_writes_a_log_goes_on_writing_the_same_file(program: Program) -> None:
    log = program.root / "log"
    log.write_text("first\n")
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    try:
        assert run(program, "chmod 600 log").returncode == 0
        os.write(descriptor, b"second\n")
        assert run(program, "echo marker >> log").returncode == 0
        os.write(descriptor, b"third\n")
        assert log.read_text() == "first\nsecond\nmarker\nthird\n"
        assert log.stat().st_mode & 0o777 == 0o600
        program.run("undo")
        os.write(descriptor, b"fourth\n")
        assert log.read_text().endswith("third\nfourth\n")
    finally:
        os.close(descriptor)


def test_a_folder_that_is_marked_as_containers_mark_theirs_keeps_its_files(program: Program) -> None:
    folder = program.root / "storage"
    folder.mkdir()
    (folder / "kept").write_text("x")
    try:
        os.setxattr(folder, "user.overlay.opaque", b"y")
    except OSError as error:
        pytest.skip(f"no extended attributes here: {error}")
    assert run(program, "ls storage; touch storage/new").returncode == 0
    assert {path.name for path in folder.iterdir()} == {"kept", "new"}


def test_a_folder_gives_way_to_a_file_and_comes_back(program: Program) -> None:
    folder = program.root / "x"
    folder.mkdir()
    (folder / "y").write_text("1")
    assert run(program, "rm -r x && echo 2 > x").returncode == 0
    assert folder.read_text() == "2\n"
    assert program.run("undo").returncode == 0
    assert (folder / "y").read_text() == "1"


def test_what_could_not_be_put_in_place_is_a_failure(program: Program) -> None:
    path = program.root / "notes"
    path.write_text("a\n")
    layers = program.home / ".dogu" / "sessions"
    with ThreadPoolExecutor() as beside:
        running = beside.submit(run, program, "echo model > notes; sleep 3")
        while not list(layers.glob("*/layers/layer-*/**/notes")):  # it has written to its layer, and sleeps
            assert not running.done()
        path.write_text("person\n")
        done = running.result()
    assert done.returncode == 54
    assert b"somebody changed it since the command began" in done.stdout + done.stderr
    assert path.read_text() == "person\n"


def test_force_goes_on_with_the_undo_that_had_to_leave_something(program: Program) -> None:
    notes, first, second = (program.root / name for name in ("notes", "f", "g"))
    assert run(program, "echo older > notes").returncode == 0
    notes.write_text("person\n")
    first.write_text("1\n")
    second.write_text("1\n")
    assert run(program, "echo 2 > f; echo 2 > g").returncode == 0
    first.write_text("mine\n")
    assert program.run("undo").returncode == 54
    assert (first.read_text(), second.read_text()) == ("mine\n", "1\n")
    assert program.run("undo", "--force").returncode == 0
    assert (first.read_text(), notes.read_text()) == ("1\n", "person\n")


_RENAMING = """
import os
def tried(old, new):
    try:
        os.rename(old, new)
        print(old, new, "done")
    except OSError as error:
        print(old, new, type(error).__name__, error.errno)
tried("dir", "dir2")
tried("dir2/sub", "up")
tried("up", "full")
tried("dir2", "dir2/empty/in")
tried("dir2", "none/there")
os.mkdir("place")
tried("dir2", "place")
descriptor = os.open("place", os.O_RDONLY)
os.rename("empty", "hollow", src_dir_fd=descriptor, dst_dir_fd=descriptor)
"""


# As `unshare -Ur` begins it; what the machine lets a sandbox do is asked again there.
_AS_USER = """
import ctypes, os, runpy, sys
from dogu.workspace.launcher import network
from dogu.workspace.sandbox import bubblewrap
user, group = os.geteuid(), os.getegid()
assert ctypes.CDLL(None).unshare(0x10000000) == 0
for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
network._try_out.cache_clear()
bubblewrap._try_out.cache_clear()
runpy.run_module("dogu", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def as_user(program: Program) -> list[str]:
    """What the program begins with to be run by a user whose layers aren't the machine's root's."""
    words = [shutil.which("unshare") or "", "-Ur"]
    if not words[0] or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces of a user's own here")
    script = program.home / "as_user.py"
    script.write_text(_AS_USER)
    return [str(script)]


def test_a_user_s_own_layer_renames_folders_as_the_system_does(program: Program, as_user: list[str]) -> None:
    for path in ("dir/sub", "dir/empty", "full/of"):
        (program.root / path).mkdir(parents=True)
    (program.root / "dir/a").write_text("a\n")
    (program.root / "dir/sub/b").write_text("b\n")
    os.link(program.root / "dir/a", program.root / "dir/sub/again")
    os.symlink("a", program.root / "dir/link")
    os.mkfifo(program.root / "dir/pipe")
    (program.root / "dir/sub").chmod(0o750)
    os.utime(program.root / "dir/sub", ns=(10**18, 10**18))
    (program.root / "rename.py").write_text(_RENAMING)
    before = _facts(program)
    twin = program.root.parent / "twin"
    subprocess.run(["cp", "-a", program.root, twin], check=True)
    wanted = subprocess.run([sys.executable, "rename.py"], cwd=twin, capture_output=True, text=True, check=True)

    command = json.dumps({"command": "python3 rename.py 2>&1"})
    done = program.run("call", "run_shell_command", command, "--approval-mode", "yolo", begin=as_user)
    assert done.returncode == 0, done.stderr
    if b"without one" in done.stdout:
        pytest.skip("this kernel tells no renames")
    assert wanted.stdout.replace("\n", "") in done.stdout.decode().replace("\n", "")
    assert _facts(program) == _facts(Program(twin, program.home))
    assert program.run("undo", begin=as_user).returncode == 0
    assert _facts(program) == before


def test_a_user_s_own_layer_renames_a_folder_that_is_deeper_than_a_path_may_be_long(
    program: Program, as_user: list[str]
) -> None:
    (program.root / "top").mkdir()
    deepest = os.open(program.root / "top", os.O_PATH)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=deepest)
        below = os.open("d" * 250, os.O_PATH, dir_fd=deepest)
        os.close(deepest)
        deepest = below
    command = '{"command": "mv top moved"}'
    done = program.run("call", "--approval-mode", "yolo", "run_shell_command", command, begin=as_user)
    assert done.returncode == 0, done.stderr
    os.close(deepest)
    assert os.listdir(program.root) == ["moved"]
    assert b"without one" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        "echo more >> dir/a",
        "chmod 600 dir/a",
        "tar cf n.tar dir/a; rm dir/a; tar xf n.tar; rm n.tar",
        "mv dir/a b",
        "echo more >> dir/a; mv dir/a b",
        "ln dir/a b; echo more >> b",
        "cp dir/b c; ln -f c dir/b",
        "ln dir/b c; cp dir/b c; chmod 600 c; rm c",
        "mv dir/b c; ln c d; cat d >> c; true",
        "ln -s dir/b l; ln -L l c; rm l; cp dir/b c; true",
        "ln dir/b c; python3 -c \"import os; os.rename('c', 'dir/b'); os.chmod('c', 0o600)\"",
        "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'dir/b', -100, b'full', 2)\"",
        "echo more >> dir/a; rm dir/a",
        "echo more >> dir/a; rm -r dir",
        "echo more >> dir/a; mv dir/b dir/a",
        "mv dir moved",
        "cd dir; mv ../dir ../moved; echo more > new",
        "python3 -c \"import os; f = os.open('dir', os.O_RDONLY); os.rename('dir', 'moved'); "
        "os.close(os.open('new', os.O_CREAT, dir_fd=f))\"",
    ],
)
def test_in_a_user_s_own_layer_files_of_several_names_and_open_folders_are_what_they_are_without(
    command: str, program: Program, as_user: list[str]
) -> None:
    (program.root / "dir").mkdir()
    (program.root / "dir/a").write_text("a\n")
    (program.root / "dir/b").write_text("b\n")
    (program.root / "full").mkdir()
    (program.root / "full/c").write_text("c\n")
    os.link(program.root / "dir/a", program.root / "name")
    before = _facts(program)
    twin = program.root.parent / "twin"
    subprocess.run(["cp", "-a", program.root, twin], check=True)
    subprocess.run(["bash", "-c", command], cwd=twin, check=True)

    def dogu(*argv: str) -> None:
        done = program.run(*argv, begin=as_user)
        assert done.returncode == 0, done.stderr

    dogu("call", "--approval-mode", "yolo", "run_shell_command", json.dumps({"command": command}))
    after = _facts(program)
    assert after == _facts(Program(twin, program.home))
    dogu("undo")
    assert _facts(program) == before
    dogu("redo")
    assert _facts(program) == after


def _facts(program: Program) -> dict[str, object]:
    """What lies in the folder: kinds, modes, contents and which names are of one file."""
    found: dict[str, object] = {}
    names: dict[int, str] = {}
    for path in sorted(program.root.rglob("*")):
        status = path.lstat()
        one = names.setdefault(status.st_ino, str(path.relative_to(program.root)))
        held = path.read_text() if path.is_file() else os.readlink(path) if path.is_symlink() else ""
        found[str(path.relative_to(program.root))] = (status.st_mode, held, one)
    return found
