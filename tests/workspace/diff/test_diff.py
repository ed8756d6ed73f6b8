"""A diff applied to the old text gives the new one, is as short as can be, and never takes long."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogu.workspace.diff import changed_ranges, differing_regions, myers, unified_diff

line_lists = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=30)
texts = st.lists(
    st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "x y\n", "d\re\n", "\u2028\n", "\x0c"]), max_size=25
).map("".join)


def applied(old: list[str], new: list[str]) -> list[str]:
    result: list[str] = []
    at = 0
    for change in changed_ranges(old, new):
        result += old[at : change.old_start] + new[change.new_start : change.new_end]
        at = change.old_end
    return result + old[at:]


def longest_common(old: list[str], new: list[str]) -> int:
    row = [0] * (len(new) + 1)
    for line in old:
        before = row
        row = [0]
        for at, other in enumerate(new):
            row.append(before[at] + 1 if line == other else max(before[at + 1], row[at]))
    return row[-1]


@given(line_lists, line_lists)
def test_the_changes_applied_give_the_new_lines(old: list[str], new: list[str]) -> None:
    assert applied(old, new) == new


@given(line_lists, line_lists)
def test_the_changes_are_as_few_as_can_be(old: list[str], new: list[str]) -> None:
    kept = len(old) - sum(change.old_end - change.old_start for change in changed_ranges(old, new))
    assert kept == longest_common(old, new)


@given(line_lists, line_lists)
def test_without_budget_the_changes_are_still_right(old: list[str], new: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(myers, "_BUDGET_STEPS", 5)
        patch.setattr(myers, "_LEAST_COST", 2)
        assert applied(old, new) == new


def test_changes_are_half_open_ranges_of_lines() -> None:
    assert changed_ranges(["a", "b", "c"], ["a", "x", "c", "d"]) == [(1, 2, 1, 2), (3, 3, 3, 4)]
    assert changed_ranges(["a"], ["a"]) == []


def git_applies(folder: Path, name: str, old: str, diff: str) -> str:
    (folder / name).write_bytes(old.encode())
    command = ["git", "apply", "--whitespace=nowarn", "--unidiff-zero", "-"]
    done = subprocess.run(command, input=diff.encode(), capture_output=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr.decode() + diff
    path = folder / name
    return path.read_bytes().decode() if path.exists() else ""


@settings(max_examples=40)
@given(texts, texts, st.sampled_from([0, 1, 3]))
def test_git_apply_makes_the_new_text_of_it(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, context: int
) -> None:
    diff = unified_diff(old, new, "f.txt", context)
    if old == new:
        assert diff == ""
    else:
        assert git_applies(tmp_path_factory.mktemp("apply"), "f.txt", old, diff) == new


@pytest.mark.parametrize("name", ["a b.txt", 'q"\\.txt', "tab\tnewline\n.txt", "日本語.txt", "-p.txt"])
def test_names_that_break_a_line_are_quoted_as_git_does(tmp_path: Path, name: str) -> None:
    assert git_applies(tmp_path, name, "a\nb\n", unified_diff("a\nb\n", "a\nc\n", name)) == "a\nc\n"


def test_it_looks_as_diffs_do() -> None:
    old = "".join(f"line {number}\n" for number in range(1, 21))
    new = old.replace("line 10\n", "line ten\n")
    assert unified_diff(old, new, "src/a.txt") == (
        "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+line ten\n"
        " line 11\n line 12\n line 13\n"
    )


def test_a_missing_last_newline_is_told() -> None:
    assert unified_diff("a\nb", "a\nb\n", "f") == (
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
    )
    assert unified_diff("", "a", "f") == "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"


def test_an_insertion_between_alike_blocks_is_one_block() -> None:
    block = "def f():\n    return 1\n\n"
    diff = unified_diff(block * 5, block * 6, "f.py")
    added = [line for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert len(added) == 3


def test_two_insertions_or_deletions_that_can_be_one_are_one() -> None:
    old, new = ["a", "}", "b"], ["a", "x", "}", "", "}", "b"]
    assert changed_ranges(old, new) == [(1, 1, 1, 4)]
    assert changed_ranges(new, old) == [(1, 4, 1, 1)]
    assert changed_ranges(["{", "b"], ["{", "x", "{", "y", "b"]) == [(1, 1, 1, 4)]


def test_many_lines_of_few_kinds_in_another_order_end_with_a_right_answer() -> None:
    old = [str(number * 7919 % 13) for number in range(6000)]
    new = [str(number * 104729 % 11) for number in range(6000)]
    assert applied(old, new) == new


def test_a_change_in_a_large_file_costs_little_to_show() -> None:
    old = "a line of the file\n" * 500_000
    diff = unified_diff(old, old[:4_000_000] + "X" + old[4_000_000:], "big.txt")
    assert len(diff.splitlines()) == 2 + 1 + 8


def rebuilt(old: str, new: str) -> str:
    result = ""
    at = 0
    for region in differing_regions(old, new):
        result += old[at : region.old_start] + new[region.new_start : region.new_end]
        at = region.old_end
    return result + old[at:]


@given(texts, texts, texts, texts)
def test_regions_far_apart_are_told_apart_and_right(head: str, old: str, new: str, tail: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dogu.workspace.diff._LARGE_CHARS", 8)
        patch.setattr("dogu.workspace.diff._PROBE_CHARS", 5)
        patch.setattr("dogu.workspace.diff._PROBE_DISTANCES", (2, 8))
        before, after = head + old + "\n" + tail + old, head + new + "\n" + tail + new
        assert rebuilt(before, after) == after


@settings(max_examples=30)
@given(texts, texts, texts, st.sampled_from([0, 1, 3]))
def test_a_diff_of_several_regions_applies(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, tail: str, context: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dogu.workspace.diff._LARGE_CHARS", 8)
        patch.setattr("dogu.workspace.diff._PROBE_CHARS", 5)
        patch.setattr("dogu.workspace.diff._PROBE_DISTANCES", (2, 8))
        before, after = old + "\n" + tail * 3 + old, new + "\n" + tail * 3 + new
        diff = unified_diff(before, after, "f", context)
        if before != after:
            assert git_applies(tmp_path_factory.mktemp("apply"), "f", before, diff) == after


def test_two_edits_at_the_ends_of_a_large_file_make_two_hunks() -> None:
    old = "".join(f"line {number}\n" for number in range(300_000))
    new = "first\n" + old[:-2] + "!\n"
    diff = unified_diff(old, new, "big.txt")
    assert len(differing_regions(old, new)) == 2
    assert diff.count("@@ -") == 2
    assert "@@ -299997,4 +299998,4 @@\n" in diff
