"""Colors, where the terminal has them and nobody said NO_COLOR; for a dark background or a light one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

_SIMPLE = {
    "dim": "2",
    "bold": "1",
    "italic": "3",
    "underline": "4",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "added_word": "1;7;32",
    "removed_word": "1;7;31",
}
_DARK = {**_SIMPLE, "dim": "38;5;245", "added_word": "1;38;5;157;48;5;22", "removed_word": "1;38;5;217;48;5;52"}
_LIGHT = {
    **_SIMPLE,
    "dim": "38;5;242",
    "red": "38;5;124",
    "green": "38;5;28",
    "yellow": "38;5;94",
    "blue": "38;5;26",
    "magenta": "38;5;90",
    "cyan": "38;5;30",
    "added_word": "1;38;5;22;48;5;194",
    "removed_word": "1;38;5;88;48;5;224",
}
THEMES = ("dark", "light")


class Style:
    """Paints text, or leaves it alone. `theme` may be changed at any time: it holds for what is painted afterwards."""

    def __init__(self, has_color: bool, theme: str = "dark", *, has_many: bool = False) -> None:
        self.has_color = has_color
        self.has_many = has_many
        self.theme = theme

    @classmethod
    def of(cls, out: TextIO, environ: Mapping[str, str] = os.environ, theme: str = "") -> Style:
        """Look at the stream and the environment (`NO_COLOR`, `FORCE_COLOR`, `TERM`, `COLORFGBG`)."""
        chosen = theme if theme in THEMES else theme_of(environ) or "dark"
        terminal = environ.get("TERM", "")
        many = "256color" in terminal or bool(environ.get("COLORTERM"))
        if environ.get("NO_COLOR"):
            return cls(has_color=False, theme=chosen)
        if environ.get("FORCE_COLOR"):
            return cls(has_color=True, theme=chosen, has_many=many)
        return cls(has_color=out.isatty() and terminal not in ("", "dumb"), theme=chosen, has_many=many)

    def paint(self, text: str, *names: str) -> str:
        """Return the text in these colors; each line is painted by itself, so that no color runs on."""
        if not self.has_color or not text:
            return text
        codes = _SIMPLE if not self.has_many else _LIGHT if self.theme == "light" else _DARK
        start = f"\x1b[{';'.join(codes[name] for name in names)}m"
        return "\n".join(f"{start}{line}\x1b[0m" if line else line for line in text.split("\n"))


def theme_of(environ: Mapping[str, str]) -> str:
    """Return the theme for the background that `COLORFGBG` tells of; empty when it tells none."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    if not background.isdigit():
        return ""
    return "light" if int(background) in (7, 9, 10, 11, 12, 13, 14, 15) else "dark"


def theme_of_color(red: float, green: float, blue: float) -> str:
    """Return the theme for a background color, each part from 0 to 1."""
    return "light" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 else "dark"
