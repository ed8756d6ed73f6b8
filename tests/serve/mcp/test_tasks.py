"""Long calls as tasks (SEP-2663), with the SDK's client in the same process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import mcp_types
import pytest
from mcp import Client, MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientSession
from pydantic import Field

from dogu.app import Options, open_runtime
from dogu.contract import ErrorKind, Kind, ToolError, function_tool
from dogu.serve.mcp.asking import ElicitationConfirm
from dogu.serve.mcp.caller import TASKS, caller
from dogu.serve.mcp.door import mcp_server
from dogu.serve.mcp.offers import Offers

pytestmark = pytest.mark.anyio

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class State(mcp_types.Result):
    """What a client is told of a task."""

    task_id: str = Field(alias="taskId")
    status: str
    status_message: str = Field("", alias="statusMessage")
    ttl_ms: int = Field(alias="ttlMs")
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    input_requests: dict[str, dict[str, Any]] = Field(default_factory=dict, alias="inputRequests")


class Created(mcp_types.Result):
    """The answer to a call that has become a task."""

    result_type: Literal["task"] = Field("task", alias="resultType")
    task_id: str = Field(alias="taskId")


class Request(mcp_types.Request[dict[str, Any], str]):
    """Names its task in the header too."""

    name_param = "taskId"


def request(method: str, task_id: str, more: dict[str, Any]) -> Request:
    return Request(method=method, params={"taskId": task_id, **more})


async def state_of(session: ClientSession, task_id: str) -> State:
    return await session.send_request(request("tasks/get", task_id, {}), State)


async def tell(session: ClientSession, method: str, task_id: str, **more: Any) -> None:
    await session.send_request(request(method, task_id, more), mcp_types.EmptyResult)


Told = Callable[[ClientSession, State], Awaitable[None]]


class TaskClient(ClientExtension):
    """A client that waits for its tasks, and does with the session as it is told at each state."""

    identifier = TASKS

    def __init__(self, at: Told | None = None) -> None:
        self._at = at
        self.seen: list[State] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Created, resolve=self._resolve)]

    async def _resolve(self, created: Created, context: ClaimContext) -> mcp_types.CallToolResult:
        while True:
            state = await state_of(context.session, created.task_id)
            self.seen.append(state)
            if state.result is not None:
                return mcp_types.CallToolResult.model_validate(state.result)
            if state.status in ("failed", "cancelled"):
                told = mcp_types.TextContent(text=str(state.error or state.status))
                return mcp_types.CallToolResult(content=[told], is_error=True)
            if self._at is not None:
                await self._at(context.session, state)
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def client_of(
    root: Path, tasks: TaskClient | None, *tools: Callable[..., Any], after_s: float = 0.0
) -> AsyncGenerator[Client]:
    home = root / "home"
    home.mkdir()
    asking = ElicitationConfirm()
    with anyio.fail_after(30):
        async with (
            open_runtime(Options(root=str(root), home=str(home)), confirm=asking) as runtime,
            mcp_server(runtime, asking, Offers(), task_after_s=after_s) as server,
        ):
            for tool in tools:
                runtime.registry.register(function_tool(tool, kind=Kind.READ))
            extensions = [tasks] if tasks is not None else None
            async with Client(
                server, mode="2026-07-28", extensions=extensions, elicitation_callback=_unasked
            ) as client:
                yield client


async def _unasked(context: Any, params: Any) -> mcp_types.ElicitResult:
    raise AssertionError("a task asks by its state")


def text_of(result: mcp_types.CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))


class Slow:
    """A tool that waits until the test lets it go on."""

    def __init__(self) -> None:
        self.go_on = anyio.Event()
        self.was_ended = anyio.Event()

    async def slow(self) -> str:
        """Take long."""
        try:
            await self.go_on.wait()
        except anyio.get_cancelled_exc_class():
            self.was_ended.set()
            raise
        return "done at last"


async def test_a_long_call_is_a_task_and_its_result_is_read_from_it(tmp_path: Path):
    slow = Slow()

    async def let_it_go_on(session: ClientSession, state: State) -> None:
        slow.go_on.set()

    tasks = TaskClient(let_it_go_on)
    async with client_of(tmp_path, tasks, slow.slow) as client:
        assert text_of(await client.call_tool("slow", {})) == "done at last"
        assert [tasks.seen[0].status, tasks.seen[-1].status] == ["working", "completed"]
        assert tasks.seen[-1].ttl_ms >= 3_600_000
        again = await state_of(client.session, tasks.seen[0].task_id)
        assert again.result == tasks.seen[-1].result, "it is kept after its end"


async def test_a_client_that_takes_none_gets_none_and_may_not_ask_for_one(tmp_path: Path):
    async def quick() -> str:
        """Take no time."""
        await anyio.lowlevel.checkpoint()
        return "done"

    async with client_of(tmp_path, None, quick) as client:
        assert text_of(await client.call_tool("quick", {})) == "done"
        with pytest.raises(MCPError) as refused:
            await state_of(client.session, "t")
    assert refused.value.code == mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert refused.value.error.data == {"requiredCapabilities": {"extensions": {TASKS: {}}}}


async def test_a_short_call_is_answered_at_once(tmp_path: Path):
    async def quick() -> str:
        """Take no time."""
        return "done"

    tasks = TaskClient()
    async with client_of(tmp_path, tasks, quick, after_s=20) as client:
        assert text_of(await client.call_tool("quick", {})) == "done"
    assert tasks.seen == []


async def test_a_task_that_is_cancelled_ends_the_call(tmp_path: Path):
    slow = Slow()

    async def cancel(session: ClientSession, state: State) -> None:
        await tell(session, "tasks/cancel", state.task_id)

    async with client_of(tmp_path, TaskClient(cancel), slow.slow) as client:
        assert text_of(await client.call_tool("slow", {})) == "cancelled"
        await slow.was_ended.wait()


async def test_a_task_asks_by_its_state_and_is_answered_by_an_update(tmp_path: Path):
    async def greet() -> str:
        """Greet two."""
        await anyio.sleep(0.01)
        answers = [(await caller().elicit(f"{which}?", NAME, which)).content or {} for which in ("one", "two")]
        return " and ".join(str(answer["name"]) for answer in answers)

    async def answer(session: ClientSession, state: State) -> None:
        for key, request in state.input_requests.items():
            assert state.status == "input_required"
            assert request["method"] == "elicitation/create"
            with pytest.raises(MCPError):
                await tell(session, "tasks/update", state.task_id, inputResponses={key: 7})
            given = {"action": "accept", "content": {"name": request["params"]["message"]}}
            await tell(session, "tasks/update", state.task_id, inputResponses={key: given, "unasked": 7})

    async with client_of(tmp_path, TaskClient(answer), greet) as client:
        assert text_of(await client.call_tool("greet", {})) == "one? and two?"


async def test_a_call_that_fails_is_a_completed_task_and_an_error_of_the_protocol_a_failed_one(tmp_path: Path):
    async def fails() -> str:
        """Fail."""
        await anyio.sleep(0.01)
        raise ToolError(ErrorKind.REMOTE_FAILED, "It didn't work.")

    async def needs() -> str:
        """Need what the client hasn't."""
        await anyio.sleep(0.01)
        caller().require("roots")
        return ""

    tasks = TaskClient()
    async with client_of(tmp_path, tasks, fails, needs) as client:
        failed = await client.call_tool("fails", {})
        assert failed.is_error
        assert tasks.seen[-1].status == "completed"
        assert "capability roots" in text_of(await client.call_tool("needs", {}))
        assert tasks.seen[-1].status == "failed"


async def test_a_client_that_goes_before_it_knows_of_a_task_ends_the_call(tmp_path: Path):
    slow = Slow()
    async with client_of(tmp_path, TaskClient(), slow.slow, after_s=600) as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "slow", {})
        while slow.go_on.statistics().tasks_waiting == 0:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert slow.was_ended.is_set()


async def test_an_unknown_task_is_told_as_such(tmp_path: Path):
    async with client_of(tmp_path, TaskClient()) as client:
        for method in ("tasks/get", "tasks/cancel"):
            with pytest.raises(MCPError) as refused:
                await tell(client.session, method, "nothing")
            assert refused.value.code == mcp_types.INVALID_PARAMS
        with pytest.raises(MCPError):
            await tell(client.session, "tasks/update", "nothing", inputResponses={})
