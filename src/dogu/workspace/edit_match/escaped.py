r"""Stage "lost escapes": the file holds escapes (`\n`, `\"`) that the model sent as what they stand for.

Forgives one kind of escape throughout the span. Safe because `old` must be in the file so unescaped character by
character, under one kind only; because a line that lost an escape may stay but not change; and because new lines that
may have lost one too are refused.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dogu.language import sentence
from dogu.workspace.edit_match.alignment import Place, Unit
from dogu.workspace.edit_match.apply import split_lines, weave
from dogu.workspace.edit_match.exact import occurrences
from dogu.workspace.edit_match.result import Found, Outcome, Refused, UncleanError, Why, lie_apart
from dogu.workspace.edit_match.views import View, substituted

STAGE = sentence("lost escapes")
_STANDS_FOR = {"n": "\n", "t": "\t", "r": "\r"}
_LONGEST_SHOWN = 80


class _Kind(NamedTuple):
    """Escapes that may be lost together: their pattern, what `old` holds then, a new line that may have lost one."""

    pattern: re.Pattern[str]
    held: str
    suspect: re.Pattern[str]
    forgiven: str


_ODD_QUOTES = r'^[^"]*"(?:[^"]*"[^"]*")*[^"]*$'
_QUOTES_WITHIN = r'"[^",()\[\]{}:=]*"\w'
_KINDS = [
    _Kind(re.compile(r"\\n"), "\n", re.compile(_ODD_QUOTES), sentence("\\n in the file was sent as a line break")),
    _Kind(
        re.compile(r'\\"'),
        '"',
        re.compile(f"{_ODD_QUOTES}|{_QUOTES_WITHIN}"),
        sentence('a backslash before " was lost'),
    ),
    _Kind(
        re.compile(r"\\'"), "'", re.compile(_ODD_QUOTES.replace('"', "'")), sentence("a backslash before ' was lost")
    ),
    _Kind(re.compile(r"\\\\"), "\\", re.compile(r"\\"), sentence("doubled backslashes were sent as one")),
    _Kind(re.compile(r"\\t"), "\t", re.compile(_ODD_QUOTES), sentence("\\t in the file was sent as a tab")),
    _Kind(re.compile(r"\\[$`]"), "$`", re.compile(r"[$`]"), sentence("a backslash before $ or ` was lost")),
    _Kind(
        re.compile(r'\\["\\ntr]'),
        '"\\\n\t',
        re.compile(rf"\\|{_ODD_QUOTES}|{_QUOTES_WITHIN}"),
        sentence("one level of escapes was lost"),
    ),
]


def find_escaped(text: str, old: str, new: str, expected: int | None) -> Outcome:
    """Find `old` in the text with one kind of escape undone; None when it is nowhere."""
    found: dict[tuple[tuple[int, int], ...], tuple[_Kind, list[Place]]] = {}
    for kind in _KINDS if "\\" in text else ():
        places = _places(kind, text, old)
        if places:
            found.setdefault(tuple((place.start, place.end) for place in places), (kind, places))
    if not found:
        return None
    spans, (kind, places) = next(iter(found.items()))
    if len(found) > 1:
        return Refused(Why.AMBIGUOUS, STAGE, "the file can be unescaped in several ways that fit", spans)
    if not lie_apart(spans) or (expected is not None and len(places) != expected):
        return Refused(Why.AMBIGUOUS, STAGE, kind.forgiven, spans)
    return _write(kind, places, new, spans)


def _places(kind: _Kind, text: str, old: str) -> list[Place]:
    if not any(char in old for char in kind.held):
        return []
    view = substituted(text, kind.pattern, _unescape)
    return [Place(text, old, _units(view, old, at)) for at in occurrences(view.text, old)] if view.starts else []


def _unescape(match: re.Match[str]) -> str:
    char = match[0][1]
    return _STANDS_FOR.get(char, char)


def _units(view: View, old: str, at: int) -> list[Unit]:
    """Align `old` with the source of the view where it begins at `at`; white space that is an escape there is a unit
    too.
    """
    units: list[Unit] = []
    for k, char in enumerate(old):
        start, end = view.to_source(at + k), view.to_source(at + k + 1)
        if not char.isspace() or end - start > 1:
            units.append(Unit(k, k + 1, start, end))
    return units


def _write(kind: _Kind, places: list[Place], new: str, spans: tuple[tuple[int, int], ...]) -> Outcome:
    old_lines, new_lines = split_lines(places[0].old, new)
    for line in new_lines:
        if line not in old_lines and kind.suspect.search(line):
            shown = line.strip()[:_LONGEST_SHOWN]
            return Refused(Why.UNCLEAR, STAGE, f"{kind.forgiven}, and a new line may have lost one too: {shown}", spans)
    try:
        written = [piece for place in places for piece in weave(place, new, keep_garbled=True)]
    except UncleanError as error:
        return Refused(Why.UNCLEAR, STAGE, f"{kind.forgiven}; {error}", spans)
    return Found(STAGE, spans, tuple(written), (kind.forgiven,))
