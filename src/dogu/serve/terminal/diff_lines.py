"""A unified diff for a person: syntax colors, the words that changed within a line, blanks that can be seen."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from dogu.serve.terminal.cells import hung
from dogu.serve.terminal.code import Span, code_lines
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST_COMPARED_CHARS = 2_000
_MOST_LINES = 4_000


class _Line(msgspec.Struct):
    # `marked` are the half-open stretches that changed.
    sign: str
    text: str
    spans: list[Span] = msgspec.field(default_factory=list[Span])
    marked: list[tuple[int, int]] = msgspec.field(default_factory=list[tuple[int, int]])


def draw_diff(unified: str, style: Style, path: str = "", columns: int = 0) -> list[str]:
    """Return the lines of a unified diff, painted; tabs at a line's start and blanks at its end can be seen.

    With `columns`, a longer line goes on in rows that begin with `↳`: none of them can pass for a line of its own.
    """
    lines = [_Line(line[0], make_visible(line[1:])) for line in _hunks(unified) if line]
    if style.has_color and len(lines) <= _MOST_LINES:
        _color(lines, path, style)
        _mark_words(lines)
    painted = [_painted(line, style) for line in lines]
    if not columns:
        return painted
    gutter = style.paint("↳", "dim")
    return [row for line in painted for row in hung(line, columns, gutter)]


def _hunks(unified: str) -> list[str]:
    """Return the lines from the first hunk on: further down, `---` is a removed line like any other."""
    lines = unified.split("\n")
    return lines[next((at for at, line in enumerate(lines) if line.startswith("@@")), len(lines)) :]


def _color(lines: list[_Line], path: str, style: Style) -> None:
    """Read each side of each hunk as source."""
    start = 0
    for end in [*(at for at, line in enumerate(lines) if line.sign == "@"), len(lines)]:
        hunk = lines[start:end]
        for side in (" -", " +"):
            own = [line for line in hunk if line.sign in side]
            for line, spans in zip(own, code_lines("\n".join(line.text for line in own), path, style), strict=False):
                line.spans = spans
        start = end


def _mark_words(lines: list[_Line]) -> None:
    """Pair removed lines with the added ones that follow them, and mark in both what differs."""
    at = 0
    while at < len(lines):
        removed = _run(lines, at, "-")
        added = _run(lines, at + len(removed), "+")
        if removed and len(removed) == len(added):
            for old, new in zip(removed, added, strict=True):
                _mark_pair(old, new)
        at += len(removed) + len(added) or 1


def _run(lines: list[_Line], at: int, sign: str) -> list[_Line]:
    end = at
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return lines[at:end]


def _mark_pair(old: _Line, new: _Line) -> None:
    from dogu.workspace.diff import changed_ranges

    if max(len(old.text), len(new.text)) > _LONGEST_COMPARED_CHARS:
        return
    old_words, new_words = _WORD.findall(old.text), _WORD.findall(new.text)
    changes = changed_ranges(old_words, new_words)
    kept = len(old_words) - sum(change[1] - change[0] for change in changes)
    if kept * 3 < max(len(old_words), len(new_words)):
        return  # another line altogether: marks would only be noise
    old.marked = [_stretch(old_words, change[0], change[1]) for change in changes]
    new.marked = [_stretch(new_words, change[2], change[3]) for change in changes]


def _stretch(words: list[str], start: int, end: int) -> tuple[int, int]:
    first = sum(map(len, words[:start]))
    return first, first + sum(map(len, words[start:end]))


def _painted(line: _Line, style: Style) -> str:
    if line.sign == "@":
        return style.paint("@" + line.text, "cyan")
    if line.sign not in "+-":
        body = "".join(style.paint(piece, color or "dim") for piece, color in line.spans or [(line.text, "")])
        return style.paint(line.sign, "dim") + body
    shown = _with_blanks(line.text)
    color = "green" if line.sign == "+" else "red"
    if not style.has_color or len(shown) != len(line.text) or not line.spans:
        # The blanks' own signs have moved the marks.
        return style.paint(line.sign + shown, color)
    return style.paint(line.sign, color) + _body(line, style, color)


def _body(line: _Line, style: Style, color: str) -> str:
    word = "added_word" if line.sign == "+" else "removed_word"
    pieces: list[str] = []
    at = 0
    for text, kind in line.spans:
        for piece, is_marked in _cut(text, at, line.marked):
            pieces.append(style.paint(piece, word if is_marked else kind or color))
        at += len(text)
    return "".join(pieces)


def _cut(text: str, at: int, marked: list[tuple[int, int]]) -> list[tuple[str, bool]]:
    """Cut a stretch that stands at `at` where marks begin and end."""
    edges = sorted({0, len(text), *(min(max(edge - at, 0), len(text)) for mark in marked for edge in mark)})
    return [
        (text[start:end], any(first - at <= start < last - at for first, last in marked))
        for start, end in pairwise(edges)
    ]


def _with_blanks(text: str) -> str:
    kept = text.rstrip(" \t")
    blank = len(kept) - len(kept.lstrip("\t "))
    return _tabs_shown(kept[:blank]) + kept[blank:] + _tabs_shown(text[len(kept) :].replace(" ", "·"))


def _tabs_shown(blanks: str) -> str:
    return blanks.replace("\t", "→\t")
