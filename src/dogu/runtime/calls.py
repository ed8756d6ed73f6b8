"""A call on its way: what the model asked for, and what it is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dogu.contract.result import ToolResult


class ToolCall(msgspec.Struct, frozen=True):
    """A model's request. `args` is None when what the model sent is no JSON object; `problem` then says what it was.

    `parent` is the id of the call within which this one was made, empty for the agent's own.
    """

    call_id: str
    name: str
    args: Mapping[str, Any] | None
    problem: str = ""
    parent: str = ""


class ToolAnswer(msgspec.Struct, frozen=True):
    """A call and its result; `stop` when the user ended the turn with it."""

    call: ToolCall
    result: ToolResult
    stop: bool = False
