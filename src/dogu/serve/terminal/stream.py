"""The model's answer as it streams: finished blocks are printed for good, only the last one is drawn again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from itertools import pairwise

import msgspec

from dogu.serve.terminal.cells import breaks, width_of
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
# What a block takes to be drawn goes by its characters, and a little by its lines and a table's cells; what code takes,
# by its tokens. While more than this is drawn, no key is shown in time.
_MOST_WEIGHT = 3_000
_LINE_WEIGHT, _CELL_WEIGHT, _TOKEN_WEIGHT = 20, 12, 2
_TOKEN = re.compile(r"\w+|[^\w\s]")
_FEWEST_TABLE_LINES = 7  # with the two of its head
_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")


class Block(msgspec.Struct, frozen=True):
    """A stretch of Markdown that can be drawn by itself. `continues`: it goes on one that was cut for its length."""

    text: str
    continues: bool = False


class Blocks:
    """Takes text as it comes, gives finished blocks. `rest` is the block that isn't finished."""

    def __init__(self) -> None:
        self._lines: list[str] = []  # of the block under way, whole ones
        self._partial: list[str] = []  # the last line, not ended yet
        self._fence = ""  # the opening line of the code block under way
        self._weight = 0
        self._continues = False
        self._after_blank = False

    @property
    def rest(self) -> Block:
        """What isn't finished yet, as Markdown that can be drawn."""
        return Block("\n".join([*self._lines, "".join(self._partial)]).strip("\n"), self._continues)

    def feed(self, text: str) -> list[Block]:
        """Take more text; return the blocks that are finished by it."""
        if "\n" not in text:
            self._partial.append(text)
            return []
        *ended, last = text.split("\n")
        ended[0] = "".join([*self._partial, ended[0]])
        self._partial = [last]
        return [block for line in ended for block in self._line(line)]

    def close(self) -> list[Block]:
        """Take the end of the text; return what was left."""
        found = self.feed("\n") if "".join(self._partial) else []
        return [*found, *self._take()]

    def _line(self, line: str) -> list[Block]:
        if self._fence:
            return self._code(line)
        opened = _FENCE.fullmatch(line)
        if opened and not (opened[2][0] == "`" and "`" in opened[3]):
            finished = self._take()
            self._fence = line
            self._lines = [line]
            return finished
        if not line.strip():
            return self._blank(line)
        return self._text(line)

    def _code(self, line: str) -> list[Block]:
        marks = _FENCE.fullmatch(self._fence)
        closing = line.strip()
        self._add(line)
        if marks and closing and set(closing) == {marks[2][0]} and len(closing) >= len(marks[2]):
            self._fence = ""
            return self._take()
        if marks and self._weight > _MOST_WEIGHT:
            fence = self._fence
            self._lines.append(marks[1] + marks[2])
            finished = self._take()
            self._lines, self._continues, self._fence = [fence], True, fence
            return finished
        return []

    def _blank(self, line: str) -> list[Block]:
        if not self._lines:
            return []
        if self._is_list():
            self._lines.append(line)
            self._after_blank = True
            return []
        return self._take()

    def _text(self, line: str) -> list[Block]:
        finished: list[Block] = []
        if self._is_list():
            is_item = _ITEM.match(line) is not None
            if (self._after_blank and not line[0].isspace() and not is_item) or (is_item and self._may_cut_at(line)):
                finished = self._take()
        self._after_blank = False
        if _HEADING.match(line):
            return [*finished, *self._take(), Block(line)]
        finished += self._cut()
        self._add(line)
        return finished

    def _add(self, line: str) -> None:
        is_row = bool(self._lines) and not self._fence and "|" in self._lines[0]
        more = _CELL_WEIGHT * line.count("|") if is_row else 0
        if self._fence.strip("`~ "):  # its language
            more = _TOKEN_WEIGHT * len(_TOKEN.findall(line)) - len(line) * 3 // 4
        self._weight += len(line) + _LINE_WEIGHT + more
        self._lines.append(line)

    def _may_cut_at(self, item: str) -> bool:
        """Whether a list is long enough that this item begins another one: not one within another, if that can be."""
        is_within = _indent(item) > _indent(self._lines[0])
        return self._weight >= _MOST_WEIGHT * (1 + is_within)

    def _cut(self) -> list[Block]:
        """Take what is so long already that drawing it whole would keep keys waiting; a table's head is said again."""
        is_table = len(self._lines) > 1 and "|" in self._lines[0] and _RULE.fullmatch(self._lines[1]) is not None
        if self._weight < _MOST_WEIGHT or self._is_list() or (is_table and len(self._lines) < _FEWEST_TABLE_LINES):
            return []
        head = self._lines[:2] if is_table else []
        finished = self._take()
        self._lines, self._continues = head, True
        return finished

    def _is_list(self) -> bool:
        return bool(self._lines) and _ITEM.match(self._lines[0]) is not None

    def _take(self) -> list[Block]:
        text = "\n".join(self._lines).rstrip("\n")
        block = Block(text, self._continues)
        self._lines, self._weight, self._continues, self._fence, self._after_blank = [], 0, False, "", False
        is_rest = block.continues and (_is_empty_code(text) or _is_head(text))  # of which nothing has come
        return [block] if text.strip() and not is_rest else []


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_head(text: str) -> bool:
    return text.count("\n") == 1 and _RULE.fullmatch(text.partition("\n")[2]) is not None


def _is_empty_code(text: str) -> bool:
    return text.count("\n") <= 1 and all(_FENCE.fullmatch(line) for line in text.split("\n"))


_MOST_DRAWN_CHARS = 8_000  # a block of more, which one endless line can be, is shown as it came
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
        self._printed: list[str] = []  # the blocks of this answer
        self._awaited: list[str] = []  # those that it may begin with once more

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
        self._printed, self._awaited = [], []

    def begin_again(self) -> None:
        """Forget what isn't printed yet: the answer comes anew, and what it repeats isn't printed twice."""
        self._blocks, self._partial, self._drawn, self._length = Blocks(), "", [], 0
        self._awaited, self._printed = [*self._printed, *self._awaited], []
        self._is_between = True

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
        if len(block.text) > _MOST_DRAWN_CHARS:
            return [row for line in make_visible(block.text).split("\n") for row in _broken(line, columns)]
        from dogu.serve.terminal.markdown import markdown_lines

        return markdown_lines(block.text, columns, self._style, continues=block.continues)

    def _print(self, block: Block) -> None:
        self._is_between = True
        self._printed.append(block.text)
        if self._awaited and self._awaited.pop(0) == block.text:
            self._drawn, self._drawn_for = [], (0, 0)
            return
        self._awaited.clear()
        lines = self._markdown(block, self._columns())
        self._drawn, self._drawn_for = [], (0, 0)
        self._draw_after = 0.0
        if lines:
            between = [""] if (self._has_printed or self.follows_other) and not block.continues else []
            self.follows_other = False
            self._emit("\n".join([*between, *lines]))
            self._has_printed = True


def _broken(line: str, columns: int) -> list[str]:
    offsets = [0, *breaks(line, columns), len(line)]
    return [line[start:end] for start, end in pairwise(offsets)]


def _that_fit(lines: list[str], rows: int) -> int:
    """Return how many of the last lines still fit should the terminal become narrow: what scrolls off stays behind."""
    taken = 0
    for count, line in enumerate(reversed(lines)):
        taken += max(1, -(-width_of(line) // _NARROW))
        if taken > rows and count:
            return count
    return len(lines)
