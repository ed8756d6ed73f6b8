"""Tool calls: a line each while they run and when they have ended, with what can be opened counted."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from dogu.contract import Display, FileDiff, TerminalOutput, ToolResult
from dogu.language import say
from dogu.runtime.events import CallFinished, CallOutput, CallStarted
from dogu.serve.terminal.cells import fit, fit_middle, width_of
from dogu.serve.terminal.diff_lines import draw_diff
from dogu.serve.terminal.draw import draw, folded
from dogu.serve.terminal.kept import KeptResults
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible, strip_escapes

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TAIL_CHARS = 4_000
_TAIL_LINES = 5
_OUTPUT_LINES = 6
_DIFF_LINES = 30
_ERROR_LINES = 8
_SHORT_S = 2.0


class _Running(msgspec.Struct):
    name: str
    description: str
    started: float
    tail: str = ""
    newlines: int = 0


class Calls:
    """The calls of a conversation. `emit` prints; `asked` is what questions showed, by call, until it ended."""

    def __init__(
        self, style: Style, columns: Callable[[], int], emit: Callable[[str], None], asked: dict[str, Display]
    ) -> None:
        self._style = style
        self._columns = columns
        self._emit = emit
        self._asked = asked
        self._running: dict[str, _Running] = {}
        self.results = KeptResults()

    @property
    def running(self) -> list[str]:
        """What runs, in words."""
        return [f"{call.name} {call.description}".strip() for call in self._running.values()]

    def event(self, event: CallStarted | CallOutput | CallFinished) -> None:
        """Take what happened to a call."""
        match event:
            case CallStarted(call=call, display_name=name, description=description):
                words = _Running(make_visible(name, keep=""), make_visible(description, keep=""), time.monotonic())
                self._running[call.call_id] = words
            case CallOutput(call_id=call_id, text=text):
                running = self._running.get(call_id)
                if running is not None:
                    running.newlines += text.count("\n")
                    running.tail = (running.tail + text)[-_TAIL_CHARS:]
            case CallFinished(call=call, display_name=name, result=result):
                running = self._running.pop(call.call_id, None)
                was_shown = self._asked.pop(call.call_id, None) == result.return_display
                # Of a tool there isn't, the name is the model's own text.
                running = running or _Running(make_visible(name, keep=""), "", time.monotonic())
                self._finished(running, result, was_shown)

    def forget_running(self) -> None:
        """Forget calls that were cancelled."""
        self._running.clear()

    def live_lines(self, columns: int, rows: int, tick: int) -> list[str]:
        """Return the calls that run, and the end of what the last of them has printed."""
        lines: list[str] = []
        shown = list(self._running.values())[-max(1, rows - _TAIL_LINES) :]
        for running in shown:
            lines.append(self._running_line(running, columns, tick))
        if shown and shown[-1].tail:
            lines += self._tail(shown[-1], columns, min(_TAIL_LINES, max(1, rows - len(lines))))
        return lines

    def _running_line(self, running: _Running, columns: int, tick: int) -> str:
        elapsed = elapsed_words(time.monotonic() - running.started)
        name = fit(running.name, max(4, columns // 2))
        room = columns - width_of(name) - width_of(elapsed) - 7
        spinner = self._style.paint(SPINNER[tick % len(SPINNER)], "cyan")
        words = f"{self._style.paint(name, 'bold')}  {fit_middle(running.description, max(4, room))}"
        return f"{spinner} {words}  {self._style.paint(elapsed, 'dim')}".rstrip()

    def _tail(self, running: _Running, columns: int, count: int) -> list[str]:
        text = make_visible(strip_escapes(running.tail), keep="\n").expandtabs(4) if running.tail else ""
        lines = text.rstrip("\n").split("\n")[-count:]
        return [self._style.paint("  " + fit(line.replace("␉", "    "), columns - 3), "dim") for line in lines]

    def _finished(self, running: _Running, result: ToolResult, was_shown: bool) -> None:
        style = self._style
        title = f"{style.paint(running.name, 'bold')}  {running.description}".rstrip()
        if result.error:
            message = make_visible(say(result.error.message)).rstrip("\n").split("\n")
            number = self.results.keep(title, "\n".join(message)) if len(message) > _ERROR_LINES else 0
            self._emit(f"{style.paint('✗', 'red')} {title}")
            self._emit(_indented(folded(message, style, _ERROR_LINES)) + self._more(number))
            return
        seconds = time.monotonic() - running.started
        took = style.paint(" · " + elapsed_words(seconds), "dim") if seconds >= _SHORT_S else ""
        lines, number = self._result(title, result.return_display, was_shown)
        head = f"{style.paint('●', 'green')} {title}{took}"
        if len(lines) == 1 and not number and width_of(head) + width_of(lines[0]) + 3 < self._columns():
            self._emit(f"{head} {style.paint('·', 'dim')} {lines[0]}")
            return
        self._emit(head + self._more(number))
        if lines:
            self._emit(_indented(lines))

    def _result(self, title: str, display: Display, was_shown: bool) -> tuple[list[str], int]:
        """Return what is shown of a result, and its number if there is more of it."""
        style = self._style
        match display:
            case FileDiff():
                lines = draw_diff(display.unified, style, display.path)
                number = self.results.keep(title, display)
                notes = draw(replace(display, unified=""), style)
                counts = style.paint(f"+{_count(display, '+')} -{_count(display, '-')}", "dim")
                shown = [counts] if was_shown else folded(lines, style, _DIFF_LINES)
                return ([*notes.split("\n")] if notes and not was_shown else []) + shown, number
            case TerminalOutput():
                lines = (
                    draw(replace(display, notes=()), style, whole=True).split("\n") if display.output.strip() else []
                )
                notes = draw(replace(display, output=""), style)
                number = self.results.keep(title, display) if len(lines) > _OUTPUT_LINES else 0
                shown = [fit_middle(line, 2_000) if len(line) > 2_000 else line for line in lines[-_OUTPUT_LINES:]]
                before = [self._above(len(lines) - _OUTPUT_LINES)] if number else []
                return [*before, *shown, *([*notes.split("\n")] if notes else [])], number
            case _:
                text = draw(display, style, whole=True)
                lines = text.split("\n") if text else []
                if len(lines) <= _OUTPUT_LINES or not isinstance(display, str):
                    return folded(lines, style), 0
                number = self.results.keep(title, display)
                count = len(lines) - _OUTPUT_LINES
                return [*lines[:_OUTPUT_LINES], style.paint(say("… {count} more lines", count=count), "dim")], number

    def _above(self, count: int) -> str:
        return self._style.paint(say("… {count} lines above", count=count), "dim")

    def _more(self, number: int) -> str:
        return self._style.paint("  " + say("(/open {number})", number=number), "dim") if number else ""


def elapsed_words(seconds: float) -> str:
    """Return a time as `12 s` or `3 min 05 s`."""
    whole = int(seconds)
    if whole < 60:
        return say("{seconds} s", seconds=whole)
    return say("{minutes} min {seconds} s", minutes=whole // 60, seconds=f"{whole % 60:02}")


def _indented(lines: list[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)


def _count(display: FileDiff, sign: str) -> int:
    hunks = display.unified.partition("\n@@")[2]
    return sum(line.startswith(sign) for line in hunks.split("\n"))
