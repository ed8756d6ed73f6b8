"""Assignments in front of a command's name. Source: bash(1), PARAMETERS."""

from __future__ import annotations

import re

from dogu.workspace.shell_syntax.parts import PartList
from dogu.workspace.shell_syntax.tree import Assignment, Part, PartKind, Word

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
