"""Streaming Markdown is cut into blocks that can be drawn for good, whatever the pieces it comes in."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.serve.terminal.cells import width_of
from dogu.serve.terminal.markdown import markdown_lines
from dogu.serve.terminal.stream import AnswerStream, Block, Blocks
from dogu.serve.terminal.style import Style

PLAIN, COLORED = Style(has_color=False), Style(has_color=True, has_many=True)
ANSWER = """# 見出し

A paragraph
of two lines.

- one
- two

  still two

1. first

```python
def f():

    return 1
```
After the code.
"""


def cut(text: str, size: int = 1) -> list[Block]:
    blocks = Blocks()
    found = [block for at in range(0, len(text), size) for block in blocks.feed(text[at : at + size])]
    return found + blocks.close()


def test_a_block_ends_where_nothing_can_change_it_any_more():
    assert [block.text for block in cut(ANSWER)] == [
        "# 見出し",
        "A paragraph\nof two lines.",
        "- one\n- two\n\n  still two\n\n1. first",
        "```python\ndef f():\n\n    return 1\n```",
        "After the code.",
    ]


@given(st.text(alphabet="ab `~#-*1.\n", max_size=200), st.integers(1, 30))
def test_blocks_are_the_same_in_whatever_pieces_the_text_comes(text: str, size: int):
    assert cut(text, size) == cut(text, max(1, len(text)))


@given(st.text(alphabet="ab `~#-*1.\n", max_size=200))
def test_no_word_is_lost_between_blocks(text: str):
    letters = [character for character in text if character.isalnum()]
    assert [c for block in cut(text, 7) for c in block.text if c.isalnum()] == letters


def test_long_code_is_cut_and_goes_on_as_code():
    code = "```sh\n" + "echo x\n" * 100 + "```\n"
    first, *others = cut(code, 50)
    assert first.text.startswith("```sh\n")
    assert first.text.endswith("\n```")
    assert all(block.continues and block.text.startswith("```sh\n") for block in others)
    assert sum(block.text.count("echo x") for block in [first, *others]) == 100


@pytest.mark.parametrize(
    "hidden",
    ["<!-- hidden -->", "<b>hidden</b>", "[comment]: # (hidden)", "[text](http://hidden)", "![alt](http://hidden)"],
)
def test_no_part_of_an_answer_is_left_out(hidden: str):
    assert "hidden" in "\n".join(markdown_lines(f"text {hidden}\n\n{hidden}", 60, PLAIN))


@pytest.mark.parametrize("entity", ["&#8238;", "&#x200b;", "&#27;[2J", "&#155;31m"])
def test_an_entity_is_no_way_to_hide_text_or_to_command_the_terminal(entity: str):
    drawn = "\n".join(markdown_lines(f"a {entity} b", 60, PLAIN))
    assert not set(drawn) & set("\u202e\u200b\x1b\x9b")


def test_an_address_that_is_its_own_text_is_shown_once():
    text = "<https://a.example/x> [https://b.example](https://b.example) [c](https://c.example) **<https://d.example>** <e@f.example>"
    drawn = " ".join(markdown_lines(text, 200, PLAIN))
    assert drawn == "https://a.example/x https://b.example c (https://c.example) https://d.example e@f.example"


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
@pytest.mark.parametrize("style", [PLAIN, COLORED])
def test_no_line_is_wider_than_the_terminal(columns: int, style: Style):
    text = ANSWER + "日本語の長い文章です。" * 30 + "\n\n| 列 | b |\n|---|---|\n| " + "表" * 40 + " | x |\n"
    assert max(map(width_of, markdown_lines(text, columns, style))) <= columns


def stream(text: str, pieces: int, **more: bool) -> tuple[list[str], AnswerStream]:
    printed: list[str] = []
    answer = AnswerStream(PLAIN, lambda: 80, printed.append, draws=more.get("draws", True))
    size = -(-len(text) // pieces)
    for at in range(0, len(text), size):
        answer.add(text[at : at + size])
    return printed, answer


def test_finished_blocks_are_printed_once_and_only_the_last_is_drawn():
    printed, answer = stream("First.\n\nSecond.\n\nThe th", 8)
    assert printed == ["First.", "\nSecond."]
    assert answer.live_lines(80, 20) == ["", "The th"]
    answer.add("ird.")
    answer.end()
    assert printed[2:] == ["\nThe third."]
    assert answer.live_lines(80, 20) == []


def test_of_a_block_higher_than_the_screen_the_end_is_drawn():
    _, answer = stream("\n".join(f"- item {n}" for n in range(50)), 5)
    lines = answer.live_lines(80, 6)
    assert len(lines) <= 8
    assert "item 49" in lines[-1]


def test_where_nothing_is_drawn_twice_lines_are_printed_as_they_end():
    printed, answer = stream("# One\ntwo **three**\nfo", 4, draws=False)
    assert printed == ["# One", "two **three**"]
    answer.end()
    assert printed[-1] == "fo"


def test_where_ambiguous_characters_are_wide_no_line_is_too_wide():
    program = """
from dogu.serve.terminal.cells import fit, use_wide_ambiguous, width_of
from dogu.serve.terminal.markdown import markdown_lines
from dogu.serve.terminal.style import Style
use_wide_ambiguous()
assert width_of("…─α") == 6 and width_of("e\\u0301") == 1
lines = markdown_lines("“quoted” — … × α β γ ① → " * 40, 60, Style(has_color=False))
assert max(map(width_of, lines)) <= 60, max(map(width_of, lines))
assert width_of(fit("→" * 50, 21)) <= 21
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_paragraphs_are_broken_as_their_language_breaks_them():
    text = "日本語の文章を混ぜました。とても長い。\n\n- 한국어 문장은 단어 사이에서 줄을 바꿉니다."
    assert markdown_lines(text, 24, PLAIN) == [
        "日本語の文章を混ぜまし",
        "た。とても長い。",
        "",
        " • 한국어 문장은 단어",
        "   사이에서 줄을",
        "   바꿉니다.",
    ]


def test_a_long_table_is_drawn_in_parts_that_each_say_its_head():
    rows = [f"| {number} | word |" for number in range(100)]
    blocks = cut("\n".join(["| a | b |", "|---|---|", *rows]), 7)
    assert [block.text.split("\n")[:2] for block in blocks] == [["| a | b |", "|---|---|"]] * 3
    assert [row for block in blocks for row in block.text.split("\n")[2:]] == rows
    assert [block.continues for block in blocks] == [False, True, True]


def test_a_table_that_fills_its_parts_has_no_head_without_rows():
    rows = [f"| {number} | word |" for number in range(80)]
    blocks = cut("\n".join(["| a | b |", "|---|---|", *rows, "", "After."]), 50)
    assert [row for block in blocks for row in block.text.split("\n")[2:]] == rows
    assert blocks[-1].text == "After."


def test_a_paragraph_of_very_many_lines_is_drawn_in_parts_without_a_gap():
    lines = [f"line {number}" for number in range(500)]
    blocks = cut("\n".join(lines), 50)
    assert "\n".join(block.text for block in blocks).split("\n") == lines
    assert [block.continues for block in blocks] == [False, True, True, True, True]


WORDS = "some words of a line, and `more` of **them** " * 3


@pytest.mark.parametrize(
    "lines",
    [
        ["```python", *[f"x = [{'1, ' * 60}]"] * 300],
        ["| a | b |", "|---|---|", *[f"| {WORDS} | {WORDS} |"] * 200],
        [f"- {WORDS}"] * 300,
        ["- top", *[f"  - {WORDS}"] * 300],
        [WORDS] * 300,
        [f"> {WORDS}"] * 300,
    ],
)
def test_no_block_of_many_lines_is_so_long_that_drawing_it_would_keep_keys_waiting(lines: list[str]):
    blocks = cut("\n".join(lines), 100)
    assert max(len(block.text) for block in blocks) < 8_000
    assert sum(block.text.count(lines[-1]) for block in blocks) == lines.count(lines[-1])


def test_a_long_list_is_cut_between_its_own_items_where_it_has_some():
    items = [f"{'  ' * (number % 3)}- item {number}" for number in range(600)]
    blocks = cut("\n".join(items), 100)
    assert len(blocks) > 1
    assert all(block.text.startswith("- ") for block in blocks)


def test_a_line_that_never_ends_is_shown_as_it_came():
    printed, answer = stream("**word** " * 2_000, 3)
    answer.end()
    assert printed[0].replace("\n", "") == "**word** " * 2_000
