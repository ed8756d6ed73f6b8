"""Text in the cells of a terminal: how wide it is, cut to fit; East Asian ambiguous characters by setting."""

from __future__ import annotations

import re

_PAINT = re.compile("\x1b\\[[0-9;]*m")
_AMBIGUOUS_END = 0x10000


def use_wide_ambiguous() -> None:
    """From now on count ambiguous characters (`…`, `─`, `α`) as two cells, as terminals set up for CJK draw them."""
    from unicodedata import east_asian_width

    from prompt_toolkit import utils

    sizes = utils._CHAR_SIZES_CACHE  # pyright: ignore[reportPrivateUsage]  (there is no public way to say it)
    for code in range(0xA1, _AMBIGUOUS_END):
        character = chr(code)
        if east_asian_width(character) == "A" and not 0x300 <= code < 0x370 and not 0xE000 <= code < 0xF900:
            sizes[character] = 2


def width_of(text: str) -> int:
    """Return how many cells a line takes; paint takes none."""
    from prompt_toolkit.utils import get_cwidth

    plain = _PAINT.sub("", text)
    return len(plain) if plain.isascii() else sum(map(get_cwidth, plain))


def fit(text: str, cells: int) -> str:
    """Return one plain line cut to so many cells, `…` at its end when it was longer; no character is halved."""
    from prompt_toolkit.utils import get_cwidth

    if len(text) * 2 <= cells or width_of(text) <= cells:
        return text
    used, kept = get_cwidth("…"), 0
    for character in text:
        used += get_cwidth(character)
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
    return "\n".join(piece for line in text.split("\n") for piece in _broken(line, max(20, cells)))


def _broken(line: str, cells: int) -> list[str]:
    if len(line) * 2 <= cells or width_of(line) <= cells:
        return [line]
    indent = line[: len(line) - len(line.lstrip(" "))]
    pieces, used = [""], 0
    for word in re.findall(r"[^ \u3000-\u9fff\uac00-\uffef]+ *|[\u3000-\u9fff\uac00-\uffef] *| +", line):
        width = width_of(word.rstrip(" "))
        if used + width > cells and pieces[-1].strip():
            pieces.append(indent)
            used = len(indent)
        pieces[-1] += word
        used += width_of(word)
    return [piece.rstrip(" ") for piece in pieces]
