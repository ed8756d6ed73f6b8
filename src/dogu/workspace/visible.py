"""What a terminal would obey or a reader could not see: removed, shown, or told in words."""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import BinaryIO, TextIO

from dogu.language import sentence, told

# ECMA-48, 7-bit and C1 forms: CSI; the strings OSC, DCS, APC, PM, SOS up to their terminator (ST, or BEL), of an
# unfinished one only the introducer, lest it swallow the rest; every other escape.
_ESCAPES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])(?:[^\x07\x18\x1a\x1b\x80-\x9f]*(?:\x07|\x1b\\\\|\x9c))?"
    "|\x1b[ -/]*[0-~]?"
)
# Bold and underline as line printers made them.
_OVERSTRUCK = re.compile(r"(?:(.)\x08(?=\1)|_\x08(?=[^\s\x08])|(?<=[^\s\x08])\x08_)")
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f]")

_EMOJI = "\xa9\xae\u203c-\u3299\U0001f000-\U0001faff"
_JOINING = "\u0600-\u0dff\u0f00-\u109f\u1780-\u18af"
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_KINDS = {
    "control": "[\0-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]",
    "separator": "[\x85\u2028\u2029]",
    "bidi": "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]",
    "tag": "[\U000e0000-\U000e007f]",
    "selector": "[\ufe00-\ufe0f\u180b-\u180d\u180f\U000e0080-\U000e0fff]",
    "invisible": "[\xad\u034f\u17b4\u17b5\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]",
    "blank": "[\u115f\u1160\u2800\u3164\uffa0]",
    "surrogate": "[\ud800-\udfff]",
}
_MEANINGS = {
    "control": sentence("a terminal may obey it"),
    "separator": sentence("some programs end a line there, others don't"),
    "bidi": sentence("text is shown in another order than it runs"),
    "tag": sentence("invisible, and can carry hidden text"),
    "selector": sentence("invisible where it stands, and can carry hidden text"),
    "invisible": sentence("it can't be seen"),
    "blank": sentence("a letter that looks like a blank"),
    "surrogate": sentence("half a character, or a byte the encoding doesn't know"),
    "space": sentence("it looks like a space and isn't one"),
    "look-alike": sentence("it looks like a Latin letter in a word of Latin letters"),
}
# Joiners and selectors where scripts and emoji need them.
_AT_HOME = (
    f"(?<=[{_EMOJI}0-9#*])[\ufe0e\ufe0f]"
    f"|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
    f"|(?<=[{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]"
)

_ODD_SPACE = "[\xa0\u1680\u2000-\u200a\u202f\u205f]"
_CONFUSABLE = (
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b\u051d"
    "\u0405\u0406\u0408\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425"
    "\u03bd\u03bf\u03c5\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
)
_LATIN = "A-Za-z\xc0-\u024f"
_LOOK_ALIKE = (
    f"(?<=[{_LATIN}])[{_CONFUSABLE}]|[{_CONFUSABLE}](?=[{_CONFUSABLE}]*[{_LATIN}])"
    f"|(?<=[{_LATIN}][{_CONFUSABLE}])[{_CONFUSABLE}]"
)
_CODE = r"(?:0|1|2|3|4|7|9|2[2-9]|[34][0-79]|(?:9|10)[0-7]|[34]8;5;\d{1,3}|[34]8;2;\d{1,3};\d{1,3};\d{1,3})"
_COLOR = re.compile(f"(\x1b\\[(?:{_CODE}(?:;{_CODE})*)?m)")
_MOST_NAMED = 3


def strip_escapes(text: str) -> str:
    r"""Remove escape sequences and control characters: a program's output as it reads without a terminal.

    Tabs and newlines stay; `\r\n` and a lone `\r` (a progress bar's next state) become `\n`; printers' bold and
    underline become plain text. Nothing that was printed is lost.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = re.sub("\r+\n?", "\n", text)
    if "\b" in text:
        text = _OVERSTRUCK.sub("", text)
    return _CONTROLS.sub("", text)


def make_visible(text: str, keep: str = "\n\t") -> str:
    """Show what is invisible or would be obeyed: `␛` for a control character, `‹U+202E›` for any other.

    Characters in `keep` stay, and joiners and selectors where a script or an emoji needs them.
    """
    if text.isascii() and text.isprintable():
        return text

    def shown(match: re.Match[str]) -> str:
        return match[0] if match.lastgroup == "at_home" or match[0] in keep else _symbol(match[0])

    visible = _unseen().sub(shown, text)
    return visible if "\n" in keep and "\t" in keep else _without_layout(visible, keep)


def visible_line(text: str) -> str:
    """Show the text so that it stays within one line: line ends and tabs as symbols, too."""
    return make_visible(text, keep="")


def hidden_characters(text: str) -> list[str]:
    """Say in words which invisible or look-alike characters a text holds: what follows "the text ...", one a kind.

    Usually empty; else such as `holds U+200B ZERO WIDTH SPACE (line 3): it can't be seen`.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    for match in _unseen().finditer(text):
        kind = match.lastgroup or ""
        if kind != "at_home" and match[0] not in "\r\f":
            found.setdefault(kind, []).append((match.start(), match[0]))
    if not text.isascii():
        for kind, pattern in (("space", _ODD_SPACE), ("look-alike", _LOOK_ALIKE)):
            places = [(match.start(), match[0]) for match in re.finditer(pattern, text)]
            if places:
                found[kind] = places
    return [_clause(text, places, _MEANINGS[kind]) for kind, places in found.items()]


@cache
def _unseen() -> re.Pattern[str]:
    """Compile on first use: sets of characters this wide take milliseconds."""
    kinds = "|".join(f"(?P<{kind}>{characters})" for kind, characters in _KINDS.items())
    return re.compile(f"(?P<at_home>{_AT_HOME})|{kinds}")


def _symbol(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"‹U+{code:04X}›"


def _without_layout(text: str, keep: str) -> str:
    for character in "\n\t":
        if character not in keep:
            text = text.replace(character, _symbol(character))
    return text


def _clause(text: str, places: list[tuple[int, str]], meaning: str) -> str:
    first = places[0][0]
    line = text.count("\n", 0, first) + 1
    names = _names(character for _, character in places)
    if len(places) == 1:
        return told("holds {names} (line {line}): {meaning}", names=names, line=line, meaning=meaning)
    return told(
        "holds {names} ({count} times, first in line {line}): {meaning}",
        names=names,
        count=len(places),
        line=line,
        meaning=meaning,
    )


def _names(characters: Iterable[str]) -> str:
    distinct = sorted(set(characters))
    named = [f"U+{ord(one):04X} {unicodedata.name(one, '')}".rstrip() for one in distinct[:_MOST_NAMED]]
    more = len(distinct) - _MOST_NAMED
    listed = ", ".join(named)
    return told("{names} and {more} other characters", names=listed, more=more) if more > 0 else listed


class VisibleStream(io.TextIOBase):
    """A terminal's stream behind which nothing is obeyed but colours: what is written is shown as it is.

    Doors that write plain text write a model's, a file's or a command's words with it: the clipboard, the title, the
    cursor and what stands on the screen already are the user's.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def behind(self) -> TextIO:
        """The stream itself, for what draws."""
        return self._stream

    def write(self, text: str) -> int:
        """Write the text, made harmless."""
        parts = _COLOR.split(text.replace("\r\n", "\n"))
        self._stream.write("".join(part if number % 2 else make_visible(part) for number, part in enumerate(parts)))
        return len(text)

    def flush(self) -> None:
        """Flush what stands behind."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Whether a terminal stands behind."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The descriptor that stands behind."""
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  (a property, as a text stream's own is)
        """The encoding of what stands behind."""
        return self._stream.encoding

    @property
    def buffer(self) -> BinaryIO:
        """The bytes' stream behind: what is written there isn't looked at."""
        return self._stream.buffer


def guard_terminal() -> None:
    """Have standard output and error shown, not obeyed, where they are a terminal's."""
    for name in ("stdout", "stderr"):
        stream: TextIO = getattr(sys, name)
        if stream.isatty() and not isinstance(stream, VisibleStream):
            setattr(sys, name, VisibleStream(stream))
