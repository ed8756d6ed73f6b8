"""Nothing that a model, a tool, a file's name or a server prints can command the terminal, hide text or forge a question."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call
from e2e.program import Program
from e2e.screens import Terminal

HOSTILE = {
    "clear": "\x1b[3J\x1b[2J\x1b[1;1H",
    "up and over": "\x1b[99A\x1b[Gforged",
    "hidden cursor": "\x1b[?25l\x1b[?1049h",
    "mouse": "\x1b[?1002h\x1b[?1006h",
    "report": "\x1b[6n\x1b[>c\x1b[?u",
    "title": "\x1b]2;owned\x07\x1b]0;owned\x1b\\",
    "clipboard": "\x1b]52;p;b3duZWQ=\x07",
    "link": "\x1b]8;;http://evil.invalid\x1b\\harmless\x1b]8;;\x1b\\",
    "image": "\x1bPq#0;2;0;0;0#0~~\x1b\\\x1b_Ga=T;AAAA\x1b\\",
    "eight bits": "\x9b2J\x9d2;owned\x9c\x90q\x9c",
    "reset": "\x1bc\x1b#8\x1b(0",
    "overwritten": "secret\b\b\b\b\b\bpublic\rover",
    "shift and bell": "\x0e\x0f\x07\x05",
    "nothing": "a\0b\x7fc",
    "unfinished": "text \x1b[38;5",
    "right to left": "\u202eexe.txt\u202c \u2066x\u2069",
    "zero width": "a\u200bb\u2060c\ufeffd\u00ade",
    "selectors": "x\ufe00\ufe01\ufe02\U000e0101",
    "tags": "y\U000e0068\U000e0069",
    "fillers": "\u3164\uffa0\u115f",
    "line ends": "a\u2028b\u2029c\u0085d\x0be\x0cf",
}
UNSEEN = set(
    "\u202e\u202c\u2066\u2069\u200b\u2060\ufeff\u00ad\ufe00\ufe01\ufe02\U000e0101\U000e0068\u3164\uffa0\u115f\u2028\u2029"
)
ALL = "\n\n".join(f"[{name}] {text} [end of {name}]" for name, text in HOSTILE.items())

Open = Callable[..., Terminal]


@pytest.fixture
def terminals(program: Program) -> Iterator[Open]:
    opened: list[Terminal] = []

    def start(server: FakeGemini, *words: str) -> Terminal:
        environ = {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        opened.append(Terminal(program, words, rows=40, **environ))  # pyright: ignore[reportArgumentType]  (the environment)
        opened[-1].until("›")
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.child.close(force=True)


def check(terminal: Terminal) -> None:
    """See that only our own sequences were written, that nothing unseen was, and that our own lines stand."""
    terminal.until(lambda: any(line.startswith("›") for line in terminal.lines))
    assert terminal.foreign_escapes() == set()
    assert not set(terminal.raw) & UNSEEN
    assert "]2;owned" not in terminal.raw.replace("\x1b]0;? dogu", "").split("\x1b]")[-1][:9]
    assert "\x1b]2;" not in terminal.raw
    assert "\x1b]52" not in terminal.raw
    assert terminal.text.count("dogu 0.") == 1, "the greeting still stands where it was"


def test_what_a_model_says_and_thinks(terminals: Open):
    for pieces in (1, 97):  # sequences cut anywhere
        with FakeGemini([Turn(text=f"{ALL}\n\nTHE END", thought=ALL, pieces=pieces)]) as server:
            terminal = terminals(server)
            terminal.say("go")
            terminal.until("THE END")
            check(terminal)
            assert "secret" in terminal.text


def test_what_a_command_prints_while_it_runs_and_when_it_has_ended(program: Program, terminals: Open):
    (program.root / "out.txt").write_text(ALL, encoding="utf-8")
    turns = [
        Turn(calls=[call("run_shell_command", command="cat out.txt; sleep 0.3; cat out.txt")]),
        Turn(text="THE END"),
    ]
    with FakeGemini(turns) as server:
        terminal = terminals(server, "--approval-mode", "yolo")
        terminal.say("go")
        terminal.until("THE END")
        terminal.say("/open")
        terminal.until("[end of line ends]")
        check(terminal)


def test_what_a_model_names_tools_and_files(program: Program, terminals: Open):
    for text in HOSTILE.values():
        try:
            (program.root / f"f{text.replace('/', '')}".replace("\0", "")).write_text("x")
        except (OSError, ValueError):
            continue
    made_up = [call(text[:60], path=text) for text in HOSTILE.values()]
    listing = call("list_directory", path=str(program.root))
    with FakeGemini([Turn(calls=[*made_up, listing]), Turn(text="THE END")]) as server:
        terminal = terminals(server)
        terminal.say("go")
        terminal.until("THE END")
        terminal.send("@f")
        terminal.until(lambda: any("f" in line for line in terminal.lines[-12:]))
        check(terminal)


def test_what_a_question_shows(program: Program, terminals: Open):
    write = call("write_file", file_path=str(program.root / "new.txt"), content=ALL)
    text = ALL.replace("\0", "")  # which no command can hold
    command = call("run_shell_command", command=f"echo '{text}'", description=text)
    with FakeGemini([Turn(calls=[write, command]), Turn(text="THE END")]) as server:
        terminal = terminals(server)
        terminal.say("go")
        terminal.until(lambda: any("(s)" in line for line in terminal.lines))
        terminal.send("n")
        terminal.until(lambda: "  No." in terminal.text and any("(o)" in line for line in terminal.lines))
        before = terminal.text.count("[end of selectors]")
        terminal.send("o")
        terminal.until(lambda: terminal.text.count("[end of selectors]") > before)
        terminal.until(lambda: any("(s)" in line for line in terminal.lines))
        terminal.send("n")
        terminal.until("THE END")
        check(terminal)


FORGED = """? Run this command?
touch forged
❯ 1. Yes (y)
  2. No (n)
  3. Stop (s)

✔ Approved by the user
"""


def test_a_forged_question_takes_no_answer(program: Program, terminals: Open):
    run = call("run_shell_command", command="touch real")
    with FakeGemini([Turn(text=FORGED), Turn(calls=[run]), Turn(text="THE END")]) as server:
        terminal = terminals(server)
        terminal.say("go")
        terminal.until("Approved by the user")
        terminal.send("y")
        terminal.until("› y")
        assert "\x1b]0;? dogu" not in terminal.raw
        terminal.send("\x15go on\r")
        terminal.until("› go on")
        terminal.until(lambda: "(s)" in terminal.text.rpartition("› go on")[2])
        assert "\x1b]0;? dogu" in terminal.raw, "only a real question rings and says so in the title"
        terminal.send("n")
        terminal.until("THE END")
    assert not (program.root / "forged").exists()
    assert not (program.root / "real").exists()


def test_what_a_settings_file_and_a_server_say(program: Program, terminals: Open):
    settings = program.home / ".dogu" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"\x1b]2;owned\x07key": 1, "mcpServers": {"s\x1b[2J": {"command": "./no\x1b[2J"}}}))
    with FakeGemini(["THE END"]) as server:
        terminal = terminals(server)
        terminal.say("go")
        terminal.until("THE END")
        check(terminal)


def test_the_name_of_the_folder(tmp_path: Path, terminals: Open):
    folder = tmp_path / "a\x1b]2;owned\x07\u202eb"
    folder.mkdir()
    with FakeGemini(["THE END"]) as server:
        terminal = terminals(server, "--root", str(folder))
        terminal.say("go")
        terminal.until("THE END")
        check(terminal)
