"""Keeps results bounded: of a long text a part is left out, and the whole is kept in a file that can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from dogu.contract.content import Part, Text, parts_of, text_of
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind
from dogu.runtime.events import ToolCall
from dogu.workspace.truncation import middle_left_out

LIMIT_CHARS = 40_000
_MOST_READ_CHARS = 300_000
_LEAST_CHARS = 100  # of one text of many; less of it says nothing

Keep = Callable[[str, str], str]


class ResultBounds:
    """Applies the limit. `keep(call_id, text)` stores a whole text and returns the path that `read_file` can read."""

    def __init__(self, keep: Keep | None = None) -> None:
        self._keep = keep

    def apply(
        self, call: ToolCall, result: ToolResult, kind: Kind = Kind.OTHER, *, bounds_itself: bool = False
    ) -> ToolResult:
        """Return the result with a text over the limit cut: lists of finds at their end, others in the middle.

        Blobs stay, and the texts between them have the limit together. A tool that `bounds_itself` has been asked for
        as much as it gives.
        """
        limit = _MOST_READ_CHARS if bounds_itself else LIMIT_CHARS
        content = result.llm_content
        parts = parts_of(content)
        sizes = sorted(len(part.text) for part in parts if isinstance(part, Text))
        if sum(sizes) <= limit:
            return result
        share = _share(sizes, limit)
        said = [kept for part in parts if (kept := _cut(part, share, kind)) is not None]
        told = self._whereabouts(call, text_of([part for part in parts if isinstance(part, Text)]))
        said += [Text(told)] if told else []
        failure = result.error
        if failure is not None:
            failure = msgspec.structs.replace(failure, message=middle_left_out(failure.message)[0])
        shorter = text_of(said) if isinstance(content, str) else said
        return msgspec.structs.replace(result, llm_content=shorter, error=failure)

    def _whereabouts(self, call: ToolCall, whole: str) -> str:
        if self._keep is None:
            return ""
        try:
            path = self._keep(call.call_id, whole)
        except OSError as error:
            return f"[The whole result ({len(whole)} characters) could not be kept: {error.strerror}.]"
        return f"[The whole result ({len(whole)} characters) is kept in {path}: read_file reads it.]"


def _share(sizes: Sequence[int], limit: int) -> int:
    """Return how much of the limit each text may have; what the shortest, which come first, leave of it is others'."""
    for at, size in enumerate(sizes):
        share = limit // (len(sizes) - at)
        if size > share:
            return share
        limit -= size
    return limit


def _cut(part: Part, limit: int, kind: Kind) -> Part | None:
    if not isinstance(part, Text) or len(part.text) <= limit:
        return part
    if limit < _LEAST_CHARS:
        return None
    return Text(_first_lines(part.text, limit) if kind is Kind.SEARCH else middle_left_out(part.text, limit)[0])


def _first_lines(text: str, limit: int) -> str:
    """Cut a list at the end of a line, and say how much is missing."""
    end = text.rfind("\n", 0, limit) + 1 or limit
    return f"{text[:end]}[{text.count(chr(10), end) + 1} more lines are left out: narrow the search.]"
