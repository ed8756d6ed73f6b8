"""list_directory, called as a model would call it."""

import os
from pathlib import Path
from typing import Any

import pytest

from dogu.contract.errors import ErrorKind
from dogu.contract.result import ToolResult
from dogu.testing.workspace import check_tool, run_tool
from dogu.tools.list_directory import ListDirectory
from dogu.workspace.roots import Roots

pytestmark = pytest.mark.anyio


async def listed(root: Path, path: str = ".", **args: Any) -> ToolResult:
    return await run_tool(ListDirectory(Roots(str(root))), path=path, **args)


def test_it_keeps_the_contract(tmp_path: Path) -> None:
    check_tool(ListDirectory(Roots(str(tmp_path))))


async def test_folders_come_first_then_files_each_by_name(tmp_path: Path) -> None:
    for name in ["b.txt", "a.txt", ".hidden"]:
        (tmp_path / name).touch()
    (tmp_path / "sub2").mkdir()
    (tmp_path / "sub1").mkdir()
    result = await listed(tmp_path, path=str(tmp_path))
    assert result.llm_content == f"Directory listing for {tmp_path}:\n[DIR] sub1\n[DIR] sub2\n.hidden\na.txt\nb.txt"
    assert result.return_display == "Listed 5 item(s)."


async def test_an_empty_one_is_said_to_be_empty(tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    result = await run_tool(ListDirectory(Roots(str(tmp_path))), dir_path="e")
    assert result.llm_content == f"Directory {tmp_path / 'e'} is empty."


async def test_ignored_entries_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    (tmp_path / ".geminiignore").write_text("secret\n")
    for name in ["a.log", "b.log", "c.c", "secret"]:
        (tmp_path / name).touch()
    (tmp_path / "build").mkdir()
    result = await listed(tmp_path)
    assert result.llm_content == (
        f"Directory listing for {tmp_path}:\n.geminiignore\n.gitignore\nc.c\n\n(3 git-ignored)\n(1 gemini-ignored)"
    )
    result = await listed(tmp_path, respect_git_ignore=False)
    assert "a.log" in result.llm_content
    assert "secret" not in result.llm_content
    assert "(1 gemini-ignored)" in result.llm_content


async def test_everything_in_an_ignored_folder_counts_as_ignored(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "build" / "deep").mkdir(parents=True)
    (tmp_path / "build" / "deep" / "f").touch()
    result = await listed(tmp_path, path="build/deep")
    assert result.llm_content == f"Directory listing for {tmp_path}/build/deep:\n\n(1 git-ignored)"


async def test_ignore_globs_match_on_the_name(tmp_path: Path) -> None:
    for name in ["a.log", "b.txt", "c.LOG"]:
        (tmp_path / name).touch()
    (tmp_path / ".git").mkdir()
    result = await listed(tmp_path, ignore=["*.log", ".git"])
    assert result.llm_content == f"Directory listing for {tmp_path}:\nb.txt\nc.LOG"
    result = await listed(tmp_path, ignore=["*"])
    assert result.llm_content == f"Directory listing for {tmp_path}:\n\n(4 left out by `ignore`)"


async def test_broken_links_are_marked_and_links_to_folders_shown_as_folders(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    result = await listed(tmp_path)
    assert result.llm_content == (
        f"Directory listing for {tmp_path}:\n[DIR] folder\n[DIR] real\n"
        "broken (broken symlink)\nloop (broken symlink)\npipe"
    )


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read everything")
async def test_unreadable_entries_are_marked(tmp_path: Path) -> None:
    (tmp_path / "f").touch(mode=0)
    (tmp_path / "d").mkdir(mode=0)
    result = await listed(tmp_path)
    assert result.llm_content == f"Directory listing for {tmp_path}:\n[DIR] d (unreadable)\nf (unreadable)"
    (tmp_path / "d").chmod(0o700)


async def test_names_that_would_break_the_list_are_quoted(tmp_path: Path) -> None:
    for name in ["a\n[DIR] b", "\udcff", "日本", "e\u0301", 'say "hi"', "\x1b[31m"]:
        (tmp_path / name).touch()
    result = await listed(tmp_path)
    assert isinstance(result.llm_content, str)
    assert set(result.llm_content.splitlines()[1:]) == {
        '"a\\n[DIR] b"',
        '"\\udcff"',
        "日本",
        "e\u0301",
        'say "hi"',
        '"\\u001b[31m"',
    }


async def test_a_great_many_entries_are_bounded_and_all_counted(tmp_path: Path) -> None:
    for number in range(2_100):
        (tmp_path / f"f{number:04}").touch()
    result = await listed(tmp_path)
    assert isinstance(result.llm_content, str)
    assert len(result.llm_content.splitlines()) == 2_003
    assert result.llm_content.endswith("(showing 2000 of 2100 entries; use glob or `ignore` to see others)")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("missing", ErrorKind.NOT_FOUND),
        ("f", ErrorKind.WRONG_FILE_TYPE),
        ("..", ErrorKind.OUTSIDE_WORKSPACE),
        ("out", ErrorKind.OUTSIDE_WORKSPACE),
    ],
)
async def test_what_cannot_be_listed_is_an_error_that_says_why(tmp_path: Path, path: str, kind: ErrorKind) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "f").touch()
    (root / "out").symlink_to(tmp_path)
    result = await listed(root, path=path)
    assert result.error
    assert result.error.kind == kind


@pytest.mark.requirement("fs.list.order")
async def test_names_are_sorted_as_people_do_whatever_case_and_accents(tmp_path: Path) -> None:
    for name in ("Zed.txt", "file1.txt", "alpha", "Beta", "ähnlich", "azur", "beta2", "_x", "Ｚ", "가"):
        (tmp_path / name).write_text("")
    (tmp_path / "Dir").mkdir()
    (tmp_path / "another").mkdir()
    lines = str((await listed(tmp_path)).llm_content).splitlines()[1:]
    assert lines == [
        *("[DIR] another", "[DIR] Dir"),
        *("_x", "ähnlich", "alpha", "azur", "Beta", "beta2", "file1.txt", "Ｚ", "Zed.txt", "가"),
    ]


async def test_long_names_are_bounded_by_their_length(tmp_path: Path) -> None:
    for number in range(400):
        (tmp_path / f"{number:03}{'n' * 200}").touch()
    listing = str((await listed(tmp_path)).llm_content)
    assert len(listing) < 40_000
    shown = listing.count("n" * 200)
    assert 100 < shown < 400
    assert f"showing {shown} of 400 entries" in listing
