"""The lines of `old`, each with the lines of the file it stands on, and in whose terms `new` quotes them.

A model that garbled `old_string` mostly garbled `new_string` alike; then new lines are taken back. Sometimes it has
`new_string` right; then they are taken as they are. A line of `new_string` that equals the file's proves nothing by
itself: one that moves a level deeper equals it by accident where the model is a level short. The edges tell, because
an edit begins and ends where the text it replaces did, and then the lines that stand in both.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

from dogu.workspace.diff import changed_ranges
from dogu.workspace.edit_match.alignment import Place, Unit, word_chars
from dogu.workspace.edit_match.indentation import OPENERS, indent_of
from dogu.workspace.edit_match.result import TwoWaysError, UncleanError
from dogu.workspace.edit_match.views import INVISIBLE, fold, is_blank

_QUOTES = str.maketrans('"`', "''")


@dataclass
class Row:
    """A line of `old`; it stands on the file's lines `first` to `last` (numbers of `Rows`), on none when they are -1.

    `units` have old positions within the line. `slips` are where in it slips end: there its words differ
    from the file's. A `fixed` one may not change.
    """

    text: str
    first: int = -1
    last: int = -1
    fixed: bool = False
    units: list[Unit] = field(default_factory=list[Unit])
    slips: set[int] = field(default_factory=set[int])

    @property
    def is_held(self) -> bool:
        """Whether the row stands on lines of the file."""
        return self.first >= 0


class Rows:
    """The rows of a place, and the lines of the file around it, numbered from 0 at the first one that matters.

    `head` and `tail` are the first and last row that isn't blank; `cut_head` says that the place begins inside a line
    of the file, `cut_tail` that it ends inside one. `above[i]` is the last line that rows before row `i` stand on (-1:
    none), `below[i]` the first one that row `i` and the rows after it do (the number of lines: none).
    """

    def __init__(self, place: Place, old_lines: list[str], new_lines: Sequence[str]) -> None:
        self.place = place
        self.rows = [Row(line) for line in old_lines]
        self._give_units()
        full = [i for i, row in enumerate(self.rows) if row.units]
        self.head, self.tail = full[0], full[-1]
        self._contents: dict[int, tuple[int, int, int]] = {}
        self.starts: list[int] = []
        self.ends: list[int] = []
        self._number_lines(above=self.head, below=len(self.rows) - self.tail)
        for i in full:
            row = self.rows[i]
            row.first, row.last = self.number(row.units[0].start), self.number(row.units[-1].end - 1)
        self._pair_blanks(full)
        self.rows = self._without_surplus(new_lines)
        full = [i for i, row in enumerate(self.rows) if row.units]
        self.head, self.tail = full[0], full[-1]
        self.above = list(accumulate((row.last for row in self.rows), max, initial=-1))
        first = [row.first if row.is_held else len(self.starts) for row in reversed(self.rows)]
        self.below = list(accumulate(first, min, initial=len(self.starts)))[::-1]
        self.cut_head = not self.begins_line(self.head)
        end_of_line = self.ends[self.number(place.end - 1)]
        self.cut_tail = not is_blank(place.text[place.end : end_of_line])

    def number(self, position: int) -> int:
        """Return the number of the line that a position is on."""
        return bisect_right(self.starts, position) - 1

    def line(self, number: int) -> str:
        """Return a line of the file without its ending."""
        return self.place.text[self.starts[number] : self.ends[number]]

    def begins_line(self, i: int) -> bool:
        """Whether nothing that can be seen is before the row on its first line of the file."""
        row = self.rows[i]
        return row.units[0].start <= self._content(row.first)[0]

    def is_alone(self, i: int) -> bool:
        """Whether the row is all that can be seen on its line of the file."""
        row = self.rows[i]
        start, end = self._content(row.first)[1], self._content(row.last)[2]
        return (row.units[0].start, row.units[-1].end) == (start, end)

    def _content(self, number: int) -> tuple[int, int, int]:
        """Return where the first thing that can be seen on a line begins, and where all but white space does and ends.

        Told once: many rows may stand on a line of a whole file's length.
        """
        if number not in self._contents:
            line, start = self.line(number), self.starts[number]
            seen = line.lstrip(INVISIBLE)
            begins = start + len(line) - len(seen)
            self._contents[number] = begins, start + len(line) - len(line.lstrip()), start + len(line.rstrip())
        return self._contents[number]

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return where what the place has of the lines `first` to `last` begins and ends."""
        start, end = self.starts[first], self.ends[last]
        if self.cut_head and first == self.rows[self.head].first:
            start = self.place.start
        if self.cut_tail and last == self.rows[self.tail].last:
            end = self.place.end
        return start, end

    def file_text(self, i: int) -> str:
        """Return what the file has where row `i` stands."""
        start, end = self.span(self.rows[i].first, self.rows[i].last)
        return self.place.text[start:end]

    def file_indent(self, i: int) -> str:
        """Return the indentation of the file's line that row `i` begins on."""
        number = self.rows[i].first
        start = self.starts[number]
        return self.place.text[start : self._content(number)[1]] if self._content(number)[2] > start else ""

    @cached_property
    def indentations(self) -> list[tuple[str, str]]:
        """Return the model's and the file's indentation of each row that begins a line."""
        return [
            (indent_of(row.text), self.file_indent(i))
            for i, row in enumerate(self.rows)
            if row.units and self.begins_line(i)
        ]

    def padding(self) -> frozenset[str]:
        """Return the blanks that `old` has at the ends of lines, where the file has none at any of those."""
        padded = [row for row in self.rows if row.units and row.text != row.text.rstrip()]
        if any(self.line(row.last) != self.line(row.last).rstrip() for row in padded):
            return frozenset()
        return frozenset(row.text[len(row.text.rstrip()) :] for row in padded)

    def _give_units(self) -> None:
        starts = [0]
        for row in self.rows:
            starts.append(starts[-1] + len(row.text) + 1)
        slips, fixed = self.place.slips, self.place.fixed
        i = 0
        for unit in self.place.units:
            while starts[i + 1] <= unit.old_start:
                i += 1
            row = self.rows[i]
            if slips and unit in slips:
                row.slips.add(unit.old_end - starts[i])
                row.fixed = row.fixed or unit in fixed
            row.units.append(Unit(unit.old_start - starts[i], unit.old_end - starts[i], unit.start, unit.end))

    def _number_lines(self, above: int, below: int) -> None:
        """Number the lines of the place, at most `above` blank ones before it, and at most `below` blank ones after
        it.
        """
        text = self.place.text
        position = text.rfind("\n", 0, self.place.start) + 1
        while above and position:
            up = text.rfind("\n", 0, position - 1) + 1
            if text[up : position - 1].strip():
                break
            position = up
            above -= 1
        while position <= len(text):
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            if position > self.place.end:
                if not below or text[position:end].strip():
                    break
                below -= 1
            self.starts.append(position)
            self.ends.append(end)
            position = end + 1

    def _without_surplus(self, new_lines: Sequence[str]) -> list[Row]:
        """Return the rows without blank ones that the file doesn't have, unless the new lines have these too."""
        held = [row for row in self.rows if row.is_held]
        if len(held) == len(self.rows):
            return held
        theirs = [line.strip() for line in new_lines]
        ways = [[row.text.strip() for row in rows] for rows in (held, self.rows)]
        surplus = _around_blanks(ways[1]) - _around_blanks(ways[0])
        if surplus and surplus <= _around_blanks(theirs):
            return self.rows
        least, changed = (
            sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in opcodes(ours, theirs) if tag != "equal")
            for ours in ways
        )
        return held if least < changed else self.rows

    def _pair_blanks(self, full: list[int]) -> None:
        """Let blank rows stand on the blank lines between the lines their neighbours stand on, as far as there are
        any.
        """
        rows = self.rows
        for i, number in zip(range(full[0] - 1, -1, -1), range(rows[full[0]].first - 1, -1, -1), strict=False):
            rows[i].first = rows[i].last = number
        for here, there in zip(full, [*full[1:], len(rows)], strict=True):
            stop = rows[there].first if there < len(rows) else len(self.starts)
            blank = [number for number in range(rows[here].last + 1, stop) if not self.line(number).strip()]
            for i, number in zip(range(here + 1, there), blank, strict=False):
                rows[i].first = rows[i].last = number


def _around_blanks(lines: Sequence[str]) -> Counter[tuple[str, str]]:
    """Count what is above and below each blank line."""
    return Counter((lines[i - 1], lines[i + 1]) for i in range(1, len(lines) - 1) if not lines[i])


def opcodes(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield what to do with ours[i1:i2] to get theirs[j1:j2], as difflib does: "equal" or "change"."""
    i = j = 0
    for change in changed_ranges(ours, theirs):
        if change.old_start > i:
            yield "equal", i, change.old_start, j, change.new_start
        i, j = change.old_end, change.new_end
        yield "change", change.old_start, i, change.new_start, j
    if i < len(ours):
        yield "equal", i, len(ours), j, len(theirs)


def shared_lines(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Pair what both lists have in the same order, leaving out what is empty."""
    return [
        (i1 + k, j1 + k)
        for tag, i1, i2, j1, _ in opcodes(ours, theirs)
        for k in range(i2 - i1)
        if tag == "equal" and ours[i1 + k]
    ]


class Terms(NamedTuple):
    """What `new_string` has as the file does, where `old_string` doesn't."""

    indentation: bool = False
    words: bool = False


def terms_of(
    at: Rows, new: Sequence[str], pairs: Sequence[tuple[int, int]], *, lost_head: bool, as_file: bool | None
) -> Terms:
    """Decide both by the `pairs` of lines that are in both, but for depths `as_file` where that is known; raise
    `UncleanError` where they contradict one another.

    With `lost_head` the first line of `old_string` alone has no indentation, so it is no witness.
    """
    indentation = _indentation(at, new, pairs, lost_head=lost_head) if as_file is None else as_file
    return Terms(indentation, _words(at, new))


def _words(at: Rows, new: Sequence[str]) -> bool:
    ours = theirs = False
    # Quotes made one: a line that `new` has in the file's quotes, and `old` in others, is the same line.
    keys = ([fold(line).translate(_QUOTES) for line in lines] for lines in ([row.text for row in at.rows], new))
    for i, j in shared_lines(*keys):
        row, written = at.rows[i], new[j].strip()
        mine, file = row.text.strip(), at.file_text(i).strip() if row.units else ""
        if not row.units or mine == file or not word_chars(written):
            continue
        ours = ours or written == mine != file
        theirs = theirs or written == file != mine
    if ours and theirs:
        raise UncleanError("new_string repeats some lines as old_string has them and others as the file does")
    return theirs


def _indentation(at: Rows, new: Sequence[str], pairs: Sequence[tuple[int, int]], *, lost_head: bool) -> bool:
    """Whether the indentation of `new` is the file's, where `old` has another."""
    indents = {
        i: (indent_of(row.text), at.file_indent(i))
        for i, row in enumerate(at.rows)
        if row.units and at.begins_line(i) and not (i == at.head and lost_head)
    }
    is_file = _is_as_file(at, new, pairs, indents, lost_head=lost_head)
    if is_file and _are_off_as_one(indents):
        raise TwoWaysError("whether new_string has the depths of the file or moves all lines by a level can't be told")
    return is_file


def _are_off_as_one(indents: dict[int, tuple[str, str]]) -> bool:
    """Whether `old` has every line off by as much, and none without indentation or by other characters than the file:
    what moves by a level then is as deep as the file has it, as is what `new` alone has right.
    """
    off = {len(file) - len(mine) for mine, file in indents.values()}
    return len(off) == 1 and all(mine and {*file} <= {*mine} for mine, file in indents.values())


def _is_as_file(
    at: Rows,
    new: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    shifted: dict[int, tuple[str, str]],
    *,
    lost_head: bool,
) -> bool:
    """Whether the edges and the lines of `new` are as deep as the file's, rather than as those of `old`."""
    shifts = _shifts(shifted, new, pairs)
    ours, theirs = ({*side} - {0} for side in shifts)
    is_ours, is_simpler = _runs(shifts[0]) < _runs(shifts[1]), len(theirs) < 2 <= len(ours)
    shifted = {i: pair for i, pair in shifted.items() if pair[0] != pair[1]}
    written = [j for j, line in enumerate(new) if line.strip()]
    if not shifted or not written or is_ours or _moves_as_one(at, shifted, new):
        return False
    begins, base = {*_witnesses(shifted, new, [(at.head, written[0])])}, {*_base_witness(at, new, lost_head=lost_head)}
    # No text is replaced by one that begins deeper, and is nowhere as deep as it began.
    is_deeper = bool(ours) and begins == base == {True} and _is_deeper(shifted[at.head])
    if is_deeper or _ends_as_sent(at, shifted, new, pairs):
        return is_deeper
    # How deep it begins says more than how deep its shallowest line is.
    edges = begins if begins == {False} else begins | base
    lines = [*_witnesses(shifted, new, [(at.tail, written[-1]), *pairs] if pairs else [])]
    if edges == {False}:
        # no line more, so nothing is put around others, unless the first line begins a block now
        if {*lines} == {True} and len(at.rows) == len(new) and not new[written[0]].rstrip().endswith(OPENERS):
            raise TwoWaysError("new_string begins as old_string does, and goes on as deep as the file does")
        return False
    if True not in lines and any(i in shifted for i, _ in pairs):
        return edges == {True} and False not in lines
    # What moves nothing of the file needs no more proof: a new line as deep as one of `old` was is then a deeper one.
    stays = not theirs and len(lines) > 1 and False not in lines
    contradicted = False in lines or False in edges or (_has_garbled(at, shifted, new) and not stays)
    if contradicted and True in edges and not is_simpler:
        raise TwoWaysError("new_string indents some lines as old_string has them and others as the file does")
    # Several moves make `new` of what `old` has, and one of what the file has: that is simpler.
    return bool(edges or lines) and (not contradicted or (True in edges and is_simpler))


def _ends_as_sent(
    at: Rows, shifted: dict[int, tuple[str, str]], new: Sequence[str], pairs: Sequence[tuple[int, int]]
) -> bool:
    """Whether `new` ends with the line that `old` does, as deep as there, begins with another, and has one as deep as
    the file: that one moves, for what an edit ends with is there to tell its place.
    """
    written = [j for j, line in enumerate(new) if line.strip()]
    if not pairs or pairs[0] == (at.head, written[0]) or pairs[-1] != (at.tail, written[-1]):
        return False
    witnesses = [*_witnesses(shifted, new, pairs)]
    return True in witnesses and [*_witnesses(shifted, new, pairs[-1:])] == [False]


def _is_deeper(head: tuple[str, str]) -> bool:
    """Whether the first line is deeper in the file than in `old`."""
    return len(head[1]) > len(head[0])


def _shifts(
    indents: dict[int, tuple[str, str]], new: Sequence[str], pairs: Sequence[tuple[int, int]]
) -> tuple[list[int], list[int]]:
    """Return by how much lines that both strings have move if `new` is in the terms of `old`, and if in the file's.

    One without words, as `}`, may be another that looks alike.
    """
    told = [(i, j) for i, j in pairs if i in indents and word_chars(new[j])]
    moved = [(len(indent_of(new[j])), *map(len, indents[i])) for i, j in told]
    return [there - mine for there, mine, _ in moved], [there - file for there, _, file in moved]


def _runs(shifts: Sequence[int]) -> int:
    """Count the stretches of lines that move by as much: the fewer there are, the likelier it is what was meant."""
    return sum(one != other for one, other in pairwise(shifts))


def _moves_as_one(at: Rows, shifted: dict[int, tuple[str, str]], new: Sequence[str]) -> bool:
    """Whether nothing but the depth of the block as a whole changes: then that is what is meant, unless to what the
    file has.
    """
    pairs = [(row.text, line) for row, line in zip(at.rows, new, strict=False)]
    if len(at.rows) != len(new) or any(here.split() != there.split() for here, there in pairs):
        return False
    moves = len({len(indent_of(there)) - len(indent_of(here)) for here, there in pairs if here.strip()}) == 1
    if moves and len(shifted) > 1 and all(indent_of(new[i]) == file for i, (_, file) in shifted.items()):
        raise TwoWaysError("new_string changes nothing but depths, to those that the file has")
    return moves


def _base_witness(at: Rows, new: Sequence[str], *, lost_head: bool) -> Iterable[bool]:
    """Whether the shallowest line of `new` is as deep as the file's shallowest (True) or as that of `old`."""
    pairs = at.indentations[lost_head:]
    mine, file = (min((pair[side] for pair in pairs), key=len, default="") for side in (0, 1))
    base = min((indent_of(line) for line in new[lost_head:] if line.strip()), key=len, default="")
    if mine != file and base in (mine, file):
        yield base == file


def _has_garbled(at: Rows, shifted: dict[int, tuple[str, str]], new: Sequence[str]) -> bool:
    """Whether `new` has what only `old` has: a line of words as it is there, or an indentation."""
    garbled = {at.rows[i].text.rstrip() for i in shifted if word_chars(at.rows[i].text)}
    indents = {mine for mine, _ in shifted.values()} - {file for _, file in at.indentations}
    return any(line.rstrip() in garbled or (line.strip() and indent_of(line) in indents) for line in new)


def _witnesses(
    shifted: dict[int, tuple[str, str]], new: Sequence[str], pairs: Iterable[tuple[int, int]]
) -> Iterable[bool]:
    """Tell for each pair whether the new line is indented as the file's (True) or as the model's old one (False)."""
    for i, j in pairs:
        mine, file = shifted.get(i, ("", ""))
        indent = indent_of(new[j])
        if mine != file and indent in (mine, file):
            yield indent == file
