"""Text in the cells of a terminal: how wide it is, cut to fit; East Asian ambiguous characters by setting."""

from __future__ import annotations

import re
from unicodedata import east_asian_width

from dogu.workspace import columns

_PAINT = re.compile("\x1b(?:\\[[0-9;]*[mAB]|[78]|[_\\]][^\x07\x1b]*(?:\x07|\x1b\\\\))")  # pictures among it
_PAINTED = re.compile("\x1b\\[[0-9;]*m|[^\x1b]", re.DOTALL)
_AMBIGUOUS_END = 0x10000
_LONGEST_LINE_CHARS = 1_000  # of which clusters are looked for: flags are paired from the first of a row


def use_wide_ambiguous() -> None:
    """From now on count ambiguous characters (`…`, `─`, `α`) as two cells, as terminals set up for CJK draw them."""
    from prompt_toolkit import utils

    sizes = utils._CHAR_SIZES_CACHE  # pyright: ignore[reportPrivateUsage]  (there is no public way to say it)
    for code in range(0xA1, _AMBIGUOUS_END):
        character = chr(code)
        if east_asian_width(character) == "A" and not 0x300 <= code < 0x370 and not 0xE000 <= code < 0xF900:
            sizes[character] = 2


def width_of(text: str) -> int:
    """Return how many cells a line takes; paint takes none."""
    from prompt_toolkit.utils import get_cwidth

    plain = _PAINT.sub("", text) if "\x1b" in text else text
    return len(plain) if plain.isascii() else sum(map(get_cwidth, plain))


def rows_of(text: str, cells: int) -> int:
    """Return how many rows a text takes where a terminal of so many cells breaks its lines."""
    return sum(max(1, -(-width_of(line) // cells)) for line in text.split("\n"))


def labelled(label: str) -> str:
    """Return a label with a blank behind it, unless a wide mark ends it, which has its own."""
    return label if width_of(label[-1:]) > 1 else f"{label} "


def clusters(text: str) -> list[str]:
    """Cut a text into what is seen as one character each, which may be several code points."""
    from wcwidth import iter_graphemes

    return [*iter_graphemes(text)]


def cluster_before(text: str) -> str:
    """Return what is seen as the last character of a text."""
    return ["", *clusters(text[-_LONGEST_LINE_CHARS:])][-1]


def cluster_after(text: str) -> str:
    """Return what is seen as the first character of a text."""
    return next(iter(clusters(text[:_LONGEST_LINE_CHARS])), "")


def fit(text: str, cells: int) -> str:
    """Return one plain line cut to so many cells, `…` at its end when it was longer; no character is halved."""
    if len(text) * 2 <= cells or width_of(text) <= cells:
        return text
    used, kept = width_of("…"), 0
    for character in text:
        used += width_of(character)
        if used > cells:
            break
        kept += 1
    return text[:kept] + "…"


def fit_middle(text: str, cells: int) -> str:
    """Return one plain line cut to so many cells in its middle, so that its end can be seen."""
    if width_of(text) <= cells:
        return text
    head = fit(text, max(2, cells // 2))
    tail, used = "", width_of(head)
    for character in reversed(text):
        used += width_of(character)
        if used > cells:
            break
        tail = character + tail
    return head + tail


def wrapped(text: str, cells: int) -> str:
    """Return plain text with its lines broken between words, none wider than `cells` where that can be helped."""
    return columns.wrapped(text, cells, width_of)


def breaks(line: str, cells: int) -> list[int]:
    """Return the offsets at which a line goes on in a further one, none wider than `cells`."""
    return columns.breaks(line, cells, width_of)


def widest_part(text: str) -> int:
    """Return how wide the longest part of a text is that isn't to be broken, such as a word."""
    return columns.widest_part(text, width_of)


def hanging(text: str, cells: int, indent: str = "  ") -> str:
    """Return plain text broken between words; each piece but the first of a line has `indent` before it."""
    return "\n".join(columns.hanging(line, cells, indent, width_of) for line in text.split("\n"))


def indented(text: str, cells: int) -> str:
    """Return plain text broken between words, with two blanks before each line."""
    return "\n".join(f"  {line}" for line in wrapped(text, cells - 2).split("\n"))


def hung(painted: str, cells: int, gutter: str) -> list[str]:
    """Cut a painted line into rows of `cells`; `gutter` stands before each row but the first.

    So no part of a line can pass for the beginning of another one.
    """
    if len(painted) * 2 <= cells or width_of(painted) <= cells:
        return [painted]
    rows, used, look = [""], 0, ""
    for piece in _PAINTED.findall(painted):
        if piece.startswith("\x1b"):
            look = "" if piece == "\x1b[0m" else piece
            rows[-1] += piece
            continue
        wide = 8 - used % 8 if piece == "\t" else 1 if piece.isascii() else width_of(piece)
        if used + wide > cells:
            rows[-1] += "\x1b[0m" if look else ""
            rows.append(gutter + look)
            used = width_of(gutter)
        rows[-1] += piece
        used += wide
    return rows


def plain_of(text: str) -> str:
    """Return painted text without its paint."""
    return _PAINT.sub("", text)
