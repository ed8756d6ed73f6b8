"""Expansions: `$name`, `${...}`, `$(...)`, backquotes, `$((...))`, `<(...)`. Source: bash(1), EXPANSION."""

from __future__ import annotations

import re

from dogu.language import told
from dogu.workspace.shell_syntax.parts import PartList, decode_ansi_c, unescape_backquotes
from dogu.workspace.shell_syntax.reader import Reader
from dogu.workspace.shell_syntax.tree import NotBashError, Part, PartKind, UnprovenError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!_-]")
_PARAMETER = re.compile(r"(?P<mark>[!#]?)(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!_-])")
_EVALUATED = re.compile(r"\[|:\s*[^-=+?\s]")
_BACKQUOTED = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_ANSI_C = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)


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
        match = _NAME.match(reader.text, after)
        if match:
            reader.position = match.end()
            parts.append(Part(PartKind.VARIABLE, match[0], in_double_quotes))
        else:
            parts.add("$", quoted=in_double_quotes)


def _read_dollar_quote(reader: Reader, parts: PartList, quote: str) -> None:
    if quote == '"':
        from dogu.workspace.shell_syntax.words import read_double_quoted

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
    inner = _read_inner(reader, "}", quoted)
    operator = mark + reader.text[start : reader.position - 1]
    return Part(PartKind.VARIABLE, name, quoted, operator, inner)


def _read_inner(reader: Reader, close: str, quoted: bool) -> tuple[Part, ...]:
    """Collect the expansions up to and past `close`, inside of `${...}`."""
    from dogu.workspace.shell_syntax.words import read_quoted_or_expansion

    parts = PartList()
    text = reader.text
    start = reader.position
    while reader.position < len(text):
        character = text[reader.position]
        if character == close:
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
            from dogu.workspace.shell_syntax.words import read_quoted_or_expansion

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
