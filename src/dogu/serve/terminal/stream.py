"""The model's answer as it streams: finished blocks are printed for good, only the last one is drawn again."""

from __future__ import annotations

import time
from collections.abc import Callable

from dogu.serve.terminal.blocks import Block, Blocks
from dogu.serve.terminal.cells import width_of
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible

_MOST_DRAWN_CHARS = 6_000
_NARROW = 40  # columns that a terminal may suddenly have
_DEARER_FACTOR = 8  # a block is drawn again only after so many times what drawing it took


class AnswerStream:
    """Takes text, gives lines. `draws` is false where nothing may be drawn twice: then text is printed by the line.

    A block is drawn when it has been under way for `after_s`: of a burst, blocks are printed before it comes to that.
    """

    def __init__(
        self,
        style: Style,
        columns: Callable[[], int],
        emit: Callable[[str], None],
        *,
        draws: bool,
        after_s: float = 0.0,
    ) -> None:
        self._style = style
        self._columns = columns
        self._emit = emit
        self._draws = draws
        self._after_s = after_s
        self._block_began = 0.0
        self._is_between = True  # two blocks
        self._blocks = Blocks()
        self._partial = ""
        self._has_printed = False
        self.follows_other = False  # then a blank line stands before it
        self._drawn: list[str] = []
        self._drawn_for: tuple[int, int] = (0, 0)
        self._draw_after = 0.0
        self._length = 0

    @property
    def is_empty(self) -> bool:
        """Whether no text has come since the end of the last answer."""
        return self._length == 0

    def add(self, text: str) -> None:
        """Take more of the answer."""
        self._length += len(text)
        if not self._draws:
            *lines, self._partial = (self._partial + text).split("\n")
            for line in lines:
                self._emit(make_visible(line))
            return
        if self._is_between and not text.isspace():
            self._block_began, self._is_between = time.monotonic(), False
        for block in self._blocks.feed(text):
            self._print(block)

    def end(self) -> None:
        """Print what is left: the answer has ended, or something else comes between."""
        if self._draws:
            for block in self._blocks.close():
                self._print(block)
        elif self._partial:
            self._emit(make_visible(self._partial))
        self._blocks, self._partial, self._drawn, self._length = Blocks(), "", [], 0
        self._has_printed = False

    def live_lines(self, columns: int, rows: int) -> list[str]:
        """Return the last lines of the block under way."""
        rest = self._blocks.rest
        if not rest.text or time.monotonic() < self._block_began + self._after_s:
            return []
        state = (self._length, columns)
        if state != self._drawn_for and time.monotonic() >= self._draw_after:
            started = time.monotonic()
            self._drawn, self._drawn_for = self._lines(rest, columns, rows), state
            ended = time.monotonic()
            self._draw_after = ended + (ended - started) * _DEARER_FACTOR
        lines = self._drawn
        before = [""] if (self._has_printed or self.follows_other) and not rest.continues else []
        shown = _that_fit(lines, rows)
        return [*before, *lines] if shown == len(lines) else ["…", *lines[-shown:]]

    def _lines(self, block: Block, columns: int, rows: int) -> list[str]:
        if len(block.text) > _MOST_DRAWN_CHARS:
            # Too much to be drawn again and again: its end, plain, until it is finished.
            tail = make_visible(block.text[-columns * rows :]).split("\n")
            return [line[at : at + columns // 2] for line in tail for at in range(0, len(line) or 1, columns // 2)]
        return self._markdown(block, columns)

    def _markdown(self, block: Block, columns: int) -> list[str]:
        from dogu.serve.terminal.markdown import markdown_lines

        return markdown_lines(block.text, columns, self._style)

    def _print(self, block: Block) -> None:
        lines = self._markdown(block, self._columns())
        self._is_between = True
        self._drawn, self._drawn_for = [], (0, 0)
        self._draw_after = 0.0
        if lines:
            between = [""] if (self._has_printed or self.follows_other) and not block.continues else []
            self.follows_other = False
            self._emit("\n".join([*between, *lines]))
            self._has_printed = True


def _that_fit(lines: list[str], rows: int) -> int:
    """Return how many of the last lines still fit should the terminal become narrow: what scrolls off stays behind."""
    taken = 0
    for count, line in enumerate(reversed(lines)):
        taken += max(1, -(-width_of(line) // _NARROW))
        if taken > rows and count:
            return count
    return len(lines)
