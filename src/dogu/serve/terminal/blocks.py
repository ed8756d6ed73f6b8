"""Cuts streaming Markdown into blocks: those that no further text can change, and the last one, still growing.

Pure and incremental: what a piece of text costs doesn't depend on what came before.
"""

from __future__ import annotations

import re

import msgspec

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_MOST_CODE_LINES = 40
_MOST_LIST_LINES = 60


class Block(msgspec.Struct, frozen=True):
    """A stretch of Markdown that can be drawn by itself. `continues`: it goes on a block of code cut for its length."""

    text: str
    continues: bool = False


class Blocks:
    """Takes text as it comes, gives finished blocks. `rest` is the block that isn't finished."""

    def __init__(self) -> None:
        self._lines: list[str] = []  # of the block under way, whole ones
        self._partial: list[str] = []  # the last line, not ended yet
        self._fence = ""  # the opening line of the code block under way
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
        self._lines.append(line)
        if marks and closing and set(closing) == {marks[2][0]} and len(closing) >= len(marks[2]):
            self._fence = ""
            return self._take()
        if marks and len(self._lines) > _MOST_CODE_LINES:
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
            starts_anew = _ITEM.match(line) and len(self._lines) >= _MOST_LIST_LINES
            if (self._after_blank and not line[0].isspace() and not _ITEM.match(line)) or starts_anew:
                finished = self._take()
        self._after_blank = False
        if _HEADING.match(line):
            return [*finished, *self._take(), Block(line)]
        self._lines.append(line)
        return finished

    def _is_list(self) -> bool:
        return bool(self._lines) and _ITEM.match(self._lines[0]) is not None

    def _take(self) -> list[Block]:
        text = "\n".join(self._lines).rstrip("\n")
        block = Block(text, self._continues)
        self._lines, self._continues, self._fence, self._after_blank = [], False, "", False
        return [block] if text.strip() and not (block.continues and _is_empty_code(text)) else []


def _is_empty_code(text: str) -> bool:
    return text.count("\n") <= 1 and all(_FENCE.fullmatch(line) for line in text.split("\n"))
