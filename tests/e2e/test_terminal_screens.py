"""The terminal as it is seen: cells read back from an emulator, at several widths, while text bursts and tools flood."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator

import pytest

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.program import Program
from e2e.screens import Terminal

Open = Callable[..., Terminal]
WIDTHS = [40, 80, 200]
BURST = "".join(
    f"## 節 {n}\n\nParagraph {n} with **bold** and `code`. 日本語の文章も混ぜます。{'word ' * 30}\n\n"
    f"```python\ndef f{n}(x):\n    return {n}  # コメント\n```\n\n"
    for n in range(40)
)


@pytest.fixture
def terminals(program: Program) -> Iterator[Open]:
    opened: list[Terminal] = []

    def start(server: FakeGemini | None = None, *words: str, **more: object) -> Terminal:
        environ = {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url} if server else {}
        terminal = Terminal(program, words, **{**environ, **more})  # pyright: ignore[reportArgumentType]  (size and environment)
        opened.append(terminal)
        terminal.until("›")
        return terminal

    yield start
    for terminal in opened:
        terminal.child.close(force=True)


def at_prompt(terminal: Terminal) -> bool:
    return any(line.startswith("›") for line in terminal.lines) and "Ctrl-C cancels" not in "\n".join(terminal.lines)


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_burst_of_markdown_is_whole_in_the_scrollback(program: Program, terminals: Open, columns: int):
    with FakeGemini([Turn(text=BURST, pieces=2_000)]) as server:
        terminal = terminals(server, columns=columns)
        terminal.say("go")
        terminal.until("return 39")
        terminal.until(lambda: at_prompt(terminal))
        for number in range(40):
            assert terminal.text.count(f"return {number}  #") == 1, "printed once, and for good"
            assert terminal.text.count(f"節 {number}\n") == 1
        assert "Answering" not in terminal.text, "no part of what was only drawn is left behind"


@pytest.mark.parametrize("columns", WIDTHS)
def test_an_edit_of_a_file_with_a_cjk_name_is_asked_and_done(program: Program, terminals: Open, columns: int):
    path = program.root / "設定ファイル.py"
    path.write_text('挨拶 = "こんにちは世界"\n')
    edit = call("replace", file_path=str(path), old_string="こんにちは世界", new_string="さようなら世界")
    with FakeGemini([Turn(calls=[edit]), Turn(text="終わりました。")]) as server:
        terminal = terminals(server, columns=columns)
        terminal.say("変えて")
        terminal.until("[s]top")
        squeezed = terminal.text.replace("\n", "")
        assert '-挨拶 = "こんにちは世界"' in squeezed
        assert '+挨拶 = "さようなら世界"' in squeezed
        terminal.send("y")
        terminal.until("終わりました。")
    assert path.read_text() == '挨拶 = "さようなら世界"\n'


def test_no_wide_character_is_broken_at_the_edge(program: Program, terminals: Open):
    with FakeGemini([Turn(text="漢字" * 200 + "\n")]) as server:
        terminal = terminals(server, columns=41)
        terminal.say("go")
        terminal.until(lambda: at_prompt(terminal) and "漢字" in terminal.text)
        rows = [line for line in terminal.text.split("\n") if "漢" in line]
        assert sum(row.count("漢") for row in rows) == 200
        assert all(len(row.strip()) <= 20 for row in rows), "each row holds whole characters only"


def test_the_cursor_stands_where_an_input_method_would_draw(terminals: Open):
    terminal = terminals()
    terminal.send("日本x")
    terminal.until("日本x")
    cursor = terminal.screen.cursor
    assert terminal.lines[cursor.y] == "› 日本x"
    assert cursor.x == len("› ") + 2 + 2 + 1


def flood(request: GeminiRequest) -> Turn:
    if request.responses:
        return Turn(text="The flood is over.")
    return Turn(calls=[call("run_shell_command", command="yes 'a line of output' | head -400000")])


@pytest.mark.parametrize("columns", WIDTHS)
def test_typing_goes_on_while_a_tool_floods(terminals: Open, columns: int):
    with FakeGemini(flood) as server:
        terminal = terminals(server, "--approval-mode", "yolo", columns=columns)
        terminal.say("flood")
        terminal.until("Shell")
        terminal.send("typed meanwhile 日本")
        terminal.until("› typed meanwhile 日本")
        terminal.until("The flood is over.")
        terminal.until("› typed meanwhile 日本")
        assert terminal.text.count("a line of output") < 40, "the rest waits for /open"


def waiting(program: Program) -> Callable[[GeminiRequest], Turn]:
    """Return turns of which the first waits until the file `go` is there."""

    def answer(request: GeminiRequest) -> Turn:
        if "wait" in request.prompt and not request.responses:
            return Turn(calls=[call("run_shell_command", command="until [ -e go ]; do sleep 0.05; done; echo went")])
        return Turn(text=f"Heard: {request.prompt[-20:]}")

    return answer


def test_messages_typed_meanwhile_wait_in_order_and_can_be_taken_back(program: Program, terminals: Open):
    with FakeGemini(waiting(program)) as server:
        terminal = terminals(server, "--approval-mode", "yolo")
        terminal.say("wait")
        terminal.until("Shell")
        for message in ("first", "second", "third"):
            terminal.send(f"{message}\r")
            terminal.until(f"⏎ {message}")
        terminal.send("\x1b[A")
        terminal.until(lambda: "› third" in terminal.lines and "  ⏎ third" not in terminal.lines)
        terminal.send(" changed\r")
        terminal.until("⏎ third changed")
        (program.root / "go").touch()
        terminal.until("Heard: third changed")
        prompts = [request.prompt for request in server.requests if not request.responses]
        assert prompts == ["wait", "first", "second", "third changed"]


def test_ctrl_c_cancels_the_turn_says_what_and_gives_back_what_waited(program: Program, terminals: Open):
    with FakeGemini(waiting(program)) as server:
        terminal = terminals(server, "--approval-mode", "yolo")
        terminal.say("wait")
        terminal.until("Shell")
        terminal.send("next\r")
        terminal.until("⏎ next")
        terminal.send("\x03")
        terminal.until("Cancelled: Shell")
        terminal.until("› next")
        assert len([request for request in server.requests if not request.responses]) == 1


def test_ctrl_c_clears_the_input_and_twice_at_an_empty_prompt_leaves(terminals: Open):
    terminal = terminals()
    terminal.send("half a thought")
    terminal.until("› half a thought")
    terminal.send("\x03")
    terminal.until("Cleared what you had typed")
    terminal.send("\x1b[A")
    terminal.until("› half a thought")
    terminal.send("\x03")
    terminal.until(lambda: "› half a thought" not in terminal.lines)
    terminal.send("\x03")
    terminal.until("Ctrl-C once more leaves")
    terminal.send("\x03")
    assert terminal.ended() == 0


def test_keys_typed_before_a_question_was_drawn_do_not_answer_it(program: Program, terminals: Open):
    command = call("run_shell_command", command="touch done")
    with FakeGemini([Turn(calls=[command], delay_s=0.5), Turn(text="Over.")]) as server:
        terminal = terminals(server)
        terminal.say("go")
        terminal.until("Waiting for the model")
        terminal.send("yes yes")  # meant for the input box
        terminal.until("[s]top")
        assert "› yes yes" in terminal.lines
        assert not (program.root / "done").exists()
        terminal.send("n")
        terminal.until("Over.")
        assert not (program.root / "done").exists()
        assert "› yes yes" in terminal.lines, "what was typed ahead is still there"


def test_several_questions_are_asked_in_order(program: Program, terminals: Open):
    calls = [call("write_file", file_path=str(program.root / f"{n}.txt"), content=f"{n}\n") for n in range(3)]
    with FakeGemini([Turn(calls=calls), Turn(text="Over.")]) as server:
        terminal = terminals(server)
        terminal.say("go")
        for number, key in enumerate("yny"):
            terminal.until(f"? Create {number}.txt")
            terminal.until(lambda: any("[s]top" in line for line in terminal.lines))
            terminal.send(key)
            terminal.until(
                lambda count=number + 1: terminal.text.count("  Yes.") + terminal.text.count("  No.") == count
            )
        terminal.until("Over.")
    assert sorted(path.name for path in program.root.glob("*.txt")) == ["0.txt", "2.txt"]


def test_the_terminal_is_told_that_a_question_waits(program: Program, terminals: Open):
    with FakeGemini([Turn(calls=[call("run_shell_command", command="true")]), Turn(text="Over.")]) as server:
        terminal = terminals(server)
        terminal.say("go")
        terminal.until("[s]top")
        assert "\a" in terminal.raw
        assert "\x1b]0;? dogu\x07" in terminal.raw
        terminal.send("n")
        terminal.until("Over.")
        assert terminal.raw.count("\x1b[22;0t") == terminal.raw.count("\x1b[23;0t") == 1, "the title is put back"


def test_a_long_result_is_folded_and_opens_to_its_whole(program: Program, terminals: Open):
    with FakeGemini([Turn(calls=[call("run_shell_command", command="seq 100 160")]), Turn(text="Over.")]) as server:
        terminal = terminals(server, "--approval-mode", "yolo")
        terminal.say("count")
        terminal.until("Over.")
        assert "… 55 lines above" in terminal.text
        assert "\n  120\n" not in terminal.text
        terminal.send("\x0f")
        terminal.until("\n120\n")
        terminal.say("/open 7")
        terminal.until("There is no result 7")


def test_a_message_of_several_lines_is_written_with_alt_enter_and_a_backslash(terminals: Open):
    with FakeGemini(lambda request: Turn(text=f"{request.prompt.count(chr(10))} newlines")) as server:
        terminal = terminals(server)
        terminal.send("one\x1b\rtwo\\\rthree")
        terminal.until("three")
        terminal.send("\r")
        terminal.until("2 newlines")
        assert server.requests[-1].prompt == "one\ntwo\nthree"


def test_a_long_paste_is_a_mark_until_it_is_sent(terminals: Open):
    with FakeGemini(["Got it."]) as server:
        terminal = terminals(server)
        lines = "\n".join(f"line {n}" for n in range(120))
        terminal.send(f"\x1b[200~{lines}\x1b[201~")
        terminal.until("› [Pasted text #1: 120 lines]")
        terminal.send(" ok\r")
        terminal.until("Got it.")
        assert server.requests[-1].prompt == f"{lines} ok"


def test_a_dropped_picture_is_sent_with_the_message(program: Program, terminals: Open):
    (program.root / "bild 1.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(32))
    with FakeGemini(["I see."]) as server:
        terminal = terminals(server)
        terminal.send(f"\x1b[200~'{program.root / 'bild 1.png'}'\x1b[201~")
        terminal.until("[Image #1: bild 1.png]")
        terminal.send("\r")
        terminal.until("I see.")
        parts = server.requests[-1].contents[-1]["parts"]
        assert [part["inlineData"]["mimeType"] for part in parts if "inlineData" in part] == ["image/png"]


def test_files_and_commands_are_completed(program: Program, terminals: Open):
    (program.root / "日本 語.txt").write_text("中身")
    with FakeGemini(["Read."]) as server:
        terminal = terminals(server)
        terminal.send("look at @日本")
        terminal.until("日本 語.txt")
        terminal.send("\t")
        terminal.until('› look at @"日本 語.txt"')
        terminal.send("\r")
        terminal.until("Read.")
        assert "中身" in json.dumps(server.requests[-1].body, ensure_ascii=False)
        terminal.send("/mod")
        terminal.until("show or set the approval mode")


def test_what_was_typed_is_found_again_in_the_next_session(program: Program, terminals: Open):
    first = terminals()
    first.say("list files")
    first.until(lambda: at_prompt(first))
    first.send("\x04")
    first.ended()
    (file,) = (program.home / ".dogu" / "history").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    second = terminals()
    second.send("\x12st fi")
    second.until(lambda: "list files" in "\n".join(second.lines))
    second.send("\r\r")
    second.until(lambda: any(line.startswith("› list files") for line in second.text.split("\n")))


def test_a_shell_line_of_one_s_own_runs_unasked_and_is_not_told_to_the_model(program: Program, terminals: Open):
    with FakeGemini(["Hello.", "Hello again."]) as server:
        terminal = terminals(server)
        terminal.say("!echo by$((1+1))hand")
        terminal.until("by2hand")
        assert "[y]es" not in terminal.text
        terminal.say("hi")
        terminal.until("Hello.")
        assert "by2hand" not in server.requests[-1].raw.decode()
        terminal.say("!!echo for$((1+1))you")
        terminal.until("for2you")
        terminal.say("and now")
        terminal.until("Hello again.")
        assert "for2you" in server.requests[-1].prompt


def test_a_restriction_holds_for_one_s_own_shell_line_too(program: Program, terminals: Open):
    settings = program.home / ".dogu" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"tools": {"exclude": ["run_shell_command(touch)"]}}')
    terminal = terminals()
    terminal.say("!touch made")
    terminal.until("✗ Shell")
    assert not (program.root / "made").exists()


def test_a_key_is_pasted_unseen_checked_and_kept(program: Program, terminals: Open):
    with FakeGemini(["Connected."], key="right-key-0123456789") as server:
        terminal = terminals(None, GOOGLE_GEMINI_BASE_URL=server.base_url)
        terminal.until("No model is connected yet.")
        terminal.say("1")
        terminal.until("Gemini key (it isn't shown):")
        terminal.send("wrong-key-0123456789\r")
        terminal.until("Gemini refuses this key")
        terminal.send("right-key-0123456789\r")
        terminal.until("It is kept in")
        terminal.say("hello")
        terminal.until("Connected.")
        assert "key-0123456789" not in terminal.raw
    kept = program.home / ".dogu" / "credentials"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "key-0123456789" not in (program.home / ".dogu" / "settings.json").read_text()
    for file in (program.home / ".dogu" / "history").iterdir():
        assert "key-0123" not in file.read_text()


def test_the_background_is_asked_after_the_first_paint_and_never_typed(terminals: Open):
    terminal = terminals(None, COLORFGBG="")
    terminal.until(lambda: "\x1b]11;?" in terminal.raw)
    assert terminal.raw.index("›") < terminal.raw.index("\x1b]11;?")
    terminal.send("a\x1b]11;rgb:ffff/ffff/ff")
    terminal.send("ff\x1b\\b")
    terminal.until("› ab")
    terminal.send("\x15/theme\r")
    terminal.until("Theme: light.")


def test_no_color_means_none(terminals: Open):
    with FakeGemini(["# Title\n\n**bold** `code`\n"]) as server:
        terminal = terminals(server, NO_COLOR="1")
        terminal.say("go")
        terminal.until(lambda: at_prompt(terminal) and "code" in terminal.text)
        colors = {part.split("m")[0] for part in terminal.raw.split("\x1b[")[1:] if "m" in part[:12]}
        assert not {code for code in colors if code.startswith(("3", "4", "38", "48"))}


@pytest.mark.parametrize("way", [{"TERM": "dumb"}, {"words": "--screen-reader"}])
def test_a_terminal_that_is_only_printed_on_gets_plain_lines(program: Program, terminals: Open, way: dict[str, str]):
    (program.root / "a.txt").write_text("one\n")
    edit = call("replace", file_path=str(program.root / "a.txt"), old_string="one", new_string="two")
    environ = {name: value for name, value in way.items() if name != "words"}
    with FakeGemini([Turn(text="I edit.", calls=[edit]), Turn(text="Edited.")]) as server:
        terminal = terminals(server, *way.get("words", "").split(), **{"NO_COLOR": "1", **environ})
        terminal.send("change it\n")
        terminal.until("[s]top")
        terminal.send("yes\n")
        terminal.until("Edited.")
        assert "\x1b" not in terminal.raw
        terminal.send("/quit\n")
        assert terminal.ended() == 0
    assert (program.root / "a.txt").read_text() == "two\n"
