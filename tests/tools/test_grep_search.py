"""grep_search, called as a model would call it."""

import time
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from dogu.contract.errors import ErrorKind
from dogu.contract.result import ToolResult
from dogu.testing.workspace import check_tool, run_tool
from dogu.tools.grep_search import GrepSearch
from dogu.workspace.roots import Roots
from dogu.workspace.search import ContentSearch
from dogu.workspace.system import IS_LINUX, IS_WINDOWS

pytestmark = pytest.mark.anyio
by_ripgrep = pytest.mark.skipif(not (IS_LINUX or IS_WINDOWS), reason="ripgrep is handed open files by /proc")


def make(root: Path, **files: str) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


async def searched(root: Path, pattern: str, **args: Any) -> ToolResult:
    return await run_tool(GrepSearch(ContentSearch(Roots(str(root)))), pattern=pattern, **args)


async def found(root: Path, pattern: str, **args: Any) -> str:
    result = await searched(root, pattern, **args)
    assert isinstance(result.llm_content, str)
    return result.llm_content


def test_it_keeps_the_contract(tmp_path: Path) -> None:
    check_tool(GrepSearch(ContentSearch(Roots(str(tmp_path)))))


async def test_matches_are_listed_as_documented(tmp_path: Path) -> None:
    utils = "\n" * 14 + "export function myFunction() {\n" + "\n" * 6 + "  myFunction.call();\n"
    make(tmp_path, **{"src/utils.ts": utils, "src/index.ts": "\n\n\n\nimport { myFunction } from './utils';\n"})
    make(tmp_path, **{"src/other.js": "myFunction"})
    assert await found(tmp_path, "myFunction", include="*.ts") == (
        'Found 3 matches for pattern "myFunction" in path "." (filter: "*.ts"):\n'
        "---\n"
        "File: src/index.ts\n"
        "L5: import { myFunction } from './utils';\n"
        "---\n"
        "File: src/utils.ts\n"
        "L15: export function myFunction() {\n"
        "L22:   myFunction.call();\n"
        "---"
    )


async def test_one_match_is_singular_and_none_is_said(tmp_path: Path) -> None:
    make(tmp_path, **{"a.py": "x\nfoo bar\ny\n"})
    assert (
        await found(tmp_path, "FOO")
        == 'Found 1 match for pattern "FOO" in path ".":\n---\nFile: a.py\nL2: foo bar\n---'
    )
    assert await found(tmp_path, "FOO", case_sensitive=True) == 'No matches found for pattern "FOO" in path ".".'
    assert await found(tmp_path, "zzz", include_pattern="*.py") == (
        'No matches found for pattern "zzz" in path "." (filter: "*.py").'
    )


async def test_context_lines_are_told_from_matches(tmp_path: Path) -> None:
    make(tmp_path, **{"a.py": "x\nfoo bar\ny\nz\n"})
    text = await found(tmp_path, "foo", context_lines=1)
    assert "L1- x\nL2: foo bar\nL3- y\n---" in text


async def test_names_only(tmp_path: Path) -> None:
    make(tmp_path, **{"a.py": "foo\nfoo\n", "b/c.py": "foo\n"})
    assert await found(tmp_path, "foo", names_only=True) == (
        'Found 2 files with 3 matches for pattern "foo" in path ".":\n---\nFile: a.py\n---\nFile: b/c.py\n---'
    )


async def test_a_file_may_be_searched_by_itself(tmp_path: Path) -> None:
    make(tmp_path, **{"src/a.py": "foo\nbar\n", "b.py": "foo\n", ".gitignore": "a.py\n"})
    assert await found(tmp_path, "foo", path="src/a.py") == (
        'Found 1 match for pattern "foo" in path "src/a.py":\n---\nFile: a.py\nL1: foo\n---'
    )


async def test_the_full_count_is_told_when_matches_are_cut(tmp_path: Path) -> None:
    make(tmp_path, **{"a.py": "foo\n" * 700, "b.py": "foo\n" * 50})
    text = await found(tmp_path, "foo")
    assert text.startswith("Found 750 matches")
    assert text.count("\nL") == 500
    assert "(showing the first 500 of 750 matches;" in text
    text = await found(tmp_path, "foo", max_matches=2)
    assert text.splitlines()[2:5] == ["File: a.py", "L1: foo", "L2: foo"]


@pytest.mark.parametrize("pattern", ["--pre=touch pwned", "-f /etc/passwd", "--open-files-in-pager=x", "-e", "--"])
async def test_a_pattern_that_looks_like_an_option_is_data(tmp_path: Path, pattern: str) -> None:
    make(tmp_path, **{"a.txt": f"x {pattern} y\n", "-dash/b.txt": pattern})
    assert (await found(tmp_path, pattern, fixed_strings=True)).startswith("Found 2 matches")
    assert (await found(tmp_path, pattern, path="-dash")).startswith("Found 1 match")
    assert not (tmp_path / "pwned").exists()


@by_ripgrep
async def test_a_pattern_with_a_line_feed_matches_over_lines(tmp_path: Path) -> None:
    make(tmp_path, **{"a.txt": "one\ntwo\nthree\n"})
    assert "L1: one\nL2: two" in await found(tmp_path, "one\ntwo", fixed_strings=True)
    assert "L1: one\nL2: two" in await found(tmp_path, r"one\ntwo")


@by_ripgrep
async def test_a_name_that_would_break_a_line_is_quoted(tmp_path: Path) -> None:
    make(tmp_path, **{"a:b\nc.txt": "one\n"})
    assert 'File: "a:b\\nc.txt"\nL1: one' in await found(tmp_path, "one")


@by_ripgrep
async def test_a_bad_pattern_is_explained_by_the_engine(tmp_path: Path) -> None:
    make(tmp_path, **{"a.txt": "x"})
    result = await searched(tmp_path, "fo(o")
    assert result.error
    assert result.error.kind == ErrorKind.BAD_PATTERN
    assert "unclosed group" in result.error.message
    result = await searched(tmp_path, "foo(?=bar)")
    assert result.error
    assert "look-around" in result.error.message


@pytest.mark.timeout(20)
async def test_a_pathological_pattern_is_answered(tmp_path: Path) -> None:
    make(tmp_path, **{"a.txt": "a" * 40 + "!\n"})
    assert (await found(tmp_path, "(a+)+$")).startswith("No matches found")


@pytest.mark.parametrize(("path", "kind"), [("nowhere", ErrorKind.NOT_FOUND), ("..", ErrorKind.OUTSIDE_WORKSPACE)])
async def test_a_path_that_cannot_be_searched_is_an_error(tmp_path: Path, path: str, kind: ErrorKind) -> None:
    result = await searched(tmp_path, "x", path=path)
    assert result.error
    assert result.error.kind == kind


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


@by_ripgrep
async def test_a_cancelled_search_leaves_no_process(tmp_path: Path) -> None:
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\necho started > started\nexec sleep 1000\n")
    program.chmod(0o755)
    from dogu.workspace.search.program import Engines

    tool = GrepSearch(ContentSearch(Roots(str(tmp_path)), engines=Engines(str(program))))
    before = children()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: run_tool(tool, pattern="x"))
            while not (tmp_path / "started").exists():  # noqa: ASYNC110  (a file is all the program can say)
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
    assert children() - before == set()


@by_ripgrep
async def test_a_search_out_of_time_tells_what_it_has(tmp_path: Path) -> None:
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\nprintf './a.txt\\0001\\n'\nexec sleep 1000\n")
    program.chmod(0o755)
    make(tmp_path, **{"a.txt": "x\n"})
    from dogu.workspace.search.program import Engines

    tool = GrepSearch(ContentSearch(Roots(str(tmp_path)), time_limit_s=0.3, engines=Engines(str(program))))
    start = time.monotonic()
    result = await run_tool(tool, pattern="x", names_only=True)
    assert isinstance(result.llm_content, str)
    assert result.llm_content.startswith("Found 1 file with 1 match")
    assert "(the time limit was reached: these are partial results" in result.llm_content
    assert time.monotonic() - start < 8


async def test_so_many_matches_a_file_leave_room_for_those_of_others(tmp_path: Path) -> None:
    make(tmp_path, **{"a.txt": "one x\ntwo x\nthree x\n", "b.txt": "four x\n"})
    text = await found(tmp_path, "x", max_matches_per_file=1, max_matches=2)
    assert [line for line in text.splitlines() if line.startswith("L")] == ["L1: one x", "L1: four x"]
    assert "showing the first 2 of 4" in text


async def test_lines_with_a_pattern_to_leave_out_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, **{"a.txt": "one x\nx two\nthree\nx one\n", "b.txt": "x one\n"})
    text = await found(tmp_path, "x", exclude_pattern="^one|one$")
    assert text == 'Found 1 match for pattern "x" in path ".":\n---\nFile: a.txt\nL2: x two\n---'
    beside = await found(tmp_path, "x", exclude_pattern="^one|one$", context_lines=1)
    assert "L1- one x\nL2: x two\nL3- three\n---" in beside
    assert "a.txt" in (names := await found(tmp_path, "x", exclude_pattern="one", names_only=True))
    assert "b.txt" not in names
    assert "No matches" in await found(tmp_path, "x", exclude_pattern="x")
    assert "L1: one x\n" in await found(tmp_path, "x", exclude_pattern="two", max_matches=1)
