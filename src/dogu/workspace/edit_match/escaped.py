"""Stage "escapes": the file holds escapes (`\\n`, `\\"`) that the model sent as what they stand for.

Forgives one kind of escape, everywhere in the span. Safe because `old` must equal the unescaped view of the file character by
character and as often as expected, under exactly one kind; because a line where an escape was lost is only ever kept, never
changed; and because new lines that would need the escape themselves are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from dogu.workspace.edit_match.alignment import Place, Unit
from dogu.workspace.edit_match.exact import occurrences
from dogu.workspace.edit_match.result import Found, Outcome, Refused, Why
from dogu.workspace.edit_match.views import View, substituted
from dogu.workspace.edit_match.weave import UncleanError, split_lines, weave

_STANDS_FOR = {"n": "\n", "t": "\t", "r": "\r"}


class _Kind(NamedTuple):
    pattern: re.Pattern[str]
    holds: str  # `old` holds one of these, or nothing was lost
    needs: Callable[[str], bool]  # a new line that may have lost an escape too
    forgiven: str


def _odd_quotes(line: str) -> bool:
    return line.count('"') % 2 == 1


def _many_quotes(line: str) -> bool:
    return line.count('"') % 2 == 1 or re.search(r'"[^",()\[\]{}:=]*"\w', line) is not None


def _backslash(line: str) -> bool:
    return "\\" in line


_KINDS = [
    _Kind(re.compile(r"\\n"), "\n", _odd_quotes, "\\n in the file was sent as a line break"),
    _Kind(re.compile(r'\\"'), '"', _many_quotes, 'a backslash before " was lost'),
    _Kind(re.compile(r"\\'"), "'", lambda line: line.count("'") % 2 == 1, "a backslash before ' was lost"),
    _Kind(re.compile(r"\\\\"), "\\", _backslash, "doubled backslashes were sent as one"),
    _Kind(re.compile(r"\\t"), "\t", _odd_quotes, "\\t in the file was sent as a tab"),
    _Kind(re.compile(r"\\([$`])"), "$`", lambda line: "$" in line or "`" in line, "a backslash before $ or ` was lost"),
    _Kind(
        re.compile(r'\\(["\\ntr])'),
        '"\\\n\t',
        lambda line: _many_quotes(line) or _backslash(line),
        "one level of escapes was lost",
    ),
]


def find_escaped(text: str, old: str, new: str, expected: int | None) -> Outcome:
    """Find `old` in the text with one kind of escape undone; None when it is nowhere."""
    if "\\" not in text:
        return None
    found: dict[tuple[tuple[int, int], ...], tuple[_Kind, list[Place]]] = {}
    for kind in _KINDS:
        if not any(char in old for char in kind.holds):
            continue
        view = substituted(text, kind.pattern, _unescape)
        places = [_place(view, text, old, at) for at in occurrences(view.text, old)] if view.text != text else []
        if places:
            found.setdefault(tuple((place.start, place.end) for place in places), (kind, places))
    if not found:
        return None
    spans = tuple(found)[0]
    if len(found) > 1:
        return Refused(Why.AMBIGUOUS, "escapes", "old_string fits under several ways of undoing escapes", spans)
    kind, places = found[spans]
    if expected is not None and len(places) != expected:
        return Refused(Why.AMBIGUOUS, "escapes", kind.forgiven, spans)
    for line in _new_lines(old, new):
        if kind.needs(line):
            return Refused(
                Why.UNCLEAR,
                "escapes",
                f"{kind.forgiven}, and a new line may have lost one too: {line.strip()[:80]}",
                spans,
            )
    try:
        written = [piece for place in places for piece in weave(place, new, keep_garbled=True)]
    except UncleanError as error:
        return Refused(Why.UNCLEAR, "escapes", f"{kind.forgiven}; {error}", spans)
    return Found("escapes", spans, tuple(written), (kind.forgiven,))


def _unescape(match: re.Match[str]) -> str:
    char = match[0][1]
    return _STANDS_FOR.get(char, char)


def _place(view: View, text: str, old: str, at: int) -> Place:
    units = [
        Unit(k, k + 1, view.to_source(at + k), view.to_source(at + k + 1))
        for k, char in enumerate(old)
        if not char.isspace() or view.to_source(at + k + 1) - view.to_source(at + k) > 1
    ]
    return Place(text, old, units)


def _new_lines(old: str, new: str) -> list[str]:
    old_lines, new_lines = split_lines(old, new)
    known = set(old_lines)
    return [line for line in new_lines if line not in known]
