"""What stands on a command's terminal, as text: its output passes through an emulator, so that no escape is left.

The emulator is pyte's. It is imported when a command first has a terminal.
"""

from __future__ import annotations

import codecs
import re
import threading
from collections import deque
from typing import Any, Protocol

import anyio.to_thread
import pyte

from dogu.workspace.process.command import COLUMNS, ROWS

_MOST_BYTES = 64 * 1024  # taken in at once: the emulator takes half a second for that; of more, the latest
_SCROLLED_LINES = 1_000
_QUESTION = re.compile(rb"\x1b\[[0-9;]*[cn]")  # what the terminal is, how it does, where its cursor stands
_LONGEST_QUESTION_BYTES = 16
_ALTERNATE = frozenset((47, 1047, 1049))

# What pyte reads wrongly, or breaks at, doesn't reach it: texts for the terminal's title and the like, parameters that
# a sequence doesn't take, other terminals' own sequences. What isn't whole yet waits.
_TEXT = re.compile("\x1b(?:\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[PX^_][^\x1b]*\x1b\\\\)|[\x80-\x9f]")
_SEQUENCE = re.compile("\x1b\\[(?:([<=>?]?)([0-9;:]*)([ -/]*)([@-~]))?")
_UNFINISHED = re.compile("\x1b(?:\\[[0-?]*[ -/]*|[\\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\\Z")
_LONGEST_UNFINISHED = 4_096
_TAKES_ONE = frozenset("@ABCDEFGLMPXacdeg`n")
_TAKES_TWO = frozenset("Hfr")
_ERASES = {"J": 3, "K": 2}


class Printed(Protocol):
    """What a screen is fed from, and what it answers to: a `SupervisorLine`."""

    def since(self, stream: str, position: int, /) -> bytes:
        """Return what was printed from a position on."""
        ...

    def total_bytes(self, stream: str, /) -> int:
        """How much was printed."""
        ...

    def type(self, data: bytes, /) -> None:
        """Answer."""
        ...


class TerminalScreen:
    """The screen of one command's terminal, and what has scrolled off it."""

    def __init__(self, line: Printed) -> None:
        self._line = line
        self._lock = threading.Lock()
        self._screen = _Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._position = self._looked_to = 0
        self._shown_lines = 0

    def text(self, *, only_new: bool = False) -> str:
        """Return what has scrolled off the screen, then the screen; `only_new` leaves out what scrolled off before.

        Blocks up to half a second; call it in a thread.
        """
        with self._lock:
            self._catch_up()
            new = self._screen.scrolled_lines - self._shown_lines if only_new else _SCROLLED_LINES
            self._shown_lines = self._screen.scrolled_lines
            scrolled = [*self._screen.scrolled]
            lines = [*scrolled[len(scrolled) - min(new, len(scrolled)) :], *map(self._screen.row, range(ROWS))]
        return "\n".join(line.rstrip() for line in lines).strip("\n")

    async def answer(self) -> None:
        """Answer what the command has asked its terminal since the last look; it may print nothing until then."""
        total, looked_to = self._line.total_bytes("stdout"), self._looked_to
        if total == looked_to:
            return
        self._looked_to = total
        start = max(0, looked_to - _LONGEST_QUESTION_BYTES, total - _MOST_BYTES)
        if _QUESTION.search(self._line.since("stdout", start)):
            await anyio.to_thread.run_sync(self._take_all)

    def _take_all(self) -> None:
        with self._lock:
            self._catch_up()

    def _catch_up(self) -> None:
        data = self._line.since("stdout", self._position)
        self._position = self._line.total_bytes("stdout")
        if len(data) > _MOST_BYTES:
            data = b"\r\n[... output left out ...]\r\n" + data[-_MOST_BYTES:]
        self._take(self._decoder.decode(data))
        if self._screen.answers:
            answers, self._screen.answers = self._screen.answers, ""
            self._line.type(answers.encode())

    def _take(self, text: str) -> None:
        text = self._held + text
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _LONGEST_UNFINISHED))
        end = unfinished.start() if unfinished else len(text)
        self._held = text[end:]
        self._stream.feed(_SEQUENCE.sub(_as_taken, _TEXT.sub("", text[:end])))


def _as_taken(match: re.Match[str]) -> str:
    """Return a control sequence as pyte takes it; "" for one that it doesn't."""
    kind, given, between, final = match.groups()
    if not final or between or kind in ("<", "=", ">") or (kind == "?" and final not in "hl"):
        return ""
    parameters = given.replace(":", ";").split(";")
    if kind == "?":  # counting lines from a margin is what pyte can't where there is none
        return f"\x1b[?{';'.join(number for number in parameters if number != '6')}{final}" if given != "6" else ""
    if final in _ERASES:
        return match[0] if (parameters[0] or "0") in map(str, range(_ERASES[final] + 1)) and not parameters[1:] else ""
    if final in _TAKES_ONE or final in _TAKES_TWO:
        return f"\x1b[{';'.join(parameters[: 1 if final in _TAKES_ONE else 2])}{final}"
    return match[0]


class _Screen(pyte.Screen):
    """pyte's, with what it lacks: lines that scrolled off, the alternate screen of full-screen programs, answers."""

    def __init__(self, columns: int, lines: int) -> None:
        self.answers = ""
        self.scrolled: deque[str] = deque(maxlen=_SCROLLED_LINES)
        self.scrolled_lines = 0
        self._main: list[Any] | None = None
        super().__init__(columns, lines)

    def row(self, y: int) -> str:
        """Return a line; the second half of a wide character is nothing. (pyte's own way stumbles over halves.)"""
        row = self.buffer[y]
        return "".join(row[x].data if x in row else " " for x in range(self.columns))

    def write_process_input(self, data: str) -> None:
        """Keep what a terminal would answer to a question of the command's."""
        self.answers += data

    def index(self) -> None:
        """Move down; a line that leaves the whole screen at its top is kept."""
        top, bottom = self.margins or (0, self.lines - 1)
        if self.cursor.y == bottom and top == 0 and self._main is None:
            self.scrolled.append(self.row(0))
            self.scrolled_lines += 1
        super().index()

    def set_mode(self, *modes: int, **more: Any) -> None:
        """Switch on; the alternate screen begins empty."""
        super().set_mode(*modes, **more)
        if more.get("private") and self._main is None and not _ALTERNATE.isdisjoint(modes):
            self._main = [{y: row.copy() for y, row in self.buffer.items()}, self.cursor.y, self.cursor.x]
            self.erase_in_display(2)

    def reset_mode(self, *modes: int, **more: Any) -> None:
        """Switch off; what stood there before the alternate screen stands there again."""
        super().reset_mode(*modes, **more)
        if more.get("private") and self._main is not None and not _ALTERNATE.isdisjoint(modes):
            rows, self.cursor.y, self.cursor.x = self._main
            self._main = None
            self.erase_in_display(2)
            for y, row in rows.items():
                self.buffer[y].update(row)
