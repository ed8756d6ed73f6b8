"""Write the change from `old` to `new` into the place of the file that `old` means.

Lines that `old` and `new` share are unchanged: the file keeps its own bytes there, whatever the model garbled in them. Changed
lines come from `new`, taken back through the differences learnt from the aligned ones: indentation and look-alike
characters. Where that can't be done without guessing, `Unclean` is raised and nothing is written.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from dogu.workspace.edit_match.alignment import Place, Unit
from dogu.workspace.edit_match.folding import ZERO_WIDTH, fold
from dogu.workspace.edit_match.indentation import IndentMap, indent_of, indent_unit, learn_indentation, shifted
from dogu.workspace.edit_match.result import Replacement


class Unclean(Exception):
    """The change can't be written without guessing; the message says why."""


@dataclass
class Row:
    """A line of `old` and the lines of the file it stands on: `[first, last]` inclusive, `-1` when on none."""

    text: str
    first: int = -1
    last: int = -1
    slip: bool = False
    fixed: bool = False
    units: list[Unit] = field(default_factory=list)


class Lines:
    """The lines of the text that a place touches, with `above` blank lines before and the blank ones after it."""

    def __init__(self, text: str, start: int, end: int, above: int) -> None:
        self.text = text
        begin = text.rfind("\n", 0, start) + 1
        while above and begin:
            up = text.rfind("\n", 0, begin - 1) + 1
            if text[up : begin - 1].strip():
                break
            begin = up
            above -= 1
        self.starts: list[int] = []
        self.ends: list[int] = []
        position = begin
        while position <= len(text):
            cut = text.find("\n", position)
            cut = len(text) if cut < 0 else cut
            if position > end and text[position:cut].strip():
                break
            self.starts.append(position)
            self.ends.append(cut)
            position = cut + 1
            if len(self.starts) > 1 and position > end + 10_000:
                break

    def number(self, position: int) -> int:
        """Return the number of the line the position is on."""
        return bisect_right(self.starts, position) - 1

    def content(self, number: int) -> str:
        """Return the line without its ending."""
        return self.text[self.starts[number] : self.ends[number]]


def split_lines(old: str, new: str) -> tuple[list[str], list[str]]:
    """Split both into lines; a final newline of `old` ends its last line, and then that of `new` does too."""
    if not old.endswith("\n"):
        return old.split("\n"), new.split("\n")
    return old[:-1].split("\n"), new.removesuffix("\n").split("\n") if new else []


_TOKEN = re.compile(r"[A-Za-z0-9_]+|\s+|.")
_MOST_TOKENS = 2000
_AROUND_CHARS = 5000


class _Weaver:
    def __init__(self, place: Place, new: str) -> None:
        self.place = place
        self.keep_garbled = False
        self.new_ends = new.endswith("\n")
        old_lines, self.new = split_lines(place.old, new)
        first = next(i for i, line in enumerate(old_lines) if line.strip())
        self.lines = Lines(place.text, place.start, place.end, first)
        self.rows = [Row(line) for line in old_lines]
        self._set_units()
        self._pair_blanks()
        head = self.rows[first]
        line_start = self.lines.starts[head.first]
        self.cut_head = bool(place.text[line_start : place.start].strip())
        self.cut_tail = bool(place.text[place.end : self.lines.ends[self.lines.number(place.end - 1)]].strip())
        self.head = first
        self.tail = max(i for i, row in enumerate(self.rows) if row.first >= 0 and row.units)
        self.in_file_terms = False
        self.lost_head = False
        self._take_terms()
        self.seen = frozenset(place.old)
        self.indent = self._indentation()
        self.chars, self.form = _character_map(place)

    # rows

    def _set_units(self) -> None:
        starts = [0]
        for row in self.rows:
            starts.append(starts[-1] + len(row.text) + 1)
        for unit in self.place.units:
            i = bisect_right(starts, unit.old_start) - 1
            row = self.rows[i]
            row.slip = row.slip or unit in self.place.slips
            row.fixed = row.fixed or unit in self.place.fixed
            row.units.append(Unit(unit.old_start - starts[i], unit.old_end - starts[i], unit.start, unit.end))
        for row in self.rows:
            if row.units:
                row.first = self.lines.number(row.units[0].start)
                row.last = self.lines.number(row.units[-1].end - 1)

    def _pair_blanks(self) -> None:
        rows, lines = self.rows, self.lines
        full = [i for i, row in enumerate(rows) if row.units]
        above = rows[full[0]].first - 1
        for i in range(full[0] - 1, -1, -1):
            if above < 0:
                break
            rows[i].first = rows[i].last = above
            above -= 1
        for here, there in zip(full, [*full[1:], len(rows)], strict=True):
            line = rows[here].last + 1
            stop = rows[there].first if there < len(rows) else len(lines.starts)
            for i in range(here + 1, there):
                while line < stop and lines.content(line).strip():
                    line += 1
                if line >= stop:
                    break
                rows[i].first = rows[i].last = line
                line += 1

    def _row_text(self, i: int) -> str:
        row = self.rows[i]
        start = self.place.start if self.cut_head and i == self.head else self.lines.starts[row.first]
        end = self.place.end if self.cut_tail and i == self.tail else self.lines.ends[row.last]
        return self.place.text[start:end]

    def _begins_line(self, i: int) -> bool:
        row = self.rows[i]
        return not self.place.text[self.lines.starts[row.first] : row.units[0].start].strip()

    def _take_terms(self) -> None:
        """When every garbled line that `new` repeats is right there, `new` is in the file's own terms."""
        keys = [fold(row.text) for row in self.rows]
        ours = theirs = 0
        for i, j in _shared(keys, [fold(line) for line in self.new]):
            mine, file = self.rows[i].text.rstrip(), self._row_text(i).rstrip()
            if self.rows[i].first < 0 or mine == file or not keys[i]:
                continue
            written = self.new[j].rstrip()
            ours += written == mine
            theirs += written == file
        if theirs and ours:
            raise Unclean("new_string repeats some lines as old_string has them and others as the file has them")
        if theirs:
            self.in_file_terms = True
            self.lost_head = self._lost_head()
            for i, row in enumerate(self.rows):
                if row.units:
                    row.text = self._row_text(i)

    def _lost_head(self) -> bool:
        """Say whether the first line alone lost its indentation: `old` was stripped, and `new` with it."""
        pairs = [
            (indent_of(row.text), indent_of(self.lines.content(row.first)))
            for i, row in enumerate(self.rows)
            if row.units and self._begins_line(i)
        ]
        return (
            self._begins_line(self.head)
            and len(pairs) > 1
            and not pairs[0][0]
            and pairs[0][1] != ""
            and all(a == b for a, b in pairs[1:])
        )

    def _units_of_indentation(self) -> tuple[int, int]:
        """Return by how many blanks the model and the file indent a block, 0 where that can't be told."""
        ours = [row.text for row in self.rows] + self.new
        start = max(0, self.place.start - _AROUND_CHARS)
        return indent_unit(ours), indent_unit(self.place.text[start : self.place.end + _AROUND_CHARS].split("\n"))

    def _indentation(self) -> IndentMap:
        if self.in_file_terms:
            return lambda indent: indent
        pairs: list[tuple[str, str]] = []
        lost_head = False
        for i, row in enumerate(self.rows):
            if not row.units or not self._begins_line(i):
                continue
            pair = indent_of(row.text), indent_of(self.lines.content(row.first))
            if i == self.head and not pair[0] and pair[1]:
                lost_head = True
            pairs.append(pair)
        if not pairs:
            return lambda indent: indent
        if lost_head and len(pairs) > 1 and all(a == b for a, b in pairs[1:]):
            self.lost_head = True
            return lambda indent: indent
        learnt = learn_indentation(pairs, self._units_of_indentation)
        if learnt is None and lost_head:
            learnt = learn_indentation(pairs[1:], self._units_of_indentation)
            self.lost_head = learnt is not None
        if learnt is not None:
            return learnt
        return _known(pairs)

    # writing

    def splices(self) -> list[Replacement]:
        from difflib import SequenceMatcher

        ours = [row.text.rstrip() for row in self.rows]
        theirs = [line.rstrip() for line in self.new]
        out: list[Replacement] = []
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
            if tag == "equal":
                for i, j in zip(range(i1, i2), range(j1, j2), strict=True):
                    out += self._trailing(i, j)
                continue
            if i2 - i1 == j2 - j1 and i2 - i1 > 1:
                for i, j in zip(range(i1, i2), range(j1, j2), strict=True):
                    out += self._hunk(i, i + 1, j, j + 1)
            else:
                out += self._hunk(i1, i2, j1, j2)
        return out + self._final_newline()

    def _final_newline(self) -> list[Replacement]:
        """Delete the newline that `old` ends with and `new` doesn't, where only a blank line follows: no lines are joined."""
        old, text = self.place.old, self.place.text
        if not (old.endswith("\n") and self.new and not self.new_ends):
            return []
        held = [row.last for row in self.rows if row.first >= 0]
        cut = self.lines.ends[held[-1]]
        after = text.find("\n", cut + 1)
        if cut >= len(text) or after < 0 or text[cut + 1 : after].strip():
            return []
        return [Replacement(cut, cut + 1, "")]

    def _trailing(self, i: int, j: int) -> list[Replacement]:
        """Change the blanks at the end of a line when `old` has them as the file does and `new` otherwise."""
        row = self.rows[i]
        if row.first < 0 or row.text == self.new[j] or (self.cut_tail and i >= self.tail):
            return []
        file = self.lines.content(row.last)
        ours, theirs, wanted = (text[len(text.rstrip()) :] for text in (row.text, file, self.new[j]))
        if ours != theirs or wanted == theirs or (not file.strip() and row.text.strip()):
            return []
        return self._hunk(i, i + 1, j, j + 1)

    def _hunk(self, i1: int, i2: int, j1: int, j2: int) -> list[Replacement]:
        partners = self._partners(i1, i2, j1, j2)
        body = [self._render(j, partners.get(j)) for j in range(j1, j2)]
        held = [i for i in range(i1, i2) if self.rows[i].first >= 0]
        if not held:
            return self._insertion(i1, i2, body)
        rows, lines = self.rows, self.lines
        if self.keep_garbled and any(rows[i].text.strip() != self._row_text(i).strip() for i in held):
            raise Unclean("a line changes that old_string doesn't have as the file has it")
        if any(rows[i].fixed for i in held):
            raise Unclean("a comment changes that old_string tells in other words than the file")
        first = min(rows[i].first for i in held)
        last = max(rows[i].last for i in held)
        before = max((rows[i].last for i in range(i1) if rows[i].first >= 0), default=-1)
        after = min((rows[i].first for i in range(i2, len(rows)) if rows[i].first >= 0), default=len(lines.starts))
        if before >= first or after <= last:
            raise Unclean("a line that is wrapped otherwise in the file changes only in part")
        covered = {n for i in held for n in range(rows[i].first, rows[i].last + 1)}
        if len(covered) != last - first + 1:
            raise Unclean("lines of the file that old_string doesn't have lie between changed ones")
        cut_head = self.cut_head and self.head in held
        cut_tail = self.cut_tail and self.tail in held
        start = self.place.start if cut_head else lines.starts[first]
        end = self.place.end if cut_tail else lines.ends[last]
        if body:
            return [Replacement(start, end, "\n".join(body))]
        if cut_head or cut_tail:
            if len(self.rows) == 1:
                return [Replacement(start, end, "")]
            raise Unclean("part of a line is deleted together with other lines")
        if end < len(self.place.text):
            return [Replacement(start, end + 1, "")]
        return [Replacement(max(start - 1, 0), end, "")]

    def _insertion(self, i1: int, i2: int, body: list[str]) -> list[Replacement]:
        if not body:
            return []
        before = [i for i in range(i1) if self.rows[i].first >= 0]
        text = "\n".join(body)
        if before:
            if self.cut_tail and before[-1] == self.tail:
                raise Unclean("lines are added after part of a line")
            above = self.rows[before[-1]].last
            below = next((row.first for row in self.rows[i2:] if row.first >= 0), above)
            if any(self.lines.content(number).strip() for number in range(above + 1, below)):
                raise Unclean("lines are added where the file has a comment that old_string doesn't have")
            position = self.lines.ends[above]
            return [Replacement(position, position, "\n" + text)]
        if self.cut_head:
            raise Unclean("lines are added before part of a line")
        position = self.lines.starts[
            self.rows[next(i for i in range(i2, len(self.rows)) if self.rows[i].first >= 0)].first
        ]
        return [Replacement(position, position, text + "\n")]

    def _partners(self, i1: int, i2: int, j1: int, j2: int) -> dict[int, int]:
        if i2 - i1 == j2 - j1:
            return dict(zip(range(j1, j2), range(i1, i2), strict=True))
        keys = [fold(row.text) for row in self.rows[i1:i2]]
        return {j1 + j: i1 + i for i, j in _shared(keys, [fold(line) for line in self.new[j1:j2]])}

    def _render(self, j: int, partner: int | None) -> str:
        line = self.new[j]
        if not line.strip():
            return line
        indent, body = indent_of(line), line[len(indent_of(line)) :]
        row = None if partner is None else self.rows[partner]
        if row is not None and not row.units:
            row = None
        if self.in_file_terms and not (j == 0 and self.lost_head and not indent):
            return line
        if j == 0 and self.cut_head:
            where = indent
        elif j == 0 and self.lost_head and not indent:
            where = indent_of(self.lines.content(self.rows[self.head].first))
        elif row is not None and indent == indent_of(row.text) and self._begins_line(partner or 0):
            where = indent_of(self.lines.content(row.first))
        else:
            where = self.indent(indent)
            if where is None:
                raise Unclean("the indentation of a new line can't be told from the lines that match")
        if row is not None and row.slip:
            return where + self._merge(row, body)
        repeated = next((i for i, row in enumerate(self.rows) if row.slip and row.text.strip() == body.strip()), None)
        if repeated is not None:
            return where + self._row_text(repeated).strip()
        return where + self._mapped(body)

    def _merge(self, row: Row, body: str) -> str:
        """Write `body` over the file's line, keeping the file's characters where the model changes nothing."""
        from difflib import SequenceMatcher

        shift = len(indent_of(row.text))
        old = [(m.start(), m.end(), m[0]) for m in _TOKEN.finditer(row.text.rstrip(), shift)]
        new = [m[0] for m in _TOKEN.finditer(body)]
        if len(old) > _MOST_TOKENS or len(new) > _MOST_TOKENS:
            raise Unclean("a long line that differs from old_string changes")
        by_start = {unit.old_start: unit for unit in row.units}
        by_end = {unit.old_end: unit for unit in row.units}
        pieces: list[str] = []
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, [t[2] for t in old], new, autojunk=False).get_opcodes():
            if tag != "equal":
                pieces.append(self._mapped("".join(new[j1:j2])))
                continue
            words = [t for t in old[i1:i2] if not t[2].isspace()]
            if not words:
                pieces.append("".join(new[j1:j2]))
                continue
            head, tail = by_start.get(words[0][0]), by_end.get(words[-1][1])
            if head is None or tail is None:
                raise Unclean("a changed line differs from old_string inside a word")
            lead = old[i1][2] if old[i1][2].isspace() else ""
            trail = old[i2 - 1][2] if old[i2 - 1][2].isspace() else ""
            pieces += lead, self.place.text[head.start : tail.end], trail
        return "".join(pieces)

    def _mapped(self, body: str) -> str:
        from unicodedata import normalize

        if self.form:
            body = normalize(self.form, body)
        out: list[str] = []
        if any(char in _WIDE_PUNCTUATION and char not in self.seen for char in body) and any(
            _FULL_WIDTH.get(next(iter(found), "")) == char for char, found in self.chars.items()
        ):
            return body
        for char in body:
            found = self.chars.get(char)
            if found is None or char in found:
                out.append(char)
            elif len(found) == 1:
                out += found
            else:
                out.append(char)
        return self._right_words("".join(out))

    def _right_words(self, body: str) -> str:
        """Write the file's word where the model repeats its own typing error."""
        for wrong, right in self.place.words:
            body = re.sub(rf"(?<!\w){re.escape(wrong)}(?!\w)", lambda _match, right=right: right, body)
        return body


def _known(pairs: list[tuple[str, str]]) -> IndentMap:
    """Map an indentation as the lines that have it; one that none has, as all lines but one (the model's slip)."""
    known: dict[str, str | None] = {}
    for ours, theirs in pairs:
        known[ours] = theirs if known.get(ours, theirs) == theirs else None
    most: IndentMap | None = None
    for k in range(len(pairs)):
        rest = pairs[:k] + pairs[k + 1 :]
        if len(rest) > 1:
            most = most or shifted(rest)

    def find(indent: str) -> str | None:
        if indent in known:
            return known[indent]
        return most(indent) if most else None

    return find


def _shared(ours: list[str], theirs: list[str]) -> list[tuple[int, int]]:
    from difflib import SequenceMatcher

    return [
        (block.a + k, block.b + k)
        for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
        for k in range(block.size)
        if ours[block.a + k]
    ]


def _character_map(place: Place) -> tuple[dict[str, set[str]], str]:
    """Return what single characters of the model stand for in the file, and the file's normal form if not the model's."""
    from unicodedata import is_normalized, normalize

    chars: dict[str, set[str]] = {}
    form = ""
    text, old = place.text, place.old
    for unit in place.units:
        if unit in place.slips:
            continue
        ours, theirs = old[unit.old_start : unit.old_end], text[unit.start : unit.end]
        if ours == theirs and len(ours) == 1:
            if ours in chars or not ours.isalnum():
                chars.setdefault(ours, set()).add(ours)
        elif len(ours) == 1 and not (ours.isascii() and ours.isalnum()):
            chars.setdefault(ours, set()).add(theirs)
        for name in ("NFC", "NFD"):
            if ours != theirs and normalize(name, ours) == theirs and not is_normalized(name, ours):
                form = name
    for left, right in zip(place.units, place.units[1:], strict=False):
        ours, theirs = old[left.old_end : right.old_start], text[left.end : right.start]
        if "\n" in ours or "\n" in theirs:
            continue
        if len(ours) == len(theirs):
            for one, other in zip(ours, theirs, strict=True):
                chars.setdefault(one, set()).add(other)
        for char in ZERO_WIDTH.intersection(ours) - set(theirs):
            chars[char] = {""}
    if not _widths_agree(chars):
        chars = {char: found for char, found in chars.items() if not any(_is_width(char, other) for other in found)}
    return {char: found for char, found in chars.items() if found != {char}}, form


_FULL_WIDTH = {chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F)}


def _is_width(one: str, other: str) -> bool:
    return _FULL_WIDTH.get(one) == other or _FULL_WIDTH.get(other) == one


def _widths_agree(chars: dict[str, set[str]]) -> bool:
    """Say whether widths were garbled by one rule: all punctuation made half as wide, or all full, with no exception."""
    to_half = {char for char, found in chars.items() if char in _FULL_WIDTH and found == {_FULL_WIDTH[char]}}
    to_full = {char for char, found in chars.items() if any(_FULL_WIDTH.get(other) == char for other in found)}
    if to_half:
        return not to_full and not any(char in _FULL_WIDTH and char not in to_half for char in chars)
    kept = {char for char, found in chars.items() if char in _WIDE_PUNCTUATION and char in found}
    return not (to_full and kept)


_WIDE_PUNCTUATION = frozenset(",.:;!?()")


def weave(place: Place, new: str, *, keep_garbled: bool = False) -> list[Replacement]:
    """Return the replacements, ascending and apart, that make the change; raise `Unclean` where that would be a guess.

    With `keep_garbled` a line that differs from the file's in more than white space may not change at all.
    """
    weaver = _Weaver(place, new)
    weaver.keep_garbled = keep_garbled
    return _joined(weaver.splices())


def _joined(pieces: list[Replacement]) -> list[Replacement]:
    """Join replacements that touch, so that their order can't matter."""
    out: list[Replacement] = []
    for piece in pieces:
        if out and out[-1].end == piece.start:
            last = out.pop()
            piece = Replacement(last.start, piece.end, last.body + piece.body)
        out.append(piece)
    return out
