"""Which character of the file each character of `old_string` stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dogu.workspace.edit_match.folding import fold_clusters
from dogu.workspace.edit_match.words import has_comment, is_spaced, is_word


class Unit(NamedTuple):
    """`old[old_start:old_end]` stands for `text[start:end]`; half-open, never empty, ascending on both sides."""

    old_start: int
    old_end: int
    start: int
    end: int


@dataclass(frozen=True)
class Place:
    """A stretch of the file that `old` means, aligned: between two units lies white space or nothing on both sides.

    `slips` are the units whose two sides differ in words (near stage only); lines with one of `fixed` may not change; `words` are the model's wrong words and the file's right ones.
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


def align_equal(text: str, old: str, start: int) -> list[Unit]:
    """Align `old` with the equal stretch of `text` at `start`."""
    return [Unit(i, i + 1, start + i, start + i + 1) for i, char in enumerate(old) if not char.isspace()]


def align_folded(text: str, old: str, start: int, end: int) -> list[Unit] | None:
    """Align `old` with `text[start:end]`, whose folded views are equal; None when they aren't."""
    folded_old, old_starts, old_ends = fold_clusters(old)
    folded, starts, ends = fold_clusters(text[start:end])
    if folded_old != folded:
        return None
    units: list[Unit] = []
    first = 0
    count = len(folded)
    for next_ in range(1, count + 1):
        if next_ < count and (old_starts[next_] == old_starts[next_ - 1] or starts[next_] == starts[next_ - 1]):
            continue
        units.append(Unit(old_starts[first], old_ends[next_ - 1], start + starts[first], start + ends[next_ - 1]))
        first = next_
    return units


def words_agree(place: Place) -> bool:
    """Say whether both sides have the same words: no white space on one side only between two characters of words,

    except at the border of CJK and other writing; and no line break on one side only where a comment would end."""
    text, old = place.text, place.old
    for left, right in zip(place.units, place.units[1:], strict=False):
        old_gap = old[left.old_end : right.old_start]
        gap = text[left.end : right.start]
        if old_gap == gap:
            continue
        if _has_space(old_gap) != _has_space(gap) and _breaks_word(
            text[left.end - 1], text[right.start], old_gap + gap
        ):
            return False
        if ("\n" in old_gap) != ("\n" in gap):
            line_start = text.rfind("\n", 0, left.end) + 1
            old_line_start = old.rfind("\n", 0, left.old_end) + 1
            if has_comment(text[line_start : left.end]) or has_comment(old[old_line_start : left.old_end]):
                return False
    return True


def _has_space(gap: str) -> bool:
    return any(map(str.isspace, gap))


def _breaks_word(left: str, right: str, gap: str) -> bool:
    if not (is_word(left) and is_word(right)):
        return False
    return "\n" in gap or is_spaced(left) == is_spaced(right)


def differences(place: Place) -> list[str]:
    """Say in words how the file's text differs from `old` (units and gaps only)."""
    found: dict[str, None] = {}
    text, old = place.text, place.old
    for unit in place.units:
        ours, theirs = old[unit.old_start : unit.old_end], text[unit.start : unit.end]
        if ours != theirs:
            found[_unit_difference(ours, theirs)] = None
    previous = Unit(0, 0, text.rfind("\n", 0, place.start) + 1, text.rfind("\n", 0, place.start) + 1)
    for unit in place.units:
        ours, theirs = old[previous.old_end : unit.old_start], text[previous.end : unit.start]
        if ours != theirs:
            found[_gap_difference(ours, theirs)] = None
        previous = unit
    return list(found)


def _unit_difference(ours: str, theirs: str) -> str:
    from unicodedata import normalize

    if normalize("NFC", ours) == normalize("NFC", theirs):
        return "Unicode normal form"
    if normalize("NFKC", ours) == normalize("NFKC", theirs):
        return "full-width or half-width forms"
    if set(ours + theirs) & set("'\""):
        return "typographic quotes"
    return "look-alike characters"


def _gap_difference(ours: str, theirs: str) -> str:
    if not (ours + theirs).isspace():
        return "zero-width characters"
    if ours.count("\n") != theirs.count("\n"):
        return "blank lines" if "\n" in ours and "\n" in theirs else "line breaks"
    if "\n" not in ours:
        return "spacing"
    return "trailing blanks" if ours.rpartition("\n")[2] == theirs.rpartition("\n")[2] else "indentation"
