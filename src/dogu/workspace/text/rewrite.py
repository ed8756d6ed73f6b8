r"""New text in the manner of an old file: its encoding, its BOM, its line endings. Pure.

Only `\n` and `\r\n` of the new text count as line endings to be settled; a lone `\r` in it is taken as it is.
"""

from __future__ import annotations

import re

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace.diff import changed_ranges
from dogu.workspace.text import DecodedText, decode, dominant_line_ending

_ENDING = re.compile(r"\r\n|\n")
_ANY_ENDING = re.compile(r"\r\n|\n|\r")
_STRAY = re.compile("[\udc80-\udcff]")


class Rewrite(msgspec.Struct, frozen=True):
    """The bytes to write, the text they hold (line endings as written, no BOM), and what a user should know."""

    data: bytes
    text: str
    notes: tuple[str, ...] = ()


def rewrite(old: DecodedText | None, content: str) -> Rewrite:
    """Return `content` as bytes for a file that held `old`, or for a new or binary one (None).

    Raises `ToolError` (UNENCODABLE) for a character the encoding can't hold.
    """
    into = old or decode(b"")
    text = content.removeprefix("\ufeff") if into.bom else content
    _refuse_new_strays(text, into)
    notes: list[str] = []
    if old is not None:
        settled = _with_endings_of(old.text, text)
        if settled != text:
            notes.append(
                told("Line endings follow the file's: {ending}.", ending=_ENDING_NAMES[dominant_line_ending(old.text)])
            )
        text = settled
    return Rewrite(into.rewrite(text), text, tuple(notes))


_ENDING_NAMES = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


def _with_endings_of(old: str, new: str) -> str:
    kinds = set(_ANY_ENDING.findall(old))
    if not kinds:
        return new
    usual = dominant_line_ending(old)
    if len(kinds) == 1:
        return new if usual == "\n" and "\r" not in new else _ENDING.sub(lambda _: usual, new)
    return _mixed(old, new, usual)


def _mixed(old: str, new: str, usual: str) -> str:
    """Give each line that is in the old text, at its place, the ending it has there, and the rest the usual one."""
    old_lines, old_ends = _split(_ANY_ENDING, old)
    lines, ends = _split(_ENDING, new)
    ends = [usual if end else "" for end in ends]
    old_at = new_at = 0
    for change in [*changed_ranges(old_lines, lines), None]:
        stop = change.old_start if change else len(old_lines)
        for offset in range(stop - old_at):
            if ends[new_at + offset]:
                ends[new_at + offset] = old_ends[old_at + offset] or usual
        if change:
            old_at, new_at = change.old_end, change.new_end
    return "".join(line + end for line, end in zip(lines, ends, strict=True))


def _split(ending: re.Pattern[str], text: str) -> tuple[list[str], list[str]]:
    return ending.split(text), [*ending.findall(text), ""]


def _refuse_new_strays(text: str, into: DecodedText) -> None:
    known = set(_STRAY.findall(into.text))
    for found in _STRAY.finditer(text):
        if found[0] not in known:
            line = text.count("\n", 0, found.start()) + 1
            raise ToolError(
                ErrorKind.UNENCODABLE,
                f"Nothing was written: line {line} of the new text holds a lone surrogate (U+{ord(found[0]):04X}), "
                "which is no character. Send the character itself.",
            )
