"""The program in terminals that tests can look at: `pyte` for exact bytes and cells, `tmux` for one that reflows."""

from __future__ import annotations

import os
import re
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import pexpect
import pyte

from dogu.serve.terminal.calls import SPINNER
from e2e.program import Program, ready_program

_DEADLINE_S = 30.0

OURS = re.compile(
    "\x1b7\x1b\\[999;999H\x1b\\[6n\x1b8"  # asking for the size
    "|\x1b\\[[0-9;]*m"  # colors
    "|\x1b\\[[0-9;]*[ABCDHJK]"  # moving within our own lines, erasing below
    "|\x1b\\[\\?(?:1|7|12|25|1000|1006|1049|2004|2026)[hl]"  # cursor keys, wrapping, the cursor, the mouse, the other screen, pastes, frames
    "|\x1b\\[0? q|\x1b\\[2[23];0t"  # the cursor's shape, keeping the title
    "|\x1b\\]9;dogu [^\x07;]*\x07|\x1b\\]0;\\? dogu\x07|\x1b\\]11;\\?\x1b\\\\"  # our title, asking for the background
)
"""Every escape sequence that dogu writes."""

_BEGUN = re.compile("\x1b(?:\\[[0-9;? ]*|\\][^\x07\x1b]*\x1b?)?$")


class Terminal:
    """A pseudo-terminal with an emulator behind it. `raw` is everything the program wrote."""

    def __init__(
        self,
        program: Program,
        words: Sequence[str] = (),
        *,
        columns: int = 80,
        rows: int = 24,
        answers: bool = False,
        **environ: str,
    ) -> None:
        self.raw = ""
        command = ready_program()
        self.screen = pyte.HistoryScreen(columns, rows, history=5_000)
        self._stream = pyte.Stream(self.screen)
        self._lines: list[str] | None = None
        self._above: list[tuple[Mapping[int, pyte.screens.Char], str]] = []
        self.child: pexpect.spawn[str] = pexpect.spawn(
            command[0],
            [*command[1:], *words],
            cwd=str(program.root),
            env=program.environ(**{"COLORFGBG": "15;0", **environ}),
            encoding="utf-8",
            codec_errors="replace",
            dimensions=(rows, columns),
        )
        self.child.delaybeforesend = None
        if answers:  # what it is asked, as a real terminal does

            def answer(data: str) -> None:
                self.child.send(data)

            self.screen.write_process_input = answer

    @property
    def lines(self) -> list[str]:
        """What stands on the screen, without blanks at line ends."""
        if self._lines is None:
            # As pyte's own `display`, which looks each attribute up by a method of its own: a third of a test's time.
            buffer, columns = self.screen.buffer, range(self.screen.columns)
            rows = [buffer[row] for row in range(self.screen.lines)]
            self._lines = ["".join([row[at].data for at in columns]).rstrip() for row in rows]
        return [*self._lines]

    @property
    def text(self) -> str:
        """The scrollback and the screen."""
        return "\n".join([*self.above(), *self.lines])

    def above(self, begin: int = 0) -> list[str]:
        """The scrollback from a row on; each row is read once, as it isn't written again."""
        top, known = self.screen.history.top, self._above
        if len(known) > len(top) or (known and known[-1][0] is not top[len(known) - 1]):  # cleared, or full
            known.clear()
        for row in islice(top, len(known), None):
            known.append((row, "".join(row[at].data for at in range(self.screen.columns)).rstrip()))
        return [line for _, line in known[begin:]]

    def send(self, keys: str) -> None:
        """Type."""
        self.child.send(keys)

    def say(self, text: str) -> None:
        """Type a message and send it."""
        self.until(lambda: any(line.startswith("›") for line in self.lines))
        self.send(text + "\r")

    def until(self, condition: str | Callable[[], bool]) -> None:
        """Read until a text stands on the screen or above it, or something holds; fail after 30 s."""
        deadline = time.monotonic() + _DEADLINE_S

        def holds() -> bool:
            return condition in self.text if isinstance(condition, str) else condition()

        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"{condition!r} never came; the screen:\n{self.text}")
            self.read()

    def read(self, timeout_s: float = 0.1) -> bool:
        """Take what the program wrote; False at its end."""
        try:
            written = self.child.read_nonblocking(65_536, timeout_s)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += written
        self._lines = None
        self._stream.feed(written)
        return True

    def ended(self) -> int | None:
        """Wait for the program's end; return its exit status."""
        deadline = time.monotonic() + _DEADLINE_S
        while self.read():
            if time.monotonic() > deadline:
                raise AssertionError(f"it never ended; the screen:\n{self.text}")
        self.child.close()
        return self.child.exitstatus

    def foreign_escapes(self) -> set[str]:
        """Return the control characters that were written and aren't part of one of our own sequences.

        What was read may end within a sequence, above all on a busy machine: its rest is read first.
        """
        deadline = time.monotonic() + _DEADLINE_S
        while _BEGUN.search(self.raw) and time.monotonic() < deadline and self.read():
            pass
        left = OURS.sub("", self.raw)
        return {character for character in left if ord(character) < 32 or 127 <= ord(character) < 160} - set("\r\n\a\t")


class Tmux:
    """A tmux server of its own, with one pane: a terminal that scrolls, reflows and answers as a real one does.

    `command` is what runs in it, else the program, with its modules loaded; when that has ended, its last screen stays.
    Where it is given another size, it is to be started anew: that is the terminal's own word to it.
    """

    def __init__(
        self,
        program: Program,
        words: Sequence[str] = (),
        *,
        command: Sequence[str] = (),
        columns: int = 80,
        rows: int = 24,
        **environ: str,
    ) -> None:
        self._server = f"dogu-{uuid.uuid4().hex[:8]}"
        self._root = str(program.root)
        self._environ = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(program.home)}
        variables = [f"{name}={value}" for name, value in program.environ(**environ).items()]
        size = ["-x", str(columns), "-y", str(rows)]
        # tmux reads TERM only from a variable given before it.
        started = [
            "env",
            "-i",
            *variables,
            f"TERM={environ.get('TERM', 'tmux-256color')}",
            *(command or ready_program()),
            *words,
        ]
        options = ["start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";"]
        options += ["set-option", "-g", "history-limit", "10000", ";"]
        self._tmux("-f", "/dev/null", *options, "new-session", "-d", *size, "-c", self._root, *started)

    @property
    def text(self) -> str:
        """The scrollback and the screen."""
        return self._tmux("capture-pane", "-p", "-S", "-")

    @property
    def painted(self) -> str:
        """The same with its colors."""
        return self._tmux("capture-pane", "-p", "-e", "-S", "-")

    @property
    def cursor(self) -> tuple[int, int]:
        """The cursor's column and row, from 0."""
        x, y = self._tmux("display-message", "-p", "#{cursor_x} #{cursor_y}").split()
        return int(x), int(y)

    @property
    def title(self) -> str:
        """The title of the pane."""
        return self._tmux("display-message", "-p", "#{pane_title}").rstrip("\n")

    def since(self, mark: str) -> str:
        """Return what is seen from the last line on that begins with `mark`; what differs each time is made the same.

        Paths of the workspace read `/tmp/dogu-project`, which is as long as they are; times are left out.
        """
        lines = self.text.rstrip("\n").split("\n")
        first = max(at for at, line in enumerate(lines) if line.startswith(mark))
        text = "\n".join(line.rstrip() for line in lines[first:]).replace(self._root, "/tmp/dogu-project")
        text = re.sub(r" {1,2}· \d+ s\b|  \d+ s$", "", text, flags=re.MULTILINE)
        return re.sub(f"[{SPINNER}]", "⠿", text) + "\n"

    def keys(self, *keys: str) -> None:
        """Press keys by tmux's names."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type a text as it is."""
        self._tmux("send-keys", "-l", text)

    def paste(self, text: str) -> None:
        """Paste a text, as a terminal does that was told to mark pastes."""
        self._tmux("set-buffer", text)
        self._tmux("paste-buffer", "-p", "-d")

    def say(self, text: str) -> None:
        """Type a message into the empty input box, see it there, and send it."""
        self.until(at_prompt)
        self.type(text)
        begin = f"› {text}"[:20]  # a long one goes on in the next row
        self.until(lambda _: begin in self._rows())
        self.keys("Enter")

    def resize(self, columns: int, rows: int) -> None:
        """Give the pane another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def until(self, condition: str | Callable[[str], bool]) -> str:
        """Wait until a text is seen, or something holds of what is; return what is seen."""
        deadline = time.monotonic() + _DEADLINE_S
        while True:
            text = self.text
            if condition in text if isinstance(condition, str) else condition(text):
                return text
            if time.monotonic() > deadline:
                raise AssertionError(f"{condition!r} never came; the screen:\n{text}")
            time.sleep(0.03)

    def ended(self) -> int:
        """Wait until what runs in the pane has ended; return its exit status."""
        # tmux may miss that a child has ended until another one does, and would wait for that one too: hence -b.
        status = ["run-shell", "-b", "true", ";", "display-message", "-p", "#{pane_dead_status}"]
        self.until(lambda _: bool(self._tmux(*status).strip()))
        return int(self._tmux(*status))

    def close(self) -> None:
        """End the server."""
        subprocess.run(["tmux", "-L", self._server, "kill-server"], capture_output=True, check=False)

    def _rows(self) -> str:
        return self._tmux("capture-pane", "-p")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-L", self._server, *words], capture_output=True, text=True, check=True, env=self._environ
        )
        return done.stdout


def at_prompt(text: str) -> bool:
    """Whether the input box is empty, and nothing is under way."""
    rows = text.rstrip("\n").split("\n")[-24:]
    return any(row.rstrip() == "›" for row in rows) and not any(sign in "".join(rows[-12:]) for sign in SPINNER)
