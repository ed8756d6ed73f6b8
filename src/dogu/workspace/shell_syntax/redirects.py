"""Redirections and here-documents. Source: bash(1), REDIRECTION."""

from __future__ import annotations

import re

from dogu.language import told
from dogu.workspace.shell_syntax.dialects import check_redirect
from dogu.workspace.shell_syntax.reader import HereDocument, Reader
from dogu.workspace.shell_syntax.tree import NotBashError, PartKind, Redirect, UnprovenError, Word
from dogu.workspace.shell_syntax.words import read_body, read_word

_OPERATOR = re.compile(
    "|".join(
        r"(?:\\\n)*".join(map(re.escape, operator))
        for operator in ("&>>", "<<<", "<<-", "&>", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">")
    )
)
_DESCRIPTOR = re.compile(r"(?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]\n]*\])?\})(?=(?:\\\n)*[<>])")
_ENDS_WORD = "|&;()<> \t\n"


def read_redirect(reader: Reader) -> Redirect | None:
    """Read a redirection with its descriptor, when one begins at the position."""
    start = reader.past_continuations(reader.position)
    descriptor = _DESCRIPTOR.match(reader.text, start)
    at = reader.past_continuations(descriptor.end()) if descriptor else start
    match = _OPERATOR.match(reader.text, at)
    if not match:
        return None
    if descriptor and "[" in descriptor[0]:
        raise UnprovenError(told("a subscript in the name of a descriptor, which bash evaluates"))
    operator = match[0].replace("\\\n", "")
    end = reader.past_continuations(match.end())
    if operator in ("<", ">") and reader.text[end : end + 1] == "(":
        return None
    reader.position = match.end()
    reader.skip_blanks_only()
    if reader.peek() == "" or (reader.peek() in _ENDS_WORD and not _begins_process(reader)):
        raise NotBashError(told("nothing after {operator}", operator=operator))
    target = read_word(reader)
    name = descriptor[0].strip("{}") if descriptor and descriptor[0][0] == "{" else ""
    redirect = Redirect("<<" if operator == "<<-" else operator, target, name)
    if reader.is_for_any:
        check_redirect(redirect, descriptor[0] if descriptor else "")
    if operator in ("<<", "<<-"):
        _owe_body(reader, redirect, strips_tabs=operator == "<<-")
    return redirect


def _begins_process(reader: Reader) -> bool:
    return reader.peek() in ("<", ">") and reader.peek(1) == "("


def _owe_body(reader: Reader, redirect: Redirect, strips_tabs: bool) -> None:
    word = redirect.target
    if any(part.kind is not PartKind.LITERAL for part in word.parts):
        raise UnprovenError(told("an expansion in the delimiter of a here-document"))
    is_literal = any(part.quoted for part in word.parts)
    if "\n" in word.text:
        raise UnprovenError(told("a newline in the delimiter of a here-document"))
    redirect.target = Word.literal("")
    reader.pending.append(HereDocument(redirect, word.text, is_literal, strips_tabs))


def read_newline(reader: Reader) -> None:
    """Consume a newline and the bodies of the here-documents that wait for it."""
    if reader.outer_pending:
        raise UnprovenError(told("a here-document before a substitution that goes on"))
    reader.position += 1
    for document in reader.pending:
        body = _read_lines(reader, document)
        if document.is_literal:
            document.redirect.target = Word.literal(body)
        else:
            document.redirect.target = read_body(reader.nested(body))
    reader.pending.clear()


def _read_lines(reader: Reader, document: HereDocument) -> str:
    """Return the lines up to the delimiter, and move past it."""
    lines: list[str] = []
    text = reader.text
    while reader.position < len(text):
        line, reader.position = _line(text, reader.position, joins=not document.is_literal)
        if document.strips_tabs:
            line = line.lstrip("\t")
        if line.removesuffix("\n") == document.delimiter:
            return "".join(lines)
        lines.append(line)
    raise NotBashError(told("the here-document is not closed by {delimiter!r}", delimiter=document.delimiter))


def _line(text: str, start: int, joins: bool) -> tuple[str, int]:
    """Return the line at `start` with its newline, joined over continuations when `joins`, and where the next is."""
    pieces: list[str] = []
    while True:
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline + 1
        piece = text[start:end]
        if not joins or newline < 0 or not _ends_in_continuation(piece):
            pieces.append(piece)
            return "".join(pieces), end
        pieces.append(piece[:-2])
        start = end


def _ends_in_continuation(line: str) -> bool:
    stripped = line[:-1]
    return (len(stripped) - len(stripped.rstrip("\\"))) % 2 == 1
