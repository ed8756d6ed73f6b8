"""What a conversation needs of a terminal, whichever kind it is: `live_screen` draws, `plain_screen` only prints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

import msgspec

from dogu.contract import Blob
from dogu.serve.terminal.choices import Menu
from dogu.serve.terminal.style import Style


class Message(msgspec.Struct, frozen=True):
    """What the user sent: the text with pastes in full, and pictures; `is_typed` unless a key stands for it."""

    text: str
    blobs: tuple[Blob, ...] = ()
    is_typed: bool = True


class TypedAhead(msgspec.Struct, frozen=True):
    """What was typed for a session that comes: the messages sent, and what wasn't sent yet."""

    messages: tuple[Message, ...] = ()
    unsent: Message = Message("")


class Doings(msgspec.Struct, frozen=True):
    """What a screen asks the conversation.

    `leave` leaves the program, `ended` says that the screen is no more, with what was typed and not sent.
    `cancel` cancels the one thing that runs and says so; False when nothing does. `live` are the painted lines of what
    is under way, for a number of columns and rows; `queued` the messages that wait, `unqueue` takes the last one back.
    `status` is the line at the bottom, for a number of columns. `open_last` shows the last result in full, `show_plan`
    the plan, or hides it.
    `next_mode` takes the next approval mode; `edit_last` goes back to the last prompt. `background` lets the commands
    that run go on there; False when none can. `write_on` opens a draft in the user's editor; None where it can't.
    `is_busy`: something runs.
    """

    submit: Callable[[Message], None]
    cancel: Callable[[], bool]
    leave: Callable[[], None]
    ended: Callable[[Message], None]
    live: Callable[[int, int], list[str]]
    queued: Callable[[], list[str]]
    unqueue: Callable[[], Message | None]
    status: Callable[[int], str]
    open_last: Callable[[], None]
    show_plan: Callable[[], None]
    next_mode: Callable[[], None]
    edit_last: Callable[[], None]
    background: Callable[[], bool]
    write_on: Callable[[str], Awaitable[str | None]]
    is_busy: Callable[[], bool]


class Screen(Protocol):
    """A terminal. Text given to it is painted and harmless already.

    `is_typing`: a key was pressed, and what it did isn't drawn yet.
    """

    style: Style
    is_live: bool
    is_typing: bool

    @property
    def columns(self) -> int:
        """How wide it is, in cells."""
        ...

    @property
    def rows(self) -> int:
        """How many rows can be seen at once; 0 where nothing is drawn, so that nothing needs to fit."""
        ...

    def print(self, text: str) -> None:
        """Print text for good; a newline is added."""
        ...

    def refresh(self) -> None:
        """Say that what is under way has changed."""
        ...

    def rest(self) -> None:
        """Say that nothing is under way any longer, and nothing waits."""
        ...

    async def choose(self, menu: Menu) -> str:
        """Wait until one is picked, by a key typed after it was drawn; '' for Esc, Ctrl-C and the terminal's end."""
        ...

    async def choose_some(self, menu: Menu) -> list[str] | None:
        """Wait until the user is done picking any number of them; None as above."""
        ...

    async def read_line(self, label: str, *, is_secret: bool = False) -> str | None:
        """Ask for a line; a secret one is never shown. None when it was cancelled."""
        ...

    def give_back(self, message: Message) -> None:
        """Give a message back that wasn't sent, so that it can be edited."""
        ...

    def notify(self, text: str, *, rings: bool = False) -> None:
        """Call the user, who may look elsewhere."""
        ...

    def copy(self, text: str, /) -> bool:
        """Give the terminal a text for its clipboard; False where it takes none. It never says whether it did."""
        ...

    def outside(self) -> AbstractAsyncContextManager[None]:
        """Give the terminal to another program until the context is left."""
        ...

    def early(self) -> AbstractContextManager[None]:
        """Show where one types before `run` is called, within the context; what it drew is gone where that never is."""
        ...

    async def run(self, doings: Doings) -> None:
        """Take the user's input until they leave or the terminal ends."""
        ...

    def end(self) -> None:
        """Make `run` return."""
        ...
