"""Drawing at the bottom of the terminal, and printing above it: one write a frame, so that nothing flickers.

What was printed is the terminal's own from then on: it scrolls, wraps and is copied like any other output.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import Renderer
from prompt_toolkit.utils import get_cwidth

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.layout import Layout
    from prompt_toolkit.layout.screen import Screen
    from prompt_toolkit.styles import BaseStyle

_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"  # terminals that don't know them pass them over


class FrameOutput(Vt100_Output):
    """Keeps what is written until the frame is whole. A terminal that went away is told once, by `on_gone`."""

    def __init__(self, stdout: TextIO, on_gone: Callable[[], None]) -> None:
        self._held = 0
        self._on_gone = on_gone
        self.is_gone = False
        super().__init__(stdout, _size_of(stdout), term=os.environ.get("TERM"), enable_cpr=False)

    @contextmanager
    def frame(self) -> Generator[None]:
        """Hold back everything written inside until the end."""
        self._held += 1
        self.write_raw(_BEGIN_FRAME)
        try:
            yield
        finally:
            self.write_raw(_END_FRAME)
            self._held -= 1
            self.flush()

    def flush(self) -> None:
        """Write what is due, unless a frame is under way."""
        if self._held:
            return
        try:
            super().flush()
        except OSError:  # the terminal was closed, or the reader of a pipe went away
            if not self.is_gone:
                self.is_gone = True
                self._on_gone()


class Paper(Renderer):
    """Draws the lower part, and prints what is finished above it."""

    def __init__(self, style: BaseStyle, output: FrameOutput) -> None:
        self._frames = output
        self._due: list[str] = []
        self._is_stale = False
        self._reflows = _reflows()
        super().__init__(style, output)

    def print(self, text: str) -> None:
        """Have text printed with the next frame; it ends its own lines, and its escapes are ours."""
        self._due.append(text)

    @property
    def has_due(self) -> bool:
        """Whether something is to be printed."""
        return bool(self._due)

    def draw_anew(self) -> None:
        """Have the lower part drawn whole with the next frame, so that what it says stands in one piece."""
        self._is_stale = True

    def render(self, app: Application[Any], layout: Layout, is_done: bool = False) -> None:
        """Draw a frame: first what is to be printed, then the lower part below it."""
        with self._frames.frame():
            size = self._frames.get_size()
            if self._due or self._is_stale or self._is_to_shrink(layout, size):
                self._is_stale = False
                self.erase()
            self.write_due()
            super().render(app, layout, is_done)

    def write_due(self) -> None:
        """Write what is to be printed, where the cursor is."""
        if self._due:
            text, self._due = "".join(self._due), []
            self._frames.write_raw(text.replace("\n", "\r\n"))

    def write_due_above(self) -> None:
        """Print at once what is due, in place of the lower part."""
        with self._frames.frame():
            self.erase()
            self.write_due()

    def erase(self, leave_alternate_screen: bool = True) -> None:
        """Erase the lower part, where it is now: a terminal that became narrower may have wrapped its lines."""
        screen, before = self._last_screen, self._last_size
        columns = self._frames.get_size().columns
        if screen is not None and before is not None and columns < before.columns and self._reflows:
            above = sum(_wrapped(screen, row, columns)[0] for row in range(self._cursor_pos.y))
            further, x = _wrapped(screen, self._cursor_pos.y, columns, self._cursor_pos.x)
            self._cursor_pos = Point(x, self._cursor_pos.y + above + further)
        super().erase(leave_alternate_screen)

    def _is_to_shrink(self, layout: Layout, size: Size) -> bool:
        if self._last_screen is None:
            return False
        if self._last_size is not None and self._last_size.columns != size.columns:
            return True
        wanted = layout.container.preferred_height(size.columns, size.rows).preferred
        return min(wanted, size.rows) < self._last_screen.height


def _wrapped(screen: Screen, row: int, columns: int, until: int = 10_000) -> tuple[int, int]:
    """Return how many further rows a row takes once it is wrapped, and the column that follows its cells."""
    cells = screen.data_buffer[row]
    end = min(until, max((at + 1 for at, cell in cells.items() if cell.char.strip()), default=0))
    further = column = 0
    at = 0
    while at < end:
        width = max(1, get_cwidth(cells[at].char))
        if column + width > columns:  # a wide character isn't halved: it begins the next row
            further, column = further + 1, 0
        column += width
        at += width
    blanks = max(0, until - end) if until < 10_000 else 0
    return further + (column + blanks) // (columns + 1), min(column + blanks, columns - 1)


def _reflows() -> bool:
    """Tell whether the terminal wraps lines anew when it becomes narrower; the few that don't cut them."""
    environ = os.environ
    return not ("XTERM_VERSION" in environ or "STY" in environ or environ.get("TERM", "") == "linux")


def _size_of(stdout: TextIO) -> Callable[[], Size]:
    def get_size() -> Size:
        try:
            columns, rows = os.get_terminal_size(stdout.fileno())
        except OSError:
            columns, rows = 80, 24
        return Size(rows or 24, columns or 80)

    return get_size
