"""Check a result of the inexact stages, knowing nothing of how it was made; what fails is refused, never written.

The laws: what was deleted is what `old_string` accounts for; what was added and deleted, white space aside, is what
differs between `old_string` and `new_string`; a line that gets another one below it ends with a comma as `new_string`
has it; lines that are deeper than others in `new_string` aren't shallower in the file; a block begins and ends as deep
beside its neighbours as before; and a text that could be parsed still can.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from dogu.workspace.edit_match.alignment import Place, Unit, is_word
from dogu.workspace.edit_match.characters import is_code
from dogu.workspace.edit_match.indentation import indent_unit
from dogu.workspace.edit_match.neighbours import check_doubled, check_line_ends, check_neighbours, check_rest
from dogu.workspace.edit_match.result import Replacement, UncleanError
from dogu.workspace.edit_match.rows import shared_lines
from dogu.workspace.edit_match.views import fold, look_alike

_NO_SIGN = re.compile(r"\w+")
_TOKENS = re.compile(r"[\u2e80-\uffff]|[^\W\u2e80-\uffff]+|[^\w\s]")
_OPERATORS = frozenset("=<>!&|:+-*/%^?")
_AROUND_CHARS = 5000
_NEIGHBOURS = re.compile(r"(\S)([ \t]*)(?=(\S))")
_LONG_LINE_CHARS = 5000
_MARGIN_CHARS = 50
_INDENTED = re.compile(r"^([^\S\n]*(?:\t|[^\S\n]{2}))[^\S\n]*\S", re.MULTILINE)
_BLANKS_AHEAD = re.compile(r"^[^\S\n]+\S", re.MULTILINE)
_BLANKS = re.compile(r"^( +)[^\s*]", re.MULTILINE)
_FEWEST_INDENTED = 3
_FEWEST_STEPS = 5
_MOST = 2 / 3
_CLOSERS = ("}", ")", "]")
_OPENERS = (":", "{", "(", "[")
_DANGLING = re.compile(r"\\\n[ \t]*$", re.MULTILINE)
_QUOTES = str.maketrans('"`', "''")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`")
_ESCAPED_QUOTE = re.compile(r"\\[\"'`]")
_QUOTE = re.compile("[\"'`]")
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")


def verify(place: Place, new: str, pieces: Sequence[Replacement]) -> None:
    """Raise `UncleanError` where what is written at a place isn't the change from `place.old` to `new`."""
    _check_deleted(place, pieces)
    _check_skipped(place, pieces)
    check_line_ends(place.text, pieces)
    end = place.text.find("\n", place.end)
    rest = place.text[place.end : end if end >= 0 else None]
    check_rest(place.old.rstrip(), new.rstrip(), rest)
    if "\n" in place.old.strip() and rest.strip() and not _NO_SIGN.search(place.old.rstrip().rsplit("\n", 1)[-1]):
        raise UncleanError(f"{rest.strip()[:20]!r} is behind old_string in its last line: send whole lines")
    check_doubled(place, pieces)
    region = _region(place, pieces)
    before, after = place.text[region[0] : region[1]], _written(place.text, pieces, region)
    check_neighbours(place.text, region, before, after)
    _check_tokens(place, new, before, after)
    _check_spacing(place, before, after)
    _check_signs(place, before, after)
    _check_kept(new, before, after)
    if place.old != new:
        seen: dict[str, _Line] = {}
        _check_lines(*(_lines(each, seen) for each in (place.old, new, before, after)))
        check_indents(place.text, (place.start, place.end), before, after)
        _check_steps(place, before, after)


def check_indents(text: str, span: tuple[int, int], before: str, after: str) -> None:
    """Raise `UncleanError` where new lines are indented by other characters than all of the file's around are."""
    around = _INDENTED.findall(text[max(0, span[0] - _AROUND_CHARS) : span[1] + _AROUND_CHARS])
    known = {(line.strip(), line[:1].isspace() and line[0]) for line in before.split("\n")}
    lines = after.split("\n")
    added = "\n".join(line for line in lines if (line.strip(), line[:1].isspace() and line[0]) not in known)
    brought, usual = _INDENTED.findall(added), {*"".join(around)}
    is_mixed = any(" \t" in indent for indent in brought) and not any(" \t" in indent for indent in around)
    if len(around) >= _FEWEST_INDENTED and (is_mixed or not {*"".join(brought)} <= usual):
        raise UncleanError("new lines are indented by tabs where the file has blanks, or by blanks where it has tabs")


def _check_steps(place: Place, before: str, after: str) -> None:
    """Where all the file's lines around are indented by one step, so are new ones."""
    around = place.text[max(0, place.start - _AROUND_CHARS) : place.end + _AROUND_CHARS]
    unit, depths = indent_unit(around), [*map(len, _BLANKS.findall(around))]
    if unit > 1 and len(depths) >= _FEWEST_STEPS and not any(depth % unit for depth in depths):
        known = {line.strip() for line in before.split("\n")}
        added = "\n".join(line for line in after.split("\n") if line.strip() not in known)
        if any(len(indent) % unit for indent in _BLANKS.findall(added)):
            raise UncleanError("new lines are indented by another step than those of the file")


def check_continued(place: Place, pieces: Sequence[Replacement]) -> None:
    """Raise `UncleanError` where a line that stays no longer goes on from the one before it, or does so now."""
    text = place.text
    start, end = _region(place, pieces)
    start, end = text.rfind("\n", 0, max(start - 1, 0)) + 1, len(text) if (stop := text.find("\n", end)) < 0 else stop
    before = text[start:end]
    after = _written(text, [piece for piece in pieces if start <= piece.start <= piece.end <= end], (start, end))
    ours, theirs = before.split("\n"), after.split("\n")
    goes_on = [[False, *(line.rstrip().endswith("\\") for line in lines)] for lines in (ours, theirs)]
    dangles = len(_DANGLING.findall(before)) < len(_DANGLING.findall(after))
    if dangles or any(goes_on[0][i] != goes_on[1][j] for i, j in shared_lines(ours, theirs)):
        raise UncleanError("a line that goes on in the next one would lose its backslash, or get one")


def _check_deleted(place: Place, pieces: Sequence[Replacement]) -> None:
    """Every character deleted stands for one of `old`, or is written again."""
    covered = [(unit.start, unit.end) for unit in place.units]
    at = 0
    for start, end, body in pieces:
        loose: list[str] = []
        position = start
        while at < len(covered) and covered[at][1] <= start:
            at += 1
        k = at
        while k < len(covered) and covered[k][0] < end:
            loose.append(place.text[position : max(covered[k][0], position)])
            position = covered[k][1]
            k += 1
        loose.append(place.text[position:end])
        missing = fold("".join(loose))
        if missing and missing not in fold(body):
            raise UncleanError("text of the file that old_string doesn't have would be lost")


def _check_skipped(place: Place, pieces: Sequence[Replacement]) -> None:
    """Lines aren't added beside a line of the file that `old` leaves out: they may be meant for it."""
    text = place.text
    for left, right in pairwise(place.units):
        if right.start - left.end > 1 and text[left.end : right.start].strip():
            start, end = text.find("\n", left.end), text.rfind("\n", 0, right.start)
            skipped = {fold(line) for line in text[left.end : right.start].split("\n")} - {""}
            for piece in pieces:
                if not skipped.isdisjoint(map(fold, piece.body.split("\n"))):
                    raise UncleanError("new_string brings a line that the file has there, and old_string hasn't")
                replaced = text[piece.start : piece.end]
                if piece.start <= end + 1 and piece.end >= start and replaced.count("\n") < piece.body.count("\n"):
                    raise UncleanError("lines are added beside a line of the file that old_string doesn't have")


def _region(place: Place, pieces: Sequence[Replacement]) -> tuple[int, int]:
    """Return the whole lines that the place and the pieces lie on."""
    text = place.text
    start = min([place.start, *(piece.start for piece in pieces)])
    end = max([place.end, *(piece.end for piece in pieces)])
    stop = text.find("\n", max(end - 1, 0) if end and text[end - 1] == "\n" else end)
    return text.rfind("\n", 0, start) + 1, len(text) if stop < 0 else stop + 1


def _written(text: str, pieces: Sequence[Replacement], region: tuple[int, int]) -> str:
    at, end = region
    out: list[str] = []
    for piece in pieces:
        out += text[at : piece.start], piece.body
        at = piece.end
    return "".join([*out, text[at:end]])


def _check_tokens(place: Place, new: str, before: str, after: str) -> None:
    """The words and signs that come and go are those that the model's strings add and take away; a quote is a quote,
    and a word that `old_string` has otherwise than the file is the file's.
    """
    old, new = _around_changes(place.old, new)
    before, after = _around_changes(before, after)
    words = dict(place.words)
    asked, made = _tokens(new, words), _tokens(after)
    asked.subtract(_tokens(old, words))
    made.subtract(_tokens(before))
    slack: Counter[str] = Counter()
    for unit in place.slips:  # new_string may have it as the file does
        slack.update(_tokens(place.text[unit.start : unit.end]))
        slack.subtract(_tokens(place.old[unit.old_start : unit.old_end]))
    odd = {
        token
        for token in {*asked, *made}
        if not 0 <= asked[token] - made[token] <= max(0, min(slack[token], asked[token]))
        and not 0 <= made[token] - asked[token] <= max(0, min(-slack[token], -asked[token]))
    }
    if any(_NO_SIGN.fullmatch(token) is None for token in odd):
        raise UncleanError("the signs written aren't those that new_string adds and takes away")
    if odd:
        raise UncleanError("the words written aren't those that new_string adds and takes away")


def _shared_head(one: str, other: str) -> int:
    """Return how many characters both texts begin with, found by halves."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _around_changes(one: str, other: str) -> tuple[str, str]:
    """Return both texts without what they begin and end with alike, but for whole words and a margin."""
    head = _word_start(one, max(_shared_head(one, other) - _MARGIN_CHARS, 0))
    backwards = one[head:][::-1], other[head:][::-1]
    tail = _word_start(backwards[0], max(_shared_head(*backwards) - _MARGIN_CHARS, 0))
    return one[head : len(one) - tail], other[head : len(other) - tail]


def _word_start(text: str, at: int) -> int:
    while at and _NO_SIGN.match(text[at - 1]):
        at -= 1
    return at


def _tokens(text: str, words: dict[str, str] | None = None) -> Counter[str]:
    """Count the words and the signs, look-alikes made one; `words` are those to be taken for others."""
    found: list[str] = _TOKENS.findall(look_alike(text).translate(_QUOTES))
    return Counter([words.get(token, token) for token in found] if words else found)


def _check_spacing(place: Place, before: str, after: str) -> None:
    """Where `old_string` has blanks beside an operator, or none, otherwise than the file, lines written don't have them
    so, unless the file around does.
    """
    odd: set[tuple[str, str, bool]] = set()
    for (ours, theirs), (left, right) in zip(place.gaps, pairwise(place.units), strict=True):
        if bool(ours) != bool(theirs) and "\n" not in ours + theirs:
            odd |= _beside(place.old[left.old_end - 1], place.old[right.old_start], blank=bool(ours))
    if odd:
        around = place.text[max(0, place.start - _AROUND_CHARS) : place.end + _AROUND_CHARS]
        odd -= _spacing(around)
    before, after = _around_changes(before, after) if odd else ("", "")
    if any(odd & _spacing(line) for line in {*after.split("\n")} - {*before.split("\n")}):
        raise UncleanError("blanks beside signs are others in the file than in old_string, and so in new lines")


def _check_signs(place: Place, before: str, after: str) -> None:
    """A quote or hyphen that stands for another sign of the file at the place is written nowhere anew as the model has
    it: it would be garbled there, too. An apostrophe is no quote, nor is one beside an escaped one; a hyphen counts
    in a statement's strings alone, beside such characters.
    """
    garbled = {sign for unit in place.units for sign in _garbled_signs(place, unit)}
    if not garbled:
        return
    ours, theirs = (Counter(text.split("\n")) for text in (before, after))
    gone, brought = (_signs(lines, garbled) for lines in (ours - theirs, theirs - ours))
    if any(brought[sign] > gone[sign] for sign in garbled):
        raise UncleanError("a new line has quotes or hyphens that the file has otherwise where old_string has them")


def _garbled_signs(place: Place, unit: Unit) -> Iterator[tuple[str, str]]:
    ours, theirs = place.old[unit.old_start : unit.old_end], place.text[unit.start : unit.end]
    if ours == theirs:
        return
    if ours == "-" and theirs != "-":
        yield "-", _beside_sign(place.old, unit.old_start)
    mine, file = _QUOTE.findall(ours), _QUOTE.findall(theirs)
    if len(mine) == len(file):
        yield from ((one, "") for one, other in zip(mine, file, strict=True) if one != other)


def _signs(lines: Counter[str], garbled: set[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Count the signs of the lines that are among those garbled."""
    found: Counter[tuple[str, str]] = Counter()
    for line, times in lines.items():
        quotes = "" if _ESCAPED_QUOTE.search(line) else _APOSTROPHE.sub("", line)
        for sign, beside in garbled:
            text = " ".join(_STRING.findall(line)) if is_code(line) else ""  # text gets its own elsewhere
            hyphens = (1 for at, char in enumerate(text) if char == sign and _beside_sign(text, at) == beside)
            found[sign, beside] += times * (sum(hyphens) if beside else quotes.count(sign))
    return found


def _beside_sign(text: str, at: int) -> str:
    """Return what is on both sides of a sign: a word, a blank or a line's end, another sign."""
    beside = (text[max(at - 1, 0) : at], text[at + 1 : at + 2])
    return "".join("a" if char and is_word(char) else char.strip() or " " for char in beside)


def _check_kept(new: str, before: str, after: str) -> None:
    """A line that `new` has just as the file has it at the place, white space at its ends aside, stays so."""
    there, wanted, written = (Counter(map(str.strip, text.split("\n"))) for text in (before, new, after))
    if any(written[line] < min(there[line], wanted[line]) for line in there if _NO_SIGN.search(line)):
        raise UncleanError("a line that new_string has as the file does would change")


def _spacing(text: str) -> set[tuple[str, str, bool]]:
    found = {(match[1], match[3], bool(match[2])) for match in _NEIGHBOURS.finditer(text)}
    return {beside for left, right, blank in found for beside in _beside(left, right, blank=blank)}


def _beside(left: str, right: str, *, blank: bool) -> set[tuple[str, str, bool]]:
    """Return what a gap lies between, words made one; nothing for a gap without an operator beside it."""
    one, other = ("" if is_word(char) else char for char in (left, right))
    return {(one, other, blank)} if _OPERATORS & {one, other} else set()


class _Line(NamedTuple):
    """A line that isn't blank, without the blanks at its end: what it is known by, how it is indented, how deep."""

    text: str
    key: str
    indent: str
    depth: int


def _lines(text: str, seen: dict[str, _Line] | None = None) -> list[_Line]:
    """Return the lines that aren't blank; those `seen` before aren't read again."""
    found: list[_Line] = []
    seen = {} if seen is None else seen
    depths: dict[str, int] = {}
    for line in text.split("\n"):
        if line not in seen:
            stripped = line.strip()
            if not stripped:
                continue
            indent = line[: line.index(stripped[0])]
            if indent not in depths:
                depths[indent] = len(indent.expandtabs(4))
            # folding a line of a whole file's length would take long
            key = fold(stripped) if len(line) < _LONG_LINE_CHARS else stripped
            seen[line] = _Line(indent + stripped, key, indent, depths[indent])
        found.append(seen[line])
    return found


def _check_lines(ours: list[_Line], theirs: list[_Line], there: list[_Line], written: list[_Line]) -> None:
    """Check the lines of `old`, `new`, of the file where they lie, and of what is written there."""
    held = _shared(ours, there)
    _check_commas(theirs, there, written)
    odd = _odd_lines(ours, there, held)
    _check_depths(theirs, written, odd)
    if odd:
        _check_odd(ours, theirs, there, held)
    _check_closing(ours, theirs, odd)
    _check_base(ours, theirs, there, written)


def _check_commas(theirs: list[_Line], there: list[_Line], written: list[_Line]) -> None:
    """A line of the file that has another neighbour below it now ends with a comma if `new` has it so: where
    `old_string` is wrong about that comma, nobody has thought of what the new neighbour needs.
    """
    wanted, kept = {line.key for line in theirs}, [line.key for line in there]
    neighbours, lines = {*pairwise(kept)}, {*kept}
    for line, below in pairwise(line.key for line in written):
        if (line, below) in neighbours or line not in lines or line in wanted:
            continue
        goes_on = line.endswith(",") and not below.startswith(_CLOSERS)
        if not goes_on and (line.removesuffix(",") if line.endswith(",") else f"{line},") in wanted:
            raise UncleanError(
                "old_string is wrong about the comma at the end of a line that gets another one below it"
            )


def _check_closing(ours: list[_Line], theirs: list[_Line], odd: set[str]) -> None:
    """A line of signs alone goes only where `old` has it as deep beside its neighbours as the file: one that `old` has
    once too often is the end of something else there.
    """
    before, after = Counter(line.key for line in ours), Counter(line.key for line in theirs)
    if any(line.text in odd and not _NO_SIGN.search(line.key) and after[line.key] < before[line.key] for line in ours):
        raise UncleanError("a line that closes something isn't as deep in the file as in old_string, and would go")


def _check_depths(theirs: list[_Line], written: list[_Line], odd: set[str]) -> None:
    """Lines written are as deep beside each other as `new` has them, but for those that `old` has otherwise."""
    for (i, k), (j, m) in pairwise(_shared(theirs, written)):
        if j != i + 1 or m != k + 1 or odd & {theirs[i].text, theirs[j].text} or (i == 0 and "" in odd):
            continue
        if _order(theirs[i], theirs[j]) != _order(written[k], written[m]):
            raise UncleanError("the new lines can't be indented beside each other as in new_string")


def _odd_lines(ours: list[_Line], there: list[_Line], held: list[tuple[int, int]]) -> set[str]:
    """Return the lines of `old` that aren't as deep beside their neighbours as in the file; empty text for the first
    one.
    """
    odd: set[str] = set()
    for (i, k), (j, m) in pairwise(held):
        if _order(ours[i], ours[j]) != _order(there[k], there[m]):
            odd |= {ours[i].text, ours[j].text, "" if i == 0 else ours[i].text}
    return odd


def _check_odd(ours: list[_Line], theirs: list[_Line], there: list[_Line], held: list[tuple[int, int]]) -> None:
    """Where lines of `old` aren't as deep beside each other as in the file, new ones are as deep as one that is."""
    seen: dict[str, set[str]] = {}
    shifts: Counter[int] = Counter()
    for i, k in held:
        if i == 0 and not ours[0].indent and there[k].indent:
            continue  # the first line often comes without
        seen.setdefault(ours[i].indent, set()).add(there[k].indent)
        shifts[there[k].depth - ours[i].depth] += 1
    if {*shifts} == {0} or max(shifts.values(), default=0) >= max(2, _MOST * shifts.total()):
        return
    known = {line.key for line in ours}
    if any(len(seen.get(line.indent, ())) != 1 for line in theirs if line.key not in known):
        raise UncleanError("old_string is indented unevenly, so how deep the new lines are to stand can't be told")


def _check_base(ours: list[_Line], theirs: list[_Line], there: list[_Line], written: list[_Line]) -> None:
    """The text begins as deep as what it replaces, unless nothing but depths changes: its first line hasn't lost all of
    its indentation, and where no line of `new` is as deep as `old` or the file has it, its shallowest is.
    """
    if not theirs:
        return
    is_same = [line.text.split() for line in ours] == [line.text.split() for line in theirs]
    moves = is_same and len({len(one.indent) - len(other.indent) for one, other in zip(ours, theirs, strict=True)}) == 1
    pairs = _shared(ours, theirs)
    stays = any(j == 0 and not ours[i].indent for i, j in pairs)
    if not (moves or stays or theirs[0].indent) and ours[0].indent and there[0].indent:
        raise UncleanError("the first line of new_string has no indentation, and that of old_string has")
    shared = [ours[i].indent == theirs[j].indent for i, j in pairs]
    shared += [there[i].indent == theirs[j].indent for i, j in (_shared(there, theirs) if not any(shared) else ())]
    sent, meant, new = _base(ours), _base(there), _base(theirs)
    if is_same and not moves and len(new) < len(sent) and not any(shared):
        raise UncleanError("a block has lost indentation in new_string, here and there another one")
    _check_kinds([] if is_same else [(ours[i].indent, theirs[j].indent) for i, j in pairs], there)
    if is_same or any(shared) or theirs[0].indent == ours[0].indent:
        return
    is_known = sent == meant and len(new) >= len(sent)
    is_lost = new not in (sent, meant) and (bool(shared) or not (is_known or new in {line.indent for line in ours}))
    if is_lost or (shared and new == meant != sent and _base(written) != meant):
        raise UncleanError("how deep the new lines are to stand can't be told from the lines that match")


def _check_kinds(shared: list[tuple[str, str]], there: list[_Line]) -> None:
    """A line that both strings have is indented by tabs in both, or by blanks, unless `new` has it as the file does."""
    usual = {char for line in there for char in line.indent}
    for ours, theirs in {*shared}:
        if theirs and ours and usual.union(ours).isdisjoint(theirs):
            raise UncleanError("a line is indented by tabs in one of the strings and by blanks in the other")


def restored_head(old: str, new: str) -> str:
    """Return `new`, its first line indented again where it alone has lost the indentation that `old` has there."""
    if new[:1].isspace() or old.partition("\n")[0] == new.partition("\n")[0] or not _BLANKS_AHEAD.search(old):
        return new
    ours, theirs = _lines(old), _lines(new)
    if not ours or not theirs:
        return new
    pairs = _shared(ours, theirs)
    at = next((i for i, j in pairs if j == 0), None)
    others = [(i, j) for i, j in pairs if j]
    indent = ours[at or 0].indent
    is_replaced = at is None and not any(i == 0 for i, _ in pairs)
    as_deep = [(i, j) for i, j in others if ours[i].indent.startswith(indent)]
    kept = [ours[i].indent == theirs[j].indent for i, j in as_deep or others]
    if not indent or not (at is not None or is_replaced) or (all(kept) and len(ours) == len(theirs) == len(pairs)):
        return new
    if indent == " " or _begins_as_before(ours, theirs, pairs, at) or _loses_as_one(ours, theirs, pairs, indent):
        return new
    if others and at is not None:
        return indent + new if any(kept) else new
    is_deep = len(theirs) > 1 and all(line.indent.startswith(indent) for line in theirs[1:])
    if is_deep and all(kept) and (others or at == 0):
        return indent + new
    is_alike = len(ours) == len(theirs) == 1 and ours[0].text.split()[0] == theirs[0].text.split()[0]
    return indent + new if is_alike and _NO_SIGN.search(theirs[0].text.split()[0]) else new


def _begins_as_before(ours: list[_Line], theirs: list[_Line], pairs: list[tuple[int, int]], at: int | None) -> bool:
    """Whether `new` begins with a later line of `old`, as deep as `old` does or with one that was deeper: what stood
    above that line goes.
    """
    was_deeper = len(ours[at or 0].indent) > len(ours[0].indent)
    return bool(at) and (0, 0) not in pairs and (was_deeper or ours[0].indent == theirs[0].indent)


def _loses_as_one(ours: list[_Line], theirs: list[_Line], pairs: list[tuple[int, int]], indent: str) -> bool:
    """Whether another line that both strings have has lost as much indentation as the first one, or what is below
    that, without a line that both have, is as much deeper than it as in `old`, or isn't deeper where it opens a block.
    """
    if any(j and ours[i].indent == indent + theirs[j].indent for i, j in pairs):
        return True
    below, now = (_base(lines[1:]) for lines in (ours, theirs))
    opens = theirs[0].text.endswith(_OPENERS) and len(theirs) > 1 and len(theirs[1].indent) <= len(indent)
    return not any(j for _, j in pairs) and (opens or (len(now) < len(below) and below == indent + now))


def lost_indent(old: str, new: str) -> str:
    """Return the indentation that each line both share has lost in `new`, of which a line has none left at all; empty
    where there is no such, or they differ in nothing but depths.
    """
    ours, theirs = _lines(old), _lines(new)
    if _base(theirs) or not _base(ours) or [line.key for line in ours] == [line.key for line in theirs]:
        return ""
    pairs = _shared(ours, theirs)
    lost = {ours[i].indent.removesuffix(theirs[j].indent) for i, j in pairs}
    is_less = all(ours[i].indent.endswith(theirs[j].indent) for i, j in pairs)
    return lost.pop() if is_less and len(lost) == 1 else ""


def check_shift(old: str, new: str) -> None:
    """Raise `UncleanError` where `new` has all it shares with `old` at another depth, or lacks its first line's."""
    ours, theirs = _lines(old), _lines(new)
    _check_base(ours, theirs, ours, theirs)


def block_indent(text: str) -> str:
    """Return the indentation of the line that is the least deep."""
    return _base(_lines(text))


def _base(lines: list[_Line]) -> str:
    return min((line.indent for line in lines), key=len, default="")


def _shared(ours: list[_Line], theirs: list[_Line]) -> list[tuple[int, int]]:
    return shared_lines([line.key for line in ours], [line.key for line in theirs])


def _order(one: _Line, other: _Line) -> int:
    return (one.depth > other.depth) - (one.depth < other.depth)
