"""What the executor tells a door while calls run; the agent adds its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from dogu.contract.result import ToolResult
from dogu.runtime.calls import ToolCall


class CallStarted(msgspec.Struct, frozen=True):
    """A call was validated, allowed and now runs; `description` is one line for the person."""

    call: ToolCall
    display_name: str
    description: str


class CallOutput(msgspec.Struct, frozen=True):
    """Live output of a running call: new text, not all so far."""

    call_id: str
    text: str


class CallFinished(msgspec.Struct, frozen=True):
    """A call ended, well or badly."""

    call: ToolCall
    display_name: str
    result: ToolResult


class Noted(msgspec.Struct, frozen=True):
    """A sentence for the person about what happens beside the calls: what a hook says, or that one failed."""

    text: str


Emit: TypeAlias = Callable[[object], None]


def emit_nothing(_event: object) -> None:
    """Drop the event: for callers who want only results."""
