"""Keys as they are read. What the terminal itself answers among them (its background's color, its size, its name) is
kept from the user's text, and a text that comes in a burst is a paste, also where the terminal doesn't mark it.
"""

from __future__ import annotations

import codecs
import re
import select
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TextIO

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.vt100 import Vt100Input

from dogu.serve.terminal.size_probes import ANSWER, ANSWER_BEGUN, SizeProbes
from dogu.serve.terminal.style import theme_of_color

if TYPE_CHECKING:
    from prompt_toolkit.key_binding.key_processor import KeyPress

ASK_BACKGROUND = "\x1b]11;?\x1b\\"
_PASTE_BEGIN, _PASTE_END = "\x1b[200~", "\x1b[201~"
_LOST_AFTER_S = 2.0  # a paste comes in one go
_LONGEST_KEY = 8
_MOST_READ = 65_536
_BACKGROUND = re.compile("11;rgb:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")

# A string of the terminal's: DCS, SOS, OSC, PM or APC, ended by ST, BEL or the one byte that means ST. Nobody's keys
# end so: Alt and P, ], ^, _ or X begin alike, and then nothing follows, or a text.
_BEGUN = "\x1b[PX\\]^_]([^\x00-\x1f\x9c\udc9c]*)"
_STRING = re.compile(f"{_BEGUN}(?:\x1b\\\\|[\x07\x9c\udc9c])")
_STRING_BEGUN = re.compile(f"(?:{_BEGUN})?\x1b?\\Z")
_SURELY_STRING = re.compile("\x1b(?:P[0-9!$+<=>?{|]|\\][0-9]|_G)")
_LATE_END = re.compile("(?<!\x1b)\x1b\\\\")  # ST, of a string that was given up; Alt and \ means nothing here
_GOES_ON_WITHIN_S = 1.0
_MOST_HELD_CHARS = 4_096
_ENDS_IN_ANSWER = re.compile(ANSWER.pattern + "\\Z")
_NEW_LINE = re.compile("\x1b\\[(?:13;[2-8]u|27;[2-8];13~)")  # Enter held with Shift, Alt or Ctrl, where they are told
_BURST = re.compile("[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]{200,}")  # nobody types so much between two reads


class ReplyInput(Vt100Input):
    """Keys, without the terminal's replies; `on_theme` hears the theme that a reply means, `probes` its size."""

    def __init__(
        self,
        stdin: TextIO,
        on_theme: Callable[[str], None],
        probes: SizeProbes,
        known_size: Callable[[], Size],
    ) -> None:
        super().__init__(stdin)
        # Where the locale names no encoding, what is typed is what terminals send today.
        encoding = "utf-8" if codecs.lookup(stdin.encoding).name == "ascii" else stdin.encoding
        of = _Source(self._fileno, encoding, lambda: self.vt100_parser._in_bracketed_paste)  # pyright: ignore[reportPrivateUsage]  (nothing public tells)
        self._reader = _Reader(of, on_theme, probes, known_size)
        self.stdin_reader = self._reader

    def read_keys(self) -> list[KeyPress]:
        """Take what was typed: a reply ends what came before it, so that an Esc isn't kept waiting by more of them."""
        keys = super().read_keys()
        return [*keys, *super().flush_keys()] if self._reader.ended_in_reply else keys

    def flush_keys(self) -> list[KeyPress]:
        """Take what was held back as keys, where a moment has passed and no reply came of it."""
        self.vt100_parser.feed(self._reader.let_go())
        return super().flush_keys()


class _Source(NamedTuple):
    """What is read, and whether a paste has begun and not ended."""

    descriptor: int
    encoding: str
    is_in_paste: Callable[[], bool]


class _Reader(PosixStdinReader):
    def __init__(
        self, of: _Source, on_theme: Callable[[str], None], probes: SizeProbes, known_size: Callable[[], Size]
    ) -> None:
        super().__init__(of.descriptor, encoding=of.encoding)
        self._of = of
        self._read_at = 0.0
        self._on_theme = on_theme
        self._probes = probes
        self._known_size = known_size
        self._begun = ""
        self._is_in_burst = False
        self.ended_in_reply = False

    def read(self, count: int = _MOST_READ) -> str:
        """Read what was typed."""
        before, self._read_at = self._read_at, time.monotonic()
        read = self._ended(super().read(count), self._read_at - before)
        self.ended_in_reply = False
        if self._read_at - before > _GOES_ON_WITHIN_S and not _STRING.match(self._begun + read):
            self._begun = self.let_go()  # a reply that lost its end is gone
        text, self._begun = self._begun + read, ""
        if "\x1b" not in text:
            return self._as_paste(text)
        text = _NEW_LINE.sub("\x1b\r", text)
        text = self._whole_paste(_LATE_END.sub("", _STRING.sub(self._told, text)))
        listens = self._probes.listens
        self.ended_in_reply = listens and bool(_ENDS_IN_ANSWER.search(text))
        text = ANSWER.sub(self._sighted, text) if listens else text
        begun = None if self.ended_in_reply else _STRING_BEGUN.search(text)
        if not (begun and begun[0]) and listens:
            begun = ANSWER_BEGUN.search(text)
        if begun and read and begun[0]:  # the rest comes with the next read
            self._begun = begun[0] if len(begun[0]) < _MOST_HELD_CHARS else begun[0][:64]
            text = text[: begun.start()]
        return self._as_paste(text)

    def let_go(self) -> str:
        """Return what was held back and is no reply: an Esc, a key held with Alt, and what was typed behind it."""
        if _SURELY_STRING.match(self._begun) or ANSWER_BEGUN.fullmatch(self._begun):
            return ""
        held, self._begun = self._begun, ""
        return held

    def _ended(self, read: str, after_s: float) -> str:
        """End a paste whose end was lost, where a key comes alone a while later; Ctrl-C always ends it."""
        is_key = len(read) == 1 or (read.startswith("\x1b") and len(read) <= _LONGEST_KEY and read not in _PASTE_END)
        is_lost = read == "\x03" or (is_key and after_s > _LOST_AFTER_S)
        return _PASTE_END + read if is_lost and self._of.is_in_paste() else read

    def _whole_paste(self, text: str) -> str:
        """Let a paste end at the last end in what was read: one that came with the text would have the rest typed."""
        begin, is_begun = text.find(_PASTE_BEGIN), self._of.is_in_paste()
        end = text.rfind(_PASTE_END)
        at = 0 if is_begun else begin
        if at < 0 or end < at:
            return text
        inner = text[at:end].replace(_PASTE_BEGIN, "").replace(_PASTE_END, "")
        return f"{text[:at]}{'' if is_begun else _PASTE_BEGIN}{inner}{text[end:]}"

    def _as_paste(self, text: str) -> str:
        """Mark a burst of text as a paste: its lines aren't sent one by one. The Enter behind a single line is one."""
        if self._is_in_burst and not (text and _BURST.fullmatch(text.ljust(200))):
            self._is_in_burst = False
            return _PASTE_END + text
        if not self._is_in_burst and (self._of.is_in_paste() or not _BURST.fullmatch(text)):
            return text
        opened = "" if self._is_in_burst else _PASTE_BEGIN
        self._is_in_burst = bool(select.select([self._of.descriptor], [], [], 0)[0])
        if self._is_in_burst:
            return opened + text
        enter = "\r" if opened and text.find("\r") == len(text) - 1 else ""
        return opened + text.removesuffix(enter) + _PASTE_END + enter

    def _sighted(self, match: re.Match[str]) -> str:
        self._probes.told(Size(int(match[1]), int(match[2])), self._known_size())
        return ""

    def _told(self, match: re.Match[str]) -> str:
        """Drop a reply; a background's color is heard."""
        if color := _BACKGROUND.fullmatch(match[1]):
            red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in color.groups())
            self._on_theme(theme_of_color(red, green, blue))
        return ""
