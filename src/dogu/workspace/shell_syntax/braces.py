"""Brace expansion, bounded. Source: bash(1), Brace Expansion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from dogu.language import told
from dogu.workspace.shell_syntax.parts import PartList
from dogu.workspace.shell_syntax.tree import Part, PartKind, UnprovenError, Word

MOST_WORDS = 2_000
"""Words that one word may become; beyond that it is a bomb or nothing a user would want to read."""

_NUMBERS = re.compile(r"(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})(?:\.\.(-?[0-9]{1,18}))?\Z")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?[0-9]{1,18}))?\Z")
_DEEPEST = 30

_Atom = str | Part
_Atoms = tuple[_Atom, ...]


def expand_braces(word: Word) -> list[Word]:
    """Return the words that bash makes of this one by its braces; most often just itself.

    Raises `UnprovenError` for a bomb.
    """
    if "{" not in word.raw or not any("{" in part.text for part in word.parts if _is_open(part)):
        return [word]
    atoms: list[_Atom] = []
    for part in word.parts:
        atoms.extend(part.text if _is_open(part) else (part,))
    found = _expand(tuple(atoms), 0)
    if len(found) == 1 and found[0] == tuple(atoms):
        return [word]
    return [_word(result, word.raw) for result in found]


def _is_open(part: Part) -> bool:
    return part.kind is PartKind.LITERAL and not part.quoted


def _word(atoms: _Atoms, raw: str) -> Word:
    parts = PartList()
    for atom in atoms:
        if isinstance(atom, str):
            parts.add(atom, quoted=False)
        else:
            parts.append(atom)
    return Word(parts.finished(), raw)


def _expand(atoms: _Atoms, depth: int) -> list[_Atoms]:
    """Return every expansion: the product of what each group of braces may be."""
    if depth > _DEEPEST:
        raise UnprovenError(told("braces lie too deep"))
    choices: list[list[_Atoms]] = []
    count = 1
    start = 0
    for opening, closing, commas in _groups(atoms):
        alternatives = _alternatives(atoms[opening + 1 : closing], [comma - opening - 1 for comma in commas], depth)
        if alternatives is None:
            continue
        count *= len(alternatives)
        if count > MOST_WORDS:
            raise UnprovenError(told("braces make more than {count} words", count=MOST_WORDS))
        choices.append([atoms[start:opening]])
        choices.append(alternatives)
        start = closing + 1
    choices.append([atoms[start:]])
    return [tuple(atom for piece in pieces for atom in piece) for pieces in product(*choices)]


def _groups(atoms: _Atoms) -> Iterator[tuple[int, int, list[int]]]:
    """Yield the outermost balanced braces that hold a comma or `..`: their places, and those of their own commas."""
    open_at: list[tuple[int, list[int]]] = []
    found: list[tuple[int, int, list[int]]] = []
    for index, atom in enumerate(atoms):
        if atom == "{":
            open_at.append((index, []))
        elif atom == "," and open_at:
            open_at[-1][1].append(index)
        elif atom == "}" and open_at:
            opening, commas = open_at.pop()
            if commas or atoms[opening + 1 : index].count(".") >= 2:
                while found and found[-1][0] > opening:
                    found.pop()
                found.append((opening, index, commas))
    yield from found


def _alternatives(atoms: _Atoms, commas: list[int], depth: int) -> list[_Atoms] | None:
    if not commas:
        return _sequence(atoms)
    alternatives: list[_Atoms] = []
    start = 0
    for end in [*commas, len(atoms)]:
        alternatives.extend(_expand(atoms[start:end], depth + 1))
        if len(alternatives) > MOST_WORDS:
            raise UnprovenError(told("braces make more than {count} words", count=MOST_WORDS))
        start = end + 1
    return alternatives


def _sequence(atoms: _Atoms) -> list[_Atoms] | None:
    text = "".join(atom if isinstance(atom, str) else "\0" for atom in atoms)
    numbers, letters = _NUMBERS.match(text), _LETTERS.match(text)
    match = numbers or letters
    if not match:
        return None
    first, last = (int(value) if numbers else ord(value) for value in match.groups()[:2])
    step = abs(int(match[3] or 1)) or 1
    if abs(last - first) // step >= MOST_WORDS:
        raise UnprovenError(told("braces make more than {count} words", count=MOST_WORDS))
    values = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [tuple(str(value) if numbers else chr(value)) for value in values]
