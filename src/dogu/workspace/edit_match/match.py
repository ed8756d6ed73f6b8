"""The stages in order: the first that finds anything decides."""

from __future__ import annotations

from dogu.workspace.edit_match.elided import find_elided
from dogu.workspace.edit_match.escaped import find_escaped
from dogu.workspace.edit_match.exact import find_exact, occurrences
from dogu.workspace.edit_match.folded import find_folded
from dogu.workspace.edit_match.folding import FoldedText
from dogu.workspace.edit_match.near import LineIndex, find_near
from dogu.workspace.edit_match.readings import Reading, readings
from dogu.workspace.edit_match.result import Found, Outcome, Refused, Replacement, Why
from dogu.workspace.edit_match.views import with_newlines
from dogu.workspace.omission import find_omission


def match_edit(source, old, new, expected=1):
    view = with_newlines(source)
    text = view.text
    old = old.replace("\r\n", "\n")
    new = new.replace("\r\n", "\n")
    if not old.strip():
        return Refused(Why.NO_MATCH, "", "blank")
    if old == new:
        return Refused(Why.NO_CHANGE, "", "no change")
    if find_omission(new, text + "\n" + old):
        return Refused(Why.UNCLEAR, "", "omission")
    r = find(text, old, new, expected)
    if r is None:
        return Refused(Why.NO_MATCH, "", "nowhere")
    if isinstance(r, Refused):
        return r
    if not r.replacements:
        return Refused(Why.NO_CHANGE, r.stage, "no change")
    rep = [Replacement(view.to_source(a), view.to_source(b), c) for a, b, c in r.replacements]
    rep = [s._replace(body=s.body.replace("\n", eol_at(source, s.start))) for s in rep]
    return Found(r.stage, r.spans, tuple(rep), r.forgiven)


def eol_at(source, pos):
    nl = source.find("\n", pos)
    if nl < 0:
        nl = source.rfind("\n")
    return "\r\n" if nl > 0 and source[nl - 1] == "\r" else "\n"


def find(text, old, new, expected):
    r = find_exact(text, old, new, expected)
    r = r or find_read(text, old, new, expected)
    r = r or find_escaped(text, old, new, expected)
    if r:
        return r
    folded = FoldedText(text)
    r = find_folded(folded, old, new, expected)
    r = r or find_elided(folded, old, new, expected)
    r = r or find_near(folded, LineIndex(text), old, new, expected)
    return r


def find_read(text: str, old: str, new: str, expected: int | None) -> Outcome:
    found: dict[tuple[str, str], tuple[Reading, bool]] = {}
    for reading, sure in readings(old, new):
        if reading.old.strip() and reading.old in text:
            found.setdefault((reading.old, reading.new), (reading, sure))
    if not found:
        return None
    if len(found) > 1:
        return Refused(Why.UNCLEAR, "garblings undone", "several readings")
    reading, sure = next(iter(found.values()))
    r = find_exact(text, reading.old, reading.new, expected)
    if isinstance(r, Refused):
        return r
    if not sure:
        return Refused(Why.UNCLEAR, reading.name, "unsure", r.spans)
    if reading.old == reading.new:
        return Refused(Why.NO_CHANGE, reading.name, "no change", r.spans)
    return Found(reading.name, r.spans, r.replacements, (reading.forgiven,))
