"""What `old` quotes otherwise than the file has it, put as the file has it, where the lines around it name the place.

What both strings quote alike is never written, so it may be told in other words, in another order, with a line less,
where lines that are just so in the file lie on both sides of it and a stretch of these is nowhere else. What goes must
be the file's in another order, wrapped or spelt otherwise, a comment in other words, or one line of many. The head of
a block that a change lies in names the block: another name is another block. And what new lines have, too, is no slip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import Indel

from dogu.language import sentence
from dogu.workspace.edit_match.alignment import opened, word_chars
from dogu.workspace.edit_match.apply import split_lines
from dogu.workspace.edit_match.indentation import OPENERS, indent_of
from dogu.workspace.edit_match.nearest import LineIndex, starts_of
from dogu.workspace.edit_match.result import Refused, Why
from dogu.workspace.edit_match.rows import opcodes
from dogu.workspace.edit_match.slips import (
    OTHERWISE,
    TELLING,
    WORDS,
    are_alike,
    are_permuted,
    are_spelt_so,
    are_wrapped,
    comment_mark,
    has_spot,
    is_commented,
    is_whole_comment,
    is_without_comment,
    may_spread,
    slip_between,
    spaced_otherwise,
    steps_between,
    tokens_of,
)
from dogu.workspace.edit_match.unescape import Reading
from dogu.workspace.edit_match.views import fold

STAGE = sentence("near")
_SPACING = sentence("spacing")
_LEFT_OUT = sentence("a line left out where nothing changes")
_ORDER = sentence("another order, spelling or line breaks")
_ONE_OF_MANY = sentence("another word in one line of many")
_FEWEST_LINES = 2
_MOST_LINES = 1000
_FEWEST_TELLING_CHARS = 15
_FEWEST_BESIDE_CHARS = 20
_MOST_LEFT_OUT = 3
_MOST_OTHERWISE = 20
_REACHES = ((0, 0), (0, 3), (3, 0), (6, 6))  # how many lines more the file may have before and behind: the fewest
_CASELESS = (".sql", ".cmake", "cmakelists.txt")
_LEAST_ALIKE = 0.6
_LEAST_ALIKE_APART = 0.75  # where the file has more or fewer lines


class _Step(NamedTuple):
    """The rows `[i1, i2)` of `old` stand for the lines `[f1, f2)` of the file."""

    i1: int
    i2: int
    f1: int
    f2: int

    @property
    def rows(self) -> range:
        return range(self.i1, self.i2)

    @property
    def numbers(self) -> range:
        return range(self.f1, self.f2)


@dataclass(frozen=True)
class _Quote:
    """Both strings as lines; `rows` are the numbers of the lines of `old` that aren't blank, `stays` says of a row
    which line of `new` it is.
    """

    ours: list[str]
    theirs: list[str]
    rows: list[int]
    keys: list[str]
    stays: dict[int, int]

    def line(self, row: int) -> str:
        return self.ours[self.rows[row]]

    @cached_property
    def brought(self) -> list[str]:
        """The lines that only `new` has."""
        known = {*self.stays.values()}
        return [line for number, line in enumerate(self.theirs) if line.strip() and number not in known]

    @property
    def last(self) -> int:
        return len(self.rows) - 1

    def is_together(self, first: int, last: int) -> bool:
        """Whether `new` has the rows from `first` to `last`, and nothing between them."""
        if any(row not in self.stays for row in range(first, last + 1)):
            return False
        between = range(self.stays[first], self.stays[last] + 1)
        return sum(self.theirs[number].strip() != "" for number in between) == last - first + 1

    def is_told_apart(self, step: _Step) -> bool:
        """Whether it can be told which lines of `new` the rows are: it has none oftener, or those beside them stay."""
        keys = [*map(fold, self.theirs)]
        told = (word_chars(key) == 0 or keys.count(key) <= self.keys.count(key) for key in self.keys[step.i1 : step.i2])
        return all(told) or self.is_together(max(step.i1 - 1, 0), min(step.i2, self.last))

    def changes_below(self, row: int) -> bool:
        """Whether lines below a row come, go or change."""
        return not self.is_together(row, self.last) or any(map(str.strip, self.theirs[self.stays[self.last] + 1 :]))

    def after_left_out(self, row: int) -> int | None:
        """Return the number in `new` of the line that lines left out before `row` come before; None where that can't be
        told.

        Both lines beside them stay there together, or one does and a line like the other takes its place.
        """
        above, new = row - 1, self.stays
        if self.is_together(above, row):
            return new[above] + 1
        if above in new and row not in new and new[above] + 2 == new.get(row + 1, len(self.theirs)):
            return new[above] + 1 if are_alike(self.line(row), self.theirs[new[above] + 1]) else None
        if row in new and above not in new and new.get(above - 1, -1) == new[row] - 2:
            return new[row] if are_alike(self.line(above), self.theirs[new[row] - 1]) else None
        return None


def requoted(index: LineIndex, old: str, new: str) -> list[Reading] | Refused:
    """Return both strings with what `old` has otherwise than the file as the file has it, for each place it may be;
    refuse where every one has a rival.
    """
    quote = _quote(old, new)
    if not _FEWEST_LINES <= len(quote.rows) <= _MOST_LINES:
        return []
    ends = ["\n" * (old.endswith("\n") and (end or new.endswith("\n"))) for end in (True, False)]
    places = _places(index, quote)
    rivals = [place for place in places if place.is_rival]
    found: list[Reading] = []
    spans: set[tuple[int, int]] = set()
    for place in places:
        if place.read is None:
            continue
        nearer = [rival for rival in rivals if rival.is_nearer(place)]
        spans |= {each.span for each in (place, *nearer) if nearer}
        if not nearer:
            slip, ours, theirs = place.read
            found.append(Reading(STAGE, slip, ours + ends[0], theirs + ends[1], True))
    if found or not spans:
        return found
    return Refused(Why.AMBIGUOUS, STAGE, "more than one place is nearly the same", tuple(sorted(spans)))


def _places(index: LineIndex, quote: _Quote) -> list[_Place]:
    """Return the places that come into question, each with the fewest lines of the file that it can be read with."""
    known: dict[tuple[_Step, ...], _Place] = {}
    for start in starts_of(index, quote.keys):
        for reach in _REACHES:
            place = _Place(index, quote, start, reach)
            if known.setdefault(place.steps, place).read is not None:
                break
    return [*known.values()]


def _quote(old: str, new: str) -> _Quote:
    ours, theirs = split_lines(old, new)
    rows = [number for number, line in enumerate(ours) if fold(line)]
    numbers = {number: row for row, number in enumerate(rows)}
    stays: dict[int, int] = {}
    bare = [[line.rstrip() for line in lines] for lines in (ours, theirs)]
    for tag, i1, i2, j1, _ in opcodes(*bare):
        if tag == "equal":
            stays |= {numbers[i]: j1 + i - i1 for i in range(i1, i2) if i in numbers}
    return _Quote(ours, theirs, rows, [fold(ours[number]) for number in rows], stays)


class _Place:
    """A stretch of the file that `old` may quote: which line is just so in it, and the steps between these."""

    def __init__(self, index: LineIndex, quote: _Quote, start: int, reach: tuple[int, int]) -> None:
        self._index, self._quote = index, quote
        low = max(start - reach[0], 0)
        window = index.keys[low : max(start, 0) + len(quote.keys) + reach[1]]
        self._exact: dict[int, int] = {}
        steps: list[_Step] = []
        for is_equal, i1, i2, f1, f2 in steps_between(quote.keys, window):
            if is_equal:
                self._exact |= {i: low + f1 + i - i1 for i in range(i1, i2)}
            elif steps and (steps[-1].i2, steps[-1].f2) == (i1, low + f1):
                steps[-1] = steps[-1]._replace(i2=i2, f2=low + f2)
            else:
                steps.append(_Step(i1, i2, low + f1, low + f2))
        bounded = map(self._bounded, self._with_swapped(self._closed(steps)))
        self.steps = tuple(step for step in bounded if step.rows or step.numbers)

    @property
    def is_rival(self) -> bool:
        """Whether `old` may mean the place though it doesn't quote it: all that goes is just so, the rest alike."""
        gone = {*range(len(self._quote.rows))} - self._quote.stays.keys()
        return self.read is None and gone <= self._exact.keys() and all(map(self._is_alike, self.steps))

    def _is_alike(self, step: _Step) -> bool:
        return len(step.rows) == len(step.numbers) and all(map(are_alike, *self._both(step)))

    def is_nearer(self, other: _Place) -> bool:
        """Whether as little is otherwise here as at the other place, or far less where the two share lines."""
        is_apart = self._exact.items().isdisjoint(other._exact.items())
        return self.cost <= other.cost if is_apart else 2 * self.cost < other.cost

    @property
    def span(self) -> tuple[int, int]:
        """Where the place is in the text."""
        numbers = [*self._exact.values(), *(number for step in self.steps for number in step.numbers)]
        return self._index.starts[min(numbers)], self._index.ends[max(numbers)]

    @cached_property
    def cost(self) -> int:
        """How many characters of `old` and of the file have no counterpart."""
        ours, theirs = self._quote.keys, self._index.keys
        both = (("\n".join(ours[i1:i2]), "\n".join(theirs[f1:f2])) for i1, i2, f1, f2 in self.steps)
        return sum(Indel.distance(*each) for each in both)

    @cached_property
    def read(self) -> tuple[str, str, str] | None:
        """Return what is forgiven and both strings; None where `old` says something else."""
        if sum(len(step.rows) for step in self.steps) > _MOST_OTHERWISE or not self._is_placed():
            return None
        quote, forgiven = self._quote, dict[str, None]()
        ours, theirs = [*quote.ours], [*quote.theirs]
        for step in sorted([*self.steps, *self._spaced()], reverse=True):
            slip = self._slip(step)
            if not slip and self._may_be_typed_so(step):
                continue
            lines = self._lines(step) if slip and quote.is_told_apart(step) else None
            if lines is None:
                return None
            forgiven[slip] = None
            after = quote.after_left_out(step.i1) if slip == _LEFT_OUT else None
            _put(ours, step, quote.rows.__getitem__, lines)
            if after is not None:
                theirs[after:after] = lines
            elif step.rows and quote.is_together(step.i1, step.i2 - 1):
                _put(theirs, step, quote.stays.__getitem__, lines)
        return ("; ".join(forgiven), "\n".join(ours), "\n".join(theirs)) if forgiven else None

    # where it is

    def _closed(self, steps: list[_Step]) -> list[_Step]:
        """Return the steps, where the end of `old` is just so as many lines below the last one as rows are otherwise:
        a brace closes what it is next to.
        """
        if not steps:
            return steps
        i1, i2, f1, f2 = steps[-1]
        end, tail = f1 + i2 - i1, self._quote.keys[i2:]
        if i1 == i2 or end >= f2 or not tail or tail != self._index.keys[end : end + len(tail)]:
            return steps
        self._exact |= {row: end + row - i2 for row in range(i2, len(self._quote.keys))}
        return [*steps[:-1], _Step(i1, i2, f1, end)]

    def _with_swapped(self, steps: list[_Step]) -> list[_Step]:
        """Return the steps, with one for two that have the same lines in another order."""
        keys, known, out = self._quote.keys, self._index.keys, list[_Step]()
        for step in steps:
            before = out[-1] if out else None
            if before and not (before.rows and step.rows):
                count = step.i2 - before.i1
                f1, f2 = (step.f2 - count, step.f2) if before.i1 == 0 else (before.f1, before.f1 + count)
                if before.i1 == 0 or step.i2 == len(keys) or f2 == step.f2:
                    joint = _Step(before.i1, step.i2, f1, f2)
                    if Counter(keys[joint.i1 : joint.i2]) == Counter(known[f1:f2]):
                        out[-1] = joint
                        self._exact = {row: number for row, number in self._exact.items() if row not in joint.rows}
                        continue
            out.append(step)
        return out

    def _bounded(self, step: _Step) -> _Step:
        """Return the step without lines of the file that lie before or behind what `old` quotes."""
        i1, i2, f1, f2 = step
        count = i2 - i1
        if i1 and i2 < len(self._quote.rows):
            return step
        most = min(2 * count + 2, f2 - f1) if count <= _MOST_OTHERWISE else 0
        ends = [(f2 - n, f2) if i1 == 0 else (f1, f1 + n) for n in range(1, most + 1) if count]
        wrapped = [end for end in ends if self._are_wrapped(_Step(i1, i2, *end))]
        usual = (max(f1, f2 - count), f2) if i1 == 0 else (f1, min(f2, f1 + count))
        return _Step(i1, i2, *(wrapped[0] if wrapped else usual))

    def _is_placed(self) -> bool:
        """Whether lines that are just so, or have the same words, one behind the other, are enough to know the place
        by.
        """
        keys, run, known = self._index.keys, list[str](), {*self._exact.values()}
        for step in filter(lambda step: step.rows, self.steps):
            is_told = comment_mark(self._quote.line(step.i1)) or self._quote.is_together(step.i1, step.i2 - 1)
            if are_permuted(*self._both(step)) or (is_told and self._are_wrapped(step)):
                known.update(step.numbers)
        before = -2
        for number in [*sorted(known), len(keys) + 1]:
            if number != before + 1:
                times = (keys[at : at + len(run)] == run for at, key in enumerate(keys) if run and key == run[0])
                if sum(map(word_chars, run)) >= _FEWEST_TELLING_CHARS and sum(times) == 1:
                    return True
                run = []
            run, before = [*run, *keys[number : number + 1]], number
        return False

    def _spaced(self) -> Iterator[_Step]:
        """Yield each row that stays and has blanks within it otherwise, if new lines don't have that, too."""
        written = {*tokens_of("\n".join(self._quote.brought))}
        for row, number in self._exact.items():
            signs = spaced_otherwise(self._quote.line(row), self._index.line(number))
            if row in self._quote.stays and signs is not None and written.isdisjoint(signs):
                yield _Step(row, row + 1, number, number + 1)

    # what it is

    def _slip(self, step: _Step) -> str:
        """Name how the file has a stretch otherwise; empty where it is another."""
        if self._exact.get(step.i1) == step.f1 and step.rows:
            return _SPACING
        if not step.rows:
            return _LEFT_OUT if self._may_be_left_out(step) else ""
        if self._quote.is_together(step.i1, step.i2 - 1):
            return self._named(step) if self._says_the_same(step) else ""
        if not step.numbers:
            return ""
        if self._is_told_otherwise(step):
            return _ORDER
        return _ONE_OF_MANY if self._is_one_of_many(step) else ""

    def _named(self, step: _Step) -> str:
        """Name the slip of rows that say the same as the file's lines: that of the pen where it is one."""
        ours, theirs = self._both(step)
        return (len(ours) == len(theirs) == 1 and slip_between(ours[0], theirs[0], self._index.text)) or OTHERWISE

    def _may_be_left_out(self, step: _Step) -> bool:
        """Whether `old` may lack the lines: statements that open and close nothing, where nothing comes or goes."""
        lines = [*map(self._index.line, step.numbers)]
        if len(lines) > _MOST_LEFT_OUT or self._quote.after_left_out(step.i1) is None:
            return False
        opens = any(line.rstrip().endswith(OPENERS) for line in lines)
        return not opens and not opened("\n".join(lines)) and lines[0].strip()[:1] not in ")]}"

    def _says_the_same(self, step: _Step) -> bool:
        """Whether rows that stay resemble the lines of the file, which nothing else does more."""
        i1, i2, f1, f2 = step
        if f1 == f2:
            return self._is_invented(step)
        if self._stands(step):  # what the file has isn't had otherwise
            return False
        if are_permuted(*self._both(step)) or self._are_wrapped(step):
            return True
        if i2 - i1 == f2 - f1:
            return all(map(self._is_same_line, step.rows, step.numbers))
        ours, theirs = self._quote.keys[i1:i2], self._index.keys[f1:f2]
        is_within = i1 > 0 and i2 <= self._quote.last and self._quote.is_together(i1 - 1, i2)
        return is_within and Indel.normalized_similarity("".join(ours), "".join(theirs)) >= _LEAST_ALIKE_APART

    def _stands(self, step: _Step) -> bool:
        """Whether the file has the rows somewhere as they are, one behind the other."""
        keys, rows = self._index.keys, self._quote.keys[step.i1 : step.i2]
        return any(key == rows[0] and keys[at : at + len(rows)] == rows for at, key in enumerate(keys))

    def _is_invented(self, step: _Step) -> bool:
        """Whether the rows are comments that the file lacks."""
        keys = {*self._quote.keys[step.i1 : step.i2]}
        is_within = step.i1 > 0 and step.i2 <= self._quote.last and keys.isdisjoint(self._index.keys)
        return is_within and all(is_whole_comment(self._quote.line(row)) for row in step.rows)

    def _is_same_line(self, row: int, number: int) -> bool:
        """Whether a row may be the file's line, which is more like it than any other."""
        ours, theirs = self._quote.keys[row], self._index.keys[number]
        line, file = self._quote.line(row), self._index.line(number)
        alike = Indel.normalized_similarity(ours, theirs)
        if alike < _LEAST_ALIKE or ours in self._index.keys or is_commented(line) != is_commented(file):
            return False
        if self._names_another(row, number) or self._is_brought(line, file):
            return False
        likest = process.extract_iter(ours, self._index.keys, scorer=Indel.normalized_similarity, score_cutoff=alike)
        return all(key == theirs for key, _, _ in likest)

    def _names_another(self, row: int, number: int) -> bool:
        """Whether a row names another block than the file's line does: the head of one that a change lies in."""
        if not self._is_head(number) or (row in self._quote.stays and not self._quote.changes_below(row)):
            return False
        ours, theirs = self._quote.line(row), self._index.line(number)
        mine, file = (WORDS.findall(line.partition("(")[0]) for line in (ours, theirs))
        if WORDS.findall(ours) == WORDS.findall(theirs) and tokens_of(ours)[-1] == tokens_of(theirs)[-1]:
            return not {*tokens_of(ours)} ^ {*tokens_of(theirs)} <= {*"()"}
        is_more = {*mine} < {*file} or {*file} < {*mine}  # as a modifier is, before the same name
        is_same = is_more and mine[-1:] == file[-1:] and ours.partition("(")[2] == theirs.partition("(")[2]
        return "(" not in ours or (not is_same and (len(mine) < 2 or mine != file))

    def _is_head(self, number: int) -> bool:
        index = self._index
        line, below = index.line(number), index.line(number + 1) if number + 1 < len(index.keys) else ""
        goes_on = line.rstrip().endswith(OPENERS) or below.strip() in ("{", "where")
        return goes_on or len(indent_of(below)) > len(indent_of(line))

    def _is_brought(self, ours: str, theirs: str) -> bool:
        """Whether new lines have a word of a row that the file hasn't at all, or may have its style."""
        brought = self._quote.brought
        words = {word for word in WORDS.findall(ours) if not word.isdigit()} & {*WORDS.findall("\n".join(brought))}
        known = {char for row in self._exact for char in self._quote.line(row)}
        return not words <= self._words or may_spread(ours, theirs, brought, known)

    @cached_property
    def _words(self) -> set[str]:
        text = self._index.text
        known = {*WORDS.findall(text)}
        is_free = PurePath(self._index.path).name.lower().endswith(_CASELESS)
        return known | {*map(str.lower, known), *map(str.upper, known)} if is_free else known

    def _is_told_otherwise(self, step: _Step) -> bool:
        """Whether rows that go, or change in part, say the same in another order, spelling or with other breaks."""
        ours, theirs = self._both(step)
        if self._are_wrapped(step) and all(map(word_chars, theirs)):
            return True
        if any(row in self._quote.stays for row in step.rows):
            return False
        if Counter(self._quote.keys[step.i1 : step.i2]) == Counter(self._index.keys[step.f1 : step.f2]):
            return True
        is_spelt_so = are_spelt_so(ours, theirs) and not self._is_brought("\n".join(ours), "\n".join(theirs))
        return (is_spelt_so or are_permuted(ours, theirs)) and not self._is_kept(step)

    def _is_one_of_many(self, step: _Step) -> bool:
        """Whether the row that goes is a comment in other words or one without the comment behind it, or if it is one
        of many that go and are just so.
        """
        (row, *rows), (number, *numbers) = step.rows, step.numbers
        ours, theirs = self._quote.line(row), self._index.line(number)
        if rows or numbers or self._is_head(number) or self._is_kept(step) or not self._is_same_line(row, number):
            return False
        if TELLING.findall(ours) != TELLING.findall(theirs):
            return False
        if is_without_comment(ours, theirs):
            comment = theirs.strip()[len(ours.strip()) :].strip()
            return not self._quote.brought or any(comment in line for line in self._quote.brought)
        return is_whole_comment(ours) or self._goes_with_many(row)

    def _goes_with_many(self, row: int) -> bool:
        gone = self._exact.keys() - self._quote.stays.keys()
        first = last = row
        while first - 1 in gone:
            first -= 1
        while last + 1 in gone:
            last += 1
        beside = [self._quote.keys[other] for other in range(first, last + 1) if other != row]
        return len(beside) > 1 and sum(map(word_chars, beside)) >= _FEWEST_BESIDE_CHARS

    def _is_kept(self, step: _Step) -> bool:
        """Whether new lines have a spot of the rows as these have it, and not the file: it would be written so."""
        ours, theirs = ("\n".join(lines) for lines in self._both(step))
        return has_spot(ours, theirs, "\n".join(self._quote.brought))

    def _may_be_typed_so(self, step: _Step) -> bool:
        """Whether a row that changes may be the file's line but for a slip of the pen, which isn't told here."""
        is_one = len(step.rows) == len(step.numbers) == 1 and step.i1 not in self._quote.stays
        return is_one and are_alike(self._quote.keys[step.i1], self._index.keys[step.f1])

    def _both(self, step: _Step) -> tuple[list[str], list[str]]:
        """Return the rows and the file's lines as they are."""
        return [*map(self._quote.line, step.rows)], [*map(self._index.line, step.numbers)]

    def _are_wrapped(self, step: _Step) -> bool:
        return are_wrapped(*self._both(step))

    # the file's lines

    def _lines(self, step: _Step) -> list[str] | None:
        """Return the file's lines as deep as `old` would have them; None where that can't be told."""
        if not step.numbers:
            return []
        index = self._index
        depths: dict[str, set[str]] = {}
        for row, number in self._exact.items():
            depths.setdefault(indent_of(index.line(number)), set()).add(indent_of(self._quote.line(row)))
        is_file = all(ours == {file} for file, ours in depths.items())
        out: list[str] = []
        for line in index.text[index.starts[step.f1] : index.ends[step.f2 - 1]].split("\n"):
            indent = indent_of(line)
            found = depths.get(indent, {indent} if is_file or not line.strip() else set[str]())
            if len(found) != 1 and len(step.rows) == len(step.numbers):
                found = {indent_of(self._quote.line(step.i1 + sum(bool(fold(other)) for other in out)))}
            if len(found) != 1:
                return None
            out.append(next(iter(found)) + line[len(indent) :])
        return out


def _put(string: list[str], step: _Step, number: Callable[[int], int], lines: list[str]) -> None:
    """Put lines in the place of the rows of a step, or behind the row before it, by the numbers of rows in a string."""
    first, last = (number(step.i1), number(step.i2 - 1) + 1) if step.rows else (number(step.i1 - 1) + 1,) * 2
    string[first:last] = lines
