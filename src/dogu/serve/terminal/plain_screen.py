"""A terminal that is only printed on, a line after the other: dumb ones, and for readers of screens.

The terminal itself edits the line and turns Ctrl-C into a signal. Nothing is ever drawn again, nothing moves.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from typing import TextIO

import anyio

from dogu.language import say
from dogu.serve.terminal.cells import labelled
from dogu.serve.terminal.choices import Menu, how_to_answer, named, named_some, plain_lines
from dogu.serve.terminal.screen import Doings, Message
from dogu.serve.terminal.style import Style
from dogu.workspace.event_loop import forget_typed, open_signal_receiver, read_ready, without_echo
from dogu.workspace.visible import visible_line

_READ_BYTES = 65_536


class PlainScreen:
    """Prints lines and reads lines. What was typed before a question stays a message and never answers it."""

    is_live = False
    is_typing = False

    def __init__(self, style: Style, out: TextIO | None = None) -> None:
        self.style = style
        self._out = out or sys.stdout
        self._doings: Doings | None = None
        self._lines: list[str] = []
        self._changed = anyio.Event()
        self._is_asking = False
        self._is_ended = False
        self._is_open = False  # a line that the user is to end by Enter
        self._partial = b""
        self._scope = anyio.CancelScope()

    @property
    def columns(self) -> int:
        """How wide the terminal says it is."""
        try:
            return os.get_terminal_size(self._out.fileno()).columns or 80
        except OSError:
            return 80

    @property
    def rows(self) -> int:
        """Nothing scrolls by: it is read line by line."""
        return 0

    def print(self, text: str) -> None:
        """Print at once."""
        try:
            self._write(f"\n{text}\n" if self._is_open else f"{text}\n", is_open=False)
        except OSError:  # the terminal was closed
            self.end()

    def _write(self, text: str, *, is_open: bool) -> None:
        self._is_open = is_open
        self._out.write(text)
        self._out.flush()

    def refresh(self) -> None:
        """Do nothing: what is under way is told when it has ended."""

    def rest(self) -> None:
        """Print the prompt: what was sent has been done."""
        self._prompt()

    async def choose(self, menu: Menu) -> str:
        """Print the choices and take a line that names one of them whole; anything else asks again."""
        words = plain_lines(menu, self.columns)
        while (line := await self._ask(words)) is not None:
            if key := named(menu, line):
                return key
            if menu.is_own and not line.strip():
                return ""
            words = how_to_answer(menu)
        return ""

    async def choose_some(self, menu: Menu) -> list[str] | None:
        """The same for several, with commas between them."""
        words = plain_lines(menu, self.columns)
        while (line := await self._ask(words)) is not None:
            if (keys := named_some(menu, line)) is not None:
                return keys
            words = how_to_answer(menu)
        return None

    async def read_line(self, label: str, *, is_secret: bool = False) -> str | None:
        """Take a line; the terminal doesn't echo a secret one."""
        if not is_secret:
            return await self._ask(label)

        try:
            with without_echo(sys.stdin.fileno()):
                return await self._ask(label)
        finally:
            self.print("")

    def give_back(self, message: Message) -> None:
        """Say that it wasn't sent: what is typed can't be put back into the terminal's own line."""
        first = visible_line(message.text.partition("\n")[0])
        self.print(say("Not sent: {text}", text=first))

    def notify(self, text: str, *, rings: bool = False) -> None:
        """What is printed is read out: nothing more is needed."""

    def copy(self, _text: str) -> bool:
        """Nothing is written to it but what is read."""
        return False

    def early(self) -> AbstractContextManager[None]:
        """Show nothing: a prompt that is printed can't be taken back."""
        return nullcontext()

    @asynccontextmanager
    async def outside(self) -> AsyncGenerator[None]:
        """Stop reading; the terminal is as other programs want it already."""
        was_asking, self._is_asking = self._is_asking, True
        try:
            yield
        finally:
            self._is_asking = was_asking

    async def run(self, doings: Doings) -> None:
        """Read lines until the terminal's end; each is a message, or the answer to what is asked."""
        self._doings = doings
        try:
            with self._scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._hear_interrupts)
                    await self._read()
                    group.cancel_scope.cancel()
        finally:
            self._is_ended = True
            self._changed.set()
            if self._is_open:
                with suppress(OSError):  # the terminal was closed
                    self._write("\n", is_open=False)
            doings.ended(Message(self._partial.decode(errors="replace").strip()))

    async def hear_answers(self) -> None:
        """Read lines only as answers to what is asked, where there is no conversation; until it is cancelled."""
        try:
            await self._read()
        finally:
            self._is_ended = True
            self._changed.set()

    def end(self) -> None:
        """Stop reading."""
        self._is_ended = True
        self._scope.cancel()

    async def _read(self) -> None:
        descriptor = sys.stdin.fileno()
        self._prompt()
        while True:
            try:
                data = await read_ready(descriptor, _READ_BYTES)
            except OSError:
                return
            if not data:
                return
            *lines, self._partial = (self._partial + data).split(b"\n")
            for line in lines:
                self._is_open = False
                self._took(line.decode(errors="replace").rstrip("\r"))

    def _took(self, line: str) -> None:
        if self._is_asking:
            self._lines.append(line)
            self._changed.set()
        elif line.strip() and self._doings is not None:
            self._doings.submit(Message("/keys" if line.strip() == "?" else line.strip()))
        else:
            self._prompt()

    def _prompt(self) -> None:
        if self._doings is None:
            return
        self._write("› ", is_open=True)

    async def _ask(self, words: str) -> str | None:
        """Ask with what was typed before left out: it had another meaning."""
        _forget_typed()
        self._lines.clear()
        self._is_asking = True
        if not self._is_ended:
            self._write(labelled(words), is_open=True)
        try:
            while not self._lines:
                if self._is_ended:
                    return None
                self._changed = anyio.Event()
                await self._changed.wait()
            return self._lines.pop(0)
        finally:
            self._is_asking = False

    async def _hear_interrupts(self) -> None:
        with open_signal_receiver(signal.SIGINT) as signals:
            async for _ in signals:
                if self._doings is not None and not self._doings.cancel():
                    self.print(say("Nothing is running. Ctrl-D or /quit leaves."))
                    self._prompt()


def _forget_typed() -> None:
    try:
        forget_typed(sys.stdin.fileno())
    except (OSError, ValueError):
        return
