"""What `new_string` alone has lost of its indentation, told from the lines it shares with `old_string`."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePath

from dogu.workspace.edit_match.depths import Line, base_of, lines_of, shared_of
from dogu.workspace.edit_match.indentation import OPENERS
from dogu.workspace.edit_match.result import UncleanError

_NO_SIGN = re.compile(r"\w+")
_MAKEFILES = ("makefile", "gnumakefile")
_BY_LAYOUT = frozenset(".mk .py .pyi .pyx .yaml .yml .coffee .nim .haml .slim .pug .sass .styl .hs .fs .elm".split())
_BLANKS_AHEAD = re.compile(r"^[^\S\n]+\S", re.MULTILINE)


def restored_head(old: str, new: str) -> str:
    """Return `new`, its first line indented again where it alone has lost the indentation that `old` has there."""
    if new[:1].isspace() or old.partition("\n")[0] == new.partition("\n")[0] or not _BLANKS_AHEAD.search(old):
        return new
    ours, theirs = lines_of(old), lines_of(new)
    if not ours or not theirs:
        return new
    pairs = shared_of(ours, theirs)
    at = next((i for i, j in pairs if j == 0), None)
    others = [(i, j) for i, j in pairs if j]
    indent = ours[at or 0].indent
    is_replaced = at is None and not any(i == 0 for i, _ in pairs)
    as_deep = [(i, j) for i, j in others if ours[i].indent.startswith(indent)]
    kept = [ours[i].indent == theirs[j].indent for i, j in as_deep or others]
    if not indent or not (at is not None or is_replaced) or (all(kept) and len(ours) == len(theirs) == len(pairs)):
        return new
    if (
        indent == " "
        or opens_nothing(indent + new)
        or _begins_as_before(ours, theirs, pairs, at)
        or _loses_as_one(ours, theirs, pairs, indent)
    ):
        return new
    if others and at is not None:
        return indent + new if any(kept) else new
    is_deep = len(theirs) > 1 and all(line.indent.startswith(indent) for line in theirs[1:])
    if is_deep and all(kept) and (others or at == 0):
        return indent + new
    is_alike = len(ours) == len(theirs) == 1 and ours[0].text.split()[0] == theirs[0].text.split()[0]
    return indent + new if is_alike and _NO_SIGN.search(theirs[0].text.split()[0]) else new


def _begins_as_before(ours: list[Line], theirs: list[Line], pairs: list[tuple[int, int]], at: int | None) -> bool:
    """Whether `new` begins with a later line of `old`, as deep as `old` does or with one that was deeper: what stood
    above that line goes.
    """
    was_deeper = len(ours[at or 0].indent) > len(ours[0].indent)
    return bool(at) and (0, 0) not in pairs and (was_deeper or ours[0].indent == theirs[0].indent)


def _loses_as_one(ours: list[Line], theirs: list[Line], pairs: list[tuple[int, int]], indent: str) -> bool:
    """Whether another line that both strings have has lost as much indentation as the first one, or what is below
    that, without a line that both have, is as much deeper than it as in `old`.
    """
    if any(j and ours[i].indent == indent + theirs[j].indent for i, j in pairs):
        return True
    below, now = (base_of(lines[1:]) for lines in (ours, theirs))
    return not any(j for _, j in pairs) and len(now) < len(below) and below == indent + now


def lost_indent(old: str, new: str) -> str:
    """Return the indentation that each line both share has lost in `new`, of which a line has none left at all, or the
    first one has and another; empty where there is no such, or they differ in nothing but depths.
    """
    ours, theirs = lines_of(old), lines_of(new)
    if base_of(theirs) or not base_of(ours) or [line.key for line in ours] == [line.key for line in theirs]:
        return ""
    pairs = shared_of(ours, theirs)
    if not all(ours[i].indent.endswith(theirs[j].indent) for i, j in pairs):
        return ""
    lost = [ours[i].indent.removesuffix(theirs[j].indent) for i, j in pairs]
    is_first = pairs[:1] == [(0, 0)] and lost[0] in lost[1:]
    return lost[0] if lost and (is_first or len({*lost}) == 1) else ""


def is_by_layout(path: str) -> bool:
    """Whether depth has a meaning in such a file, and so have tabs and blanks."""
    name = PurePath(path)
    return name.suffix.lower() in _BY_LAYOUT or name.name.lower() in _MAKEFILES


def check_begin(old: str, new: str, path: str) -> None:
    """Raise `UncleanError` where depth has a meaning and `new` begins less deep than `old`, with a line of its own: it
    would end the block that both stand in.
    """
    ours, theirs = lines_of(old), lines_of(new)
    if not ours or not theirs or not is_by_layout(path):
        return
    closes = theirs[0].text.lstrip()[:1] in (")", "]", "}")
    if theirs[0].depth < ours[0].depth and not closes and theirs[0].key not in {line.key for line in ours}:
        raise UncleanError("new_string begins less deep than old_string: send it as deep as it is to stand")


def opens_nothing(text: str) -> bool:
    """Whether the first line of several opens a block that the second isn't deeper in."""
    lines = lines_of(text)
    return len(lines) > 1 and _is_empty(*lines[:2])


def has_empty_block(text: str) -> bool:
    """Whether a line of the text opens a block that the next one isn't deeper in."""
    return any(_is_empty(line, below) for line, below in pairwise(lines_of(text)))


def _is_empty(line: Line, below: Line) -> bool:
    return line.text.endswith(OPENERS) and below.depth <= line.depth


def block_indent(text: str) -> str:
    """Return the indentation of the line that is the least deep."""
    return base_of(lines_of(text))
