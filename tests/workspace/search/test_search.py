"""Searching contents: every engine on the same questions, encodings, ignore rules, hostile trees."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dogu
from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.roots import Roots
from dogu.workspace.search import ContentSearch
from dogu.workspace.search.program import Engines, find_program
from dogu.workspace.search.query import SearchQuery, SearchResult, names_line_feed
from dogu.workspace.system import IS_LINUX

RG = find_program("rg")
ENGINES = {"ripgrep": Engines(RG), "nominated": Engines(None), "re2": Engines(None, nominates=False)}
if not IS_LINUX:
    del ENGINES["ripgrep"], ENGINES["nominated"]  # they are given files by /proc
with_ripgrep = pytest.mark.skipif(not IS_LINUX, reason="ripgrep is given files by /proc")
Line = tuple[str, int, str]


@pytest.fixture(params=list(ENGINES))
def engines(request: pytest.FixtureRequest) -> Engines:
    return ENGINES[request.param]


def make(root: Path, files: dict[str, str | bytes]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)


def search(root: Path, engines: Engines, query: SearchQuery) -> SearchResult:
    return ContentSearch(Roots(str(root)), engines=engines).search(query)


def lines(result: SearchResult) -> list[Line]:
    return [(file.path, line.number, line.text) for file in result.files for line in file.lines]


def test_the_bundled_ripgrep_is_found() -> None:
    assert RG


def test_files_come_by_path_and_lines_by_number(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, {"b.txt": "x\n  foo\nfoo", "a/c.txt": "Foo\n", ".hidden": "foo\n", "empty": "", "no": "bar\n"})
    result = search(tmp_path, engines, SearchQuery("foo"))
    assert lines(result) == [(".hidden", 1, "foo"), ("a/c.txt", 1, "Foo"), ("b.txt", 2, "  foo"), ("b.txt", 3, "foo")]
    assert (result.total, result.file_count, result.is_complete) == (4, 3, True)
    assert search(tmp_path, engines, SearchQuery("foo", case_sensitive=True)).total == 3


def test_ignored_files_binary_files_and_default_folders_are_not_searched(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, dict.fromkeys(["a.log", "b.txt", "build/x", "secret", "node_modules/m.js", "inner/c.o"], "foo\n"))
    make(tmp_path, {".git/config": "foo", "bin": b"foo\n\0", ".gitignore": "*.log\nbuild/\n"})
    make(tmp_path, {".geminiignore": "secret\n", "inner/.gitignore": "*.o\n", ".ignore": "b.txt\n"})
    result = search(tmp_path, engines, SearchQuery("foo"))
    assert lines(result) == [("b.txt", 1, "foo")]
    assert result.notes[-2:] == ["3 git-ignored", "1 gemini-ignored"]
    result = search(tmp_path, engines, SearchQuery("foo", respect_git_ignore=False))
    assert [file.path for file in result.files] == ["a.log", "b.txt", "build/x", "inner/c.o"]


def test_ignore_rules_are_gits_where_ripgrep_reads_them_otherwise(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, {".gitignore": "a**/b\n[[:alpha:]x\n", "aX/y/b": "foo", "c": "foo"})
    assert [file.path for file in search(tmp_path, engines, SearchQuery("foo")).files] == ["c"]


@pytest.mark.timeout(20)
def test_an_ignore_file_that_is_a_fifo_or_a_link_is_not_waited_for(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, {"a": "foo\n", "sub/b": "foo\n", "rules": "*\n", ".gitignore": "rules\n"})
    os.mkfifo(tmp_path / "sub" / ".gitignore")
    assert [file.path for file in search(tmp_path, engines, SearchQuery("foo")).files] == ["a", "sub/b"]
    (tmp_path / "sub" / ".gitignore").unlink()
    (tmp_path / "sub" / ".gitignore").symlink_to("../rules")
    assert [file.path for file in search(tmp_path, engines, SearchQuery("foo")).files] == ["a", "sub/b"]


@with_ripgrep
def test_in_a_big_tree_the_count_of_what_was_left_out_is_a_lower_bound(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "*.o\n"})
    for number in range(5_100):
        (tmp_path / f"{number}.o").touch()
    (tmp_path / "sub").mkdir()
    assert search(tmp_path, ENGINES["ripgrep"], SearchQuery("foo")).notes == ["at least 5100 git-ignored"]


def test_rules_above_the_folder_searched_hold(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, {".gitignore": "/sub/deep/x\n*.log\n", "sub/.gitignore": "y\n", ".geminiignore": "/sub/deep/z\n"})
    make(tmp_path, {f"sub/deep/{name}": "foo\n" for name in ["x", "y", "z", "a.log", "w"]})
    result = search(tmp_path, engines, SearchQuery("foo", path="sub/deep"))
    assert lines(result) == [("w", 1, "foo")]


def test_rules_above_the_root_hold_only_within_a_repository(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, {".gitignore": "*.txt\n", "root/a.txt": "foo\n"})
    assert search(tmp_path / "root", engines, SearchQuery("foo")).total == 1
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert search(tmp_path / "root", engines, SearchQuery("foo")).total == 0


def test_an_ignored_folder_that_is_named_is_not_searched_and_that_is_said(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, {".gitignore": "build/\n", "build/a": "foo\n"})
    result = search(tmp_path, engines, SearchQuery("foo", path="build"))
    assert result.total == 0
    assert "respect_git_ignore" in result.notes[0]
    assert search(tmp_path, engines, SearchQuery("foo", path="build", respect_git_ignore=False)).total == 1


def test_a_named_file_is_searched_though_git_ignores_it_but_not_when_hidden(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, {".gitignore": "*.log\n", ".geminiignore": "secret\n", "a.log": "foo\n", "secret": "foo\n"})
    assert search(tmp_path, engines, SearchQuery("foo", path="a.log")).total == 1
    with pytest.raises(ToolError) as caught:
        search(tmp_path, engines, SearchQuery("foo", path="secret"))
    assert caught.value.kind == ErrorKind.IGNORED


@pytest.mark.parametrize(
    ("include", "paths"),
    [
        ("*.ts", ["a.ts", "src/b.ts", "src/deep/c.ts"]),
        ("src/**/*.ts", ["src/b.ts", "src/deep/c.ts"]),
        ("src/*.{ts,tsx}", ["src/b.ts", "src/d.tsx"]),
        ("!*.ts", ["e.js", "src/d.tsx"]),
        ("/*.ts", ["a.ts"]),
        ("nothing", []),
    ],
)
def test_include_narrows_by_name_or_path(tmp_path: Path, engines: Engines, include: str, paths: list[str]) -> None:
    make(tmp_path, dict.fromkeys(["a.ts", "src/b.ts", "src/deep/c.ts", "src/d.tsx", "e.js"], "foo\n"))
    make(tmp_path, {"ignored.ts": "foo\n", ".gitignore": "ignored.ts\n.gitignore\n"})
    result = search(tmp_path, engines, SearchQuery("foo", include=include))
    assert [file.path for file in result.files] == paths


def test_context_is_shown_once_and_matches_are_bounded(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, {"a": "".join(f"line {number}\n" for number in range(1, 11))})
    result = search(tmp_path, engines, SearchQuery("line (3|4|8)", context_lines=1))
    shown = [(line.number, line.is_match) for line in result.files[0].lines]
    assert shown == [(2, False), (3, True), (4, True), (5, False), (7, False), (8, True), (9, False)]
    result = search(tmp_path, engines, SearchQuery("line", max_matches=3))
    assert [line.number for line in result.files[0].lines] == [1, 2, 3]
    assert result.total == 10


def test_crlf_files_match_at_the_end_of_a_line_and_are_shown_without_it(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, {"a": "foo;\r\nbar\r\n"})
    assert lines(search(tmp_path, engines, SearchQuery(";$"))) == [("a", 1, "foo;")]


def test_a_long_line_is_cut_around_the_match(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, {"a": "日" * 30_000 + "needle" + "本" * 30_000 + "\nshort needle\n" + "x" * 1_990 + "needle"})
    first, second, third = search(tmp_path, engines, SearchQuery("needle", path="a")).files[0].lines
    assert len(first.text) == 2_006
    assert "日needle本" in first.text
    assert first.text.startswith("...")
    assert first.text.endswith("...")
    assert second.text == "short needle"
    assert third.text.endswith("needle")
    assert search(tmp_path, engines, SearchQuery("needle")).total == 3


@pytest.mark.parametrize(
    ("encoding", "label"),
    [("cp932", "Shift_JIS"), ("euc_jp", "EUC-JP"), ("utf-16", "UTF-16LE with BOM"), ("utf-8-sig", "")],
)
def test_text_in_other_encodings_is_found_and_read_rightly(
    tmp_path: Path, engines: Engines, encoding: str, label: str
) -> None:
    text = "// 設定ファイルを読み込みます\nint x = 1; // 日本語のコメントです\n// 終わりの処理はここです\n"
    make(tmp_path, {"a.c": text.encode(encoding), "b.c": "日 本 語\n"})
    result = search(tmp_path, engines, SearchQuery("日本語"))
    assert lines(result) == [("a.c", 2, "int x = 1; // 日本語のコメントです")]
    assert result.total == 1
    assert search(tmp_path, engines, SearchQuery("日本語の(コメ|x)ント+", path="a.c")).total == 1
    assert result.files[0].encoding.startswith(label)


def test_an_ascii_pattern_shows_a_legacy_line_as_text(tmp_path: Path, engines: Engines) -> None:
    text = "// 設定ファイルを読み込みます\nint value = 1; // 日本語のコメントです\n"
    make(tmp_path, {"a.c": text.encode("cp932")})
    assert lines(search(tmp_path, engines, SearchQuery("value"))) == [
        ("a.c", 2, "int value = 1; // 日本語のコメントです")
    ]


def test_bytes_that_only_look_like_the_text_are_no_match(tmp_path: Path, engines: Engines) -> None:
    # The bytes of 表 in Shift_JIS, in the middle of other text that is UTF-8 by nature.
    lookalike = "é".encode("cp1252") + b" caf\xe9 d\xe9j\xe0 vu na\xefve\n"
    make(tmp_path, {"a.txt": lookalike, "b.txt": "naïve\n"})
    assert sorted(file.path for file in search(tmp_path, engines, SearchQuery("naïve")).files) == ["a.txt", "b.txt"]
    assert search(tmp_path, engines, SearchQuery("na¨ve")).total == 0


@pytest.mark.parametrize("pattern", ["fo(o", "[a", "a{2,1}", "*", "(?=x)", "\\"])
def test_a_bad_pattern_is_refused_with_a_reason(tmp_path: Path, engines: Engines, pattern: str) -> None:
    make(tmp_path, {"a": "x"})
    with pytest.raises(ToolError) as caught:
        search(tmp_path, engines, SearchQuery(pattern))
    assert caught.value.kind == ErrorKind.BAD_PATTERN
    assert pattern in caught.value.message.replace("\\\\", "\\")
    assert search(tmp_path, engines, SearchQuery(pattern, fixed_strings=True)).total == 0


def test_odd_names_are_searched_and_named(tmp_path: Path, engines: Engines) -> None:
    names = ["a\nb", "-rf", "\udcff", "x" * 255, "c:1:d", "é/ü"]
    make(tmp_path, dict.fromkeys(names, "foo\n"))
    assert [file.path for file in search(tmp_path, engines, SearchQuery("foo")).files] == sorted(names)


def test_links_fifos_and_sparse_files_are_passed_over(tmp_path: Path, engines: Engines) -> None:
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, {"a": "foo\n"})
    make(out, {"secret": "foo\n"})
    (root / "link").symlink_to(out / "secret")
    (root / "folder").symlink_to(out)
    os.mkfifo(root / "pipe")
    with (root / "sparse").open("wb") as file:
        file.truncate(5 << 30)
    assert lines(search(root, engines, SearchQuery("foo"))) == [("a", 1, "foo")]


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read everything")
def test_files_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    make(tmp_path, {"a": "foo\n", "shut": "foo\n"})
    (tmp_path / "shut").chmod(0)
    for engines in (each for name, each in ENGINES.items() if name != "nominated"):
        result = search(tmp_path, engines, SearchQuery("foo"))
        assert result.total == 1
        assert result.notes == ["1 entry could not be read: permission denied"]


def test_a_search_in_the_process_says_what_it_reads_otherwise(tmp_path: Path) -> None:
    make(tmp_path, {"a": "foo\n"})
    assert search(tmp_path, ENGINES["re2"], SearchQuery(r"\w+")).notes
    if IS_LINUX:
        assert not search(tmp_path, ENGINES["ripgrep"], SearchQuery(r"\w+")).notes
    for pattern in ["[a-z&&[^b]]", r"a\nb"]:
        with pytest.raises(ToolError) as caught:
            search(tmp_path, ENGINES["re2"], SearchQuery(pattern))
        assert "needs ripgrep" in caught.value.message or "need ripgrep" in caught.value.message


@with_ripgrep
def test_configuration_of_ripgrep_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {"a": "foo\n", "rc": "--invert-match\n"})
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    assert lines(search(tmp_path, ENGINES["ripgrep"], SearchQuery("foo"))) == [("a", 1, "foo")]


def test_a_repository_configuration_runs_nothing(tmp_path: Path) -> None:
    make(tmp_path, {"a.txt": "foo\n", "evil": f"#!/bin/sh\ntouch {tmp_path}/pwned\ncat\n"})
    (tmp_path / "evil").chmod(0o755)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    evil = tmp_path / "evil"
    with (tmp_path / ".git" / "config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "{evil}"\npager = "{evil}"\nhooksPath = "{tmp_path}"\n')
        config.write(
            f'[diff]\nexternal = "{evil}"\n[diff "x"]\ntextconv = "{evil}"\n[grep]\nfallbackToNoIndex = true\n'
        )
    (tmp_path / ".gitattributes").write_text("*.txt diff=x filter=x\n")
    for engines in ENGINES.values():
        search(tmp_path, engines, SearchQuery("foo"))
    assert not (tmp_path / "pwned").exists()


def test_a_search_that_is_stopped_tells_partial_results(tmp_path: Path) -> None:
    make(tmp_path, {"a": "foo\n", "b": "foo\n"})
    steps = iter([True, False])
    result = ContentSearch(Roots(str(tmp_path)), engines=ENGINES["re2"]).search(
        SearchQuery("foo", names_only=True), lambda: next(steps, False)
    )
    assert not result.is_complete
    assert result.total == 1


@pytest.mark.timeout(30)
def test_a_pathological_pattern_is_linear_in_every_engine(tmp_path: Path, engines: Engines) -> None:
    make(tmp_path, {"a": ("a" * 40 + "!\n") * 100})
    start = time.monotonic()
    assert search(tmp_path, engines, SearchQuery("(a+)+$")).total == 0
    assert time.monotonic() - start < 10


def test_which_patterns_name_a_line_feed() -> None:
    assert [names_line_feed(p) for p in [r"a\nb", r"\\n", r"\\\n", r"\x0A", "n", r"\N"]] == [
        True,
        False,
        True,
        True,
        False,
        False,
    ]


WORDS = st.sampled_from(["foo", "Foo", "bar", " ", "é", "日本", "x1", "_", ".", "(", "\t"])
LINES = st.lists(st.lists(WORDS, max_size=6).map("".join), max_size=6)
TEXTS = st.one_of(LINES.map("\n".join), LINES.map("\r\n".join))
PATTERNS = st.sampled_from(
    [
        "foo",
        "FOO",
        "fo+",
        "^foo",
        "foo$",
        "bar|é",
        "[a-f]oo",
        "日.",
        ".",
        "x[0-9]",
        "(?i)É",
        "o{2}",
        "^$",
        "",
        "^",
        "b?",
    ]
)


def test_files_of_secrets_are_not_searched_and_told_the_same_whatever_is_asked(
    tmp_path: Path, engines: Engines
) -> None:
    make(tmp_path, {".env": "foo=1\nfoo=2\n", "a.txt": "foo\n", "in/id_rsa": "foo", ".env.example": "foo\n"})
    make(tmp_path, {".env.[x]": "foo\n", "b/.ENV": "foo\n"})
    note = "4 files not searched, for people only: .env, .env.[x], b/.ENV, in/id_rsa; ask with read_file"
    result = search(tmp_path, engines, SearchQuery("foo", context_lines=1))
    assert lines(result) == [(".env.example", 1, "foo"), ("a.txt", 1, "foo")]
    assert (result.total, result.file_count, result.notes[-1]) == (2, 2, note)
    for pattern in ("foo=1", "foo=9", "föo"):
        for names_only in (False, True):
            result = search(tmp_path, engines, SearchQuery(pattern, names_only=names_only))
            assert (result.files, result.total, result.notes[-1]) == ([], 0, note)
    assert note not in search(tmp_path, engines, SearchQuery("foo", include="*.txt")).notes


@pytest.mark.parametrize("path", [".env", "link", "conf", ".aws", "sub/.aws", ".aws/inner"])
@pytest.mark.parametrize("pattern", ["foo", "bar"])
def test_a_secret_file_is_known_by_what_was_searched(tmp_path: Path, engines: Engines, path: str, pattern: str) -> None:
    make(tmp_path, {".env": "foo\n", "sub/.aws/credentials": "foo\n", "plain/inner/f": "foo\n"})
    (tmp_path / "link").symlink_to(".env")
    (tmp_path / "conf").symlink_to("sub/.aws")
    (tmp_path / ".aws").symlink_to("plain")
    result = search(tmp_path, engines, SearchQuery(pattern, path=path))
    assert (result.files, result.total) == ([], 0)
    assert "not searched" in result.notes[-1]


@given(st.lists(TEXTS, min_size=1, max_size=3), PATTERNS, st.booleans(), st.integers(0, 2))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_engine_gives_the_same_answer(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], pattern: str, case_sensitive: bool, context: int
) -> None:
    root = tmp_path_factory.mktemp("same")
    make(root, {f"f{number}": text for number, text in enumerate(texts)})
    query = SearchQuery(pattern, case_sensitive=case_sensitive, context_lines=context)
    results = [search(root, engines, query) for engines in ENGINES.values()]
    assert all((lines(each), each.total) == (lines(results[0]), results[0].total) for each in results)


def test_a_program_is_found_where_pip_puts_it_by_a_target(tmp_path: Path) -> None:
    (tmp_path / "dogu").symlink_to(Path(dogu.__file__).parent)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "of-a-wheel"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    code = "from dogu.workspace.search.program import find_program; print(find_program('of-a-wheel'))"
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(program)
