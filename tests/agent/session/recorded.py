"""A session with its journal and its agent over a workspace in a temporary folder, as `app` wires them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from dogu.agent.budget import Meter
from dogu.agent.events import SessionResumed, StateChanged
from dogu.agent.history import History
from dogu.agent.housekeeping import AgentServices
from dogu.agent.loop import Agent
from dogu.agent.session.live import Session
from dogu.agent.session.resume import Interrupted, Restored, reopen, restore
from dogu.policy.policy import Policy
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.approval import Approval
from dogu.runtime.executor import Executor
from dogu.runtime.journal import Journal
from dogu.runtime.questions import Confirm, approve
from dogu.runtime.registry import AnyTool, ToolRegistry
from dogu.testing.scripted_model import ScriptedModel, ScriptedTurn
from dogu.workspace.files import LocalFiles
from dogu.workspace.roots import Roots


class Recorded:
    """`agent` runs in the session; `resume` makes another agent of its record, as another process would."""

    def __init__(
        self,
        base: Path,
        turns: Iterable[ScriptedTurn],
        tools: Sequence[AnyTool] = (),
        *,
        confirm: Confirm = approve,
        secrets: Sequence[str] = (),
        state: Callable[[], StateChanged] = StateChanged,
        is_resumed: bool = False,
    ) -> None:
        self.base = base
        self.root = base / "project"
        self.folder = base / "sessions" / "one"
        self.root.mkdir(exist_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.roots = Roots(str(self.root))
        self.notes: list[str] = []
        self.session = Session(str(self.folder), [str(self.root)], secrets=secrets, tell=self.notes.append, state=state)
        restored = restore(str(self.folder)) if is_resumed else Restored()
        self.journal = Journal(str(self.folder), self.roots, turn=restored.turn)
        self.files = LocalFiles(self.roots, [self.journal])
        self.model = ScriptedModel(turns)
        approval = Approval(Policy(Rules(), ApprovalMode.DEFAULT), self.session.recorded(confirm))
        executor = Executor(ToolRegistry(tools), approval, changes=self.journal)
        history, self.interrupted = History(), Interrupted()
        if is_resumed:
            self.session.event(SessionResumed())
            history, self.interrupted = reopen(restored, self.session.watch)
        meter = Meter(self.model, self.session.event, usage=restored.usage)
        services = AgentServices(meter, record=self.session.event, next_turn=self.journal.next_turn)
        self.agent = Agent(self.model, executor, "system", history=history, services=services)

    def begin(self) -> Recorded:
        self.session.watch(self.agent.history)
        return self

    def resume(self, turns: Iterable[ScriptedTurn] = (), tools: Sequence[AnyTool] = (), **more: Any) -> Recorded:
        return Recorded(self.base, turns, tools, is_resumed=True, **more)

    @property
    def record(self) -> bytes:
        return (self.folder / "record.jsonl").read_bytes()
