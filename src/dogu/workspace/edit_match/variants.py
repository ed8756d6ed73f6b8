r"""What the file has that models are known to send otherwise, as a view of the file in which it is so.

Escapes that the model lost (`\n`, `\"`, `\uXXXX`, `&amp;`, a backslash in a pattern), quotes of the other style, signs
in ASCII. Safe because `old` must be in one view as it is, or but for white space; because a line that lost an escape
may stay but not change; and because new lines that may have lost one too are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import NamedTuple

from dogu.language import sentence
from dogu.workspace.diff import changed_ranges
from dogu.workspace.edit_match.alignment import Place, Unit, singly
from dogu.workspace.edit_match.apply import split_lines, weave
from dogu.workspace.edit_match.find import folded_places, occurrences
from dogu.workspace.edit_match.merge import brought
from dogu.workspace.edit_match.result import Found, Outcome, Refused, UncleanError, Why, lie_apart
from dogu.workspace.edit_match.unescape import ENTITY
from dogu.workspace.edit_match.verify import check_continued
from dogu.workspace.edit_match.views import FoldedText, View, substituted

_LOST = sentence("lost escapes")
_LONGEST_SHOWN = 80
_MOST_PLACES = 1000
_MOST_SPOTS = 200_000
_LONG_CHARS = 500_000
_MOST_WORDS = 100
_NAME = re.compile(r"\w+")
_WORD = re.compile(r"[a-wyzA-Z0-9_]+")


class _Variant(NamedTuple):
    """How the file has it and what the model sends for that, in what of its strings, and what shows that a new line may
    have it too.
    """

    stage: str
    forgiven: str
    pattern: re.Pattern[str]
    sent: Callable[[str], str]
    needs: re.Pattern[str]
    suspect: re.Pattern[str] | None


_ODD_QUOTES = r'^[^"]*"(?:[^"]*"[^"]*")*[^"]*$'
_QUOTES_WITHIN = r'"[^",()\[\]{}:=]*"\w'
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}
_SIGNS = {"→": "->", "⇒": "=>", "←": "<-", "≤": "<=", "≥": ">=", "≠": "!=", "×": "x", "—": "--", "•": "*"}


_SIGN = re.compile("[" + "".join(_SIGNS) + "]")
_CONTINUED = re.compile(r"(?<![ \t])[ \t]*+\\(?=\n)")
_GOES_ON = re.compile(r"\\\s*$|[nrtsSdDwWbB][*+?{]")  # or may be what is left of a pattern


def _escape(match: str) -> str:
    return _CONTROL.get(match[1], match[1])


def _without_mark(match: str) -> str:
    return match[1:]


def _single_quote(_match: str) -> str:
    return "'"


def _nothing(_match: str) -> str:
    return ""


def _character(match: str) -> str:
    codes = bytes.fromhex(match.replace("\\u", ""))
    return codes.decode("utf-16-be", "surrogatepass")


def _lost(pattern: str, needs: str, suspect: str, forgiven: str) -> _Variant:
    return _Variant(_LOST, forgiven, re.compile(pattern), _escape, re.compile(needs), re.compile(suspect))


_VARIANTS = [
    _lost(r"\\n", r"\n", _ODD_QUOTES, sentence("\\n in the file was sent as a line break")),
    _lost(r'\\"', '"', f"{_ODD_QUOTES}|{_QUOTES_WITHIN}", sentence('a backslash before " was lost')),
    _lost(r"\\'", "'", _ODD_QUOTES.replace('"', "'") + "|''", sentence("a backslash before ' was lost")),
    _lost(r"\\\\", r"\\", r"\\", sentence("doubled backslashes were sent as one")),
    _lost(r"\\t", r"\t", _ODD_QUOTES, sentence("\\t in the file was sent as a tab")),
    _lost(r"\\[$`]", r"[$`]", r"[$`]", sentence("a backslash before $ or ` was lost")),
    _lost(
        r'\\["\\ntr]',
        r'["\\\n\t]',
        rf"\\|{_ODD_QUOTES}|{_QUOTES_WITHIN}",
        sentence("one level of escapes was lost"),
    ),
    _lost(
        r"\\[sSdDwWbBzZ.+*?()\[\]{}|^$/-]",
        r"[sSdDwWbBzZ.+*?()\[\]{}|^$/-]",
        r"\\|[sSdDwWbB][*+?{]|\[\^?[sSdDwW]|\br['\"]|[(=,]\s*/[^/ ]+/|\bs/[^/]*/[^/]*/",
        sentence("backslashes of a pattern were lost"),
    ),
    _lost(r"\\[_*<>#~]", "[_*<>#~]", "[_*<>#~]", sentence("one level of escapes was lost")),  # of Markdown's
    _Variant(
        _LOST,
        sentence("backslashes before names were lost"),
        re.compile(r"\\[A-Za-z]"),
        _without_mark,
        re.compile("[A-Za-z]"),
        re.compile(r"\\"),
    ),
    _Variant(
        _LOST,
        sentence("doubled signs were sent as one"),
        re.compile(r"\$\$|\'\'|\"\""),
        _without_mark,
        re.compile("[$'\"]"),
        re.compile("[$'\"]"),
    ),
    _Variant(
        _LOST,
        sentence("backslashes at the ends of lines were lost"),
        _CONTINUED,
        _nothing,
        re.compile(r"\n"),
        _GOES_ON,
    ),
    _Variant(
        _LOST,
        sentence("\\uXXXX in the file was sent as the character"),
        re.compile(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4})"),
        _character,
        re.compile(r"[^\x00-\x7f]"),
        re.compile(r"[^\x00-\x7f]"),
    ),
    _Variant(
        _LOST,
        sentence("HTML entities in the file were sent as characters"),
        ENTITY,
        unescape,
        re.compile(r"[<>&\"'\u00a0]|[^\x00-\x7f]"),
        re.compile(r"&(?!#?\w+;)|<(?![/!]?[A-Za-z])|(?<![\w\"'/-])>|&lt;|&gt;"),
    ),
    _Variant(
        sentence("other quotes"),
        sentence("the style of quotes"),
        re.compile(r"[\"`]"),
        _single_quote,
        re.compile(r"[\"'`]"),
        None,
    ),
    _Variant(
        sentence("look-alikes"),
        sentence("signs sent in ASCII"),
        _SIGN,
        _SIGNS.__getitem__,
        re.compile(r"->|=>|<-|[<>!]=|x|--|\*"),
        None,
    ),
]


def find_variant(text: str, old: str, new: str, expected: int | None, *, folds: bool) -> Outcome:
    """Find `old` in the text with one variant sent for what the text has, but for white space if it `folds`; None when
    it is nowhere.
    """
    found: dict[tuple[tuple[int, int], ...], tuple[_Variant, list[Place]]] = {}
    for variant in _VARIANTS if len(text) < _LONG_CHARS or _has_words(text, old) else ():
        view = _view(variant, text) if (folds or variant.suspect) and variant.needs.search(old) else None
        places = _places(variant, view, text, old, folds=folds) if view else []
        if places:
            found.setdefault(tuple((place.start, place.end) for place in places), (variant, places))
    return _write(found, new, expected) if found else None


def _has_words(text: str, old: str) -> bool:
    """Whether the text has the longest words of `old`: no variant changes one, so where it hasn't, no view of a long
    text need be made. (`x` may be sent for a sign.)
    """
    return all(word in text for word in sorted({*_WORD.findall(old)}, key=len, reverse=True)[:_MOST_WORDS])


def _view(variant: _Variant, text: str) -> View | None:
    if "\\" not in text and variant.pattern.pattern.startswith((r"\\", r"(?:\\")):
        return None
    view = substituted(text, variant.pattern, lambda match: variant.sent(match[0]))
    has_spots = bool(view.starts) or variant.suspect is None
    return view if has_spots and len(view.starts) <= _MOST_SPOTS else None


def _sent(variant: _Variant, old: str) -> str:
    """Return `old` as it is in the view: where styles are made one, that of `old` is too."""
    return old if variant.suspect else variant.pattern.sub(lambda match: variant.sent(match[0]), old)


def _places(variant: _Variant, view: View, text: str, old: str, *, folds: bool) -> list[Place]:
    if not folds:
        starts = occurrences(view.text, old)[:_MOST_PLACES]
        aligned = [[Unit(k, k + 1, at + k, at + k + 1) for k in range(len(old))] for at in starts]
    else:
        sent = _sent(variant, old)
        places = folded_places(FoldedText(view.text), sent, _MOST_PLACES) if len(sent) == len(old) else []
        aligned = [place.units for place in places]
    return [Place(text, old, _units(view, [*singly(units)], old)) for units in aligned]


def _units(view: View, units: list[Unit], old: str) -> list[Unit]:
    """Point the units at the source of the view; several within one spot are one, white space that is a spot too."""
    out: list[Unit] = []
    for unit in units:
        start, end = view.to_source(unit.start), view.to_source(unit.end)
        if out and out[-1].start == out[-1].end == start:
            out[-1] = Unit(out[-1].old_start, unit.old_end, start, end)
        elif not old[unit.old_start : unit.old_end].isspace() or end - start > 1:
            out.append(Unit(unit.old_start, unit.old_end, start, end))
    return out


def _lacking(variant: _Variant, places: list[Place], old_lines: list[str], new_lines: list[str]) -> Iterator[str]:
    """Yield new lines that may have been sent without what the file has: by what they bring, where they take the place
    of others.
    """
    known, spots = {*old_lines}, _spots(places[0]) if variant.suspect else {}
    for change in changed_ranges(old_lines, new_lines):
        ours, theirs = range(change.old_start, change.old_end), range(change.new_start, change.new_end)
        partners = ours if len(ours) == len(theirs) else [None] * len(theirs)
        for i, j in zip(partners, theirs, strict=True):
            if new_lines[j] in known:
                continue
            pieces = [new_lines[j]] if i is None else brought(old_lines[i], new_lines[j])
            garbled = spots.get(i, set[str]()) if i is not None else set[str]()
            if any(_is_suspect(variant, piece, garbled, places[0].text) for piece in pieces):
                yield new_lines[j]
    if variant.pattern is _CONTINUED and len(new_lines) > len(old_lines):
        yield from (line for line in new_lines if line not in known)


def _is_suspect(variant: _Variant, piece: str, garbled: set[str], text: str) -> bool:
    """Whether what a new line brings may lack what the file has: what it has at the line's spots, a name that the file
    has with a backslash.
    """
    if variant.suspect and variant.suspect.search(piece):
        return True
    words = _NAME.findall(piece)
    if any(word.startswith(mark) if mark.isalnum() else mark in piece for mark in garbled for word in [*words, ""]):
        return True
    return bool(variant.suspect) and any(f"\\{word}" in text for word in words)


def _spots(place: Place) -> dict[int | None, set[str]]:
    """Return for each line of `old` (numbered from 0) what it has for something else of the file."""
    found: dict[int | None, set[str]] = {}
    for unit in place.units:
        ours = place.old[unit.old_start : unit.old_end]
        if ours != place.text[unit.start : unit.end]:
            found.setdefault(place.old.count("\n", 0, unit.old_start), set()).add(ours)
    return found


def _write(
    found: dict[tuple[tuple[int, int], ...], tuple[_Variant, list[Place]]], new: str, expected: int | None
) -> Outcome:
    spans, (variant, places) = next(iter(found.items()))
    if len(found) > 1:
        return Refused(Why.AMBIGUOUS, variant.stage, "the file can be unescaped in several ways that fit", spans)
    if not lie_apart(spans) or (expected is not None and len(places) != expected):
        return Refused(Why.AMBIGUOUS, variant.stage, variant.forgiven, spans)
    old_lines, new_lines = split_lines(places[0].old, new)
    suspect = next(_lacking(variant, places, old_lines, new_lines), None)
    if suspect is not None:
        shown = suspect.strip()[:_LONGEST_SHOWN]
        reason = f"{variant.forgiven}, and a new line may have lost one too: {shown}"
        return Refused(Why.UNCLEAR, variant.stage, reason, spans)
    keeps = variant.suspect not in (None, _GOES_ON)
    try:
        written = [piece for place in places for piece in weave(place, new, keep_garbled=keeps)]
        for place in places if variant.pattern is _CONTINUED else ():
            check_continued(place, written)
    except UncleanError as error:
        return Refused(Why.UNCLEAR, variant.stage, f"{variant.forgiven}; {error}", spans)
    return Found(variant.stage, spans, tuple(written), (variant.forgiven,))
