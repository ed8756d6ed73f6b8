"""What a user sees: diffs, commands and results, made harmless."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dogu.agent.events import Event
from dogu.contract.display import CommandPreview, FileDiff, TerminalOutput, Todo, TodoList
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.models.events import Finished, FinishReason, Retrying, TextDelta, ThoughtDelta
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Noted, ToolCall
from dogu.serve.terminal.calls import StoredResults
from dogu.serve.terminal.draw import draw
from dogu.serve.terminal.show import Show
from dogu.serve.terminal.style import PALETTES, Style

PLAIN, COLORED = Style(has_color=False), Style(has_color=True)


def test_a_diff_is_painted_and_its_blanks_can_be_seen():
    diff = FileDiff("/a", "x\n", "y \n", "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y \t\n", ("Line endings: CRLF.",))
    assert draw(diff, PLAIN) == "Line endings: CRLF.\n1 -x\n1 +y·→\t"
    assert "\x1b[32m+y·→\t\x1b[0m" in draw(diff, COLORED)
    assert "lines left out" in draw("\n".join(map(str, range(200))), PLAIN)


def test_tabs_at_the_beginning_of_changed_lines_can_be_seen():
    diff = FileDiff("/a", "", "", "@@ -1 +1 @@\n-    x\ty\n+\t  x\ty\n \tz\n")
    assert draw(diff, PLAIN) == "1 -    x\ty\n1 +→\t  x\ty\n2  \tz"


def test_the_lines_of_a_diff_have_their_numbers_and_hunks_a_gap():
    diff = FileDiff("/a", "", "", "@@ -8,3 +8,2 @@\n a\n-b\n c\n@@ -99,1 +98,2 @@ def f\n d\n+e\n")
    assert draw(diff, PLAIN) == " 8  a\n 9 -b\n 9  c\n  ⋮\n98  d\n99 +e"


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x1b]0;title\x07", "\u202e", "\x9b31m", "\r"])
def test_nothing_hostile_reaches_the_terminal(hostile: str):
    displays = [
        f"text {hostile}",
        FileDiff("/a", None, "", f"@@ -0,0 +1 @@\n+{hostile}\n"),
        TerminalOutput("ls", f"out {hostile}"),
        CommandPreview(f"ls {hostile}", f"/dir{hostile}", f"why{hostile}", (f"because{hostile}",)),
        TodoList((Todo(f"do {hostile}", "pending"),)),
    ]
    for display in displays:
        assert hostile not in draw(display, PLAIN, whole=True)


def test_a_long_display_is_folded_and_a_command_never_hides_its_end():
    assert "lines left out" in draw("\n".join(map(str, range(200))), PLAIN)
    command = "echo " + "x" * 10_000 + "\n" * 100 + "rm -rf /"
    assert "rm -rf /" in draw(CommandPreview(command, "/w"), PLAIN)


def shown(*events: Event) -> str:
    printed: list[str] = []
    show = Show(PLAIN, lambda: 80, printed.append)
    for event in events:
        show.event(event)
    return "".join(f"{text}\n" for text in printed)


def test_a_call_is_a_line_and_its_result_stands_under_it():
    call = ToolCall("1", "read_file", {})
    text = shown(
        CallStarted(call, "ReadFile", "src/a.py"),
        CallFinished(call, "ReadFile", ToolResult("...", "Read 3 lines\nof 9")),
    )
    assert text == "● ReadFile  src/a.py\n  Read 3 lines\n  of 9\n"


def test_a_short_result_stands_in_the_call_s_own_line():
    call = ToolCall("1", "read_file", {})
    text = shown(CallStarted(call, "ReadFile", "a.py"), CallFinished(call, "ReadFile", ToolResult("...", "3 lines")))
    assert text == "● ReadFile  a.py · 3 lines\n"


def test_a_failure_is_told_and_text_before_it_ends_its_line():
    call = ToolCall("1", "read_file", {})
    failed = ToolResult.failed(ToolError(ErrorKind.NOT_FOUND, "No such file."))
    assert shown(TextDelta("Let me see"), CallFinished(call, "ReadFile", failed)) == (
        "Let me see\n✗ ReadFile  (/open 1)\n  It wasn't found.\n"
    )


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x1b]0;title\x07", "\u202e", "\x9b31m", "\r"])
def test_a_tool_name_that_a_model_or_server_made_up_is_harmless(hostile: str):
    call = ToolCall("1", f"no{hostile}tool", {})
    failed = ToolResult.failed(ToolError(ErrorKind.UNKNOWN_TOOL, f"no {hostile}"))
    assert hostile not in shown(CallStarted(call, call.name, hostile), CallFinished(call, call.name, failed))


def test_of_a_command_the_end_is_shown_and_how_it_ended():
    call = ToolCall("1", "run_shell_command", {})
    output = "".join(f"line {number}\n" for number in range(100))
    result = ToolResult("...", TerminalOutput("x", output, 1, ("Exit code 1.", "The sandbox may have refused it.")))
    text = shown(CallStarted(call, "Shell", "x"), CallOutput("1", output), CallFinished(call, "Shell", result))
    lines = text.split("\n")
    assert lines[:2] == ["● Shell  x  (/open 1)", "  … 94 lines above"]
    assert lines[-4:] == ["  line 99", "  Exit code 1.", "  The sandbox may have refused it.", ""]


def test_what_was_tried_again_is_one_line_and_a_repeated_beginning_is_printed_once():
    printed: list[str] = []
    show = Show(PLAIN, lambda: 80, printed.append, draws=True)
    for attempt in (1, 2, 3):
        show.event(TextDelta("First paragraph.\n\nSecond"))
        show.event(Retrying("Overloaded.", 2.0, attempt, 5))
        assert "Overloaded." in show.live_lines(80, 20)[-2]
        assert "…" not in "".join(show.live_lines(30, 20)[:-1])
    show.event(TextDelta("First paragraph.\n\nSecond, whole.\n"))
    show.end()
    text = "\n".join(printed)
    assert text.count("First paragraph.") == text.count("Overloaded.") == text.count("Second") == 1
    assert "Tried again: 3" in text


def test_what_failed_for_good_is_told_once_with_how_often_it_was_tried():
    for told, lines in (
        ("Overloaded. Tried 2 times.", ["Overloaded. Tried 2 times."]),
        ("Refused.", ["Overloaded. Tried again: 1", "Refused."]),
    ):
        printed: list[str] = []
        show = Show(PLAIN, lambda: 80, printed.append, draws=True)
        show.event(Retrying("Overloaded.", 1.0, 1, 1))
        show.event(Noted(told))
        assert printed == lines


def test_a_note_is_told_once_and_a_thought_is_one_line():
    cut = "The answer was cut."
    assert shown(TextDelta("x"), Finished(FinishReason.LENGTH, b"{}", (), cut), Noted(cut)).count(cut) == 1
    thought = shown(ThoughtDelta("**Looking at it**\n\nLong.\n\n**Planning**\n\nMore.\n"), TextDelta("ok\n"))
    assert thought.startswith("∴ Looking at it · Planning  (/open 1)\n")
    assert "**" not in thought
    assert shown(ThoughtDelta("**Reading** the **code**\n"), TextDelta("ok\n")).startswith("∴ Reading the code\n")


def test_what_was_declined_is_said_in_the_call_s_own_line():
    call = ToolCall("1", "write_file", {})
    declined = ToolResult.failed(ToolError(ErrorKind.DECLINED, "The user declined this call."))
    printed: list[str] = []
    show = Show(PLAIN, lambda: 80, printed.append, {"1": FileDiff("a", "", "", "")})
    show.event(CallStarted(call, "WriteFile", "a.txt"))
    show.event(CallFinished(call, "WriteFile", declined))
    assert printed == ["■ WriteFile  a.txt · declined, nothing was written"]


def test_what_never_ran_is_named_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    declined = ToolResult.failed(ToolError(ErrorKind.DECLINED, "The user declined this call."))
    printed: list[str] = []
    show = Show(PLAIN, lambda: 200, printed.append)
    for args in ({"file_path": str(tmp_path / "a" / "b.txt")}, {"command": "python3 - <<E\nprint(1)\nE"}):
        show.event(CallFinished(ToolCall("1", "t", args), "T", declined))
    assert printed == ["■ T  a/b.txt · declined", "■ T  python3 - <<E … · declined"]


def test_a_plan_is_broken_between_words():
    plan = TodoList((Todo("A step with a long description of it", "pending"), Todo("二番目", "completed")))
    assert draw(plan, PLAIN, 24, whole=True) == "· A step with a long\n  description of it\n✔ 二番目"


XTERM_16 = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255),
    (255, 255, 255),
)  # fmt: skip


def rgb_of(codes: str, kind: int) -> tuple[int, int, int] | None:
    """The foreground (38) or background (48) that the codes of a color choose; None for the terminal's own."""
    numbers = [int(code) for code in codes.split(";") if code]
    found: tuple[int, ...] | None = None
    while numbers:
        number = numbers.pop(0)
        if number in (38, 48):
            color, numbers = (
                (tuple(numbers[1:4]), numbers[4:]) if numbers[0] == 2 else (xterm_256(numbers[1]), numbers[2:])
            )
            found = color if number == kind else found
        elif kind == 38 and number in {*range(30, 38), *range(90, 98)}:
            found = XTERM_16[number - 30 if number < 90 else number - 82]
    return found  # pyright: ignore[reportReturnType]  (three parts)


def xterm_256(index: int) -> tuple[int, ...]:
    if index >= 232:
        return (8 + 10 * (index - 232),) * 3
    parts = (index - 16) // 36, (index - 16) // 6 % 6, (index - 16) % 6
    return tuple(55 + 40 * part if part else 0 for part in parts)


def contrast(first: tuple[int, int, int], second: tuple[int, int, int]) -> float:
    """WCAG 2's ratio of two colors."""

    def luminance(color: tuple[int, int, int]) -> float:
        parts = [part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in color]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("theme", "colors"), list(PALETTES))
def test_every_color_of_a_theme_can_be_read_on_its_background(theme: str, colors: int):
    palette = PALETTES[theme, colors]
    background, text = ((0, 0, 0), (255, 255, 255)) if theme == "dark" else ((255, 255, 255), (0, 0, 0))
    names = ("dim", "red", "green", "yellow", "blue", "magenta", "cyan")
    for name in names:
        color = rgb_of(palette[name], 38)
        assert color is not None
        assert contrast(color, background) >= 4.5, name
    for tint in ("added", "removed", "added_word", "removed_word", "prompt"):
        behind = rgb_of(palette[tint], 48) or background
        assert contrast(rgb_of(palette[tint], 38) or text, behind) >= 4.5, tint
        if Style(True, theme, colors=colors).has_faint_tints and tint in ("added", "removed"):
            assert all(contrast(rgb_of(palette[name], 38) or text, behind) >= 4.5 for name in names), tint


def test_a_retry_and_a_note_are_told():
    assert "Trying again in 2 s (1 of 5): Overloaded." in shown(Retrying("Overloaded.", 2.0, 1, 5))
    assert "cut" in shown(TextDelta("x"), Finished(FinishReason.LENGTH, b"{}", (), "cut at the limit"))


def test_no_color_is_kept():
    assert not Style.of(io.StringIO(), {"TERM": "xterm", "NO_COLOR": "1"}).has_color
    assert Style.of(io.StringIO(), {"FORCE_COLOR": "1"}).has_color
    assert not Style.of(io.StringIO(), {"TERM": "xterm"}).has_color


def test_of_a_very_long_line_the_middle_can_be_opened():
    call = ToolCall("1", "run_shell_command", {})
    result = ToolResult("...", TerminalOutput("x", "a" * 5_000 + "MIDDLE" + "b" * 5_000))
    printed: list[str] = []
    show = Show(PLAIN, lambda: 80, printed.append)
    show.event(CallStarted(call, "Shell", "x"))
    show.event(CallFinished(call, "Shell", result))
    assert "MIDDLE" not in "".join(printed)
    assert "(/open 1)" in printed[0]
    assert "MIDDLE" in show.calls.results.opened(1, PLAIN)


def test_old_results_are_forgotten_within_a_bound_on_memory():
    results = StoredResults()
    for _ in range(100):
        results.keep("Shell", "x" * 1_000_000)
    assert "no longer kept" in results.opened(1, PLAIN)
    assert "xxx" in results.opened(100, PLAIN)
    assert "no result 101" in results.opened(101, PLAIN)
