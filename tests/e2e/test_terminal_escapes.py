"""What a door prints of others' words, a terminal doesn't obey."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

EVIL = "\x1b]52;c;cm0=\x07\x1b[2J\u202e"


def on_a_terminal(tmp_path: Path, *words: str) -> str:
    """Run the program with a terminal as its output and return what arrived there."""
    ours, theirs = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm", "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "dogu", *words]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    ) as program:
        os.close(theirs)
        read = bytearray()
        while data := _read(ours):
            read += data
        program.wait(30)
    os.close(ours)
    return read.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is gone
        return b""


@pytest.mark.parametrize(
    "words",
    [
        ("call", "read_file", "path=evil.txt"),
        ("call", "--approval-mode", "yolo", "run_shell_command", "command=cat evil.txt"),
        ("policy", "explain", f"echo {EVIL}"),
    ],
)
def test_no_escape_of_a_file_or_a_command_reaches_the_terminal(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "evil.txt").write_text(f"before {EVIL} after\n")
    arrived = on_a_terminal(tmp_path, *words)
    assert "before" in arrived or "echo" in arrived
    for obeyed in ("\x1b]", "\x1b[2J", "\x07", "\u202e"):
        assert obeyed not in arrived
