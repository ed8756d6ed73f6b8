"""Which commands wait for keys, and what a terminal's screen reads as."""

from __future__ import annotations

import os
import random

import pytest

from dogu.workspace.process.interactive import needs_terminal
from dogu.workspace.process.screen import TerminalScreen


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("vim x", "vim"),
        ("vi", "vi"),
        ("cd src && nano a.txt", "nano"),
        ("EDITOR=x /usr/bin/nvim 'a b'", "nvim"),
        ("ls; htop", "htop"),
        ("watch -n 1 ls", "watch"),
        ("watch -n1 -g ls", ""),
        ("watch --chgexit ls", ""),
        ("emacs -nw a", "emacs"),
        ("exec vim -R x", "vim"),
        ("env FOO=1 nice vim x", "vim"),
        ("nohup vim x", "vim"),
        ("time -p vim", "vim"),
        ("sudo -E vim /etc/hosts", "vim"),
        ("sudo -u root -E -- nano x", "nano"),
        ("timeout 5 vim x", "vim"),
        ("timeout -s KILL -k 1 5m nice -n 5 htop", "htop"),
        ("stdbuf -o L vim", "vim"),
        ("A=1 B='x y' command vim", "vim"),
        ("bash -c 'cd a; vim x'", "vim"),
        ('sudo sh -lc "vim x"', "vim"),
        ("if true; then vim x; fi", "vim"),
        ("(vim x)", "vim"),
        ("( cd a && env X=1 vim x )", "vim"),
        ("! vim x", "vim"),
        ("busybox vi x", "vi"),
        ("taskset 1 vim", "vim"),
        ("vim x > log", "vim"),
        ("htop >> log 2>&1", "htop"),
        ("watch ls -l", "watch"),
        ("if command -v vim; then ls; fi", ""),
        ("sudo -l vim", ""),
        ("vim x <<E\n:q\nE", ""),
        ("nvim -l s.lua", ""),
        ("nvim --api-info", ""),
        ("kak -version", ""),
        ("hx --health", ""),
        ("lazygit --config", ""),
        ("ranger --copy-config=all", ""),
        ("mutt -D", ""),
        ("sudo -u vim ls", ""),
        ("exec -a vim bash x.sh", ""),
        ("sudo -E rm vim", ""),
        ("timeout 5 ls vim", ""),
        ("env vim=1 ls", ""),
        ("cat > notes <<E\nvim x\nE", ""),
        ("bash -c 'cat <<E\nsudo vim\nE'", ""),
        ("nice", ""),
        ("env", ""),
        ("timeout 5", ""),
        ("sudo -u", ""),
        ("nohup vim -es x", ""),
        ("bash vim", ""),
        ("bash -c 'echo vim'", ""),
        ("bash -c", ""),
        ("(", ""),
        ("((", ""),
        ("echo (vim", ""),
        # these end by themselves, or are no programs
        ("vim -es -c 'g/a/d' -c x file", ""),
        ("vim +PluginInstall +qall", ""),
        ("vim --version | head -1", ""),
        ("emacs --batch -l x.el", ""),
        ("echo 'vim x'", ""),
        ("git grep vim", ""),
        ("vim -s script x < keys", ""),
        ("# vim x", ""),
        ("which vim nano", ""),
        ("python3 view.py", ""),
        ("cat <<'E'\nit's; vi\nE", ""),
    ],
)
def test_a_program_that_would_wait_for_keys_is_known_where_that_is_plain(command: str, program: str) -> None:
    assert needs_terminal(command) == program


class Line:
    """What a screen reads from and answers to."""

    def __init__(self, data: bytes = b"") -> None:
        self.data, self.typed = data, b""

    def since(self, _stream: str, position: int) -> bytes:
        return self.data[position:]

    def total_bytes(self, _stream: str) -> int:
        return len(self.data)

    def type(self, data: bytes) -> None:
        self.typed += data


def shown(data: bytes) -> str:
    return TerminalScreen(Line(data)).text()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"one\r\ntwo", "one\ntwo"),
        (b"10%\r20%\r100%", "100%"),
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07body", "body"),
        (b"\x1bPq#0\x1b\\body", "body"),
        (b"abc\x1b[2D\x1b[Kx", "ax"),
        ("한글 日本".encode(), "한글 日本"),
        ("한글\r1".encode(), "1글"),
        (b"a\x1b[>4;2m\x1b[?6h\x1b[1;2;3Ab", "ab"),
    ],
)
def test_a_screen_reads_as_what_stands_on_it(data: bytes, text: str) -> None:
    assert shown(data) == text


def test_a_sequence_may_come_in_pieces() -> None:
    line = Line()
    screen, text = TerminalScreen(line), ""
    for byte in "a\x1b[31mb\x1b]0;t\x07c한\x1b[6n".encode():
        line.data += bytes((byte,))
        text = screen.text()
    assert text == "abc한"
    assert line.typed == b"\x1b[1;6R"


def test_no_bytes_break_the_screen() -> None:
    chance = random.Random(4)
    pieces = [
        b"text",
        b"\r\n",
        b"\x1b",
        b"\x1b[",
        b"\x9b",
        b"?",
        b";",
        b"99999",
        b"\x1b[?1049h",
        b"\x1b[?1049l",
        "한".encode(),
    ]
    for _ in range(300):
        line = Line()
        screen = TerminalScreen(line)
        for _ in range(4):
            for _ in range(40):
                final = bytes((chance.randrange(0x40, 0x7F),))
                csi = b"\x1b[%d;%d" % (chance.randrange(200), chance.randrange(200)) + final
                line.data += chance.choice([*pieces, csi, final, chance.randbytes(4), os.linesep.encode()])
            assert "\x1b" not in screen.text()
