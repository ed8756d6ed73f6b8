"""The question at the bottom of the screen: keys that answer it count only from when it was drawn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import anyio
from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    FormattedTextControl,
    HSplit,
    Window,
)
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

from dogu.language import say
from dogu.serve.terminal.cells import hanging, width_of, wrapped
from dogu.serve.terminal.screen import Choice
from dogu.serve.terminal.style import Style

_QUIET_S = 0.6  # so long nobody must have typed before a question takes a key as its answer


class Asking:
    """Choices and lines asked for, one at a time, in a window above the input box."""

    def __init__(self, style: Style, columns: Callable[[], int], redraw: Callable[[], None]) -> None:
        self._style = style
        self._redraw = redraw
        self._columns = columns
        self._lock = anyio.Lock()
        self._choices: Sequence[Choice] = ()
        self._is_armed = False
        self._label = ""
        self._is_secret = False
        self._answer: str | None = None
        self._answered = anyio.Event()
        self.typed_at = 0.0
        self.app: Application[None] | None = None
        self._line = Buffer(multiline=False, accept_handler=self._accept)
        self._choice_window = Window(
            FormattedTextControl(self._choices_text, focusable=True, show_cursor=True),
            dont_extend_height=True,
            wrap_lines=True,
        )
        self._line_window = Window(
            BufferControl(self._line, input_processors=[_Unseen(lambda: self._is_secret)]),
            get_line_prefix=self._line_prefix,
            dont_extend_height=True,
            wrap_lines=True,
        )
        self.is_choosing = Condition(lambda: bool(self._choices) and self._is_armed)
        self.is_reading = Condition(lambda: bool(self._label))
        self.is_labelled_above = self.is_reading & Condition(lambda: width_of(self._label) > self._columns() // 2)
        label = Window(FormattedTextControl(self._label_text), dont_extend_height=True, wrap_lines=True)
        self.container = HSplit(
            [
                ConditionalContainer(label, self.is_labelled_above),
                ConditionalContainer(self._choice_window, Condition(lambda: bool(self._choices))),
                ConditionalContainer(self._line_window, self.is_reading),
            ]
        )

    @property
    def is_open(self) -> bool:
        """Whether something is asked."""
        return bool(self._choices) or bool(self._label)

    @property
    def takes_keys(self) -> bool:
        """Whether the next key is an answer."""
        return self.is_choosing() or self.is_reading()

    def keys(self) -> KeyBindings:
        """Return the keys that answer."""
        keys = KeyBindings()

        @keys.add(Keys.Any, filter=self.is_choosing, eager=True)
        def _(event: KeyPressEvent) -> None:
            pressed = event.data.lower()
            if any(choice.key == pressed for choice in self._choices):
                self._give(pressed)

        @keys.add("c-c", filter=self.is_choosing | self.is_reading, eager=True)
        @keys.add("c-d", filter=self.is_choosing, eager=True)
        @keys.add("escape", filter=self.is_reading)
        @keys.add("<sigint>", filter=self.is_choosing | self.is_reading)
        def _(_event: KeyPressEvent) -> None:
            self._give(None)

        return keys

    async def choose(self, choices: Sequence[Choice]) -> str:
        """Wait for a key; '' when it was Ctrl-C."""
        async with self._lock:
            self._choices, self._is_armed = choices, False
            self._redraw()
            try:
                await self._until_quiet()
                self._is_armed = True
                self._focus(self._choice_window)
                return await self._wait() or ""
            finally:
                self._choices, self._is_armed = (), False
                self._focus(None)

    async def read_line(self, label: str, *, is_secret: bool) -> str | None:
        """Wait for a line."""
        async with self._lock:
            self._label, self._is_secret = label, is_secret
            self._line.reset()
            self._focus(self._line_window)
            try:
                return await self._wait()
            finally:
                self._label, self._is_secret = "", False
                self._line.reset()
                self._focus(None)

    def close(self) -> None:
        """Answer what is asked with nothing: the terminal is gone."""
        self._give(None)

    async def _until_quiet(self) -> None:
        """Let the user finish what they are typing: it goes into the input box."""
        self._take_typed()
        while (left_s := self.typed_at + _QUIET_S - time.monotonic()) > 0:
            await anyio.sleep(left_s)
            self._take_typed()

    def _take_typed(self) -> None:
        if self.app is not None and self.app.is_running:
            self.app.key_processor.feed_multiple(self.app.input.read_keys())
            self.app.key_processor.process_keys()

    async def _wait(self) -> str | None:
        self._answered = anyio.Event()
        await self._answered.wait()
        return self._answer

    def _accept(self, buffer: Buffer) -> bool:
        self._give(buffer.text)
        return True

    def _give(self, answer: str | None) -> None:
        self._answer = answer
        self._answered.set()

    def _focus(self, window: Window | None) -> None:
        if self.app is not None:
            if window is not None:
                self.app.layout.focus(window)
            else:
                self.app.layout.focus("input")
        self._redraw()

    def _label_text(self) -> StyleAndTextTuples:
        label = wrapped(self._label, self._columns() - 1)
        return ANSI(self._style.paint(label, "bold")).__pt_formatted_text__()

    def _line_prefix(self, _line: int, wrap: int) -> StyleAndTextTuples:
        """Put the label before the line, unless it stands above."""
        if wrap or self.is_labelled_above():
            return [("", "  ")]
        return ANSI(self._style.paint(self._label, "bold") + " ").__pt_formatted_text__()

    def _choices_text(self) -> StyleAndTextTuples:
        if not self._choices:
            return []
        if not self._is_armed:
            return [("", wrapped(say("A question is waiting until you stop typing."), self._columns() - 1))]
        words = [hanging(choice.words, self._columns() - 1, "    ") for choice in self._choices]
        one_line = "  ".join(words)
        shown = one_line if width_of(one_line) < self._columns() - 2 else "\n".join(words)
        return [*ANSI(self._style.paint(shown, "bold") + " ").__pt_formatted_text__(), ("[SetCursorPosition]", "")]


class _Unseen(Processor):
    """Shows of a secret only how long it is."""

    def __init__(self, is_on: Callable[[], bool]) -> None:
        self._is_on = is_on

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        if not self._is_on():
            return Transformation(transformation_input.fragments)
        count = len(transformation_input.document.text)
        text = say("({count} characters, not shown)", count=count) if count else ""
        return Transformation([("", text)], lambda _at: len(text), lambda _at: count)
