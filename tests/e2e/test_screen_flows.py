"""Every flow of the terminal in five languages at three widths: what holds of each screen, whatever stands on it.

One process plays all flows of a language and a width. A run plays three languages at a width each, other ones each day;
`make release-catalogs` plays them all.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pyte
import pytest

from dogu.language import LANGUAGES, say, speak
from dogu.serve.terminal.calls import SPINNER
from dogu.serve.terminal.cells import width_of
from dogu.testing.fake_gemini import FakeGemini
from e2e.program import Program, program_in
from e2e.screen_flows import BEGINNINGS, FIRST, FLOWS, MOVE, SEARCH, SOME, Model, Step, furnish
from e2e.screens import Terminal
from processes import end_all_in
from sentences import sentences

WIDTHS = (40, 80, 200)
ROWS = 40
_HELPS = (MOVE, SEARCH, SOME, FIRST)
_DEADLINE_S = 20.0
_CLOSING = tuple("、。，．：；？！）］】』」")
_FIELD = re.compile(r"\{\w+(?::[^}]*)?\}")
_ENGLISH = re.compile(r"[A-Za-z]{2,}(?: [a-z]{2,}){2,}")  # what no list of names is
_DATA = re.compile(
    r"[\w.@~-]*[/\\][\w./@~:+-]*|\b\w+(?:[._:-]\w+)+\b|\b\w*\d\w*|\[[^\]]*\]|--?[a-z][\w-]*|`[^`]*`|\b[A-Z][A-Z_]+\b"
)
_CALL = re.compile(r"^(?:[●■✗] |#\d+ )\w+  ", re.MULTILINE)
_DATA_WORDS = (
    "rm -rf build && git push --force",
    "rm -rf build",
    "git push --force",
    "git push",
    "seq -f line-%g",
    "sleep 1000",
    "Connection closed",
    "File not found",
    "The model is overloaded",
    "You exceeded your current quota",
    "exceeded your current quota",
    "dogu config trust",
    "Check the name with glob or list_directory",
)
_NAMES = (
    "Gemini",
    "Google",
    "OpenAI",
    "Anthropic",
    "Claude",
    "Ollama",
    "or llama.cpp",
    "Esc Esc",
    "Alt-Enter",
    "Enter",
)


class Played:
    """A program that is played: what has come since a flow began, and what is wrong with the screens."""

    def __init__(self, terminal: Terminal, language: str, name: str, *, is_drawn: bool = True) -> None:
        self.terminal = terminal
        self.problems: list[str] = []
        self._language = language
        self._is_drawn = is_drawn
        self._name = name
        self._begin = 0
        self._too_wide: list[str] = []
        if is_drawn:  # what is only printed is the terminal's to break
            _watch_edge(terminal.screen, self._too_wide)

    def begin(self, name: str) -> None:
        """Look from here on, once nothing is under way."""
        self._name = name
        self.terminal.until(
            lambda: (
                "›" in self.terminal.lines and not any(sign in line for line in self.terminal.lines for sign in SPINNER)
            )
        )
        self._begin = len(self.terminal.screen.history.top) + self.terminal.screen.cursor.y

    def play(self, step: Step) -> None:
        """Send the keys, wait for what they bring, and look at the screen."""
        pressed = self.terminal
        pressed.send(step.keys)
        awaited = [_parts(each) for each in step.awaited]
        deadline = time.monotonic() + _DEADLINE_S
        while not self._holds(awaited, step):
            if time.monotonic() > deadline:
                missing = [said for said, parts in zip(step.awaited, awaited, strict=True) if not self._seen(parts)]
                shown = "\n".join([*self.problems, *pressed.lines])
                raise AssertionError(f"{self._where(step)} it never showed {missing or 'its keys'}:\n{shown}")
            pressed.read(0.05)
        self._look(step)

    def _holds(self, awaited: list[list[str]], step: Step) -> bool:
        """Whether all has come, and, where a question stands, its keys; else the box, where nothing runs."""
        raw = self.terminal.raw
        is_half_drawn = raw.rfind("\x1b[?2026h") > raw.rfind("\x1b[?2026l")
        if is_half_drawn or not all(map(self._seen, awaited)):
            return False
        shown = "\n".join(self.terminal.lines)
        if any(say(each) in shown for each in step.gone):
            return False
        return (
            not self._is_drawn or not step.is_asked or any(_squeezed(say(each)) in _squeezed(shown) for each in _HELPS)
        )

    def _seen(self, parts: list[str]) -> bool:
        at, text = 0, _squeezed("\n".join(self._since()))
        for part in parts:
            at = text.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return True

    def _since(self) -> list[str]:
        screen = self.terminal.screen
        top = screen.history.top
        if self._begin > len(top) + screen.cursor.y:  # the screen was cleared
            self._begin = len(top)
        return [*self.terminal.above(self._begin), *self.terminal.lines[max(0, self._begin - len(top)) :]]

    def _where(self, step: Step) -> str:
        return f"{self._language} {self.terminal.screen.columns}, {self._name}, after {step.keys!r}:"

    def _look(self, step: Step) -> None:
        lines = self._since()
        # What is only printed is the terminal's to break.
        problems = [*_broken(lines, self.terminal.screen.columns), *self._too_wide] if self._is_drawn else []
        self._too_wide.clear()
        if self._language != "en":
            problems += _untranslated(lines, self._language)
        if self._is_drawn:
            problems += _misplaced(self.terminal, step)
        self.problems += [f"{self._where(step)} {problem}" for problem in problems]
        if folder := os.environ.get("DOGU_TEST_SCREENS"):
            name = f"{self._language}.{self.terminal.screen.columns}.txt"
            with Path(folder, name).open("a", encoding="utf-8") as file:
                file.write(f"==== {self._name}, after {step.keys!r}\n" + "\n".join(lines).rstrip() + "\n")


def _watch_edge(screen: pyte.Screen, found: list[str]) -> None:
    """Note what is written past the last cell of a row, except of what the user typed: a terminal reflows that."""
    draw: Any = screen.draw

    def watched(data: str) -> None:
        for character in data:
            is_full = screen.cursor.x + width_of(character) > screen.columns
            row = screen.display[screen.cursor.y] if is_full else ""
            if is_full and width_of(character) and not row.startswith(("›", "  ")):
                found.append(f"wider than the terminal: {row!r} and {character!r}")
            draw(character)

    screen.draw = watched


def _squeezed(text: str) -> str:
    return re.sub(r"[\s│]", "", text)


def _parts(template: str) -> list[str]:
    """Cut a sentence in the screen's language where something is filled in."""
    return [part for each in _FIELD.split(say(template)) if (part := _squeezed(each))]


def _broken(lines: list[str], columns: int) -> Iterator[str]:
    """Find what is broken where nobody would break it: a word within, a mark from what it closes, single letters."""
    words = _words()
    for above, below in pairwise(lines):
        if below.strip().startswith(_CLOSING) and above.strip():
            yield f"{below.strip()[:1]!r} begins a line: {above!r}, {below!r}"
        ends, begins = re.search(r"\w+$", above), re.match(r"\s*(\w+)", below)
        whole = ends[0] + begins[1] if ends and begins and not {ends[0], begins[1]} <= words else ""
        if whole in words and width_of(whole) >= 8:
            yield f"{whole!r} is broken: {above!r}, {below!r}"
    narrow = [0 < width_of(line.strip()) <= 3 and line.strip().isalpha() for line in lines]
    if any(all(narrow[at : at + 3]) for at in range(len(narrow) - 2)):
        yield f"broken into letters: {lines}"


@cache
def _words() -> frozenset[str]:
    """All words of the sentences in the language that is spoken; without ideographs, which have no words to break."""
    found = {word for message in sentences() for word in re.findall(r"[^\W\d_]{3,}", say(message))}
    return frozenset(word for word in found if word.isascii() or "\uac00" <= word[0] <= "\ud7a3")


@cache
def _sentences_known(language: str) -> list[str]:
    """The English sentences that read otherwise in a language, without blanks."""
    speak(language)
    known = [message for message in sentences() if len(message.split()) > 2 and say(message) != message]
    return [squeezed for message in known if (squeezed := _squeezed(message)) and "{" not in squeezed]


def _untranslated(lines: list[str], language: str) -> Iterator[str]:
    whole = _squeezed("".join(lines))
    yield from (f"in English: {known}" for known in _sentences_known(language) if known in whole)
    text = _CALL.sub("", "\n".join(lines))
    for known in (*_DATA_WORDS, *_NAMES):
        text = re.sub(r"\s+".join(map(re.escape, known.split())), "…", text)
    yield from (f"in English: {run}" for run in _ENGLISH.findall(_DATA.sub("…", text)))


def _misplaced(terminal: Terminal, step: Step) -> Iterator[str]:
    """Find what is wrong with the rows that are drawn anew: the cursor, what is cut without a sign, the question."""
    lines, cursor, columns = terminal.lines, terminal.screen.cursor, terminal.screen.columns
    at = max((at for at, line in enumerate(lines) if line.startswith("❯ ")), default=-1)
    box = max((at for at, line in enumerate(lines) if line.startswith("›")), default=-1)
    is_menu = at >= 0 and not 0 <= box < at  # what completes stands below the box
    if is_menu:
        yield from _asked_badly(lines, at, cursor.y, step)
    elif cursor.y < box:
        yield f"the cursor is in row {cursor.y}, above the input box"
    for line in lines[at if is_menu else cursor.y :]:
        if width_of(line) >= columns and not line.endswith("…") and not line.startswith("›"):
            yield f"cut at the edge: {line!r}"


def _asked_badly(lines: list[str], at: int, cursor_row: int, step: Step) -> Iterator[str]:
    """Find what is wrong with choices of which the one in row `at` is highlighted."""
    search = max((row for row, line in enumerate(lines) if line.startswith(say("Search:"))), default=-1)
    if cursor_row != (search if search >= 0 else at):  # where a search is, one types there
        yield f"the cursor is in row {cursor_row}, not in {at}: {lines[cursor_row]!r}"
    if not any(_squeezed(say(each)) in _squeezed("".join(lines[at:])) for each in _HELPS):
        yield "what keys do isn't seen"
    if step.is_asked and not any(line.startswith("? ") for line in lines[:at]):
        yield f"the question's title isn't seen: {lines}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play three languages, each at another width: all within five days; for a release, all."""
    today, is_whole = time.gmtime().tm_yday, metafunc.config.getoption("--release")
    cases = [case for at, case in enumerate(product(LANGUAGES, WIDTHS)) if is_whole or (at + today) % 5 == 0]
    metafunc.parametrize(("language", "columns"), cases)


@pytest.fixture(autouse=True)
def spoken(language: str) -> Iterator[None]:
    """Let this process say what is awaited in the language of the screen."""
    speak(language)
    _words.cache_clear()
    yield
    speak("en")


@pytest.fixture
def opened() -> Iterator[list[Terminal]]:
    terminals: list[Terminal] = []
    yield terminals
    for terminal in terminals:
        terminal.child.close(force=True)


@pytest.mark.timeout(300)
def test_every_flow(program: Program, opened: list[Terminal], language: str, columns: int) -> None:
    furnish(program)
    with FakeGemini(Model(program.root)) as server:
        opened.append(_open(program, server, language, columns))
        played = Played(opened[0], language, "the first screen")
        played.play(Step("", ("gemini-2.5-pro",)))
        for flow in FLOWS:
            played.begin(flow.name)
            for step in flow.steps:
                played.play(step)
        opened[0].send("\x04")
        opened[0].ended()
    assert not played.problems, "\n".join(played.problems)


@pytest.mark.timeout(300)
def test_every_beginning(tmp_path: Path, opened: list[Terminal], language: str, columns: int) -> None:
    problems: list[str] = []
    for number, each in enumerate(BEGINNINGS):
        folder = tmp_path / str(number)
        folder.mkdir()
        program = program_in(folder)
        each.prepare(program)
        with FakeGemini(Model(program.root)) as server:
            environ = {"GOOGLE_GEMINI_BASE_URL": server.base_url, **each.environ}
            opened.append(_open(program, server, language, columns, *each.words, **environ))
            played = Played(opened[-1], language, each.name, is_drawn=each.is_drawn)
            for step in each.steps:
                played.play(step)
            opened[-1].ended()
        problems += played.problems
        end_all_in(folder)
    assert not problems, "\n".join(problems)


def _open(program: Program, server: FakeGemini, language: str, columns: int, *words: str, **environ: str) -> Terminal:
    known = {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url, "NO_COLOR": "1", **environ}
    named = {name: value for name, value in known.items() if value}
    return Terminal(program, [*words, "--lang", language], columns=columns, rows=ROWS, **named)  # pyright: ignore[reportArgumentType]  (variables of the environment)
