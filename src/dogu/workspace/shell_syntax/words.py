"""Words: quotes, escapes, and where they hold expansions. Source: bash(1), QUOTING and EXPANSION."""

from __future__ import annotations

import re

from dogu.language import told
from dogu.workspace.shell_syntax.dialects import check_word
from dogu.workspace.shell_syntax.expansions import (
    read_backquotes,
    read_dollar,
    read_live,
    read_process,
)
from dogu.workspace.shell_syntax.parts import PartList
from dogu.workspace.shell_syntax.reader import Reader
from dogu.workspace.shell_syntax.tree import Assignment, NotBashError, Part, PartKind, UnprovenError, Word

_ASSIGNS = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)\+?=", re.DOTALL)
_ASSIGNS_ELEMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)\[", re.DOTALL)


def as_assignment(word: Word) -> Assignment | None:
    """Return the assignment that a word in front of a command's name is, if it is one."""
    first = word.parts[0] if word.parts else None
    if first is None or first.kind is not PartKind.LITERAL or first.quoted:
        return None
    match = _ASSIGNS.match(first.text)
    if match is not None:
        rest = PartList()
        rest.add(first.text[match.end() :], quoted=False)
        parts: tuple[Part, ...] = (*rest.finished(), *word.parts[1:])
        is_array = word.raw[match.end() :].replace("\\\n", "").startswith("(")
        return Assignment(match["name"], Word(parts, word.raw), is_array=is_array)
    match = _ASSIGNS_ELEMENT.match(first.text)
    if match is not None and re.search(r"\]\+?=", word.text):
        return Assignment(match["name"], word, subscript=word)
    return None


_PLAIN = re.compile(r"[^\\'\"$`|&;()<> \t\n]+")
_PLAIN_IN_DOUBLE_QUOTES = re.compile(r"[^\\\"$`]+")
_PLAIN_IN_BODY = re.compile(r"[^\\$`]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_BEFORE_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=\Z", re.DOTALL)
_EXTENDED_GLOB = "?*+@!"


def read_word(reader: Reader, takes_assignment: bool = False, in_condition: bool = False) -> Word:
    """Read one word at the position, which must hold one.

    `takes_assignment`: `name[...]` and `name=(...)` are read as bash does where an assignment may stand.
    """
    start = reader.position
    parts = PartList()
    text = reader.text
    while reader.position < len(text):
        match = _PLAIN.match(text, reader.position)
        if match:
            reader.position = match.end()
            _add_plain(reader, parts, match[0], takes_assignment)
        elif not _read_special(reader, parts, takes_assignment, in_condition):
            break
    word = Word(parts.finished(), text[start : reader.position])
    if reader.is_for_any:
        check_word(word)
    return word


def _add_plain(reader: Reader, parts: PartList, plain: str, takes_assignment: bool) -> None:
    """Add unquoted text; where it says `name[`, go back and read the subscript whole, blanks and all."""
    if takes_assignment and "[" in plain:
        before, _, after = plain.partition("[")
        known = parts.bare_text()
        if known is not None and _NAME.match(known + before):
            parts.add(before + "[", quoted=False)
            reader.position -= len(after)
            _read_subscript(reader, parts)
            return
    parts.add(plain, quoted=False)


def _read_special(reader: Reader, parts: PartList, takes_assignment: bool, in_condition: bool) -> bool:
    """Read what begins with a special character; False at the end of the word."""
    character = reader.text[reader.position]
    if character in "\\'\"$`":
        read_quoted_or_expansion(reader, parts)
        return True
    if character in "<>" and reader.peek(1) == "(":
        parts.append(read_process(reader))
        return True
    if character != "(":
        return False
    known = parts.bare_text()
    if takes_assignment and known is not None and _BEFORE_ARRAY.match(known):
        _read_array(reader, parts)
        return True
    if known and known[-1] in _EXTENDED_GLOB:
        if not in_condition:
            raise UnprovenError(told("an extended glob"))
        _read_group(reader, parts)
        return True
    return False


def read_quoted_or_expansion(reader: Reader, parts: PartList) -> None:
    """Read a quotation, an escape or an expansion, outside of double quotes."""
    text, at = reader.text, reader.position
    match text[at]:
        case "\\":
            if text[at + 1 : at + 2] != "\n":
                parts.add(text[at + 1 : at + 2] or "\\", quoted=True)
            reader.position = min(at + 2, len(text))
        case "'":
            end = text.find("'", at + 1)
            if end < 0:
                raise NotBashError(told("a single quote is not closed"))
            parts.add(text[at + 1 : end], quoted=True)
            reader.position = end + 1
        case '"':
            reader.position += 1
            read_double_quoted(reader, parts)
        case "$":
            read_dollar(reader, parts, in_double_quotes=False)
        case _:
            parts.append(read_backquotes(reader, in_double_quotes=False))


def read_double_quoted(reader: Reader, parts: PartList) -> None:
    """Read up to and past the closing double quote."""
    parts.add("", quoted=True)
    text = reader.text
    while reader.position < len(text):
        match = _PLAIN_IN_DOUBLE_QUOTES.match(text, reader.position)
        if match:
            parts.add(match[0], quoted=True)
            reader.position = match.end()
        elif text[reader.position] == '"':
            reader.position += 1
            return
        else:
            _read_special_in_quotes(reader, parts, escapable='$`"\\')
    raise NotBashError(told("a double quote is not closed"))


def read_body(reader: Reader) -> Word:
    """Read the whole text as the body of a here-document whose delimiter was not quoted."""
    parts = PartList()
    while reader.position < len(reader.text):
        match = _PLAIN_IN_BODY.match(reader.text, reader.position)
        if match:
            parts.add(match[0], quoted=True)
            reader.position = match.end()
        else:
            _read_special_in_quotes(reader, parts, escapable="$`\\")
    return Word(parts.finished(), reader.text)


def _read_special_in_quotes(reader: Reader, parts: PartList, escapable: str) -> None:
    text, at = reader.text, reader.position
    if text[at] == "\\":
        follower = text[at + 1 : at + 2]
        if follower != "\n":
            parts.add(follower if follower and follower in escapable else "\\" + follower, quoted=True)
        reader.position = min(at + 2, len(text))
    elif text[at] == "$":
        read_dollar(reader, parts, in_double_quotes=True)
    else:
        parts.append(read_backquotes(reader, in_double_quotes='"' in escapable))


def _read_subscript(reader: Reader, parts: PartList) -> None:
    """Read up to and past the `]` that closes a subscript."""
    open_brackets = 1
    while reader.position < len(reader.text):
        character = reader.text[reader.position]
        if read_live(reader, parts):
            continue
        open_brackets += (character == "[") - (character == "]")
        parts.add(character, quoted=False)
        reader.position += 1
        if open_brackets == 0:
            return
    raise NotBashError(told("a subscript is not closed"))


def _read_array(reader: Reader, parts: PartList) -> None:
    """Read `(...)` after `name=`: its elements' parts, with a blank between."""
    reader.take()
    while True:
        reader.skip_blanks()
        character = reader.peek()
        if character == "":
            raise NotBashError(told("an array is not closed"))
        if character == ")":
            reader.take()
            parts.append(Part(PartKind.LITERAL, ""))
            return
        if character == "\n":
            if reader.pending:
                raise UnprovenError(told("a here-document before an array that goes on"))
            reader.take()
            continue
        if character in "|&;(" or (character in "<>" and reader.peek(1) != "("):
            raise NotBashError(told("{character!r} in an array", character=character))
        _read_element(reader, parts)
        parts.add(" ", quoted=True)


def _read_element(reader: Reader, parts: PartList) -> None:
    """Read one element of an array, its subscript first when it has one."""
    if reader.peek() == "[":
        reader.take()
        start = reader.position
        subscript = PartList()
        _read_subscript(reader, subscript)
        if re.search(r"\\[$`]", reader.text[start : reader.position]):
            raise UnprovenError(told("an escape in a subscript, which bash expands all the same"))
        for part in subscript.finished():
            parts.append(part)
    for part in read_word(reader, takes_assignment=True).parts:
        parts.append(part)


def _read_group(reader: Reader, parts: PartList) -> None:
    """Read a balanced group of parentheses in a pattern or regular expression of `[[ ]]`."""
    depth = 0
    while reader.position < len(reader.text):
        character = reader.text[reader.position]
        if character in "\\'\"$`":
            read_quoted_or_expansion(reader, parts)
            continue
        depth += (character == "(") - (character == ")")
        parts.add(character, quoted=False)
        reader.position += 1
        if depth == 0:
            return
    raise NotBashError(told("a parenthesis in a pattern is not closed"))


def read_regular_expression(reader: Reader) -> Word:
    """Read the word after `=~` in `[[ ]]`: parentheses and `|` belong to it."""
    start = reader.position
    parts = PartList()
    while reader.position < len(reader.text):
        character = reader.text[reader.position]
        if character in "\\'\"$`":
            read_quoted_or_expansion(reader, parts)
        elif character == "(":
            _read_group(reader, parts)
        elif character in " \t\n":
            break
        elif character in "&;<>)":
            raise UnprovenError(told("{character!r} in a regular expression", character=character))
        else:
            parts.add(character, quoted=False)
            reader.position += 1
    return Word(parts.finished(), reader.text[start : reader.position])
