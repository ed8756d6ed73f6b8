"""The lines of a text that aren't blank, folded, and where some lines like them may be."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from dogu.workspace.edit_match.folding import FoldedText
from dogu.workspace.edit_match.words import word_chars

_COMMON = 50  # a line that is there oftener names no place
_REACH_LINES = 3  # lines of the file that may lie between two lines looked for


class LineIndex:
    """The lines that aren't blank, numbered from 0: where each begins and ends, and what it is folded."""

    def __init__(self, folded: FoldedText) -> None:
        full = [number for number, key in enumerate(folded.keys) if key]
        self.text = folded.text
        self.keys = [folded.keys[number] for number in full]
        self.starts = [folded.starts[number] for number in full]
        self.ends = [folded.starts[number + 1] - 1 for number in full]

    def line(self, number: int) -> str:
        """Return a line as it is in the text."""
        return self.text[self.starts[number] : self.ends[number]]


def likely_starts(index: LineIndex, keys: Sequence[str]) -> list[int]:
    """Return the numbers of lines where text like `keys` (folded lines) may begin, the likeliest first.

    Each line that occurs in both votes for where the first one would be; lines that are common everywhere don't.
    A number may be negative: what would be before the text's first line isn't there.
    """
    wanted: dict[str, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        wanted[key].append(i)
    places: dict[str, list[int]] = defaultdict(list)
    for number, key in enumerate(index.keys):
        if key in wanted:
            places[key].append(number)
    votes: Counter[int] = Counter()
    for key, numbers in places.items():
        if max(len(numbers), len(wanted[key])) <= _COMMON:
            weight = 1 + word_chars(key)
            votes.update({number - i: weight for number in numbers for i in wanted[key]})
    near = {start: sum(votes[start + shift] for shift in range(_REACH_LINES + 1)) for start in [*votes]}
    return sorted(near, key=lambda start: (-near[start], -votes[start], start))
