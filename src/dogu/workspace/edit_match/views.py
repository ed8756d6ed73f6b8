"""Readings of a text with a way back: what is found in a view is pointed at in the source.

A `View` is made of the source by local substitutions, so a position between two of them has exactly one source
position; a span found in it therefore names exactly one span of the source. What is written there ends its lines as
the place does. The folded view is a text without white space and zero-width characters, look-alikes made one. Folding
is local (no folded character depends on anything beyond its own cluster of base and combining marks), so equal folded
strings align the two texts cluster by cluster.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

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


_SAME = {
    "'": "\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc\u2039\u203a",
    '"': "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
    "~": "\u301c",
    "\u00b7": "\u30fb\uff65\u2022",
    "...": "\u22ef",
    ",": "\u3001\uff64",
    ".": "\u3002\uff61",
}
ZERO_WIDTH = frozenset(
    "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
    + "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xFE00, 0xFE10)]))
)
_TABLE: dict[int, str | None] = {
    **{ord(look): one for one, looks in _SAME.items() for look in looks},
    **dict.fromkeys(map(ord, ZERO_WIDTH)),
}

_ASCII_BLANKS = dict.fromkeys(code for code in range(128) if chr(code).isspace() and chr(code) != "\n")
INVISIBLE = "".join({*ZERO_WIDTH, *filter(str.isspace, map(chr, range(0x3001)))})
_PIECE_CHARS = 4000


def fold(text: str) -> str:
    """Return the folded text: NFKC, look-alike quotes, dashes and dots made one, no white space, no zero width."""
    return "".join((text if text.isascii() else look_alike(text)).split())


def look_alike(text: str) -> str:
    """Return the text with look-alikes made one and nothing of zero width, its white space kept as such."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_TABLE)).translate(_TABLE)


def is_blank(text: str) -> bool:
    """Whether nothing of the text can be seen: what is folded away."""
    return not text.strip(INVISIBLE)


def fold_clusters(text: str) -> tuple[str, list[int], list[int]]:
    """Fold `text` and tell, for each folded character, where the cluster it comes from starts and ends."""
    starts: list[int] = []
    ends: list[int] = []
    if text.isascii():
        starts = [index for index, char in enumerate(text) if not char.isspace()]
        return "".join(text.split()), starts, [index + 1 for index in starts]
    folded: list[str] = []
    start = 0
    for end in range(1, len(text) + 1):
        if _continues(text, end):
            continue
        piece = fold(text[start:end])
        folded.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
        start = end
    return "".join(folded), starts, ends


def _continues(text: str, end: int) -> bool:
    """Whether a cluster goes on at `end`; zero-width characters within it are folded away."""
    while end < len(text) and text[end] in ZERO_WIDTH:
        end += 1
    return end < len(text) and _joins(text[end])


def _joins(char: str) -> bool:
    """Whether normalisation may join this character to the one before it."""
    if char < "\u0300":
        return False
    if unicodedata.combining(char) or "\u1160" <= char <= "\u11ff" or char in "\uff9e\uff9f":
        return True
    return not unicodedata.is_normalized("NFKC", char) and bool(
        unicodedata.combining(unicodedata.normalize("NFKC", char)[:1] or " ")
    )


class FoldedText:
    """A text folded line by line, when first asked; `path` says by its ending what language it is in."""

    def __init__(self, text: str, path: str = "") -> None:
        self.text = text
        self.path = path

    @cached_property
    def keys(self) -> list[str]:
        """The lines, folded."""
        if self.text.isascii():
            return self.text.translate(_ASCII_BLANKS).split("\n")
        return ["".join(line.split()) if line.isascii() else fold(line) for line in self.text.split("\n")]

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins, and at last where one after the last would."""
        return list(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))

    @cached_property
    def folded(self) -> str:
        """The whole text folded."""
        return "".join(self.keys)

    @cached_property
    def _folded_starts(self) -> list[int]:
        return list(accumulate(map(len, self.keys), initial=0))

    def locate(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the span of the text whose folding is `folded[start:end]`; None when it would cut a cluster."""
        first, last = self._cluster(start), self._cluster(end - 1)
        if first is None or last is None or not first[2] or not last[3]:
            return None
        return first[0], last[1]

    def _cluster(self, index: int) -> tuple[int, int, bool, bool] | None:
        """Return where the cluster of a folded character starts and ends, and whether it is the cluster's first, its
        last.
        """
        number = bisect_right(self._folded_starts, index) - 1
        at = index - self._folded_starts[number]
        for start, end in self._pieces(number):
            folded = fold(self.text[start:end])
            if at < len(folded):
                break
            at -= len(folded)
        else:
            return None
        folded, starts, ends = fold_clusters(self.text[start:end])
        if at >= len(folded):
            return None
        is_first = at == 0 or starts[at - 1] != starts[at]
        is_last = at + 1 == len(starts) or starts[at + 1] != starts[at]
        return start + starts[at], start + ends[at], is_first, is_last

    def _pieces(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield a line in pieces of some thousand characters, none of which cuts a cluster."""
        start, stop = self.starts[number], self.starts[number + 1] - 1
        while start < stop:
            end = min(start + _PIECE_CHARS, stop)
            while end < stop and (self.text[end] in ZERO_WIDTH or _continues(self.text, end)):
                end += 1
            yield start, end
            start = end
