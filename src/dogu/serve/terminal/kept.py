"""What was folded on the screen, so that it can be opened: by number, within a bound on memory."""

from __future__ import annotations

import msgspec

from dogu.contract import Display
from dogu.contract.display import CommandPreview, FileDiff, PatchDiff, TerminalOutput, TodoList
from dogu.language import say
from dogu.serve.terminal.draw import draw
from dogu.serve.terminal.style import Style

_MOST_CHARS = 6_000_000


class Kept(msgspec.Struct, frozen=True):
    """One thing that can be opened: its title is painted."""

    title: str
    display: Display


class KeptResults:
    """Numbers results from 1; the oldest are forgotten once six million characters are kept."""

    def __init__(self) -> None:
        self._kept: dict[int, Kept] = {}
        self._chars = 0
        self.last = 0

    def keep(self, title: str, display: Display) -> int:
        """Keep a result; return its number."""
        self.last += 1
        self._kept[self.last] = Kept(title, display)
        self._chars += _chars_of(display)
        while self._chars > _MOST_CHARS and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self._chars -= _chars_of(self._kept.pop(oldest).display)
        return self.last

    def opened(self, number: int, style: Style, columns: int = 0) -> str:
        """Return the whole of a result, painted; a sentence where there is none of that number."""
        kept = self._kept.get(number)
        if kept is None:
            if 0 < number <= self.last:
                return say("Number {number} is no longer kept here; `dogu sessions show` has it.", number=number)
            return say("There is no result {number} to open; the last one is {last}.", number=number, last=self.last)
        whole = draw(kept.display, style, columns, whole=True)
        return f"{style.paint(f'#{number}', 'dim')} {kept.title}\n{whole or say('(nothing was printed)')}"


def _chars_of(display: Display) -> int:
    match display:
        case str():
            return len(display)
        case FileDiff():
            return len(display.unified) + len(display.new_text) + len(display.old_text or "")
        case PatchDiff(files=files):
            return sum(map(_chars_of, files))
        case TerminalOutput():
            return len(display.output) + len(display.command)
        case CommandPreview():
            return len(display.command)
        case TodoList():
            return sum(len(todo.text) for todo in display.todos)
