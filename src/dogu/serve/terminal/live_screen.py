"""The terminal drawn by prompt_toolkit: an input box that stays at the bottom, everything finished above it."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
import msgspec
from prompt_toolkit.application import Application
from prompt_toolkit.application.current import set_app
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, Never, has_completions
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import merge_key_bindings
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.controls import SearchBufferControl
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.search import SearchDirection, SearchState
from prompt_toolkit.styles import Style as DrawnStyle

from dogu.language import say
from dogu.serve.terminal.asking import Asking
from dogu.serve.terminal.cells import fit, hanging, indented, labelled, width_of
from dogu.serve.terminal.choices import Menu
from dogu.serve.terminal.completion import InputCompleter, completion_lines, may_complete
from dogu.serve.terminal.input_keys import InputKeys
from dogu.serve.terminal.key_names import key_rows
from dogu.serve.terminal.message import Draft
from dogu.serve.terminal.renderer import FrameOutput, LiveRenderer
from dogu.serve.terminal.replies import ASK_BACKGROUND, ReplyInput
from dogu.serve.terminal.screen import Doings, Message
from dogu.serve.terminal.style import Style
from dogu.workspace.event_loop import hear_ctrl_c_after

_FRAME_S = 0.05
_LONGEST_HELD_S, _LONGEST_SLOW_S = 1.0, 5.0  # a frame, until the last one was drawn; the latter on a slow line
_MOST_QUEUED = 5
_OPENS_WITHIN_S = 2.0
_LOW_ROWS = 14  # of a screen on which no row is left blank
_PROMPT = "› "
_NARROWEST_WORDS = 20
_USUAL_KEY = 10  # cells
_MOST_COPIED_CHARS = 70_000  # terminals drop longer ones


class ScreenWays(msgspec.Struct, frozen=True):
    """What the settings say: `keys` by action, how the user is called, whether choices take clicks."""

    keys: Mapping[str, str] = {}
    notifies: str = "auto"
    has_mouse: bool = True


_USUAL = ScreenWays()


class LiveScreen:
    """The screen of a terminal that can be drawn on.

    `finds_theme`: ask the terminal for its background once the first frame is drawn.
    """

    is_live = True

    def __init__(
        self,
        style: Style,
        history: History,
        completer: InputCompleter,
        ways: ScreenWays = _USUAL,
        *,
        finds_theme: bool = False,
    ) -> None:
        self.style = style
        self.hint = self.hint_before = ""  # before the last key
        self._keys = ways.keys
        self._notifies = ways.notifies
        self._completer = completer
        self._panel: list[str] = []
        self.draft = Draft()
        self._doings: Doings | None = None
        self._opening = ExitStack()
        self._finds_theme = finds_theme
        self._frame_at = 0.0
        self._is_frame_due = self._is_held = False
        self._had_panel = self._ends_in_gap = False
        self.is_typing = False
        self._live_frame: object = None
        self._live: StyleAndTextTuples = []
        self._output = FrameOutput(sys.stdout, self.end)
        self._asking = Asking(style, self._size, self._draw_anew, self._output.size_probes, lambda: self.buffer.text)
        self.buffer = Buffer(
            name="input",
            multiline=True,
            history=history,
            completer=ThreadedCompleter(completer),
            complete_while_typing=Condition(lambda: may_complete(self.buffer.document)),
        )
        self._app = self._application()
        self._renderer = LiveRenderer(
            self._app.renderer.style,
            self._output,
            lambda: bool(self._live),
            self._asking.takes_mouse if ways.has_mouse else Never(),
            self._asking.has_screen,
        )
        self._app.renderer = self._renderer
        self._asking.app = self._app
        self._output.size_probes.on_told = self._output.on_written = self._told

    @property
    def columns(self) -> int:
        """How wide the terminal is."""
        return self._output.get_size().columns

    @property
    def rows(self) -> int:
        """How high the terminal is."""
        return self._output.get_size().rows

    @property
    def doings(self) -> Doings:
        """What the conversation does."""
        if self._doings is None:
            raise RuntimeError("the screen isn't running")
        return self._doings

    def print(self, text: str) -> None:
        """Print with the next frame."""
        if self._ends_in_gap and text.startswith("\n"):
            text = text[1:]  # one gap is enough
        self._ends_in_gap = not text or text.endswith("\n")
        self._renderer.print(text + "\n")
        self.refresh()

    def refresh(self) -> None:
        """Draw anew, 20 times a second at most; keys are drawn at once."""
        if self._is_frame_due or not self._app.is_running:
            return
        if self._asking.is_open and not self._renderer.has_due:
            return  # nothing moves while a question waits
        self._is_frame_due = True
        wait_s = max(0.0, self._frame_at + _FRAME_S - time.monotonic())
        loop = self._app.loop
        if loop is not None:
            loop.call_later(wait_s, self._draw_frame)

    def notify(self, text: str, *, rings: bool = False) -> None:
        """Call the user by the terminal's own notification (OSC 9, 777), or the bell, as the settings say."""
        if self._notifies == "off":
            return
        if self._notifies == "auto" and os.environ.get("TERM", "") != "linux":
            kind = os.environ.get("TERM", "")
            plain = "".join(character for character in text if character.isprintable() and character != ";")
            is_777 = kind.startswith(("rxvt", "foot"))
            self._output.write_raw(f"\x1b]777;notify;dogu;{plain}\x07" if is_777 else f"\x1b]9;{plain}\x07")
        if rings or self._notifies == "bell":
            self._output.write_raw("\a")
        self._output.flush()

    def rest(self) -> None:
        """Do nothing: the input box is always there."""

    async def choose(self, menu: Menu) -> str:
        """Ask for one; the terminal is told that a question waits."""
        return "".join(await self._asked(menu) or ())

    async def choose_some(self, menu: Menu) -> list[str] | None:
        """Ask for any number of them."""
        return await self._asked(menu)

    async def _asked(self, menu: Menu) -> list[str] | None:
        if menu.is_own:
            return await self._asking.choose(menu)
        self._tell_waiting(is_waiting=True)
        try:
            return await self._asking.choose(menu)
        finally:
            self._tell_waiting(is_waiting=False)

    async def read_line(self, label: str, *, is_secret: bool = False) -> str | None:
        """Ask for a line in place of the input box."""
        return await self._asking.read_line(label, is_secret=is_secret)

    def copy(self, text: str) -> bool:
        """Give the terminal a text for its clipboard."""
        if len(text) > _MOST_COPIED_CHARS:
            return False
        self._output.write_raw(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
        self._output.flush()
        return True

    @asynccontextmanager
    async def outside(self) -> AsyncGenerator[None]:
        """Take the drawing away and the terminal out of raw mode."""
        async with in_terminal():
            self._renderer.write_due()
            self._output.drain()
            yield

    @contextmanager
    def early(self) -> Generator[None]:
        """Show the input box at once: keys wait in the terminal for what takes them, a Ctrl-C not for long."""
        self._draw_early()
        hint = say("Still starting. Ctrl-C leaves.")
        slow = asyncio.get_running_loop().call_later(_OPENS_WITHIN_S, self._draw_early, hint)
        self._opening.callback(slow.cancel)
        self._opening.callback(hear_ctrl_c_after(self._app.input.fileno(), _OPENS_WITHIN_S))
        try:
            yield
        finally:
            self._opening.close()
            if self._doings is None:
                self._renderer.write_due_above()
                self._output.close()

    def _draw_early(self, hint: str = "") -> None:
        self.hint = hint
        self._app.render_counter += 1  # what was shown is looked up by it
        with set_app(self._app):
            self._renderer.render(self._app, self._app.layout)

    async def run(self, doings: Doings) -> None:
        """Draw until the user leaves."""

        def leave() -> None:
            self._asking.cancel()  # what is asked then holds nobody up
            doings.leave()

        self._opening.close()
        self.hint = ""
        self._doings = msgspec.structs.replace(doings, leave=leave)
        try:
            self._renderer.go_on()
            self._app.after_render += self._ask_terminal
            self._app.after_render += self._note_drawn
            async with anyio.create_task_group() as group:
                group.start_soon(self._hear_continue)
                self._app.input.raw_mode().__enter__()  # also behind the last frame: who began puts the terminal back
                await self._draw()
                group.cancel_scope.cancel()
        finally:
            doings.ended(self.draft.message(self.buffer.text))
            self._asking.close()
            self._renderer.write_due()
            self._output.close()

    async def _draw(self) -> None:
        with suppress(EOFError):  # the terminal's end
            await self._app.run_async(set_exception_handler=False)

    async def _hear_continue(self) -> None:
        """Put the terminal right after the program was stopped from outside: a shell has used it since."""
        with anyio.open_signal_receiver(signal.SIGCONT) as signals:
            async for _ in signals:
                self._app.input.raw_mode().__enter__()
                self._draw_anew()

    def end(self) -> None:
        """Stop drawing."""
        if self._app.is_running and self._app.future is not None and not self._app.future.done():
            self._renderer.write_due_above()
            self._app.exit()

    def say_below(self, hint: str) -> None:
        """Show a hint in the bottom line until the next key."""
        self.hint = hint
        self._app.invalidate()

    def has_nothing_typed(self) -> bool:
        """Whether the input box is empty, and the keys aren't shown already: a second `?` is typed."""
        return not self.buffer.text and not self._had_panel

    def show_keys(self) -> None:
        """Show below what keys do, until the next key."""
        rows = key_rows(self._keys)
        usual = max(_USUAL_KEY, self.columns // 4)  # a longer one stands in the way of its own words alone
        widest = max(width for key, _ in rows if (width := width_of(key)) <= usual) + 2
        is_narrow = self.columns - widest - 3 < _NARROWEST_WORDS
        lines = [f"  {key}{' ' * max(2, 0 if is_narrow else widest - width_of(key))}{words}" for key, words in rows]
        indent = " " * (4 if is_narrow else widest + 2)
        whole = [row for line in lines for row in hanging(line, self.columns - 1, indent).split("\n")]
        most = max(1, self.rows - 2)
        self._panel = whole if len(whole) <= most else [fit(line, self.columns - 1) for line in lines]
        if len(self._panel) > most:
            more = say("… {count} more (/keys)", count=len(self._panel) - most + 1)
            self._panel[most - 1 :] = [fit(f"  {more}", self.columns - 1)]
        self._app.invalidate()

    def send(self) -> None:
        """Send what stands in the input box."""
        text = self._completer.whole(self.buffer.text)
        if text.startswith("/") and text.endswith(" ") and text != self.buffer.text:
            self.buffer.document = Document(text)
            return
        message = self.draft.message(text)
        if not message.text and not message.blobs:
            return
        self.buffer.append_to_history()
        self.buffer.reset()
        self.doings.submit(message)

    def give_back(self, message: Message) -> None:
        """Put a message into the input box, before what stands there."""
        text = self.draft.draft_of(message)
        self.buffer.text = f"{text}\n{self.buffer.text}" if self.buffer.text else text
        self.buffer.cursor_position = len(self.buffer.text)

    def _size(self) -> Size:
        return self._output.get_size()

    def _draw_frame(self) -> None:
        longest_s = min(_LONGEST_SLOW_S, max(_LONGEST_HELD_S, self._output.size_probes.took_s * 2))
        self._is_held = self._output.size_probes.is_waiting(longest_s) and not self._is_held
        if self._is_held and self._app.loop is not None:  # no frame is sent after one that wasn't drawn yet
            self._app.loop.call_later(longest_s, self._draw_held)
            return
        self._is_frame_due = self._is_held = False
        self._frame_at = time.monotonic()
        self._app.invalidate()

    def _draw_held(self) -> None:
        if self._is_held:
            self._draw_frame()

    def _draw_anew(self) -> None:
        self._renderer.draw_anew()
        self._app.invalidate()

    def _ask_terminal(self, _app: Any) -> None:
        """Ask for the background, and whether it answers what it is asked after each frame."""
        self._app.after_render -= self._ask_terminal
        if self._finds_theme:
            self._output.write_raw(ASK_BACKGROUND)
        if not os.environ.get("PROMPT_TOOLKIT_NO_CPR"):
            self._output.write_raw(self._output.size_probes.first_question())
        self._output.flush()

    def _told(self) -> None:
        """Draw what waits for the terminal to have drawn the last frame, and what it drew in the wrong place."""
        if self._is_held or self._renderer.is_held or self._output.size_probes.has_misdrawn:
            self._draw_frame()

    def _found_theme(self, theme: str) -> None:
        self.style.theme = theme
        self.refresh()

    def _tell_waiting(self, *, is_waiting: bool) -> None:
        """Ring, and say it in the title; the title is put back afterwards."""
        if os.environ.get("TERM", "") != "linux":
            self._output.write_raw("\x1b[22;0t\x1b]0;? dogu\x07" if is_waiting else "\x1b[23;0t")
        if is_waiting:
            self.notify(say("dogu asks you something."), rings=True)
        self._output.flush()

    def _application(self) -> Application[None]:
        keys = merge_key_bindings([InputKeys(self, self._keys).bindings(), self._asking.keys()])
        application: Application[None] = Application(
            layout=self._layout(),
            key_bindings=keys,
            style=DrawnStyle([]),
            color_depth=ColorDepth.DEPTH_8_BIT if self.style.has_color else ColorDepth.DEPTH_1_BIT,
            input=ReplyInput(sys.stdin, self._found_theme, self._output.size_probes, self._output.known_size),
            output=self._output,
            erase_when_done=True,
            include_default_pygments_style=False,
            max_render_postpone_time=0,
            terminal_size_polling_interval=None,
        )
        application._on_resize = self._draw_anew  # pyright: ignore[reportPrivateUsage]  (its own erases at once, which flickers)
        application.ttimeoutlen = 0.05
        application.key_processor.before_key_press += self._note_key
        return application

    def _note_drawn(self, _app: Any) -> None:
        self.is_typing = False

    def _note_key(self, _processor: Any) -> None:
        self.is_typing = True
        if not self._asking.takes_keys:  # an answer's own key isn't typing
            self._asking.typed_at = time.monotonic()
        self.hint_before, self.hint = self.hint, ""
        self._had_panel, self._panel = bool(self._panel), []

    def _layout(self) -> Layout:
        searching = SearchBufferControl(Buffer(name="search"), ignore_case=True)
        is_searching = Condition(lambda: self._app.layout.is_searching if hasattr(self, "_app") else False)
        self._input = Window(
            BufferControl(self.buffer, search_buffer_control=searching, preview_search=True),
            height=lambda: Dimension(min=1, max=max(3, self._output.get_size().rows // 2)),
            get_line_prefix=self._prefix,
            wrap_lines=True,
            dont_extend_height=True,
        )
        rows: list[Any] = [
            _text(self._live_text),
            _text(self._queued_text),
            _text(self._gap),
            self._asking.container,
            ConditionalContainer(self._input, ~self._asking.is_reading),
            ConditionalContainer(
                Window(
                    searching,
                    height=1,
                    get_line_prefix=lambda _line, _wrap: [("", self._search_label(searching.buffer.text))],
                ),
                is_searching,
            ),
            ConditionalContainer(_text(self._completions_text, is_always=True), has_completions),
            _text(self._bottom_text, is_always=True),
        ]
        return Layout(HSplit(rows, align=VerticalAlign.TOP), focused_element=self._input)

    def _prefix(self, line: int, wrap: int) -> StyleAndTextTuples:
        if line or wrap:
            return [("", "  ")]
        return _drawn(self.style.paint(_PROMPT, "cyan", "bold"))

    def _live_text(self) -> StyleAndTextTuples:
        if self._doings is None or self._asking.is_open:
            return []
        size = self._output.get_size()
        frame = self._app.render_counter, size
        if frame != self._live_frame:  # a frame asks for it several times
            live = self._doings.live(size.columns, max(3, size.rows - 8))
            self._live_frame, self._live = frame, _drawn("\n".join(live))
        return self._live

    def _queued_text(self) -> StyleAndTextTuples:
        queued = self._doings.queued() if self._doings is not None else []
        more = [say("… {count} more", count=len(queued) - _MOST_QUEUED)] if len(queued) > _MOST_QUEUED else []
        lines = [f"  {text}" for text in (*more, *(f"⏎ {text}" for text in queued[-_MOST_QUEUED:]))]
        return _drawn("\n".join(self.style.paint(fit(line, self.columns - 1), "dim") for line in lines))

    def _gap(self) -> StyleAndTextTuples:
        """A row between what was said and what is typed or picked."""
        is_there = self._ends_in_gap and not self._live_text()
        return [] if is_there or self._panel or self.rows < _LOW_ROWS else [("", " ")]

    def _search_label(self, wanted: str) -> str:
        state = SearchState(wanted, SearchDirection.BACKWARD, ignore_case=True)
        found = self.buffer.document_for_search(state).text if wanted else ""
        return labelled(say("Search:") if wanted.lower() in found.lower() else say("Not found:"))

    def _completions_text(self) -> StyleAndTextTuples:
        state = self.buffer.complete_state
        if state is None:
            return []
        text = self.buffer.text
        takes_first = self._completer.whole(text) != text
        lines = completion_lines(state, self.style, self.columns, takes_first=takes_first)
        return _drawn("\n".join(lines))

    def _bottom_text(self) -> StyleAndTextTuples:
        if self._panel:
            return _drawn(self.style.paint("\n".join(self._panel), "dim"))
        if self.hint:
            return _drawn(self.style.paint(indented(self.hint, self.columns - 1), "yellow"))
        status = self._doings.status(self.columns - 3) if self._doings is not None else ""
        return _drawn(self.style.paint(f"  {status}", "dim"))


def _text(get_text: Callable[[], StyleAndTextTuples], *, is_always: bool = False) -> ConditionalContainer:
    window = Window(FormattedTextControl(get_text), dont_extend_height=True, wrap_lines=False)
    return ConditionalContainer(window, Condition(lambda: is_always or bool(get_text())))


def _drawn(painted: str) -> StyleAndTextTuples:
    return ANSI(painted).__pt_formatted_text__() if painted else []
