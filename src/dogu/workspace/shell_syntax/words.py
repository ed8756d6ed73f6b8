"""Words: quotes, escapes and the expansions they hold, which hold words again. Source: bash(1), QUOTING and EXPANSION.

`$name`, `${...}`, `$(...)`, backquotes, `$((...))`, `<(...)`.
"""

from __future__ import annotations

import re

from dogu.language import told
from dogu.workspace.shell_syntax.dialects import check_word
from dogu.workspace.shell_syntax.parts import PartList, decode_ansi_c, unescape_backquotes
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


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!_-]")
_PARAMETER = re.compile(r"(?P<mark>[!#]?)(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!_-])")
_EVALUATED = re.compile(r"\[|:\s*[^-=+?\s]")
_BACKQUOTED = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_ANSI_C = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
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


# expansions


def read_dollar(reader: Reader, parts: PartList, in_double_quotes: bool) -> None:
    """Read what a `$` begins."""
    dollar = reader.position
    after = reader.past_continuations(dollar + 1)
    reader.position = after
    follower = reader.text[after : after + 1]
    if follower == "(":
        parts.append(_parenthesised(reader, in_double_quotes))
    elif follower == "{":
        reader.position += 1
        parts.append(_read_parameter(reader, in_double_quotes))
    elif follower == "[":
        reader.differs("$[")
        reader.position += 1
        parts.append(read_arithmetic(reader, "]", in_double_quotes))
    elif follower in ("'", '"') and follower and not in_double_quotes:
        reader.differs(f"${follower}")
        _read_dollar_quote(reader, parts, follower)
    else:
        match = _VARIABLE.match(reader.text, after)
        if match:
            reader.position = match.end()
            parts.append(Part(PartKind.VARIABLE, match[0], in_double_quotes))
        else:
            parts.add("$", quoted=in_double_quotes)


def _read_dollar_quote(reader: Reader, parts: PartList, quote: str) -> None:
    if quote == '"':
        reader.position += 1
        read_double_quoted(reader, parts)
        return
    match = _ANSI_C.match(reader.text, reader.position)
    if not match:
        raise NotBashError(told("$' is not closed"))
    reader.position = match.end()
    parts.add(decode_ansi_c(match[1]), quoted=True)


def _parenthesised(reader: Reader, quoted: bool) -> Part:
    """Read `$((...))` or `$(...)`, at the first parenthesis; bash takes the first reading that closes."""
    second = reader.past_continuations(reader.position + 1)
    if reader.text[second : second + 1] == "(" and second not in reader.not_arithmetic:
        part = try_arithmetic(reader, second, quoted)
        if part:
            return part
        reader.differs("$(( that is no arithmetic")
    reader.position += 1
    script, source = reader.script_until(")")
    if reader.text[second : second + 1] == "(":
        check_read_twice(source)
    return Part(PartKind.COMMAND, source, quoted, script=script)


def try_arithmetic(reader: Reader, second: int, quoted: bool = False) -> Part | None:
    """Read arithmetic after the second of two parentheses; None, and nothing moved, when it isn't any."""
    saved = reader.position, reader.depth, reader.pending, reader.outer_pending
    owed = len(reader.pending)
    reader.position = second + 1
    try:
        return read_arithmetic(reader, "))", quoted)
    except NotBashError:
        reader.not_arithmetic.add(second)
        reader.position, reader.depth, reader.pending, reader.outer_pending = saved
        del reader.pending[owed:]
        return None


def check_read_twice(text: str) -> None:
    """Raise `UnprovenError` for what bash, that took it for arithmetic first, reads otherwise the second time."""
    if "<<" in text or "#" in text:
        raise UnprovenError(told("bash reads a here-document or a comment behind (( in its own way"))


def read_process(reader: Reader) -> Part:
    """Read `<(...)` or `>(...)`."""
    reader.differs("<( )")
    operator = reader.take()
    reader.take()
    script, source = reader.script_until(")")
    return Part(PartKind.PROCESS, source, quoted=True, operator=operator, script=script)


def read_backquotes(reader: Reader, in_double_quotes: bool) -> Part:
    """Read a substitution between backquotes."""
    match = _BACKQUOTED.match(reader.text, reader.position)
    if not match:
        raise NotBashError(told("a backquote is not closed"))
    if "\n" in match[1] and (reader.pending or reader.outer_pending):
        raise UnprovenError(told("a here-document before a substitution that goes on"))
    if "\\" in match[1]:
        reader.differs("escapes between backquotes")
    reader.position = match.end()
    text = unescape_backquotes(match[1], in_double_quotes)
    inner = reader.nested(text)
    script = inner.read_script(inner, "")
    return Part(PartKind.COMMAND, text, in_double_quotes, script=script)


def _read_parameter(reader: Reader, quoted: bool) -> Part:
    """Read the rest of `${...}`."""
    first = reader.peek()
    if first and first in " \t\n|":
        reader.differs("${ with a blank")
        if first == "|":
            reader.take()
        script, source = reader.script_until("}")
        return Part(PartKind.COMMAND, source, quoted, script=script)
    reader.position = reader.past_continuations(reader.position)
    match = _PARAMETER.match(reader.text, reader.position)
    name, mark = (match["name"], match["mark"]) if match else ("", "")
    if match:
        reader.position = match.end()
    start = reader.position
    inner = _read_inner(reader, quoted)
    operator = mark + reader.text[start : reader.position - 1]
    return Part(PartKind.VARIABLE, name, quoted, operator, inner)


def _read_inner(reader: Reader, quoted: bool) -> tuple[Part, ...]:
    """Collect the expansions inside of `${...}`, and move past it."""
    parts = PartList()
    text = reader.text
    start = reader.position
    while reader.position < len(text):
        character = text[reader.position]
        if character == "}":
            reader.position += 1
            return parts.finished()
        if character == "'" and _EVALUATED.match(text, start, reader.position + 1):
            read_live_quote(reader, parts)
            continue
        reader.differs_on(character, '"{'[not quoted :], "inside of ${...}")
        if character == "'" and quoted:
            raise UnprovenError(told("a single quote inside of a quoted ${...}"))
        if character in "<>" and reader.peek(1) == "(":
            raise UnprovenError(told("a process substitution inside of ${...}"))
        if character == "$" and quoted:
            read_dollar(reader, parts, in_double_quotes=True)
        elif character in "\\'\"$`":
            read_quoted_or_expansion(reader, parts)
        else:
            parts.add(character, quoted=False)
            reader.position += 1
    raise NotBashError(told("${ is not closed"))


def read_live_quote(reader: Reader, parts: PartList) -> None:
    """Read single quotes in arithmetic or a subscript: they don't keep what they hold from running."""
    end = reader.text.find("'", reader.position + 1)
    if end < 0:
        raise NotBashError(told("a single quote is not closed"))
    text = reader.text[reader.position + 1 : end]
    if re.search(r"[$`]", text):
        raise UnprovenError(told("a quotation in arithmetic or a subscript, which bash expands all the same"))
    reader.position = end + 1
    parts.add(text, quoted=True)


def read_live_dollar(reader: Reader, parts: PartList) -> None:
    """Read an expansion in arithmetic or a subscript, where bash reads it as inside of double quotes."""
    if reader.peek(1) == "'":
        raise UnprovenError(told("a quotation in arithmetic or a subscript, which bash may expand"))
    read_dollar(reader, parts, in_double_quotes=True)


def read_live(reader: Reader, parts: PartList) -> bool:
    """Read a quotation or an expansion where arithmetic is, a subscript too; False, and nothing read, at others."""
    match reader.text[reader.position]:
        case "'":
            read_live_quote(reader, parts)
        case "$":
            read_live_dollar(reader, parts)
        case "\\" | '"' | "`":
            read_quoted_or_expansion(reader, parts)
        case _:
            return False
    return True


def read_arithmetic(reader: Reader, close: str, quoted: bool = False) -> Part:
    """Read up to and past `close`, `))` or `]`. Raises `NotBashError` where it turns out to be no arithmetic."""
    parts = PartList()
    start = reader.position
    opener = "(" if close == "))" else "["
    depth = 0
    while reader.position < len(reader.text):
        character = reader.text[reader.position]
        reader.differs_on(character, "'\"\\[#;", "in arithmetic")
        if read_live(reader, parts):
            continue
        reader.position += 1
        if character == close[0]:
            if depth == 0:
                if close == "))" and reader.take() != ")":
                    raise NotBashError(told("not arithmetic"))
                source = reader.text[start : reader.position - len(close)]
                return Part(PartKind.ARITHMETIC, source, quoted, inner=parts.finished())
            depth -= 1
        depth += character == opener
        parts.add(character, quoted=False)
    raise NotBashError(told("an arithmetic expression is not closed"))
