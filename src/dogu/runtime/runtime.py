"""The tools of one workspace, ready to be called: what every door and every importer works with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from dogu.policy.policy import Policy
from dogu.runtime.calls import ToolAnswer, ToolCall
from dogu.runtime.events import Emit, emit_nothing
from dogu.runtime.executor import Executor
from dogu.runtime.journal import Journal
from dogu.runtime.registry import ToolRegistry


class Runtime:
    """A registry, an executor and a policy over one workspace; `roots` are absolute, the first is the primary one.

    `journal` keeps what calls change; `notes` are sentences for the person about what went wrong when it was opened.
    """

    def __init__(
        self,
        executor: Executor,
        roots: tuple[str, ...],
        journal: Journal,
        close: Callable[[], Awaitable[None]],
        notes: tuple[str, ...] = (),
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.executor = executor
        self.roots = roots
        self.journal = journal
        self.notes = notes
        self._close = close
        self._prepare = prepare
        self._count = 0

    @property
    def session_folder(self) -> str:
        """What the session keeps: whole outputs, the journal. Absolute."""
        return self.journal.folder

    @property
    def registry(self) -> ToolRegistry:
        """The tools."""
        return self.executor.registry

    @property
    def policy(self) -> Policy:
        """Who decides; its `mode` may be changed."""
        return self.executor.approval.policy

    async def call(
        self, name: str, args: Mapping[str, Any] | None = None, /, *, emit: Emit = emit_nothing, **more: Any
    ) -> ToolAnswer:
        """Run one call, with arguments as a mapping or by name; failures are answers, see `ToolResult.error`."""
        self._count += 1
        return await self.executor.run(ToolCall(f"call-{self._count}", name, {**(args or {}), **more}), emit)

    def prepare(self) -> None:
        """Do ahead what the first command would wait for; blocks, up to a second in a large tree."""
        if self._prepare is not None:
            self._prepare()

    async def aclose(self) -> None:
        """End background jobs and close what is open. Nothing can be called afterwards."""
        await self._close()
