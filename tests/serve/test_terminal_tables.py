"""A table of an answer is as wide as its text, loses none of it, and is broken as its language is."""

from __future__ import annotations

import pytest

from dogu.serve.terminal.cells import width_of
from dogu.serve.terminal.markdown import markdown_lines
from dogu.serve.terminal.style import Style

PLAIN = Style(has_color=False)
TABLE = """| file | what it does | kept |
|:---|:---|---:|
| src/payments/gateway.py | `charge(card, amount)` asks the bank, 三回まで試します。 | 12 |
| a.py | 결제를 다시 시도합니다 | 3 |
"""


def test_a_table_is_as_wide_as_its_text():
    assert markdown_lines("| a | number |\n|---|--:|\n| one | 1 |\n| 日本 | 20 |\n", 200, PLAIN) == [
        " a     number",
        " ────────────",
        " one        1",
        " 日本      20",
    ]


@pytest.mark.parametrize("columns", [20, 28, 40, 60, 80, 200])
def test_nothing_of_a_table_is_left_out(columns: int):
    lines = markdown_lines(TABLE, columns, PLAIN)
    assert max(map(width_of, lines)) <= columns
    words = {word for row in TABLE.split("\n")[2:] for word in row.replace("`", "").strip("| ").split("|")}
    drawn = {character: sum(line.count(character) for line in lines) for character in set("".join(words)) - {" "}}
    assert all(count >= "".join(words).count(character) for character, count in drawn.items())
    assert "…" not in "".join(lines)


def test_a_narrow_column_is_broken_between_words():
    assert markdown_lines("| a | words |\n|---|---|\n| 1 | some words of it, and more |\n", 24, PLAIN) == [
        " a  words",
        " ───────────────────────",
        " 1  some words of it,",
        "    and more",
    ]


def test_where_columns_are_too_narrow_each_row_stands_by_itself():
    text = (
        "| name | address | telephone |\n|---|---|---|\n| Somebody | Somewhere | 0123456789 |\n| 山田 | 東京 | 03 |\n"
    )
    assert markdown_lines(text, 24, PLAIN) == [
        " name       Somebody",
        " address    Somewhere",
        " telephone  0123456789",
        " ───────────────────────",
        " name       山田",
        " address    東京",
        " telephone  03",
    ]


def test_a_table_in_a_list_and_one_without_rows():
    assert markdown_lines("- | a | b |\n  |---|---|\n  | 1 | 2 |\n", 40, PLAIN) == [" •  a  b", "    ────", "    1  2"]
    assert markdown_lines("| a | b |\n|---|---|\n", 40, PLAIN) == [" a  b", " ────"]
