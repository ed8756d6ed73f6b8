"""Every file tool while a thread swaps folders and files for links that lead outside: nothing outside is read or changed.

A hundred tries a tool or so; `DOGU_RACES=100000` makes it the long run, minutes a tool.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dogu.contract.confirmation import CallContext
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.runtime.registry import AnyTool
from dogu.tools.glob import Glob
from dogu.tools.grep_search import GrepSearch
from dogu.tools.list_directory import ListDirectory
from dogu.tools.read_file import ReadFile
from dogu.tools.read_many_files import ReadManyFiles
from dogu.tools.replace import Replace
from dogu.tools.run_shell_command import RunShellCommand
from dogu.tools.write_file import WriteFile
from dogu.workspace.files import LocalFiles
from dogu.workspace.process.command import ProcessResult, Report, ShellCommand
from dogu.workspace.roots import Roots
from dogu.workspace.search import ContentSearch
from dogu.workspace.search.program import Engines

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "renameat2"), reason="no renameat2 here to swap names with"),
    pytest.mark.timeout(7_200),
]

TRIES = int(os.environ.get("DOGU_RACES", "0"))
_BRIEF_S = 0.2

EXPECTED = (
    ErrorKind.OUTSIDE_WORKSPACE,
    ErrorKind.NOT_FOUND,
    ErrorKind.WRONG_FILE_TYPE,
    ErrorKind.STALE,
    ErrorKind.NO_MATCH,
    ErrorKind.IO_ERROR,
)
MANY = 100  # names that one search opens: each try of ripgrep starts a program, so one start counts for as many
Make = Callable[[Roots, LocalFiles], AnyTool]


class OnlyLooks:
    """Runs nothing: tells what stands in the folder that a command would run in."""

    async def run(self, command: ShellCommand, report: Report | None = None) -> ProcessResult:
        """Read the file `f` there, and list the folder."""
        assert isinstance(command.directory, int)
        file = os.open("f", os.O_RDONLY, dir_fd=command.directory)
        text = f"{os.read(file, 100)!r} {os.listdir(command.directory)}"
        os.close(file)
        return ProcessResult(text, "", 0, None, 0)


TOOLS: dict[str, tuple[Make, dict[str, Any]]] = {
    "read_file": (lambda roots, files: ReadFile(files, roots, lambda _path: ""), {"path": "d/f"}),
    "read_many_files": (lambda roots, files: ReadManyFiles(files, roots, lambda _path: ""), {"paths": ["d/*", "g"]}),
    "list_directory": (lambda roots, _files: ListDirectory(roots), {"path": "d"}),
    "glob": (lambda roots, _files: Glob(roots), {"pattern": "**/*"}),
    "grep_search": (lambda roots, _files: GrepSearch(ContentSearch(roots)), {"pattern": "SECRET|inside"}),
    "grep_search in the process": (
        lambda roots, _files: GrepSearch(ContentSearch(roots, engines=Engines(None, nominates=False))),
        {"pattern": "SECRET|inside"},
    ),
    "run_shell_command": (
        lambda roots, _files: RunShellCommand(roots, OnlyLooks(), dict),
        {"command": "cat f", "directory": "d"},
    ),
    "write_file": (lambda roots, files: WriteFile(files, roots), {"file_path": "d/f", "content": "inside {}"}),
    "replace": (
        lambda roots, files: Replace(files, roots, None),
        # Names that swap without end can't always be put back: each try must find the text that any other left.
        {"file_path": "{root}/g", "old_string": "inside", "new_string": "inside."},
    ),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for folder in ("ws/d", "out"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ws/d/f").write_text("inside")
    (tmp_path / "ws/g").write_text("inside 0")
    (tmp_path / "out/f").write_text("SECRET")
    (tmp_path / "out/only_outside").write_text("SECRET")
    (tmp_path / "ws/d_link").symlink_to(tmp_path / "out")
    (tmp_path / "ws/g_link").symlink_to(tmp_path / "out/f")
    return tmp_path


@contextmanager
def swapping(*pairs: tuple[Path, Path]) -> Generator[list[int]]:
    """Let names change places as fast as a thread can; the list counts."""
    libc, stop, count = ctypes.CDLL(None), threading.Event(), [0]

    def swap() -> None:
        while not stop.is_set():
            for one, other in pairs:
                libc.renameat2(-100, bytes(one), -100, bytes(other), 2)
            count[0] += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield count
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("name", TOOLS)
async def test_a_swapped_name_lets_no_tool_out(name: str, place: Path) -> None:
    roots = Roots(str(place / "ws"))
    make, given = TOOLS[name]
    tool = make(roots, LocalFiles(roots))
    kinds: set[str] = set()
    ended = time.monotonic() + _BRIEF_S
    tries = done = 0
    with swapping((place / "ws/d", place / "ws/d_link"), (place / "ws/g", place / "ws/g_link")) as swaps:
        while tries < TRIES or (not TRIES and (time.monotonic() < ended or not done)):
            tries += 1
            try:
                result = await _called(tool, {key: _filled(value, tries, place) for key, value in given.items()})
            except ToolError as error:
                kinds.add(error.kind.value)
                continue
            told = f"{result.llm_content} {result.return_display}".replace(str(given.get("pattern")), "")
            assert "SECRET" not in told, told
            assert "only_outside" not in told, told
            kinds.add("done")
            done += 1
    assert "done" in kinds
    assert kinds <= {"done", *(kind.value for kind in EXPECTED)}
    assert sorted(os.listdir(place / "out")) == ["f", "only_outside"]
    assert (place / "out/f").read_text() == "SECRET"
    assert swaps[0] > 0
    if TRIES:
        print(f"{name}: {tries} tries, {swaps[0]} swaps, 0 escapes; {sorted(kinds)}")


async def test_a_search_of_many_names_that_swap_shows_nothing_from_outside(place: Path) -> None:
    pairs = [(place / f"ws/d{number}", place / f"ws/d{number}_link") for number in range(MANY)]
    for folder, link in pairs:
        folder.mkdir()
        (folder / "f").write_text("inside")
        link.symlink_to(place / "out")
    tool = GrepSearch(ContentSearch(Roots(str(place / "ws"))))
    searches = 0
    with swapping(*pairs) as swaps:
        while searches * MANY < TRIES or not searches:
            searches += 1
            result = await _called(tool, {"pattern": "SECRET|inside|only_outside"})
            told = str(result.llm_content).partition("\n")[2]
            assert "SECRET" not in told, told
            assert "only_outside" not in told, told
    if TRIES:
        print(f"grep_search: {searches * MANY} names, {swaps[0] * MANY} swaps, 0 escapes")


def _filled(value: Any, tries: int, place: Path) -> Any:
    if not isinstance(value, str):
        return value
    return value.replace("{root}", f"{place}/ws").replace("{}", str(tries))


async def _called(tool: AnyTool, raw: dict[str, Any]) -> ToolResult:
    args = tool.validate_tool_params(raw)
    confirmation = await tool.should_confirm_execute(args)
    return await tool.execute(args, CallContext(approved=confirmation.proposal if confirmation else None))
