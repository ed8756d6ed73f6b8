"""Whether a YAML text's lines make an outline: keys and entries at a level that is open, each key once, brackets and
quotes closed.

It is no parser: what it takes may be no YAML, but an edit that breaks the outline of a text that had one is caught.
Source: YAML 1.2, chapters 6 to 8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

_KEY = re.compile(
    r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\?(?=\s)|\{\{.*?\}\}[^:#\s]*|[^\s#,\[\]{}&*!|>'"%@`-][^#]*?|-(?=\S)[^#]*?|<<|\*\w+)
    \s*:(?=\s|$)""",
    re.VERBOSE,
)
_ENTRY = re.compile(r"-(?=\s|$)\s*")
_PROPERTY = re.compile(r"(?:&\S+|!\S*)(?:\s+|$)")
_BLOCK = re.compile(r"[|>][-+0-9]{0,2}\s*(?:#.*)?$")
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""", re.DOTALL)
_COMMENT = re.compile(r"(?:^|\s)#.*")


class _BrokenError(Exception):
    """The line stands where none can."""


def is_yaml_outline(text: str) -> bool:
    """Whether the text, of one document or several, has an outline that hangs together."""
    outline = _Outline(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"))
    try:
        while outline.at < len(outline.lines):
            outline.take_line()
    except _BrokenError:
        return False
    return True


class _Level(NamedTuple):
    """How deep a level's lines stand, what they are, and the keys that it has."""

    depth: int
    kind: str
    keys: set[str]


@dataclass
class _Outline:
    """The levels open where the reading is; `is_open` says that a deeper one may begin, `goes_on` that text may."""

    lines: list[str]
    at: int = 0
    levels: list[_Level] = field(default_factory=list[_Level])
    is_open: bool = True
    goes_on: bool = False

    def take_line(self) -> None:
        line = self.lines[self.at]
        self.at += 1
        content = line.lstrip(" ")
        if not content.strip() or content.startswith(("#", "{%", "{#")):
            return
        if line.startswith(("---", "...", "%")):
            self.levels, self.is_open, self.goes_on = [], True, False
            content = line[3:].strip() if line.startswith("---") else ""
            if content:
                self._value(content, -1)
            return
        if content.startswith("\t"):
            raise _BrokenError
        self._structure(content.rstrip(), len(line) - len(content))

    def _structure(self, content: str, depth: int) -> None:
        entry, key = _ENTRY.match(content), _KEY.match(content)
        if entry is not None:
            self._enter(depth, "entry")
            rest = content[entry.end() :]
            self.is_open, self.goes_on = True, False
            if rest and not rest.startswith("#"):
                self._structure(rest, depth + entry.end())
        elif key is not None and not _is_flow(content, key):
            self._enter(depth, "key")
            self._take_key(key[0].rstrip(": \t"))
            self.is_open, self.goes_on = True, False
            self._value(content[key.end() :].strip(), depth)
        else:
            self._text(content, depth)

    def _enter(self, depth: int, kind: str) -> None:
        """Go to the level that a key or an entry so deep belongs to."""
        while self.levels and self.levels[-1].depth > depth:
            self.levels.pop()
            self.is_open = False
        if kind == "key" and self.levels and self.levels[-1][:2] == (depth, "entry"):
            self.levels.pop()
            self.is_open = False
        if self.levels and self.levels[-1][:2] == (depth, kind):
            return
        if not self.is_open or (self.levels and self.levels[-1].depth == depth and kind == "key"):
            raise _BrokenError
        self.levels.append(_Level(depth, kind, set()))

    def _take_key(self, key: str) -> None:
        """Note a key of the level that is open, which has it once."""
        keys = self.levels[-1].keys
        if key in keys and key != "<<":
            raise _BrokenError
        keys.add(key)

    def _text(self, content: str, depth: int) -> None:
        """Text on a line of its own: a value, or what goes on with one."""
        within = self.levels[-1].depth if self.levels else -1
        if not (self.is_open or self.goes_on) or depth <= within:
            raise _BrokenError
        self._value(content, within)

    def _value(self, text: str, depth: int) -> None:
        while (found := _PROPERTY.match(text)) is not None:
            text = text[found.end() :]
        if not text or text.startswith("#"):
            return
        self.is_open = False
        if _BLOCK.match(text):
            self._skip_block(depth)
        elif text[0] in "\"'[{" and not text.startswith(("{{", "{%")):
            self._skip_flow(text)
        else:
            self.goes_on = True

    def _skip_block(self, depth: int) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and len(line) - len(line.lstrip(" ")) <= depth:
                return
            self.at += 1

    def _skip_flow(self, text: str) -> None:
        """Go on to the line where the quotes and brackets that begin here are closed."""
        while not _is_closed(text):
            if self.at == len(self.lines):
                raise _BrokenError
            text += "\n" + self.lines[self.at]
            self.at += 1


def _is_flow(content: str, key: re.Match[str]) -> bool:
    """Whether the colon found lies within brackets that begin the line."""
    return content[0] in "[{" and not key[0].startswith("{{")


def _is_closed(text: str) -> bool:
    bare = _COMMENT.sub("", _QUOTED.sub("", text))
    if text[0] in "\"'" and _QUOTED.match(text) is None:
        return False
    return bare.count("[") + bare.count("{") <= bare.count("]") + bare.count("}")
