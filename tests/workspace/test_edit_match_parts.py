"""The parts of the matcher that can be told alone: views, folding, indentation, line endings, repair."""

from __future__ import annotations

import re

import pytest

from dogu.workspace.edit_match.alignment import is_comment_mark, joined
from dogu.workspace.edit_match.indentation import indent_unit, indentation_map, learn_indentation
from dogu.workspace.edit_match.parses import hangs_together
from dogu.workspace.edit_match.repair import region_around
from dogu.workspace.edit_match.result import Replacement
from dogu.workspace.edit_match.typos import is_whole_comment, slip_between, typing_error
from dogu.workspace.edit_match.views import FoldedText, fold, settle_endings, substituted, with_newlines


def test_a_view_points_back_to_its_source() -> None:
    view = with_newlines("a\r\nb\r\rc\n")
    assert view.text == "a\nb\r\rc\n"
    assert [view.to_source(position) for position in range(8)] == [0, 1, 3, 4, 5, 6, 7, 8]
    view = substituted("<<ab>>", re.compile("<<|>>"), lambda _match: "")
    assert view.text == "ab"
    assert [view.to_source(position) for position in range(3)] == [2, 3, 6]
    assert with_newlines("a\rb").text == "a\nb"
    assert with_newlines("a\rb\n").text == "a\rb\n"


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        (" a\t b\n", "ab"),
        ("“a” ‘b’ — …", "\"a\"'b'-..."),
        ("ＡＢ（１）", "AB(1)"),
        ("ｶﾞ", "ガ"),
        ("e\u0301", "é"),
        ("\u1112\u1161\u11ab", "한"),
        ("a\u200bb\ufeff\u00ad", "ab"),
        ("\udc80", "\udc80"),
    ],
)
def test_folding_makes_look_alikes_one_and_drops_white_space(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_a_place_that_would_cut_a_cluster_is_not_located() -> None:
    view = FoldedText("x…y")
    assert view.folded == "x...y"
    assert view.locate(0, 2) is None
    assert view.locate(1, 4) == (1, 2)


def stepping(step: int) -> str:
    """Return a text that indents a block by `step` blanks, by none for 0."""
    return f"if a:\n{' ' * step}b\nc\n" if step else "a\n"


@pytest.mark.parametrize(
    ("pairs", "steps", "asked", "wanted"),
    [
        ([("", ""), ("  ", "  ")], (0, 0), "    ", "    "),
        ([("", "    "), ("    ", "        ")], (4, 4), "  ", "      "),
        ([("  ", ""), ("    ", "  ")], (2, 2), "      ", "    "),
        ([("  ", ""), ("    ", "  ")], (2, 2), "", None),
        ([("", ""), ("    ", "\t")], (4, 1), "        ", "\t\t"),
        ([("\t", "  "), ("\t\t", "    ")], (1, 2), "\t\t\t", "      "),
        ([("", ""), ("  ", "    "), ("    ", "        ")], (2, 4), "   ", "      "),
        ([("    ", "        ")], (4, 4), "        ", "            "),
        ([("    ", "        ")], (4, 8), "        ", "                "),
        ([("     ", "    ")], (4, 4), "     ", "    "),
        ([("     ", "    ")], (4, 4), "    ", "    "),
        ([("     ", "    ")], (4, 4), "         ", None),
        ([("        ", "    ")], (2, 3), "    ", None),
        ([("    ", "\t")], (4, 0), "      ", "\t  "),
        ([("\t", "    ")], (1, 4), "\t  ", "      "),
    ],
)
def test_indentation_follows_the_lines_that_align(
    pairs: list[tuple[str, str]], steps: tuple[int, int], asked: str, wanted: str | None
) -> None:
    found = learn_indentation(pairs, lambda: (stepping(steps[0]), stepping(steps[1])))
    assert found is not None
    assert found(asked) == wanted


def test_one_odd_line_does_not_spoil_the_map_and_is_mapped_by_itself() -> None:
    pairs = [("", ""), ("    ", "    "), ("     ", "        "), ("    ", "    ")]
    found, lost_head = indentation_map(pairs, lambda: (stepping(4), stepping(4)), may_lose_head=True)
    assert [found(" " * depth) for depth in (0, 4, 5, 8)] == ["", "    ", "        ", "        "]
    assert not lost_head


def test_a_first_line_that_alone_lost_its_indentation_is_told() -> None:
    pairs = [("", "    "), ("        ", "        ")]
    assert indentation_map(pairs, lambda: (stepping(4), stepping(4)), may_lose_head=True)[1]
    assert not indentation_map(
        [("", "    "), ("    ", "        ")], lambda: (stepping(4), stepping(4)), may_lose_head=True
    )[1]


def test_the_unit_of_indentation_is_the_commonest_step() -> None:
    assert indent_unit("a\n  b\n    c\nd\n        e\n  f\n") == 2
    assert indent_unit("a\nb\n") == 0


@pytest.mark.parametrize(
    ("text", "piece", "wanted"),
    [
        ("a\r\nb\nc", Replacement(0, 5, "a\nx\nb\nc"), "a\r\nx\r\nb\nc"),
        ("a\r\nb\nc", Replacement(2, 3, "y\nz"), "y\nz"),
        ("a\r\nb", Replacement(3, 3, "\nc"), "\r\nc"),
        ("a\nb", Replacement(0, 3, "a\nb\nc"), "a\nb\nc"),
    ],
)
def test_line_endings_follow_the_place(text: str, piece: Replacement, wanted: str) -> None:
    [settled] = settle_endings(with_newlines(text), text, [piece])
    assert settled.body == wanted


@pytest.mark.parametrize(
    ("ours", "theirs", "slip"),
    [
        ("runnre.os", "runner.os", "a typing error"),
        ("value_nmae = 1", "value_name = 1", "a typing error"),
        ("row = 1", "col = 1", ""),
        ("setItem()", "getItem()", ""),
        ("port: 8080", "port: 8081", ""),
        ("IF x", "if x", "letter case"),
        ("a = 'b'", 'a = "b"', "the style of quotes"),
        ("a();", "a()", "a sign at the end of a line"),
        ("# the cheapest item", "# the cheapest", "a comment in other words"),
        ("# version 1 of it", "# version 2 of it", ""),
        ("#include <a.h>", "#include <b.h>", ""),
        ("one two three four five six it's", "one two three four five six it is", "a comment in other words"),
        ("これは例で出力する", "これは例で出力します", "a comment in other words"),
        ("これは例で出力する", "あれは本へ入力される", ""),
        ("labels: x", "label: x", ""),
    ],
)
def test_slips_are_small_and_never_in_digits(ours: str, theirs: str, slip: str) -> None:
    assert slip_between(ours, theirs, theirs) == slip


def test_a_word_that_the_file_knows_is_no_typing_error() -> None:
    assert typing_error("setItem()", "getItem()", "getItem() setItem()") is None


def test_a_comment_is_whole_when_it_opens_and_closes_nothing() -> None:
    assert is_whole_comment("  # note")
    assert is_whole_comment("/* a */")
    assert not any(map(is_whole_comment, ["*/", "/* a", "<!--", '"""', "code()", "#endif", "*pointer = 1;"]))


def test_words_and_numbers_are_not_cut() -> None:
    assert joined("a", "bc")
    assert joined("1", ".5")
    assert not joined("1", "..")
    assert not joined("a", ".b")
    assert is_comment_mark("  // ")
    assert not is_comment_mark("  // x ")


def test_the_region_for_a_repair_is_whole_lines_around_the_place() -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))
    region = region_around(text, ((15_001, 15_002),))
    assert "line 15000\n" in region
    assert region.startswith("line ")
    assert region.endswith("\n")
    assert 15_000 < len(region) < 25_000
    assert region_around("short", ()) == "short"
    assert region_around(text, ()).startswith("line 0\n")


def test_a_text_hangs_together_by_its_brackets_those_below_an_edit_aside() -> None:
    text = "if a\n  f() {\n    b\n  }\nfi\n"
    piece = Replacement(5, 18, "f() {\n  b")
    assert hangs_together("a.sh", text, [piece])
    assert not hangs_together("a.sh", text, [Replacement(5, 22, "f() {\n  b\n  }")])
    assert not hangs_together("a.py", "if a:\n    b\n", [Replacement(6, 11, "b")])
