"""A page as the text that a reader of it sees, in plain Markdown: headings, lists, links, tables, code."""

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
    Look,
    has_own_ground,
    hides,
    hides_by_attributes,
    own_style,
    styled_nodes,
)
from dogu.workspace.web.nesting import is_nested_too_deeply
from dogu.workspace.web.writer import PageWriter

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

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
    look = Look(ground=None if has_own_ground(tree) else (255, 255, 255))
    walk = _Walk(address, styled_nodes(tree, markup.count("<")))
    walk.run(root, look)
    return PageText(" ".join(title.text().split()) if title else "", walk.writer.text())


class _Walk:
    """Goes through a page without recursion: its depth is the page's to choose."""

    def __init__(self, address: str, styles: Mapping[int, Mapping[str, str]]) -> None:
        self.writer = PageWriter()
        self._address = address
        self._styles = styles
        self._waiting: list[tuple[LexborNode, Look] | Callable[[], None]] = []

    def run(self, root: LexborNode, look: Look) -> None:
        self._waiting.append((root, look))
        while self._waiting:
            item = self._waiting.pop()
            if callable(item):
                item()
            else:
                self._enter(*item)

    def _enter(self, node: LexborNode, look: Look) -> None:
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
        children: list[tuple[LexborNode, Look] | Callable[[], None]] = []
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
