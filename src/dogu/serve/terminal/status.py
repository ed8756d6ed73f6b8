"""The line at the bottom: what the settings want to see of the session, the model and the mode if they say nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import anyio
import msgspec

from dogu.agent.budget import usd
from dogu.agent.loop import Agent
from dogu.agent.session_housekeeping import SessionHousekeeping
from dogu.language import say
from dogu.runtime.runtime import Runtime
from dogu.serve.terminal.cells import fit, width_of
from dogu.serve.terminal.key_names import keys_problems
from dogu.workspace.small_file import open_regular_file
from dogu.workspace.visible import visible_line

if TYPE_CHECKING:
    from dogu.workspace.process.jobs import Job

STATUS_PARTS = ("folder", "branch", "jobs", "context", "cost", "model", "mode")
USUAL_PARTS = ("jobs", "context", "model", "mode")
"""Each but the model is left out where it says nothing: no jobs, much room, the default mode."""
_KEPT_LONGEST = ("mode", "jobs", "context", "cost", "branch", "model", "folder")
"""Where not all find room, those that stand first here stay."""


def status_problem(parts: Sequence[str]) -> str:
    """Say what is wrong with the parts that the settings want; '' when nothing is."""
    is_known = set(parts) <= set(STATUS_PARTS)
    return "" if is_known else say("Possible values, in a list: {choices}.", choices=", ".join(STATUS_PARTS))


def settings_problems(keys: Mapping[str, str], parts: Sequence[str]) -> list[str]:
    """Say what the settings hold of keys and of the line that nobody knows, and that is passed over."""
    told = {"ui.keys": keys_problems(keys), "ui.statusLine": filter(None, [status_problem(parts)])}
    return [f"{key}: {problem}" for key, problems in told.items() for problem in problems]


_KEPT_S = 1.0
_ROOMY = 0.5
_MOST_HEAD_BYTES = 4_096


class StatusLine:
    """Makes the line. What takes a while to find out is looked at once a second."""

    def __init__(
        self, agent: Agent, runtime: Runtime, housekeeping: SessionHousekeeping, parts: Sequence[str] = ()
    ) -> None:
        self._agent = agent
        self._runtime = runtime
        self._housekeeping = housekeeping
        chosen = tuple(part for part in parts if part in STATUS_PARTS)
        self._is_chosen = bool(chosen)
        self._parts = chosen or USUAL_PARTS
        self._kept: dict[str, _Kept] = {}
        self._running: set[Job] = set()
        self._has_begun = anyio.Event()
        self._words: dict[str, Callable[[], str]] = {
            "folder": self._folder,
            "branch": lambda: self._slow("branch", self._branch),
            "jobs": self._jobs,
            "context": lambda: self._slow("context", self._context),
            "cost": lambda: self._slow("cost", self._cost),
            "model": lambda: agent.model.name,
            "mode": self._mode,
        }

    def __call__(self, columns: int) -> str:
        """Return the line as it is now: whole parts, as many as fit; only one that stands alone is cut."""
        words = {part: said for part in self._parts if (said := visible_line(self._words[part]()))}
        for part in reversed(_KEPT_LONGEST):
            if len(words) > 1 and width_of(" · ".join(words.values())) > columns:
                words.pop(part, "")
        return fit(" · ".join(words.values()), columns)

    async def watch(self, redraw: Callable[[], None]) -> None:
        """Have the line drawn anew when a background job ends that it told of, whatever else happens; for ever."""

        async def watch(job: Job) -> None:
            await job.ended()
            redraw()

        watched: set[Job] = set()
        async with anyio.create_task_group() as group:
            while True:
                for job in self._running - watched:
                    group.start_soon(watch, job)
                watched = set(self._running)
                self._has_begun = anyio.Event()
                await self._has_begun.wait()

    def _slow(self, part: str, find: Callable[[], str]) -> str:
        kept, now = self._kept.get(part), time.monotonic()
        if kept is None or now > kept.until:
            kept = self._kept[part] = _Kept(find(), now + _KEPT_S)
        return kept.words

    def _mode(self) -> str:
        mode = self._runtime.policy.mode.value
        return "" if mode == "default" and not self._is_chosen else mode

    def _folder(self) -> str:
        root, home = self._runtime.roots[0], os.path.expanduser("~")
        return f"~{root.removeprefix(home)}" if root == home or root.startswith(f"{home}{os.sep}") else root

    def _branch(self) -> str:
        """Read the branch from git's own file; empty where there is none."""
        try:
            with open_regular_file(os.path.join(self._runtime.roots[0], ".git", "HEAD")) as file:
                head = file.read(_MOST_HEAD_BYTES).decode("utf-8", "replace").strip()
        except OSError:
            return ""
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]

    def _jobs(self) -> str:
        jobs = self._runtime.commands.jobs.jobs if self._runtime.commands.jobs is not None else ()
        for job in jobs:
            job.hear()
        running = {job for job in jobs if job.is_running}
        if not running <= self._running:
            self._has_begun.set()
        self._running, count = running, len(running)
        return say("{count} jobs", count=count) if count else ""

    def _context(self) -> str:
        compaction = self._housekeeping.compaction
        window = compaction.limits.window_tokens
        if not self._agent.usage.prompt:
            return ""  # an estimate would take its time, and say nothing yet
        used = compaction.fill.tokens / window if window else 0.0
        if not window or (used < _ROOMY and not self._is_chosen):
            return ""
        return say("{share} context left", share=f"{max(0.0, 1 - used):.0%}")

    def _cost(self) -> str:
        budget = self._housekeeping.meter.budget
        return usd(budget.cost_usd) if budget is not None and budget.by_model and not budget.unpriced else ""


class _Kept(msgspec.Struct, frozen=True):
    words: str
    until: float
