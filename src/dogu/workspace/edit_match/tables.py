"""Tables of Markdown: models send them without the blanks that make their columns even."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from unicodedata import east_asian_width

from dogu.workspace.edit_match.views import fold

_RULE = re.compile(r"\|?:?-:?(?:\|:?-:?)+\|?")
_DASHES = re.compile("-+")
_EDGE = re.compile(r"(?<!\\)\|")
_FEWEST_ROWS = 2


class Columns(NamedTuple):
    """How wide the cells of each column of a table are, the blanks around them counted, and which are flush right.

    With `by_look` a character of CJK counts twice.
    """

    widths: tuple[int, ...]
    flush_right: tuple[bool, ...]
    by_look: bool


def is_rule(ours: str, theirs: str) -> bool:
    """Whether both lines are what stands below the head of a table, and say the same of its columns."""
    one, other = (_DASHES.sub("-", fold(line)) for line in (ours, theirs))
    return one == other and _RULE.fullmatch(one) is not None


def even_columns(rows: Iterable[tuple[str, str]]) -> Columns | None:
    """Return the columns of the table that the rows (as the model has them, and as the file does) are of; None where
    they aren't even in the file, or the model has them so.
    """
    both = [(mine, file) for mine, file in rows if _cells(file)]
    if len(both) < _FEWEST_ROWS or all(mine.strip() == file.strip() for mine, file in both):
        return None
    lines = [_cells(file) for _, file in both]
    if _are_even([_cells(mine) for mine, _ in both], by_look=False):
        return None
    for by_look in (False, True):
        if _are_even(lines, by_look=by_look):
            widths = tuple(_width(cell, by_look=by_look) for cell in lines[0])
            return Columns(widths, tuple(map(_is_flush_right, zip(*lines, strict=True))), by_look)
    return None


def evened(line: str, columns: Columns) -> str:
    """Return a row with its cells as wide as the columns are; as it is where one doesn't fit, or it is no such row."""
    cells = _cells(line)
    if len(cells) != len(columns.widths) or is_rule(line, line):
        return line
    out: list[str] = []
    for cell, width, flush_right in zip(cells, columns.widths, columns.flush_right, strict=True):
        blanks = width - _width(cell.strip(), by_look=columns.by_look) - len("  ")
        if blanks < 0:
            return line
        out.append(f" {' ' * blanks * flush_right}{cell.strip()}{' ' * blanks * (not flush_right)} ")
    return f"{line[: line.index('|')]}|{'|'.join(out)}|"


def _cells(line: str) -> list[str]:
    """Return what is between the edges of a row, blanks included; empty for a line that isn't one."""
    text = line.strip()
    return _EDGE.split(text)[1:-1] if text[:1] == "|" and text.endswith("|") and not text.endswith("\\|") else []


def _are_even(lines: Sequence[Sequence[str]], *, by_look: bool) -> bool:
    return len({tuple(_width(cell, by_look=by_look) for cell in line) for line in lines}) == 1


def _is_flush_right(cells: Sequence[str]) -> bool:
    texts = [cell for cell in cells if cell.strip("-: ")]
    return all(cell[:-1] == cell.rstrip() for cell in texts) and any(cell[1:] != cell.lstrip() for cell in texts)


def _width(text: str, *, by_look: bool) -> int:
    return len(text) + (sum(east_asian_width(char) in "WF" for char in text) if by_look else 0)
