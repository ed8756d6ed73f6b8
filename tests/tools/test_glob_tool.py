"""glob, called as a model would call it."""

import os
from pathlib import Path
from typing import Any

import pytest

from dogu.contract.confirmation import CallContext
from dogu.contract.errors import ErrorKind
from dogu.contract.result import ToolResult
from dogu.testing.workspace import check_tool, run_tool
from dogu.tools.glob import Glob, GlobArgs
from dogu.workspace.roots import Roots

pytestmark = pytest.mark.anyio


def make(root: Path, *paths: str) -> None:
    """Make files, each a second older than the one before it."""
    for age, path in enumerate(paths):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
        os.utime(root / path, (1_000_000_000 - age, 1_000_000_000 - age))


async def globbed(root: Path, pattern: str, **args: Any) -> ToolResult:
    return await run_tool(Glob(Roots(str(root))), pattern=pattern, **args)


async def names(root: Path, pattern: str, **args: Any) -> list[str]:
    result = await globbed(root, pattern, **args)
    assert isinstance(result.llm_content, str)
    return [line[len(str(root)) + 1 :] for line in result.llm_content.splitlines() if line.startswith(f"{root}/")]


def test_it_keeps_the_contract(tmp_path: Path) -> None:
    check_tool(Glob(Roots(str(tmp_path))))


async def test_absolute_paths_come_newest_first_and_ties_by_path(tmp_path: Path) -> None:
    make(tmp_path, "d/b.PY", "a.py", ".h/d.py", "node_modules/c.py")
    os.utime(tmp_path / ".h/d.py", (1_000_000_000, 1_000_000_000))
    result = await globbed(tmp_path, "**/*.py")
    assert result.llm_content == (
        f'Found 3 file(s) matching "**/*.py" within {tmp_path}, sorted by modification time (newest first):\n'
        f"{tmp_path}/.h/d.py\n{tmp_path}/d/b.PY\n{tmp_path}/a.py"
    )
    assert result.return_display == "Found 3 matching file(s)"


async def test_git_ignored_files_are_left_out_and_counted(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b.py", "build/c.py")
    (tmp_path / ".gitignore").write_text("b.py\n/build/\n")
    result = await globbed(tmp_path, "**/*.py")
    assert isinstance(result.llm_content, str)
    assert result.llm_content.splitlines()[1:] == [
        f"{tmp_path}/a.py",
        "(1 git-ignored; 1 git-ignored directory not searched)",
    ]
    assert await names(tmp_path, "**/*.py", respect_git_ignore=False) == ["a.py", "b.py", "build/c.py"]


async def test_path_narrows_the_search_and_the_message_names_it(tmp_path: Path) -> None:
    make(tmp_path, "src/a.ts", "b.ts")
    result = await globbed(tmp_path, "*.ts", path="src")
    assert result.llm_content == (
        f'Found 1 file(s) matching "*.ts" within src, sorted by modification time (newest first):\n{tmp_path}/src/a.ts'
    )


async def test_a_pattern_may_be_absolute_or_go_up_within_the_root(tmp_path: Path) -> None:
    make(tmp_path, "src/a.ts", "lib/b.ts")
    assert await names(tmp_path, f"{tmp_path}/src/*.ts") == ["src/a.ts"]
    assert await names(tmp_path, "../lib/*.ts", path="src") == ["lib/b.ts"]
    result = await globbed(tmp_path, "/etc/*")
    assert result.error
    assert result.error.kind == ErrorKind.OUTSIDE_WORKSPACE
    result = await globbed(tmp_path, "**/../*")
    assert result.error
    assert result.error.kind == ErrorKind.BAD_PATTERN


async def test_ignore_leaves_out_files_and_folders(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "dist/b.py", "src/c.py", "src/gen/d.py")
    assert await names(tmp_path, "**/*.py", ignore=["dist", "src/gen/**"]) == ["a.py", "src/c.py"]


async def test_case_matters_only_when_asked(tmp_path: Path) -> None:
    make(tmp_path, "Readme.MD", "SRC/x.c")
    assert await names(tmp_path, "readme.md") == ["Readme.MD"]
    assert await names(tmp_path, "src/*.C") == ["SRC/x.c"]
    assert await names(tmp_path, "readme.md", case_sensitive=True) == []


async def test_nothing_found_says_where_there_would_be_something(tmp_path: Path) -> None:
    make(tmp_path, "a/x.md", "b/y.md")
    result = await globbed(tmp_path, "*.md")
    assert result.llm_content == (
        f'No files found matching "*.md" within {tmp_path}.\n(2 in subdirectories: use "**/*.md" to find them)'
    )


async def test_many_paths_are_bounded_and_all_counted(tmp_path: Path) -> None:
    for number in range(2_050):
        (tmp_path / f"{number}.c").touch()
    # Not through the executor, whose own bound on characters is shorter.
    result = await Glob(Roots(str(tmp_path))).execute(GlobArgs(pattern="*.c"), CallContext())
    assert isinstance(result.llm_content, str)
    lines = result.llm_content.splitlines()
    assert lines[0].startswith("Found 2050 file(s)")
    assert len(lines) == 2_002
    assert lines[-1].startswith("(showing the newest 2000 of 2050;")


@pytest.mark.parametrize("pattern", ["", "/", "{a,b}" * 12, "a" * 5_000, "{" * 30 + "a,b" + "}" * 30])
async def test_a_pattern_that_means_nothing_or_too_much_is_refused(tmp_path: Path, pattern: str) -> None:
    result = await globbed(tmp_path, pattern)
    assert result.error is None or result.error.kind == ErrorKind.BAD_PATTERN
