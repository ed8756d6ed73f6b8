"""How displays look on a terminal: diffs in color, commands, plans; whatever they hold is made harmless."""

from __future__ import annotations

from dogu.contract.display import CommandPreview, Display, FileDiff, PatchDiff, TerminalOutput, TodoList
from dogu.language import said, say
from dogu.serve.terminal.cells import wrapped
from dogu.serve.terminal.code import code_lines
from dogu.serve.terminal.diff_lines import draw_diff
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible, visible_line

MOST_LINES = 40
_MOST_LINE_CHARS = 2_000
_MOST_COMMAND_CHARS = 4_000


def draw(display: Display, style: Style, columns: int = 0, *, whole: bool = False, most: int = MOST_LINES) -> str:
    """Return the text to print, without a final newline; past `most` lines the middle is left out unless `whole`.

    With `columns`, sentences are broken between words and the lines of a diff keep their margin.
    """
    match display:
        case str():
            lines = make_visible(said(display)).rstrip("\n").split("\n")
        case FileDiff():
            lines = _diff(display, style, columns)
        case PatchDiff(files=files):
            lines = [
                line
                for file in files
                for line in (style.paint(make_visible(file.path, keep=""), "bold"), *_diff(file, style, columns))
            ]
        case TerminalOutput():
            lines = make_visible(display.output).rstrip("\n").split("\n") if display.output.strip() else []
            lines += _notes(display.notes, style, columns)
        case CommandPreview():
            return _draw_command(display, style, columns, whole=whole)
        case TodoList():
            marks = {"completed": "✔", "in_progress": "▶", "pending": "·", "cancelled": "✘"}
            lines = [f"{marks[todo.status]} {make_visible(todo.text, keep='')}" for todo in display.todos]
    return "\n".join(lines if whole else folded([_short(line, style) for line in lines], style, most))


def folded(lines: list[str], style: Style, most: int = MOST_LINES) -> list[str]:
    """Leave out the middle of more than `most` lines; more is kept of the end than of the beginning."""
    if len(lines) <= most:
        return lines
    head = most // 4
    tail = most - head
    left_out = say("… {count} lines left out …", count=len(lines) - head - tail)
    return [*lines[:head], style.paint(left_out, "dim"), *lines[-tail:]]


def _diff(diff: FileDiff, style: Style, columns: int) -> list[str]:
    return _notes(diff.notes, style, columns) + draw_diff(diff.unified, style, diff.path, columns)


def _notes(notes: tuple[str, ...], style: Style, columns: int) -> list[str]:
    said = [make_visible(say(note)) for note in notes]
    return [style.paint(line, "yellow") for note in said for line in _broken(note, columns)]


def _broken(text: str, columns: int) -> list[str]:
    return (wrapped(text, columns) if columns else text).split("\n")


def _short(line: str, style: Style) -> str:
    """Leave out the middle of a line of more than 2,000 characters (painted ones are no longer than that)."""
    if len(line) <= _MOST_LINE_CHARS or "\x1b" in line:
        return line
    left_out = say("… {count} characters left out …", count=len(line) - _MOST_LINE_CHARS)
    half = _MOST_LINE_CHARS // 2
    return line[:half] + style.paint(left_out, "dim") + line[-half:]


def _draw_command(preview: CommandPreview, style: Style, columns: int, *, whole: bool) -> str:
    """The command in colors; its end is never hidden, however long it is."""
    command = make_visible(preview.command)
    lines = ["".join(style.paint(text, kind or "bold") for text, kind in spans) for spans in _bash(command, style)]
    if not whole:
        lines = folded(lines, style)
        if len(command) > _MOST_COMMAND_CHARS:
            lines = [_short(line, style) for line in folded(command.split("\n"), style)]
    told = [say("in {folder}", folder=visible_line(preview.directory))]
    told += [visible_line(preview.description)] if preview.description else []
    lines += [style.paint(line, "dim") for words in told for line in _broken(words, columns)]
    why = [visible_line(say(reason)) for reason in preview.reasons]
    return "\n".join([*lines, *(style.paint(line, "yellow") for words in why for line in _broken(words, columns))])


def _bash(command: str, style: Style) -> list[list[tuple[str, str]]]:
    return code_lines(command, "command.sh", style)
