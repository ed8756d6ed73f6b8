"""Long calls as tasks (SEP-2663, `io.modelcontextprotocol/tasks`): answered at once, and asked about until they end.

A client that names the extension with a call is answered with a task where the call hasn't ended after some seconds.
It asks for the task's state by `tasks/get`, answers what the call asks by `tasks/update` and ends it by `tasks/cancel`.
Tasks live as long as the server does, and an hour after their end.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.abc
import mcp_types
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY
from mcp_types.jsonrpc import HEADER_MISMATCH
from pydantic import BaseModel, ValidationError

from dogu.serve.defects import contained
from dogu.serve.mcp.caller import TASKS, AskedCall, answer_type_of, is_modern, missing_extension

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    Context = ServerRequestContext[Any]

Answer: TypeAlias = "mcp_types.CallToolResult | mcp_types.InputRequiredResult"

_KEPT_S = 3600.0
_MOST = 500  # a call beyond them is answered when it ends, as without the extension
_POLL_MS = 1000


class TaskParams(mcp_types.RequestParams):
    """Names a task."""

    task_id: str


class UpdateParams(TaskParams):
    """Answers some of what a task asks; keys that it doesn't ask are passed over."""

    input_responses: dict[str, Any]


class Tasks:
    """Runs calls in `group`; those that last longer than `after_s` become tasks."""

    def __init__(self, group: anyio.abc.TaskGroup, after_s: float) -> None:
        self._group = group
        self._after_s = after_s
        self._tasks: dict[str, _Task] = {}

    def serve(self, server: Server[Any]) -> None:
        """Have the server offer the extension."""
        server.extensions[TASKS] = {}
        server.add_request_handler("tasks/get", TaskParams, self.get)
        server.add_request_handler("tasks/update", UpdateParams, self.update)
        server.add_request_handler("tasks/cancel", TaskParams, self.cancel)

    async def run(self, asked: AskedCall, call: Callable[[], Awaitable[Answer]]) -> Answer | dict[str, Any]:
        """Return the call's answer, or the task that it has become."""
        if not _takes_tasks(asked.context):
            return await call()
        task = _Task(asked)
        self._group.start_soon(task.work, call)
        try:
            with anyio.move_on_after(self._after_s):
                await task.ended.wait()
            self._forget_old()
            if asked.needed is not None or len(self._tasks) >= _MOST:
                await task.ended.wait()
            if not task.ended.is_set():
                asked.ask_later = task.ask
                self._tasks[task.id] = task
                return {**task.told(), "resultType": "task"}
        finally:
            if task.id not in self._tasks:
                task.scope.cancel()  # its client is gone, and knows of no task
        return task.answer()

    async def get(self, context: Context, params: TaskParams) -> dict[str, Any]:
        """Tell the state, and how it ended."""
        return self._named(context, params).state()

    async def update(self, context: Context, params: UpdateParams) -> mcp_types.EmptyResult:
        """Take answers."""
        self._named(context, params).take(params.input_responses)
        return mcp_types.EmptyResult()

    async def cancel(self, context: Context, params: TaskParams) -> mcp_types.EmptyResult:
        """End the call; one that has ended stays as it is."""
        self._named(context, params).scope.cancel()
        return mcp_types.EmptyResult()

    def _named(self, context: Context, params: TaskParams) -> _Task:
        if not _takes_tasks(context):
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, *missing_extension(TASKS))
        headers = getattr(context.request, "headers", None)
        if headers is not None and decode_header_value(headers.get(MCP_NAME_HEADER)) != params.task_id:
            raise MCPError(HEADER_MISMATCH, f"The header {MCP_NAME_HEADER} doesn't name the task.")
        self._forget_old()
        if params.task_id not in self._tasks:
            raise MCPError(mcp_types.INVALID_PARAMS, f"There is no task {params.task_id!r}.")
        return self._tasks[params.task_id]

    def _forget_old(self) -> None:
        for task in list(self._tasks.values()):
            if task.left_s() < 0:
                del self._tasks[task.id]


def _takes_tasks(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    return is_modern(context) and capabilities is not None and TASKS in (capabilities.extensions or {})


@dataclass
class _Task:
    """A call, what it asks meanwhile, and how it ended."""

    asked: AskedCall
    id: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)
    outcome: Answer | MCPError | None = None  # None: it runs, or it was cancelled
    _created: datetime = field(default_factory=lambda: datetime.now(UTC))
    _updated: datetime = field(default_factory=lambda: datetime.now(UTC))
    _begun: float = field(default_factory=time.monotonic)
    _lasted_s: float = 0.0
    _requests: dict[str, Any] = field(default_factory=dict[str, Any])
    _answers: dict[str, BaseModel] = field(default_factory=dict[str, BaseModel])
    _answered: anyio.Event = field(default_factory=anyio.Event)

    async def work(self, call: Callable[[], Awaitable[Answer]]) -> None:
        """Run the call to its end, whatever that is."""
        try:
            with self.scope, contained(partial(MCPError, mcp_types.INTERNAL_ERROR), MCPError):
                self.outcome = await call()
        except MCPError as error:
            self.outcome = error
        self._requests.clear()
        self._lasted_s = time.monotonic() - self._begun
        self._touch()
        self.ended.set()

    async def ask(self, requests: Mapping[str, Any]) -> Mapping[str, BaseModel]:
        """Ask the client, whenever it next asks for the state, and wait for all of its answers."""
        for key in requests:
            self._answers.pop(key, None)
        self._requests.update(requests)
        self._touch()
        while any(key not in self._answers for key in requests):
            self._answered = anyio.Event()
            await self._answered.wait()
        return {key: self._answers.pop(key) for key in requests}

    def take(self, responses: Mapping[str, Any]) -> None:
        """Take the client's answers to what is asked. Raises `MCPError` where one isn't of its kind."""
        try:
            taken = {
                key: answer_type_of(self._requests[key]).model_validate(response)
                for key, response in responses.items()
                if key in self._requests
            }
        except ValidationError as error:
            raise MCPError(mcp_types.INVALID_PARAMS, "An answer isn't of the kind that was asked for.") from error
        for key in taken:
            del self._requests[key]
        self._answers.update(taken)
        self._touch()
        self._answered.set()

    def answer(self) -> Answer:
        """Return what a call that ended in time answers."""
        if isinstance(self.outcome, MCPError):
            raise self.outcome
        assert self.outcome is not None
        return self.outcome

    def left_s(self) -> float:
        """Return for how long it is kept; a call that runs is."""
        return _KEPT_S + self._lasted_s + self._begun - time.monotonic() if self.ended.is_set() else _KEPT_S

    def told(self) -> dict[str, Any]:
        """Return what a client is always told."""
        lasted_s = self._lasted_s if self.ended.is_set() else time.monotonic() - self._begun
        told = {
            "taskId": self.id,
            "status": self._status(),
            "createdAt": self._created.isoformat(),
            "lastUpdatedAt": self._updated.isoformat(),
            "ttlMs": int((lasted_s + _KEPT_S) * 1000),
            "pollIntervalMs": _POLL_MS,
        }
        return told | ({"statusMessage": self.asked.status} if self.asked.status else {})

    def state(self) -> dict[str, Any]:
        """Return all of its state."""
        told = self.told()
        if isinstance(self.outcome, MCPError):
            told["error"] = self.outcome.error.model_dump(mode="json", by_alias=True, exclude_none=True)
        elif self.outcome is not None:
            told["result"] = _dumped(self.outcome)
        elif self._requests:
            told["inputRequests"] = {key: _dumped(request) for key, request in self._requests.items()}
        return told

    def _status(self) -> str:
        if not self.ended.is_set():
            return "input_required" if self._requests else "working"
        if self.outcome is None:
            return "cancelled"
        return "failed" if isinstance(self.outcome, MCPError) else "completed"

    def _touch(self) -> None:
        self._updated = datetime.now(UTC)


def _dumped(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
