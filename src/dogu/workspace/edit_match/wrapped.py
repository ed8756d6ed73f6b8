"""Statements of Python that stand in brackets on several lines, or without these on one: read as the file has them.

A formatter puts such brackets around what doesn't fit a line and takes them away where it does; they mean nothing. A
bracket that calls, or makes a tuple by its last comma, isn't one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from dogu.language import sentence
from dogu.workspace.edit_match.alignment import opened
from dogu.workspace.edit_match.indentation import indent_of
from dogu.workspace.edit_match.unescape import Reading
from dogu.workspace.edit_match.views import FoldedText, fold

_STAGE = sentence("layout")
_FORGIVEN = sentence("brackets that wrap a statement")
_KINDS = frozenset((".py", ".pyi"))
_LONGEST_TEXT_CHARS = 1_000_000
_MOST_LINES = 100
_HEAD = re.compile(r"(?:(?:^|[ \t])(?:import|if|elif|while|return|assert|in|yield|await)|[^=!<>:]=|[-+*/|&]=)[ \t]*\($")
_TAIL = re.compile(r"\):?$")


class _Wrapped(NamedTuple):
    """A statement on the lines `[start, stop)` of a text, and as one line."""

    start: int
    stop: int
    flat: str


def rewrapped(folded: FoldedText, old: str, new: str) -> Iterator[Reading]:
    """Yield both strings with the statements of `old` on as many lines as the file has them on, if any is on others.

    One that `new` changes stays in it as it is sent.
    """
    if PurePath(folded.path).suffix.lower() not in _KINDS or len(folded.text) > _LONGEST_TEXT_CHARS:
        return
    ours, theirs = old.split("\n"), folded.text.split("\n")
    edits = [*_flattened(ours, folded), *_unfolded(ours, theirs)]
    if not edits:
        return
    read, written = [*ours], new.split("\n")
    for start, stop, lines in sorted(edits, reverse=True):
        read[start:stop] = lines
        at = _only_place(written, ours[start:stop])
        if at is not None:
            written[at : at + stop - start] = lines
    yield Reading(_STAGE, _FORGIVEN, "\n".join(read), "\n".join(written), True)


def _flattened(ours: list[str], folded: FoldedText) -> Iterator[tuple[int, int, list[str]]]:
    """Yield what of `old` the file has on one line, with that line."""
    for one in _statements(ours):
        if fold(one.flat) in folded.keys:
            yield one.start, one.stop, [one.flat]


def _unfolded(ours: list[str], theirs: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Yield what lines of `old` the file has on several, with these."""
    known = {fold(line): number for number, line in enumerate(ours) if line.strip()}
    found: dict[int, list[str]] = {}
    for one in _statements(theirs):
        number = known.get(fold(one.flat))
        if number is not None:
            depth, own = indent_of(ours[number]), indent_of(theirs[one.start])
            found[number] = [depth + line.removeprefix(own) for line in theirs[one.start : one.stop]]
    yield from ((number, number + 1, lines) for number, lines in found.items())


def _statements(lines: list[str]) -> Iterator[_Wrapped]:
    """Yield each statement that a bracket holds which may be there or not, from its head to the bracket that closes."""
    for start, head in enumerate(lines):
        if not _HEAD.search(head.rstrip()) or "#" in head:
            continue
        stop = next(
            (n for n in range(start + 1, min(start + _MOST_LINES, len(lines))) if _closes(head, lines[n])), None
        )
        within = [line.strip() for line in lines[start + 1 : stop]] if stop else []
        body = " ".join(within)
        is_import = re.search(r"\bimport[ \t]*\($", head.rstrip()) is not None
        if not within or "#" in body or '"""' in body or opened(body) or (body.endswith(",") and not is_import):
            continue
        tail = lines[stop or 0].strip()[1:]
        yield _Wrapped(start, (stop or 0) + 1, f"{head.rstrip()[:-1]}{body.rstrip(',')}{tail}")


def _closes(head: str, line: str) -> bool:
    return indent_of(line) == indent_of(head) and _TAIL.fullmatch(line.strip()) is not None


def _only_place(lines: list[str], wanted: list[str]) -> int | None:
    """Return where the lines stand, if at one place."""
    places = [n for n in range(len(lines) - len(wanted) + 1) if lines[n : n + len(wanted)] == wanted]
    return places[0] if len(places) == 1 else None
