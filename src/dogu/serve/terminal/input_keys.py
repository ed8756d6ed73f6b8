"""What keys do at the input box; the rest is emacs' keys, as in a shell. The settings may give an action other keys.

Esc closes what is open, else cancels what runs; twice, it edits the last prompt. It never waits for a further key. Alt
and a key come as an Esc and that key: where the two mean nothing here, it was an Esc, and then the key.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import (
    Always,
    Condition,
    Filter,
    completion_is_selected,
    has_completions,
    has_focus,
    has_selection,
    is_searching,
)
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.search import SearchDirection, accept_search, start_search, stop_search

from dogu.language import say
from dogu.serve.terminal.asking import drop_alt
from dogu.serve.terminal.cells import cluster_after, cluster_before
from dogu.serve.terminal.key_names import KEY_ACTIONS, key_sequence, keys_of
from dogu.serve.terminal.message import Draft, clipboard_image
from dogu.serve.terminal.screen import Doings, Message

_ESC_TWICE_WITHIN_S = 1.0
_WORD_KEYS = frozenset("bfdulcy.<>")  # Alt and these do what they do in a shell, where there is a draft


class InputBox(Protocol):
    """What the keys need of the screen that has the box."""

    buffer: Buffer
    draft: Draft
    hint_before: str

    @property
    def doings(self) -> Doings:
        """What the conversation does; known only once the screen runs."""
        ...

    def send(self) -> None:
        """Send what stands in the box."""

    def give_back(self, message: Message) -> None:
        """Put a message into the box, before what stands there."""

    def has_nothing_typed(self) -> bool:
        """Whether `?` would be the first thing in the box."""
        ...

    def show_keys(self) -> None:
        """Show what keys do."""

    def say_below(self, hint: str) -> None:
        """Show a hint until the next key."""


class InputKeys:
    """The keys of a screen's input box; `chosen` are the settings' keys by action."""

    def __init__(self, screen: InputBox, chosen: Mapping[str, str]) -> None:
        self._screen = screen
        self._buffer = screen.buffer
        self._at_input = has_focus("input")
        self._chosen = chosen
        self._keys = KeyBindings()
        self._seen = 0, "", 0
        self._buffer.on_text_changed += self._keep_marks_whole
        self._buffer.on_cursor_position_changed += self._keep_marks_whole
        sequences = [key_sequence(each) for each in (keys_of(action, chosen) for action in KEY_ACTIONS) if each]
        self._with_alt = {Keys.ControlM, *(sequence[1] for sequence in sequences if len(sequence) > 1)}

    def bindings(self) -> KeyBindings:
        """Bind them all."""
        self._bind_sending()
        self._bind_clusters()
        self._bind_editing()
        self._bind_searching()
        self._bind_completing()
        self._bind_leaving()
        self._bind_escaping()
        self._bind_actions()
        return self._keys

    def _bind_sending(self) -> None:
        @self._keys.add("enter", filter=self._at_input)
        def _(_event: KeyPressEvent) -> None:
            before = self._buffer.document.text_before_cursor
            if before.endswith("\\") and not before.endswith("\\\\"):
                self._buffer.delete_before_cursor()
                self._buffer.insert_text("\n")
            else:
                self._buffer.cancel_completion()
                self._screen.send()

        @self._keys.add("enter", filter=self._at_input & completion_is_selected, eager=True)
        def _(_event: KeyPressEvent) -> None:
            self._buffer.complete_state = None

        @self._keys.add("escape", "enter", filter=self._at_input)
        def _(_event: KeyPressEvent) -> None:
            self._buffer.insert_text("\n")

    def _bind_editing(self) -> None:
        @self._keys.add(Keys.BracketedPaste, filter=self._at_input, eager=True)
        def _(event: KeyPressEvent) -> None:
            if event.data.strip():
                self._buffer.insert_text(self._screen.draft.paste(event.data))
            else:
                event.app.create_background_task(self._paste_picture())

        def takes_back() -> bool:
            """What waits comes back before the draft, unless the user walks through older prompts or lines."""
            is_newest = self._buffer.working_index == len(self._buffer._working_lines) - 1  # pyright: ignore[reportPrivateUsage]  (there is no public count)
            return is_newest and self._buffer.document.on_first_line and bool(self._screen.doings.queued())

        @self._keys.add("up", filter=self._at_input & ~has_completions & Condition(takes_back), eager=True)
        def _(_event: KeyPressEvent) -> None:
            if (message := self._screen.doings.unqueue()) is not None:
                self._screen.give_back(message)

    def _bind_clusters(self) -> None:
        """Move and erase by what is seen as one character: an emoji or a flag is several code points."""

        is_free = ~has_selection
        has_text = Condition(lambda: bool(get_app().current_buffer.text))
        for names, act, holds in (
            ("backspace", _erase_before, is_free),
            ("delete", _erase_after, is_free),
            ("c-d", _erase_after, is_free & has_text),
            ("left c-b", _move_left, is_free),
            ("right c-f", _move_right, is_free),
        ):
            for name in names.split():
                self._keys.add(name, filter=holds)(_repeated(act))

        @self._keys.add(
            "c-@", filter=self._at_input
        )  # Ctrl-Space turns input methods on; marking would eat what follows
        @self._keys.add("c-q", filter=self._at_input)  # goes on after a Ctrl-S; quoting would eat the next key
        def _(_event: KeyPressEvent) -> None:
            return None

        @self._keys.add("c-s", filter=self._at_input)  # what would search forwards, and take what is typed
        def _(_event: KeyPressEvent) -> None:
            self._screen.say_below(say("Ctrl-R searches earlier input."))

    def _bind_searching(self) -> None:
        """Search what was typed before, as a shell does; leaving the search brings back what stood in the box."""
        before = [self._buffer.document]

        @self._keys.add("c-r", filter=self._at_input & ~is_searching)
        def _(_event: KeyPressEvent) -> None:
            before[0] = self._buffer.document
            self._buffer.cancel_completion()
            start_search(direction=SearchDirection.BACKWARD)

        @self._keys.add("escape", filter=is_searching, eager=True)
        @self._keys.add("c-g", filter=is_searching, eager=True)
        @self._keys.add("c-c", filter=is_searching, eager=True)
        @self._keys.add("<sigint>", filter=is_searching, eager=True)
        def _(_event: KeyPressEvent) -> None:
            stop_search()
            self._buffer.reset(before[0])

        @self._keys.add("enter", filter=is_searching, eager=True)
        @self._keys.add("tab", filter=is_searching, eager=True)
        @self._keys.add("right", filter=is_searching, eager=True)
        @self._keys.add("c-e", filter=is_searching, eager=True)
        def _(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                accept_search()
                self._buffer.cursor_position = len(self._buffer.text)
            else:
                stop_search()

    def _bind_completing(self) -> None:
        @self._keys.add("tab", filter=self._at_input & ~has_completions)
        def _(_event: KeyPressEvent) -> None:
            self._buffer.start_completion(select_first=True)

        @self._keys.add("tab", filter=self._at_input & has_completions, eager=True)
        def _(_event: KeyPressEvent) -> None:
            state = self._buffer.complete_state
            if state is not None and len(state.completions) == 1:
                self._buffer.apply_completion(state.completions[0])
            else:
                self._buffer.complete_next()

    def _bind_escaping(self) -> None:
        pressed_at = [0.0]

        def forget(_buffer: object) -> None:
            """What is typed between them parts two Escs: the first had closed something, and was done."""
            pressed_at[0] = 0.0

        self._buffer.on_text_changed += forget

        @self._keys.add("escape", filter=self._at_input & ~is_searching & Condition(self._is_esc_meant), eager=True)
        def _(event: KeyPressEvent) -> None:
            if drop_alt(event.app.key_processor.input_queue):
                return
            now = time.monotonic()
            is_second, pressed_at[0] = now - pressed_at[0] < _ESC_TWICE_WITHIN_S, now
            if self._buffer.complete_state is not None:
                self._buffer.cancel_completion()
            elif self._screen.doings.cancel():
                pressed_at[0] = 0.0
            elif not is_second:
                self._screen.say_below(
                    say("Esc again edits the last prompt.") if not self._buffer.text else say("Esc again clears it.")
                )
            else:
                pressed_at[0] = 0.0
                if self._buffer.text:
                    self._clear()
                else:
                    self._screen.doings.edit_last()

    def _is_esc_meant(self) -> bool:
        """Whether an Esc is one: with a key that came behind it, it's Alt only where that means something here."""
        following = get_app().key_processor.input_queue
        if not following:
            return True
        key = following[0].key
        is_text = len(following) > 1 and len(following[1].key) == 1
        is_word_key = key is Keys.Backspace or (bool(self._buffer.text) and key in _WORD_KEYS and not is_text)
        return bool(following[0].data) and key not in self._with_alt and not is_word_key

    def _bind_leaving(self) -> None:
        @self._keys.add("c-c", filter=self._at_input)
        @self._keys.add("<sigint>", filter=self._at_input)
        def _(_event: KeyPressEvent) -> None:
            """Cancel one thing: what runs, else what was typed; at an empty prompt, twice in a row leaves."""
            again = say("Ctrl-C again leaves, and so does Ctrl-D.")
            if self._screen.doings.cancel():
                return
            if self._buffer.text:
                self._clear()
            elif self._screen.hint_before == again:
                self._screen.doings.leave()
            else:
                self._screen.say_below(again)

        @self._keys.add("c-d", filter=self._at_input & Condition(lambda: not self._buffer.text))
        def _(_event: KeyPressEvent) -> None:
            self._screen.doings.leave()

    def _clear(self) -> None:
        self._buffer.append_to_history()
        self._buffer.reset()
        self._screen.say_below(say("Cleared; ↑ brings it back."))

    def _bind_actions(self) -> None:
        """Bind the actions whose keys can be changed."""

        def is_busy() -> bool:
            return self._screen.doings.is_busy()  # who does it is known only once the screen runs

        @self._keys.add("c-g", filter=self._at_input)
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._write_in_editor())

        acts: dict[str, tuple[Callable[[KeyPressEvent], object], Filter]] = {
            "showKeys": (
                lambda _: self._screen.show_keys(),
                self._at_input & Condition(self._screen.has_nothing_typed),
            ),
            "nextMode": (lambda _: self._screen.doings.next_mode(), self._at_input & ~has_completions),
            "editLast": (lambda _: self._screen.doings.edit_last(), self._at_input),
            "background": (
                lambda _: self._to_background(),
                self._at_input & Condition(is_busy),
            ),
            "showPlan": (lambda _: self._screen.doings.show_plan(), self._at_input),
            "openLast": (lambda _: self._screen.doings.open_last(), Always()),
            "openEditor": (lambda event: event.app.create_background_task(self._write_in_editor()), self._at_input),
            "pasteImage": (lambda event: event.app.create_background_task(self._paste_picture()), self._at_input),
            "newLine": (lambda _: self._buffer.insert_text("\n"), self._at_input),
            "suspend": (_suspend, Always()),
        }
        for action in KEY_ACTIONS:
            if written := keys_of(action, self._chosen):
                act, holds = acts[action.name]
                sequence = key_sequence(written)
                self._keys.add(*sequence, filter=holds, eager=len(sequence) == 1)(_calling(act))

    async def _write_in_editor(self) -> None:
        written = await self._screen.doings.write_on(self._screen.draft.message(self._buffer.text).text)
        if written is not None:
            self._buffer.text = written.rstrip("\n")
            self._buffer.cursor_position = len(self._buffer.text)

    def _to_background(self) -> None:
        if not self._screen.doings.background():
            self._screen.say_below(say("No command is running that can move to the background."))

    async def _paste_picture(self) -> None:
        blob = await clipboard_image()
        if blob is None:
            self._screen.say_below(say("No picture on the clipboard (dogu asks wl-paste or xclip)."))
        else:
            self._buffer.insert_text(self._screen.draft.picture(blob))

    def _keep_marks_whole(self, buffer: Buffer) -> None:
        line, before, came_from = self._seen
        self._seen = buffer.working_index, buffer.text, buffer.cursor_position
        if line != buffer.working_index:  # an older prompt
            return
        draft = self._screen.draft
        text, at = draft.without_parts(before, buffer.text, buffer.cursor_position)
        document = Document(text, draft.outside_marks(text, at, came_from))
        if document != buffer.document:
            buffer.document = document


def _repeated(act: Callable[[Buffer], None]) -> Callable[[KeyPressEvent], None]:
    def repeat(event: KeyPressEvent) -> None:
        for _ in range(event.arg):
            act(event.current_buffer)

    return repeat


def _erase_before(buffer: Buffer) -> None:
    buffer.delete_before_cursor(len(cluster_before(buffer.document.text_before_cursor)))


def _erase_after(buffer: Buffer) -> None:
    buffer.delete(len(cluster_after(buffer.document.text_after_cursor)))


def _move_left(buffer: Buffer) -> None:
    buffer.cursor_position -= len(cluster_before(buffer.document.current_line_before_cursor))


def _move_right(buffer: Buffer) -> None:
    buffer.cursor_position += len(cluster_after(buffer.document.current_line_after_cursor))


def _calling(act: Callable[[KeyPressEvent], object]) -> Callable[[KeyPressEvent], None]:
    def call(event: KeyPressEvent) -> None:
        act(event)

    return call


def _suspend(event: KeyPressEvent) -> None:
    if hasattr(signal, "SIGTSTP") and os.getsid(0) != os.getpid():
        event.app.suspend_to_background()
