"""Colors, where the terminal has them and nobody said NO_COLOR."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

_CODES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


class Style:
    """Paints text, or leaves it alone."""

    def __init__(self, has_color: bool) -> None:
        self.has_color = has_color

    @classmethod
    def of(cls, out: TextIO, environ: Mapping[str, str] = os.environ) -> Style:
        """Look at the stream and the environment (`NO_COLOR`, `FORCE_COLOR`, `TERM=dumb`)."""
        if environ.get("NO_COLOR"):
            return cls(has_color=False)
        if environ.get("FORCE_COLOR"):
            return cls(has_color=True)
        return cls(has_color=out.isatty() and environ.get("TERM", "") not in ("", "dumb"))

    def paint(self, text: str, *names: str) -> str:
        """Return the text in these colors; each line is painted by itself, so that no color runs on."""
        if not self.has_color or not text:
            return text
        start = f"\x1b[{';'.join(_CODES[name] for name in names)}m"
        return "\n".join(f"{start}{line}\x1b[0m" if line else line for line in text.split("\n"))
