"""Text that arrives in pieces, passed on in pieces that split no secret."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from dogu.agent.events import RecordedEvent
from dogu.models.events import Retrying, TextDelta, ThoughtDelta
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Noted, Within

_Piece = TextDelta | ThoughtDelta | CallOutput


class HeldBack:
    """Holds back the end of a stream while `held_back(text)` says that so many characters may begin a secret."""

    def __init__(self, held_back: Callable[[str], int]) -> None:
        self._held_back = held_back
        self._waiting: dict[tuple[type, str], _Piece] = {}
        self._helpers: dict[str, HeldBack] = {}

    def passed_on(self, event: RecordedEvent) -> list[RecordedEvent]:
        """Return what may be recorded now: an event that is no piece ends the streams it follows."""
        if isinstance(event, Within):
            helper = self._helpers.setdefault(event.call_id, HeldBack(self._held_back))
            return _within(event.call_id, helper.passed_on(event.event))
        if not isinstance(event, TextDelta | ThoughtDelta | CallOutput):
            return [*self._ended(event), event]
        key = (type(event), event.call_id if isinstance(event, CallOutput) else "")
        before = self._waiting.pop(key, None)
        text = (before.text if before else "") + event.text
        held = self._held_back(text)
        if held:
            self._waiting[key] = msgspec.structs.replace(event, text=text[-held:])
            text = text[:-held]
        return [msgspec.structs.replace(event, text=text) if text != event.text else event] if text else []

    def rest(self) -> list[RecordedEvent]:
        """Return all that is held back: the streams are over."""
        waiting, self._waiting = [*self._waiting.values()], {}
        return [*(each for call_id in list(self._helpers) for each in self._rest_of(call_id)), *waiting]

    def _rest_of(self, call_id: str) -> list[RecordedEvent]:
        helper = self._helpers.pop(call_id, None)
        return _within(call_id, helper.rest()) if helper is not None else []

    def _ended(self, event: RecordedEvent) -> list[RecordedEvent]:
        """Commands go on printing while other things happen; what a model says is over with whatever comes next."""
        if isinstance(event, Retrying):
            return self.rest()
        over = [key for key, piece in self._waiting.items() if not isinstance(piece, CallOutput)]
        if not isinstance(event, CallFinished):
            return [self._waiting.pop(key) for key in over]
        call_id = event.call.call_id
        over += [key for key in self._waiting if key == (CallOutput, call_id)]
        return [*self._rest_of(call_id), *(self._waiting.pop(key) for key in over)]


def _within(call_id: str, events: Iterable[RecordedEvent]) -> list[RecordedEvent]:
    calls = (each for each in events if isinstance(each, CallStarted | CallOutput | CallFinished | Noted))
    return [Within(call_id, each) for each in calls]
