"""The seam to a model that may put right an edit that couldn't be placed, and what to ask it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

_REGION_CHARS = 20_000


@dataclass(frozen=True)
class RepairRequest:
    """An edit that couldn't be placed: the file's text around where it may belong, the strings, and why it failed.

    `region` is a stretch of the file of whole lines with its own line endings; `candidates` a small diff or list of
    lines, or empty.
    """

    path: str
    region: str
    old_string: str
    new_string: str
    reason: str
    candidates: str = ""


class Repair(Protocol):
    """Asks a model once."""

    async def __call__(self, request: RepairRequest) -> tuple[str, str] | None:
        """Return `old_string` and `new_string` put right, None when there is nothing to change or no answer."""
        ...


def region_around(text: str, lines: tuple[tuple[int, int], ...]) -> str:
    """Return the whole text when it is short, else a stretch of whole lines around the first of `lines` (1-based), or
    its beginning.
    """
    if len(text) <= _REGION_CHARS:
        return text
    middle = 0
    for _ in range(lines[0][0] - 1 if lines else 0):
        middle = text.find("\n", middle) + 1
    start = text.rfind("\n", 0, max(middle - _REGION_CHARS // 2, 0)) + 1
    end = text.find("\n", start + _REGION_CHARS)
    return text[start : end + 1 or len(text)]


SYSTEM = """\
You repair one failed search-and-replace edit of a file. old_string must be found in the file exactly once, character \
by character; it was not. Find the place that was meant, and answer with old_string as the file has it there and with \
new_string making the same change as before, in the file's own indentation, quotes and escapes. Change nothing else. \
Don't invent text that the file doesn't have. If the file already is as new_string wants it, or the place can't be \
told, say so instead of guessing."""


def repair_prompt(request: RepairRequest) -> str:
    """Return the user's part of the question; `SYSTEM` is the system's part. The answer's form is the asker's
    business.
    """
    parts = [
        f"File: {request.path}",
        f"Why it failed: {request.reason}",
        _fenced("old_string", request.old_string),
        _fenced("new_string", request.new_string),
    ]
    if request.candidates:
        parts.append(_fenced("nearest", request.candidates))
    parts.append(_fenced("file", request.region))
    return "\n\n".join(parts)


def _fenced(name: str, text: str) -> str:
    """Set the text between marks that it doesn't hold itself."""
    mark = name
    while f"<{mark}>" in text or f"</{mark}>" in text:
        mark += "_"
    return f"<{mark}>\n{text}\n</{mark}>"
