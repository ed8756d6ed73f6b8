"""A file is the old or the new one whenever the power goes, and the new one once the write has been told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dogu.workspace.pending_writes import recover
from dogu.workspace.roots import Roots
from workspace.power_loss import CALLS, Trace, Tree

OLD = b"the old content\n" * 3
NEW = b"new\n" * 40
_WRITE = """
import sys
from dogu.workspace.atomic_write import AtomicWriter
from dogu.workspace.files import LocalFiles
from dogu.workspace.pending_writes import PendingWrites
from dogu.workspace.roots import Roots
workspace, target, pending = sys.argv[1:]
writer = AtomicWriter(PendingWrites(pending))
files = LocalFiles(Roots(workspace), writer=writer)
files.protected_reason(target)  # a file with other names is asked about
files.write(target, sys.stdin.buffer.read(), None)
"""


def tree_of(base: Path) -> Tree:
    found = {str(path): path.read_bytes() if path.is_file() else None for path in base.rglob("*")}
    return {str(base): None, **found}


def traced(base: Path, target: Path) -> Trace:
    strace = shutil.which("strace")
    if strace is None or not os.path.exists("/proc/self/fd"):
        pytest.skip("there is no strace, or no /proc to tell it what is open")
    before = tree_of(base)
    log = base.parent / "trace"
    words = [strace, "-y", "-xx", "-s", "1000000", "-o", str(log), "-e", f"trace={CALLS}", sys.executable, "-c", _WRITE]
    given = [str(base / "ws"), str(target), str(base / "state" / "pending")]
    done = subprocess.run([*words, *given], input=NEW, capture_output=True, check=False)
    if b"ptrace" in done.stderr:
        pytest.skip(f"no tracing here: {done.stderr.decode().splitlines()[0]}")
    assert done.returncode == 0, done.stderr.decode()
    return Trace(before, log.read_text().splitlines())


def content_after(state: Tree, base: Path, disk: Path, target: Path) -> bytes | None:
    """What the target holds once the next start has put right what it found."""
    for path, content in sorted(state.items()):
        place = disk / Path(path).relative_to(base)
        if content is None:
            place.mkdir(parents=True)
        else:
            # A note names the file as it was called before the loss.
            place.write_bytes(content)
    shutil.rmtree(base)
    os.rename(disk, base)
    recover(str(base / "state" / "pending"), Roots(str(base / "ws")))
    return target.read_bytes() if target.exists() else None


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory, where there is one: a state is a tree of its own, and each is synced."""
    with TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.mark.parametrize("way", ["replaced", "in place", "new", "in a new folder"])
def test_whenever_the_power_goes_the_file_is_old_or_new_and_new_once_it_was_told(place: Path, way: str):
    base = place / "base"
    target = base / "ws" / ("sub/deep/f" if way == "in a new folder" else "f")
    (base / "ws").mkdir(parents=True)
    (base / "state").mkdir()
    old = None
    if way in ("replaced", "in place"):
        target.write_bytes(OLD)
        old = OLD
    if way == "in place":
        os.link(target, base / "ws" / "other")
    trace = traced(base, target)
    assert trace.changes
    seen: set[bytes | None] = set()
    for count, (has_ended, state) in enumerate(trace.states()):
        found = content_after(state, base, place / f"disk-{count}", target)
        assert found == NEW or (found == old and not has_ended), (count, has_ended, found)
        seen.add(found)
    assert seen == {old, NEW}
