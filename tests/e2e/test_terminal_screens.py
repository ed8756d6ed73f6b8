"""What the program writes to a terminal, byte by byte, and what is left behind on disk; the screens are compared in tmux."""

from __future__ import annotations

import stat
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
    return any(line.startswith("›") for line in terminal.lines) and "Esc cancels" not in "\n".join(terminal.lines)


def test_the_cursor_stands_where_an_input_method_would_draw(terminals: Open):
    terminal = terminals()
    terminal.send("日本x")
    terminal.until("日本x")
    cursor = terminal.screen.cursor
    assert terminal.lines[cursor.y] == "› 日本x"
    assert cursor.x == len("› ") + 2 + 2 + 1


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


def test_keys_typed_before_a_question_was_drawn_do_not_answer_it(program: Program, terminals: Open):
    command = call("run_shell_command", command="touch done")
    with FakeGemini([Turn(calls=[command], delay_s=0.5), Turn(text="Over.")]) as server:
        terminal = terminals(server)
        terminal.say("go")
        terminal.until("Waiting for the model")
        terminal.send("yes yes")  # meant for the input box
        terminal.until("(s)")
        assert "› yes yes" in terminal.lines
        terminal.until("You are typing below")
        terminal.send("y")
        terminal.until(lambda: "› yes yesy" in terminal.lines)
        terminal.until("You are typing below")
        assert not (program.root / "done").exists()
        terminal.send("\x1b[B")
        terminal.until("Enter picks")
        terminal.send("n")
        terminal.until("Over.")
        assert not (program.root / "done").exists()
        terminal.until(lambda: "› yes yesy" in terminal.lines)  # what was typed ahead is still there


def test_the_terminal_is_told_that_a_question_waits(program: Program, terminals: Open):
    with FakeGemini([Turn(calls=[call("run_shell_command", command="true")]), Turn(text="Over.")]) as server:
        terminal = terminals(server)
        terminal.say("go")
        terminal.until("(s)")
        assert "\a" in terminal.raw
        assert "\x1b]0;? dogu\x07" in terminal.raw
        terminal.send("n")
        terminal.until("Over.")
        assert terminal.raw.count("\x1b[22;0t") == terminal.raw.count("\x1b[23;0t") == 1, "the title is put back"


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
        assert "(y)" not in terminal.text
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
        terminal.until("Gemini API key (not shown):")
        terminal.send("wrong-key-0123456789\r")
        terminal.until("Gemini refused this key")
        terminal.send("right-key-0123456789\r")
        terminal.until("Saved in")
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
    terminal.until("❯ 2. light")


@pytest.mark.parametrize("way", [{"TERM": "dumb"}, {"words": "--screen-reader"}])
def test_a_terminal_that_is_only_printed_on_gets_plain_lines(program: Program, terminals: Open, way: dict[str, str]):
    (program.root / "a.txt").write_text("one\n")
    edit = call("replace", file_path=str(program.root / "a.txt"), old_string="one", new_string="two")
    environ = {name: value for name, value in way.items() if name != "words"}
    with FakeGemini([Turn(text="I edit.", calls=[edit]), Turn(text="Edited.")]) as server:
        terminal = terminals(server, *way.get("words", "").split(), **{"NO_COLOR": "1", **environ})
        terminal.send("change it\n")
        terminal.until("(s)")
        terminal.send("yes\n")
        terminal.until("Edited.")
        assert "\x1b" not in terminal.raw
        terminal.send("/quit\n")
        assert terminal.ended() == 0
    assert (program.root / "a.txt").read_text() == "two\n"
