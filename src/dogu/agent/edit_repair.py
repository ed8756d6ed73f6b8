"""Puts an edit right that could not be placed, by asking the session's model once.

`replace` takes the answer through its exact stage only, and only where it is the edit that was asked for: in the lines
shown, like the text asked for, adding and taking away no more. So a wrong answer costs nothing but the request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import msgspec

from dogu.contract import FunctionDeclaration
from dogu.contract.declaration import schema_of
from dogu.models.contents import user_content
from dogu.models.events import Finished, ModelError, Usage
from dogu.models.model import Model

if TYPE_CHECKING:
    from dogu.workspace.edit_match.repair import RepairRequest

TIMEOUT_S = 30.0


class _Repaired(msgspec.Struct, kw_only=True):
    old_string: Annotated[str, msgspec.Meta(description="The text to replace, exactly as the file has it, once.")] = ""
    new_string: Annotated[str, msgspec.Meta(description="What replaces it.")] = ""
    no_change_needed: Annotated[
        bool, msgspec.Meta(description="True when the file already is as wanted, or the place can't be told.")
    ] = False


_ANSWER = FunctionDeclaration("repaired_edit", "Give the edit put right.", schema_of(_Repaired))
_HOW_TO_ANSWER = "Answer by calling repaired_edit, once, and say nothing else."


class EditRepair:
    """Asks `model` within 30 s; `count` is told the tokens that it cost."""

    def __init__(self, model: Model, count: Callable[[Usage], None], timeout_s: float = TIMEOUT_S) -> None:
        self._model = model
        self._count = count
        self._timeout_s = timeout_s

    async def __call__(self, request: RepairRequest) -> tuple[str, str] | None:
        """Return the strings put right; None for no change, no usable answer, a failing model or no time."""
        answer: _Repaired | None = None
        with anyio.move_on_after(self._timeout_s):
            try:
                answer = await self._ask(request)
            except ModelError:
                return None
        if answer is None or answer.no_change_needed or not answer.old_string:
            return None
        return answer.old_string, answer.new_string

    async def _ask(self, request: RepairRequest) -> _Repaired | None:
        from dogu.workspace.edit_match.repair import SYSTEM, repair_prompt

        history = [user_content(repair_prompt(request))]
        async with self._model.stream(f"{SYSTEM}\n\n{_HOW_TO_ANSWER}", history, [_ANSWER]) as events:
            async for event in events:
                match event:
                    case Usage():
                        self._count(event)
                    case Finished(calls=calls):
                        return next((_read(call.args) for call in calls if call.name == _ANSWER.name), None)
                    case _:
                        pass
        return None


def _read(args: dict[str, Any] | None) -> _Repaired | None:
    try:
        return msgspec.convert(args, _Repaired, strict=False)
    except msgspec.ValidationError:
        return None
