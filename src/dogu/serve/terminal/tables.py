"""A table of an answer, as wide as its text; its cells are broken as their language is, and nothing is cut off.

Where its columns would be too narrow for their words, each row stands in lines of its own, a head beside each value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import TableElement, TableRowElement
from rich.segment import Segment
from rich.text import Text

from dogu.serve.terminal.cells import breaks, widest_part, width_of

_GAP = "  "
_WIDE_ENOUGH = 16  # cells: longer words may be broken
_LINE = Segment.line()


class Table(TableElement):
    """Draws what rich has read: rich's own tables cut words off, and take ten times as long."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head = _texts(self.header.row if self.header is not None else None)
        for each in head:
            each.stylize("markdown.table.header")
        rows = [_texts(row) for row in self.body.rows] if self.body is not None else []
        room = options.max_width - 1
        widths = _widths([head, *rows], room - len(_GAP) * (len(head) - 1))
        if not widths:
            yield from _stacked(head, rows, room, console)
            return
        yield from _row(head, widths, console)
        yield from _rule(sum(widths) + len(_GAP) * (len(widths) - 1))
        for row in rows:
            yield from _row(row, widths, console)


def _texts(row: TableRowElement | None) -> list[Text]:
    texts = [cell.content for cell in row.cells] if row is not None else []
    for text in texts:
        if "\t" in text.plain:
            text.expand_tabs(8)
    return texts


def _widths(rows: Sequence[Sequence[Text]], room: int) -> list[int]:
    """Return how wide each column is; none where they can't stand side by side.

    A column has what its text takes, or the widest have as much as is left, and each at least its longest word.
    """
    natural = [max(map(width_of, plain)) for plain in _columns(rows)]
    if sum(natural) <= room:
        return natural
    least = [min(_WIDE_ENOUGH, max(map(widest_part, plain))) for plain in _columns(rows)]
    if sum(least) > room:
        return []
    most = room
    while sum(widths := [max(few, min(many, most)) for few, many in zip(least, natural, strict=True)]) > room:
        most -= 1
    left = room - sum(widths)
    for at in sorted(range(len(widths)), key=lambda at: natural[at] - widths[at]):
        more = min(left, natural[at] - widths[at])
        widths[at], left = widths[at] + more, left - more
    return widths


def _columns(rows: Sequence[Sequence[Text]]) -> Iterator[tuple[str, ...]]:
    yield from zip(*([text.plain for text in row] for row in rows), strict=True)


def _row(texts: Sequence[Text], widths: Sequence[int], console: Console) -> Iterator[Segment]:
    cells = [_broken(text, width) for text, width in zip(texts, widths, strict=True)]
    for number in range(max(map(len, cells), default=0)):
        due = " "
        for lines, width, text in zip(cells, widths, texts, strict=True):
            line = lines[number] if number < len(lines) else Text()
            free = width - width_of(line.plain)
            before = free if text.justify == "right" else free // 2 if text.justify == "center" else 0
            yield Segment(due + " " * before)
            yield from line.render(console)
            due = " " * (free - before) + _GAP
        yield _LINE


def _stacked(head: Sequence[Text], rows: Sequence[Sequence[Text]], room: int, console: Console) -> Iterator[Segment]:
    beside = min(max(map(width_of, (text.plain for text in head)), default=0), room // 2)
    widths = [beside, room - beside - len(_GAP)]
    for number, row in enumerate(rows):
        if number:
            yield from _rule(room)
        for name, value in zip(head, row, strict=True):
            left = value.copy()
            left.justify = "left"
            yield from _row([name, left], widths, console)


def _rule(cells: int) -> Iterator[Segment]:
    yield Segment(" " + "─" * (cells // width_of("─")))
    yield _LINE


def _broken(text: Text, width: int) -> Sequence[Text]:
    offsets = breaks(text.plain, width)
    if not offsets:
        return [text]
    lines = text.divide(offsets)
    for line in lines:
        line.rstrip()
    return list(lines)
