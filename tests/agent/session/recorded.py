"""A session with its journal and its agent over a workspace in a temporary folder, as `app` wires them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dogu.agent.loop import Agent
from dogu.agent.session.events import SessionResumed
from dogu.agent.session.live import Session, SessionRecorder
from dogu.agent.session.resume import Interrupted, reopen, restore
from dogu.policy.mode import ApprovalMode
from dogu.policy.policy import Policy
from dogu.policy.rules import Rules
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
    ) -> None:
        self.base = base
        self.root = base / "project"
        self.folder = base / "sessions" / "one"
        self.root.mkdir(exist_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.roots = Roots(str(self.root))
        self.journal = Journal(str(self.folder), self.roots)
        self.files = LocalFiles(self.roots, [self.journal])
        self.notes: list[str] = []
        self.session = Session(str(self.folder), [str(self.root)], secrets=secrets, tell=self.notes.append)
        self.model = ScriptedModel(turns)
        executor = Executor(
            ToolRegistry(tools),
            Policy(Rules(), ApprovalMode.DEFAULT),
            self.session.recorded(confirm),
            recorder=SessionRecorder(self.session, self.journal),
        )
        self.agent = Agent(self.model, executor, "system")
        self.interrupted = Interrupted()

    def begin(self) -> Recorded:
        self.session.watch(self.agent.history)
        return self

    def resume(self, turns: Iterable[ScriptedTurn] = (), tools: Sequence[AnyTool] = (), **more: Any) -> Recorded:
        other = Recorded(self.base, turns, tools, **more)
        restored = restore(str(self.folder))
        other.session.event(SessionResumed())
        other.journal.turn = restored.turn
        other.agent.history, other.interrupted = reopen(restored, other.session.watch)
        other.agent.usage = restored.usage
        return other

    @property
    def record(self) -> bytes:
        return (self.folder / "record.jsonl").read_bytes()
