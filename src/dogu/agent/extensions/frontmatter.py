"""The head of a SKILL.md: the part of YAML that skills are written in, without a YAML library.

Keys at the line's start with plain, quoted, folded (`>`) and literal (`|`) texts; what is nested is passed over.
"""

from __future__ import annotations

import json
import re

from dogu.language import told

_KEY = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$")
_FENCE = "---"
_BLOCK = re.compile(r"([|>])[+-]?\d?[+-]?(?:[ \t]+#.*)?$")


class FrontmatterError(Exception):
    """A head that can't be understood, with its line, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def split_frontmatter(text: str) -> tuple[dict[str, str], str]:
    """Return the head's texts by key, and the body. Raises `FrontmatterError`."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        raise FrontmatterError(told("must begin with a line ---, then name: and description:"), 1)
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE), 0)
    if not end:
        raise FrontmatterError(told("the --- that ends the head is missing"), len(lines))
    return _values(lines[1:end]), "\n".join(lines[end + 1 :]).strip()


def _values(lines: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    place = 0
    while place < len(lines):
        line = lines[place]
        number = place + 2
        place += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _KEY.match(line)
        if found is None:
            raise FrontmatterError(told("is no `key: value`: {line!r}", line=line.strip()[:60]), number)
        below = place
        while below < len(lines) and (not lines[below].strip() or lines[below][0] in " \t"):
            below += 1
        values[found[1]] = _value((found[2] or "").strip(), lines[place:below], number)
        place = below
    return values


def _value(first: str, below: list[str], number: int) -> str:
    block = _BLOCK.match(first)
    if block is not None:
        texts = [line.strip() for line in below]
        return ("\n" if block[1] == "|" else " ").join(texts).strip()
    joined = " ".join(filter(None, [first, *(line.strip() for line in below)]))
    if joined[:1] == '"':
        return _double_quoted(joined, number)
    if joined[:1] == "'":
        if len(joined) < 2 or joined[-1] != "'":
            raise FrontmatterError(told("a quote is never closed"), number)
        return joined[1:-1].replace("''", "'")
    return re.sub(r"(?:^|\s)#.*$", "", joined).strip() if not below else joined


def _double_quoted(text: str, number: int) -> str:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise FrontmatterError(told("a quote is never closed, or holds an escape that isn't known"), number) from error
    return str(value)
