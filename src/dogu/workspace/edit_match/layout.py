"""What the file has otherwise since it was read: what a formatter adds and takes away (commas before a closing bracket,
the slash of a void tag, semicolons at the ends of lines), and a part of the edit that is made already.

The place of a form is found in views of both texts without any of these; then `old` and `new` get those that the file
has there, and the other stages go on with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, combinations
from pathlib import PurePath
from typing import NamedTuple

from dogu.language import sentence
from dogu.workspace.diff import Change, changed_ranges
from dogu.workspace.edit_match.alignment import singly, word_chars
from dogu.workspace.edit_match.apply import GOES_ON
from dogu.workspace.edit_match.find import folded_places
from dogu.workspace.edit_match.rows import opcodes
from dogu.workspace.edit_match.unescape import Reading
from dogu.workspace.edit_match.views import FoldedText, View, substituted

_MOST_CHARS = 50_000
_LONGEST_TEXT_CHARS = 1_000_000
_TAG_CHARS = 1000
_STAGE = sentence("layout")
_HALF_MADE = sentence("a part of the change is made already")
_MOST_CHANGES = 5
_TOKEN = re.compile(r"\w+|\s+|.")
_WORDS = re.compile(r"\w+")
_LINE_END = re.compile(r"[ \t]*\n")
_OPENERS = {")": "(", "]": "[", "}": "{"}


class _Form(NamedTuple):
    """What may be there or not, in files of which kinds (None: all), and what must stand before it."""

    forgiven: str
    pattern: re.Pattern[str]
    kinds: frozenset[str] | None = None
    head: re.Pattern[str] | None = None
    usual: re.Pattern[str] = re.compile(r"(?!)")  # what shows that a file has it elsewhere
    is_between: bool = False  # parts that a bracket holds, of which new ones may be the last


_FORMS = (
    _Form(
        sentence("commas before closing brackets"),
        re.compile(r",(?=\s*[)\]}])"),
        usual=re.compile(r",[ \t]*\n\s*[)\]}]"),
        is_between=True,
    ),
    _Form(
        sentence("slashes of void tags"),
        re.compile(r"[ \t]*/(?=>)"),
        frozenset(".html .htm .vue .svelte .php .erb .hbs .ejs .md .jsx .tsx".split()),
        re.compile(r"<(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b[^<>]*\Z", re.IGNORECASE),
    ),
    _Form(
        sentence("semicolons at the ends of lines"),
        re.compile(r";(?=[ \t]*(?:\n|\Z))"),
        frozenset(".js .jsx .mjs .cjs .ts .tsx .vue .svelte".split()),
        usual=re.compile(r"[)\]];[ \t]*$", re.MULTILINE),
    ),
)


def laid_out(folded: FoldedText, old: str, new: str) -> Iterator[Reading]:
    """Yield both strings with one kind of form as the file has it where `old` is, if that is one place."""
    kind = PurePath(folded.path).suffix.lower()
    is_short = len(old) + len(new) < _MOST_CHARS and len(folded.text) < _LONGEST_TEXT_CHARS
    for form in _FORMS if is_short else ():
        spots = _spots(form, folded, old) if form.kinds is None or kind in form.kinds else []
        if spots:
            read = _with_spots(form, spots, old, new)
            if read is not None:
                yield Reading(_STAGE, form.forgiven, *read, True)


def half_made(old: str, new: str) -> Iterator[Reading]:
    """Yield `old` with some of the changes, and not all, as `new` has them: of those that bring words and no fewer
    lines, which a slip in `old` doesn't look like.
    """
    ours, theirs = (string.split("\n") for string in (old, new))
    changes = [part for change in changed_ranges(ours, theirs) for part in _line_by_line(change)]
    come = [theirs[change.new_start : change.new_end] for change in changes]
    gone = [ours[change.old_start : change.old_end] for change in changes]
    telling = [
        number
        for number, (before, after) in enumerate(zip(gone, come, strict=True))
        if len(after) >= len(before) and _WORDS.findall("\n".join(after)) != _WORDS.findall("\n".join(before))
    ]
    if not 1 < len(changes) <= _MOST_CHANGES:
        return
    for count in range(1, min(len(telling) + 1, len(changes))):
        for made in combinations(telling, count):
            lines, at = list[str](), 0
            for number, change in enumerate(changes):
                lines += ours[at : change.old_start]
                lines += come[number] if number in made else gone[number]
                at = change.old_end
            yield Reading(_HALF_MADE, _HALF_MADE, "\n".join([*lines, *ours[at:]]), new, True)


def _line_by_line(change: Change) -> list[Change]:
    """Return the change of each line where as many give way as come."""
    count = change.old_end - change.old_start
    if count != change.new_end - change.new_start:
        return [change]
    starts = zip(range(change.old_start, change.old_end), range(change.new_start, change.new_end), strict=True)
    return [Change(old, old + 1, new, new + 1) for old, new in starts]


class _Spot(NamedTuple):
    """What stands for `old[start:end]` in the file: one of both is empty. Where it `is_usual`, it is so whatever new
    lines come beside it.
    """

    start: int
    end: int
    file: str
    is_usual: bool


def _spots(form: _Form, folded: FoldedText, old: str) -> list[_Spot]:
    """Return where `old` differs from the file by the form, ascending; none where it is at no place, or at several."""
    ours, theirs = (substituted(text, form.pattern, lambda _match: "") for text in (old, folded.text))
    if not ours.starts and not theirs.starts:
        return []
    places = folded_places(FoldedText(theirs.text, folded.path), ours.text, at_most=2)
    if len(places) != 1:
        return []
    place = places[0]
    counterparts = {unit.end - 1: unit.old_end - 1 for unit in singly(place.units)}
    mine = dict(_occurrences(ours, old, 0, len(old)))
    file = {counterparts.get(at, -1): span for at, span in _occurrences(theirs, folded.text, place.start, place.end)}
    if -1 in file:
        return []
    if form.is_between:
        ends = {before: theirs.to_source(end) + 1 for end, before in counterparts.items()}
        usual = {at for at in mine if at in ends and _LINE_END.match(folded.text, ends[at])}
    else:
        usual = set[int]()
    usual = usual if form.usual.search(folded.text) else {*mine}
    found = [_Spot(*mine[at], "", at in usual) for at in mine.keys() - file.keys()]
    for at in file.keys() - mine.keys():
        start = ours.to_source(at) + 1
        found.append(_Spot(start, start, folded.text[slice(*file[at])], False))
    is_end = {spot.start for spot in found} == {len(old)}  # where a line is sent without its end, nothing is lost
    heads = [form.head.search(old, max(0, spot.start - _TAG_CHARS), spot.start) for spot in found if form.head]
    return [] if is_end or None in heads else sorted(found)


def _occurrences(view: View, text: str, start: int, end: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the view's position of what stands before each form between both positions of it, and where that is in the
    `text`.
    """
    for at, first, last in zip(view.starts, view.source_starts, view.source_ends, strict=True):
        before = at - 1
        while before > start and view.text[before].isspace():
            before -= 1
        if start <= before < end:
            yield before, (first, last)


def _with_spots(form: _Form, spots: list[_Spot], old: str, new: str) -> tuple[str, str] | None:
    """Return both strings with the file's forms at the spots; None where new lines may lack one too."""
    shared = _Shared(old, new)
    read, edits = old, list[tuple[int, int, str]]()
    for spot in reversed(spots):
        read = read[: spot.start] + spot.file + read[spot.end :]
        edits += shared.between(spot) if form.is_between else shared.edit(spot)
    written = new
    for start, end, file in sorted({*edits}, reverse=True):
        written = written[:start] + file + written[end:]
    written = _moved(spots, old, read, written)
    added = [line for line in written.split("\n") if line not in {*read.split("\n")}]
    if form.is_between or not added:
        return read, written
    if not all(spot.is_usual and not spot.file for spot in spots):
        return (read, written) if shared.is_paired else None
    return read, "\n".join(_without(form, line) if line in added else line for line in written.split("\n"))


def _moved(spots: list[_Spot], old: str, read: str, new: str) -> str:
    """Return `new` with the lines of words that `old` has otherwise than the file as the file has them, wherever they
    stand now.
    """
    told = {old.count("\n", 0, spot.start) for spot in spots if spot.file or spot.is_usual}
    ours, theirs, lines = (text.split("\n") for text in (old, read, new))
    known = {ours[number].strip(): theirs[number].strip() for number in told}
    for number, line in enumerate(lines):
        key = line.strip()
        below = "".join(lines[number + 1 : number + 2]).lstrip()
        is_last = not key.endswith(",") or below.startswith((*_OPENERS,))
        if key in known and word_chars(key) and is_last and (below[:1] in _OPENERS or not GOES_ON.match(below)):
            lines[number] = line.replace(key, known[key])
    return "\n".join(lines)


def _without(form: _Form, line: str) -> str:
    found = reversed([*form.pattern.finditer(line)])
    for match in found:
        if form.head is None or form.head.search(line, 0, match.start()):
            line = line[: match.start()] + line[match.end() :]
    return line


class _Shared:
    """Where what `old` has is in `new`: token by token in lines that both have or that take another's place."""

    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._line_ends: dict[int, int] = {}
        self.is_paired = True  # every line of `new` has its counterpart
        lines = [text.split("\n") for text in (old, new)]
        at = [[0, *accumulate(len(line) + 1 for line in each)] for each in lines]
        for tag, i1, i2, j1, j2 in opcodes(*([line.strip() for line in each] for each in lines)):
            if tag == "equal" or i2 - i1 == j2 - j1:
                for i, j in zip(range(i1, i2), range(j1, j2), strict=True):
                    self._pair((lines[0][i], at[0][i]), (lines[1][j], at[1][j]))
            elif any(line.strip() for line in lines[1][j1:j2]):
                self.is_paired = False

    def _pair(self, *both: tuple[str, int]) -> None:
        ours, theirs = ([*_TOKEN.finditer(line)] for line, _ in both)
        (_, start), (_, at) = both
        for tag, i1, i2, j1, _ in opcodes([token[0] for token in ours], [token[0] for token in theirs]):
            for k in range(i2 - i1) if tag == "equal" else ():
                self._starts[start + ours[i1 + k].start()] = at + theirs[j1 + k].start()
                self._ends[start + ours[i1 + k].end()] = at + theirs[j1 + k].end()
        self._line_ends[start + len(both[0][0].rstrip())] = at + len(both[1][0].rstrip())

    def edit(self, spot: _Spot) -> Iterator[tuple[int, int, str]]:
        """Yield what to replace in `new` for what is at the end of a line, or within one."""
        mine = self._old[spot.start : spot.end]
        end = self._line_ends.get(spot.end)
        at = (self._starts if mine else self._ends).get(spot.start) if end is None else end - len(mine)
        if at is None or not self._new.startswith(mine, at):
            return
        if mine or not (self._new.startswith(spot.file, at) or self._new[:at].endswith((*"([{,;",))):
            yield at, at + len(mine), spot.file

    def between(self, spot: _Spot) -> Iterator[tuple[int, int, str]]:
        """Yield what to replace in `new` for what is before a closing bracket, and behind what was the last part there
        and no longer is.
        """
        closer = spot.end + len(self._old[spot.end :]) - len(self._old[spot.end :].lstrip())
        at, part = self._starts.get(closer), self._ends.get(spot.start)
        stop = len(self._new[:at].rstrip()) if at is not None else 0
        if spot.file and part is not None and part != stop and _ends_part(self._new, part):
            yield part, part, spot.file
        if at is None or self._new[stop - 1 : stop] in (*"([{", ""):
            return
        has_it = self._new[stop - 1] == ","
        if spot.file and not has_it and "\n" in self._new[stop:at]:
            yield stop, stop, spot.file
        is_usual = spot.is_usual or _lines_within(self._old, closer) == _lines_within(self._new, at)
        if not spot.file and has_it and is_usual:  # laid out anew it is as sent
            yield stop - 1, stop, ""


def _ends_part(text: str, at: int) -> bool:
    """Whether a line of words ends there, and the one below doesn't go on from it."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    rest, _, below = text[at:].partition("\n")
    return not rest.strip() and word_chars(line) > 0 and GOES_ON.match(below) is None


def _lines_within(text: str, end: int) -> int:
    """Return on how many lines what the next closing bracket behind `end` closes has begun above that."""
    closer = next((char for char in text[end:] if char in _OPENERS), ")")
    depth = 0
    for at in range(end - 1, -1, -1):
        depth += (text[at] == closer) - (text[at] == _OPENERS[closer])
        if depth < 0:
            return text.count("\n", at, end)
    return text.count("\n", 0, end)
