"""What is done beside a conversation, at the loop's own places; the loop knows no more of it than this."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from dogu.agent.events import Emit, Record, TurnEnd
from dogu.contract.content import Content, Text, parts_of
from dogu.contract.result import ToolResult
from dogu.models.events import Usage
from dogu.runtime.events import CallEvent, ToolAnswer, emit_nothing

if TYPE_CHECKING:
    from dogu.agent.budget import Meter

AskToGoOn: TypeAlias = Callable[[str], Awaitable[bool]]
RunTurn: TypeAlias = Callable[[Content, Emit], Awaitable[TurnEnd]]
AroundTurn: TypeAlias = Callable[[Content, Emit, RunTurn], Awaitable[TurnEnd]]


class Housekeeping:
    """Makes room and adds notes. This one does nothing: `session_housekeeping` has the one that does."""

    async def make_room(self, emit: Emit, *, is_too_long: bool = False) -> bool:
        """Make room in the conversation if it needs it, or because the model refused it; whether any was made."""
        return False

    def news(self) -> str:
        """Say what the model was told first and no longer holds; empty when all does."""
        return ""

    def measured(self, usage: Usage) -> None:
        """Take note of what the server counted of the conversation as it stands."""

    async def noted(self, answers: Sequence[ToolAnswer]) -> Mapping[str, ToolResult]:
        """Return, by call id, the results that the model is told more with than the call itself answered."""
        return {}

    def saw(self, event: CallEvent) -> None:
        """Take note of an event of a call."""


def with_note(result: ToolResult, note: str) -> ToolResult:
    """Return a result that tells the model more than the call itself answered."""
    content = result.llm_content
    told = f"{content}\n\n{note}" if isinstance(content, str) else [*parts_of(content), Text(f"\n\n{note}")]
    return msgspec.structs.replace(result, llm_content=told)


class AgentServices(msgspec.Struct, frozen=True):
    """What an agent has beside its model, its tools and its history.

    `meter` counts tokens and says when to stop. `record` is told of each event before a door is. `next_turn` counts a
    prompt of the user, and what follows can be undone at once; 0 where nobody counts. `around_turn` runs each turn in
    its own way, by the function that it is given. `ask_to_go_on` asks the user when the model seems to loop; None means
    that nobody is there, and the turn ends.
    """

    meter: Meter
    housekeeping: Housekeeping = Housekeeping()
    record: Record = emit_nothing
    next_turn: Callable[[], int] = lambda: 0
    around_turn: AroundTurn | None = None
    ask_to_go_on: AskToGoOn | None = None
