"""Lines broken between words, and columns that stay columns as far as there is room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.workspace.columns import hanging, width, wrapped


def test_a_line_is_broken_between_words_and_keeps_its_indent():
    assert wrapped("  one two three four five six", 20) == "  one two three four\n  five six"
    assert hanging("● Shell  echo one two three four", 20, "  ") == "● Shell  echo one\n  two three four"


def test_a_word_wider_than_a_line_is_broken_after_a_slash():
    path = "/a/folder/with/many/parts/in/it.txt"
    assert wrapped(f"see {path}", 24) == "see /a/folder/with/many/\nparts/in/it.txt"
    assert wrapped("x" * 50, 20).split("\n") == ["x" * 20, "x" * 20, "x" * 10]


def test_ideographs_are_broken_anywhere_but_before_a_closing_mark():
    assert wrapped("折り返しの規則を守る。（はい）次の文", 20).split("\n") == [
        "折り返しの規則を守",
        "る。（はい）次の文",
    ]


def test_hangul_is_broken_between_words():
    assert wrapped("쓸 수 있는 곳: 프로젝트와 임시 폴더", 20).split("\n") == ["쓸 수 있는 곳:", "프로젝트와 임시 폴더"]


TABLE = "  /help           what can be typed here\n  /mode [MODE]    show or set the approval mode"


def test_the_second_column_of_a_table_goes_on_below_itself():
    assert wrapped(TABLE, 42).split("\n")[1:] == [
        "  /mode [MODE]    show or set the approval",
        "                  mode",
    ]


def test_a_row_that_stands_alone_between_longer_ones_goes_on_below_its_second_column():
    long = "  /undo [CALL | FILE | turn]\n                  undo the last change"
    assert wrapped(f"{long}\n{TABLE}\n{long}\n  /mode [MODE]    show or set the approval mode", 42).split("\n")[
        -2:
    ] == [
        "  /mode [MODE]    show or set the approval",
        "                  mode",
    ]


def test_where_a_table_has_no_room_its_second_column_stands_below_the_first():
    assert wrapped(TABLE, 30).split("\n")[:4] == [
        "  /help",
        "      what can be typed here",
        "  /mode [MODE]",
        "      show or set the approval",
    ]


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z", "M"]) | st.just(" "), max_size=200))
@pytest.mark.parametrize("cells", [20, 40])
def test_nothing_is_lost_and_no_line_is_too_wide(cells: int, text: str):
    broken = wrapped(text, cells)
    assert broken.replace(" ", "").replace("\n", "") == text.replace(" ", "")
    assert all(width(line) <= cells for line in broken.split("\n"))
