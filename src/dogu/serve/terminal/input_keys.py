"""What keys do at the input box; the rest is emacs' keys, as in a shell. The settings may give an action other keys.

Esc closes what is open, else cancels what runs; twice, it edits the last prompt. It never waits for a further key: Alt
and a key come together, so that an Esc that came alone is meant.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
from prompt_toolkit.application import get_app
from prompt_toolkit.filters import (
    Always,
    Condition,
    Filter,
    completion_is_selected,
    has_completions,
    has_focus,
    is_searching,
)
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import ALL_KEYS, Keys
from prompt_toolkit.search import SearchDirection, accept_search, start_search, stop_search

from dogu.language import say, sentence
from dogu.serve.terminal.message import clipboard_image

if TYPE_CHECKING:
    from dogu.serve.terminal.live_screen import LiveScreen

_TWICE_WITHIN_S = 2.0
_ESC_TWICE_WITHIN_S = 1.0


class KeyAction(msgspec.Struct, frozen=True):
    """Something a key does, by the name that the settings have for it; `keys` as they are written there."""

    name: str
    keys: str
    words: str


KEY_ACTIONS = (
    KeyAction("showKeys", "?", sentence("show the keys, in an empty box")),
    KeyAction("nextMode", "Shift-Tab", sentence("next approval mode")),
    KeyAction("editLast", "", sentence("edit the last prompt (Esc Esc does, too)")),
    KeyAction("background", "Ctrl-B", sentence("let the running command go on in the background")),
    KeyAction("showPlan", "Ctrl-T", sentence("show or hide the plan")),
    KeyAction("openLast", "Ctrl-O", sentence("show the last folded result in full")),
    KeyAction("openEditor", "Ctrl-X", sentence("write on in your editor (Ctrl-G does, too)")),
    KeyAction("pasteImage", "Ctrl-V", sentence("attach the picture on the clipboard")),
    KeyAction("newLine", "Ctrl-J", sentence("a new line")),
    KeyAction("suspend", "Ctrl-Z", sentence("go to the background; fg comes back")),
)
"""What keys can be changed for."""

_KEY = re.compile(r"(?:(ctrl|alt|shift)[-+])?([a-z]+\d{0,2}|[^\s])", re.IGNORECASE)


def key_sequence(written: str) -> tuple[str, ...]:
    """Read a key as the settings write it (`Ctrl-B`, `Alt-p`, `Shift-Tab`, `F5`, `?`). Raises ValueError."""
    match = _KEY.fullmatch(written.strip())
    if match is None:
        raise ValueError(written)
    modifier, key = (match[1] or "").lower(), match[2]
    name = key.lower() if len(key) > 1 or modifier else key
    names = {"ctrl": (f"c-{name}",), "shift": (f"s-{name}",), "alt": ("escape", name), "": (name,)}[modifier]
    if any(len(each) > 1 and each not in ALL_KEYS for each in names):
        raise ValueError(written)
    return names


def keys_of(action: KeyAction, chosen: Mapping[str, str]) -> str:
    """Return the key that an action has: the settings' own, where it can be read, else the usual one."""
    written = chosen.get(action.name, action.keys)
    try:
        key_sequence(written)
    except ValueError:
        return action.keys if written else ""
    return written


def key_rows(chosen: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the keys and what they do, for the user."""
    own = {action.name: keys_of(action, chosen) for action in KEY_ACTIONS}
    words = {action.name: say(action.words) for action in KEY_ACTIONS}
    rows = [
        ("Enter", say("send; while a turn runs, wait for its end")),
        (f"{own.pop('newLine')} · Alt-Enter · \\ Enter", words["newLine"]),
        ("Esc", say("close what is open, else cancel what runs")),
        ("Esc Esc", say("edit the last prompt, or clear the input")),
        ("↑", say("the last queued message, else earlier input")),
        ("Ctrl-R", say("search earlier input; again: further back; Enter takes it, Esc doesn't")),
        ("Tab", say("complete a /command or an @file")),
        *((own[action.name], words[action.name]) for action in KEY_ACTIONS if own.get(action.name)),
        ("Ctrl-C", say("cancel what runs, else clear the input; twice leaves")),
        ("Ctrl-D", say("leave")),
        ("!command", say("run it yourself; !!command tells the model, too")),
    ]
    return [row for row in rows if row[0]]


def input_keys(screen: LiveScreen, chosen: Mapping[str, str]) -> KeyBindings:
    """Make the keys of a screen's input box; `chosen` are the settings' keys by action."""
    keys = KeyBindings()
    at_input = has_focus("input")
    _sending(keys, screen, at_input)
    _editing(keys, screen, at_input)
    _searching(keys, screen, at_input)
    _completing(keys, screen, at_input)
    _leaving(keys, screen, at_input)
    _escaping(keys, screen, at_input)
    _acting(keys, screen, at_input, chosen)
    return keys


def _acting(keys: KeyBindings, screen: LiveScreen, at_input: Condition, chosen: Mapping[str, str]) -> None:
    """Bind the actions whose keys can be changed."""
    buffer = screen.buffer

    def is_busy() -> bool:
        return screen.doings.is_busy()  # who does it is known only once the screen runs

    @keys.add("c-g", filter=at_input)
    def _(event: KeyPressEvent) -> None:
        event.app.create_background_task(_write_in_editor(screen))

    acts: dict[str, tuple[Callable[[KeyPressEvent], object], Filter]] = {
        "showKeys": (lambda _: screen.show_keys(), at_input & Condition(screen.has_nothing_typed)),
        "nextMode": (lambda _: screen.doings.next_mode(), at_input & ~has_completions),
        "editLast": (lambda _: screen.doings.edit_last(), at_input),
        "background": (
            lambda _: _to_background(screen),
            at_input & Condition(is_busy),
        ),
        "showPlan": (lambda _: screen.doings.show_plan(), at_input),
        "openLast": (lambda _: screen.doings.open_last(), Always()),
        "openEditor": (lambda event: event.app.create_background_task(_write_in_editor(screen)), at_input),
        "pasteImage": (lambda event: event.app.create_background_task(_paste_picture(screen)), at_input),
        "newLine": (lambda _: buffer.insert_text("\n"), at_input),
        "suspend": (_suspend, Always()),
    }
    for action in KEY_ACTIONS:
        if written := keys_of(action, chosen):
            act, holds = acts[action.name]
            sequence = key_sequence(written)
            keys.add(*sequence, filter=holds, eager=len(sequence) == 1)(_calling(act))


def _calling(act: Callable[[KeyPressEvent], object]) -> Callable[[KeyPressEvent], None]:
    def call(event: KeyPressEvent) -> None:
        act(event)

    return call


async def _write_in_editor(screen: LiveScreen) -> None:
    buffer = screen.buffer
    written = await screen.doings.write_on(screen.draft.message(buffer.text).text)
    if written is not None:
        buffer.text = written.rstrip("\n")
        buffer.cursor_position = len(buffer.text)


def _to_background(screen: LiveScreen) -> None:
    if not screen.doings.background():
        screen.say_below(say("No command that can go on in the background is running."))


def _suspend(event: KeyPressEvent) -> None:
    if hasattr(signal, "SIGTSTP") and os.getsid(0) != os.getpid():
        event.app.suspend_to_background()


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

    def takes_back() -> bool:
        """What waits comes back before the draft, unless the user walks through older prompts or lines."""
        is_newest = buffer.working_index == len(buffer._working_lines) - 1  # pyright: ignore[reportPrivateUsage]  (there is no public count)
        return is_newest and buffer.document.on_first_line and bool(screen.doings.queued())

    @keys.add("up", filter=at_input & ~has_completions & Condition(takes_back), eager=True)
    def _(_event: KeyPressEvent) -> None:
        screen.take_back()

    @keys.add("backspace", filter=at_input & Condition(lambda: _mark(screen) > 0), eager=True)
    def _(_event: KeyPressEvent) -> None:
        buffer.delete_before_cursor(_mark(screen))


def _searching(keys: KeyBindings, screen: LiveScreen, at_input: Condition) -> None:
    """Search what was typed before, as a shell does; leaving the search brings back what stood in the box."""
    buffer = screen.buffer
    before = [buffer.document]

    @keys.add("c-r", filter=at_input & ~is_searching)
    def _(_event: KeyPressEvent) -> None:
        before[0] = buffer.document
        buffer.cancel_completion()
        start_search(direction=SearchDirection.BACKWARD)

    @keys.add("escape", filter=is_searching, eager=True)
    @keys.add("c-g", filter=is_searching, eager=True)
    @keys.add("c-c", filter=is_searching, eager=True)
    @keys.add("<sigint>", filter=is_searching, eager=True)
    def _(_event: KeyPressEvent) -> None:
        stop_search()
        buffer.reset(before[0])

    @keys.add("enter", filter=is_searching, eager=True)
    @keys.add("tab", filter=is_searching, eager=True)
    @keys.add("right", filter=is_searching, eager=True)
    @keys.add("c-e", filter=is_searching, eager=True)
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            accept_search()
            buffer.cursor_position = len(buffer.text)
        else:
            stop_search()


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
        screen.say_below(say("No picture on the clipboard (dogu asks wl-paste or xclip)."))
    else:
        screen.buffer.insert_text(screen.draft.picture(blob))


def _escaping(keys: KeyBindings, screen: LiveScreen, at_input: Condition) -> None:
    buffer = screen.buffer
    pressed_at = [0.0]
    is_alone = Condition(lambda: not get_app().key_processor.input_queue)

    @keys.add("escape", filter=at_input & ~is_searching & is_alone, eager=True)
    def _(_event: KeyPressEvent) -> None:
        now = time.monotonic()
        is_second, pressed_at[0] = now - pressed_at[0] < _ESC_TWICE_WITHIN_S, now
        if buffer.complete_state is not None:
            buffer.cancel_completion()
        elif screen.doings.cancel():
            pressed_at[0] = 0.0
        elif not is_second:
            screen.say_below(
                say("Esc again edits the last prompt.") if not buffer.text else say("Esc again clears it.")
            )
        else:
            pressed_at[0] = 0.0
            if buffer.text:
                _clear(screen)
            else:
                screen.doings.edit_last()


def _clear(screen: LiveScreen) -> None:
    screen.buffer.append_to_history()
    screen.buffer.reset()
    screen.say_below(say("Cleared; ↑ brings it back."))


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
            _clear(screen)
        elif now - pressed_at[0] < _TWICE_WITHIN_S:
            screen.end()
        else:
            pressed_at[0] = now
            screen.say_below(say("Ctrl-C again leaves, and so does Ctrl-D."))

    @keys.add("c-d", filter=at_input & Condition(lambda: not buffer.text))
    def _(_event: KeyPressEvent) -> None:
        screen.end()
