"""Globs: what matches, what is walked, and that no pattern is slow."""

import contextlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.contract.errors import ToolError
from dogu.workspace import fs
from dogu.workspace.glob import GlobPattern, GlobQuery, PathFilter
from dogu.workspace.glob.pattern import expand_braces


@contextlib.contextmanager
def opened(path: Path) -> Generator[int]:
    descriptor = fs.open(str(path), os.O_RDONLY | fs.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def found(root: Path, pattern: str) -> list[str]:
    with opened(root) as descriptor:
        return sorted(GlobQuery(GlobPattern(pattern)).find(descriptor).paths)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.c", ["a.c", ".c", "A.C"], ["d/a.c", "a.cc"]),
        ("**/*.c", ["a.c", "d/a.c", "d/e/.x.c"], ["a.h"]),
        ("src/**", ["src/a", "src/b/c"], ["src", "a/src/b"]),
        ("src/**/test/*.py", ["src/test/a.py", "src/x/y/test/a.py"], ["src/test/x/a.py"]),
        ("**", ["a", "b/c"], []),
        ("a**b", ["ab", "axb"], ["a/b"]),
        ("?.c", ["é.c", "日.c"], ["ab.c"]),
        ("[a-c]x", ["ax", "Bx"], ["dx", "x"]),
        ("[!a]x", ["bx", "日x"], ["ax", "/x"]),
        ("[日本]", ["日"], ["語"]),
        ("*.{ts,tsx}", ["a.ts", "a.tsx"], ["a.t"]),
        ("{src,lib/{a,b}}/*.c", ["src/x.c", "lib/a/x.c", "lib/b/x.c"], ["lib/x.c"]),
        ("file{1..3}", ["file1", "file3"], ["file4"]),
        ("{a}", ["{a}"], ["a"]),
        ("[a", ["[a"], ["a"]),
        ("\\*", ["*"], ["a"]),
        ("app/[id]/p", ["app/[id]/p", "app/i/p"], ["app/x/p"]),
        ("./a//b", ["a/b"], []),
        ("a\nb", ["a\nb"], []),
    ],
)
def test_what_a_pattern_matches(pattern: str, matching: list[str], others: list[str]) -> None:
    glob = GlobPattern(pattern)
    assert [path for path in matching if not glob.matches(path)] == []
    assert [path for path in others if glob.matches(path)] == []


def test_a_filter_without_a_slash_is_for_the_name_at_any_depth() -> None:
    assert PathFilter(["*.js"]).matches("a/b/c.js")
    assert PathFilter(["dist"]).matches("a/dist")
    assert not PathFilter(["src/*.js"]).matches("a/src/c.js")
    assert not PathFilter(["/c.js"]).matches("a/c.js")


def test_a_pattern_that_names_a_file_as_it_stands_is_taken_literally(tmp_path: Path) -> None:
    for path in ["app/[id]/page.tsx", "app/i/page.tsx", "[ab].txt", "a.txt", "{x,y}", "x"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert found(tmp_path, "app/[id]/page.tsx") == ["app/[id]/page.tsx"]
    assert found(tmp_path, "[ab].txt") == ["[ab].txt"]
    assert found(tmp_path, "{x,y}") == ["{x,y}"]
    assert found(tmp_path, "app/[id]/*") == ["app/[id]/page.tsx", "app/i/page.tsx"]


@pytest.mark.parametrize("pattern", ["café.md", "caf?.md", "CAF[éè].md", "**/caf{é,è}.*", "*é.md"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_an_accent_is_the_same_in_either_spelling(tmp_path: Path, pattern: str, form: Literal["NFC", "NFD"]) -> None:
    name = normalize(form, "café.md")
    (tmp_path / name).touch()
    for spelled in ("NFC", "NFD") if "[" not in pattern and "?" not in pattern else ("NFC",):
        assert found(tmp_path, normalize(spelled, pattern)) == [name]


def test_links_to_files_are_listed_and_links_to_folders_neither_listed_nor_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").touch()
    (tmp_path / "folder.txt").symlink_to("real")
    (tmp_path / "link.txt").symlink_to("real/a.txt")
    (tmp_path / "broken.txt").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.txt")
    assert found(tmp_path, "**/*.txt") == ["broken.txt", "link.txt", "real/a.txt"]


def test_folders_left_out_by_default_are_searched_when_named(tmp_path: Path) -> None:
    for path in ["node_modules/m/index.js", ".git/config", "a.js"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert found(tmp_path, "**/*.js") == ["a.js"]
    assert found(tmp_path, "node_modules/**/*.js") == ["node_modules/m/index.js"]


def test_only_folders_that_can_hold_a_match_are_read(tmp_path: Path) -> None:
    for path in ["src/a/x.c", "src/b/x.c", "other/deep/x.c"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    asked = 0

    def go_on() -> bool:
        nonlocal asked
        asked += 1
        return True

    with opened(tmp_path) as descriptor:
        files = GlobQuery(GlobPattern("src/a/*.c")).find(descriptor, go_on)
    assert files.paths == ["src/a/x.c"]
    assert asked == 3


def test_a_search_that_is_stopped_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.c").touch()
    with opened(tmp_path) as descriptor:
        files = GlobQuery(GlobPattern("**/*.c")).find(descriptor, lambda: False)
    assert not files.is_complete


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", ["*a" * 1000 + "b", "**/a/" * 700 + "b", "[a-z]*" * 600, "?*" * 1500 + "b"])
def test_no_pattern_takes_long(pattern: str) -> None:
    GlobPattern(pattern).matches("a" * 255)
    GlobPattern(pattern).matches("/".join("a" * 1000))


def test_braces_that_stand_for_too_much_are_refused() -> None:
    for glob in ["{a,b}" * 11, "{1..2000}", "{" * 25 + "a,b" + ",c}" * 25]:
        with pytest.raises(ToolError):
            expand_braces(glob)


@given(st.text(st.sampled_from("{},.ab12\\"), max_size=24))
def test_braces_always_expand_or_are_refused(glob: str) -> None:
    assert expand_braces(glob)


@given(st.text(st.sampled_from("ab/*?[]!-{},\\"), max_size=20), st.text(st.sampled_from("ab/-["), max_size=12))
def test_every_pattern_compiles_and_answers(pattern: str, path: str) -> None:
    GlobPattern(pattern).matches(path)
