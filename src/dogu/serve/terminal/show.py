"""Events as they happen, on the terminal: the answer as it streams, calls as a line, results under them."""

from __future__ import annotations

import sys
from typing import TextIO

from msgspec.structs import replace

from dogu.agent.loop import TurnEnded
from dogu.contract import Display, TerminalOutput, ToolResult
from dogu.models.events import Finished, Retrying, TextDelta, ThoughtDelta
from dogu.runtime.events import CallFinished, CallOutput, CallStarted
from dogu.serve.terminal.draw import draw
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible

_MOST_LIVE_LINES = 20


class Show:
    """Prints events; output seen live is not repeated, nor a diff just approved.

    `asked` holds what a question showed, by its call's id, until the call has finished. What was done otherwise, such
    as merged with a change made meanwhile, is shown.
    """

    def __init__(
        self, out: TextIO | None = None, style: Style | None = None, asked: dict[str, Display] | None = None
    ) -> None:
        self._out = out or sys.stdout
        self._style = style or Style.of(self._out)
        self._asked = {} if asked is None else asked
        self._is_in_text = False
        self._live_lines: dict[str, int] = {}

    def event(self, event: object) -> None:
        """Print one event."""
        match event:
            case TextDelta(text=text):
                self._text(make_visible(text))
            case ThoughtDelta(text=text):
                self._text(self._style.paint(make_visible(text), "dim"))
            case Finished(note=note):
                self._end_text()
                self._note(note)
            case Retrying(reason=reason, delay_s=delay_s, attempt=attempt, of=of):
                self._end_text()
                self._note(f"{reason} Trying again in {delay_s:.0f} s ({attempt} of {of}).")
            case CallStarted() | CallOutput() | CallFinished():
                self._call(event)
            case TurnEnded(end=end):
                self._note(end.note)
            case _:
                pass

    def _call(self, event: CallStarted | CallOutput | CallFinished) -> None:
        self._end_text()
        match event:
            case CallStarted(display_name=name, description=description):
                line = f"{self._style.paint('●', 'cyan')} {self._style.paint(make_visible(name, keep=''), 'bold')}  "
                self._write(line + make_visible(description, keep="") + "\n")
            case CallOutput(call_id=call_id, text=text):
                self._live(call_id, text)
            case CallFinished(call=call, display_name=name, result=result):
                was_live = self._live_lines.pop(call.call_id, 0) > 0
                was_shown = self._asked.pop(call.call_id, None) == result.return_display
                self._finished(name, result, was_live, was_shown)

    def _finished(self, name: str, result: ToolResult, was_live: bool, was_shown: bool) -> None:
        if result.error:
            message = make_visible(result.error.message)
            name = make_visible(name, keep="")  # of a tool there isn't, it is the model's own text
            self._write(f"  {self._style.paint('✗', 'red')} {name}: {_indented(message)}\n")
            return
        display: Display = "" if was_shown else result.return_display
        if was_live:  # its output was seen as it came; how it ended wasn't
            display = replace(display, output="") if isinstance(display, TerminalOutput) else ""
        if text := draw(display, self._style):
            self._write(f"  {_indented(text)}\n")

    def _live(self, call_id: str, text: str) -> None:
        shown = self._live_lines.get(call_id, 0)
        lines = make_visible(text).splitlines()
        room = max(0, _MOST_LIVE_LINES - shown)
        for line in lines[:room]:
            self._write(f"  {self._style.paint(line, 'dim')}\n")
        if shown < _MOST_LIVE_LINES <= shown + len(lines):
            self._write(self._style.paint("  … more output, not shown as it comes\n", "dim"))
        self._live_lines[call_id] = shown + len(lines)

    def _text(self, text: str) -> None:
        self._is_in_text = True
        self._write(text)

    def _end_text(self) -> None:
        if self._is_in_text:
            self._write("\n")
        self._is_in_text = False

    def _note(self, note: str) -> None:
        if note:
            self._write(self._style.paint(make_visible(note), "yellow") + "\n")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _indented(text: str) -> str:
    return text.rstrip("\n").replace("\n", "\n  ")
