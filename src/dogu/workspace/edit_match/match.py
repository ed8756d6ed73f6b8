r"""The stages in order: the first that finds `old` anywhere decides, whatever it decides.

`exact`, then one known garbling of the strings undone (`readings`), then one of the file's escapes (`escaped`), then
white space and look-alikes (`folded`), then lines left out (`elided`), then slips (`near`). Each states what it
forgives and why that can neither lose nor move content. All of them see text whose lines end in `\n`; what they write
gets the line endings of its place here.
"""

from __future__ import annotations

from dataclasses import dataclass

from dogu.workspace.edit_match.elided import find_elided
from dogu.workspace.edit_match.escaped import find_escaped
from dogu.workspace.edit_match.exact import find_exact
from dogu.workspace.edit_match.folded import find_folded
from dogu.workspace.edit_match.folding import FoldedText
from dogu.workspace.edit_match.line_endings import settle_endings
from dogu.workspace.edit_match.line_index import LineIndex
from dogu.workspace.edit_match.near import find_near
from dogu.workspace.edit_match.nearest import nearest
from dogu.workspace.edit_match.readings import find_read
from dogu.workspace.edit_match.result import (
    OVERLAP,
    Found,
    Outcome,
    Refused,
    Replacement,
    Why,
    lie_apart,
    spliced,
)
from dogu.workspace.edit_match.verify import is_broken_itself, still_parses
from dogu.workspace.edit_match.views import View, with_newlines
from dogu.workspace.text.omission import find_omission

LineSpan = tuple[int, int]


@dataclass(frozen=True)
class Edit:
    """What to write, and how it was found.

    `replacements` are in positions of the text given, ascending and apart; `lines` are first and last line (1-based)
    of each place; `forgiven` says in words how the file's text differs from `old_string` there.
    """

    stage: str
    replacements: tuple[Replacement, ...]
    lines: tuple[LineSpan, ...]
    forgiven: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether `old_string` was found as it was sent."""
        return self.stage == "exact"


@dataclass(frozen=True)
class Refusal:
    """Why nothing is written, for the model to act on.

    `reason` is a sentence or empty; `lines` are the places that came into question, first and last line (1-based);
    `nearest` is a small diff from `old_string` to the file where nothing was found.
    """

    why: Why
    reason: str = ""
    stage: str = ""
    lines: tuple[LineSpan, ...] = ()
    nearest: str = ""


def match_edit(
    text: str, old: str, new: str, expected: int | None = 1, *, path: str = "", exact_only: bool = False
) -> Edit | Refusal:
    """Find what `old` means in `text` and work out what to write there for `new`, or refuse.

    `expected` is how often `old` must be there, None for as often as it is. `path` says by its ending what language
    the text is in. With `exact_only` no stage but the first is tried.
    """
    view = with_newlines(text)
    old, new = _with_newlines(old), _with_newlines(new)
    refusal = _refuse_strings(view.text, old, new)
    if refusal is not None:
        return refusal
    folded = FoldedText(view.text)
    outcome = find_exact(view.text, old, new, expected, path)
    if outcome is None and not exact_only:
        outcome = _find(folded, old, new, expected)
    if isinstance(outcome, Found):
        return _edit(view, text, outcome) if _parses(path, view.text, old, new, outcome) else _unparsable(view, outcome)
    if isinstance(outcome, Refused):
        return Refusal(outcome.why, outcome.reason, outcome.stage, _line_spans(view.text, outcome.spans))
    return _nowhere(folded, old, new)


def _parses(path: str, text: str, old: str, new: str, found: Found) -> bool:
    """Say whether the text can be parsed as before, as far as that is the engine's doing."""
    if not found.forgiven or still_parses(path, text, spliced(text, found.replacements)):
        return True
    as_sent = spliced(text, [Replacement(*span, new) for span in found.spans])
    return is_broken_itself(path, old, new, as_sent)


def _unparsable(view: View, found: Found) -> Refusal:
    reason = "written there, new_string would leave a file that can't be parsed"
    return Refusal(Why.UNCLEAR, reason, found.stage, _line_spans(view.text, found.spans))


def _edit(view: View, text: str, found: Found) -> Edit | Refusal:
    lines = _line_spans(view.text, found.spans)
    if not lie_apart([piece[:2] for piece in found.replacements]):
        return Refusal(Why.AMBIGUOUS, OVERLAP, found.stage, lines)
    settled = settle_endings(view, text, found.replacements)
    replacements = tuple(piece for piece in settled if text[piece.start : piece.end] != piece.body)
    if not replacements:
        return Refusal(Why.NO_CHANGE, "what new_string changes is so in the file already", found.stage, lines)
    return Edit(found.stage, replacements, lines, found.forgiven)


def _with_newlines(string: str) -> str:
    return string.replace("\r\n", "\n")


def _refuse_strings(text: str, old: str, new: str) -> Refusal | None:
    if not old.strip():
        return Refusal(
            Why.NO_MATCH, "old_string is nothing but white space, which names no place: add the lines around it"
        )
    if old == new:
        return Refusal(Why.NO_CHANGE, "old_string and new_string are the same")
    omission = find_omission(new, old)
    if omission is not None:
        omission = find_omission(new, f"{old}\n{text}")
    if omission is not None:
        line, placeholder = omission
        reason = f"line {line} of new_string stands for code left out: {placeholder!r}"
        return Refusal(Why.OMISSION, reason)
    return None


def _find(folded: FoldedText, old: str, new: str, expected: int | None) -> Outcome:
    return (
        find_read(folded.text, old, new, expected)
        or find_escaped(folded.text, old, new, expected)
        or find_folded(folded, old, new, expected)
        or find_elided(folded, old, new, expected)
        or find_near(LineIndex(folded), old, new, expected)
    )


def _nowhere(folded: FoldedText, old: str, new: str) -> Refusal:
    text = folded.text
    if len(new.strip()) > _TELLING_CHARS and text.count(new) == 1:
        start = text.index(new)
        lines = _line_spans(text, ((start, start + len(new)),))
        return Refusal(Why.NO_MATCH, "new_string is there already; was this edit made before?", "", lines)
    spans, diff = nearest(LineIndex(folded), old)
    return Refusal(Why.NO_MATCH, "", "", _line_spans(text, spans), diff)


_TELLING_CHARS = 10


def _line_spans(text: str, spans: tuple[tuple[int, int], ...]) -> tuple[LineSpan, ...]:
    """Return first and last line of each span; one that ends with a newline ends on the line of that."""
    found: list[LineSpan] = []
    number, done = 1, 0
    for start, end in spans:
        number += text.count("\n", done, start)
        done = start
        found.append((number, number + text.count("\n", start, max(end - 1, start))))
    return tuple(found)
