"""Writes the lines of a page: blanks collapsed, blocks apart, lists and tables in their form."""

from __future__ import annotations

import re
from collections.abc import Callable

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
