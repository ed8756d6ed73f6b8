"""Calls made within a call: the same approvals, record and journal, under ids that begin with the outer call's."""

from __future__ import annotations

import anyio
import msgspec

from dogu.runtime.calls import ToolAnswer, ToolCall
from dogu.runtime.events import CallEvent, EmitAll, Within, emit_nothing
from dogu.runtime.executor import Executor
from dogu.runtime.registry import ToolRegistry


class NestedExecutor(Executor):
    """Runs the calls of a helper that works within the call `parent`, with the tools of `registry` only.

    `outer_emit` is the outer call's. `changing` lets one helper at a time change something.
    """

    def __init__(
        self, outer: Executor, registry: ToolRegistry, parent: str, outer_emit: EmitAll, changing: anyio.Lock
    ) -> None:
        super().__init__(
            registry,
            outer.approval,
            changes=outer._changes,
            bounds=outer._bounds,
            hooks=outer._hooks,
            traced=outer._traced,
        )
        self._parent = parent
        self._outer_emit = outer_emit
        self._changing = changing
        self._count = 0

    async def run(self, call: ToolCall, emit: EmitAll = emit_nothing) -> ToolAnswer:
        """Run one call under the outer one's id; the answer names it as the helper did."""
        self._count += 1
        named = msgspec.structs.replace(call, call_id=f"{self._parent}/{self._count}", parent=self._parent)

        def emit_twice(event: CallEvent | Within) -> None:
            self._outer_emit(event if isinstance(event, Within) else Within(self._parent, event))
            emit(event)

        if call.name in self.registry and not self.registry.get(call.name).kind.changes_nothing:
            async with self._changing:
                answer = await super().run(named, emit_twice)
        else:
            answer = await super().run(named, emit_twice)
        return ToolAnswer(call, answer.result, answer.stop)
