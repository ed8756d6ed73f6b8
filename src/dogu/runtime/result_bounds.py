"""Keeps results bounded: of a long text a part is left out, and the whole is kept in a file that can be read."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dogu.contract.content import Text, parts_of
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind
from dogu.runtime.calls import ToolCall
from dogu.workspace.truncation import middle_left_out

LIMIT_CHARS = 40_000
_MOST_READ_CHARS = 300_000

Keep = Callable[[str, str], str]


class ResultBounds:
    """Applies the limit. `keep(call_id, text)` stores a whole text and returns the path that `read_file` can read."""

    def __init__(self, keep: Keep | None = None) -> None:
        self._keep = keep

    def apply(
        self, call: ToolCall, result: ToolResult, kind: Kind = Kind.OTHER, *, bounds_itself: bool = False
    ) -> ToolResult:
        """Return the result with texts over the limit cut: lists of finds at their end, others in the middle.

        Blobs stay. A tool that `bounds_itself` has been asked for as much as it gives.
        """
        limit = _MOST_READ_CHARS if bounds_itself else LIMIT_CHARS
        content = result.llm_content
        if isinstance(content, str):
            if len(content) <= limit:
                return result
            return msgspec.structs.replace(result, llm_content=self._cut(call, content, limit, kind))
        parts = parts_of(content)
        if all(not isinstance(part, Text) or len(part.text) <= limit for part in parts):
            return result
        parts = [
            Text(self._cut(call, part.text, limit, kind)) if isinstance(part, Text) and len(part.text) > limit else part
            for part in parts
        ]
        return msgspec.structs.replace(result, llm_content=parts)

    def _cut(self, call: ToolCall, text: str, limit: int, kind: Kind) -> str:
        shorter = _first_lines(text, limit) if kind is Kind.SEARCH else middle_left_out(text, limit)[0]
        if self._keep is None:
            return shorter
        try:
            path = self._keep(call.call_id, text)
        except OSError as error:
            return f"{shorter}\n[The whole result ({len(text)} characters) could not be kept: {error.strerror}.]"
        return f"{shorter}\n[The whole result ({len(text)} characters) is kept in {path}: read_file reads it.]"


def _first_lines(text: str, limit: int) -> str:
    """Cut a list at the end of a line, and say how much is missing."""
    end = text.rfind("\n", 0, limit) + 1 or limit
    return f"{text[:end]}[{text.count(chr(10), end) + 1} more lines are left out: narrow the search.]"
