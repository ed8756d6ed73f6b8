"""The tools of one workspace, ready to be called: what every door and every importer works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from anyio import CancelScope, to_thread

from dogu.policy.policy import Policy
from dogu.runtime.events import Emit, EmitAll, Notes, ToolAnswer, ToolCall, emit_nothing, recording
from dogu.runtime.executor import Executor
from dogu.runtime.journal import Journal
from dogu.runtime.registry import AnyTool, ToolRegistry

if TYPE_CHECKING:
    from dogu.workspace.process.jobs import Job, Jobs, SettledJob


class Commands(msgspec.Struct, frozen=True):
    """What a runtime's commands have in common: `prepare` does ahead what the first would wait for; the `jobs` they
    leave; whether these are kept at the end (`keeps_jobs`), None where that wasn't said."""

    prepare: Callable[[], None] = lambda: None
    jobs: Jobs | None = None
    keeps_jobs: bool | None = None


_NO_COMMANDS = Commands()


class Runtime:
    """A registry, an executor and a policy over one workspace; `roots` are absolute, the first is the primary one.

    `journal` keeps what calls change, `record` is told of each event before a door is.
    """

    def __init__(
        self,
        executor: Executor,
        roots: tuple[str, ...],
        journal: Journal,
        notes: Notes,
        record: EmitAll = emit_nothing,
        commands: Commands = _NO_COMMANDS,
    ) -> None:
        self.executor = executor
        self.roots = roots
        self.journal = journal
        self._notes = notes
        self._record = record
        self._count = 0
        self.commands = commands

    @property
    def session_folder(self) -> str:
        """What the session keeps: whole outputs, the journal. Absolute."""
        return self.journal.folder

    @property
    def registry(self) -> ToolRegistry:
        """The tools."""
        return self.executor.registry

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about what went wrong when it was opened, or behind it since."""
        return self._notes.all

    def note(self, text: str) -> None:
        """Add one."""
        self._notes.add(text)

    def prepare(self) -> None:
        """Do ahead what the first command would wait for."""
        self.commands.prepare()

    def running_jobs(self) -> list[Job]:
        """Return the background jobs that would end with the session; asks each, which takes milliseconds."""
        jobs = self.commands.jobs
        return [job for job in jobs.jobs if job.pids and not job.is_kept] if jobs is not None else []

    def to_background(self) -> bool:
        """Let the commands that run now go on in the background: their calls return at once. False: none ran."""
        return self.commands.jobs is not None and self.commands.jobs.to_background()

    async def settle_jobs(self, *, keep: bool = False) -> tuple[SettledJob, ...]:
        """At the end: keep or end the background jobs that still run, and return what became of each.

        What was said beforehand (`keeps_jobs`) holds, whatever `keep` is. Cancellation waits for it.
        """
        jobs, said = self.commands.jobs, self.commands.keeps_jobs
        if jobs is None:
            return ()
        with CancelScope(shield=True):
            await to_thread.run_sync(lambda: jobs.settle(keep=keep if said is None else said))
        return jobs.settled

    @property
    def policy(self) -> Policy:
        """Who decides; its `mode` may be changed."""
        return self.executor.approval.policy

    async def call(
        self, name: str, args: Mapping[str, Any] | None = None, /, *, emit: Emit = emit_nothing, **more: Any
    ) -> ToolAnswer:
        """Run one call, with arguments as a mapping or by name; failures are answers, see `ToolResult.error`."""
        self._count += 1
        return await self.run(ToolCall(f"call-{self._count}", name, {**(args or {}), **more}), emit)

    async def run(self, call: ToolCall, emit: Emit = emit_nothing) -> ToolAnswer:
        """Run one call, on record."""
        return await self.executor.run(call, recording(self._record, emit))

    async def run_all(self, calls: Sequence[ToolCall], emit: Emit = emit_nothing) -> list[ToolAnswer]:
        """Run the calls of one model turn, on record; see `Executor.run_all`."""
        return await self.executor.run_all(calls, recording(self._record, emit))

    async def run_tool(self, tool: AnyTool, call: ToolCall, emit: Emit = emit_nothing) -> ToolAnswer:
        """Run a call of a tool that no model is offered, under the same approvals and on the same record."""
        executor = self.executor.beside(ToolRegistry([tool]))
        return await executor.run(call, recording(self._record, emit))
