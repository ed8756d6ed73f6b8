"""How displays look on a terminal: diffs in color, commands, plans; whatever they hold is made harmless."""

from __future__ import annotations

from dogu.contract.display import CommandPreview, Display, FileDiff, TerminalOutput, TodoList
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible

_MOST_LINES = 40


def draw(display: Display, style: Style, *, whole: bool = False) -> str:
    """Return the text to print, without a final newline; past 40 lines the middle is left out unless `whole`."""
    match display:
        case str():
            lines = make_visible(display).rstrip("\n").split("\n")
        case FileDiff():
            lines = [style.paint(make_visible(note), "yellow") for note in display.notes]
            lines += draw_diff(display.unified, style)
        case TerminalOutput():
            lines = make_visible(display.output).rstrip("\n").split("\n") if display.output.strip() else []
            lines += [style.paint(make_visible(note), "yellow") for note in display.notes]
        case CommandPreview():
            return _draw_command(display, style)
        case TodoList():
            marks = {"completed": "✔", "in_progress": "▶", "pending": "·", "cancelled": "✘"}
            lines = [f"{marks[todo.status]} {make_visible(todo.text, keep='')}" for todo in display.todos]
    return "\n".join(lines if whole else _folded(lines, style))


def draw_diff(unified: str, style: Style) -> list[str]:
    """Return the lines of a unified diff, painted; tabs at a line's start and blanks at its end can be seen."""
    lines: list[str] = []
    for line in unified.split("\n"):
        if not line or line.startswith(("---", "+++", "Index:", "===")):
            continue
        shown = _with_blanks(make_visible(line))
        color = {"+": "green", "-": "red", "@": "cyan"}.get(line[0])
        lines.append(style.paint(shown, color) if color else style.paint(shown, "dim"))
    return lines


def _with_blanks(line: str) -> str:
    sign, text = line[:1], line[1:]
    if sign not in "+-":
        return line
    kept = text.rstrip(" \t")
    blank = len(kept) - len(kept.lstrip("\t "))
    return sign + _tabs_shown(kept[:blank]) + kept[blank:] + _tabs_shown(text[len(kept) :].replace(" ", "·"))


def _tabs_shown(blanks: str) -> str:
    return blanks.replace("\t", "→\t")


def _draw_command(preview: CommandPreview, style: Style) -> str:
    """The command whole: its end is never hidden, however long it is."""
    lines = [style.paint(make_visible(preview.command), "bold")]
    lines.append(style.paint(f"in {make_visible(preview.directory, keep='')}", "dim"))
    if preview.description:
        lines.append(style.paint(make_visible(preview.description, keep=""), "dim"))
    lines += [style.paint(make_visible(reason, keep=""), "yellow") for reason in preview.reasons]
    return "\n".join(lines)


def _folded(lines: list[str], style: Style) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    head, tail = _MOST_LINES // 4, _MOST_LINES - _MOST_LINES // 4
    left_out = style.paint(f"… {len(lines) - head - tail} lines left out …", "dim")
    return [*lines[:head], left_out, *lines[-tail:]]
