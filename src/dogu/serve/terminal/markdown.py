"""One block of Markdown as painted lines. Importing this loads rich and takes 80 ms: import it where it is used."""

from __future__ import annotations

import io
from functools import cache, lru_cache
from typing import ClassVar

from markdown_it import MarkdownIt
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.containers import Lines
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownContext, MarkdownElement, Paragraph, TableElement
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from dogu.serve.terminal.cells import breaks, width_of
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible

_THEME = Theme(
    {
        "markdown.code": "bold cyan",
        "markdown.code_block": "none",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.item.bullet": "bold",
        "markdown.item.number": "bold",
        "markdown.link": "underline",
        "markdown.link_url": "blue underline",
        "markdown.block_quote": "italic",
    }
)
_NARROWEST = 20
_CODE_THEMES = {"dark": "monokai", "light": "friendly"}


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
    """Code without a background or a margin, so that it can be copied and drawn in parts."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip("\n")
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=0, background_color="default")


class _PlainTable(TableElement):
    """A table whose lines every terminal has."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for found in super().__rich_console__(console, options):
            if isinstance(found, Table):
                found.box = box.ASCII2 if console.legacy_windows else box.SIMPLE_HEAD
            yield found


class _Markdown(Markdown):
    """Markdown of which nothing is left out: HTML, addresses of links and reference definitions can be seen."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "paragraph_open": _PlainParagraph,
        "heading_open": _PlainHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
        "table_open": _PlainTable,
    }

    def __init__(self, markup: str, code_theme: str) -> None:
        super().__init__("", code_theme=code_theme, hyperlinks=False)
        self.markup = markup
        self.parsed = _parser().parse(markup)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    return parser.disable(["reference", "image"])


def markdown_lines(text: str, cells: int, style: Style) -> list[str]:
    """Return the painted lines of a block, none wider than `cells`; nothing in them is obeyed by a terminal."""
    console = _console(max(10, cells), style.has_color, style.has_many)
    block = _Markdown(make_visible(text), _CODE_THEMES[style.theme] if style.has_many else "ansi_dark")
    lines = _trimmed([_line(segments, console, style) for segments in Segment.split_lines(console.render(block))])
    widest = max(map(width_of, lines), default=0)
    if widest > cells > _NARROWEST:  # where ambiguous characters are wide, rich doesn't know
        return markdown_lines(text, max(_NARROWEST, cells * cells // widest), style)
    return lines


@lru_cache(4)
def _console(cells: int, has_color: bool, has_many: bool) -> Console:
    return Console(
        file=io.StringIO(),
        width=cells,
        height=50,
        force_terminal=True,
        color_system=("256" if has_many else "standard") if has_color else None,
        no_color=not has_color,
        highlight=False,
        theme=_THEME,
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
