"""Events as they happen, on the screen: the answer as it streams, thoughts, calls as lines, notes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import assert_never

from dogu.agent.events import Compacted, Event, PromptGiven, TurnEnd, TurnEnded
from dogu.contract import Display
from dogu.language import say
from dogu.models.events import Finished, FunctionCallEvent, Retrying, TextDelta, ThoughtDelta, Usage
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Noted
from dogu.serve.terminal.calls import SPINNER, Calls, elapsed_words
from dogu.serve.terminal.cells import fit, width_of, wrapped
from dogu.serve.terminal.draw import advice_here, draw
from dogu.serve.terminal.pictures import protocol_of
from dogu.serve.terminal.stream import AnswerStream
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible

_HEADINGS = re.compile(r"^\s*(?:\*\*|#{1,6}\s+)([^*\n]+?)(?:\*\*)?\s*$", re.MULTILINE)
_BOLD = re.compile(r"\*\*(\S(?:[^*\n]*[^*\s])?)\*\*")
_MOST_SEARCHED_CHARS = 2_000
_DRAWN_AFTER_S = 0.15


class Show:
    """Shows events. `emit` prints a text for good; `draws` says whether what is under way is drawn, too.

    `asked` holds what a question showed, by its call's id, until the call has finished: a diff just approved isn't
    repeated. What was done otherwise, such as merged with a change made meanwhile, is shown.
    """

    def __init__(
        self,
        style: Style,
        columns: Callable[[], int],
        emit: Callable[[str], None],
        asked: dict[str, Display] | None = None,
        *,
        draws: bool = False,
    ) -> None:
        self._style = style
        self._columns = columns
        self._emit = emit
        self._answer = AnswerStream(style, columns, emit, draws=draws, after_s=_DRAWN_AFTER_S)
        self._draws = draws
        self._thought = ""
        self._heading = ""
        self._began = 0.0
        self._retried: Retrying | None = None
        self._retries = 0
        self._waits = False  # for the next try
        self._told = ""
        self.last_answer = ""
        self.shows_plan = False
        self.pictures = protocol_of() if draws else ""
        self.calls = Calls(style, columns, emit, {} if asked is None else asked, self.pictures)

    def begin(self) -> None:
        """Say that something begins that takes a while."""
        self._began = time.monotonic()
        self._answer.follows_other = False
        self._told = ""

    def event(self, event: Event) -> None:
        """Show one event."""
        self._waits = self._waits and isinstance(event, Usage | Retrying)
        match event:
            case TextDelta(text=text):
                self._end_thought()
                self._answer.add(text)
                self.last_answer += text
            case ThoughtDelta(text=text):
                self._thought += text
                self._heading = next(reversed(_HEADINGS.findall(self._thought[-_MOST_SEARCHED_CHARS:])), self._heading)
            case CallOutput():
                self.calls.event(event)
            case CallStarted() | CallFinished():
                self.end()
                self.calls.event(event)
                self._answer.follows_other = True
            case PromptGiven():
                self.last_answer = ""
            case FunctionCallEvent() | Usage():
                pass
            case _:
                self._noted(event)

    def _noted(self, event: Finished | Compacted | Noted | TurnEnded | Retrying) -> None:
        """Show what is told in a sentence."""
        match event:
            case Finished(note=note) | Compacted(note=note) | Noted(text=note) | TurnEnded(end=TurnEnd(note=note)):
                self.end(note)
            case Retrying():
                self._retry(event)
            case _:
                assert_never(event)

    def _retry(self, retrying: Retrying) -> None:
        """Keep one line of what is tried again; what an answer had begun is taken back, as far as it can be."""
        if self._draws:
            self._retried, self._retries, self._waits = retrying, self._retries + 1, True
            self._end_thought()
            self._answer.begin_again()
        else:
            self.end(retrying.note)

    def _tell_retries(self) -> None:
        retried, self._retried = self._retried, None
        count, self._retries = self._retries, 0
        if retried is not None:
            told = say("{reason} Tried again: {count}", reason=say(retried.reason), count=count)
            self._emit(self._style.paint(wrapped(make_visible(told), self._columns()), "dim"))

    def end(self, note: str = "") -> None:
        """Print what is under way, and a note; one that was told just now isn't told twice."""
        self._end_thought()
        self._answer.end()
        if self._retried is not None and say(note).startswith(say(self._retried.reason)):
            self._retried, self._retries = None, 0  # what failed for good says itself what was tried
        self._tell_retries()
        if note and note != self._told:
            self._told = note
            self._emit(self._style.paint(wrapped(make_visible(advice_here(say(note))), self._columns()), "yellow"))

    def live_lines(self, columns: int, rows: int) -> list[str]:
        """Return what is under way, painted; the last line says what it is and for how long."""
        tick = int(time.monotonic() * 10)
        lines = self._answer.live_lines(columns, rows)
        running = self.calls.live_lines(columns, rows, tick)
        if running and lines:
            lines.append("")
        spinner = "" if running else f"{self._style.paint(SPINNER[tick % len(SPINNER)], 'cyan')} "
        since = f" · {elapsed_words(time.monotonic() - self._began)} · {say('Esc cancels')}"
        words = fit(self._doing(), max(8, columns - 3 - width_of(since))) + since
        if self._retried is not None and self._waits:
            told = wrapped(make_visible(say(self._retried.note), keep=""), columns - 1)
            running += [self._style.paint(line, "yellow") for line in told.split("\n")]
        return [*lines, *running, spinner + self._style.paint(fit(words, columns - 3), "dim")]

    def plan_lines(self, columns: int) -> list[str]:
        """Return the plan, where it is to be seen all the time."""
        if not self.shows_plan:
            return []
        drawn = draw(self.calls.plan, self._style, columns, whole=True) or say("There is no plan.")
        return [self._style.paint(fit(line, columns - 1), "dim") for line in drawn.split("\n")]

    def _doing(self) -> str:
        if self.calls.running:
            return say("Running")
        if self._thought:
            return say("Thinking: {about}", about=_plain_heading(self._heading)) if self._heading else say("Thinking")
        return say("Waiting for the model") if self._answer.is_empty else say("Answering")

    def _end_thought(self) -> None:
        """Leave one line of a thought: what it was about. The rest can be opened."""
        thought, self._thought = self._thought.strip(), ""
        self._heading = ""
        if not thought:
            return
        about = [_plain_heading(heading) for heading in _HEADINGS.findall(thought)]
        about = about or [_plain_heading(next(iter(thought.split("\n")), ""))]
        number = self.calls.results.keep(say("Thought"), thought) if _plain_heading(thought) != about[-1] else 0
        more = "  " + say("(/open {number})", number=number) if number else ""
        room = self._columns() - width_of(more) - 3
        self._emit(self._style.paint(f"∴ {fit(' · '.join(about), max(8, room))}{more}", "dim"))
        self._answer.follows_other = True


def _plain_heading(text: str) -> str:
    return make_visible(_BOLD.sub(r"\1", text).strip("*# \n"), keep="")
