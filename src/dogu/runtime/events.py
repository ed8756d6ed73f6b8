"""A call on its way: what the model asked for, what is told while it runs, what it is answered.

`agent.events` adds what is told of a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

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


T = TypeVar("T")


class CallStarted(msgspec.Struct, frozen=True):
    """A call was validated, allowed and now runs; `description` is one line for the user."""

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
    """A sentence for the user about what happens beside the calls: what a hook says, or that one failed."""

    text: str


CallEvent: TypeAlias = CallStarted | CallOutput | CallFinished | Noted
"""What a door is told of calls."""


class Within(msgspec.Struct, frozen=True):
    """An event of the helper that a call started (`run_subagent`): no part of the session's own conversation.

    It is recorded as such; a door is told the event itself, whose call names the one that it was made in.
    """

    call_id: str
    event: CallEvent


Emit: TypeAlias = Callable[[CallEvent], None]
EmitAll: TypeAlias = Callable[[CallEvent | Within], None]


def emit_nothing(_event: object) -> None:
    """Drop the event: for callers who want only results, or keep no record."""


def recording(
    record: Callable[[T | CallEvent | Within], None], emit: Callable[[T | CallEvent], None]
) -> Callable[[T | CallEvent | Within], None]:
    """Return what records an event, whole, before a door is told of it."""

    def record_first(event: T | CallEvent | Within) -> None:
        record(event)
        emit(event.event if isinstance(event, Within) else event)

    return record_first


class Notes:
    """Collects sentences for the user about what went wrong when a session was opened, or behind it since.

    Whoever has something to tell is given this when it is made; doors show what is new.
    """

    def __init__(self, notes: Iterable[str] = ()) -> None:
        self._notes = list(notes)

    def add(self, *notes: str) -> None:
        """Tell more."""
        self._notes += notes

    @property
    def all(self) -> tuple[str, ...]:
        """All that was told so far, in order."""
        return tuple(self._notes)
