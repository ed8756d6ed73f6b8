"""Readings of a text with a way back: what is found in the view is pointed at in the source.

Every view is made of the source by local substitutions, so a position between two of them has exactly one source
position; a span found in a view therefore names exactly one span of the source.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

_CRLF = re.compile("\r\n")
_CR = re.compile("\r")


@dataclass(frozen=True)
class View:
    """A text and the substitutions that made it of its source.

    `starts` and `ends` are positions in `text`, `source_ends` in the source, one per substitution, ascending.
    """

    text: str
    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    source_starts: list[int] = field(default_factory=list[int])
    source_ends: list[int] = field(default_factory=list[int])

    def to_source(self, position: int) -> int:
        """Return the source position of a view position; one inside a substitution counts as its start."""
        index = bisect_right(self.starts, position) - 1
        if index < 0:
            return position
        if position < self.ends[index]:
            return self.source_starts[index]
        return self.source_ends[index] + position - self.ends[index]


def substituted(source: str, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> View:
    """View `source` with each match of `pattern` replaced."""
    pieces: list[str] = []
    view = View("")
    done = length = 0
    for match in pattern.finditer(source):
        start, end = match.span()
        body = replace(match)
        pieces += source[done:start], body
        length += start - done
        view.starts.append(length)
        length += len(body)
        view.ends.append(length)
        view.source_starts.append(start)
        view.source_ends.append(end)
        done = end
    if not done:
        return View(source)
    pieces.append(source[done:])
    return View("".join(pieces), view.starts, view.ends, view.source_starts, view.source_ends)


def with_newlines(source: str) -> View:
    """View a text with its line endings as `\\n`; a lone CR is one only where the text knows no other."""
    if "\r" not in source:
        return View(source)
    pattern = _CRLF if "\n" in source else _CR
    return substituted(source, pattern, lambda _match: "\n")
