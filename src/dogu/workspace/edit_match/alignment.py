"""Which character of the file each character of `old` stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple
from unicodedata import normalize

from dogu.language import sentence
from dogu.workspace.edit_match.folding import fold_clusters
from dogu.workspace.edit_match.words import has_comment, is_spaced, is_word

_RUN = re.compile(r"\S+")


class Unit(NamedTuple):
    """`old[old_start:old_end]` stands for `text[start:end]`; half-open, never empty, ascending on both sides."""

    old_start: int
    old_end: int
    start: int
    end: int


@dataclass(frozen=True)
class Place:
    """A stretch of the file that `old` means, aligned: between two units lies white space or nothing on both sides.

    Only the near stage gives the rest: `slips` are the units whose two sides differ in words, `fixed` those of them
    whose line may not change, `words` the model's misspelt words with the file's.
    """

    text: str
    old: str
    units: list[Unit]
    slips: frozenset[Unit] = frozenset()
    fixed: frozenset[Unit] = frozenset()
    words: tuple[tuple[str, str], ...] = ()

    @property
    def start(self) -> int:
        """Where the first aligned character lies in the text."""
        return self.units[0].start

    @property
    def end(self) -> int:
        """Where the last aligned character ends in the text."""
        return self.units[-1].end

    def gaps(self) -> Iterator[tuple[str, str]]:
        """Yield what lies between each two neighbouring units, in `old` and in the text."""
        for left, right in pairwise(self.units):
            yield self.old[left.old_end : right.old_start], self.text[left.end : right.start]


def align_equal(old: str, start: int) -> list[Unit]:
    """Align `old` with the stretch of a text at `start` that equals it."""
    return [Unit(i, i + 1, start + i, start + i + 1) for i, char in enumerate(old) if not char.isspace()]


def align_folded(text: str, old: str, start: int, end: int) -> list[Unit]:
    """Align `old` with `text[start:end]`, whose folded views are equal; empty when they aren't."""
    if old.isascii() and text[start:end].isascii():
        return _align_runs(text, old, start, end)
    folded_old, old_starts, old_ends = fold_clusters(old)
    folded, starts, ends = fold_clusters(text[start:end])
    if folded_old != folded:
        return []
    units: list[Unit] = []
    first = 0
    for after in range(1, len(folded) + 1):
        inside = after < len(folded) and (
            old_starts[after] == old_starts[after - 1] or starts[after] == starts[after - 1]
        )
        if not inside:
            units.append(Unit(old_starts[first], old_ends[after - 1], start + starts[first], start + ends[after - 1]))
            first = after
    return units


def _align_runs(text: str, old: str, start: int, end: int) -> list[Unit]:
    """Align ASCII, where folding drops white space and nothing else: run by run of what is no white space."""
    if "".join(old.split()) != "".join(text[start:end].split()):
        return []
    units: list[Unit] = []
    theirs = _RUN.finditer(text, start, end)
    at = stop = start
    for run in _RUN.finditer(old):
        old_at, old_stop = run.span()
        while old_at < old_stop:
            if at == stop:
                at, stop = next(theirs).span()
            length = min(old_stop - old_at, stop - at)
            units.append(Unit(old_at, old_at + length, at, at + length))
            old_at, at = old_at + length, at + length
    return units


def words_agree(place: Place) -> bool:
    """Whether white space lies between the same words, and line breaks where a comment ends, on both sides.

    White space on one side only may stand at signs and at the border of CJK and other writing, never between two
    characters of words.
    """
    for left, right in pairwise(place.units):
        ours, theirs = place.old[left.old_end : right.old_start], place.text[left.end : right.start]
        if ours == theirs:
            continue
        one_side = _has_space(ours) != _has_space(theirs)
        if one_side and _breaks_word(place.text[left.end - 1], place.text[right.start], ours + theirs):
            return False
        if ("\n" in ours) != ("\n" in theirs) and _ends_comment(place, left):
            return False
    return True


def _has_space(gap: str) -> bool:
    return any(map(str.isspace, gap))


def _breaks_word(left: str, right: str, gap: str) -> bool:
    if not (is_word(left) and is_word(right)):
        return False
    return "\n" in gap or is_spaced(left) == is_spaced(right)


def _ends_comment(place: Place, unit: Unit) -> bool:
    """Whether a line break after the unit may be the end of a comment, on either side."""
    line_start = place.text.rfind("\n", 0, unit.end) + 1
    old_line_start = place.old.rfind("\n", 0, unit.old_end) + 1
    return has_comment(place.text[line_start : unit.end]) or has_comment(place.old[old_line_start : unit.old_end])


def differences(place: Place) -> list[str]:
    """Say in words how the file's text differs from `old`, each kind once."""
    found: dict[str, None] = {}
    for unit in place.units:
        ours, theirs = place.old[unit.old_start : unit.old_end], place.text[unit.start : unit.end]
        if ours != theirs:
            found[_unit_difference(ours, theirs)] = None
    lead = place.old[: place.units[0].old_start]
    theirs = place.text[place.text.rfind("\n", 0, place.start) + 1 : place.start]
    if lead != theirs and not theirs.strip() and (lead or "\n" in place.old.rstrip("\n")):
        found[sentence("indentation")] = None
    for ours, theirs in place.gaps():
        if ours != theirs:
            found[_gap_difference(ours, theirs)] = None
    return list(found)


def _unit_difference(ours: str, theirs: str) -> str:
    if normalize("NFC", ours) == normalize("NFC", theirs):
        return sentence("Unicode normal form")
    if normalize("NFKC", ours) == normalize("NFKC", theirs):
        return sentence("full-width or half-width forms")
    return sentence("typographic quotes") if set(ours + theirs) & set("'\"") else sentence("look-alike characters")


def _gap_difference(ours: str, theirs: str) -> str:
    if not (ours + theirs).isspace():
        return sentence("zero-width characters")
    if ours.count("\n") != theirs.count("\n"):
        return sentence("blank lines") if "\n" in ours and "\n" in theirs else sentence("line breaks")
    if "\n" not in ours:
        return sentence("spacing")
    return (
        sentence("trailing blanks")
        if ours.rpartition("\n")[2] == theirs.rpartition("\n")[2]
        else sentence("indentation")
    )
