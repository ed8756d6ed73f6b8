"""Tool calls: a line each while they run and when they have ended.

What was folded can be opened: by number, within a bound on memory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from dogu.contract import Blob, Display, ErrorKind, ToolResult
from dogu.contract.content import parts_of
from dogu.contract.display import CommandPreview, FileDiff, PatchDiff, TerminalOutput, TodoList
from dogu.contract.result import ToolFailure
from dogu.language import said, say
from dogu.runtime.events import CallFinished, CallOutput, CallStarted
from dogu.serve.failures import failure_parts
from dogu.serve.terminal.cells import fit, fit_middle, hanging, width_of, wrapped
from dogu.serve.terminal.draw import draw, draw_diff, folded
from dogu.serve.terminal.pictures import picture
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible, strip_escapes, visible_line

_MOST_CHARS = 6_000_000


class StoredResult(msgspec.Struct, frozen=True):
    """One thing that can be opened: its title is painted."""

    title: str
    display: Display


class StoredResults:
    """Numbers results from 1; the oldest are forgotten once six million characters are kept."""

    def __init__(self) -> None:
        self._kept: dict[int, StoredResult] = {}
        self._chars = 0
        self.last = 0

    def keep(self, title: str, display: Display) -> int:
        """Keep a result; return its number."""
        self.last += 1
        self._kept[self.last] = StoredResult(title, display)
        self._chars += _chars_of(display)
        while self._chars > _MOST_CHARS and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self._chars -= _chars_of(self._kept.pop(oldest).display)
        return self.last

    def opened(self, number: int, style: Style, columns: int = 0) -> str:
        """Return the whole of a result, painted; a sentence where there is none of that number."""
        kept = self._kept.get(number)
        if kept is None:
            told = self._missing(number)
            return wrapped(told, columns - 1) if columns else told
        whole = draw(kept.display, style, columns, whole=True)
        if isinstance(kept.display, str) and columns:
            whole = wrapped(whole, columns - 1)
        return f"{style.paint(f'#{number}', 'dim')} {kept.title}\n{whole or say('(nothing was printed)')}"

    def _missing(self, number: int) -> str:
        if 0 < number <= self.last:
            return say("Number {number} is no longer kept here; the page that /export writes has it.", number=number)
        if not self.last:
            return say("There is no result to open yet.")
        return say("There is no result {number} to open; the last one is {last}.", number=number, last=self.last)


def _chars_of(display: Display) -> int:
    match display:
        case str():
            return len(display)
        case FileDiff():
            return len(display.unified) + len(display.new_text) + len(display.old_text or "")
        case PatchDiff(files=files):
            return sum(map(_chars_of, files))
        case TerminalOutput():
            return len(display.output) + len(display.command)
        case CommandPreview():
            return len(display.command)
        case TodoList():
            return sum(len(todo.text) for todo in display.todos)


SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TAIL_CHARS = 4_000
_TAIL_LINES = 5
_OUTPUT_LINES = 6
_DIFF_LINES = 30
_ERROR_LINES = 8
_SHORT_S = 2.0
_MOST_LINE_CHARS = 2_000
_SUBJECTS = ("file_path", "path", "absolute_path", "command", "pattern", "url", "query")
_MOST_SUBJECT_CHARS = 200
_MOST_PRINTED_CHARS = 1_000_000


class _Running(msgspec.Struct):
    name: str
    description: str
    started: float
    tail: str = ""
    printed: list[str] = msgspec.field(default_factory=list[str])
    chars: int = 0


class Calls:
    """The calls of a conversation. `emit` prints; `asked` is what questions showed, by call, until it ended.

    `pictures` is the protocol that the terminal takes pictures by; empty for none.
    """

    def __init__(
        self,
        style: Style,
        columns: Callable[[], int],
        emit: Callable[[str], None],
        asked: dict[str, Display],
        pictures: str = "",
    ) -> None:
        self._pictures = pictures
        self._style = style
        self._columns = columns
        self._emit = emit
        self._asked = asked
        self._running: dict[str, _Running] = {}
        self._cancelled: set[str] = set()
        self.plan = TodoList(())
        self.results = StoredResults()

    @property
    def running(self) -> list[str]:
        """What runs, in words."""
        return [f"{call.name} {call.description}".strip() for call in self._running.values()]

    def event(self, event: CallStarted | CallOutput | CallFinished) -> None:
        """Take what happened to a call."""
        match event:
            case CallStarted(call=call, display_name=name, description=description):
                words = _Running(visible_line(name), visible_line(said(description)), time.monotonic())
                self._running[call.call_id] = words
            case CallOutput(call_id=call_id, text=text):
                running = self._running.get(call_id)
                if running is not None:
                    running.tail = (running.tail + text)[-_TAIL_CHARS:]
                    running.printed.append(text)
                    running.chars += len(text)
                    while running.chars > _MOST_PRINTED_CHARS and len(running.printed) > 1:
                        running.chars -= len(running.printed.pop(0))
            case CallFinished():
                self._ended(event)

    def _ended(self, event: CallFinished) -> None:
        call, result = event.call, event.result
        if call.call_id in self._cancelled:
            self._cancelled.discard(call.call_id)
            return
        if isinstance(result.return_display, TodoList):
            self.plan = result.return_display
        asked = self._asked.pop(call.call_id, None)
        # Of a tool there isn't, the name is the model's own text.
        unknown = _Running(visible_line(event.display_name), _subject(call.args), time.monotonic())
        running = self._running.pop(call.call_id, unknown)
        if result.error is not None and result.error.kind is ErrorKind.DECLINED:
            told = self._style.paint(f" · {_declined_words(asked)}", "dim")
            self._emit(self._head(running, "■", "yellow", told))
        else:
            self._finished(running, result, was_shown=asked is not None and asked == result.return_display)

    def cancel(self) -> None:
        """Say of each call that runs that it was cancelled, and leave on the screen what it had printed."""
        for call_id, running in self._running.items():
            self._cancelled.add(call_id)
            output = strip_escapes("".join(running.printed))
            count, lines, is_cut = _last_lines(output)
            number = 0
            if is_cut or count > len(lines):
                title = f"{self._style.paint(running.name, 'bold')}  {running.description}".rstrip()
                number = self.results.keep(title, TerminalOutput(running.description, output))
            took = " · " + say("cancelled") + " · " + elapsed_words(time.monotonic() - running.started)
            self._emit(self._head(running, "■", "yellow", self._style.paint(took, "dim") + self._more(number)))
            before = [self._above(count - len(lines))] if count > len(lines) else []
            if lines:
                self._emit(_indented([*before, *self._rows(lines)]))
        self._running.clear()

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
        lines = running.tail.rstrip("\n").rsplit("\n", count)[-count:]
        text = make_visible(strip_escapes("\n".join(line[: columns * 2] for line in lines))).expandtabs(4)
        return [self._style.paint("  " + fit(line, columns - 3), "dim") for line in text.split("\n")[-count:]]

    def _finished(self, running: _Running, result: ToolResult, was_shown: bool) -> None:
        style = self._style
        title = f"{style.paint(running.name, 'bold')}  {running.description}".rstrip()
        if result.error:
            self._failed(running, title, result.error)
            return
        seconds = time.monotonic() - running.started
        took = style.paint(" · " + elapsed_words(seconds), "dim") if seconds >= _SHORT_S else ""
        shown = result.return_display
        lines, number = self._result(title, shown, was_shown)
        color = "yellow" if isinstance(shown, TerminalOutput) and shown.exit_code else "green"
        head = f"{style.paint('●', color)} {title}{took}"
        blobs = [part for part in parts_of(result.llm_content) if isinstance(part, Blob)]
        seen = [blob for blob in blobs if blob.media_type.startswith("image/")]
        if len(lines) == 1 and not number and width_of(head) + width_of(lines[0]) + 3 < self._columns():
            self._emit(f"{head} {style.paint('·', 'dim')} {lines[0]}")
        else:
            self._emit(self._head(running, "●", color, took + self._more(number)))
            if lines:
                self._emit(_indented(lines))
        for blob in seen:
            self._emit(picture(blob, style, self._columns(), self._pictures))

    def _failed(self, running: _Running, title: str, error: ToolFailure) -> None:
        message, rest = failure_parts(error)
        lines = wrapped(make_visible(message).rstrip("\n"), self._columns() - 2).split("\n")
        is_folded = bool(rest) or len(lines) > _ERROR_LINES
        number = self.results.keep(title, make_visible(f"{message}\n{rest}".rstrip("\n"))) if is_folded else 0
        self._emit(self._head(running, "✗", "red", self._more(number)))
        self._emit(_indented(folded(lines, self._style, _ERROR_LINES)))

    def _head(self, running: _Running, sign: str, color: str, after: str) -> str:
        """Return a call's line, broken between words; what comes after it is painted already."""
        plain = f"{sign} {running.name}  {running.description}".rstrip()
        first, *more = hanging(plain, self._columns()).split("\n")
        if after and width_of([first, *more][-1]) + width_of(after) > self._columns():
            more.append(" ")
        named = f"{sign} {running.name}"
        if first.startswith(named):
            paint = self._style.paint
            first = f"{paint(sign, color)} {paint(running.name, 'bold')}{first[len(named) :]}"
        return "\n".join([first, *more]) + after

    def _result(self, title: str, display: Display, was_shown: bool) -> tuple[list[str], int]:
        """Return what is shown of a result, and its number if there is more of it."""
        style = self._style
        match display:
            case FileDiff():
                columns = self._columns() - 2
                lines = draw_diff(display.unified, style, display.path, columns, _DIFF_LINES)
                number = self.results.keep(title, display)
                notes = draw(replace(display, unified=""), style, columns)
                counts = style.paint(f"+{_count(display, '+')} -{_count(display, '-')}", "dim")
                shown = [counts] if was_shown else folded(lines, style, _DIFF_LINES)
                return ([*notes.split("\n")] if notes and not was_shown else []) + shown, number
            case PatchDiff(files=files):
                lines = draw(display, style, self._columns() - 2, most=_DIFF_LINES).split("\n")
                counts = [f"{file.path} +{_count(file, '+')} -{_count(file, '-')}" for file in files]
                shown = [style.paint(make_visible(line, keep=""), "dim") for line in counts]
                return folded(shown, style, _DIFF_LINES) if was_shown else lines, self.results.keep(title, display)
            case TerminalOutput():
                count, lines, is_cut = _last_lines(display.output)
                notes = draw(replace(display, output=""), style, self._columns() - 2)
                number = self.results.keep(title, display) if is_cut or count > len(lines) else 0
                before = [self._above(count - len(lines))] if count > len(lines) else []
                return [*before, *self._rows(lines), *([*notes.split("\n")] if notes else [])], number
            case str():
                count, lines, is_cut = _first_lines(said(display))
                number = self.results.keep(title, display) if is_cut or count > len(lines) else 0
                more = say("… {count} more lines", count=count - len(lines)) if count > len(lines) else ""
                return [*self._rows(lines), *([style.paint(more, "dim")] if more else [])], number
            case _:
                text = draw(display, style, self._columns() - 2, whole=True)
                return folded(text.split("\n") if text else [], style), 0

    def _rows(self, lines: list[str]) -> list[str]:
        return [row for line in lines for row in wrapped(line, self._columns() - 2).split("\n")]

    def _above(self, count: int) -> str:
        return self._style.paint(say("… {count} lines above", count=count), "dim")

    def _more(self, number: int) -> str:
        return self._style.paint("  " + say("(/open {number})", number=number), "dim") if number else ""


def _subject(args: Mapping[str, Any] | None) -> str:
    """Return what a call that never ran was about, in a line: no tool has described it."""
    given = [value for name in _SUBJECTS if isinstance(value := (args or {}).get(name), str)]
    first, _, more = (given[0].strip() if given else "").partition("\n")
    words = " ".join(first.removeprefix(os.getcwd() + os.sep).split())
    is_whole = not more and len(words) <= _MOST_SUBJECT_CHARS
    return visible_line(words if is_whole else words[:_MOST_SUBJECT_CHARS] + " …")


def _declined_words(asked: Display | None) -> str:
    match asked:
        case FileDiff() | PatchDiff():
            return say("declined, nothing was written")
        case CommandPreview():
            return say("declined, nothing was run")
        case _:
            return say("declined")


def elapsed_words(seconds: float) -> str:
    """Return a time as `12 s` or `3 min 05 s`."""
    whole = int(seconds)
    if whole < 60:
        return say("{seconds} s", seconds=whole)
    return say("{minutes} min {seconds} s", minutes=whole // 60, seconds=f"{whole % 60:02}")


def _last_lines(output: str) -> tuple[int, list[str], bool]:
    """Return how many lines a command printed, the last of them, and whether one is cut; no more is looked at."""
    output = output.rstrip("\n")
    if not output.strip():
        return 0, [], False
    lines = output.rsplit("\n", _OUTPUT_LINES)[-_OUTPUT_LINES:]
    shown = make_visible("\n".join(_cut(line) for line in lines)).split("\n")
    return max(output.count("\n") + 1, len(shown)), shown, _is_cut(lines)


def _first_lines(text: str) -> tuple[int, list[str], bool]:
    text = text.rstrip("\n")
    if not text:
        return 0, [], False
    lines = text.split("\n", _OUTPUT_LINES)[:_OUTPUT_LINES]
    shown = make_visible("\n".join(_cut(line) for line in lines)).split("\n")
    return text.count("\n") + 1, shown, _is_cut(lines)


def _is_cut(lines: list[str]) -> bool:
    return any(len(line) > _MOST_LINE_CHARS for line in lines)


def _cut(line: str) -> str:
    """Leave out the middle of a line longer than a screen."""
    if len(line) <= _MOST_LINE_CHARS:
        return line
    half = _MOST_LINE_CHARS // 2
    return f"{line[:half]} … {line[-half:]}"


def _indented(lines: list[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)


def _count(display: FileDiff, sign: str) -> int:
    hunks = display.unified.partition("\n@@")[2]
    return sum(line.startswith(sign) for line in hunks.split("\n"))
