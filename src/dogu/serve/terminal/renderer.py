"""Drawing at the bottom of the terminal, and printing above it: one write a frame, so that nothing flickers.

What was printed is the terminal's own from then on: it scrolls, wraps and is copied like any other output.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.filters import Filter, Never
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import CPR_Support, Renderer
from prompt_toolkit.utils import get_cwidth

from dogu.serve.terminal.cells import plain_of
from dogu.serve.terminal.size_probes import Frame, Misdrawn, SizeProbes

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.layout import Layout
    from prompt_toolkit.layout.screen import Screen
    from prompt_toolkit.styles import BaseStyle

_ANSWER_S = 0.05
_ENDLESS = 10_000  # columns
_PATIENCE_S = 2.0
_MOST_AT_ONCE = 65_536
_NEVER = Never()
_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"  # terminals that don't know them pass them over


class FrameOutput(Vt100_Output):
    """Keeps what is written until the frame is whole. A terminal that went away is told once, by `on_gone`.

    A terminal that takes nothing for a while (it was paused, its line is slow) isn't waited for: what is left is
    written once it takes it, and then `on_written` is called.
    """

    def __init__(self, stdout: TextIO, on_gone: Callable[[], None]) -> None:
        self._held = 0
        self._on_gone = on_gone
        self.on_written: Callable[[], None] = lambda: None
        self._left = b""
        self._is_stuck = False  # and was waited for in vain already
        self._loop: asyncio.AbstractEventLoop | None = None
        self._descriptor, self._is_own = _unblocking(stdout)
        # Where the locale names no encoding, terminals still show what they show today.
        self._written_as = "utf-8" if codecs.lookup(stdout.encoding).name == "ascii" else stdout.encoding
        self.is_gone = False
        self.size_probes = SizeProbes()
        self.known_size = _size_of(stdout)
        super().__init__(stdout, self._size, term=os.environ.get("TERM"), enable_cpr=True)

    def _size(self) -> Size:
        return self.size_probes.size(self.known_size())

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

    def erase_down(self) -> None:
        """Erase the rest of the screen, from the beginning of a line.

        Not from its first cell: tmux takes what is erased from there to the end, where that is the whole screen, into
        the scrollback, and so would leave a copy of each frame once the lower part stands at the top.
        """
        self.write_raw("\x1b[K\x1b[C\x1b[J\x1b[D")

    def enter_alternate_screen(self) -> None:
        """Take the other screen. The cursor stays: a terminal may know none, or was told to have none."""
        self.write_raw("\x1b[?1049h")

    def enable_mouse_support(self) -> None:
        """Ask for clicks and the wheel, not for each movement."""
        self.write_raw("\x1b[?1000h\x1b[?1006h")

    def disable_mouse_support(self) -> None:
        """Give the mouse back to the terminal."""
        self.write_raw("\x1b[?1006l\x1b[?1000l")

    @property
    def is_behind(self) -> bool:
        """Whether the terminal hasn't taken all that was written."""
        return bool(self._left)

    def flush(self) -> None:
        """Write what is due, unless a frame is under way."""
        if self._held:
            return
        self._left += "".join(self._buffer).encode(self._written_as, errors="replace")
        self._buffer.clear()
        self._write()

    def drain(self) -> None:
        """Wait until the terminal has taken everything, before another program has it; give it up when it doesn't."""
        self.flush()
        deadline = time.monotonic() + (0.0 if self._is_stuck else _PATIENCE_S)
        while self._left and (left_s := deadline - time.monotonic()) > 0:
            select.select([], [self._descriptor], [], left_s)
            self._write()
        self._is_stuck = bool(self._left)
        self._left = b""
        self._listen(is_on=False)

    def drain_unless_framed(self) -> None:
        """The same, but within a frame, which is written as a whole."""
        if not self._held:
            self.drain()

    def close(self) -> None:
        """Write the last of it."""
        self.drain()
        if self._is_own:
            os.close(self._descriptor)
            self._descriptor, self._is_own = self.stdout.fileno(), False
        if self.is_gone:
            # What is still written, the interpreter's last flush among it, must find somewhere to go.
            descriptor = os.open(os.devnull, os.O_WRONLY)
            os.dup2(descriptor, self.stdout.fileno())
            os.close(descriptor)

    def _write(self) -> None:
        try:
            while self._left:
                self._left = self._left[os.write(self._descriptor, self._left[:_MOST_AT_ONCE]) :]
        except BlockingIOError:
            self._listen(is_on=True)
        except OSError:  # the terminal was closed, or the reader of a pipe went away
            self._left = b""
            if not self.is_gone:
                self.is_gone = True
                self._on_gone()
        if not self._left:
            self._listen(is_on=False)

    def _listen(self, *, is_on: bool) -> None:
        """Hear when the terminal takes more; without a loop, the next flush tries again."""
        if is_on == (self._loop is not None):
            return
        if self._loop is not None:
            self._loop.remove_writer(self._descriptor)
            self._loop = None
        else:
            with suppress(RuntimeError, OSError):
                loop = asyncio.get_running_loop()
                loop.add_writer(self._descriptor, self._takes_more)
                self._loop = loop

    def _takes_more(self) -> None:
        self._write()
        if not self._left:
            self.on_written()


def _unblocking(stdout: TextIO) -> tuple[int, bool]:
    """Return what to write to, and whether it is ours to close: an opening of the terminal that never blocks.

    Of our own, as other programs share the one that was given; that one where it can't be opened again.
    """
    given = stdout.fileno()
    try:
        return os.open(os.ttyname(given), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC), True
    except OSError:
        return given, False


# Reads and sets prompt_toolkit's private `_last_screen`, `_cursor_pos` and `_last_size`: what it believes is drawn,
# where the cursor stands, how large the terminal was. Nothing else can tell it that the terminal has wrapped its lines
# anew. Any minor release may change them, so that pyproject pins it below 3.1.
class LiveRenderer(Renderer):
    """Draws the lower part, and prints what is finished above it.

    `is_busy` tells whether more is drawn than the input box, `takes_mouse` whether clicks mean something, `takes_other`
    whether it takes the terminal's other screen, as a long list does: wrapped anew, it would stand there twice.
    """

    def __init__(
        self,
        style: BaseStyle,
        output: FrameOutput,
        is_busy: Callable[[], bool],
        takes_mouse: Filter = _NEVER,
        takes_other: Filter = _NEVER,
    ) -> None:
        self._frames = output
        self._is_busy = is_busy
        self._takes_other = takes_other
        self._is_on_other = False
        self._due: list[str] = []
        self._is_stale = False
        self._standing: tuple[Screen | None, Point, Size | None] | None = None
        self.is_held = False  # a frame, until the terminal has said its size
        # Most terminals wrap lines anew when they become narrower; these cut them.
        environ = os.environ
        self._reflows = not ("XTERM_VERSION" in environ or "STY" in environ or environ.get("TERM", "") == "linux")
        # prompt_toolkit has no hook for "print above what is drawn, in the same write"; its own way erases and draws in
        # several writes, which flickers. So its private state (_last_screen, _cursor_pos, _last_size) is read and set
        # here, and only in this class, and pyproject.toml holds it below the next minor version.
        super().__init__(style, output, mouse_support=takes_mouse)
        self.cpr_support = CPR_Support.NOT_SUPPORTED  # prompt_toolkit's own questions, for the height

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

    def go_on(self) -> None:
        """Keep in mind what stands there: an application that begins would forget it."""
        self._standing = self._last_screen, self._cursor_pos, self._last_size

    def _recall(self) -> None:
        if self._standing is not None:
            self._last_screen, self._cursor_pos, self._last_size = self._standing
            self._standing = None
            self.draw_anew()

    def render(self, app: Application[Any], layout: Layout, is_done: bool = False) -> None:
        """Draw a frame: first what is to be printed, then the lower part below it."""
        self._recall()
        size = self._frames.get_size()
        size_probes = self._frames.size_probes
        self._frames.flush()
        # A frame on top of one that wasn't taken would only queue: a slow line then shows minutes of old frames.
        if self._frames.is_behind and not is_done:
            self.is_held = True  # until that is written
            return
        self.is_held = not is_done and self._is_to_wait(size)
        if self.is_held:
            if app.loop is not None:  # how wide it is will be told at once
                app.loop.call_later(_ANSWER_S, app.invalidate)
            return
        with self._frames.frame():
            misdrawn = size_probes.misdrawn()
            is_on_other = self._takes_other() and not is_done
            if misdrawn is not None and not self._is_on_other:
                self._mend(misdrawn, size)
            elif self._is_to_begin_anew(layout, size, is_on_other=is_on_other):
                self.erase()
            self._is_stale = False
            # Where the lower part stood, which comes below it then: so only what is finished scrolls off.
            printed = "" if is_on_other else self.write_due()
            if is_on_other and not self._is_on_other:
                self._frames.enter_alternate_screen()
                self._is_on_other = True
            super().render(app, layout, is_done)
            if self._last_screen is not None and not is_done:
                frame = Frame(size, self._last_screen, self._cursor_pos, printed, asks_place=self.mouse_support())
                frame.is_drawn = not is_on_other
                self._frames.write_raw(size_probes.drawn(frame, is_busy=self._is_busy()))

    def write_due(self) -> str:
        """Write what is to be printed, where the cursor is; return it."""
        text, self._due = "".join(self._due), []
        if text:
            self._frames.write_raw(text.replace("\n", "\r\n"))
        return text

    def write_due_above(self) -> None:
        """Print at once what is due, in place of the lower part."""
        with self._frames.frame():
            self.erase()
            self.write_due()

    def erase(self, leave_alternate_screen: bool = True) -> None:
        """Erase the lower part, where it is now: a terminal that became narrower may have wrapped its lines."""
        # prompt_toolkit goes up as many rows as it drew. Wrapped anew these are more, and the upper ones would stay.
        if self._last_screen is not None and self._has_new_width(self._frames.get_size()):
            self._cursor_pos = self._reflowed(self._last_screen, self._cursor_pos, self._frames.get_size().columns)
        super().erase(leave_alternate_screen)
        if self._is_on_other:
            self._frames.quit_alternate_screen()
            self._is_on_other = False
        self._frames.drain_unless_framed()

    @property
    def waiting_for_cpr(self) -> bool:
        """Whether keys are still to be read once nothing is drawn any longer: the terminal's answers among them."""
        return self._frames.size_probes.listens

    async def wait_for_cpr_responses(self, timeout: int = 1) -> None:  # noqa: ASYNC109  (as prompt_toolkit calls it)
        """Wait for what the terminal was asked, before another program reads from it."""
        await self._frames.size_probes.all_told()

    def _is_to_wait(self, size: Size) -> bool:
        """Whether the terminal's size is to be known before a frame is drawn; it is asked for it."""
        size_probes = self._frames.size_probes
        if self._has_new_width(size) and size_probes.is_waiting():
            return True
        if not size_probes.is_unsure(size):
            return False
        if question := size_probes.question(size):
            self._frames.write_raw(question)
            self._frames.flush()
        return size_probes.is_awaited

    def _mend(self, misdrawn: Misdrawn, size: Size) -> None:
        """Erase what was drawn in the wrong place, with what was left above it, and have its text printed anew.

        Where the terminal has yet another width by now, what was left stays: a line too much is better than one lost.
        """
        base, last = misdrawn.base, misdrawn.frames[-1]
        is_sure = size.columns == misdrawn.columns
        if size.columns < misdrawn.columns:
            self._cursor_pos = self._reflowed(last.screen, last.cursor, size.columns, misdrawn.columns)
        left = self._reflowed(base.screen, base.cursor, misdrawn.columns).y - base.cursor.y if base is not None else 0
        if left and is_sure:
            printed = "".join(frame.printed for frame in misdrawn.frames)
            rows = last.cursor.y + left + sum(_rows(line, misdrawn.columns) for line in printed.split("\n")[:-1])
            if rows <= size.rows - last.screen.height + last.cursor.y:  # further up is the scrollback
                self._cursor_pos = Point(0, rows)
                self._due.insert(0, printed)
        self._frames.write_raw("\r")
        super().erase()

    def _reflowed(self, screen: Screen, cursor: Point, columns: int, cut: int = _ENDLESS) -> Point:
        """Return where the cursor is, from the top of what was drawn, once the terminal has wrapped it anew.

        `cut`: how many columns the terminal had when it drew it, where they were fewer.
        """
        if not self._reflows:
            return cursor
        above = sum(_wrapped(screen, row, columns, cut=cut)[0] for row in range(cursor.y))
        further, x = _wrapped(screen, cursor.y, columns, cursor.x)
        return Point(x, cursor.y + above + further)

    def _has_new_width(self, size: Size) -> bool:
        return self._last_size is not None and self._last_size.columns != size.columns

    def _is_to_begin_anew(self, layout: Layout, size: Size, *, is_on_other: bool) -> bool:
        """Whether what is drawn is to be erased first; on the other screen nothing is printed, and nothing moves."""
        if self._is_stale or is_on_other != self._is_on_other:
            return True
        if is_on_other:
            return self._last_size != size
        return bool(self._due) or self._is_to_shrink(layout, size)

    def _is_to_shrink(self, layout: Layout, size: Size) -> bool:
        if self._last_screen is None:
            return False
        if self._has_new_width(size):
            return True
        # prompt_toolkit never draws fewer rows than the last time, so what is to become lower is erased first.
        wanted = layout.container.preferred_height(size.columns, size.rows).preferred
        return min(wanted, size.rows) < self._last_screen.height


def _wrapped(screen: Screen, row: int, columns: int, until: int = _ENDLESS, cut: int = _ENDLESS) -> tuple[int, int]:
    """Return how many further rows a row takes once it is wrapped, and the column that follows its cells."""
    cells = screen.data_buffer[row]
    end = min(until, cut, max((at + 1 for at, cell in cells.items() if cell.char.strip()), default=0))
    further = column = 0
    at = 0
    while at < end:
        width = max(1, get_cwidth(cells[at].char))
        if column + width > columns:  # a wide character isn't halved: it begins the next row
            further, column = further + 1, 0
        column += width
        at += width
    blanks = max(0, until - end) if until < _ENDLESS else 0
    return further + (column + blanks) // (columns + 1), min(column + blanks, columns - 1)


def _rows(line: str, columns: int) -> int:
    """Return how many rows the terminal takes for a printed line."""
    rows, used = 1, 0
    for character in plain_of(line):
        width = 8 - used % 8 if character == "\t" else get_cwidth(character)
        if used + width > columns:
            rows, used = rows + 1, 0
        used += width
    return rows


def _size_of(stdout: TextIO) -> Callable[[], Size]:
    def get_size() -> Size:
        try:
            columns, rows = os.get_terminal_size(stdout.fileno())
        except OSError:
            columns, rows = 80, 24
        return Size(rows or 24, columns or 80)

    return get_size
