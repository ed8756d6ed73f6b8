"""What finding costs: walk and glob against a bare scandir walk, search against bare ripgrep, in turn in one process.

`DOGU_BENCH_TREE` names a source tree to use (a kernel checkout, say); without it one of 78,000 files is made.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable

from bench.measure import row
from dogu.workspace.glob import GlobPattern, GlobQuery
from dogu.workspace.ignore import DEFAULT_EXCLUDED, Ignore
from dogu.workspace.roots import Roots
from dogu.workspace.search import ContentSearch
from dogu.workspace.search.program import find_program
from dogu.workspace.search.query import SearchQuery
from dogu.workspace.search.ripgrep import BASE_FLAGS
from dogu.workspace.walk import Walk

Case = Callable[[], object]


def main() -> None:
    """Print the table."""
    tree = os.environ.get("DOGU_BENCH_TREE")
    with tempfile.TemporaryDirectory() as folder:
        if tree is None:
            tree = os.path.join(folder, "sources")
            _make(tree, folders=6_500, files=12, size=3_000)
        _search(tree, "rare literal", "a_name_that_is_nowhere_else")
        _search(tree, "common word", "the")
        wide = os.path.join(folder, "wide")
        _make(wide, folders=10_000, files=20, size=0)
        _walk(tree, wide)


def _make(tree: str, folders: int, files: int, size: int) -> None:
    chance = random.Random(7)
    words = [bytes(chance.choices(b"abcdefghijklmnopqrstuvwxyz_", k=chance.randint(2, 9))) for _ in range(3_000)]
    words += [b"the"] * 60 + [b"\n"] * 500
    for number in range(folders):
        path = f"{tree}/top{number % 20}/mid{number % 400}/low{number}"
        os.makedirs(path)
        for at in range(files):
            with open(f"{path}/file{at}.{('c', 'h', 'S', 'txt')[at % 4]}", "wb") as file:
                file.write(b" ".join(chance.choices(words, k=size // 6)))
    with open(f"{tree}/.gitignore", "w") as file:
        file.write("*.o\n*.ko\n*.a\n.*\n!.gitignore\n/build/\n*.tar.gz\nfile1?.generated.*\n")


def _in_turn(one: Case, other: Case, count: int = 9) -> tuple[float, float, float]:
    """Return the median wall seconds of both and the median of their ratios."""
    pairs = [(_timed(one), _timed(other)) for _ in range(count + 1)][1:]
    ratio = statistics.median(first / second for first, second in pairs)
    return statistics.median(first for first, _ in pairs), statistics.median(second for _, second in pairs), ratio


def _timed(case: Case) -> float:
    started = time.perf_counter()
    case()
    return time.perf_counter() - started


def _search(tree: str, what: str, word: str) -> None:
    search = ContentSearch(Roots(tree))
    excluded = [f"--glob=!{name}" for name in sorted(DEFAULT_EXCLUDED)]
    words = [find_program("rg") or "rg", *BASE_FLAGS, "--ignore-case", *excluded, "--line-number", "--no-require-git"]

    def bare() -> None:
        subprocess.run([*words, f"--regexp={word}", "--", "."], cwd=tree, stdout=subprocess.PIPE, check=False)

    ours, theirs, ratio = _in_turn(lambda: search.search(SearchQuery(word)), bare)
    row(f"grep_search of a {what} / bare rg", f"{ours:.3f} s / {theirs:.3f} s = {ratio:.2f} x", "1.10 x")


def _glob(tree: str, pattern: str) -> int:
    descriptor = os.open(tree, os.O_RDONLY)
    try:
        ignore = Ignore(tree)
        query = GlobQuery(GlobPattern(pattern), None, ignore, ignore.root_rules(descriptor))
        return len(query.find(descriptor).paths)
    finally:
        os.close(descriptor)


def _walked(tree: str) -> int:
    descriptor = os.open(tree, os.O_RDONLY)
    try:
        ignore = Ignore(tree)
        walk = Walk(ignore, ignore.root_rules(descriptor))
        return sum(len(folder.names) for folder in walk.folders(descriptor))
    finally:
        os.close(descriptor)


def _bare(tree: str) -> int:
    """Walk as plainly as Python can."""
    found = 0
    folders = [tree]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    found += 1
    return found


def _walk(tree: str, wide: str) -> None:
    found = _glob(tree, "**/*.c")
    ours, theirs, ratio = _in_turn(lambda: _glob(tree, "**/*.c"), lambda: _bare(tree))
    row(
        f"glob **/*.c ({found} found, newest first)",
        f"{ours:.3f} s = {ratio:.2f} x scandir ({theirs:.3f} s)",
        "0.300 s",
    )
    ours, theirs, ratio = _in_turn(lambda: _walked(wide), lambda: _bare(wide))
    row("walk of 200,000 files / bare scandir", f"{ours:.3f} s / {theirs:.3f} s = {ratio:.2f} x", "1.5 x")
    ours, theirs, ratio = _in_turn(lambda: _glob(wide, "**/low77*/file7.s"), lambda: _bare(wide))
    row("glob of one name in 200,000 files / bare scandir", f"{ours:.3f} s / {theirs:.3f} s = {ratio:.2f} x", "1.5 x")
