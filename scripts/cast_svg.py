"""A terminal recording as one animated SVG: a strip of frames, moved by CSS; it plays without a script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any

import pyte
from pyte.screens import Char

_CELL_WIDTH, _LINE_HEIGHT, _MARGIN = 8.4, 18, 14
_FRAME_S = 0.12
_LAST_FRAME_S = 3.0
_OTHER_SCREEN = 1049
_BACKGROUND, _TEXT = "#1b1d23", "#d7dae0"
_COLORS = {
    "black": "#4b5263", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "blue": "#61afef",
    "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#d7dae0",
    "brightblack": "#7f8694", "brightred": "#ef7d86", "brightgreen": "#a9d68a", "brightbrown": "#f2d08b",
    "brightyellow": "#f2d08b", "brightblue": "#7cc0ff", "brightmagenta": "#d68fec", "brightcyan": "#6fd0dc",
    "brightwhite": "#ffffff",
}  # fmt: skip

_FONT = (
    "font:14px ui-monospace,'SF Mono',Menlo,Consolas,'Noto Sans Mono CJK JP','Noto Sans Mono CJK SC',"
    "'Noto Sans Mono CJK TC','Noto Sans Mono CJK KR',monospace;white-space:pre}.b{font-weight:bold}.i{font-style:italic"
)  # a weight beside the text would have less weight than the font's own

Frame = tuple[tuple[Char, ...], ...]


def animated_svg(events: Sequence[tuple[float, str]], columns: int, rows: int) -> str:
    """Draw the recording; equal frames are drawn once, frames closer than 0.12 s are one."""
    timed = list(_frames(events, columns, rows))
    frames = list(dict.fromkeys(frame for _, frame in timed))
    place = {frame: index for index, frame in enumerate(frames)}
    total_s = timed[-1][0] + _LAST_FRAME_S
    width, height = columns * _CELL_WIDTH + 2 * _MARGIN, rows * _LINE_HEIGHT + 2 * _MARGIN
    steps = "".join(
        f"{100 * when / total_s:.3f}%{{transform:translateX({-place[frame] * width:.1f}px)}}" for when, frame in timed
    )
    lines = list(dict.fromkeys(line for frame in frames for line in frame))
    names = {line: f"l{index}" for index, line in enumerate(lines)}
    defined = "".join(f'<g id="{names[line]}">{_line(line)}</g>' for line in lines if _line(line))
    strip = "".join(
        f'<g transform="translate({index * width:.1f} 0)">{_frame(frame, names)}</g>'
        for index, frame in enumerate(frames)
    )
    style = (
        f"text{{{_FONT}}}"
        f".s{{animation:play {total_s:.2f}s steps(1,end) infinite}}@keyframes play{{{steps}}}"
        "@media (prefers-reduced-motion:reduce){.s{animation-play-state:paused}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="dogu"><style>{style}</style>'
        f'<rect width="100%" height="100%" rx="8" fill="{_BACKGROUND}"/><defs>{defined}</defs>'
        f'<svg width="{width:.0f}" height="{height:.0f}"><g class="s" fill="{_TEXT}">{strip}</g></svg></svg>\n'
    )


def still_svg(events: Sequence[tuple[float, str]], columns: int, rows: int, *, is_light: bool) -> str:
    """Draw the last screen of a recording, on a dark background or a light one; rows left empty below are cut."""
    *_, (_, frame) = _frames(events, columns, rows)
    used = max(at for at, line in enumerate(frame, 1) if _line(line))
    width, height = columns * _CELL_WIDTH + 2 * _MARGIN, used * _LINE_HEIGHT + 2 * _MARGIN
    lines = "".join(
        f'<g transform="translate(0 {_MARGIN + row * _LINE_HEIGHT})">{_line(line)}</g>'
        for row, line in enumerate(frame[:used])
    )
    background, text = ("#ffffff", "#1b1d23") if is_light else (_BACKGROUND, _TEXT)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="dogu"><style>text{{{_FONT}}}</style>'
        f'<rect width="100%" height="100%" rx="8" fill="{background}"/><g fill="{text}">{lines}</g></svg>\n'
    )


class _Screen(pyte.Screen):
    """pyte's, with the other screen that long lists take."""

    _main: tuple[dict[int, dict[int, Char]], int, int] | None = None

    def set_mode(self, *modes: int, **more: Any) -> None:
        """Switch on; the other screen begins empty."""
        super().set_mode(*modes, **more)
        if more.get("private") and _OTHER_SCREEN in modes:
            self._main = {row: {**cells} for row, cells in self.buffer.items()}, self.cursor.y, self.cursor.x
            self.erase_in_display(2)

    def reset_mode(self, *modes: int, **more: Any) -> None:
        """Switch off; what stood there before stands there again."""
        super().reset_mode(*modes, **more)
        if more.get("private") and _OTHER_SCREEN in modes and self._main is not None:
            rows, self.cursor.y, self.cursor.x = self._main
            self.erase_in_display(2)
            for row, cells in rows.items():
                self.buffer[row].update(cells)


def _frames(events: Sequence[tuple[float, str]], columns: int, rows: int) -> Iterator[tuple[float, Frame]]:
    screen = _Screen(columns, rows)
    stream = pyte.Stream(screen)
    shown: Frame = ()
    for _, group in groupby(events, key=lambda event: int(event[0] / _FRAME_S)):
        timed = list(group)
        stream.feed("".join(text for _, text in timed))
        frame = tuple(tuple(screen.buffer[row][column] for column in range(columns)) for row in range(rows))
        if frame != shown:
            yield (timed[0][0] if shown else 0.0), frame
            shown = frame


def _frame(frame: Frame, names: dict[tuple[Char, ...], str]) -> str:
    return "".join(
        f'<use href="#{names[line]}" y="{_MARGIN + row * _LINE_HEIGHT}"/>'
        for row, line in enumerate(frame)
        if _line(line)
    )


def _line(line: tuple[Char, ...]) -> str:
    """Draw one line at the top; runs of one look are one text, as wide as its cells."""
    drawn: list[str] = []
    column = 0
    for look, run in groupby(line, key=_look):
        cells = list(run)
        text = "".join(cell.data for cell in cells)
        foreground, background, bold, italic, underlined = look
        x, width = _MARGIN + column * _CELL_WIDTH, len(cells) * _CELL_WIDTH
        if background:
            drawn.append(f'<rect x="{x:.1f}" width="{width:.1f}" height="{_LINE_HEIGHT}" fill="{background}"/>')
        if text.strip():
            marks = f' fill="{foreground}"' if foreground else ""
            classes = "b" * bold + " i" * italic
            marks += f' class="{classes.strip()}"' if classes else ""
            marks += ' text-decoration="underline"' if underlined else ""
            kept = text.rstrip()
            cells_kept = len(cells) - (len(text) - len(kept))
            drawn.append(
                f'<text x="{x:.1f}" y="13.5" textLength="{cells_kept * _CELL_WIDTH:.1f}"{marks}>{escape(kept)}</text>'
            )
        column += len(cells)
    return "".join(drawn)


def _look(cell: Char) -> tuple[str, str, bool, bool, bool]:
    foreground, background = _color(cell.fg), _color(cell.bg)
    if cell.reverse:
        foreground, background = background or _BACKGROUND, foreground or _TEXT
    return foreground, background, cell.bold, cell.italics, cell.underscore


def _color(name: str) -> str:
    if name == "default":
        return ""
    return _COLORS.get(name, f"#{name}")
