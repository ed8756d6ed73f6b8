"""Keys and sessions as hands from other agents know them: Esc, Shift-Tab, `?`, another session, the last prompt again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.program import Program
from e2e.screens import Terminal

Open = Callable[..., Terminal]


@pytest.fixture
def terminals(program: Program) -> Iterator[Open]:
    opened: list[Terminal] = []

    def start(server: FakeGemini, *words: str, **more: object) -> Terminal:
        environ = {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        terminal = Terminal(program, words, **{"rows": 40, **environ, **more})  # pyright: ignore[reportArgumentType]  (size and environment)
        opened.append(terminal)
        terminal.until("›")
        return terminal

    yield start
    for terminal in opened:
        terminal.child.close(force=True)


def answer(request: GeminiRequest) -> Turn:
    if request.responses:
        return Turn(text="Done.")
    match request.prompt:
        case "slow":
            return Turn(calls=[call("run_shell_command", command="seq -f line-%g 40; sleep 1000")])
        case "write":
            return Turn(calls=[call("write_file", file_path="a.txt", content="written\n")])
        case "job":
            return Turn(calls=[call("run_shell_command", command="sleep 1000 & echo started")])
        case "hang":
            return Turn(hangs=True)
        case "plan":
            todos = [{"description": "look", "status": "completed"}, {"description": "mend", "status": "in_progress"}]
            return Turn(calls=[call("write_todos", todos=todos)])
        case prompt:
            return Turn(text=f"Heard: {prompt}")


def test_esc_cancels_what_runs_keeps_what_it_printed_and_takes_no_key_with_it(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server, "--approval-mode", "yolo")
        terminal.say("slow")
        terminal.until("line-40")
        terminal.send("\x1b")
        terminal.until("Cancelled.")
        terminal.send("typed")
        terminal.until("› typed")
        assert "  line-40" in terminal.lines, "the end of what it had printed"
        terminal.send("\x15/open 1\r")
        terminal.until(lambda: all(f"\nline-{number}\n" in terminal.text for number in range(1, 41)))


def test_esc_says_no_to_a_question_and_the_next_key_is_typed(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("write")
        terminal.until("(s)")
        terminal.send("\x1b")
        terminal.until(lambda: "❯" not in terminal.text)
        terminal.send("yes")
        terminal.until("› yes")
    assert not (program.root / "a.txt").exists()


@pytest.mark.parametrize(
    ("keys", "is_written"),
    [("\r", True), ("1", True), ("\x1b[B\x1b[A\r", True), ("\x1b[B\x1b[B\x1b[B\r", False), ("n", False)],
)
def test_a_question_is_answered_by_arrows_enter_and_digits(
    program: Program, terminals: Open, keys: str, is_written: bool
):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("write")
        terminal.until("(s)")
        terminal.send(keys)
        terminal.until("Done.")
    assert (program.root / "a.txt").exists() == is_written


@pytest.mark.parametrize("keys", ["n\r", "4\r", "r\r", "ny", "no way", "no\ry", "\x1b[200~y\x1b[201~"])
def test_the_first_answer_is_the_answer_and_a_text_is_none(program: Program, terminals: Open, keys: str):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("write")
        terminal.until("(s)")
        terminal.send(keys)
        box = "".join(key for key in keys if key.isalpha() or key == " ")
        terminal.until(lambda: "(s)" not in "\n".join(terminal.lines[-30:]) or f"› {box}" in terminal.lines)
        terminal.send("\x1b[B\x1b")
        terminal.until(lambda: "❯" not in terminal.text)
        terminal.say("and on")
        terminal.until("and on")
    assert not (program.root / "a.txt").exists()


@pytest.mark.parametrize("chord", ["\x1bn", "\x1b\x7f", "\x1b\r"])
def test_a_key_held_with_alt_is_no_answer_and_leaves_the_question_open(program: Program, terminals: Open, chord: str):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("write")
        terminal.until("(s)")
        terminal.send(chord)
        terminal.send("\r")
        terminal.until("Done.")
    assert (program.root / "a.txt").exists()


def test_ctrl_s_opens_no_search_that_takes_what_is_typed(terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.until("›")
        terminal.send("a\x13bc")
        terminal.until("› abc")


@pytest.mark.parametrize("key", ["\x04", "\x03\x03"])
def test_leaving_with_a_job_that_runs_asks_first(program: Program, terminals: Open, key: str):
    with FakeGemini(answer) as server:
        terminal = terminals(server, "--approval-mode", "yolo")
        terminal.say("job")
        terminal.until("Done.")
        terminal.until(lambda: any(line == "›" for line in terminal.lines))
        terminal.send(key)
        terminal.until("Keep it running?")
        terminal.until("Enter picks")
        terminal.send("\x1b")
        terminal.until("Cancelled.")
        terminal.say("still here")
        terminal.until("Heard: still here")
        terminal.until(lambda: any(line == "›" for line in terminal.lines))
        terminal.send(key)
        terminal.until(lambda: terminal.text.count("Keep it running?") == 2)
        terminal.until("Enter picks")
        terminal.send("n")
        status = terminal.ended()
        assert status == 0, terminal.text[-3000:]
    assert not (program.root / "left").exists()


def test_a_text_typed_right_after_esc_is_typed_and_the_turn_is_cancelled(terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("hang")
        terminal.until("Waiting")
        terminal.send("\x1btyped")
        terminal.until("Cancelled.")
        terminal.until("› typed")
        terminal.send("\x1bb\x1b[1;3D\x1b[99~\x17")
        terminal.until("› typed")


def test_a_paste_without_an_end_is_ended_by_ctrl_c(terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("hang")
        terminal.until("Waiting")
        terminal.send("\x1b[200~pasted")
        terminal.read()
        terminal.send("\x03")
        terminal.until("Cancelled.")
        terminal.until("› pasted")


def asked_for_a_reason(terminal: Terminal) -> Terminal:
    terminal.say("write")
    terminal.until("(s)")
    terminal.send("r")
    terminal.until("Reason:")
    return terminal


def test_a_question_that_a_line_was_left_for_waits_for_the_rest_of_a_key_that_comes_in_parts(terminals: Open):
    with FakeGemini(answer) as server:
        terminal = asked_for_a_reason(terminals(server))
        terminal.send("\x1b")
        terminal.until(lambda: "A question is waiting" in terminal.raw)
        terminal.until("(s)")


def test_what_is_pasted_into_a_line_is_one_line_without_control_characters(terminals: Open):
    with FakeGemini(answer) as server:
        terminal = asked_for_a_reason(terminals(server))
        terminal.send("\x1b[200~one\x07\x1b[31m\r\ntwo\x00\tthree\n\x1b[201~")
        terminal.until("Reason: one two three")


def test_ctrl_c_leaves_only_where_the_last_key_was_one(terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        for words in ("one", "two"):
            terminal.send("\x03")
            terminal.until("Ctrl-C again leaves")
            terminal.say(words)
            terminal.until(f"Heard: {words}")
            terminal.until(lambda: "Esc cancels" not in "\n".join(terminal.lines))
        terminal.send("\x03")
        terminal.until("Ctrl-C again leaves")
        terminal.send("\x03")
        assert terminal.ended() == 0


def test_the_screen_is_never_erased_from_the_first_cell_of_a_line(terminals: Open):
    """tmux takes a whole screen that is erased so into the scrollback: a copy of each frame was left there."""
    with FakeGemini(answer) as server:
        terminal = terminals(server, answers=True)
        for prompt in ("one", "write"):
            terminal.say(prompt)
            terminal.until("Heard: one" if prompt == "one" else "(s)")
        terminal.send("n")
        terminal.until("Done.")
        erased = [before[-3:] for before in re.split("\x1b\\[0?J", terminal.raw)[:-1]]
        assert erased
        assert set(erased) == {"\x1b[C"}


def test_esc_twice_edits_the_last_prompt_and_its_files_may_go_back(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server, "--approval-mode", "yolo")
        terminal.say("write")
        terminal.until("Done.")
        terminal.send("\x1b")
        terminal.until("Esc again")
        terminal.send("\x1b")
        terminal.until("undo the file changes")
        terminal.send("\r")
        terminal.until("Back to before turn 1")
        terminal.until("› write")
        assert not (program.root / "a.txt").exists()
        terminal.send(" it\r")
        terminal.until("Heard: write it")
        assert len(server.requests[-1].contents) == 1, "the conversation went back, too"


def test_shift_tab_takes_the_next_mode_and_a_question_mark_shows_the_keys(terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        for mode in ("auto_edit", "plan"):
            terminal.send("\x1b[Z")
            terminal.until(f"gemini-2.5-pro · {mode}")
        terminal.send("\x1b[Z")
        terminal.until(lambda: "plan" not in terminal.lines[-1] and "  gemini-2.5-pro" in terminal.lines)
        terminal.send("?")
        terminal.until("Shift-Tab")
        terminal.send("x")
        terminal.until(lambda: "› x" in terminal.lines and "Shift-Tab" not in "\n".join(terminal.lines))
        terminal.send("\x7f??")
        terminal.until("› ?")


def test_keys_are_changed_by_the_settings(program: Program, terminals: Open):
    keys = '{"nextMode": "Alt-m", "showKeys": "F1", "openLast": "no such key", "nosuch": "F2"}'
    program.settle('{"ui": {"statusLine": ["model", "mode", "weather"], "keys": ' + keys + "}}")
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.until("no such key can't be the key of openLast")
        terminal.until("There is no action nosuch")
        terminal.until("ui.statusLine: Possible values, in a list")
        terminal.send("\x1bm")
        terminal.until("gemini-2.5-pro · auto_edit")
        terminal.send("?")
        terminal.until("› ?")
        terminal.send("\x15")
        terminal.say("/keys")
        terminal.until("Alt-m")
        assert "Ctrl-O" in terminal.text, "a key that can't be read is as it was"


def test_another_session_is_picked_and_drawn_again(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        first = terminals(server)
        first.say("the first one")
        first.until("Heard: the first one")
        first.say("/rename my work")
        first.until("now named my work")
        first.say("/new")
        first.until(lambda: first.text.count("dogu 0") == 2)
        first.say("another")
        first.until("Heard: another")
        first.say("/resume")
        first.until("❯ 1. my work")
        first.send("\r")
        first.until(lambda: first.text.count("Heard: the first one") == 2)
        first.until(lambda: first.text.rpartition("dogu 0")[2].count("› the first one") == 1)
        first.say("and on")
        first.until("Heard: and on")
        assert len(server.requests[-1].contents) == 3
        first.send("\x04")
        first.ended()
        assert "dogu --resume " in first.text.rstrip().rpartition("\n")[2]
    assert len(list((program.home / ".dogu" / "sessions").iterdir())) == 2


def test_what_is_typed_while_no_box_is_there_is_kept_for_the_next_one(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.send("early\r")
        terminal.until("Heard: early")
        terminal.send("/new\rsecond\rthird")
        terminal.until("Heard: second")
        terminal.until(lambda: "› third" in terminal.lines)
        terminal.send("\x15/clear\r\x03fourth\r")
        terminal.until("Heard: fourth")
        terminal.send("/new\r\x04")
        terminal.ended()
    assert [str(each.contents[0]["parts"][0]["text"]) for each in server.requests] == ["early", "second", "fourth"]


def test_a_command_that_stands_for_a_prompt_is_shown_as_it_was_typed(program: Program, terminals: Open):
    with FakeGemini([Turn(text="one"), Turn(fault="cut-mid-stream"), Turn(text="two")]) as server:
        terminal = terminals(server)
        terminal.say("/init")
        terminal.until("one")
        terminal.say("and on")
        terminal.until("two")
        terminal.say("/new")
        terminal.until(lambda: terminal.text.count("dogu 0") == 2)
        terminal.say("/resume")
        terminal.until("❯ 1. /init")
        terminal.send("\r")
        terminal.until(lambda: terminal.text.rpartition("dogu 0")[2].count("two") == 1)
        drawn = terminal.text.rpartition("dogu 0")[2]
        assert "› /init\n\none\n\n› and on\n\ntwo\n" in drawn
        terminal.send("\x1b")
        terminal.until("Esc again")
        terminal.send("\x1b")
        terminal.until("Back to before turn 2: and on")
        terminal.send("\x15\x1b")
        terminal.until("Esc again")
        terminal.send("\x1b")
        terminal.until("Back to before turn 1: /init")
        terminal.until(lambda: [line for line in terminal.lines if line.startswith("›")][-1] == "› /init")


def test_a_draft_and_what_waits_are_neither_lost_nor_doubled(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server, "--approval-mode", "yolo")
        terminal.say("slow")
        terminal.until("line-40")
        for word in ("one", "two"):
            terminal.send(f"{word}\r")
            terminal.until(f"⏎ {word}")
        terminal.send("mine\x1b[A")
        terminal.until(lambda: "› two" in terminal.lines and "  mine" in terminal.lines)
        assert "  ⏎ two" not in terminal.lines
        terminal.send("\x03")
        box = ["› one", "  two", "  mine"]
        terminal.until(lambda: [line for line in terminal.lines if line.strip("›⏎ ") in ("one", "two", "mine")] == box)


def test_the_plan_is_shown_and_hidden(terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("plan")
        terminal.until("Done.")
        terminal.send("\x14")
        terminal.until(lambda: terminal.text.count("▶ mend") == 2)
        terminal.send("\x14")
        terminal.until(lambda: terminal.text.count("▶ mend") == 1)


def test_ctrl_r_searches_what_was_typed_and_leaves_the_draft_where_it_is_left(terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        for prompt in ("first of Two", "second", "third of two"):
            terminal.say(prompt)
            terminal.until(f"Heard: {prompt}")
        terminal.until("›")
        terminal.send("my draft\x12two")
        terminal.until("Search: two")
        terminal.send("\x12")
        terminal.until(lambda: any(line == "› first of Two" for line in terminal.lines[-30:]))
        terminal.send("\x1b")
        terminal.until("› my draft")
        terminal.send("\x12no such")
        terminal.until("Not found: no such")
        terminal.send("\x07")
        terminal.until(lambda: "Not found" not in "\n".join(terminal.lines) and "› my draft" in terminal.lines)
        terminal.send("\x12second\r")
        terminal.until(lambda: "Search:" not in "\n".join(terminal.lines) and terminal.lines.count("› second") == 2)
        assert len(server.requests) == 3, "what was found is taken into the box, and sent by the next Enter"
        terminal.send("\r")
        terminal.until(lambda: len(server.requests) == 4)


def test_a_draft_is_written_on_in_the_users_editor(program: Program, terminals: Open):
    editor = program.home / "editor"
    editor.write_text("#!/bin/sh\nprintf ' and more\\nof it\\n' >> \"$1\"\n")
    editor.chmod(0o755)
    with FakeGemini(answer) as server:
        terminal = terminals(server, VISUAL=str(editor))
        terminal.send("a draft\x18")
        terminal.until("› a draft and more")
        terminal.until("  of it")
        terminal.send("\r")
        terminal.until("Heard: a draft and more")
        terminal.until("›")
        terminal.send("another\x07")
        terminal.until("› another and more")


def row_of(terminal: Terminal, text: str) -> int:
    """The terminal's row, from 1, in which a text stands."""
    return next(at for at, line in enumerate(terminal.lines, 1) if text in line)


def test_a_choice_is_picked_by_a_click_and_the_terminal_has_the_mouse_otherwise(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server, answers=True)
        terminal.say("write")
        terminal.until("(s)")
        terminal.until(lambda: "\x1b[?1000h" in terminal.raw)
        yes, no = row_of(terminal, "Yes (y)"), row_of(terminal, "No (n)")

        def is_heard() -> bool:
            terminal.send(f"\x1b[<0;6;{no}M")
            terminal.read()
            return "❯ 4. No (n)" in terminal.text

        terminal.until(is_heard)  # a press means nothing until the terminal has said where the menu stands
        terminal.send(f"\x1b[<0;6;{yes}m")
        terminal.until("❯ 1. Yes (y)")
        assert not (program.root / "a.txt").exists(), "letting go of a button that was pressed elsewhere picks nothing"
        terminal.send(f"\x1b[<0;6;{no}M\x1b[<0;6;{no}m")
        terminal.until("declined, nothing was written")
        terminal.until(lambda: terminal.raw.rfind("\x1b[?1000l") > terminal.raw.rfind("\x1b[?1000h"))

        terminal.say("write")
        terminal.until(
            lambda: terminal.text.count("(s)") == 1 and "\x1b[?1000h" in terminal.raw.rpartition("› write")[2]
        )
        shown = len(terminal.raw)

        def is_given_back() -> bool:
            terminal.send("\x1b[<64;6;3M")
            terminal.read()
            return "\x1b[?1000l" in terminal.raw[shown:]

        terminal.until(is_given_back)
        terminal.send("y")
        terminal.until((program.root / "a.txt").exists)


def test_a_terminal_that_answers_nothing_keeps_its_mouse(terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("write")
        terminal.until("(s)")
        terminal.send("n")
        terminal.until("declined")
        assert "\x1b[?1000h" not in terminal.raw


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (80, "  1 job · gemini-2.5-pro · auto_edit"),
        (24, "  1 job · auto_edit"),
        (20, "  1 job · auto_edit"),
        (18, "  auto_edit"),
    ],
)
def test_a_narrow_line_at_the_bottom_leaves_out_whole_parts(program: Program, terminals: Open, columns: int, line: str):
    program.settle('{"ui": {"statusLine": ["jobs", "model", "mode"]}}')
    with FakeGemini(answer) as server:
        terminal = terminals(server, "--approval-mode", "auto_edit", columns=columns)
        terminal.say("!sleep 1000 & echo begun")
        terminal.until(lambda: line in terminal.lines)
