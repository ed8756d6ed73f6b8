"""What the model hears of an edit: how it was found, or why it wasn't and what to send instead."""

from __future__ import annotations

from collections.abc import Sequence

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import sentence, told
from dogu.workspace.edit_match.match import Edit, LineSpan, Refusal
from dogu.workspace.edit_match.result import Replacement, Why
from dogu.workspace.text.omission import find_omission

_MOST_PLACES = 20
_TYPOGRAPHIC = frozenset("“”‘’„‚")
_KINDS = {
    Why.NO_MATCH: ErrorKind.NO_MATCH,
    Why.UNCLEAR: ErrorKind.NO_MATCH,
    Why.AMBIGUOUS: ErrorKind.AMBIGUOUS_MATCH,
    Why.OVERLAP: ErrorKind.AMBIGUOUS_MATCH,
    Why.NO_CHANGE: ErrorKind.NO_CHANGE,
    Why.OMISSION: ErrorKind.OMISSION_PLACEHOLDER,
}


def receipt(edit: Edit, repaired: bool = False) -> str:
    """Say how the text was found when that wasn't exactly; empty when it was."""
    if edit.is_exact and not repaired:
        return ""
    stage = sentence("repair by the model") if repaired else edit.stage
    where = _named(edit.lines)
    if not edit.forgiven:
        return told("Matched by {stage} at {where}.", stage=(stage,), where=where)
    return told(
        "Matched by {stage} at {where}. Forgiven: {forgiven}.", stage=(stage,), where=where, forgiven=edit.forgiven
    )


def quotes_note(text: str, pieces: Sequence[Replacement]) -> str:
    """Say that the pieces bring typographic quotes into a text that has none; empty where they don't."""
    brought = sorted(_TYPOGRAPHIC.intersection("".join(piece.body for piece in pieces)))
    if not brought or not _TYPOGRAPHIC.isdisjoint(text):
        return ""
    return told("The new text has typographic quotes ({quotes}); the file had none.", quotes=" ".join(brought))


def refusal_error(path: str, refusal: Refusal, expected: int | None) -> ToolError:
    """Make the error of a refused edit of `path` (absolute): what was wrong, where, what to do next."""
    because = f" {_sentence(refusal.reason)}" if refusal.reason else ""
    by = f" by {refusal.stage}" if refusal.stage not in ("", "exact") else ""
    where = _named(refusal.lines) if refusal.lines else ""
    match refusal.why:
        case Why.NO_CHANGE:
            message = f"No changes to apply to {path}:{because}{f' See {where}.' if where else ''}"
        case Why.OMISSION:
            message = f"Nothing was written to {path}:{because} Write every line out in full."
        case Why.AMBIGUOUS:
            wanted = "some" if expected is None else str(expected)
            shown = f"\n{refusal.shown}\n" if refusal.shown else " "
            found = (
                f"expected {wanted} occurrences but found {len(refusal.lines)}{by} for old_string in {path}: {where}"
            )
            if len(refusal.lines) == expected:
                found = f"old_string isn't in {path} as it was sent. Nearest: {where}"
            message = (
                f"Failed to edit, {found}.{because}{shown}"
                "Add lines of context that only the place you mean has, or set expected_replacements."
            )
        case Why.UNCLEAR:
            message = (
                f"Failed to edit, old_string was found{by} in {path}{f' at {where}' if where else ''}, "
                f"but what to write can't be told.{because} "
                "Nothing was written. Send those lines exactly as they are"
                + (f":\n{refusal.shown}" if refusal.shown else ".")
            )
        case Why.OVERLAP:
            message = f"Nothing was written: edits of {path} overlap. Make one edit of those that touch the same lines."
        case Why.NO_MATCH:
            message = _nowhere(path, refusal, because, where)
    return ToolError(_KINDS[refusal.why], message)


def refuse_omission(path: str, text: str) -> None:
    """Raise `ToolError` (OMISSION_PLACEHOLDER) for a new file whose text has a placeholder for code left out."""
    omission = find_omission(text, "", path)
    if omission is not None:
        line, placeholder = omission
        reason = f"line {line} of new_string stands for code left out: {placeholder!r}"
        raise refusal_error(path, Refusal(Why.OMISSION, reason), 1)


def _nowhere(path: str, refusal: Refusal, because: str, where: str) -> str:
    message = f"Failed to edit, 0 occurrences found for old_string in {path}.{because}"
    if refusal.nearest:
        message += f" Nearest: {where} (- old_string, + the file):\n{refusal.nearest}\n"
    else:
        message += f" See {where}. " if where else " "
    return f"{message}Nothing was written. Read the file and send old_string exactly as it is there."


def _sentence(reason: str) -> str:
    text = reason if reason.startswith(("old_string", "new_string")) else reason[0].upper() + reason[1:]
    return text if text.endswith("?") else f"{text}."


def _named(spans: tuple[LineSpan, ...]) -> str:
    if len(spans) == 1 and spans[0][0] == spans[0][1]:
        return told("line {line}", line=spans[0][0])
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans[:_MOST_PLACES])
    more = len(spans) - _MOST_PLACES
    return (
        told("lines {lines} and {more} more places", lines=shown, more=more)
        if more > 0
        else told("lines {lines}", lines=shown)
    )
