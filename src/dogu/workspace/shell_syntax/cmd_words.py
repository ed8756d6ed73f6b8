"""A line for cmd.exe before its commands are told apart: variables put in, characters one by one, and words.

cmd cuts the arguments of what it does itself; a program gets them as one string, and cuts it by rules of its own.
Source: "Parsing C Command-Line Arguments" (Microsoft).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dogu.language import told
from dogu.workspace.shell_syntax.tree import Part, PartKind, UnprovenError, Word

BLANKS = " \t,;=\x0b\x0c\xa0"
SPECIAL = "&|<>()^"
_LONGEST_KEYWORD = 64
_EXPANDS = re.compile(r"%([A-Za-z_][\w.()-]*)(:[^%\n]*)?%")
# Variables that hold no quote, and (the second list) nothing either that cmd would take for more than a plain word.
PATHS = frozenset(
    "userprofile appdata localappdata temp tmp programfiles programfiles(x86) programw6432 commonprogramfiles "
    "programdata allusersprofile public homepath onedrive cd username computername userdomain".split()
)
WORDS = frozenset(
    "systemroot windir systemdrive homedrive os number_of_processors processor_architecture processor_level "
    "processor_revision errorlevel random cmdextversion".split()
)
_ODD_NAME = re.compile(r"%(=[^%\n]*|[^%\n]+)%")
_LOOP_VARIABLE = re.compile(r"%(?:~(?:[A-Za-z]*\$\w+:)?[A-Za-z]+|[A-Za-z])")
"""Behind `~` cmd takes the last of the letters that can be one for the name: all of them count as what isn't known."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A character of the line, or a variable that stands there; `text` is then its name."""

    text: str
    is_variable: bool = False
    is_escaped: bool = False


def expanded(text: str, *, is_set: bool) -> list[Unit]:
    """Put variables into the line, as cmd does before anything else. What none is likely to be called stays as it is.

    `is_set`: a command before this line may have set any of them, `%a b%` too.
    """
    units: list[Unit] = []
    at = 0
    while at < len(text):
        found = _EXPANDS.match(text, at) if text[at] == "%" else None
        if found is None:
            odd = _ODD_NAME.match(text, at)
            # `%A^B%` is no variable's; Wine's cmd takes the ^ away first
            if odd is not None and (is_set or odd[1].startswith("=") or _EXPANDS.match(odd[0].replace("^", ""))):
                raise UnprovenError(told("what {variable} holds is read as part of the command", variable=odd[0][:40]))
            units.append(Unit(text[at]))
            at += 1
            continue
        name = found[1].lower()
        if found[2] is not None or name not in PATHS | WORDS:
            raise UnprovenError(told("what {variable} holds is read as part of the command", variable=found[0][:40]))
        units.append(Unit(name, is_variable=True))
        at = found.end()
    return units


class Line:
    """The line, read from the left; what a loop's variable is isn't known before the first loop has been read."""

    def __init__(self, units: list[Unit]) -> None:
        self.units = units
        self.at = 0
        self.has_loop = False

    def peek(self, ahead: int = 0) -> str:
        """The character there; "" at the end, and for a variable."""
        at = self.at + ahead
        return self.units[at].text if at < len(self.units) and not self.units[at].is_variable else ""

    @property
    def is_over(self) -> bool:
        """Whether nothing follows."""
        return self.at >= len(self.units)

    def skip_blanks(self) -> None:
        """Go on to the next character that parts no words."""
        while self.peek() and self.peek() in BLANKS:
            self.at += 1

    def ahead(self) -> str:
        """The plain text ahead, up to what isn't a character, as far as a keyword or a switch may reach."""
        found = ""
        for unit in self.units[self.at : self.at + _LONGEST_KEYWORD]:
            if unit.is_variable:
                break
            found += unit.text
        return found

    def keyword(self) -> str:
        """The unquoted word ahead, in lower case; nothing is taken."""
        found = re.match(r"[A-Za-z]+(?=[\s,;=(/]|\Z)", self.ahead())
        return found[0].lower() if found else ""

    def take_word(self) -> list[Unit]:
        """Take a word of the grammar's own, in which nothing special may stand outside of quotes."""
        found: list[Unit] = []
        is_quoted = False
        while not self.is_over:
            character = self.peek()
            if not is_quoted and character and (character in BLANKS or character in SPECIAL):
                break
            if not is_quoted and not character:
                self.check_bare(self.units[self.at])
            is_quoted ^= character == '"'
            found.append(self.units[self.at])
            self.at += 1
        if not found:
            raise UnprovenError(told("a word is missing"))
        return found

    def check_bare(self, unit: Unit) -> None:
        """Raise `UnprovenError` for a variable outside of quotes that may hold more than a plain word."""
        if unit.text not in WORDS:
            raise UnprovenError(told("what {variable} holds is read as part of the command", variable=f"%{unit.text}%"))

    def take_escaped(self) -> Unit:
        """Take `^` and what it stands before."""
        self.at += 1
        if self.is_over:
            raise UnprovenError(told("a ^ at the end"))
        unit = self.units[self.at]
        self.at += 1
        if unit.is_variable:
            raise UnprovenError(told("a ^ before a variable"))
        return Unit(unit.text, is_escaped=True)

    def with_loops(self, units: list[Unit]) -> list[Unit]:
        """Within a loop, take `%i` and `%~ni` for what they stand for."""
        if not self.has_loop:
            return units
        found: list[Unit] = []
        at = 0
        while at < len(units):
            text = "".join(unit.text if not unit.is_variable else "\0" for unit in units[at : at + 40])
            match = _LOOP_VARIABLE.match(text) if units[at].text == "%" else None
            if match is None:
                found.append(units[at])
                at += 1
            else:
                found.append(Unit(match[0], is_variable=True))
                at += match.end()
        return found


def unquoted_line(text: str, *, is_plain: bool) -> str:
    """What cmd makes of the text behind `/c`: its first and its last quote go; `is_plain` behind `/s`, in any case.

    Else two quotes stay where they hold a program's name, with blanks and whatever leads up and down again.
    """
    if not text.startswith('"'):
        return text
    last = text.rfind('"')
    if last == 0:
        return text[1:]
    inner = text[1:last]
    is_one_name = text.count('"') == 2 and re.search(r"\s", inner) and not re.search(r"[&<>()@^|]", inner)
    if is_one_name and not is_plain and re.search(r"[\\/:]", re.sub(r"(?<=\s)/[A-Za-z?][\w:-]*(?=\s|\Z)", "", inner)):
        raise UnprovenError(told("cmd.exe may take it for one name or for several words"))
    return inner + text[last + 1 :]


def check_name(name: list[Unit], follower: str, ahead: str, builtins: frozenset[str]) -> None:
    """Raise `UnprovenError` for a name that cmd may read otherwise; `follower` ends it, `ahead` begins there."""
    text = "".join(unit.text for unit in name).lower()
    if any(unit.is_escaped and not unit.text.isalnum() for unit in name):
        raise UnprovenError(told("^ in a command's name"))
    if follower in ("/", ",", ";", "=") and text not in builtins:
        raise UnprovenError(told("a command's name that goes on with {character!r}", character=follower))
    if follower in (".", "\\") and follower:
        rest = re.match(r"[^\s,;=&|<>()]*", ahead)
        is_known = text in ("cd", "chdir") or (text == "echo" and rest is not None and rest[0] == ".")
        if not is_known:
            raise UnprovenError(told("a command's name that goes on with {character!r}", character=follower))
    known = re.match(r"[a-z]+(?=[:+\[\]])", text)
    if known is not None and known[0] in builtins:
        raise UnprovenError(told("a command's name that goes on with {character!r}", character=text[known.end()]))
    if '\\"' in text or text.endswith(".") or text.startswith(":"):
        raise UnprovenError(told("a command's name that isn't known"))


def after_start(text: str) -> tuple[str, str]:
    """The command behind what `start` takes for itself, a title in quotes and options, and the folder it starts in."""
    place = ""
    title = re.match(r'"[^"]*"[\s,;=]*', text)
    if title is not None:
        text = text[title.end() :]
    options = r"/(?:b|wait|w|min|max|i|low|normal|high|realtime|abovenormal|belownormal|shared|separate)(?=[\s,;=/]|\Z)"
    while text.startswith("/"):
        found = re.match(options + r"[\s,;=]*", text, re.IGNORECASE)
        folder = re.match(r'/d[\s,;=]*("[^"]*"|[^\s"]+)[\s,;=]*', text, re.IGNORECASE)
        match = found or folder
        if match is None:
            raise UnprovenError(told("an option of start that isn't known"))
        place = folder[1].strip('"') if folder else place
        text = text[match.end() :]
    if title is None and text.startswith('"'):
        raise UnprovenError(told("start may take it for a title"))
    return text, place


def plain(units: list[Unit]) -> str | None:
    """A name without its quotes; None where a variable stands in it."""
    return None if any(unit.is_variable for unit in units) else "".join(each.text for each in units).replace('"', "")


def _word(parts: list[Unit]) -> Word:
    """A word of characters and variables; those without a quote are literal, globs too: cmd expands none."""
    found: list[Part] = []
    text = ""
    for unit in parts:
        if unit.is_variable:
            if text:
                found.append(Part(PartKind.LITERAL, text, quoted=True))
                text = ""
            found.append(Part(PartKind.VARIABLE, unit.text, quoted=True))
        else:
            text += unit.text
    if text or not found:
        found.append(Part(PartKind.LITERAL, text, quoted=True))
    return Word(tuple(found), "".join(unit.text for unit in parts))


def builtin_words(units: list[Unit], blanks: str = BLANKS) -> list[Word]:
    """The words of what cmd does itself: cut at blanks, commas and the like, outside of quotes."""
    words: list[list[Unit]] = []
    is_quoted = is_open = False
    for unit in units:
        is_blank = not unit.is_variable and unit.text in blanks and not unit.is_escaped
        if not unit.is_variable and unit.text == '"' and not unit.is_escaped:
            is_quoted = not is_quoted
            if not is_open:
                words.append([])
                is_open = True
        elif is_blank and not is_quoted:
            is_open = False
        else:
            if not is_open:
                words.append([])
                is_open = True
            words[-1].append(unit)
    return [_word(each) for each in words]


def program_words(units: list[Unit]) -> list[Word]:
    """The words that a program finds in its command line: blanks part them, `\\"` is a quote.

    Raises `UnprovenError` for two quotes in quotes, on which programs don't agree.
    """
    words: list[list[Unit]] = []
    is_quoted = is_open = False
    at = 0
    while at < len(units):
        unit = units[at]
        if not is_quoted and not unit.is_variable and unit.text in " \t":
            is_open = False
            at += 1
            continue
        if not is_open:
            words.append([])
            is_open = True
        slashes = _slashes(units, at)
        if slashes:
            is_quote = at + slashes < len(units) and units[at + slashes].text == '"'
            words[-1].extend(units[at : at + (slashes // 2 if is_quote else slashes)])
            at += slashes
            if is_quote and slashes % 2:
                words[-1].append(units[at])
                at += 1
        elif unit.text == '"':
            if is_quoted and at + 1 < len(units) and units[at + 1].text == '"':
                raise UnprovenError(told("two quotes within quotes"))
            is_quoted = not is_quoted
            at += 1
        else:
            words[-1].append(unit)
            at += 1
    return [_word(each) for each in words]


def _slashes(units: list[Unit], at: int) -> int:
    """How many backslashes stand there."""
    end = at
    while end < len(units) and units[end].text == "\\":
        end += 1
    return end - at
