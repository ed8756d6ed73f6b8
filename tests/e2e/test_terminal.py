"""The conversation in a real terminal: what is shown, what a key does, and how it is left."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

import pexpect
import pytest

from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call
from e2e.program import PROGRAM, Program, ready_program
from processes import running_in, wait_for

Talk = Callable[..., "pexpect.spawn[str]"]
_ESCAPES = re.compile(r"\x1b\[[0-9;?>=]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b[=>]")


@pytest.fixture
def talk(program: Program) -> Iterator[Talk]:
    children: list[pexpect.spawn[str]] = []

    def start(*words: str, **environ: str) -> pexpect.spawn[str]:
        ready = ready_program()
        child: pexpect.spawn[str] = pexpect.spawn(
            ready[0],
            [*ready[1:], *words],
            cwd=str(program.root),
            env=program.environ(**{"NO_COLOR": "1", "PROMPT_TOOLKIT_NO_CPR": "1", **environ}),
            encoding="utf-8",
            timeout=20,
            dimensions=(40, 100),
        )
        children.append(child)
        child.expect("›")
        return child

    yield start
    for child in children:
        child.close(force=True)


def say(child: pexpect.spawn[str], text: str) -> None:
    child.send(text + "\r")


def leave(child: pexpect.spawn[str]) -> None:
    """Press Ctrl-D at the prompt; once more where it was pressed before the prompt was there."""
    for _ in range(10):
        child.sendcontrol("d")
        if child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=2) == 0:
            break
    child.close()
    assert child.exitstatus == 0


def key(server: FakeGemini, **more: str) -> dict[str, str]:
    return {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url, **more}


def seen(child: pexpect.spawn[str]) -> str:
    return _ESCAPES.sub("", str(child.before)).replace("\r", "")


def test_without_a_key_the_offline_model_works_and_it_says_how_to_connect(program: Program, talk: Talk):
    (program.root / "notes.txt").write_text("buy tea\n")
    child = talk()
    child.expect("GEMINI_API_KEY")
    say(child, "read notes.txt")
    child.expect("buy tea")
    child.expect("›")
    leave(child)


def edit_turns(program: Program) -> list[Turn]:
    (program.root / "a.txt").write_text("one\n")
    edit = call("replace", file_path=str(program.root / "a.txt"), old_string="one", new_string="two")
    return [Turn(calls=[edit]), Turn(text="That is all.")]


def test_the_input_box_stands_before_the_rest_is_loaded(program: Program):
    environ = program.environ(PYTHONPROFILEIMPORTTIME="1")
    child = pexpect.spawn(PROGRAM[0], PROGRAM[1:], cwd=str(program.root), env=environ, encoding="utf-8", timeout=30)
    try:
        child.expect_exact("›")
        assert "dogu.app.agent" not in str(child.before)
        assert "dogu.runtime.runtime" not in str(child.before)
        child.expect_exact("dogu.app.agent")
    finally:
        child.close(force=True)


def test_ctrl_c_leaves_while_something_holds_the_start_up(program: Program, talk: Talk):
    program.settle('{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "sleep 60"}]}]}}')
    child = talk()
    child.expect_exact("Still starting")
    child.send("\x03")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130


@pytest.mark.requirement("api.flow.5_prompted", "api.flow.9_display", "api.result.return_display")
def test_a_plain_screen_tells_a_resumed_conversation_before_it_asks(program: Program, talk: Talk):
    child = talk(TERM="dumb")
    say(child, "list files in .")
    child.expect("\n› ")
    leave(child)
    assert str(child.before).startswith("\r\n"), "what follows stands in a line of its own"
    child = talk("--resume", TERM="dumb")
    child.expect_exact(" list files in .\r\n")
    child.expect("\n› $")
    leave(child)


def test_an_edit_is_shown_and_done_at_yes(program: Program, talk: Talk):
    with FakeGemini(edit_turns(program)) as server:
        child = talk(**key(server))
        say(child, "change it")
        child.expect(r"\(s\)")
        assert "-one" in seen(child)
        assert "+two" in seen(child)
        assert (program.root / "a.txt").read_text() == "one\n"
        child.send("y")
        child.expect("That is all.")
        child.expect("›")
        leave(child)
    assert (program.root / "a.txt").read_text() == "two\n"


def test_no_with_a_reason_is_heard_by_the_model(program: Program, talk: Talk):
    with FakeGemini(edit_turns(program)) as server:
        child = talk(**key(server))
        say(child, "change it")
        child.expect(r"\(s\)")
        child.send("r")
        child.expect("Reason:")
        say(child, "three is better")
        child.expect("That is all.")
        child.expect("›")
        assert "three is better" in server.requests[-1].responses[0]["response"]["error"]
        leave(child)
    assert (program.root / "a.txt").read_text() == "one\n"


def test_edit_first_writes_what_the_user_wrote(program: Program, talk: Talk):
    editor = program.home / "editor.sh"
    editor.write_text('#!/bin/sh\nprintf "three\\n" > "$1"\n')
    editor.chmod(0o755)
    with FakeGemini(edit_turns(program)) as server:
        child = talk(**key(server, EDITOR=str(editor)))
        say(child, "change it")
        child.expect(r"\(s\)")
        child.send("e")
        child.expect("That is all.")
        assert "+three" in seen(child)
        child.expect("›")
        leave(child)
    assert (program.root / "a.txt").read_text() == "three\n"


def test_an_edit_merged_with_a_change_made_during_the_question_is_shown_again(program: Program, talk: Talk):
    turns = edit_turns(program)
    path = program.root / "a.txt"
    path.write_text("one\nmore\nlast\n")
    with FakeGemini(turns) as server:
        child = talk(**key(server))
        say(child, "change it")
        child.expect(r"\(s\)")
        path.write_text("one\nmore\nchanged by hand\n")
        child.send("y")
        child.expect("That is all.")
        assert "merged" in seen(child)
        assert "+two" in seen(child)
        child.expect("›")
        say(child, "/undo")
        child.expect("restored: ")
        child.expect("›")
        leave(child)
    assert path.read_text() == "one\nmore\nchanged by hand\n"


def test_what_the_user_wrote_is_kept_when_it_cannot_be_done(program: Program, talk: Talk):
    editor = program.home / "editor.sh"
    editor.write_text(
        '#!/bin/sh\ngrep -q kept "$1" && sed -i s/한/x/ "$1" || printf \'日本語のテスト kept 한\' > "$1"\n'
    )
    editor.chmod(0o755)
    turns = edit_turns(program)
    (program.root / "a.txt").write_bytes("日本語のテスト one".encode("cp932"))
    with FakeGemini(turns) as server:
        child = talk(**key(server, EDITOR=str(editor)))
        say(child, "change it")
        child.expect(r"\(s\)")
        child.send("e")
        child.expect("can't hold")
        child.expect(r"\(s\)")
        child.send("e")
        child.expect("That is all.")
        child.expect("›")
        leave(child)
    assert (program.root / "a.txt").read_bytes() == "日本語のテスト kept x".encode("cp932")


def test_always_shows_its_rule_and_asks_no_more(program: Program, talk: Talk):
    turns = [Turn(calls=[call("run_shell_command", command=f"echo {word}")]) for word in ("first", "second")]
    with FakeGemini([*turns, Turn(text="That is all.")]) as server:
        child = talk(**key(server))
        say(child, "echo twice")
        child.expect(r"Always \(a\)")
        child.send("a")
        child.expect("That is all.")
        child.expect("›")
        assert "Stdout: second" in server.requests[-1].responses[0]["response"]["output"]
        leave(child)


def test_ctrl_c_cancels_the_turn_and_nothing_else(program: Program, talk: Talk):
    turns = [
        Turn(calls=[call("run_shell_command", command="echo started; exec sleep 1000")]),
        Turn(text="I am here."),
    ]
    with FakeGemini(turns) as server:
        child = talk("--approval-mode", "yolo", **key(server))
        say(child, "wait")
        child.expect("started")
        child.expect("started")
        child.sendcontrol("c")
        child.expect("Cancelled")
        child.expect("›")
        wait_for(lambda: not any("sleep" in process.command for process in running_in(program.root)))
        say(child, "still there?")
        child.expect("I am here.")
        child.expect("›")
        assert server.problems == []
        leave(child)


def test_ctrl_c_at_a_question_stops_the_turn(program: Program, talk: Talk):
    with FakeGemini(edit_turns(program)) as server:
        child = talk(**key(server))
        say(child, "change it")
        child.expect(r"\(s\)")
        child.sendcontrol("c")
        child.expect("Stopped.")
        child.expect("›")
        leave(child)
    assert (program.root / "a.txt").read_text() == "one\n"


def test_the_terminal_is_left_as_it_was(program: Program, talk: Talk):
    import termios

    child = talk()
    leave_fd = os.dup(child.child_fd)
    try:
        leave(child)
        flags = termios.tcgetattr(leave_fd)[3]
    except termios.error:
        return  # the pseudo-terminal went with the program
    finally:
        os.close(leave_fd)
    assert flags & termios.ECHO
    assert flags & termios.ICANON


def test_a_model_that_fails_is_told_and_the_conversation_goes_on(program: Program, talk: Talk):
    child = talk("--model", "gemini-2.5-pro", GEMINI_API_KEY="wrong", GOOGLE_GEMINI_BASE_URL="http://127.0.0.1:1")
    say(child, "hello")
    child.sendcontrol("c")
    child.expect("›")
    say(child, "/help")
    child.expect("@path")
    leave(child)


def test_commands_and_their_mistakes(program: Program, talk: Talk):
    child = talk()
    say(child, "/nonsense")
    child.expect("no command /nonsense")
    say(child, "/mode plan")
    child.expect("Approval mode: plan")
    say(child, "/tools")
    child.expect("read_file")
    say(child, "/quit")
    child.expect(pexpect.EOF)


def test_a_call_without_a_model_asks_at_the_terminal(program: Program) -> None:
    def write(content: str, answer: str) -> int:
        words = ["call", "write_file", "file_path=note.txt", f"content={content}"]
        ready = ready_program()
        child: pexpect.spawn[str] = pexpect.spawn(
            ready[0],
            [*ready[1:], *words],
            cwd=str(program.root),
            env=program.environ(NO_COLOR="1"),
            encoding="utf-8",
            timeout=20,
        )
        child.expect(r"\(y\)")
        child.send(f"{answer}\n")
        child.expect(pexpect.EOF)
        child.close()
        return child.exitstatus or 0

    assert write("hello", "y") == 0
    assert (program.root / "note.txt").read_text() == "hello"
    assert write("other", "n") == 56
    assert (program.root / "note.txt").read_text() == "hello"
