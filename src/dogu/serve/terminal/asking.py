"""The question at the bottom of the screen: keys that answer it count only from when it was drawn.

The first answer closes it: no further key of the same read counts. A text is none, and goes into the input box; where a
draft stands there, it has the keys until an arrow turns to the question. Esc closes the question, and never waits for a
further key: what follows it is typed.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    FormattedTextControl,
    HSplit,
    Window,
)
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.mouse_events import MouseButton, MouseEvent, MouseEventType

from dogu.language import say
from dogu.serve.terminal.cells import labelled, width_of, wrapped
from dogu.serve.terminal.choices import Menu, OpenMenu
from dogu.serve.terminal.size_probes import SizeProbes
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import strip_escapes

if TYPE_CHECKING:
    from prompt_toolkit.key_binding.key_bindings import NotImplementedOrNone

_MOVES = {"up c-p s-tab": -1, "down c-n tab": 1, "pageup": -8, "pagedown": 8, "home": -10_000, "end": 10_000}
_CLICK = re.compile("\x1b\\[<(\\d{1,3});(\\d{1,4});(\\d{1,4})([Mm])")
_WHEEL = {64: -1, 65: 1}
_UNKNOWN = re.compile(r"\[[0-?]*[ -/]*[@-~]|O[@-~]$")
_QUIET_S = 0.6  # so long nobody must have typed before a question takes a key as its answer


class Asking:
    """Choices and lines asked for, one at a time, in a window above the input box; `draft` is what stands there."""

    def __init__(
        self,
        style: Style,
        size: Callable[[], Size],
        redraw: Callable[[], None],
        probes: SizeProbes,
        draft: Callable[[], str] = str,
    ) -> None:
        self._draft = draft
        self._probes = probes
        self._pressed_at = -1
        self._style = style
        self._redraw = redraw
        self._size = size
        self._lock = anyio.Lock()
        self._menu: OpenMenu | None = None
        self._is_armed = self._has_mouse = self._is_turned_to = self._is_closed = False
        self._label = ""
        self._is_secret = False
        self._answer: list[str] | None = None
        self._is_answered = True
        self._stirred = anyio.Event()
        self.typed_at = 0.0
        self.app: Application[None] | None = None
        self._line = Buffer(multiline=False, accept_handler=self._accept)
        self._choice_window = Window(
            _MenuControl(self._choices_text, self._pressed),
            dont_extend_height=True,
            wrap_lines=True,
        )
        self._line_window = Window(
            BufferControl(self._line, input_processors=[_Unseen(lambda: self._is_secret)]),
            get_line_prefix=self._line_prefix,
            dont_extend_height=True,
            wrap_lines=True,
        )
        self.is_choosing = Condition(lambda: self._menu is not None and self._is_armed)
        self.has_screen = self.is_choosing & Condition(lambda: self._menu is not None and self._menu.menu.has_screen)
        self.takes_mouse = self.is_choosing & Condition(lambda: self._has_mouse)
        self.is_reading = Condition(lambda: bool(self._label))
        self.is_labelled_above = self.is_reading & Condition(lambda: width_of(self._label) > self._columns() // 2)
        label = Window(FormattedTextControl(self._label_text), dont_extend_height=True, wrap_lines=True)
        self.container = HSplit(
            [
                ConditionalContainer(label, self.is_labelled_above),
                ConditionalContainer(self._choice_window, Condition(lambda: self._menu is not None)),
                ConditionalContainer(self._line_window, self.is_reading),
            ]
        )

    @property
    def is_open(self) -> bool:
        """Whether something is asked."""
        return self._menu is not None or bool(self._label)

    @property
    def takes_keys(self) -> bool:
        """Whether the next key is an answer."""
        return self.is_choosing() or self.is_reading()

    def keys(self) -> KeyBindings:
        """Return the keys that answer."""
        keys = KeyBindings()

        @keys.add(Keys.Any, filter=self.is_choosing, eager=True)
        def _(event: KeyPressEvent) -> None:
            is_text = is_typed_text(event) and not (self._menu is not None and self._menu.menu.filters)
            if not (is_text or self._has_draft()) and self._typed(event.data):
                return
            if self._yields:
                self._yield(event)
            elif is_text or self._has_draft():
                self._to_box(event)

        self._moving(keys)
        keys.add(Keys.Vt100MouseEvent, filter=self.is_choosing, eager=True)(self._click)
        self._closing(keys)

        @keys.add(Keys.BracketedPaste, filter=self.is_reading | is_searching, eager=True)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text(" ".join(strip_escapes(event.data).split()))

        return keys

    def _closing(self, keys: KeyBindings) -> None:
        @keys.add("escape", filter=self.is_choosing | self.is_reading, eager=True)
        def _(event: KeyPressEvent) -> None:
            following = event.app.key_processor.input_queue
            if self.is_reading():  # what comes late may be the rest of a key's sequence, and no answer to what is next
                self.typed_at = time.monotonic()
            if not drop_alt(following) and not _drop_chord(following):
                self._give(None)

        @keys.add("c-c", filter=self.is_choosing | self.is_reading, eager=True)
        @keys.add("c-d", filter=self.is_choosing & Condition(lambda: not self._yields), eager=True)
        @keys.add("<sigint>", filter=self.is_choosing | self.is_reading)
        def _(_event: KeyPressEvent) -> None:
            self._give(None)

    def _moving(self, keys: KeyBindings) -> None:
        for names, by in _MOVES.items():
            for name in names.split():
                keys.add(name, filter=self.is_choosing, eager=True)(self._move(by))

        keys.add("enter", filter=self.is_choosing, eager=True)(self._enter)

        @keys.add("backspace", filter=self.is_choosing, eager=True)
        def _(event: KeyPressEvent) -> None:
            if self._has_draft():
                self._to_box(event)
            elif self._menu is not None:
                self._menu.widen()

    def _enter(self, event: KeyPressEvent) -> None:
        if not self._has_draft():
            self._take_highlighted()
        elif self._yields:
            self._yield(event)
        else:
            self._to_box(event)

    def _click(self, event: KeyPressEvent) -> None:
        """Take what the mouse did to a choice.

        Anything else is meant for the terminal: to mark text, to scroll. It has the mouse back until the next menu.
        """
        match, top = _CLICK.fullmatch(event.data), self._probes.top
        if match is None or top is None or self._menu is None:
            return
        button, column, row = (int(match[at]) for at in (1, 2, 3))
        if button in _WHEEL and self._menu.menu.filters:
            self._menu.move(_WHEEL[button])
            return
        is_meant: object = NotImplemented
        if button == 0 and row > top:
            kind = MouseEventType.MOUSE_DOWN if match[4] == "M" else MouseEventType.MOUSE_UP
            place = Point(column - 1, row - 1 - top)
            handler = event.app.renderer.mouse_handlers.mouse_handlers[place.y][place.x]
            is_meant = handler(MouseEvent(place, kind, MouseButton.LEFT, frozenset()))
        self._has_mouse = is_meant is None

    def _pressed(self, row: int, kind: MouseEventType) -> bool:
        """Highlight the choice that is pressed, and take it when the button is let go there."""
        menu = self._menu
        number = menu.numbers[row] if menu is not None and row < len(menu.numbers) else -1
        if menu is None or number < 0:
            return False
        menu.highlight(number)
        was_pressed, self._pressed_at = self._pressed_at, -1
        if kind is MouseEventType.MOUSE_DOWN:
            self._pressed_at = number
        elif was_pressed == number and menu.menu.takes_some:
            menu.toggle()
        elif was_pressed == number:
            self._take_highlighted()
        return True

    def _move(self, by: int) -> Callable[[KeyPressEvent], None]:
        def move(_event: KeyPressEvent) -> None:
            if self._has_draft():
                self._is_turned_to = True
            elif self._menu is not None:
                self._menu.move(by)

        return move

    @property
    def _yields(self) -> bool:
        return self._menu is not None and self._menu.menu.yields

    def _yield(self, event: KeyPressEvent) -> None:
        """Close the menu, and give the key to the input box."""
        self._give(None)
        event.app.key_processor.feed(event.key_sequence[-1], first=True)

    def _has_draft(self) -> bool:
        """Whether the input box has the keys: a draft stands there, and no arrow has turned to the question."""
        return bool(self._draft()) and not self._is_turned_to

    def _to_box(self, event: KeyPressEvent) -> None:
        """Give the key to the input box; the question waits until the user has stopped typing."""
        self._is_armed = False
        self._focus(None)
        event.app.key_processor.feed(event.key_sequence[-1], first=True)
        self._stirred.set()

    def _typed(self, text: str) -> bool:
        """Take what was typed into a menu; False when it means nothing there."""
        menu = self._menu
        if menu is None or not text.isprintable():
            return False
        if menu.menu.takes_some and text == " ":
            menu.toggle()
        elif menu.menu.filters:
            menu.narrow(text)
        elif key := menu.picks(text):
            if menu.menu.takes_some:
                menu.picked ^= {key}
            else:
                self._give([key])
        else:
            return False
        return True

    def _take_highlighted(self) -> None:
        menu = self._menu
        if menu is not None and menu.menu.takes_some:
            self._give([each.key for each in menu.menu.choices if each.key in menu.picked])
        elif menu is not None and menu.highlighted:
            self._give([menu.highlighted])

    async def choose(self, menu: Menu) -> list[str] | None:
        """Wait until something is picked; None when it was closed."""
        async with self._lock:
            self._begin()
            if self._is_closed:
                return None
            self._menu, self._has_mouse = OpenMenu(menu), self._probes.answers
            self._redraw()
            counts_at_once = menu.is_own
            try:
                while not self._is_answered:
                    if not counts_at_once:
                        await self._until_quiet()
                    counts_at_once = False
                    await self._armed()
            finally:
                self._shut()
            return self._answer

    async def _armed(self) -> None:
        """Take keys as the answer, until there is one or the user types on."""
        if self._is_answered:
            return
        self._stirred = anyio.Event()
        self._is_armed, self._is_turned_to = True, False
        self._focus(self._choice_window)
        await self._stirred.wait()

    async def read_line(self, label: str, *, is_secret: bool) -> str | None:
        """Wait for a line."""
        async with self._lock:
            self._begin()
            if self._is_closed:
                return None
            self._label, self._is_secret = label, is_secret
            self._stirred = anyio.Event()
            self._focus(self._line_window)
            try:
                await self._stirred.wait()
            finally:
                self._shut()
            return self._answer[0] if self._answer else None

    def cancel(self) -> None:
        """Answer what is asked with nothing."""
        self._give(None)

    def close(self) -> None:
        """Answer what is asked with nothing, and all that will be: the terminal is gone."""
        self._is_closed = True
        self._give(None)

    def _begin(self) -> None:
        self._answer, self._is_answered = None, False

    def _shut(self) -> None:
        """Take the question away: whatever key comes next is none of its answers."""
        self._is_answered = True
        self._menu, self._is_armed = None, False
        self._label, self._is_secret = "", False
        self._line.reset()
        self._focus(None)

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

    def _accept(self, buffer: Buffer) -> bool:
        self._give([buffer.text])
        return True

    def _give(self, answer: list[str] | None) -> None:
        """Take the first answer, which closes the question at once."""
        if not self._is_answered:
            self._answer = answer
            self._shut()
            self._stirred.set()

    def _focus(self, window: Window | None) -> None:
        if self.app is not None:
            if window is not None:
                self.app.layout.focus(window)
            elif self.app.layout.current_window in (self._choice_window, self._line_window):
                self.app.layout.focus("input")
        self._redraw()

    def _columns(self) -> int:
        return self._size().columns

    def _label_text(self) -> StyleAndTextTuples:
        label = wrapped(self._label, self._columns() - 1)
        return ANSI(self._style.paint(label, "bold")).__pt_formatted_text__()

    def _line_prefix(self, _line: int, wrap: int) -> StyleAndTextTuples:
        """Put the label before the line, unless it stands above."""
        if wrap or self.is_labelled_above():
            return [("", "  ")]
        return ANSI(self._style.paint(labelled(self._label), "bold")).__pt_formatted_text__()

    def _choices_text(self) -> StyleAndTextTuples:
        if self._menu is None:
            return []
        columns, rows = self._columns(), self._size().rows
        if not self._is_armed:
            return [("", wrapped(say("A question is waiting until you stop typing."), columns - 1))]
        lines, row = self._menu.lines(self._style, columns, rows, is_beside_draft=self._has_draft())
        text = "\n".join(lines)
        at = sum(len(line) + 1 for line in lines[:row])
        if self._menu.menu.filters:  # behind what is searched for, where input methods show what they compose
            at = len(lines[0])
            text = f"{lines[0]} {text[at:]}"  # the cursor needs a cell
        above, below = (ANSI(each).__pt_formatted_text__() for each in (text[:at], text[at:]))
        return [*above, ("[SetCursorPosition]", ""), *below]


def is_typed_text(event: KeyPressEvent) -> bool:
    """Whether a key came as part of a text: with another that types in the same read, or in a paste."""
    following = event.app.key_processor.input_queue
    press = event.key_sequence[-1]
    return press.key is Keys.BracketedPaste or (_types(press) and bool(following) and _types(following[0]))


def _types(press: KeyPress) -> bool:
    return not isinstance(press.key, Keys) and press.data.isprintable()


def drop_alt(following: deque[KeyPress]) -> bool:
    """Drop what follows an Esc where it isn't typed: a key held with Alt, a sequence that nobody knows. Say whether."""
    keys = "".join(str(press.data) for press in following)
    if following and not following[0].data:  # the terminal has one sequence for both
        count = 1
    elif match := _UNKNOWN.match(keys):
        count = len(match[0])
    else:
        return False
    for _ in range(count):
        following.popleft()
    return True


def _drop_chord(following: deque[KeyPress]) -> bool:
    """Drop the one key that came with an Esc: the two are a key held with Alt, and no answer. Say whether.

    A text behind the Esc was typed after it.
    """
    held = following[0].key if following else Keys.Escape
    is_held = held in (Keys.ControlM, Keys.Backspace) or (following and _types(following[0]))
    if not is_held or (len(following) > 1 and _types(following[1])):
        return False
    following.popleft()
    return True


class _MenuControl(FormattedTextControl):
    """Shows the choices; `pressed` hears the row that the mouse is at, and says whether a choice stands there."""

    def __init__(
        self, get_text: Callable[[], StyleAndTextTuples], pressed: Callable[[int, MouseEventType], bool]
    ) -> None:
        super().__init__(get_text, focusable=True, show_cursor=True)
        self._pressed = pressed

    def mouse_handler(self, mouse_event: MouseEvent) -> NotImplementedOrNone:
        """Hand it on."""
        return None if self._pressed(mouse_event.position.y, mouse_event.event_type) else NotImplemented


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
