"""Readings of a text with a way back: what is found in the view is pointed at in the source.

Every view is made of the source by local substitutions, so a position between two of them has exactly one source
position; a span found in a view therefore names exactly one span of the source. What is written there ends its lines
as the place does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from dogu.workspace.diff import changed_ranges
from dogu.workspace.edit_match.result import Replacement
from dogu.workspace.text import line_ending_at

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


def settle_endings(view: View, text: str, replacements: Sequence[Replacement]) -> Iterator[Replacement]:
    r"""Turn replacements in `view` (lines end in `\n`) into ones in `text`, each new line ending as its place does.

    Where the place has several kinds of endings, a line that was there keeps its own, and a new one takes that of the
    line before it.
    """
    for start, end, body in replacements:
        first, last = view.to_source(start), view.to_source(end)
        if "\n" in body and "\r" in text:
            body = _settled(text[first:last], body, line_ending_at(text, first))
        yield Replacement(first, last, body)


def _settled(old: str, body: str, usual: str) -> str:
    pairs = old.count("\r\n")
    if usual == "\r" or old.count("\n") - pairs == 0 or pairs == 0:
        return body.replace("\n", "\r\n" if pairs else "\n" if "\n" in old else usual)
    old_lines = old.split("\n")
    lines = body.split("\n")
    kept = _kept([line.removesuffix("\r") for line in old_lines], lines)
    out: list[str] = []
    for number, line in enumerate(lines[:-1]):
        if number in kept:
            usual = "\r\n" if old_lines[kept[number]].endswith("\r") else "\n"
        out += line, usual
    return "".join([*out, lines[-1]])


def _kept(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Map the number of each new line that is an old one to that, but for the last old line, which has no ending."""
    kept: dict[int, int] = {}
    old_at = new_at = 0
    for change in [*changed_ranges(old, new), None]:
        stop = change.old_start if change else len(old) - 1
        kept.update({new_at + offset: old_at + offset for offset in range(stop - old_at)})
        if change:
            old_at, new_at = change.old_end, change.new_end
    return kept
