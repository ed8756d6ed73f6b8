"""Write the change from `old` to `new` into the place of the file that `old` means.

Lines that `old` and `new` share are unchanged: the file keeps its own bytes there, whatever the model garbled in
them. Changed lines come from `new`, taken back through the differences learnt from the aligned ones: indentation and
look-alike characters. Where that can't be done without guessing, `UncleanError` is raised and nothing is written.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

from dogu.workspace.edit_match.alignment import Place, Unit, has_comment, word_chars
from dogu.workspace.edit_match.characters import CharacterMap
from dogu.workspace.edit_match.indentation import OPENERS, indent_of, indentation_map
from dogu.workspace.edit_match.merge import merged
from dogu.workspace.edit_match.result import Replacement, UncleanError
from dogu.workspace.edit_match.rows import Row, Rows, opcodes, shared_lines, terms_of
from dogu.workspace.edit_match.tables import Columns, even_columns, evened
from dogu.workspace.edit_match.verify import verify
from dogu.workspace.edit_match.views import fold

GOES_ON = re.compile(r"\s*(?:[+*.&|?:=,)\]}%>]|-(?!-)|/(?![/*])|<(?![\w!/]))")
# A comment, a heading, an attribute: what is of the line below.
_LEADS = re.compile(r"\s*(?:#|//|--\s|/\*|\*/|@\w|\[\w[\w.]*[](])")
_STYLES = str.maketrans('"`', "''")
_AROUND_CHARS = 5000
_LONG_CHARS = 100_000
_MARGIN_LINES = 300
_FEWEST_WORD_CHARS = 8


def weave(place: Place, new: str, *, keep_garbled: bool = False, as_file: bool | None = None) -> list[Replacement]:
    """Return the replacements, ascending and apart, that make the change; raise `UncleanError` where that would be a
    guess.

    With `keep_garbled` a line that differs from the file's in more than white space at its ends changes only away from
    where it does, and those spots stay the file's. `as_file` says whether the depths of `new` are the file's, where
    that is known.
    """
    place, new = _near_changes(place, new)
    weaver = _Weaver(place, new, keep_garbled=keep_garbled, as_file=as_file)
    pieces = _joined([*weaver.changes(), *weaver.final_newline()])
    verify(place, new, pieces)
    return pieces


def split_lines(old: str, new: str) -> tuple[list[str], list[str]]:
    """Split both into lines; a final newline of `old` ends its last line, and then that of `new` does too."""
    if not old.endswith("\n"):
        return old.split("\n"), new.split("\n")
    return old[:-1].split("\n"), new.removesuffix("\n").split("\n") if new else []


def _near_changes(place: Place, new: str) -> tuple[Place, str]:
    """Return of a long edit what lies within some hundred lines of a change: what both strings share stays as it is."""
    old = place.old
    if len(old) < _LONG_CHARS or place.slips:
        return place, new
    ours, theirs = old.split("\n"), new.split("\n")
    most = min(len(ours), len(theirs)) - 1
    head = next((i for i in range(most) if ours[i] != theirs[i]), most)
    tail = next((i for i in range(most - head) if ours[-1 - i] != theirs[-1 - i]), most - head)
    head, tail = max(head - _MARGIN_LINES, 0), max(tail - _MARGIN_LINES, 0)
    while head and not ours[head].strip():
        head -= 1
    while tail and not ours[-1 - tail].strip():
        tail -= 1
    start, rest = (sum(len(line) + 1 for line in lines) for lines in (ours[:head], ours[len(ours) - tail :]))
    stop = len(old) - rest
    units = [
        Unit(one.old_start - start, one.old_end - start, one.start, one.end)
        for one in place.units
        if start <= one.old_start < stop
    ]
    if any(one.old_start < edge < one.old_end for one in place.units for edge in (start, stop)):
        return place, new
    return replace(place, old=old[start:stop], units=units), new[start : len(new) - rest]


class _Weaver:
    def __init__(self, place: Place, new: str, *, keep_garbled: bool, as_file: bool | None) -> None:
        old_lines, self.new = split_lines(place.old, new)
        self.drops_newline = place.old.endswith("\n") and bool(new) and not new.endswith("\n")
        self.place = place
        self.keep_garbled = keep_garbled
        self.at = Rows(place, old_lines, self.new)
        self.rows = self.at.rows
        self.indent, self.lost_head = indentation_map(
            self.at.indentations, self._texts, may_lose_head=not self.at.cut_head
        )
        if self._begins_without_indent():
            self.indent, self.lost_head = str, True
        self.characters = CharacterMap(place)
        self.padding = self.at.padding()
        self.keys = [fold(row.text) for row in self.rows]
        self.new_keys = [fold(line) for line in self.new]
        pairs = shared_lines(self.keys, self.new_keys)
        self.same = {j: i for i, j in pairs}
        self.terms = terms_of(self.at, self.new, pairs, lost_head=self.lost_head, as_file=as_file)
        # Compared as `new` has them, not as they were sent: a line that the model garbled alike in both is no change.
        self.old = [self._in_terms_of_new(i) for i in range(len(self.rows))]

    def _begins_without_indent(self) -> bool:
        """Whether `old` is one line without its indentation, and the lines of `new` below its first one have it."""
        pairs = self.at.indentations
        if not self.new or len(pairs) != 1 or pairs[0][0] or not pairs[0][1]:
            return False
        if self.at.cut_head or indent_of(self.new[0]):
            return False
        below = [line for line in self.new[1:] if line.strip()]
        goes_on = self.new[0].rstrip().endswith(OPENERS) or (below and GOES_ON.match(below[0]))
        return bool(below) and not goes_on and all(indent_of(line).startswith(pairs[0][1]) for line in below)

    def _texts(self) -> tuple[str, str]:
        """Return the model's strings and the file around the place: what each indents a block by."""
        start = max(0, self.place.start - _AROUND_CHARS)
        around = self.place.text[start : self.place.end + _AROUND_CHARS]
        return "\n".join([self.place.old, *self.new]), around[around.find("\n") + 1 if start else 0 :]

    def _in_terms_of_new(self, i: int) -> str:
        """Return the row as `new` would have it unchanged: as it was sent, or as the file has it."""
        row = self.rows[i]
        text = row.text
        if row.units and self.terms.words:
            text = indent_of(text) + self.at.file_text(i).lstrip()
        if row.units and self.terms.indentation and self.at.begins_line(i):
            text = self.at.file_indent(i) + text.lstrip()
        return text

    def changes(self) -> list[Replacement]:
        """Return the replacements for each stretch of lines that differs between `old` and `new`."""
        out: list[Replacement] = []
        for old, new in self._hunks():
            if len(old) != len(new):
                out += self._hunk(old, new)
                continue
            # As many as before: each takes one's place, so that a line that can't be written spoils no other.
            for i, j in zip(old, new, strict=True):
                if self._is_within_line(i):
                    out += self._within(i, j)
                else:
                    out += self._hunk(range(i, i + 1), range(j, j + 1))
        return out

    def _hunks(self) -> list[tuple[range, range]]:
        """Return the rows and the new lines that differ; where there are more or fewer, with those beside them that
        stand on the same lines of the file.
        """
        # Models drop blanks at the end of lines, so these alone are a change only where `old` had them right.
        ours, theirs = [line.rstrip() for line in self.old], [line.rstrip() for line in self.new]
        found: list[tuple[range, range]] = []
        for tag, i1, i2, j1, j2 in opcodes(ours, theirs):
            hunks = [(range(i1, i2), range(j1, j2))]
            if tag == "equal":
                pairs = zip(range(i1, i2), range(j1, j2), strict=True)
                hunks = [(range(i, i + 1), range(j, j + 1)) for i, j in pairs if self._changes_trailing_blanks(i, j)]
            elif i2 - i1 != j2 - j1:
                hunks = [self._whole_lines(*hunks[0])]
            for old, new in hunks:
                while found and found[-1][0].stop > old.start:
                    one, other = found.pop()
                    old = range(min(one.start, old.start), max(one.stop, old.stop))
                    new = range(min(other.start, new.start), max(other.stop, new.stop))
                found.append((old, new))
        return found

    def _whole_lines(self, old: range, new: range) -> tuple[range, range]:
        """Return both with the lines beside them that stand on the same lines of the file."""
        i1, i2, j1, j2 = old.start, old.stop, new.start, new.stop
        while i1 > 0 and j1 > 0 and self._share_line(i1):
            i1, j1 = i1 - 1, j1 - 1
        while i2 < len(self.rows) and j2 < len(self.new) and self._share_line(i2):
            i2, j2 = i2 + 1, j2 + 1
        return range(i1, i2), range(j1, j2)

    def _share_line(self, i: int) -> bool:
        """Whether what is before row `i` ends on the line of the file that it begins on."""
        return self.at.above[i] >= self.at.below[i]

    def _is_within_line(self, i: int) -> bool:
        """Whether other rows stand on the lines of the file that row `i` does."""
        return self.rows[i].units != [] and (self._share_line(i) or self._share_line(i + 1))

    def _within(self, i: int, j: int) -> list[Replacement]:
        """Write a new line over a row that is a part of a line of the file."""
        row, body = self.rows[i], self.new[j]
        if indent_of(body) != indent_of(self.old[i]) or not body.strip() or (self.at.cut_tail and i == self.at.tail):
            raise UncleanError("a line that is wrapped otherwise in the file changes only in part")
        if self.old[i].strip() == body.strip():
            return []
        end = max(
            unit.end for unit in row.units if unit.old_end <= len(row.text)
        )  # its line break may stand for a sign
        return [Replacement(row.units[0].start, end, self._merged(row, body.strip()))]

    def _changes_trailing_blanks(self, i: int, j: int) -> bool:
        """Whether `new` changes the blanks at the end of a line that `old` has there as the file does."""
        row = self.rows[i]
        if not row.is_held or (self.at.cut_tail and i >= self.at.tail):
            return False
        file = self.at.line(row.last)
        ours, theirs, wanted = (text[len(text.rstrip()) :] for text in (row.text, file, self.new[j]))
        return ours == theirs != wanted and bool(file.strip()) == bool(row.text.strip())

    def _hunk(self, old: range, new: range) -> list[Replacement]:
        """Write the lines `new` where the rows `old` stand."""
        body = [self._evened(self._render(j, partner, old)) for j, partner in self._partners(old, new)]
        held = [i for i in old if self._stands_on_a_line(i)]
        if not held:
            return self._insertion(old.start, body) if body else []
        self._check(old, held)
        words = {wrong for wrong, _ in self.place.words}
        if not body and any(self.rows[i].slips and any(word in self.rows[i].text for word in words) for i in held):
            raise UncleanError("a line goes that old_string has with another word than the file")
        first, last = self.rows[held[0]].first, self.rows[held[-1]].last
        if body:
            first, last = self._with_what_is_there(old, first, last, body)
        start, end = self.at.span(first, last)
        if body:
            return [Replacement(start, end, "\n".join(body))]
        if (start, end) != (self.at.starts[first], self.at.ends[last]):
            if len(self.rows) > 1:
                raise UncleanError("part of a line is deleted together with other lines")
            return [Replacement(start, end, "")]
        # Whole lines go with a newline, else an empty line stays; the last line of a file goes with the one before it.
        if end < len(self.place.text):
            return [Replacement(start, end + 1, "")]
        return [Replacement(max(start - 1, 0), end, "")]

    def _stands_on_a_line(self, i: int) -> bool:
        """Whether a row is held by a line of the file: what follows its last line break is none, and would take it."""
        row = self.rows[i]
        return row.is_held and self.at.starts[row.first] < len(self.place.text)

    def _check(self, old: range, held: list[int]) -> None:
        """Raise unless the rows `held` stand on lines of the file that are theirs alone, with none between them."""
        rows = self.rows
        block = range(max(old.start - 1, 0), min(old.stop + 1, len(rows)))
        told = [i for i in block if rows[i].fixed and (i in old or has_comment(rows[i].text))]
        if any(i in old or any(abs(i - k) == 1 and has_comment(rows[k].text) for k in held) for i in told):
            raise UncleanError("a comment changes that old_string tells in other words than the file")
        above, below = self.at.above[old.start], self.at.below[old.stop]
        if above >= rows[held[0]].first or below <= rows[held[-1]].last:
            raise UncleanError("a line that is wrapped otherwise in the file changes only in part")
        if any(rows[right].first > rows[left].last + 1 for left, right in pairwise(held)):
            raise UncleanError("lines of the file that old_string doesn't have lie between changed ones")

    def _with_what_is_there(self, old: range, first: int, last: int, body: list[str]) -> tuple[int, int]:
        """Return the lines `first` to `last` of the rows `old` with those beside them that `old` leaves out and the new
        lines bring again.
        """
        above, below = self.at.above[old.start] + 1, self.at.below[old.stop]
        before = [self.at.line(number).strip() for number in range(above, first)] if above else []
        after = [self.at.line(n).strip() for n in range(last + 1, below)] if below < len(self.at.starts) else []
        lines = [line.strip() for line in body]
        if before and lines[: len(before)] == before:
            first, lines = above, lines[len(before) :]
        if after and lines[-len(after) :] == after:
            last = below - 1
        return first, last

    def _insertion(self, i: int, body: list[str]) -> list[Replacement]:
        """Write new lines between the rows `i - 1` and `i`: after the row above, before the row below where none is
        above.

        Blank lines of the file that `old` leaves out there stay, and the new lines go to the side of them that their
        own blank lines say, else to the line more like them.
        """
        above, below = self.at.above[i], self.at.below[i]
        self._check_ends(above)
        if above < 0:
            return [self._before(below, body)]
        between = [self.at.line(number) for number in range(above + 1, below)] if below < len(self.at.starts) else []
        body, goes_below = _without_what_is_there(body, between)
        if not body:
            return []
        if not goes_below and any(line.strip() for line in between):
            if body[-1].strip() or not all(line.strip() for line in between):
                raise UncleanError("lines are added where the file has a comment that old_string doesn't have")
            # The comment leads the line below, and a blank line ends the new ones.
            return [self._before(above + 1, body)]
        if between and not goes_below and self._goes_on_above(above, below, body, len(between)):
            body = body[: -len(between)]  # the file's blank lines are those that `new` has below
        elif goes_below or (between and self._belongs_below(above, below, body)):
            if not goes_below and len(body) > 1 and not body[0].strip() and not body[-1].strip():
                body = body[1:]
            return [self._before(below, body)]
        position = self.at.ends[above]
        return [Replacement(position, position, "\n".join(["", *body]))]

    def _check_ends(self, above: int) -> None:
        """Raise where lines would come to stand beside a part of a line."""
        if above < 0 and self.at.cut_head:
            raise UncleanError("lines are added before part of a line")
        if self.at.cut_tail and above == self.rows[self.at.tail].last:
            raise UncleanError("lines are added after part of a line")

    def _before(self, number: int, body: list[str]) -> Replacement:
        position = self.at.starts[number]
        return Replacement(position, position, "\n".join([*body, ""]))

    def _goes_on_above(self, above: int, below: int, body: list[str], blanks: int) -> bool:
        """Whether new lines that end with as many blank lines as `old` leaves out there go on with the paragraph above:
        they begin more like its last line than like what is below.
        """
        ends_alike = len(body) > blanks and not any(line.strip() for line in body[-blanks:])
        if not ends_alike or not body[0].strip():
            return False
        alike = self._begins_alike(body[0], above)
        indent = len(indent_of(body[0]))
        return alike > indent + 1 and alike > self._begins_alike(body[0], below)

    def _belongs_below(self, above: int, below: int, body: list[str]) -> bool:
        """Whether new lines beside a blank line that `old` leaves out go after it."""
        if not body[-1].strip():
            return True
        if not body[0].strip():
            return False
        more = self._begins_alike(body[-1], below) - self._begins_alike(body[0], above)
        leads = _LEADS.match(body[-1]) and not _LEADS.match(self.at.line(above))
        return more > 0 or (more == 0 and bool(leads))

    def _begins_alike(self, line: str, number: int) -> int:
        from rapidfuzz.distance import Prefix

        return Prefix.similarity(line, self.at.line(number))

    def _partners(self, old: range, new: range) -> list[tuple[int, int | None]]:
        """Give each new line the row it takes the place of, where that is plain; else one beyond that says the same,
        which a line may have been taken for that is as deep as it was.
        """
        shared = shared_lines(self.keys[old.start : old.stop], self.new_keys[new.start : new.stop])
        if len(old) == len(new) and all(i == j for i, j in shared):
            return list(zip(new, old, strict=True))
        # What is shared within the hunk wins: the same words may stand further away at another depth.
        partner = self.same | {new.start + j: old.start + i for i, j in shared}
        if old and new and new.start not in partner and self._goes_further(old.start, new.start):
            partner[new.start] = old.start
        return [(j, partner.get(j)) for j in new]

    def _moved_from(self, j: int) -> int | None:
        """Return a row that says what a new line at no depth does, where all such are as deep in the file."""
        rows = [i for i, row in enumerate(self.rows) if row.units and row.text.rstrip() == self.new[j].rstrip()]
        return rows[0] if len({self.at.file_indent(i) for i in rows}) == 1 else None

    def _goes_further(self, i: int, j: int) -> bool:
        """Whether a new line is a row with more behind it, as where it was joined with what is below."""
        row, line = self.rows[i], self.new[j].strip()
        words = word_chars(row.text)
        return bool(row.units) and word_chars(line) > words >= _FEWEST_WORD_CHARS and line.startswith(row.text.strip())

    def _evened(self, line: str) -> str:
        """Return a line that is a row of a table as wide as the file's rows are, where the model's aren't."""
        return evened(line, self.columns) if self.columns and "|" in line else line

    @cached_property
    def columns(self) -> Columns | None:
        """Return the columns of the table that the place is of."""
        held = (row for row in self.rows if row.units and row.first == row.last)
        return even_columns((row.text, self.at.line(row.first)) for row in held)

    def _render(self, j: int, partner: int | None, old: range) -> str:
        line = self._unpadded(self.new[j])
        if not line.strip():
            return self._blanks(line)
        indent = indent_of(line)
        body = line[len(indent) :]
        if not self.terms.words:
            body = self._body(body, partner)
        if j == 0 and self.lost_head and not indent:
            return self.at.file_indent(self.at.head) + body
        if self.terms.indentation:
            return indent + body
        return self._place_indent(j, partner, old) + body

    def _unpadded(self, line: str) -> str:
        """Return a line without blanks at its end that the model pads lines with; other ones may be meant: a break in
        Markdown.
        """
        end = line[len(line.rstrip()) :]
        return line.rstrip() if end in self.padding or len(self.padding) > 1 else line

    def _blanks(self, line: str) -> str:
        """Return a line of blanks alone: they follow no depth, but are tabs where the file has tabs for blanks."""
        written = None if self.terms.indentation or not line else self.indent(line)
        return written if written and {*written}.isdisjoint(line) else line

    def _place_indent(self, j: int, partner: int | None, old: range) -> str:
        indent = indent_of(self.new[j])
        if j == 0 and self.at.cut_head:
            return indent
        if partner is None and not indent:
            partner = self._moved_from(j)
        row = None if partner is None else self.rows[partner]
        if partner is not None and row and row.units and indent == indent_of(row.text) and self.at.begins_line(partner):
            return self.at.file_indent(partner)
        found = self.indent(indent)
        beside = self._indents_beside(old, indent) if found is None else set[str]()
        if found is None and len(beside) != 1:
            raise UncleanError("the indentation of a new line can't be told from the lines that match")
        return beside.pop() if found is None else found

    def _indents_beside(self, old: range, indent: str) -> set[str]:
        """Return the file's indentations of the first of the rows `old` that says something and is as deep as `indent`,
        or of those above and below.
        """
        full = [i for i, row in enumerate(self.rows) if row.units and self.at.begins_line(i)]
        rows = [i for i in full if i in old][:1] or [i for i in full if i < old.start][-1:]
        rows += [i for i in full if i >= old.stop][:1] if not any(i in old for i in rows) else []
        return {self.at.file_indent(i) for i in rows if indent_of(self.rows[i].text) == indent}

    def _body(self, body: str, partner: int | None) -> str:
        row = None if partner is None else self.rows[partner]
        if partner is None or row is None or not row.units:
            return self.moved.get(body.strip()) or self.characters.apply(body)
        sent = self._unpadded(row.text)
        is_alone = row.first == row.last and self.at.is_alone(partner)
        if is_alone and (body == sent.lstrip() or (row.slips and fold(body) == fold(self.at.line(row.first)))):
            return self.at.line(row.first).lstrip()
        if is_alone and self._only_loses(row, body):
            return body
        return self._merged(row, body) if self._is_garbled(row) else self.characters.apply(body)

    def _only_loses(self, row: Row, body: str) -> bool:
        """Whether a line takes the place of one that `old` has just as the file does, and brings nothing."""
        file = iter(self.at.line(row.first))
        return row.text.strip() == self.at.line(row.first).strip() and all(char in file for char in body)

    def _merged(self, row: Row, body: str) -> str:
        return merged(self.place.text, row, body, self.characters, keeps_spots=self.keep_garbled)

    @cached_property
    def moved(self) -> dict[str, str | None]:
        """Return what the file has for each line of `old`, but for spacing and quotes; None where it has several."""
        found: dict[str, str | None] = {}
        for i, row in enumerate(self.rows):
            if row.units and row.first == row.last and self.at.is_alone(i):
                text, file = row.text.strip(), self.at.line(row.first).strip()
                if "".join(text.translate(_STYLES).split()) == "".join(file.translate(_STYLES).split()):
                    found[text] = file if found.get(text, file) == file else None
        return found

    def _is_garbled(self, row: Row) -> bool:
        """Whether the row has, on one line of the file, other characters than the file has there."""
        text = self.place.text
        differs = any(row.text[unit.old_start : unit.old_end] != text[unit.start : unit.end] for unit in row.units)
        return bool(row.slips) or (row.first == row.last and (differs or self._blanks_differ(row)))

    def _blanks_differ(self, row: Row) -> bool:
        """Whether a blank within the row is another character in the file."""
        gaps = [
            (row.text[left.old_end : right.old_start], self.place.text[left.end : right.start])
            for left, right in pairwise(row.units)
        ]
        return any(ours != theirs for ours, theirs in gaps)

    def final_newline(self) -> list[Replacement]:
        """Delete the newline that `old` ends with and `new` doesn't where a blank line follows, so that no lines are
        joined.
        """
        text, end = self.place.text, self.at.ends[max(row.last for row in self.rows)]
        after = text.find("\n", end + 1)
        if not self.drops_newline or end >= len(text) or after < 0 or text[end + 1 : after].strip():
            return []
        return [Replacement(end, end + 1, "")]


def _without_what_is_there(body: list[str], between: list[str]) -> tuple[list[str], bool]:
    """Return new lines without those that the file has where they go, and whether the rest goes below these.

    `between` are lines of the file that `old` leaves out: where `new` has them, it brings nothing new.
    """
    there, lines = [line.strip() for line in between], [line.strip() for line in body]
    if not there:
        return body, False
    if lines[: len(there)] == there:
        return body[len(there) :], True
    if there[: len(lines)] == lines or there[-len(lines) :] == lines:
        return [], False
    return body, False


def _joined(pieces: list[Replacement]) -> list[Replacement]:
    """Join replacements that touch, so that their order can't matter, and lines deleted with lines put in their
    place.
    """
    out: list[Replacement] = []
    for piece in pieces:
        last = out[-1] if out else None
        if last and last.end == piece.start:
            out[-1] = Replacement(last.start, piece.end, last.body + piece.body)
        elif last and last.end == piece.start + 1 and not last.body and piece.body.startswith("\n"):
            out[-1] = Replacement(last.start, piece.start, piece.body[1:])
        elif last and last.end > piece.start:
            raise UncleanError("the blank lines around the change are others in the file")
        else:
            out.append(piece)
    return out
