"""What a tool gives back: the same fact twice, once for the model and once for the user."""

from __future__ import annotations

import msgspec

from dogu.contract.content import Content
from dogu.contract.display import Display
from dogu.contract.errors import ErrorKind, ToolError


class ToolFailure(msgspec.Struct, frozen=True):
    """Marks a result as a failure."""

    kind: ErrorKind
    message: str


class ToolResult(msgspec.Struct, frozen=True):
    """`llm_content` goes into the history, `return_display` to the door; `error` says the call failed."""

    llm_content: Content
    return_display: Display = ""
    error: ToolFailure | None = None

    @classmethod
    def failed(cls, error: ToolError) -> ToolResult:
        """Make the result of a failed call."""
        return cls(error.message, error.display, ToolFailure(error.kind, error.message))
