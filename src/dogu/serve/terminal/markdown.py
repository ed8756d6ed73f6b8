"""One block of Markdown as painted lines. Importing this loads rich and takes 80 ms: import it where it is used."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.containers import Lines
from rich.markdown import (
    CodeBlock,
    Heading,
    HorizontalRule,
    Markdown,
    MarkdownContext,
    MarkdownElement,
    Paragraph,
    TableElement,
    TableRowElement,
)
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from dogu.serve.terminal.cells import breaks, hung, widest_part, width_of
from dogu.serve.terminal.draw import language_lines
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible

_LOOKS = {
    "markdown.code": "bold",
    "markdown.code_block": "none",
    "markdown.h1": "bold underline",
    "markdown.h2": "bold",
    "markdown.h3": "bold",
    "markdown.item.bullet": "bold",
    "markdown.item.number": "bold",
    "markdown.link": "underline",
    "markdown.link_url": "underline",
    "markdown.block_quote": "italic",
    "markdown.table.border": "none",
    "markdown.table.header": "bold",
}
_PAINTED = {"markdown.code": "cyan", "markdown.link_url": "blue", "markdown.hr": "dim"}  # by our own palette
_NARROWEST = 20
_TASK = re.compile(r"^([ \t]*[-*+] )\[([ xX])\] ", re.MULTILINE)
_EDGE = "│ "
_GAP = "  "
_WIDE_ENOUGH = 16  # cells: longer words may be broken
_LINE = Segment.line()


class _Text(Text):
    """Text broken as its language breaks it: rich knows only words between blanks."""

    def wrap(self, console: Console, width: int, **_looks: object) -> Lines:
        lines = Lines()
        for line in self.split(allow_blank=True):
            line.expand_tabs(8)
            lines.extend(line.divide(breaks(line.plain, width)))
        for line in lines:
            line.rstrip()
        return lines


class _PlainParagraph(Paragraph):
    """A paragraph at the left."""

    def on_enter(self, context: MarkdownContext) -> None:
        super().on_enter(context)
        self.text = _Text(justify="left")


class _PlainHeading(Heading):
    """A heading at the left, whatever its level."""

    def on_enter(self, context: MarkdownContext) -> None:
        super().on_enter(context)
        self.text = _Text(justify="left")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text
        text.justify = "left"
        yield text


class _PlainCode(CodeBlock):
    """Code behind an edge, below its language's name; a part that goes on an earlier one has no name."""

    look = Style(has_color=False)
    is_continued = False

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _PlainCode:
        """Take the look of the block that it stands in."""
        code = cls((token.info or "").partition(" ")[0], "")
        if isinstance(markdown, _Markdown):
            code.look, code.is_continued = markdown.look, markdown.continues
        return code

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for row in self.rows(str(self.text), options.max_width):
            yield Text.from_ansi(row, no_wrap=True, overflow="ignore", end="\n")

    def rows(self, text: str, cells: int) -> Iterator[str]:
        """Give the painted rows, none wider than `cells`."""
        code, language = text.rstrip("\n"), make_visible(self.lexer_name, keep="")
        edge = self.look.paint(_EDGE, "dim")
        if language not in ("", "text") and not self.is_continued:
            yield self.look.paint(f"{_EDGE}{language}", "dim")
        for spans in language_lines(code, language, self.look):
            painted = "".join(self.look.paint(text, kind) if kind else text for text, kind in spans).expandtabs(4)
            for row in hung(painted, max(_NARROWEST, cells - len(_EDGE)), " "):
                yield edge + row


class _PlainRule(HorizontalRule):
    """A rule of one stroke; rich's is made of dashes."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("─" * (options.max_width // width_of("─")), "markdown.hr")


class _Table(TableElement):
    """A table as wide as its text; its cells are broken as their language is, and nothing is cut off.

    Where its columns would be too narrow for their words, each row stands in lines of its own, a head beside each
    value. rich's own tables cut words off, and take twice as long.
    """

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


class _Markdown(Markdown):
    """Markdown of which nothing is left out: HTML, addresses of links and reference definitions can be seen."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "paragraph_open": _PlainParagraph,
        "heading_open": _PlainHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
        "table_open": _Table,
        "hr": _PlainRule,
    }

    def __init__(self, markup: str, look: Style, *, continues: bool) -> None:
        super().__init__("", hyperlinks=False)
        self.look, self.continues = look, continues
        self.markup = markup
        self.parsed = _parser().parse(markup)
        for token in self.parsed:
            token.children = _told_once(token.children) if token.children else token.children


def _told_once(tokens: list[Token]) -> list[Token]:
    """Leave the link out where its text is its address, which would be shown twice."""
    kept: list[Token] = []
    for token in tokens:
        opened = kept[-2] if len(kept) > 1 else None
        if (
            token.type == "link_close"
            and opened is not None
            and str(opened.attrGet("href")).removeprefix("mailto:") == kept[-1].content
        ):
            del kept[-2]
        else:
            kept.append(token)
    return kept


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    return parser.disable(["reference", "image"])


def markdown_lines(text: str, cells: int, style: Style, *, continues: bool = False) -> list[str]:
    """Return the painted lines of a block, none wider than `cells`; nothing in them is obeyed by a terminal.

    `continues`: it is the next part of a block of code.
    """
    console = _console(max(10, cells), style.has_color, style.colors, style.theme)
    is_code = text.lstrip().startswith(("```", "~~~"))
    shown = make_visible(text if is_code else _TASK.sub(_box, text))
    block = _Markdown(shown, style, continues=continues)
    if len(block.parsed) == 1 and block.parsed[0].type == "fence":  # rich would only take long
        lines = [*_PlainCode.create(block, block.parsed[0]).rows(block.parsed[0].content, console.width)]
    else:
        lines = [_line(segments, console, style) for segments in Segment.split_lines(console.render(block))]
    lines = _trimmed(lines)
    widest = max(map(width_of, lines), default=0)
    if widest > cells > _NARROWEST:  # where ambiguous characters are wide, rich doesn't know
        return markdown_lines(text, max(_NARROWEST, cells * cells // widest), style, continues=continues)
    return lines


def _box(match: re.Match[str]) -> str:
    return f"{match[1]}{'☐' if match[2] == ' ' else '☑'} "


def _theme(theme: str, colors: int) -> Theme:
    painted = Style(has_color=True, theme=theme, colors=colors)
    looks = {name: f"{look} {_rich_color(painted, _PAINTED.get(name, ''))}".strip() for name, look in _LOOKS.items()}
    return Theme({**looks, "markdown.hr": _rich_color(painted, "dim")})


def _rich_color(style: Style, name: str) -> str:
    """Return one of our colors by rich's own name for it."""
    if not name:
        return ""
    code = style.paint("x", name).partition("m")[0].removeprefix("\x1b[")
    if code.startswith("38;5;"):
        return f"color({code[5:]})"
    return f"color({int(code) - 30 if int(code) < 90 else int(code) - 82})"


@lru_cache(4)
def _console(cells: int, has_color: bool, colors: int, theme: str) -> Console:
    return Console(
        file=io.StringIO(),
        width=cells,
        height=50,
        force_terminal=True,
        color_system=("256" if colors > 16 else "standard") if has_color else None,
        no_color=not has_color,
        highlight=False,
        theme=_theme(theme, colors),
        legacy_windows=False,
        emoji=False,
        markup=False,
    )


def _line(segments: list[Segment], console: Console, style: Style) -> str:
    # An entity such as &#8238; is decoded only now.
    parts = [(make_visible(segment.text, keep="\t"), segment.style) for segment in segments if not segment.control]
    while parts and not parts[-1][0].rstrip() and not (parts[-1][1] and parts[-1][1].bgcolor):
        parts.pop()
    if parts:
        parts[-1] = parts[-1][0].rstrip(), parts[-1][1]
    if not style.has_color:
        return "".join(text for text, _ in parts)
    system = console._color_system  # pyright: ignore[reportPrivateUsage]  (the public name is a text, which can't be used)
    return "".join(look.render(text, color_system=system) if look and text else text for text, look in parts)


def _trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        del lines[0]
    return lines
