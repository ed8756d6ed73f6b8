"""How displays look on a terminal: diffs and code in color, commands, plans; whatever they hold is made harmless.

In a diff the words that changed within a line stand out, and blanks can be seen. Any text is taken as code, and what
can't be told stays as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from dogu.contract.display import CommandPreview, Display, FileDiff, PatchDiff, TerminalOutput, TodoList
from dogu.language import said, say
from dogu.serve.terminal.cells import hanging, hung, wrapped
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible, visible_line

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_MOST_CHARS = 60_000  # reading more as code would keep keys waiting
_WILD = frozenset("*?[")
_COLORS = {
    "Comment": "dim",
    "Keyword": "magenta",
    "String": "yellow",
    "Number": "cyan",
    "Literal": "cyan",
    "Function": "blue",
    "Class": "blue",
    "Decorator": "blue",
    "Tag": "blue",
    "Attribute": "cyan",
    "Builtin": "cyan",
}

Span = tuple[str, str]
"""A stretch of a line, and the name of its color (empty for none)."""


def code_lines(text: str, path: str, style: Style, most: int = 0) -> list[list[Span]]:
    """Return the lines of a source as spans; `path` says its language.

    With `most`, only so many lines at either end are read as code: the others won't be shown.
    """
    lines = text.split("\n")
    if most and len(lines) > 2 * most:
        head, tail = (code_lines("\n".join(end), path, style) for end in (lines[:most], lines[-most:]))
        return [*head, *([(line, "")] for line in lines[most:-most]), *tail]
    lexer = lexer_of(os.path.basename(path)) if style.has_color and len(text) <= _MOST_CHARS else None
    return _lines_of(text, lexer)


def _lines_of(text: str, lexer: Lexer | None) -> list[list[Span]]:
    if lexer is None:
        return [[(line, "")] for line in text.split("\n")]
    lines: list[list[Span]] = [[]]
    for piece, kind in _tokens(lexer, text):
        first, *others = piece.split("\n")
        if first:
            lines[-1].append((first, kind))
        lines += [[(line, kind)] if line else [] for line in others]
    return lines


def language_lines(text: str, language: str, style: Style) -> list[list[Span]]:
    """Return the lines of a source as spans; `language` is what a block of code in Markdown calls it."""
    lexer = _lexer_called(language) if style.has_color and language and len(text) <= _MOST_CHARS else None
    return _lines_of(text, lexer)


@cache
def _lexer_called(language: str) -> Lexer | None:
    from pygments.util import ClassNotFound

    lexers: Any = import_module("pygments.lexers")
    try:
        return lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def lexer_of(name: str) -> Lexer | None:
    """Return what reads files of that name; None for a kind nobody knows."""
    lexers: Any = import_module("pygments.lexers")
    table: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = lexers.LEXERS
    for _module, _title, aliases, patterns, _types in table.values():
        if aliases and any(_is_like(name, pattern) for pattern in patterns):
            return _lexer_called(aliases[0])
    return None


def _is_like(name: str, pattern: str) -> bool:
    """As `fnmatchcase`, which compiles each pattern: most of the hundreds are a name, or its end behind a `*`."""
    end = pattern.removeprefix("*")
    if _WILD.isdisjoint(end):
        return name.endswith(end) if end != pattern else name == pattern
    return fnmatchcase(name, pattern)


def _tokens(lexer: Any, text: str) -> Iterator[Span]:
    for kind, piece in lexer.get_tokens(text):
        names = [str(name) for name in reversed(kind)]
        yield piece, next((_COLORS[name] for name in names if name in _COLORS), "")


_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_HEADING = re.compile(r"@ -(\d+)(?:,\d+)? \+(\d+)")
_LONGEST_COMPARED_CHARS = 2_000
_MOST_LINES = 4_000


class _Line(msgspec.Struct):
    # `marked` are the half-open stretches that changed; `number` counts in the new file, a removed line's in the old.
    sign: str
    text: str
    number: int = 0
    spans: list[Span] = msgspec.field(default_factory=list[Span])
    marked: list[tuple[int, int]] = msgspec.field(default_factory=list[tuple[int, int]])


def draw_diff(unified: str, style: Style, path: str = "", columns: int = 0, most: int = 0) -> list[str]:
    """Return the lines of a unified diff with their numbers, painted; with its blanks seen.

    With `columns`, a longer line goes on in rows that begin with `↳`: none of them can pass for a line of its own.
    With `most`, only so many lines at either end are read as code: the others won't be shown.
    """
    lines = _numbered([_Line(line[0], make_visible(line[1:])) for line in _hunks(unified) if line])
    shown = [*lines[:most], *lines[-most:]] if most and len(lines) > 2 * most else lines
    if style.has_color and len(shown) <= _MOST_LINES:
        _color(shown, path, style)
        _mark_words(shown)
    wide = len(str(max((line.number for line in lines), default=0)))
    painted = [_beside_number(line, wide, style) for at, line in enumerate(lines) if at or line.sign != "@"]
    if not columns:
        return painted
    gutter = " " * wide + style.paint("↳", "dim")
    return [row for line in painted for row in hung(line, columns, gutter)]


def _numbered(lines: list[_Line]) -> list[_Line]:
    """Give each line its number, from the hunks' headings."""
    old = new = 0
    for line in lines:
        if line.sign == "@":
            heading = _HEADING.match(line.text)
            old, new = (int(heading[1]), int(heading[2])) if heading else (0, 0)
        elif line.sign == "-":
            line.number, old = old, old + 1
        elif line.sign in "+ ":
            line.number, new, old = new, new + 1, old + (line.sign == " ")
    return lines


def _beside_number(line: _Line, wide: int, style: Style) -> str:
    if line.sign == "@":
        return style.paint(" " * wide + "⋮", "dim")
    number = f"{line.number:>{wide}}" if line.number else " " * wide
    return f"{style.paint(number, 'dim')} {_painted(line, style)}"


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
    if line.sign not in "+-":
        body = "".join(style.paint(piece, color or "dim") for piece, color in line.spans or [(line.text, "")])
        return style.paint(line.sign, "dim") + body
    kept = line.text.rstrip(" \t")
    blank = len(kept) - len(kept.lstrip("\t "))
    shown = _tabs_shown(kept[:blank]) + kept[blank:] + _tabs_shown(line.text[len(kept) :].replace(" ", "·"))
    color, tint = ("green", "added") if line.sign == "+" else ("red", "removed")
    names = (tint,) if style.has_many else (color,)
    if not style.has_color or len(shown) != len(line.text) or not line.spans:
        # The blanks' own signs have moved the marks.
        return style.paint(line.sign + shown, *names)
    sign = style.paint(line.sign, *((color, tint) if style.has_faint_tints else names))
    return sign + _body(line, style, names)


def _body(line: _Line, style: Style, names: tuple[str, ...]) -> str:
    """The line on its tint; code keeps its colors where they can be read on it."""
    word = "added_word" if line.sign == "+" else "removed_word"
    pieces: list[str] = []
    at = 0
    for text, kind in line.spans:
        for piece, is_marked in _cut(text, at, line.marked):
            plain = (kind, *names) if kind and style.has_faint_tints else names
            pieces.append(style.paint(piece, *((word,) if is_marked else plain)))
        at += len(text)
    return "".join(pieces)


def _cut(text: str, at: int, marked: list[tuple[int, int]]) -> list[tuple[str, bool]]:
    """Cut a stretch that stands at `at` where marks begin and end."""
    edges = sorted({0, len(text), *(min(max(edge - at, 0), len(text)) for mark in marked for edge in mark)})
    return [
        (text[start:end], any(first - at <= start < last - at for first, last in marked))
        for start, end in pairwise(edges)
    ]


def _tabs_shown(blanks: str) -> str:
    return blanks.replace("\t", "→\t")


MOST_LINES = 40
_MOST_LINE_CHARS = 2_000
_FEWEST_LINE_CHARS = 40  # so long are the words in the middle of a line
_MOST_COMMAND_CHARS = 4_000


def draw(display: Display, style: Style, columns: int = 0, *, whole: bool = False, most: int = MOST_LINES) -> str:
    """Return the text to print, without a final newline; past `most` lines the middle is left out unless `whole`.

    With `columns`, sentences are broken between words and the lines of a diff keep their margin.
    """
    match display:
        case str():
            lines = make_visible(said(display)).rstrip("\n").split("\n")
        case FileDiff():
            lines = _diff(display, style, columns, 0 if whole else most)
        case PatchDiff(files=files):
            lines = [
                line
                for file in files
                for line in (
                    style.paint(make_visible(file.path, keep=""), "bold"),
                    *_diff(file, style, columns, 0 if whole else most),
                )
            ]
        case TerminalOutput():
            lines = make_visible(display.output).rstrip("\n").split("\n") if display.output.strip() else []
            lines += _notes(display.notes, style, columns)
        case CommandPreview():
            return _draw_command(display, style, columns, None if whole else most)
        case TodoList():
            marks = {"completed": "✔", "in_progress": "▶", "pending": "·", "cancelled": "✘"}
            lines = [f"{marks[todo.status]} {make_visible(todo.text, keep='')}" for todo in display.todos]
            lines = [row for line in lines for row in (hanging(line, columns).split("\n") if columns else [line])]
    return "\n".join(lines if whole else folded([_short(line, style) for line in lines], style, most))


def folded(lines: list[str], style: Style, most: int = MOST_LINES) -> list[str]:
    """Leave out the middle of more than `most` lines; more is kept of the end than of the beginning."""
    if len(lines) <= most:
        return lines
    head = most // 4
    tail = most - head
    left_out = say("… {count} lines left out …", count=len(lines) - head - tail)
    return [*lines[:head], style.paint(left_out, "dim"), *lines[-tail:]]


def _diff(diff: FileDiff, style: Style, columns: int, most: int) -> list[str]:
    return _notes(diff.notes, style, columns) + draw_diff(diff.unified, style, diff.path, columns, most)


def _notes(notes: tuple[str, ...], style: Style, columns: int) -> list[str]:
    said = [make_visible(advice_here(say(note))) for note in notes]
    return [style.paint(line, "yellow") for note in said for line in _broken(note, columns)]


_HERE = {
    "dogu config trust": "/trust",
    "dogu undo": "/undo",
    "dogu sessions list --all": "/resume",
    "--max-turns": "/settings model.maxSessionTurns",
    "--effort": "/settings model.effort",
}


def advice_here(text: str) -> str:
    """Return what is told at every door with the commands that there are at this one."""
    for elsewhere, here in _HERE.items():
        text = text.replace(elsewhere, here)
    return text


def _broken(text: str, columns: int) -> list[str]:
    return (wrapped(text, columns) if columns else text).split("\n")


def _short(line: str, style: Style, most: int = _MOST_LINE_CHARS) -> str:
    """Leave out the middle of a line of more than `most` characters (painted ones are no longer than that)."""
    if len(line) <= most or "\x1b" in line:
        return line
    left_out = say("… {count} characters left out …", count=len(line) - most)
    half = most // 2
    return line[:half] + style.paint(left_out, "dim") + line[-half:]


def _draw_command(preview: CommandPreview, style: Style, columns: int, most: int | None) -> str:
    """The command in colors; its end is never hidden, however long it is."""
    command = make_visible(preview.command)
    lines = [
        "".join(style.paint(text, kind or "bold") for text, kind in spans)
        for spans in code_lines(command, "command.sh", style, most or 0)
    ]
    if most is not None:
        lines = folded(lines, style, most)
        wide = 1 if command.isascii() else 2
        room = columns * most // wide if columns else _MOST_COMMAND_CHARS
        if len(command) > min(room, _MOST_COMMAND_CHARS):
            whole = folded(command.split("\n"), style, most)
            lines = [
                _short(
                    line,
                    style,
                    min(_MOST_LINE_CHARS, max(_FEWEST_LINE_CHARS // 2, room // len(whole) - _FEWEST_LINE_CHARS)),
                )
                for line in whole
            ]
    told = [say("in {folder}", folder=visible_line(preview.directory))]
    told += [visible_line(preview.description)] if preview.description else []
    lines += [style.paint(line, "dim") for words in told for line in _broken(words, columns)]
    why = [visible_line(say(reason)) for reason in preview.reasons]
    return "\n".join([*lines, *(style.paint(line, "dim") for words in why for line in _broken(words, columns))])
