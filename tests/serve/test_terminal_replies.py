"""What a terminal answers among the keys is no text of the user's; what comes in a burst is a paste."""

from __future__ import annotations

import io
import os
import pty
from collections.abc import Iterator

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from dogu.serve.terminal import replies
from dogu.serve.terminal.replies import ReplyInput
from dogu.serve.terminal.size_probes import SizeProbes


class Line:
    """A terminal's line with the program's input at its other end; `typed` are the names of the keys read so far."""

    def __init__(self, encoding: str) -> None:
        self._terminal, descriptor = pty.openpty()
        self._stdin = io.TextIOWrapper(io.FileIO(descriptor), encoding=encoding)
        self.themes: list[str] = []
        self.probes = SizeProbes()
        self.input = ReplyInput(self._stdin, self.themes.append, self.probes, lambda: Size(24, 80))
        self._raw = self.input.raw_mode()
        self._raw.__enter__()
        self.typed: list[str] = []

    def send(self, text: str, *, pauses: bool = False) -> None:
        """Type a text in one go; with `pauses`, a moment passes then, in which nothing comes."""
        os.write(self._terminal, text.encode("utf-8", "surrogateescape"))
        self._take(self.input.read_keys())
        if pauses:
            self._take(self.input.flush_keys())

    def close(self) -> None:
        self._raw.__exit__(None, None, None)
        self._stdin.close()
        os.close(self._terminal)

    def _take(self, presses: list[KeyPress]) -> None:
        for press in presses:
            is_paste = press.key is Keys.BracketedPaste
            self.typed.append(f"<{press.data}>" if is_paste else str(getattr(press.key, "value", press.key)))


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line("utf-8")
    yield made
    made.close()


REPLIES = [
    "\x1bP!|00000000\x1b\\",
    "\x1bP>|tmux 3.3a\x1b\\",
    "\x1bP1$r0m\x1b\\",
    "\x1bP1+r524742=38\x07",
    "\x1b]4;1;rgb:00/00/00\x07",
    "\x1b]52;c;aGk=\x1b\\",
    "\x1b]10;rgb:ffff/ffff/ffff\x9c",
    "\x1b]11;rgb:0000/0000/0000\x1b\\",
    "\x1b]11;rgb:ffff/ffff/ffff\udc9c",
    "\x1b_Gi=31;OK\x1b\\",
    "\x1b^private\x1b\\",
    "\x1bXa string\x07",
]


@pytest.mark.parametrize("reply", REPLIES)
def test_no_reply_is_typed_wherever_a_read_cuts_it(line: Line, reply: str):
    line.send(f"a{reply}b")
    sent = reply.encode("utf-8", "surrogateescape").decode("latin-1")
    for cut in range(1, len(sent)):
        for part in (sent[:cut], sent[cut:]):
            line.send(part.encode("latin-1").decode("utf-8", "surrogateescape"))
    line.send("c", pauses=True)
    assert line.typed == ["a", "b", "c"]


@pytest.mark.parametrize("reply", [each for each in REPLIES if each[1] in "P]"])
def test_a_reply_whose_rest_comes_late_is_not_typed(line: Line, reply: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replies, "_GOES_ON_WITHIN_S", 0.0)
    sent = reply.encode("utf-8", "surrogateescape").decode("latin-1")
    for cut in range(3, len(sent)):
        for part in (sent[:cut], sent[cut:]):
            line.send(part.encode("latin-1").decode("utf-8", "surrogateescape"), pauses=True)
    assert line.typed == []


def test_an_esc_before_an_answer_is_a_key_at_once(line: Line):
    line.probes.first_question()
    line.send("\x1b")
    line.send("\x1b[40;100R")
    assert line.typed == ["escape"]
    line.probes.first_question()
    line.send("\x1b\x1b[40;100R")
    assert line.typed == ["escape", "escape"]


def test_the_end_of_a_reply_that_was_given_up_is_no_key(line: Line):
    line.send("\x1bP1$r0m", pauses=True)
    line.send("\x03")
    line.send("\x1b\\", pauses=True)
    line.send("\\")
    assert line.typed[-2:] == ["c-c", "\\"]
    assert line.typed.count("escape") <= 1


def test_a_reply_tells_the_background(line: Line):
    line.send("\x1b]11;rgb:ffff/ffff/ffff\x07")
    line.send("\x1b]11;rgb:0000/")
    line.send("0000/0000\x9c")
    assert line.themes == ["light", "dark"]


@pytest.mark.parametrize("key", "PX]^_[")
def test_a_key_held_with_alt_is_a_key_and_what_follows_it_is_typed(line: Line, key: str):
    line.send(f"\x1b{key}", pauses=True)
    line.send("hi", pauses=True)
    assert line.typed == ["escape", key, "h", "i"]


def test_a_text_typed_behind_such_a_key_is_typed_a_moment_later(line: Line):
    line.send("\x1bPlease", pauses=True)
    assert line.typed == ["escape", *"Please"]


def test_esc_alone_is_told_after_a_moment(line: Line):
    line.send("\x1b", pauses=True)
    assert line.typed == ["escape"]


def test_a_control_key_ends_a_reply_that_was_cut_and_is_a_key(line: Line):
    line.send("\x1b]11;rgb:00")
    line.send("\x03")
    assert line.typed[-1] == "c-c"


def test_a_long_text_in_one_go_is_one_paste(line: Line):
    text = "".join(f"line {n}\r" for n in range(60))
    line.send(text)
    assert line.typed == [f"<{text}>"]


def test_a_paste_that_takes_several_reads_is_one(line: Line):
    text = "x = 1\r" * 400
    line.send(text)
    while not line.typed:
        line.send("")
    assert line.typed == [f"<{text}>"]


def test_an_enter_behind_one_long_line_sends_it(line: Line):
    line.send("x" * 300 + "\r")
    assert line.typed == [f"<{'x' * 300}>", "c-m"]


def test_a_pasted_end_ends_no_paste(line: Line):
    line.send("\x1b[200~a\x1b[201~\r!b\r\x1b[200~c\x1b[201~\r")
    assert line.typed == ["<a\r!b\rc>", "c-m"]


def test_what_a_marked_paste_holds_is_not_marked_again(line: Line):
    text = "y" * 500
    line.send(f"\x1b[200~{text}\x1b[201~")
    assert line.typed == [f"<{text}>"]


@pytest.mark.parametrize("enter", ["\x1b[13;2u", "\x1b[27;2;13~", "\x1b[27;5;13~", "\x1b\r"])
def test_enter_with_shift_is_alt_enter(line: Line, enter: str):
    line.send(enter)
    assert line.typed == ["escape", "c-m"]


def test_where_the_locale_names_no_encoding_utf_8_is_read():
    made = Line("ascii")
    made.send("é日")
    assert made.typed == ["é", "日"]
    made.close()
