"""What a call costs by itself: validate, decide, run a tool that does nothing, answer."""

from __future__ import annotations

import time

import anyio

from bench.measure import row
from dogu.contract.function_tool import function_tool
from dogu.contract.tool import Kind
from dogu.policy.policy import Policy
from dogu.policy.rules import Rules
from dogu.runtime.events import ToolCall
from dogu.runtime.executor import Executor
from dogu.runtime.registry import ToolRegistry

_CALLS = 5_000


async def _nothing(path: str, limit: int = 3) -> str:
    """Do nothing."""
    return "done"


async def _measure() -> float:
    rules = Rules.from_lists(exclude=["run_shell_command(rm)"], allowed=["run_shell_command(git)"])
    executor = Executor(ToolRegistry([function_tool(_nothing, name="nothing", kind=Kind.READ)]), Policy(rules))
    call = ToolCall("1", "nothing", {"path": "/a/b", "limit": "4"})
    started = time.perf_counter()
    for _ in range(_CALLS):
        answer = await executor.run(call)
        assert answer.result.error is None
    return (time.perf_counter() - started) / _CALLS


def main() -> None:
    """Print the table."""
    best = min(anyio.run(_measure) for _ in range(3))
    row("own cost of a call", f"{best * 1000:.3f} ms", "0.5 ms")
