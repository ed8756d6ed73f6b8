"""Stage "exact": `old` is in the file as it was sent."""

from __future__ import annotations

from dogu.language import sentence
from dogu.workspace.edit_match.alignment import Place, align_equal
from dogu.workspace.edit_match.apply import weave
from dogu.workspace.edit_match.indentation import indent_of
from dogu.workspace.edit_match.result import (
    OVERLAP,
    TOO_MANY,
    Found,
    Outcome,
    Refused,
    Replacement,
    UncleanError,
    Why,
    lie_apart,
    spliced,
)
from dogu.workspace.edit_match.verify import still_parses

MOST_PLACES = 100_000
_OPENERS = (":", "{", "(", "[")
_CLOSERS = ("}", ")", "]")
_AROUND_CHARS = 2000


def occurrences(text: str, old: str) -> list[int]:
    """Return where `old` begins in `text`, overlapping occurrences too; no more than one beyond `MOST_PLACES`."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0 and len(found) <= MOST_PLACES:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def find_exact(text: str, old: str, new: str, expected: int | None, path: str = "") -> Outcome:
    """Find `old` as it is; None when it is nowhere.

    Forgives nothing but the indentation of a single line, so `new` is written as it is. Occurrences that overlap make
    no set of places and are refused.
    """
    at = occurrences(text, old)
    if not at:
        return None
    spans = tuple((start, start + len(old)) for start in at)
    if len(spans) > MOST_PLACES:
        return Refused(Why.AMBIGUOUS, "exact", TOO_MANY, spans)
    if not lie_apart(spans) or (expected is not None and len(spans) != expected):
        return Refused(Why.AMBIGUOUS, "exact", "" if lie_apart(spans) else OVERLAP, spans)
    try:
        written = [_reindented(text, span, old, new, path) for span in spans]
    except UncleanError as error:
        return Refused(Why.UNCLEAR, "exact", str(error), spans)
    literal = [Replacement(*span, new) for span in spans]
    pieces = [piece for own, as_sent in zip(written, literal, strict=True) for piece in own or [as_sent]]
    return Found("exact", spans, tuple(pieces), (sentence("indentation"),) if any(written) else ())


def _reindented(text: str, span: tuple[int, int], old: str, new: str, path: str) -> list[Replacement]:
    """Return what to write for several new lines where one line of `old` lies in the file without all of its
    indentation; empty where `new` is meant as it is.
    """
    line_start = text.rfind("\n", 0, span[0]) + 1
    lost = text[line_start : span[0]]
    if not lost or lost.strip() or "\n" not in new or len([line for line in old.split("\n") if line.strip()]) > 1:
        return []
    is_plain = not (old[0].isspace() or new[0].isspace()) and not _is_shallow(text, span[1], lost, new)
    if is_plain and still_parses(path, text, spliced(text, [Replacement(*span, new)])):
        return []
    try:
        pieces = weave(Place(text, old, align_equal(old, span[0])), new)
    except UncleanError:
        if old[0].isspace():
            raise
        return []
    return [] if is_plain and not still_parses(path, text, spliced(text, pieces)) else pieces


def _is_shallow(text: str, end: int, indent: str, new: str) -> bool:
    """Whether lines of `new`, as they are, would leave the block that its first line begins in at `indent`,
    without a reason.
    """
    lines = new.rstrip("\n").split("\n")
    if len(lines) < 2:
        return False
    if lines[0].rstrip().endswith(_OPENERS) and lines[1].strip() and len(indent_of(lines[1])) <= len(indent):
        return not lines[1].lstrip().startswith(_CLOSERS) or not lines[1].startswith(indent)
    leaving = next((i for i, line in enumerate(lines) if i and line.strip() and not line.startswith(indent)), None)
    if leaving is None:
        return False
    after = next((line for line in text[end : end + _AROUND_CHARS].split("\n")[1:] if line.strip()), "")
    if len(indent_of(after)) > len(indent_of(lines[-1])) and not lines[-1].rstrip().endswith(_OPENERS):
        return True
    return bool(lines[leaving - 1].strip()) and not _has_sibling(
        text[max(0, end - _AROUND_CHARS) : end], lines[leaving]
    )


def _has_sibling(above: str, line: str) -> bool:
    """Whether the last line above that is as deep begins with the same word or mark."""
    indent = indent_of(line)
    as_deep = (other for other in reversed(above.split("\n")) if other.strip() and indent_of(other) == indent)
    return next(as_deep, "").split()[:1] == line.split()[:1]
