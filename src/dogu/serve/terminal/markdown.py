"""One block of Markdown as painted lines. Importing this loads rich and takes 80 ms: import it where it is used."""

from __future__ import annotations

import io
import re
from functools import cache, lru_cache
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.containers import Lines
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownContext, MarkdownElement, Paragraph
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from dogu.serve.terminal.cells import breaks, hung, width_of
from dogu.serve.terminal.draw import language_lines
from dogu.serve.terminal.style import Style
from dogu.serve.terminal.tables import Table
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
        code, language = str(self.text).rstrip("\n"), make_visible(self.lexer_name, keep="")
        edge = self.look.paint(_EDGE, "dim")
        if language not in ("", "text") and not self.is_continued:
            yield _ready(self.look.paint(f"{_EDGE}{language}", "dim"))
        for spans in language_lines(code, language, self.look):
            painted = "".join(self.look.paint(text, kind) if kind else text for text, kind in spans).expandtabs(4)
            for row in hung(painted, max(_NARROWEST, options.max_width - len(_EDGE)), " "):
                yield _ready(edge + row)


def _ready(painted: str) -> Text:
    return Text.from_ansi(painted, no_wrap=True, overflow="ignore", end="\n")


class _Markdown(Markdown):
    """Markdown of which nothing is left out: HTML, addresses of links and reference definitions can be seen."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "paragraph_open": _PlainParagraph,
        "heading_open": _PlainHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
        "table_open": Table,
    }

    def __init__(self, markup: str, look: Style, *, continues: bool) -> None:
        super().__init__("", hyperlinks=False)
        self.look, self.continues = look, continues
        self.markup = markup
        self.parsed = _parser().parse(markup)


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
    lines = _trimmed([_line(segments, console, style) for segments in Segment.split_lines(console.render(block))])
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
