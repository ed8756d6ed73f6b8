"""The map from a model's look-alike characters to the file's, learnt from the characters that align."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Literal
from unicodedata import is_normalized, normalize

from dogu.workspace.edit_match.alignment import Place, has_comment
from dogu.workspace.edit_match.result import UncleanError
from dogu.workspace.edit_match.views import ZERO_WIDTH

Form = Literal["NFC", "NFD"]
_HALF_OF = {chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F)}
_CURLY = {'"': "“”„‟«»", "'": "‘’‚‛‹›"}
_OPENS_AFTER = frozenset("([{<“‘„‚«‹-–—/=")
_UNSEEN = frozenset("\u00a0\u2007\u2009\u202f\u2010\u2011")  # what nobody tells from a blank or a hyphen
_CODE_SIGNS = frozenset("'\"-`")
_QUOTES = frozenset("'\"`")
_STATEMENT = re.compile(
    r"[;{]\s*$|^\s*[\w.\[\]\"']+\s*(?:[-+*/|&]?=|:=)\s|\w\([^)]*\)\s*$|^\s*(?:return|import|from|const|let|var)\s|=>"
)
_DASHES = frozenset("\u2012\u2013\u2014\u2015\u2212")
_WIDE_SIGNS = frozenset(",.:;!?()")  # what CJK text writes full-width


class CharacterMap:
    """What the model's characters stand for in the file.

    A character is taken back only where it stood for the same one throughout; widths only where all that could have
    been changed were. What was seen in two ways stays as the model wrote it.
    """

    def __init__(self, place: Place) -> None:
        seen: dict[str, set[str]] = defaultdict(set)
        _see_units(place, seen)
        _see_gaps(place, seen)
        self._in_two_ways = {char: found & _UNSEEN for char, found in seen.items() if char in found}
        if not _is_rule(seen):
            seen = {char: found for char, found in seen.items() if not any(_is_width(char, one) for one in found)}
        _see_family(place, seen)
        self._chars = {char: next(iter(found)) for char, found in seen.items() if len(found) == 1 and char not in found}
        self._both_dashes = (seen.get("-", set()) & _DASHES) if "-" in seen.get("-", ()) else set[str]()
        self._quotes = {char: pair for char in _CURLY if len(seen.get(char, ())) > 1 and (pair := _pair(place, char))}
        self._sides = {_opens(place.old[: unit.old_start]) for unit in place.units if place.old[unit.old_start] == '"'}
        self._widens = any(_HALF_OF.get(file) == char for char, file in self._chars.items())
        self._place = place
        self._known = frozenset(place.old)
        self._unseen = dict.fromkeys(ord(char) for char in ZERO_WIDTH & self._known if char not in place.text)
        self._is_plain = any(map(_is_odd, self._known)) and not any(map(_is_odd, {*place.text}))
        self._form: Form | None = _normal_form(place)
        self._words = place.words
        self._apostrophes = {quote for quote in _QUOTES if _are_apostrophes(place.old, quote)}
        self._in_both_styles = {char for char, found in seen.items() if char in found and len(found & _QUOTES) > 1}
        self._curly_in_code = _curly_in_code(place)

    def apply(self, body: str, before: str = "", line: str | None = None) -> str:
        """Return a line of the model's, or what follows `before` in the `line`, in the file's characters.

        Raises `UncleanError` where that isn't known: straight quotes where lines like code have typographic ones.
        """
        is_statement = is_code(body if line is None else line)
        self._check_quotes(body, is_statement=is_statement, is_whole=line is None)
        if self._form is not None:
            body = normalize(self._form, body)
        if len(self._both_dashes) == 1 and not is_statement:
            body = self._with_dashes(body, *self._both_dashes)
        if self._chars and not (self._widens and any(char in _WIDE_SIGNS and char not in self._known for char in body)):
            body = "".join(
                body[at] if is_statement and self._stays_in_code(at, body) else self._replaced(at, body, before)
                for at in range(len(body))
            )
        for char, (opening, closing) in () if is_statement else self._quotes.items():
            pieces = body.split(char)
            body = pieces[0]
            for piece in pieces[1:]:
                body += (opening if _opens(before + body) else closing) + piece
        body = body.translate(self._unseen)
        self._check_plain(body)
        for wrong, right in self._words:
            if wrong[1:] == right[1:] and not is_statement and re.search(rf"(?<!\w){re.escape(wrong)}(?!\w)", body):
                raise UncleanError(f"whether {wrong} in a new line is meant so can't be told: the file has {right}")
            body = re.sub(rf"(?<![\w-]){re.escape(wrong)}(?![\w-])", lambda _match, right=right: right, body)
        return body

    def _check_quotes(self, body: str, *, is_statement: bool, is_whole: bool) -> None:
        if is_statement and not self._curly_in_code.isdisjoint(body):
            raise UncleanError("a new line has straight quotes where the file's lines have typographic ones")
        both = self._in_both_styles if is_whole else ()
        if any(char in both and not _is_apostrophe(body, at) for at, char in enumerate(body)):
            raise UncleanError("a new line has quotes that the file has now in one style, now in the other")

    def _check_plain(self, body: str) -> None:
        if self._is_plain and any(map(_is_odd, body)):
            raise UncleanError("a new line has typographic signs, and the file has none")

    def are_seen_in_two_ways(self, body: str, kept: str) -> bool:
        """Whether `kept` of the file has a blank or hyphen that looks as another one at the place."""
        return any(char in body and not found.isdisjoint(kept) for char, found in self._in_two_ways.items())

    def _stays_in_code(self, at: int, body: str) -> bool:
        """Whether a sign of a statement is its own: no apostrophe, no quote that the file has in its other style."""
        char = body[at]
        return char in _CODE_SIGNS and self._chars.get(char) not in _QUOTES and not _is_apostrophe(body, at)

    def _replaced(self, at: int, body: str, before: str) -> str:
        """Return what the file has for a character; a quote of the other style only where that one isn't in use.

        Where nothing but apostrophes was seen, only these are taken back: `'x'` in code isn't `’x’`.
        """
        char = body[at]
        file = self._chars.get(char, char)
        if char == "-" and file in _DASHES:
            return self._dash(_surroundings(before + body, len(before) + at), file)
        if char == " " and file in _UNSEEN:
            return char
        if char in self._apostrophes and not _is_apostrophe(body, at):
            return char
        is_other_style = char != file and char in _QUOTES and file in _QUOTES
        if char == '"' and file in _CURLY[char] and _opens(before + body[:at]) not in self._sides:
            raise UncleanError("a new line has a quote that opens where old_string has those that close, or closes")
        if char == '"' and file == "'" and _is_apostrophe(body, at):
            return file
        if is_other_style and (_is_apostrophe(body, at) or "\\'" in body or '\\"' in body):
            return char
        if is_other_style and "\\" in body:
            raise UncleanError("a new line has a backslash and quotes that the file has in another style")
        return char if char in _QUOTES and file in body else file

    def _with_dashes(self, body: str, dash: str) -> str:
        """Return a line whose hyphens are those of the file where `old` tells each apart by what is beside it, else as
        it is.
        """
        seen: dict[str, set[str]] = defaultdict(set)
        for unit in self._place.units:
            if self._place.old[unit.old_start : unit.old_end] == "-":
                seen[_surroundings(self._place.old, unit.old_start)].add(self._place.text[unit.start : unit.end])
        found = [seen[_surroundings(body, at)] if char == "-" else {char} for at, char in enumerate(body)]
        return "".join(next(iter(chars)) for chars in found) if all(len(chars) == 1 for chars in found) else body

    def _dash(self, surroundings: str, file: str) -> str:
        """Return the dash for a hyphen of the model's: the file's where those of `old` stood alike, else a hyphen.

        Raises `UncleanError` where the file has both so: which one is meant isn't known.
        """
        place = self._place
        units = (unit for unit in place.units if place.old[unit.old_start : unit.old_end] == "-")
        alike = {place.text[u.start : u.end] for u in units if _surroundings(place.old, u.old_start) == surroundings}
        if alike <= {"-"}:
            return "-"
        found = re.finditer("-", place.text)
        if any(_surroundings(place.text, match.start()) == surroundings for match in found):
            raise UncleanError("a new line has a hyphen where the file has both hyphens and dashes")
        return file


def _is_odd(char: str) -> bool:
    """Whether the character is a typographic one that has a plain twin in ASCII."""
    return (
        char in _HALF_OF or char in _DASHES or char in "\u00a0\u2026" or any(char in looks for looks in _CURLY.values())
    )


def is_code(line: str) -> bool:
    """Whether the line is a statement rather than text or a comment: its quotes and hyphens are ASCII."""
    return not has_comment(line) and _STATEMENT.search(line) is not None


def _curly_in_code(place: Place) -> set[str]:
    """Return the straight quotes that stand for typographic ones in a line like code which has no straight ones."""
    found: set[str] = set()
    for unit in place.units:
        char = place.old[unit.old_start : unit.old_end]
        if place.text[unit.start : unit.end] in _CURLY.get(char, ""):
            end = place.text.find("\n", unit.end)
            line = place.text[place.text.rfind("\n", 0, unit.start) + 1 : end if end >= 0 else None]
            if is_code(line) and not _QUOTES.intersection(line):
                found.add(char)
    return found


def _surroundings(text: str, at: int) -> str:
    """Return what kind of characters are beside one: of a word, a number, a blank or a line's end, a sign."""
    return _kind(text[max(at - 1, 0) : at]) + _kind(text[at + 1 : at + 2])


def _kind(char: str) -> str:
    if char.isalpha():
        return "a"
    return "0" if char.isdigit() else " " if not char.strip() else char


def _see_units(place: Place, seen: dict[str, set[str]]) -> None:
    same: set[str] = set()
    for unit in place.units:
        ours = place.old[unit.old_start : unit.old_end]
        if len(ours) > 1 and ours == place.text[unit.start : unit.end]:
            same.update(ours)
        elif len(ours) == 1 and not (ours.isascii() and ours.isalnum()) and unit not in place.slips:
            seen[ours].add(place.text[unit.start : unit.end])
    for char in same:
        if not char.isalnum():
            seen[char].add(char)


def _see_gaps(place: Place, seen: dict[str, set[str]]) -> None:
    for ours, theirs in {*place.gaps}:
        if "\n" in ours or "\n" in theirs:
            continue
        if len(ours) == len(theirs):
            for one, other in zip(ours, theirs, strict=True):
                seen[one].add(other)
        for char in ZERO_WIDTH.intersection(ours).difference(theirs):
            seen[char].add("")


def _opens(before: str) -> bool:
    """Whether a quote after this text is an opening one."""
    return not before or before[-1].isspace() or before[-1] in _OPENS_AFTER


def _is_apostrophe(text: str, at: int) -> bool:
    """Whether the quote there stands within a word."""
    return text[max(at - 1, 0) : at].isalpha() and text[at + 1 : at + 2].isalpha()


def _are_apostrophes(text: str, quote: str) -> bool:
    """Whether every such quote of the text stands within a word."""
    at = text.find(quote)
    while at >= 0 and _is_apostrophe(text, at):
        at = text.find(quote, at + 1)
    return at < 0


def _pair(place: Place, char: str) -> tuple[str, str] | None:
    """Return the opening and the closing quote of the file that `char` stands for, with the blanks within them that
    `old` hasn't; None where these aren't told by what is before each.
    """
    found: tuple[set[str], set[str]] = set(), set()
    for at, unit in enumerate(place.units):
        if place.old[unit.old_start : unit.old_end] == char:
            opens, file = _opens(place.old[: unit.old_start]), place.text[unit.start : unit.end]
            ours, theirs = place.gaps[at - (not opens)] if 0 <= at - (not opens) < len(place.gaps) else ("", "")
            blank = theirs if theirs != ours and "\n" not in ours + theirs else ""
            found[not opens].add(file + blank if opens else blank + file)
    opening, closing = (next(iter(each)) if len(each) == 1 else "" for each in found)
    return (opening, closing) if opening and closing and opening != closing else None


def _see_family(place: Place, seen: dict[str, set[str]]) -> None:
    """Take all curly quotes for straight ones where one of them was, and the file has none of the others."""
    if any(found == {straight} and char in curly for straight, curly in _CURLY.items() for char, found in seen.items()):
        for straight, curly in _CURLY.items():
            for char in curly:
                if char not in seen and char not in place.text:
                    seen[char] = {straight}


def _is_width(one: str, other: str) -> bool:
    return _HALF_OF.get(one) == other or _HALF_OF.get(other) == one


def _is_rule(seen: dict[str, set[str]]) -> bool:
    """Whether widths were changed by one rule: all made half as wide, or all made full, with no exception seen."""
    halved = {char for char, found in seen.items() if char in _HALF_OF and found == {_HALF_OF[char]}}
    widened = any(_HALF_OF.get(one) == char for char, found in seen.items() for one in found)
    if halved:
        return not widened and all(char in halved for char in seen if char in _HALF_OF)
    return not (widened and any(char in found for char, found in seen.items() if char in _WIDE_SIGNS))


def _normal_form(place: Place) -> Form | None:
    """Return the normal form that the file is in and the model isn't, None when they don't differ by that."""
    forms: tuple[Form, ...] = ("NFC", "NFD")
    for unit in place.units:
        ours, theirs = place.old[unit.old_start : unit.old_end], place.text[unit.start : unit.end]
        for form in forms if ours != theirs else ():
            if normalize(form, ours) == theirs and not is_normalized(form, ours):
                return form
    return None
