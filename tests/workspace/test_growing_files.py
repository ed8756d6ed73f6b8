"""A file that grows and shrinks while it is read: the read ends, is bounded, and a write from it is stale."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.files import LocalFiles
from dogu.workspace.roots import Roots

CHANGES = """
import sys
with open(sys.argv[1], "r+b", buffering=0) as file:
    while True:
        for _ in range(20):
            file.write(b"line\\n" * 2_000)
        file.seek(0)
        file.truncate()
"""


@contextmanager
def restless(path: Path) -> Generator[None]:
    """Let the file grow and shrink as fast as a process can; a thread would stand still while this one reads."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", CHANGES, str(path)]) as process:
        try:
            yield
        finally:
            process.kill()


def test_a_file_that_changes_size_is_read_within_its_bound_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"line\n")
    files = LocalFiles(Roots(str(tmp_path)))
    outcomes: Counter[str] = Counter()
    deadline = time.monotonic() + 60
    with restless(path):
        # On a busy machine it stands still for longer than 150 reads take: all would see the same size.
        while outcomes.total() < 150 or len(outcomes) < 2:
            assert time.monotonic() < deadline, outcomes
            try:
                read = files.read("f", max_bytes=100_000)
            except ToolError as error:
                outcomes[error.kind.value] += 1
                continue
            assert len(read.data) <= 100_000
            outcomes["done"] += 1
    assert set(outcomes) == {"done", ErrorKind.TOO_LARGE.value}


def test_what_was_read_from_it_is_stale_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"line\n")
    files = LocalFiles(Roots(str(tmp_path)))
    read = files.read("f")
    with path.open("ab") as file:
        file.write(b"one more\n")
    with pytest.raises(ToolError) as caught:
        files.write("f", b"new", read.digest)
    assert caught.value.kind is ErrorKind.STALE
    assert path.read_bytes() == b"line\none more\n"
