"""A terminal that changes its size, goes away, is suspended or left in disorder: everything comes back sane."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.conftest import Panes
from e2e.program import PROGRAM, Program
from e2e.screens import Terminal, Tmux
from processes import running_in, wait_for


@pytest.fixture
def terminals(program: Program) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(server: FakeGemini, *words: str) -> Terminal:
        environ = {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        opened.append(Terminal(program, words, **environ))  # pyright: ignore[reportArgumentType]  (the environment)
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.child.close(force=True)


def running(request: GeminiRequest) -> Turn:
    if request.responses:
        return Turn(text="Over.")
    return Turn(calls=[call("run_shell_command", command="echo started; exec sleep 1000")])


@pytest.mark.parametrize("way", ["SIGHUP", "SIGTERM", "closed"])
def test_a_terminal_that_goes_away_ends_the_children_and_keeps_the_session(
    program: Program, terminals: Callable[..., Terminal], way: str
):
    with FakeGemini(running) as server:
        terminal = terminals(server, "--approval-mode", "yolo")
        terminal.say("go")
        terminal.until("  started")
        if way == "closed":
            terminal.child.close(force=False)
        else:
            os.kill(int(terminal.child.pid or 0), getattr(signal, way))
            terminal.ended()
    assert not terminal.child.isalive()
    wait_for(lambda: not any("sleep" in process.command for process in running_in(program.root)))
    (session,) = (program.home / ".dogu" / "sessions").iterdir()
    assert b"started" in (session / "record.jsonl").read_bytes()


def test_the_end_of_the_input_ends_the_session(terminals: Callable[..., Terminal]):
    with FakeGemini([]) as server:
        terminal = terminals(server)
        terminal.until("›")
        terminal.send("\x04")
        assert terminal.ended() == 0


def test_a_terminal_that_takes_nothing_holds_up_neither_the_turn_nor_the_end(
    program: Program, terminals: Callable[..., Terminal]
):
    lines = "".join(
        f"Line {n} of an answer that is far longer than what a terminal holds back.\n\n" for n in range(4_000)
    )

    def is_over() -> bool:
        return any(b"The very end." in path.read_bytes() for path in (program.home / ".dogu").rglob("record.jsonl"))

    with FakeGemini([Turn(text=lines + "The very end.", pieces=400)]) as server:
        terminal = terminals(server)
        terminal.say("go")
        wait_for(is_over)  # nothing is read meanwhile
        os.kill(int(terminal.child.pid or 0), signal.SIGTERM)
        wait_for(lambda: not terminal.child.isalive())


@pytest.mark.parametrize("way", ["Ctrl-D", "SIGTERM"])
def test_what_was_answered_so_far_stays_on_the_screen(terminals: Callable[..., Terminal], way: str):
    with FakeGemini([Turn(text="The answer began. It never goes on.", pieces=2, pace_s=60)]) as server:
        terminal = terminals(server)
        terminal.say("go")
        terminal.until("The answer began")
        if way == "Ctrl-D":
            terminal.send("\x04")
        else:
            os.kill(int(terminal.child.pid or 0), signal.SIGTERM)
        terminal.ended()
    assert "The answer began" in terminal.text


def shell(program: Program, panes: Panes, server: FakeGemini) -> Tmux:
    pane = panes(program, server, command=["bash", "--norc", "-i"], PS1="shell$ ")
    pane.until("shell$")
    pane.keys(" ".join(map(shlex.quote, PROGRAM)), "Enter")
    pane.until("›")
    return pane


@pytest.fixture
def altered(program: Program, panes: Panes) -> Callable[[str], Tmux]:
    """Start the program with something of it altered by a line of Python."""

    def start(line: str) -> Tmux:
        source = f"import sys\n{line}\nfrom dogu.cli import main\nsys.exit(main())"
        return panes(program, command=[sys.executable, "-c", source])

    return start


def test_a_failed_warm_up_is_told_by_the_first_command_and_ends_nothing(altered: Callable[[str], Tmux]):
    pane = altered("sys.executable = '/nowhere/python'")
    pane.say("!true")
    pane.until("could not start: No such file")
    pane.say("!true")
    pane.until(lambda text: text.count("could not start: No such file") > 1)
    pane.keys("C-d")
    assert pane.ended() == 0


def test_leaving_does_not_wait_for_a_thread_that_is_held_up(program: Program, altered: Callable[[str], Tmux]):
    held = "__import__('threading').Event().wait()"
    pane = altered(
        "from dogu.serve.terminal.completion import FileIndex\n"
        f"FileIndex.look_again = lambda self: (open('held', 'w').close(), {held})"
    )
    wait_for(program.root.joinpath("held").exists)
    pane.keys("C-d")
    pane.until("Exited without waiting for a file or a program")
    assert pane.ended() == 0


def test_a_suspended_session_comes_back_with_what_was_typed(program: Program, panes: Panes):
    with FakeGemini(["I am here."]) as server:
        pane = shell(program, panes, server)
        pane.keys("half a thought")
        pane.until("› half a thought")
        pane.keys("C-z")
        pane.until("Stopped")
        pane.keys("echo be$((1+1))tween", "Enter")
        pane.until("be2tween")
        pane.keys("fg", "Enter")
        pane.until(lambda text: "› half a thought" in text.partition("be2tween")[2])
        pane.keys("Enter")
        pane.until("I am here.")


def test_a_session_stopped_from_outside_comes_back_too(program: Program, panes: Panes):
    with FakeGemini(["I am here."]) as server:
        pane = shell(program, panes, server)
        pane.keys("half a thought")
        pane.until("› half a thought")
        (process,) = [
            found
            for found in psutil.process_iter(["cmdline", "cwd"])
            if found.info["cwd"] == str(program.root) and "dogu" in (found.info["cmdline"] or ())
        ]
        process.suspend()
        pane.until("Stopped")
        pane.keys("echo be$((1+1))tween", "Enter")
        pane.until("be2tween")
        pane.keys("fg", "Enter")
        pane.until(lambda text: "› half a thought" in text.partition("be2tween")[2])
        pane.keys(" more", "Enter")
        pane.until("I am here.")
        assert server.requests[-1].prompt == "half a thought more"


def test_a_terminal_left_raw_by_an_editor_is_put_right(program: Program, panes: Panes):
    editor = program.home / "editor.sh"
    editor.write_text("#!/bin/sh\nstty raw -echo < /dev/tty\n")
    editor.chmod(0o755)
    Path(program.root / "a.txt").write_text("one\n")
    edit = call("replace", file_path=str(program.root / "a.txt"), old_string="one", new_string="two")
    with FakeGemini([Turn(calls=[edit]), Turn(text="I am here.")]) as server:
        pane = panes(program, server, command=["bash", "--norc", "-i"], PS1="shell$ ", EDITOR=str(editor))
        pane.until("shell$")
        pane.keys(" ".join(map(shlex.quote, PROGRAM)), "Enter")
        pane.until("›")
        pane.keys("change it", "Enter")
        pane.until("(s)")
        pane.keys("e")
        pane.until("Unchanged.")
        pane.until(lambda text: "(s)" in text.partition("Unchanged.")[2])
        pane.keys("n")
        pane.until("I am here.")
        pane.keys("C-d")
        pane.until(lambda text: text.rstrip().endswith("shell$"))
        pane.keys("stty -a | grep -o -w -e '-\\?icanon' -e '-\\?echo'", "Enter")
        text = pane.until(lambda text: len(text.rpartition("-e '-\\?echo'")[2].split()) >= 2)
        assert text.rpartition("-e '-\\?echo'")[2].split()[:2] == ["icanon", "echo"]
