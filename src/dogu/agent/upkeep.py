"""What is done beside a conversation, at the loop's own places; the loop knows no more of it than this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dogu.contract.result import ToolResult
from dogu.models.events import Usage
from dogu.runtime.calls import ToolAnswer
from dogu.runtime.events import Emit


class Upkeep:
    """Counts, makes room, adds notes, and says when to stop. This one does nothing: `keeping` has the one that does."""

    async def make_room(self, emit: Emit, *, is_too_long: bool = False) -> bool:
        """Make room in the conversation if it needs it, or because the model refused it; whether any was made."""
        return False

    def why_stop(self) -> str:
        """Say for the person why no further request may be sent; empty when it may."""
        return ""

    def cost_usd(self) -> float | None:
        """Return what all requests of this process have cost so far; None when a price isn't known."""
        return None

    def count(self, model: str, usage: Usage) -> None:
        """Take note of a request's tokens: the conversation's own, a helper's, a repair's or a summary's."""

    def measured(self, usage: Usage) -> None:
        """Take note of what the server counted of the conversation as it stands."""

    async def noted(self, answers: Sequence[ToolAnswer]) -> Mapping[str, ToolResult]:
        """Return, by call id, the results that the model is told more with than the call itself answered."""
        return {}

    def saw(self, event: object) -> None:
        """Take note of an event of a call."""
