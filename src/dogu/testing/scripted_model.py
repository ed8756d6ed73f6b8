"""A model that answers what a test says, in the process, without a wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, TypeAlias, cast

import anyio
import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.events import (
    Finished,
    FinishReason,
    FunctionCallEvent,
    ModelEvent,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.testing.turn import Turn, pieces_of


class ModelRequest(msgspec.Struct, frozen=True):
    """What the model was asked, as it stood then."""

    system: str
    history: tuple[bytes, ...]
    declarations: tuple[FunctionDeclaration, ...]

    @property
    def contents(self) -> list[dict[str, Any]]:
        """The history, decoded."""
        return [cast("dict[str, Any]", msgspec.json.decode(content)) for content in self.history]

    @property
    def responses(self) -> list[dict[str, Any]]:
        """The FunctionResponses of the last content, in order."""
        parts = cast("list[dict[str, Any]]", self.contents[-1]["parts"] if self.history else [])
        return [part["functionResponse"] for part in parts if "functionResponse" in part]


ScriptedTurn: TypeAlias = Turn | str | Callable[[ModelRequest], Turn | str]


class ScriptedModel:
    """Answers the turns in order; a string is a turn of text, a function makes its turn from the request.

    `requests` records every request. Asked for more turns than there are, it raises `AssertionError`.
    """

    takes_media_in_answers = False

    def __init__(self, turns: Iterable[ScriptedTurn], *, name: str = "scripted") -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self._turns = iter(turns)

    def stream(
        self, system: str, history: Sequence[bytes], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Give the events of the next turn."""
        request = ModelRequest(system, tuple(history), tuple(declarations))
        self.requests.append(request)
        turn = next(self._turns, None)
        if turn is None:
            raise AssertionError(f"the script has {len(self.requests) - 1} turns, and one more was asked for")
        if callable(turn):
            turn = turn(request)
        return aclosing(self._events(Turn(text=turn) if isinstance(turn, str) else turn))

    async def aclose(self) -> None:
        """Nothing to close."""

    async def _events(self, turn: Turn) -> AsyncGenerator[ModelEvent, None]:
        await anyio.sleep(turn.delay_s)
        if turn.hangs:
            await anyio.sleep_forever()
        for piece in pieces_of(turn.thought, turn.pieces):
            yield ThoughtDelta(piece)
        for piece in pieces_of(turn.text, turn.pieces):
            await anyio.lowlevel.checkpoint()
            yield TextDelta(piece)
        if turn.error is not None:
            raise turn.error
        calls = self._calls(turn)
        for call in calls:
            yield call
        output = len(turn.text) // 4
        yield Usage(prompt=turn.prompt_tokens, output=output, total=turn.prompt_tokens + output)
        reason = {"STOP": FinishReason.STOP, "MAX_TOKENS": FinishReason.LENGTH}.get(turn.finish, FinishReason.OTHER)
        yield Finished(reason, _content(turn, calls), calls)

    def _calls(self, turn: Turn) -> tuple[FunctionCallEvent, ...]:
        return tuple(
            FunctionCallEvent(call.id or f"call-{len(self.requests)}-{number}", call.name, dict(call.args))
            for number, call in enumerate(turn.calls, 1)
        )


def _content(turn: Turn, calls: tuple[FunctionCallEvent, ...]) -> bytes:
    parts: list[dict[str, Any]] = [{"text": turn.text}] if turn.text or not calls else []
    if turn.thought:
        parts.insert(0, {"text": turn.thought, "thought": True})
    parts += [{"functionCall": {"id": call.call_id, "name": call.name, "args": call.args}} for call in calls]
    return msgspec.json.encode({"role": "model", "parts": parts})
