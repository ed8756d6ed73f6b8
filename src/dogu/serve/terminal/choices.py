"""Choices of which one is picked, or some: what is highlighted, what a filter leaves, how they are drawn and named.

The drawn screen moves through them by keys, the plain one takes a line that names one whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from dogu.language import say
from dogu.serve.terminal.cells import cluster_before, fit, hanging, labelled, rows_of, width_of, wrapped
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import visible_line

_MOST_ROWS = 10
_MOST_DIGITS = 9
_FEWEST_CELLS = 6
_NARROW = 40  # columns that a terminal may suddenly have
_BELOW = 3  # rows: the input box, the status, and one to spare


class Choice(msgspec.Struct, frozen=True):
    """One of several. `key` is what picking it returns; a single letter or digit is also the key that picks it.

    `words` name it, and are what a plain screen takes whole; `detail` stands dim beside them, and `about` below the
    choices while it is highlighted. None is escaped yet.
    """

    key: str
    words: str
    detail: str = ""
    about: str = ""


class Menu(msgspec.Struct, frozen=True):
    """What is put before the user.

    `default` is the key that Enter picks, the first one's where it is empty. `filters`: typing narrows the list, so
    that no letter picks. `is_own`: the user asked for it, so that keys count at once. `yields`: what picks
    nothing closes it and goes into the input box. `takes_some`: any number may be picked, beginning with `picked`.
    """

    choices: Sequence[Choice]
    default: str = ""
    filters: bool = False
    is_own: bool = False
    yields: bool = False
    takes_some: bool = False
    picked: frozenset[str] = frozenset()

    @property
    def has_screen(self) -> bool:
        """Whether it takes the whole screen: a long list that the user asked for, above which nothing is asked."""
        return self.filters and self.is_own


class OpenMenu:
    """A menu as it stands on the screen. `numbers` say which choice each line drawn shows; -1 for none."""

    def __init__(self, menu: Menu) -> None:
        self.menu = menu
        self.filter = ""
        self.picked = set(menu.picked)
        self.numbers: list[int] = []
        self._at = next((at for at, each in enumerate(menu.choices) if each.key == menu.default), 0)

    @property
    def shown(self) -> Sequence[Choice]:
        """The choices that the filter leaves: those that begin with it first, then those with a word that does."""
        wanted = self.filter.casefold().split()
        if not wanted:
            return self.menu.choices
        texts = [(each, f"{each.words} {each.detail} {each.about}".casefold()) for each in self.menu.choices]
        fitting = [(each, text) for each, text in texts if all(word in text for word in wanted)]
        at_word = re.compile(rf"\b{re.escape(wanted[0])}")

        def distance(found: tuple[Choice, str]) -> int:
            return 0 if found[1].startswith(wanted[0]) else 1 if at_word.search(found[1]) else 2

        return [each for each, _ in sorted(fitting, key=distance)]

    @property
    def highlighted(self) -> str:
        """The key of the choice that Enter picks; '' where the filter leaves none."""
        shown = self.shown
        return shown[min(self._at, len(shown) - 1)].key if shown else ""

    def move(self, by: int) -> None:
        """Highlight another choice; past the end comes the beginning."""
        count = len(self.shown)
        if abs(by) > 1:
            self._at = min(max(self._at + by, 0), max(0, count - 1))
        elif count:
            self._at = (min(self._at, count - 1) + by) % count

    def highlight(self, number: int) -> None:
        """Highlight the choice of that number."""
        self._at = number

    def toggle(self) -> None:
        """Pick the highlighted one, or no longer."""
        self.picked ^= {self.highlighted} - {""}

    def narrow(self, typed: str) -> None:
        """Type into the filter."""
        self.filter, self._at = self.filter + typed, 0

    def widen(self) -> None:
        """Take the last character of the filter back."""
        self.filter, self._at = self.filter.removesuffix(cluster_before(self.filter)), 0

    def picks(self, typed: str) -> str:
        """Return the key of the choice that a letter or a digit picks; '' for none."""
        keys = {each.key.casefold(): each.key for each in self.menu.choices if len(each.key) == 1}
        if typed.casefold() in keys:
            return keys[typed.casefold()]
        if typed.isascii() and typed.isdigit() and 0 < int(typed) <= min(len(self.menu.choices), _MOST_DIGITS):
            return self.menu.choices[int(typed) - 1].key
        return ""

    def lines(self, style: Style, columns: int, rows: int, *, is_beside_draft: bool = False) -> tuple[list[str], int]:
        """Return the painted lines, the choices around the highlighted one and what keys do; and its own row.

        There are so many that all stand on a screen of so many `rows` (0: of any), with the input box below. Of a list
        below what was said also once that has become narrower: what a terminal then pushes off above is in nobody's
        hands.
        """
        most = min(len(self.shown), rows or len(self.shown))
        if rows and (most > _MOST_ROWS or self.menu.filters) and not self.menu.has_screen:
            most = min(most, _MOST_ROWS, max(3, rows // 2))
        told = [style.paint(line, "dim") for line in self._help(columns, is_beside_draft=is_beside_draft)]
        told = [*(f"  {line}" for line in self._about(columns)), *told]
        cells = min(columns, _NARROW) if self.menu.filters and not self.menu.has_screen else columns
        while True:
            lines, row = self._window(most, style, columns)
            if most <= 1 or not rows or rows_of("\n".join([*lines, *told]), cells) <= rows - _BELOW:
                return [*lines, *told], row
            most -= 1

    def _window(self, most: int, style: Style, columns: int) -> tuple[list[str], int]:
        """Return at most so many choices, those around the highlighted one, and its row."""
        shown = self.shown
        at = min(self._at, max(0, len(shown) - 1))
        first = max(0, min(at - most // 2, len(shown) - most))
        widest = max((width_of(_words(each)) for each in self.menu.choices if each.detail), default=0)
        lines: list[str] = []
        row = 0
        if self.menu.filters:
            lines.append(
                style.paint(fit(labelled(say("Search:")), columns - 1), "dim") + fit(self.filter, columns // 2)
            )
        self.numbers = [-1] * len(lines)
        for number, each in enumerate(shown[first : first + most], first):
            row = len(lines) if number == at else row
            lines += self._choice(number, each, style, columns, widest, is_at=number == at)
            self.numbers += [number] * (len(lines) - len(self.numbers))
        if not shown:
            lines.append(style.paint("  " + say("No matches."), "dim"))
        elif len(shown) > most:
            lines.append(style.paint(f"  {at + 1}/{len(shown)}", "dim"))
        return lines, row

    def _choice(self, number: int, each: Choice, style: Style, columns: int, widest: int, *, is_at: bool) -> list[str]:
        mark = style.paint("❯", "cyan", "bold") if is_at else " "
        box = ("[x] " if each.key in self.picked else "[ ] ") if self.menu.takes_some else ""
        digit = "" if self.menu.filters or number >= _MOST_DIGITS else f"{number + 1}. "
        words = box + digit + _words(each)
        letter = self._letter(each)
        room = columns - 3
        look = ("cyan", "bold") if is_at else ("bold",)
        if self.menu.filters and each.detail:
            side = min(widest, max(columns * 3 // 5, 8))
            words = box + fit(_words(each), min(side, room))
            words += " " * (len(box) + side - width_of(words) + 2)
            left = room - width_of(words)
            detail = fit(visible_line(each.detail), left) if left > _FEWEST_CELLS else ""
            return [f"{mark} {style.paint(words.rstrip() if not detail else words, *look)}{_dim(detail, style)}"]
        if self.menu.filters:
            words = fit(words, room)
        first, *more = hanging(words + letter, room, "    ").split("\n")
        painted = [f"{mark} {style.paint(first, *look)}"]
        painted += [f"  {style.paint(line, *look)}" for line in more]
        if not each.detail:
            return painted
        detail = visible_line(each.detail)
        if not more and width_of(first) + width_of(detail) + 2 <= room:
            return [f"{painted[0]}  {_dim(detail, style)}"]
        return [*painted, *(f"     {_dim(line, style)}" for line in wrapped(detail, max(8, room - 4)).split("\n"))]

    def _letter(self, each: Choice) -> str:
        is_letter = len(each.key) == 1 and not each.key.isdigit() and not self.menu.filters
        return f" ({each.key})" if is_letter else ""

    def _about(self, columns: int) -> list[str]:
        about = next((each.about for each in self.menu.choices if each.key == self.highlighted), "")
        return wrapped(visible_line(about), columns - 3).split("\n") if about else []

    def _help(self, columns: int, *, is_beside_draft: bool) -> list[str]:
        if is_beside_draft and not self.menu.yields:
            words = say("You are typing below; ↑ or ↓ comes back here, Esc cancels")
        elif self.menu.takes_some:
            words = say("↑↓ move, Space picks, Enter finishes, Esc cancels")
        elif self.menu.filters:
            words = say("↑↓ move, type to search, Enter picks, Esc cancels")
        elif self.menu.yields:
            words = say("↑↓ move, Enter picks; or just type what you want done")
        else:
            words = say("↑↓ move, Enter picks, Esc cancels")
        return [f"  {line}" for line in wrapped(words, columns - 3).split("\n")]


def plain_lines(menu: Menu, columns: int) -> str:
    """Return the choices for a screen that nothing is drawn on: a line each, then what counts as an answer."""
    abouts = {each.about for each in menu.choices}
    lines = [wrapped(visible_line(about), columns) for about in abouts if about and len(abouts) == 1]
    for number, each in enumerate(menu.choices, 1):
        letter = f" ({each.key})" if len(each.key) == 1 and not each.key.isdigit() else ""
        detail = f": {visible_line(each.detail)}" if each.detail else ""
        detail += f" ({visible_line(each.about)})" if each.about and len(abouts) > 1 else ""
        lines.append(hanging(f"  {number}. {_words(each)}{letter}{detail}", columns, "     "))
    return "\n".join([*lines, how_to_answer(menu)])


def how_to_answer(menu: Menu) -> str:
    """Say what a plain screen takes as an answer."""
    if menu.takes_some:
        return say("Numbers, with commas between them:")
    if menu.is_own:
        return say("Number or whole answer (Enter alone: none):")
    return say("Number, letter or whole answer:")


def named(menu: Menu, line: str) -> str:
    """Return the key of the choice that a line names whole: by its number, its letter or its words; '' for none."""
    text = " ".join(line.split()).casefold()
    for number, each in enumerate(menu.choices, 1):
        letter = each.key.casefold() if len(each.key) == 1 else ""
        if text and text in (str(number), letter, " ".join(_words(each).split()).casefold()):
            return each.key
    return ""


def named_some(menu: Menu, line: str) -> list[str] | None:
    """Return the keys of the choices that a line names, commas between them; None where one isn't known."""
    keys = [named(menu, part) for part in line.split(",") if part.strip()]
    return list(dict.fromkeys(keys)) if all(keys) else None


def _words(each: Choice) -> str:
    return visible_line(each.words)


def _dim(text: str, style: Style) -> str:
    return style.paint(text, "dim")
