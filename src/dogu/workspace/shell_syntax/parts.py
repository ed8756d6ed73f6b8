"""A word's parts while it is being read."""

from __future__ import annotations

from dogu.workspace.shell_syntax.tree import Part, PartKind


class PartList:
    """Collects parts; neighbouring literal text of one quoting is joined."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._text: list[str] = []
        self._quoted = False
        self._has_text = False

    def add(self, text: str, *, quoted: bool) -> None:
        """Add literal text."""
        if self._has_text and quoted != self._quoted:
            self._flush()
        self._quoted = quoted
        self._has_text = True
        self._text.append(text)

    def append(self, part: Part) -> None:
        """Add an expansion."""
        self._flush()
        self._parts.append(part)

    def bare_text(self) -> str | None:
        """Return the text so far when all of it is literal and unquoted (as a name must be), else None."""
        if self._parts or (self._has_text and self._quoted):
            return None
        self._text = ["".join(self._text)]  # asked again and again while a long word is read
        return self._text[0]

    def finished(self) -> tuple[Part, ...]:
        """Return all parts."""
        self._flush()
        return tuple(self._parts)

    def _flush(self) -> None:
        if self._has_text:
            self._parts.append(Part(PartKind.LITERAL, "".join(self._text), self._quoted))
            self._text.clear()
            self._has_text = False
