"""How large the terminal was when it drew each frame: it says so itself, after the frame.

A terminal that becomes narrower wraps its lines anew before the program hears of it. A frame that is written in between
erases too little above it, and what is believed of it afterwards is wrong. So each frame ends with a question, whose
answer comes in order with the frames; what was drawn in the wrong place is found out, and is drawn once more.
While its size is changing, the terminal is asked before each frame, too: tmux tells the system of a size a quarter of a
second after it has taken it.
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
_CHANGING_S = 1.0  # so long after a change another one may be under way
_SETTLED_S = 0.06  # with no change for so long, it has probably ended
_LONGEST_CHANGE_S = 2.0
_FRESH_S = 0.02  # so long what the terminal said of its size holds then
_FORGOTTEN_S = 5.0  # a busy machine answers late, and what was drawn wrong is to be found out even then


class Frame(msgspec.Struct):
    """What was drawn: the text `printed` for good, then the lower part (`screen`, the cursor in it) for a size.

    `asks_place`: where the cursor stands is asked, too, and not answered yet. `is_drawn`: false of a mere question,
    and on the other screen, of which nothing stays.
    """

    size: Size
    screen: Screen
    cursor: Point
    printed: str
    asked_at: float = 0.0
    asks_place: bool = False
    is_mended: bool = False
    is_drawn: bool = True


class Misdrawn(msgspec.Struct):
    """Frames drawn while the terminal was as wide as `columns`, and not as believed; `base` is the last good one."""

    base: Frame | None
    frames: list[Frame]
    columns: int


class SizeProbes:
    """The frames whose answers are awaited. `on_told` is called when one came; nothing is asked of a mute terminal.

    `answers`: the terminal isn't mute. `top` is the terminal's row, from 0, in which the lower part began when it was
    last asked for; None before that. `took_s`: how long the last answer was awaited: a slow line takes long to draw.
    """

    def __init__(self) -> None:
        self.top: int | None = None
        self.took_s = 0.0
        self.on_told: Callable[[], None] = lambda: None
        self._told_size: tuple[Size, Size] | None = None
        self._waiting: deque[Frame] = deque()
        self._late = 0
        self._base: Frame | None = None
        self._misdrawn: Misdrawn | None = None
        self.answers = False
        self._first_asked_at = 0.0
        self._last_size: Size | None = None
        self._changed_at = self._began_to_change_at = -_FORGOTTEN_S
        self._heard_at = 0.0
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
            late = self._waiting.popleft()
            self._base = late if late.is_drawn else self._base
            self._late += 1 + late.asks_place

    def size(self, known: Size) -> Size:
        """Return the terminal's size: what it said itself, until what the system says of it changes."""
        if self._told_size is not None and self._told_size[0] == known:
            return self._told_size[1]
        self._told_size = None
        return known

    def is_unsure(self, size: Size) -> bool:
        """Whether the terminal may have another size than `size`, which a frame is about to be drawn for."""
        now = time.monotonic()
        if size != self._last_size:
            if now - self._changed_at > _CHANGING_S:
                self._began_to_change_at = now
            self._changed_at = now if self._last_size is not None else self._changed_at
            self._last_size = size
        if self._is_settling():
            return True
        is_changing = self.answers and now - self._changed_at < _CHANGING_S
        return is_changing and (bool(self._waiting) or now - self._heard_at > _FRESH_S)

    def _is_settling(self) -> bool:
        """Whether a change is so new that the next one may be on its way; one that never ends isn't waited for."""
        now = time.monotonic()
        return now - self._changed_at < _SETTLED_S and now - self._began_to_change_at < _LONGEST_CHANGE_S

    @property
    def is_awaited(self) -> bool:
        """Whether a frame is to wait: for an answer, or for the terminal to settle."""
        return self._is_settling() or self.is_waiting()

    def question(self, size: Size) -> str:
        """Return what to write to learn the size before a frame is drawn; empty where that is being told already."""
        if not self.answers or self._waiting or time.monotonic() - self._heard_at < _FRESH_S:
            return ""
        self._waiting.append(Frame(size, Screen(), Point(0, 0), "", asked_at=time.monotonic(), is_drawn=False))
        return QUESTION

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
        self._base = frame if frame.is_drawn else self._base
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
        self._told_size = (known, size) if size != known else None
        self._heard_at = time.monotonic()
        self.took_s = self._heard_at - frame.asked_at
        if frame.is_mended or not frame.is_drawn:
            return
        if size.columns == frame.size.columns:
            self._base = frame
            return
        drawn = [each for each in self._waiting if each.is_drawn]
        for later in drawn:
            later.is_mended = True
        self._misdrawn = Misdrawn(self._base, [frame, *drawn], size.columns)

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
