"""Helpers: an agent within a call, with fewer tools and a history of its own, under the same approvals."""

from __future__ import annotations

import anyio

from dogu.agent.budget import Meter
from dogu.agent.events import EndReason, Event, Record, TurnEnd
from dogu.agent.housekeeping import AgentServices
from dogu.agent.loop import Agent
from dogu.agent.system_prompt import Instructions
from dogu.contract import CallContext, ErrorKind, ToolError
from dogu.models.events import ModelError, Usage
from dogu.models.model import Model
from dogu.runtime.approval import TurnStoppedError
from dogu.runtime.events import emit_nothing
from dogu.runtime.executor import Executor, NestedExecutor
from dogu.runtime.registry import ToolRegistry
from dogu.tools.run_subagent import SubagentTask

# What belongs to the agent that talks with the user.
_NOT_FOR_HELPERS = frozenset(("run_subagent", "ask_user", "write_todos"))

_ROLE = """You are a helper of the agent that these instructions are written for. You are given one task, do it with \
the tools you have, and end with an answer that holds everything the agent needs: it sees only your last words. Nobody \
can answer questions; when something is unclear, decide, and say how you decided."""


class Subagents:
    """Runs helpers beside an agent, with its model and its instructions; they stop where its `meter` says."""

    def __init__(
        self,
        executor: Executor,
        model: Model,
        system: str | Instructions,
        meter: Meter,
        record: Record = emit_nothing,
    ) -> None:
        self._executor = executor
        self._model = model
        self._system = system
        self._meter = meter
        self._record = record
        self._changing = anyio.Lock()

    async def __call__(self, task: SubagentTask, context: CallContext) -> str:
        """Return the helper's last words.

        Raises:
            ToolError: INVALID_ARGUMENTS for tools that can't be given, REMOTE_FAILED when the model gives no answer,
                TIMED_OUT at the limit of steps, DECLINED when the user stops the turn.
        """
        tools = _tools_of(task, self._executor.registry)
        executor = NestedExecutor(self._executor, tools, context.call_id, context.emit, self._changing)
        system = self._system if isinstance(self._system, str) else self._system.give()
        helper = Agent(
            self._model,
            executor,
            f"{system}\n\n{_ROLE}",
            max_steps=task.max_steps,
            services=AgentServices(self._meter),
        )
        try:
            end = await helper.run(task.task, self._record_usage)
        except ModelError as error:
            message = f"The helper's model gave no answer: {error.message} Do the task yourself, or try again later."
            raise ToolError(ErrorKind.REMOTE_FAILED, message) from error
        return _last_words(end, task)

    def _record_usage(self, event: Event) -> None:
        """Of a helper's own conversation only what it cost goes on record; its calls are in the outer call's events."""
        if isinstance(event, Usage):
            self._record(event)


def _tools_of(task: SubagentTask, registry: ToolRegistry) -> ToolRegistry:
    """Return the tools asked for, those that only read if none were named."""
    if task.tools is None:
        return registry.filtered(lambda tool: tool.kind.changes_nothing and tool.name not in _NOT_FOR_HELPERS)
    refused = [name for name in task.tools if name not in registry or name in _NOT_FOR_HELPERS]
    if refused:
        known = ", ".join(tool.name for tool in registry if tool.name not in _NOT_FOR_HELPERS)
        message = f"A helper can't be given {', '.join(map(repr, refused))[:300]}. It may have: {known}."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
    return registry.filtered(lambda tool: tool.name in (task.tools or ()))


def _last_words(end: TurnEnd, task: SubagentTask) -> str:
    match end.reason:
        case EndReason.DONE:
            return f"{end.text}\n[{end.note}]" if end.note else end.text
        case EndReason.STOPPED:
            raise TurnStoppedError(ErrorKind.DECLINED, "The user declined a call of the helper and stopped.")
        case EndReason.CUT:
            why = "was cut at its model's output limit again and again"
        case EndReason.LOOP:
            why = "made the same calls again and again"
        case EndReason.BUDGET:
            why = "may use no more of what the user allows this to cost"
        case _:
            why = f"had asked its model {task.max_steps} times, which is its limit"
    said = f" Its last words: {end.text}" if end.text else ""
    message = f"The helper was stopped before it was done: it {why}. Give it a smaller task, or do it yourself.{said}"
    raise ToolError(ErrorKind.TIMED_OUT, message)
