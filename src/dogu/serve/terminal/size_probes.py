"""How large the terminal was when it drew each frame: it says so itself, after the frame.

A terminal that becomes narrower wraps its lines anew before the program hears of it. A frame that is written in between
erases too little above it, and what is believed of it afterwards is wrong. So each frame ends with a question, whose
answer comes in order with the frames; what was drawn in the wrong place is found out, and is drawn once more.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable

import anyio
import msgspec
from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.layout.screen import Screen

QUESTION = "\x1b7\x1b[999;999H\x1b[6n\x1b8"
"""Asks for the position of the lower right corner; the cursor stays where it is."""

PLACE_QUESTION = "\x1b[6n"
"""Asks for the cursor's own position, before the question above."""

ANSWER = re.compile("\x1b\\[(\\d{1,4});(\\d{1,4})R")
ANSWER_BEGUN = re.compile("\x1b\\[\\d{1,4}(?:;\\d{0,4})?$")
_LONGEST_S = 0.5  # so long a frame waits for the answers to those before it
_FORGOTTEN_S = 5.0  # a busy machine answers late, and what was drawn wrong is to be found out even then


class Frame(msgspec.Struct):
    """What was drawn: the text `printed` for good, then the lower part (`screen`, the cursor in it) for a size.

    `asks_place`: where the cursor stands is asked, too, and not answered yet.
    """

    size: Size
    screen: Screen
    cursor: Point
    printed: str
    asked_at: float = 0.0
    asks_place: bool = False
    is_mended: bool = False


class Misdrawn(msgspec.Struct):
    """Frames drawn while the terminal was as wide as `columns`, and not as believed; `base` is the last good one."""

    base: Frame | None
    frames: list[Frame]
    columns: int


class SizeProbes:
    """The frames whose answers are awaited. `on_told` is called when one came; nothing is asked of a mute terminal.

    `answers`: the terminal isn't mute. `top` is the terminal's row, from 0, in which the lower part began when it was
    last asked for; None before that.
    """

    def __init__(self) -> None:
        self.top: int | None = None
        self.on_told: Callable[[], None] = lambda: None
        self._told_size: tuple[Size, Size] | None = None
        self._waiting: deque[Frame] = deque()
        self._late = 0
        self._base: Frame | None = None
        self._misdrawn: Misdrawn | None = None
        self.answers = False
        self._first_asked_at = 0.0
        self._all_told = anyio.Event()

    @property
    def listens(self) -> bool:
        """Whether an answer may come among the keys."""
        return bool(self._waiting) or self._first_asked_at > 0

    def is_waiting(self, longest_s: float = _LONGEST_S) -> bool:
        """Whether an answer is still to be waited for, so long at most; it counts when it comes later, too."""
        self._forget()
        return bool(self._waiting) and time.monotonic() - self._waiting[0].asked_at < longest_s

    def _forget(self) -> None:
        """Give up the answers that take too long: a terminal may have become mute."""
        while self._waiting and time.monotonic() - self._waiting[0].asked_at > _FORGOTTEN_S:
            self._base = self._waiting.popleft()
            self._late += 1 + self._base.asks_place

    def size(self, known: Size) -> Size:
        """Return the terminal's size: what it said itself, until what the system says of it changes."""
        if self._told_size is not None and self._told_size[0] == known:
            return self._told_size[1]
        self._told_size = None
        return known

    def first_question(self) -> str:
        """Return what to write once to learn whether the terminal answers at all."""
        self._first_asked_at = time.monotonic()
        return QUESTION

    def drawn(self, frame: Frame, *, is_busy: bool) -> str:
        """Take a frame; return the question to write after it, empty where none is needed."""
        self._forget()
        if self.answers and (is_busy or self._waiting or frame.asks_place):
            frame.asked_at = time.monotonic()
            self._waiting.append(frame)
            return PLACE_QUESTION + QUESTION if frame.asks_place else QUESTION
        self._waiting.clear()
        self._base = frame
        return ""

    def told(self, size: Size, known: Size) -> None:
        """Take an answer; `known` is the size that the system knows."""
        self.answers = True
        self._first_asked_at = 0.0
        if self._late:
            self._late -= 1
        elif self._waiting and self._waiting[0].asks_place:
            self._waiting[0].asks_place = False
            self.top = size.rows - 1 - self._waiting[0].cursor.y
        elif self._waiting:
            self._sighted(self._waiting.popleft(), size, known)
        if not self._waiting:
            self._all_told.set()
        self.on_told()

    def _sighted(self, frame: Frame, size: Size, known: Size) -> None:
        if frame.is_mended:
            return
        if size.columns == frame.size.columns:
            self._base = frame
            return
        for later in self._waiting:
            later.is_mended = True
        self._told_size = (known, size)
        self._misdrawn = Misdrawn(self._base, [frame, *self._waiting], size.columns)

    def misdrawn(self) -> Misdrawn | None:
        """Return what is to be mended, once."""
        misdrawn, self._misdrawn = self._misdrawn, None
        return misdrawn

    @property
    def has_misdrawn(self) -> bool:
        """Whether something is to be mended."""
        return self._misdrawn is not None

    async def all_told(self) -> None:
        """Wait for the answers that are due, so that none of them is left for who reads the terminal next."""
        is_new = time.monotonic() - self._first_asked_at < _LONGEST_S
        if self._waiting or is_new:
            self._all_told = anyio.Event()
            with anyio.move_on_after(_LONGEST_S):
                await self._all_told.wait()
