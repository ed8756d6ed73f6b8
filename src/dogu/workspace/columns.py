"""Columns of text as a terminal shows them, where a letter may take two cells or none."""

from __future__ import annotations


def width(text: str) -> int:
    """Return how many cells the text takes; of what can't be shown, none."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth, wcwidth

    cells = wcswidth(text)
    return cells if cells >= 0 else sum(max(0, wcwidth(character)) for character in text)


def padded(text: str, cells: int) -> str:
    """Return the text with blanks after it up to so many cells; a longer one as it is."""
    return text + " " * (cells - width(text))
