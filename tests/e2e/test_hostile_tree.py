"""A tree that wants to break tools: nothing hangs, nothing crashes, every error says what to do."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogu.app import Options, open_runtime
from dogu.contract import ErrorKind, ToolResult, text_of

pytestmark = pytest.mark.anyio

NAMES = [
    b"new\nline.txt",
    b"-rf",
    b"--pre=touch pwned",
    b"\xff\xfe invalid.txt",
    "絵文字🎉.txt".encode(),
    "e\u0301 decomposed.txt".encode(),
    b"x" * 255,
    b" leading and trailing ",
    b"tab\there.txt",
    b"quote'\".txt",
    b"back\\slash.txt",
    b"[brackets]{braces}*.txt",
    b"%2e%2e",
    b"~",
    b"@at.txt",
    b"\x1b[31mred.txt",
]


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "tree"
    root.mkdir()
    for name in NAMES:
        with open(os.path.join(os.fsencode(root), name), "wb") as file:
            file.write(b"needle in " + name[:20].replace(b"\n", b" ") + b"\n")
    os.mkfifo(root / "fifo")
    listening = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(root)
    listening.bind("socket")
    os.chdir(here)
    (root / "loop-a").symlink_to("loop-b")
    (root / "loop-b").symlink_to("loop-a")
    (root / "self").symlink_to(".")
    (root / "dangling").symlink_to("nowhere")
    (root / "outside").symlink_to("/etc/hostname")
    (root / "zero").symlink_to("/dev/zero")
    with open(root / "sparse.bin", "wb") as file:
        file.truncate(5 * 1024**3)
    deep = root
    for _ in range(200):
        deep = deep / "deep"
        deep.mkdir()
    (deep / "bottom.txt").write_text("needle\n")
    secret = root / "unreadable.txt"
    secret.write_text("needle\n")
    secret.chmod(0)
    yield root
    listening.close()


async def run(root: Path, tool: str, **args: Any) -> ToolResult:
    options = Options(root=str(root), home=str(root.parent / "home"), approval_mode="yolo")
    (root.parent / "home").mkdir(exist_ok=True)
    with anyio.fail_after(30):
        async with open_runtime(options) as runtime:
            result = (await runtime.call(tool, args)).result
    assert result.error is None or result.error.kind is not ErrorKind.DEFECT, result.error
    return result


async def test_the_tree_is_listed_whole(tree: Path):
    listing = text_of((await run(tree, "list_directory", path=".")).llm_content)
    for name in ("fifo", "socket", "loop-a", "dangling", "sparse.bin", "-rf", "絵文字🎉.txt"):
        assert name in listing
    assert "[DIR] deep" in listing


async def test_every_name_can_be_read_by_the_name_it_has(tree: Path):
    for name in NAMES:
        result = await run(tree, "read_file", path=os.fsdecode(name))
        assert result.error is None, (name, result.error)
        assert "needle in " in text_of(result.llm_content)


@pytest.mark.parametrize("name", ["fifo", "socket", "loop-a", "dangling", "outside", "zero", "deep", "self"])
async def test_what_is_no_file_is_refused_at_once_with_a_reason(tree: Path, name: str):
    result = await run(tree, "read_file", path=name)
    assert result.error is not None
    assert len(result.error.message) > 20


async def test_a_sparse_file_of_five_gigabytes_is_answered(tree: Path):
    result = await run(tree, "read_file", path="sparse.bin")
    assert result.error is not None
    assert "binary" in result.error.message


async def test_glob_and_search_come_to_an_end_and_find_the_rest(tree: Path):
    found = text_of((await run(tree, "glob", pattern="**/*.txt")).llm_content)
    assert "bottom.txt" in found
    matches = text_of((await run(tree, "grep_search", pattern="needle")).llm_content)
    assert "bottom.txt" in matches
    assert "-rf" in matches
    assert not (tree / "pwned").exists()


async def test_many_files_at_once_skip_what_cannot_be_read(tree: Path):
    result = await run(tree, "read_many_files", paths=["."])
    assert result.error is None
    assert "bottom.txt ---" in text_of(result.llm_content)


async def test_nothing_outside_is_read_or_written(tree: Path):
    for path in ("../home", "/etc/hostname", "outside", "deep/../../home/x"):
        assert (await run(tree, "read_file", path=path)).error is not None
        assert (await run(tree, "write_file", file_path=path, content="x")).error is not None


async def test_files_that_come_and_go_while_they_are_listed(tree: Path):
    stop = threading.Event()

    def flicker() -> None:
        while not stop.is_set():
            for number in range(50):
                (tree / f"flicker{number}.txt").write_text("needle\n")
            for number in range(50):
                (tree / f"flicker{number}.txt").unlink()

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        for tool, args in (
            ("list_directory", {"path": "."}),
            ("glob", {"pattern": "*.txt"}),
            ("grep_search", {"pattern": "needle"}),
            ("read_many_files", {"paths": ["*.txt"]}),
        ):
            for _ in range(5):
                assert (await run(tree, tool, **args)).error is None
    finally:
        stop.set()
        thread.join()
