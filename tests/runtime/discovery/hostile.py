"""A runtime over a hostile MCP server, and a well-behaved one beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

import dogu
import hostile_mcp
from dogu.app.mcp_servers import offer_on_demand
from dogu.contract import ErrorKind, ToolFailure, ToolResult
from dogu.runtime.discovery.mcp.entries import read_entries
from dogu.runtime.discovery.mcp.host import Elicit, Host, Sample, ask_nobody
from dogu.runtime.discovery.mcp.servers import mcp_tools
from dogu.runtime.questions import Confirm
from dogu.runtime.runtime import Runtime
from processes import is_alive, shared_fork_server

SERVER = hostile_mcp.__file__


@asynccontextmanager
async def opened(
    folder: Path,
    fault: str,
    *,
    confirm: Confirm | None = None,
    elicit: Elicit = ask_nobody,
    sample: Sample | None = None,
    mode: str = "yolo",
    timeout_ms: float = 20_000,
    wait_s: float = 20,
    trust: bool = False,
) -> AsyncGenerator[Runtime]:
    """Open a runtime with the server `bad` of this fault, and the server `good` beside it."""
    (folder / "root").mkdir(exist_ok=True)
    options = dogu.Options(
        root=str(folder / "root"), home=str(folder / "home"), approval_mode=mode, fork_server=shared_fork_server()
    )
    command = {"command": sys.executable, "timeout": timeout_ms}
    entries, _ = read_entries(
        {
            "bad": {**command, "args": [SERVER, fault, str(folder)], "trust": trust},
            "good": {**command, "args": [SERVER, "none", str(folder)]},
        }
    )
    environment = {"PATH": os.environ["PATH"]}
    with anyio.fail_after(90):
        async with dogu.open_runtime(options, confirm=confirm) as runtime:
            offer_on_demand(runtime.registry, runtime.policy.rules)
            host = Host(
                runtime.roots,
                lambda: environment,
                elicit,
                sample,
                options.state_folder,
                fork_server=options.fork_server,
            )
            async with mcp_tools(entries, runtime, host, wait_s=wait_s):
                yield runtime


async def result_of(runtime: Runtime, name: str = "bad__echo") -> ToolResult:
    return (await runtime.call(name)).result


def failure_of(result: ToolResult, kind: ErrorKind = ErrorKind.REMOTE_FAILED) -> str:
    """Return the message of a failure that names the server."""
    assert isinstance(result.error, ToolFailure)
    assert result.error.kind is kind
    assert "bad" in result.error.message
    return result.error.message


async def good_works(runtime: Runtime) -> None:
    assert (await result_of(runtime, "good__echo")).llm_content == "hello"


def bad_tools(runtime: Runtime) -> list[str]:
    return [tool.name for tool in runtime.registry if tool.name.startswith("bad__")]


def note_of(runtime: Runtime) -> str:
    """Return what was told of the hostile server."""
    notes = [note for note in runtime.notes if "bad" in note]
    assert notes
    return "\n".join(notes)


async def becomes_true(condition: Callable[[], bool]) -> bool:
    """Wait until something is so, 20 s at most."""
    for _ in range(2000):
        if condition():
            return True
        await anyio.sleep(0.01)
    return False


def is_gone(pid: int) -> bool:
    return not is_alive(pid)


async def gone(pid_file: Path) -> bool:
    pid = int(pid_file.read_text())  # noqa: ASYNC240  (a few bytes)
    return await becomes_true(lambda: is_gone(pid))
