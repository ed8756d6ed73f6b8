"""The laws on depth: new lines are as deep beside each other, and beside what stays, as `new_string` has them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from dogu.workspace.edit_match.alignment import Place
from dogu.workspace.edit_match.indentation import OPENERS, is_head
from dogu.workspace.edit_match.result import UncleanError
from dogu.workspace.edit_match.rows import shared_lines
from dogu.workspace.edit_match.views import fold

_NO_SIGN = re.compile(r"\w+")
_AROUND_CHARS = 5000
_LONG_LINE_CHARS = 5000
_INDENTED = re.compile(r"^([^\S\n]*(?:\t|[^\S\n]{2}))[^\S\n]*\S", re.MULTILINE)
_FEWEST_INDENTED = 3
_CLOSERS = ("}", ")", "]")


def check_depths(place: Place, new: str, before: str, after: str) -> None:
    """Check the depths of the lines written: `before` is what the file has there, `after` what is written."""
    seen: dict[str, Line] = {}
    ours, theirs, there, written = (lines_of(each, seen) for each in (place.old, new, before, after))
    held = shared_of(ours, there)
    _check_commas(theirs, there, written)
    odd = _odd_lines(ours, there, held)
    _check_order(theirs, written, odd, {line.indent for line in there})
    _check_closing(ours, theirs, odd)
    _check_flat(ours, theirs, there)
    _check_heads(there, written)
    _check_base(ours, theirs, there, written)
    check_indents(place.text, (place.start, place.end), before, after)


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


class Line(NamedTuple):
    """A line that isn't blank, without the blanks at its end: what it is known by, how it is indented, how deep."""

    text: str
    key: str
    indent: str
    depth: int


def lines_of(text: str, seen: dict[str, Line] | None = None) -> list[Line]:
    """Return the lines that aren't blank; those `seen` before aren't read again."""
    found: list[Line] = []
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
            seen[line] = Line(indent + stripped, key, indent, depths[indent])
        found.append(seen[line])
    return found


def _check_commas(theirs: list[Line], there: list[Line], written: list[Line]) -> None:
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


def _check_closing(ours: list[Line], theirs: list[Line], odd: set[str]) -> None:
    """A line of signs alone goes only where `old` has it as deep beside its neighbours as the file: one that `old` has
    once too often is the end of something else there. Where all of `old` is as deep, that says nothing.
    """
    if len({line.depth for line in ours}) == 1:
        return
    before, after = Counter(line.key for line in ours), Counter(line.key for line in theirs)
    if any(line.text in odd and not _NO_SIGN.search(line.key) and after[line.key] < before[line.key] for line in ours):
        raise UncleanError("a line that closes something isn't as deep in the file as in old_string, and would go")


def _check_order(theirs: list[Line], written: list[Line], odd: set[str], usual: set[str]) -> None:
    """Lines written are as deep beside each other as `new` has them, but for those that `old` has otherwise."""
    for (i, k), (j, m) in pairwise(shared_of(theirs, written)):
        if j != i + 1 or m != k + 1 or odd & {theirs[i].text, theirs[j].text} or (i == 0 and "" in odd):
            continue
        if _order(theirs[i], theirs[j]) != _order(written[k], written[m]):
            raise UncleanError("the new lines can't be indented beside each other as in new_string")
        is_new = not {written[k].indent, written[m].indent} <= usual
        if is_new and _are_nested(theirs[i], theirs[j]) and not _are_nested(written[k], written[m]):
            raise UncleanError("the new lines would be indented by tabs here and by blanks there")


def _odd_lines(ours: list[Line], there: list[Line], held: list[tuple[int, int]]) -> set[str]:
    """Return the lines of `old` that aren't as deep beside their neighbours as in the file; empty text for the first
    one.
    """
    odd: set[str] = set()
    for (i, k), (j, m) in pairwise(held):
        if _order(ours[i], ours[j]) != _order(there[k], there[m]):
            odd |= {ours[i].text, ours[j].text, "" if i == 0 else ours[i].text}
    return odd


def _check_flat(ours: list[Line], theirs: list[Line], there: list[Line]) -> None:
    """Lines that have lost all indentation don't say how deep those in a new block are, and what is behind it; but each
    may take the place of one.
    """
    known = {line.key for line in ours}
    is_flat = not any(line.indent for line in (*ours, *theirs))
    if not is_flat or len(ours) == len(theirs) or len({line.depth for line in there}) < 2:
        return
    for line, below in pairwise(theirs):
        if line.key not in known and line.text.endswith(OPENERS) and not below.text.startswith(_CLOSERS):
            raise UncleanError("a new line begins a block, and new_string has lost all indentation")


def _check_heads(there: list[Line], written: list[Line]) -> None:
    """A line that stays as deep as it was in a block whose head goes has another one above it, or would join the block
    before.
    """
    known, kept, stays = {line.key for line in there}, {line.key for line in written}, dict(shared_of(there, written))
    for i, (line, below) in enumerate(pairwise(there), start=1):
        at = stays.get(i)
        goes = line.key not in kept and below.depth > line.depth and is_head(line.text.lstrip())
        if at is None or not goes or written[at].depth != below.depth:
            continue
        head = next((other for other in written[at::-1] if other.depth < below.depth), None)
        if head is None or head.key in known:
            raise UncleanError("the head of a block goes, and what is in it would stay as deep")


def _check_base(ours: list[Line], theirs: list[Line], there: list[Line], written: list[Line]) -> None:
    """The text begins as deep as what it replaces, unless nothing but depths changes: its first line hasn't lost all of
    its indentation, and where no line of `new` is as deep as `old` or the file has it, its shallowest is.
    """
    if not theirs:
        return
    is_same = [line.text.split() for line in ours] == [line.text.split() for line in theirs]
    moves = is_same and len({len(one.indent) - len(other.indent) for one, other in zip(ours, theirs, strict=True)}) == 1
    pairs = shared_of(ours, theirs)
    stays = any(not (ours[i].indent or theirs[j].indent) for i, j in pairs)  # lines without any are meant
    if not (moves or stays or theirs[0].indent) and ours[0].indent and there[0].indent:
        raise UncleanError("the first line of new_string has no indentation, and that of old_string has")
    shared = [ours[i].indent == theirs[j].indent for i, j in pairs]
    shared += [there[i].indent == theirs[j].indent for i, j in (shared_of(there, theirs) if not any(shared) else ())]
    sent, meant, new = base_of(ours), base_of(there), base_of(theirs)
    if is_same and not moves and len(new) < len(sent) and not any(shared):
        raise UncleanError("a block has lost indentation in new_string, here and there another one")
    _check_kinds([] if is_same else [(ours[i].indent, theirs[j].indent) for i, j in pairs], there)
    # By characters that the file hasn't there, `new` is as deep as it is in the terms of `old`, not by accident.
    is_kind = not {*sent}.isdisjoint(new) and {*sent}.isdisjoint(meant + written[0].indent)
    if is_same or any(shared) or theirs[0].indent == ours[0].indent or is_kind:
        return
    if new in (sent, meant):
        is_lost = bool(shared) and new == meant != sent and base_of(written) != meant
    else:
        is_known = (sent == meant and len(new) >= len(sent)) or (not pairs and new in {line.indent for line in ours})
        is_lost = not is_known and _moves_less(theirs, there, ours)
    if is_lost:
        raise UncleanError("how deep the new lines are to stand can't be told from the lines that match")


def _moves_less(theirs: list[Line], there: list[Line], ours: list[Line]) -> bool:
    """Whether the lines of `new` are no farther from where the file has them than from where `old` does."""
    moved: list[int] = []
    for known in (there, ours):
        pairs = shared_of(known, theirs)
        depths = [abs(known[i].depth - theirs[j].depth) for i, j in pairs]
        moved.append(sum(depths) if depths else abs(len(base_of(known)) - len(base_of(theirs))))
    return moved[0] <= moved[1]


def _check_kinds(shared: list[tuple[str, str]], there: list[Line]) -> None:
    """A line that both strings have is indented by tabs in both, or by blanks, unless `new` has it as the file does."""
    usual = {char for line in there for char in line.indent}
    for ours, theirs in {*shared}:
        if theirs and ours and usual.union(ours).isdisjoint(theirs):
            raise UncleanError("a line is indented by tabs in one of the strings and by blanks in the other")


def check_retabbed(old: str, new: str) -> None:
    """Raise `UncleanError` where `new` changes words and has tabs for blanks that `old` has, or the other way round."""
    if ("\t" in old) == ("\t" in new):
        return
    ours, theirs = lines_of(old), lines_of(new)
    if [line.text.split() for line in ours] != [line.text.split() for line in theirs]:
        _check_kinds([(ours[i].indent, theirs[j].indent) for i, j in shared_of(ours, theirs)], ours)


def check_shift(old: str, new: str) -> None:
    """Raise `UncleanError` where `new` has all it shares with `old` at another depth, or lacks its first line's."""
    ours, theirs = lines_of(old), lines_of(new)
    _check_base(ours, theirs, ours, theirs)


def base_of(lines: list[Line]) -> str:
    """Return the indentation of the line that is the least deep."""
    return min((line.indent for line in lines), key=len, default="")


def shared_of(ours: list[Line], theirs: list[Line]) -> list[tuple[int, int]]:
    """Pair the lines that both have in the same order, however deep."""
    return shared_lines([line.key for line in ours], [line.key for line in theirs])


def _are_nested(one: Line, other: Line) -> bool:
    """Whether the one line's indentation begins with the other's."""
    return one.indent.startswith(other.indent) or other.indent.startswith(one.indent)


def _order(one: Line, other: Line) -> int:
    return (one.depth > other.depth) - (one.depth < other.depth)
