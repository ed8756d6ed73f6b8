"""Columns of text as a terminal shows them, where a letter may take two cells or none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

_NARROWEST = 20
_LEAST_BESIDE = 24  # cells; with fewer, the second column of a table stands below the first
_LESS_DEEP = 6
_TWO_COLUMNS = re.compile(r"( *\S(?:.*?\S)?)( {2,})(\S.*)")
_ASCII_WORD = re.compile(r"[^ ]+ *| +")
_OPENING = frozenset("（［｛「『【〈《〔〖‘“([{")
_CLOSING = frozenset("、。，．・：；？！）］｝」』】〉》〕〗’”ー々…‥ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ,.:;?!)]}%")


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


def wrapped(text: str, cells: int, measure: Callable[[str], int] = width) -> str:
    """Return plain text with its lines broken between words, none wider than `cells` where that can be helped.

    What follows a break stands under the line's beginning; in a table of two columns, under the second one, or below
    the first where too little room is left beside it. Between ideographs a line may be broken anywhere but before a
    closing mark or after an opening one; hangul is broken between words. `measure` says how wide a text is.
    """
    cells = max(_NARROWEST, cells)
    lines, pieces = _less_deep(text.split("\n"), cells, measure), list[str]()
    columns = [_second_column(line, measure) for line in lines]
    shared = Counter(columns)  # a row may stand alone between others that are broken by hand
    for start, end in _stretches(columns):
        stretch, column = lines[start:end], columns[start]
        if column and shared[column] > 1 and any(measure(line) > cells for line in stretch):
            pieces += [piece for line in stretch for piece in _row(line, column, cells, measure)]
        else:
            pieces += [piece for line in stretch for piece in _broken(line, _indent(line), cells, measure)]
    return "\n".join(pieces)


def hanging(text: str, cells: int, indent: str, measure: Callable[[str], int] = width) -> str:
    """Return one line broken like `wrapped`, with `indent` before all that follows the first break."""
    return "\n".join(_broken(text, indent, max(_NARROWEST, cells), measure))


def breaks(line: str, cells: int, measure: Callable[[str], int] = width) -> list[int]:
    """Return where one line is to be broken: the offsets, ascending, at which a further line of `cells` begins."""
    offsets, at, used = list[int](), 0, 0
    if len(line) * 2 <= cells or measure(line) <= cells:
        return offsets
    for part, taken, blanks in _parts(line, max(2, cells), measure):
        if used and used + taken > cells:
            offsets.append(at)
            used = 0
        used += taken + blanks
        at += len(part)
    return offsets


def widest_part(text: str, measure: Callable[[str], int] = width) -> int:
    """Return how wide the longest part of a text is that isn't to be broken, such as a word."""
    return max((measure(chunk.rstrip(" ")) for chunk in _chunks(text)), default=0)


def _stretches(keys: list[int]) -> Iterator[tuple[int, int]]:
    """Cut a list where its value changes; give the half-open stretches."""
    start = 0
    for at in range(1, len(keys) + 1):
        if at == len(keys) or keys[at] != keys[start]:
            yield start, at
            start = at


def _less_deep(lines: list[str], cells: int, measure: Callable[[str], int]) -> list[str]:
    """Bring lines back that begin so far to the right that words would be cut there, and those beside them."""
    depths = {len(_indent(line)) for line in lines if measure(line) > cells}
    deep = {depth for depth in depths if depth > _LESS_DEEP and cells - depth < _LEAST_BESIDE}
    return [" " * _LESS_DEEP + line.lstrip(" ") if len(_indent(line)) in deep else line for line in lines]


def _second_column(line: str, measure: Callable[[str], int]) -> int:
    match = _TWO_COLUMNS.fullmatch(line)
    return measure(match[1] + match[2]) if match else 0


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def _row(line: str, column: int, cells: int, measure: Callable[[str], int]) -> list[str]:
    match = _TWO_COLUMNS.fullmatch(line)
    if match is None:
        return [line]
    if cells - column >= _LEAST_BESIDE:
        return _broken(line, " " * column, cells, measure)
    indent = _indent(line)
    below = indent + "    "
    first = _broken(match[1], below + "    ", cells, measure)
    return [*first, *_broken(below + match[3], below, cells, measure)]


def _broken(line: str, indent: str, cells: int, measure: Callable[[str], int]) -> list[str]:
    """Break one line; `indent` stands before each further piece."""
    if len(line) * 2 <= cells or measure(line) <= cells:
        return [line]
    room = max(_NARROWEST // 2, cells - len(indent))
    pieces, used = [""], 0
    for part, taken, blanks in _parts(line, room, measure):
        if used + taken > cells and pieces[-1].strip():
            pieces.append(indent)
            used = len(indent)
        pieces[-1] += part
        used += taken + blanks
    return [piece.rstrip(" ") for piece in pieces]


def _chunks(line: str) -> Iterator[str]:
    """Cut a line wherever it may be broken."""
    if line.isascii():
        yield from _ASCII_WORD.findall(line)
        return
    start = 0
    for at in range(1, len(line)):
        if _may_break(line[at - 1], line[at]):
            yield line[start:at]
            start = at
    yield line[start:]


def _may_break(before: str, after: str) -> bool:
    if after == " ":
        return False
    if before == " ":
        return True
    return (_is_ideographic(before) or _is_ideographic(after)) and before not in _OPENING and after not in _CLOSING


def _is_ideographic(character: str) -> bool:
    return "\u2e80" <= character <= "\u9fff" or "\uf900" <= character <= "\uffef" or character >= "\U00020000"


def _parts(line: str, room: int, measure: Callable[[str], int]) -> Iterator[tuple[str, int, int]]:
    """Give the chunks with their width and the number of blanks at their end; those wider than a line are cut."""
    for chunk in _chunks(line):
        bare = chunk.rstrip(" ")
        taken, blanks = measure(bare), len(chunk) - len(bare)
        while taken > room:
            end = _fitting(bare, room, measure)
            cut = measure(bare[:end])
            yield bare[:end], cut, 0
            bare, taken = bare[end:], taken - cut
        yield bare + " " * blanks, taken, blanks


def _fitting(word: str, room: int, measure: Callable[[str], int]) -> int:
    """Return how much of a word fits: up to a `/` where there is one in the second half."""
    end = used = 0
    while used + measure(word[end]) <= room:
        used += measure(word[end])
        end += 1
    return word.rfind("/", end // 2, end) + 1 or end
