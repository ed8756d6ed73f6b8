"""A page as the text that a reader of it sees, in plain Markdown: headings, lists, links, tables, code.

Markup that nests too deeply isn't parsed: the parser looks at all open elements again for each new one, so that 200,000
open ones cost minutes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import unescape
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urljoin

import msgspec
from selectolax.lexbor import LexborHTMLParser

from dogu.workspace.web.hidden import (
    UNSHOWN_TAGS,
    Appearance,
    has_own_ground,
    hides,
    hides_by_attributes,
    own_style,
    styled_nodes,
)

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)")
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_END_THEMSELVES = frozenset("p li dt dd tr td th tbody thead tfoot option optgroup colgroup rt rp".split())
_FORMATTING = frozenset("a b big code em font i nobr s small strike strong tt u".split())
_BOUNDS = frozenset("table td th caption template object marquee applet svg math html button".split())
_MOST_WORK = 30_000_000
_MOST_REPEATED = 3_000_000
_MOST_LOOKED_AT = 50


def is_nested_too_deeply(markup: str) -> bool:
    """Estimate the work, rather too high than too low: an end tag closes only what it certainly does."""
    opened: list[str] = []
    work = repeated = formatting = 0
    for match in _TAG.finditer(markup):
        name = match[2].lower()
        work += len(opened)
        repeated += formatting
        if work > _MOST_WORK or repeated > _MOST_REPEATED:
            return True
        if name in _VOID or name in _END_THEMSELVES:
            continue
        if not match[1]:
            opened.append(name)
            formatting += name in _FORMATTING
        elif (at := _closed(opened, name)) is not None:
            formatting -= sum(closed in _FORMATTING for closed in opened[at:]) if formatting else 0
            del opened[at:]
    return False


def _closed(opened: list[str], name: str) -> int | None:
    """Return where the element stands that an end tag closes; None when it closes none for certain."""
    for at in range(len(opened) - 1, max(-1, len(opened) - _MOST_LOOKED_AT), -1):
        if opened[at] == name:
            return at
        if opened[at] in _BOUNDS:
            return None
    return None


_BLANKS = re.compile(r"[ \t\r\n\f]+")
# Invisible characters that can carry text of their own.
_SMUGGLING = re.compile("[\U000e0000-\U000e007f\ufeff\u200b\u2060-\u2064]")
_EMPTY_LINES = re.compile(r"\n{3,}")


class PageWriter:
    """Collects a page's text in order."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._prefix = ""
        self._lists: list[int | None] = []  # the next number, None for bullets
        self._code = 0
        self._mute = 0
        self._cells = 0

    def write(self, text: str) -> None:
        """Write text; white space is one blank, outside of code."""
        if self._mute:
            return
        text = _SMUGGLING.sub("", text)
        if self._code:
            first, *rest = text.split("\n")
            self._line.append(first)
            for line in rest:
                self._flush()
                self._line.append(line)
            return
        text = _BLANKS.sub(" ", text)
        if text == " " and not self._line:
            return
        self._line.append(text)

    def end_line(self) -> None:
        """End the line, if there is something on it."""
        if self._line:
            self._flush()

    def end_block(self) -> None:
        """End the line, and leave one empty after it."""
        self.end_line()
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def begin_line(self, prefix: str) -> None:
        """Begin a line; the prefix is written only when something follows."""
        self.end_line()
        self._prefix = prefix

    def open_list(self, *, is_numbered: bool) -> None:
        """Begin a list; one within another stays close to it."""
        if not self._lists:
            self.end_block()
        self._lists.append(1 if is_numbered else None)

    def close_list(self) -> None:
        """End a list."""
        self.end_line()
        self._lists.pop()
        if not self._lists:
            self.end_block()

    def begin_item(self) -> None:
        """Begin the next item of the list."""
        indent = "  " * max(0, min(len(self._lists), 20) - 1)
        number = self._lists[-1] if self._lists else None
        self.begin_line(f"{indent}- " if number is None else f"{indent}{number}. ")
        if number is not None:
            self._lists[-1] = number + 1

    def begin_row(self) -> None:
        """Begin a row of a table."""
        self.end_line()
        self._cells = 0

    def begin_cell(self) -> None:
        """Begin the next cell of the row."""
        if self._cells:
            self._line.append(" | ")
        self._cells += 1

    def open_link(self, address: str) -> Callable[[], None]:
        """Begin a link, and return what ends it; one without text is left out."""
        if self._mute or self._code:
            return lambda: None
        start = len(self._line)
        lines = len(self._lines)

        def close() -> None:
            if len(self._lines) != lines:
                self._line.append(f" ({address})")
                return
            text = "".join(self._line[start:])
            if text.strip():
                lead = " " if text.startswith(" ") else ""
                self._line[start:] = [f"{lead}[{text.strip()}]({address})", " " if text.endswith(" ") else ""]

        return close

    def begin_code(self) -> None:
        """Begin text whose white space counts."""
        self.end_block()
        if not self._code:
            self._lines.append("```")
        self._code += 1

    def end_code(self) -> None:
        """End it."""
        self._code -= 1
        if self._line:
            self._flush(is_code=True)
        if not self._code:
            while not self._lines[-1].strip():
                self._lines.pop()
            if self._lines[-1] == "```":
                self._lines.pop()
            else:
                self._lines += ["```", ""]

    def rule(self) -> None:
        """Write a line across the page."""
        self.end_block()
        self._lines += ["---", ""]

    def mute(self) -> None:
        """Write nothing until `unmute`."""
        self._mute += 1

    def unmute(self) -> None:
        """Write again."""
        self._mute -= 1

    def text(self) -> str:
        """Return all that was written."""
        self.end_line()
        return _EMPTY_LINES.sub("\n\n", "\n".join(self._lines)).strip("\n")

    def _flush(self, *, is_code: bool = False) -> None:
        line = "".join(self._line)
        if not (self._code or is_code):
            line = _BLANKS.sub(" ", line).strip(" ")
            line = f"{self._prefix}{line}".rstrip() if line else ""
        self._line.clear()
        self._prefix = ""
        if line or self._code or is_code:
            self._lines.append(line)


_BLOCKS = frozenset(
    "address article aside blockquote body button center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form header hgroup html legend main menu nav ol optgroup option p search section summary table tbody tfoot "
    "thead caption ul".split()
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_Act: TypeAlias = Callable[[PageWriter], None]
_CODE: tuple[_Act, _Act] = (PageWriter.begin_code, PageWriter.end_code)
_INLINE: dict[str, tuple[_Act, _Act | None]] = {
    "li": (PageWriter.begin_item, PageWriter.end_line),
    "br": (PageWriter.end_line, None),
    "hr": (PageWriter.rule, None),
    "tr": (PageWriter.begin_row, PageWriter.end_line),
    "td": (PageWriter.begin_cell, None),
    "th": (PageWriter.begin_cell, None),
    "rt": (lambda writer: writer.write("("), lambda writer: writer.write(")")),
    "rp": (PageWriter.mute, PageWriter.unmute),
    **dict.fromkeys(("pre", "textarea", "listing", "xmp"), _CODE),
}
_MARKUP = re.compile(r"<(script|style|template)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)|<[^>]*>?", re.S | re.I)


class PageText(msgspec.Struct, frozen=True):
    """A page's title and its text, both perhaps empty."""

    title: str
    text: str


def read_html(markup: str, address: str) -> PageText:
    """Return what a page says; links are made absolute by `address`, or by the page's own base."""
    if is_nested_too_deeply(markup):
        return PageText("", _without_markup(markup))

    tree = LexborHTMLParser(markup)
    title = tree.css_first("title")
    base = tree.css_first("base[href]")
    address = _joined(address, (base.attributes.get("href") or "") if base else "") or address
    root = tree.root
    if root is None:
        return PageText("", "")
    look = Appearance(ground=None if has_own_ground(tree) else (255, 255, 255))
    walk = _Walk(address, styled_nodes(tree, markup.count("<")))
    walk.run(root, look)
    return PageText(" ".join(title.text().split()) if title else "", walk.writer.text())


class _Walk:
    """Goes through a page without recursion: its depth is the page's to choose."""

    def __init__(self, address: str, styles: Mapping[int, Mapping[str, str]]) -> None:
        self.writer = PageWriter()
        self._address = address
        self._styles = styles
        self._waiting: list[tuple[LexborNode, Appearance] | Callable[[], None]] = []

    def run(self, root: LexborNode, look: Appearance) -> None:
        self._waiting.append((root, look))
        while self._waiting:
            item = self._waiting.pop()
            if callable(item):
                item()
            else:
                self._enter(*item)

    def _enter(self, node: LexborNode, look: Appearance) -> None:
        if node.is_text_node:
            if look.shows_text:
                self.writer.write(node.text_content or "")
            return
        tag = node.tag or ""
        if not node.is_element_node or tag in UNSHOWN_TAGS:
            return
        attributes = node.attributes
        style = {**self._styles.get(node.mem_id, {}), **own_style(attributes)}
        if hides_by_attributes(attributes, tag) or hides(style):
            return
        self._open(tag, attributes)
        inner = look.styled(style) if style else look
        children: list[tuple[LexborNode, Appearance] | Callable[[], None]] = []
        child = node.child
        while child is not None:
            children.append((child, inner))
            child = child.next
        self._waiting += reversed(children)

    def _open(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        """Begin an element; what ends it waits below its children."""
        writer = self.writer
        if tag in _HEADINGS:
            writer.end_block()
            writer.begin_line(_HEADINGS[tag])
            self._waiting.append(writer.end_block)
        elif tag in _BLOCKS:
            is_apart = tag in ("p", "table", "blockquote", "section", "article")
            end = writer.end_block if is_apart else writer.end_line
            end()
            self._waiting.append(end)
            if tag in ("ul", "ol", "menu"):
                writer.open_list(is_numbered=tag == "ol")
                self._waiting.append(writer.close_list)
        else:
            self._open_inline(tag, attributes)

    def _open_inline(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        begin, end = _INLINE.get(tag, (None, None))
        if begin is not None:
            begin(self.writer)
        if end is not None:
            self._waiting.append(lambda: end(self.writer))
        if tag == "a" and (link := _joined(self._address, attributes.get("href") or "")):
            self._waiting.append(self.writer.open_link(link))
        if tag == "img" and (alt := " ".join((attributes.get("alt") or "").split())):
            self.writer.write(f" [image: {alt}] ")


def _joined(address: str, link: str) -> str:
    """Return the link as an absolute address of the web, empty for what is none or leads nowhere else."""
    link = link.strip()
    if not link or link.startswith("#"):
        return ""
    try:
        joined = urljoin(address, link)
    except ValueError:
        return ""
    is_plain = joined.startswith(("http://", "https://")) and len(joined) <= 2_000 and not re.search(r"[\s<>]", joined)
    return joined if is_plain else ""


def _without_markup(markup: str) -> str:
    lines = (" ".join(line.split()) for line in unescape(_MARKUP.sub("\n", markup)).splitlines())
    return "\n".join(line for line in lines if line)
