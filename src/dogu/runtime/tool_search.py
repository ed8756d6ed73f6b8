"""Which tools fit some words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rapidfuzz.distance import OSA

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


def best_fitting(rows: Sequence[tuple[str, str]], words: str, limit: int) -> list[int]:
    """Return the indices of the (name, description) rows that fit the words, best first.

    A word of the name counts more than one of the description, a whole word more than a part of one; a word that is
    nearly one of a name counts a little, for slips of the pen.
    """
    wanted = _words(words)
    scores = [(_score(name, description, wanted, words), index) for index, (name, description) in enumerate(rows)]
    fitting = sorted((-score, index) for score, index in scores if score > 0)
    return [index for _, index in fitting[:limit]]


def _score(name: str, description: str, wanted: Iterable[str], words: str) -> float:
    if name in words.split():
        return 1_000
    in_name, text = _words(name), description.casefold()
    in_text = frozenset(_words(description))
    return sum(_score_of(word, in_name, in_text, text) for word in wanted)


def _score_of(word: str, in_name: Sequence[str], in_text: frozenset[str], text: str) -> float:
    if word in in_name:
        return 6
    if any(part.startswith(word) or (len(part) > 2 and word.startswith(part)) for part in in_name):
        return 4
    if word in in_text:
        return 2
    if word in text:
        return 1

    return 2 if len(word) > 3 and any(OSA.distance(word, part, score_cutoff=1) <= 1 for part in in_name) else 0


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
