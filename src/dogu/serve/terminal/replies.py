"""What the terminal itself answers among the keys, kept from the person's text: its background's color, its size."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TextIO

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.vt100 import Vt100Input

from dogu.serve.terminal.paper import FrameOutput
from dogu.serve.terminal.sightings import ANSWER, ANSWER_BEGUN
from dogu.serve.terminal.style import theme_of_color

ASK_BACKGROUND = "\x1b]11;?\x1b\\"
_REPLY = re.compile("\x1b\\]11;rgb:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:\x07|\x1b\\\\)")
_BEGUN = re.compile("\x1b\\](?:1(?:1(?:;[^\x07\x1b]{0,40}\x1b?)?)?)?$")


class ReplyInput(Vt100Input):
    """Keys, without the terminal's replies; `on_theme` hears the theme that a reply means, `output` its size."""

    def __init__(self, stdin: TextIO, on_theme: Callable[[str], None], output: FrameOutput) -> None:
        super().__init__(stdin)
        self.stdin_reader = _Reader(self.stdin_reader, on_theme, output, (self._fileno, stdin.encoding))


class _Reader(PosixStdinReader):
    def __init__(
        self, inner: PosixStdinReader, on_theme: Callable[[str], None], output: FrameOutput, of: tuple[int, str]
    ) -> None:
        super().__init__(of[0], encoding=of[1])
        self._inner = inner
        self._on_theme = on_theme
        self._output = output
        self._begun = ""

    def read(self, count: int = 1024) -> str:
        """Read what was typed."""
        read = self._inner.read(count)
        self.closed = self._inner.closed
        text, self._begun = self._begun + read, ""
        listens = self._output.sightings.listens
        if "\x1b]" not in text and not (listens and "\x1b[" in text):
            return text
        text = _REPLY.sub(self._told, text)
        text = ANSWER.sub(self._sighted, text) if listens else text
        begun = _BEGUN.search(text) or (ANSWER_BEGUN.search(text) if listens else None)
        if begun and read:  # the rest comes with the next read
            self._begun = begun[0]
            text = text[: begun.start()]
        return text

    def _sighted(self, match: re.Match[str]) -> str:
        self._output.sightings.told(Size(int(match[1]), int(match[2])), self._output.known_size())
        return ""

    def _told(self, match: re.Match[str]) -> str:
        red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
        self._on_theme(theme_of_color(red, green, blue))
        return ""
