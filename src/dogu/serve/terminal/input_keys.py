"""What keys do at the input box; the rest is emacs' keys, as in a shell."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition, completion_is_selected, has_completions, has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from dogu.language import say
from dogu.serve.terminal.message import clipboard_image

if TYPE_CHECKING:
    from dogu.serve.terminal.live_screen import LiveScreen

_TWICE_WITHIN_S = 2.0


def input_keys(screen: LiveScreen) -> KeyBindings:
    """Make the keys of a screen's input box."""
    keys = KeyBindings()
    at_input = has_focus("input")
    _sending(keys, screen, at_input)
    _editing(keys, screen, at_input)
    _completing(keys, screen, at_input)
    _leaving(keys, screen, at_input)

    @keys.add("c-o", eager=True)
    def _(_event: KeyPressEvent) -> None:
        screen.doings.open_last()

    return keys


def _sending(keys: KeyBindings, screen: LiveScreen, at_input: Condition) -> None:
    buffer = screen.buffer

    @keys.add("enter", filter=at_input)
    def _(_event: KeyPressEvent) -> None:
        before = buffer.document.text_before_cursor
        if before.endswith("\\") and not before.endswith("\\\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.cancel_completion()
            screen.send()

    @keys.add("enter", filter=at_input & completion_is_selected, eager=True)
    def _(_event: KeyPressEvent) -> None:
        buffer.complete_state = None

    @keys.add("escape", "enter", filter=at_input)
    @keys.add("c-j", filter=at_input)
    def _(_event: KeyPressEvent) -> None:
        buffer.insert_text("\n")


def _editing(keys: KeyBindings, screen: LiveScreen, at_input: Condition) -> None:
    buffer = screen.buffer

    @keys.add(Keys.BracketedPaste, filter=at_input, eager=True)
    def _(event: KeyPressEvent) -> None:
        if event.data.strip():
            buffer.insert_text(screen.draft.paste(event.data))
        else:
            event.app.create_background_task(_paste_picture(screen))

    @keys.add("c-v", filter=at_input, eager=True)
    def _(event: KeyPressEvent) -> None:
        event.app.create_background_task(_paste_picture(screen))

    @keys.add("up", filter=at_input & Condition(lambda: not buffer.text and bool(screen.doings.queued())))
    def _(_event: KeyPressEvent) -> None:
        screen.take_back()

    @keys.add("backspace", filter=at_input & Condition(lambda: _mark(screen) > 0), eager=True)
    def _(_event: KeyPressEvent) -> None:
        buffer.delete_before_cursor(_mark(screen))


def _completing(keys: KeyBindings, screen: LiveScreen, at_input: Condition) -> None:
    buffer = screen.buffer

    @keys.add("tab", filter=at_input & ~has_completions)
    def _(_event: KeyPressEvent) -> None:
        buffer.start_completion(select_first=True)

    @keys.add("tab", filter=at_input & has_completions, eager=True)
    def _(_event: KeyPressEvent) -> None:
        state = buffer.complete_state
        if state is not None and len(state.completions) == 1:
            buffer.apply_completion(state.completions[0])
        else:
            buffer.complete_next()


def _mark(screen: LiveScreen) -> int:
    return screen.draft.mark_before(screen.buffer.document.current_line_before_cursor)


async def _paste_picture(screen: LiveScreen) -> None:
    blob = await clipboard_image()
    if blob is None:
        screen.say_below(say("There is no picture on the clipboard that dogu can take (wl-paste or xclip gives it)."))
    else:
        screen.buffer.insert_text(screen.draft.picture(blob))


def _leaving(keys: KeyBindings, screen: LiveScreen, at_input: Condition) -> None:
    buffer = screen.buffer
    pressed_at = [0.0]

    @keys.add("c-c", filter=at_input)
    @keys.add("<sigint>", filter=at_input)
    def _(_event: KeyPressEvent) -> None:
        """Cancel one thing: what runs, else what was typed; at an empty prompt, twice leaves."""
        now = time.monotonic()
        if screen.doings.cancel():
            return
        if buffer.text:
            buffer.append_to_history()
            buffer.reset()
            screen.say_below(say("Cleared what you had typed; ↑ brings it back."))
        elif now - pressed_at[0] < _TWICE_WITHIN_S:
            screen.end()
        else:
            pressed_at[0] = now
            screen.say_below(say("Nothing runs. Ctrl-C once more leaves, and so does Ctrl-D."))

    @keys.add("c-d", filter=at_input & Condition(lambda: not buffer.text))
    def _(_event: KeyPressEvent) -> None:
        screen.end()

    @keys.add("c-z", eager=True)
    def _(event: KeyPressEvent) -> None:
        if hasattr(signal, "SIGTSTP") and os.getsid(0) != os.getpid():
            event.app.suspend_to_background()
