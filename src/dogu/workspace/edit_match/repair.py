"""The seam to a model that may put right an edit that couldn't be placed, and what to ask it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

_REGION_CHARS = 20_000
_LEAST_ALIKE = 0.5
_LEEWAY = 0.05


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


def refuse_repair(request: RepairRequest, old: str, new: str) -> str:
    """Say why an answer isn't the edit that was asked for, put right; empty when it is.

    The model that answers has read the file, which may tell it anything. So its `old` must lie in what it was shown
    and be like the one asked for; and what it adds must be of the `new_string` asked for, what it takes away no more
    than was asked.
    """
    if request.region.count(old) != 1:
        return "its old_string isn't in the lines shown, once"
    if not _is_likest(request, old):
        return "its old_string is another text than the one asked for"
    asked = _words(request.old_string), _words(request.new_string)
    given = _words(old), _words(new)
    if given[1] - given[0] - asked[1]:
        return "it adds what wasn't asked for"
    if (given[0] - given[1]).total() > (asked[0] - asked[1]).total() or _lines(old) - _lines(new) > max(
        _lines(request.old_string) - _lines(request.new_string), 0
    ):
        return "it takes away more than was asked for"
    return ""


def _is_likest(request: RepairRequest, old: str) -> bool:
    """Whether `old` is like the text asked for, and no other lines shown, as many, are more like it."""
    from rapidfuzz.distance import Indel

    def alike(text: str) -> float:
        return max(Indel.normalized_similarity(one, text) for one in (request.old_string, request.new_string))

    lines, count = request.region.split("\n"), len(old.rstrip("\n").split("\n"))
    others = ("\n".join(lines[start : start + count]) for start in range(len(lines) - count + 1))
    own = alike(old.rstrip("\n"))
    return own >= _LEAST_ALIKE and all(alike(other) <= own + _LEEWAY for other in others)


def _words(text: str) -> Counter[str]:
    """Count the words and signs of a text."""
    return Counter(re.findall(r"\w+|[^\w\s]", text))


def _lines(text: str) -> int:
    return sum(1 for line in text.split("\n") if line.strip())


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
