"""The upkeep of a session: room is made, tokens and their cost are counted, folders' own instructions are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyio import to_thread

from dogu.agent.budget import Budget
from dogu.agent.context.compaction import Compaction, Limits
from dogu.agent.context.files import ContextFiles
from dogu.agent.context.window import ContextFill, estimated_fixed
from dogu.agent.history import AllReplaced, CutBack, History, HistoryChange
from dogu.agent.loop import Agent
from dogu.agent.session.events import Compacted
from dogu.agent.tally import Tally
from dogu.agent.upkeep import Upkeep
from dogu.contract.content import Text, parts_of
from dogu.contract.result import ToolResult
from dogu.models.events import Usage
from dogu.runtime.calls import ToolAnswer
from dogu.runtime.events import Emit


class Keeping(Upkeep):
    """Keeps `agent` going within `limits` and `budget`; `context` has the files that folders bring along."""

    def __init__(self, agent: Agent, budget: Budget, limits: Limits, context: ContextFiles) -> None:
        self.agent = agent
        self.budget = budget
        self.context = context
        self.tally = Tally()
        self._history: History | None = None
        self._went_back = False
        self.compaction = Compaction(agent, self._watched(), limits, self._blocks_missing_in)

    async def make_room(self, emit: Emit, *, is_too_long: bool = False) -> bool:
        """Make room when the window fills, or less is known to fit; see `Upkeep.make_room`."""
        self.watch()
        if not (is_too_long or self.compaction.is_due) or self.why_stop():
            return False
        done = await self.compaction.run(is_too_long=is_too_long)
        emit(done)
        return not done.problem

    async def compact(self, wishes: str) -> Compacted:
        """Make room at the person's word, keeping above all what they wish."""
        self.watch()
        done = await self.compaction.run(wishes, summarises=True)
        self.agent.executor.recorded()(done)
        return done

    def why_stop(self) -> str:
        """Say why the budget allows no further request."""
        return self.budget.why_stop()

    def cost_usd(self) -> float | None:
        """Return what this process's requests have cost."""
        return None if self.budget.run.unpriced else self.budget.run.cost_usd

    def count(self, model: str, usage: Usage) -> None:
        """Count a request's tokens and cost."""
        self.budget.add(model, usage)

    def measured(self, usage: Usage) -> None:
        """Take the server's count for how full the window is."""
        self.compaction.fill.measured(usage)

    async def noted(self, answers: Sequence[ToolAnswer]) -> Mapping[str, ToolResult]:
        """Join to an answer the instructions of folders that its call was the first to touch."""
        contents = self.agent.history.contents
        if self._went_back:
            self._went_back = False
            self.context.forget_missing(contents)
        noted: dict[str, ToolResult] = {}
        for answer in answers:
            args = answer.call.args
            if answer.result.error is not None or not args or not self.context.is_new(args):
                continue
            files = await to_thread.run_sync(self.context.below, [args], contents)
            if files:
                blocks = "\n".join(file.block for file in files)
                note = f"[Instructions for the files in this folder, from the project:]\n{blocks}"
                noted[answer.call.call_id] = _with_note(answer.result, note)
        return noted

    def saw(self, event: object) -> None:
        """Count calls."""
        self.tally.saw(event)

    def watch(self) -> None:
        """Follow the agent's history, also when it was given another one, as a resumed session is."""
        if self._history is not self.agent.history:
            self.compaction.fill = self._watched()

    def _watched(self) -> ContextFill:
        agent = self.agent
        self._history = agent.history
        agent.history.observe(self._changed)
        return ContextFill(agent.history, lambda: estimated_fixed(agent.system, agent.executor.registry.declarations))

    def _changed(self, change: HistoryChange) -> None:
        self._went_back = self._went_back or isinstance(change, CutBack | AllReplaced)

    def _blocks_missing_in(self, contents: Sequence[bytes]) -> Sequence[str]:
        return [file.block for file in self.context.missing_in(contents)]


def _with_note(result: ToolResult, note: str) -> ToolResult:
    content = result.llm_content
    if isinstance(content, str):
        return ToolResult(f"{content}\n\n{note}", result.return_display)
    return ToolResult([*parts_of(content), Text(f"\n\n{note}")], result.return_display)
