"""Bursts, floods and resizes in mid-stream, at three widths: each line stands in the scrollback once."""

from __future__ import annotations

import re

import pytest

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.conftest import Panes
from e2e.program import PROGRAM, Program
from e2e.screens import at_prompt

SECTIONS = 60
BURST = "".join(
    f"## 節{n:03}\n\nParagraph {n} with **bold** and `code`. 日本語の文章も混ぜます。{f'w{n:03} ' * 20}\n\n"
    f"- item of{n:03}\n\n```python\nreturn{n:03}  # コメント\n```\n\n"
    for n in range(SECTIONS)
)
GROWING = [f"Paragraph{n:03}: " + "".join(f"w{n:03}x{k:02} " for k in range(30)) + "日本語" for n in range(14)]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize(("columns", "other"), [(40, 80), (80, 40), (200, 60)])
def test_a_burst_with_resizes_is_whole_and_once_in_the_scrollback(
    program: Program, panes: Panes, columns: int, other: int
) -> None:
    """6,000 tokens come as fast as the wire carries them."""
    with FakeGemini([Turn(text=BURST, pieces=6_000)]) as server:
        pane = panes(program, server, command=PROGRAM, columns=columns)
        pane.say("go")
        pane.until("節005")
        pane.resize(other, 24)
        pane.until("節025")
        pane.resize(columns, 30)
        pane.until("節045")
        pane.resize(other, 20)
        pane.type("typed meanwhile")
        pane.until(f"return{SECTIONS - 1:03}")
        text = squeezed(pane.until(lambda text: "Answering" not in text and "› typed meanwhile" in text))
    for n in range(SECTIONS):
        assert [text.count(f"{mark}{n:03}") for mark in ("節", "w", "itemof", "return")] == [1, 20, 1, 1], n
    assert text.index("節000") < text.index("節059")


@pytest.mark.parametrize(("columns", "other"), [(40, 80), (80, 40), (200, 60)])
def test_a_block_that_grows_while_the_terminal_changes_is_left_once(
    program: Program, panes: Panes, columns: int, other: int
) -> None:
    """Slow enough that each paragraph is drawn many times before it is printed."""
    with FakeGemini([Turn(text="\n\n".join(GROWING), pieces=700, pace_s=0.006)]) as server:
        pane = panes(program, server, command=PROGRAM, columns=columns)
        pane.say("go")
        pane.until("w002x20")
        pane.resize(other, 24)
        pane.until("w006x20")
        pane.resize(columns, 30)
        pane.until("w010x20")
        pane.resize(other, 20)
        pane.until("w013x29")
        text = squeezed(pane.until(at_prompt))
    counts = {word: text.count(word) for line in GROWING for word in line.split()[1:-1]}
    assert {word: count for word, count in counts.items() if count != 1} == {}
    assert "Answering" not in text


def flood(request: GeminiRequest) -> Turn:
    if request.responses:
        return Turn(text="The flood is over.")
    return Turn(calls=[call("run_shell_command", command="yes 'a line of output 出力' | head -300000")])


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_typing_and_resizing_go_on_while_a_tool_floods(program: Program, panes: Panes, columns: int) -> None:
    with FakeGemini(flood) as server:
        pane = panes(program, server, "--approval-mode", "yolo", command=PROGRAM, columns=columns)
        pane.say("flood")
        pane.until("Shell")
        pane.type("typed meanwhile 日本")
        pane.until("› typed meanwhile 日本")
        pane.resize(60, 20)
        pane.until("The flood is over.")
        text = pane.until(lambda text: "Running" not in text)
        assert "› typed meanwhile 日本" in text
        assert text.count("a line of output") < 10, "the rest waits for /open"


def test_no_wide_character_is_broken_at_the_edge(program: Program, panes: Panes) -> None:
    with FakeGemini([Turn(text="漢字" * 200 + "\n")]) as server:
        pane = panes(program, server, command=PROGRAM, columns=41)
        pane.say("go")
        pane.until("漢字")
        text = pane.until(at_prompt)
    rows = [row for row in text.split("\n") if "漢" in row]
    assert sum(row.count("漢") for row in rows) == 200
    assert {len(row.strip()) for row in rows[:-1]} == {20}, "each row holds whole characters only"


def test_a_resize_at_the_prompt_keeps_what_was_typed(program: Program, panes: Panes) -> None:
    pane = panes(program, command=PROGRAM, columns=80)
    pane.until(at_prompt)
    typed = "a line that is longer than forty columns, with 日本語 in it"
    pane.type(typed)
    pane.until(typed)
    pane.resize(30, 20)
    pane.resize(90, 24)
    text = pane.until(typed)
    assert text.count("a line that is longer") == 1
    assert text.count("›") == 1


@pytest.mark.parametrize("sizes", [[(30, 40)], [(40, 24), (100, 15)], [(120, 10), (40, 24)], [(20, 5), (150, 40)]])
def test_a_long_list_leaves_nothing_behind_however_the_terminal_changes(
    program: Program, panes: Panes, sizes: list[tuple[int, int]]
) -> None:
    """With nothing above it: what a terminal wraps anew is pushed off the screen first where there is little else."""
    with FakeGemini([]) as server:
        pane = panes(program, server, command=PROGRAM, columns=120, rows=30)
        pane.say("/settings")
        pane.until("tools.core")
        for columns, rows in sizes:
            pane.resize(columns, rows)
            pane.until("Search:")
        pane.keys("Escape")
        pane.until("Nothing was changed.")
        pane.resize(120, 30)
        # At 20 columns the terminal breaks the head, and may leave it so where a row of it was drawn beside.
        text = pane.until(lambda text: at_prompt(text) and "/helpshowscommands" in "".join(text.split()))
    assert "Search:" not in text
    assert "tools." not in text
