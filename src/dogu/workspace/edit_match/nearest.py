"""Where text like `old` may be, and the lines of the file that a model is shown: the nearest ones, those in question,
those an edit wrote.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from dogu.workspace.edit_match.alignment import word_chars
from dogu.workspace.edit_match.indentation import indent_of
from dogu.workspace.edit_match.result import Replacement, spliced
from dogu.workspace.edit_match.rows import opcodes, shared_lines
from dogu.workspace.edit_match.views import FoldedText, fold

_COMMON = 50  # a line that is there oftener names no place
_REACH_LINES = 3  # lines of the file that may lie between two lines looked for


class LineIndex:
    """The lines that aren't blank, numbered from 0: where each begins and ends, and what it is folded."""

    def __init__(self, folded: FoldedText) -> None:
        full = [number for number, key in enumerate(folded.keys) if key]
        self.text = folded.text
        self.path = folded.path
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


def starts_of(index: LineIndex, keys: Sequence[str]) -> list[int]:
    """Return where `keys` may begin as `likely_starts` does, at most six, and where the lines most like the longest of
    them say, as many, if that isn't there itself.
    """
    starts = likely_starts(index, keys)[:_CANDIDATES]
    longest = max(range(len(keys)), key=lambda i: len(keys[i]))
    if starts and keys[longest] in index.keys:
        return starts
    from rapidfuzz import fuzz, process

    lines = index.keys[:_MOST_SEARCHED_LINES]
    found = process.extract(
        keys[longest], lines, scorer=fuzz.ratio, score_cutoff=_LEAST_ALIKE_PERCENT, limit=_CANDIDATES
    )
    return [*dict.fromkeys([*starts, *(number - longest for _, _, number in found)])]


_MOST_LINES = 30
_MOST_DIFF_LINES = 60  # as many for a line of old_string as for one of the file
_LONGEST_LINE_CHARS = 300
_LEAST_ALIKE_PERCENT = 60
_MOST_SEARCHED_LINES = 200_000
_CANDIDATES = 6
_ALIGNED_LINES = 8
_MOST_COMPARED = 10_000


def nearest(index: LineIndex, old: str) -> tuple[tuple[tuple[int, int], ...], str]:
    """Return the span of the file most like `old` (none: empty) and a small diff that makes it of `old`: `-` what `old`
    has, `+` what the file has, with a line of both beside each change.
    """
    keys = [fold(line) for line in old.split("\n") if fold(line)]
    if not keys or not index.keys:
        return (), ""
    window = _window(index, keys)
    if window is None:
        return (), ""
    start, end = index.starts[window[0]], index.ends[window[1]]
    ours, theirs = old.strip("\n").split("\n"), index.text[start:end].split("\n")
    head, tail = _strange_ends(ours, theirs)
    start, end = (
        start + sum(len(line) + 1 for line in theirs[:head]),
        end - sum(len(line) + 1 for line in theirs[tail:]),
    )
    return ((start, end),), _diff(ours, theirs[head:tail])


def _strange_ends(ours: Sequence[str], theirs: Sequence[str]) -> tuple[int, int]:
    """Return where those of the file's lines begin and end that `old` has in some form: what is around them would be
    shown for nothing.
    """
    from dogu.workspace.edit_match.slips import are_alike

    steps = [*opcodes(ours, theirs)]

    def known(step: tuple[str, int, int, int, int]) -> list[int]:
        tag, i1, i2, j1, j2 = step
        if tag != "equal" and (i2 - i1) * (j2 - j1) > _MOST_COMPARED:
            return [*range(j1, j2)]
        return [j for j in range(j1, j2) if tag == "equal" or any(are_alike(line, theirs[j]) for line in ours[i1:i2])]

    first, last = known(steps[0]), known(steps[-1])
    head = first[0] if first else steps[0][4]
    tail = last[-1] + 1 if last else steps[-1][3]
    return (head, tail) if head < tail else (0, len(theirs))


def _window(index: LineIndex, keys: list[str]) -> tuple[int, int] | None:
    """Return the first and the last line of the file that `keys` stand for, aligned line by line."""
    from rapidfuzz.distance import Indel

    whole = "\n".join(keys)
    starts = starts_of(index, keys)
    # A line that is common nearby, as a brace alone, aligns badly: then the lines just as they come are nearer.
    windows = {way(index, keys, start) for start in starts for way in (_aligned, _plain)}
    likest = sorted(
        (Indel.distance(whole, "\n".join(index.keys[first : last + 1])), first, last) for first, last in windows
    )
    return likest[0][1:] if likest else None


def _plain(index: LineIndex, keys: list[str], start: int) -> tuple[int, int]:
    last = len(index.keys) - 1
    return min(max(start, 0), last), max(min(start + len(keys) - 1, last), 0)


def _aligned(index: LineIndex, keys: list[str], start: int) -> tuple[int, int]:
    low = max(start - _ALIGNED_LINES, 0)
    pairs = shared_lines(keys, index.keys[low : start + len(keys) + _ALIGNED_LINES])
    last = len(index.keys) - 1
    if not pairs:
        return _plain(index, keys, start)
    (head, first), (tail, end) = pairs[0], pairs[-1]
    return max(low + first - head, 0), min(low + end + len(keys) - 1 - tail, last)


def _diff(ours: Sequence[str], theirs: Sequence[str]) -> str:
    out: list[str] = []
    for tag, i1, i2, j1, j2 in opcodes(ours, theirs):
        if tag != "equal":
            out += [f"- {line}" for line in ours[i1:i2]] + [f"+ {line}" for line in theirs[j1:j2]]
            continue
        # A blank line says nothing of a place: up to the next one that does.
        full = [i for i in range(i1, i2) if ours[i].strip()] or [i1]
        beside = [*range(i1, full[0] + 1)] if j1 or i1 else []
        beside += range(full[-1], i2) if i2 < len(ours) or j2 < len(theirs) else ()
        out += [f"  {ours[i]}" for i in dict.fromkeys(beside)]
    cut = [
        line if len(line) <= _LONGEST_LINE_CHARS else line[:_LONGEST_LINE_CHARS] + "..."
        for line in out[:_MOST_DIFF_LINES]
    ]
    return "\n".join(cut + (["..."] if len(out) > _MOST_DIFF_LINES else []))


_MOST_PLACES = 20
_FARTHEST_LINES = 400


def written_lines(text: str, pieces: Sequence[Replacement]) -> str:
    """Return the lines that the pieces (ascending and apart) leave in the text, with their numbers; at most 30."""
    after = spliced(text, pieces)
    lines = after.split("\n")
    numbers: dict[int, None] = {}
    grown = at = number = 0
    for start, end, body in pieces:
        first, last = start + grown, start + grown + len(body)
        number += after.count("\n", at, first)
        within = after[first:last]
        skips = within.startswith("\n")
        stop = number + within.count("\n") - (within.endswith("\n") and len(within) > 1)
        numbers |= dict.fromkeys(range(number + skips, max(stop, number + skips) + 1))
        grown += len(body) - (end - start)
        at = first
    out = [_numbered(number, lines[number]) for number in [*numbers][:_MOST_LINES] if number < len(lines)]
    return "\n".join(out + ["..."] * (len(numbers) > _MOST_LINES))


def places_shown(text: str, spans: Sequence[tuple[int, int]], *, whole: bool) -> str:
    """Return the lines of the first place (first and last, 1-based) with their numbers, or what each place is in."""
    lines = text.split("\n")
    if whole:
        out = [
            _numbered(number - 1, lines[number - 1]) for first, last in spans[:1] for number in range(first, last + 1)
        ]
        return "\n".join(out[:_MOST_LINES] + ["..."] * (len(out) > _MOST_LINES))
    within = [(first, _enclosing(lines, first - 1)) for first, _ in spans[:_MOST_PLACES]]
    return "\n".join(f"{first:6}  in {line}" for first, line in within if line)


def _enclosing(lines: Sequence[str], number: int) -> str:
    """Return the line above that the line is indented beneath, empty for none."""
    depth = len(indent_of(lines[number]))
    for line in reversed(lines[max(0, number - _FARTHEST_LINES) : number]):
        if len(indent_of(line)) < depth and any(map(str.isalnum, line)):
            return line.strip()[:_LONGEST_LINE_CHARS]
    return ""


def _numbered(number: int, line: str) -> str:
    shown = line.removesuffix("\r")
    return f"{number + 1:6}\t{shown if len(shown) <= _LONGEST_LINE_CHARS else shown[:_LONGEST_LINE_CHARS] + '...'}"
