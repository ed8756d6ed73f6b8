"""A file that grows and shrinks while it is read: the read ends, is bounded, and a write from it is stale."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.files import LocalFiles
from dogu.workspace.roots import Roots


@contextmanager
def restless(path: Path) -> Generator[None]:
    """Let the file grow and shrink as fast as a thread can."""
    stop = threading.Event()

    def change() -> None:
        with path.open("r+b", buffering=0) as file:
            while not stop.is_set():
                for _ in range(20):
                    file.write(b"line\n" * 2_000)
                file.seek(0)
                file.truncate()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_file_that_changes_size_is_read_within_its_bound_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"line\n")
    files = LocalFiles(Roots(str(tmp_path)))
    outcomes: set[str] = set()
    with restless(path):
        for _ in range(150):
            try:
                read = files.read("f", max_bytes=100_000)
            except ToolError as error:
                outcomes.add(error.kind.value)
                continue
            assert len(read.data) <= 100_000
            outcomes.add("done")
    assert "done" in outcomes


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
