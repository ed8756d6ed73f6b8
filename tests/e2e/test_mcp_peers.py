"""Others' MCP servers, the reference ones of npm, over standard streams and HTTP; skipped plainly where npm has none."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import dogu
from conformance.peer import peers
from dogu.contract import Blob
from dogu.runtime.discovery.mcp.entries import read_entries
from dogu.runtime.discovery.mcp.host import Host, Sampled, SamplingRequest
from dogu.runtime.discovery.mcp.servers import McpServers, mcp_tools
from dogu.runtime.questions import Elicitation, Given
from dogu.runtime.runtime import Runtime

pytestmark = [pytest.mark.conformance, pytest.mark.anyio, pytest.mark.timeout(240)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def everything_over_http(transport: str) -> Generator[str]:
    """Run server-everything over HTTP, until it listens."""
    port = free_port()
    environment = {**os.environ, "PORT": str(port)}
    command = [*peers().everything, transport]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if str(port).encode() in line:
                    break
            yield f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
        finally:
            process.kill()


async def answer(elicitation: Elicitation) -> Given:
    """Fill in every form."""
    values = {
        name: field.get("default", "Ann") for name, field in elicitation.fields.items() if field["type"] == "string"
    }
    return Given(values)


async def sample(_request: SamplingRequest) -> Sampled:
    return Sampled("an answer", "a-model")


@asynccontextmanager
async def opened(tmp_path: Path, row: dict[str, Any]) -> AsyncGenerator[tuple[Runtime, McpServers]]:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("some text")
    options = dogu.Options(root=str(root), home=str(tmp_path / "home"), approval_mode="yolo")
    entries, problems = read_entries({"peer": row})
    assert problems == []
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    with anyio.fail_after(120):
        async with dogu.open_runtime(options) as runtime:
            host = Host(runtime.roots, lambda: environment, answer, sample)
            async with mcp_tools(entries, runtime, host, wait_s=60) as servers:
                for server in servers:
                    await server.listed.wait()
                yield runtime, servers


def program(command: list[str], *more: str) -> dict[str, Any]:
    return {"command": command[0], "args": [*command[1:], *more]}


async def text_of(runtime: Runtime, tool: str, /, **args: Any) -> str:
    result = (await runtime.call(f"peer__{tool}", args)).result
    assert result.error is None, result.error
    return str(result.llm_content)


async def try_everything(runtime: Runtime, servers: McpServers) -> None:
    """Use what server-everything has."""
    assert runtime.notes == ()
    assert await text_of(runtime, "echo", message="hi") == "Echo: hi"
    assert "5" in await text_of(runtime, "get-sum", a=2, b=3)
    image = (await runtime.call("peer__get-tiny-image")).result.llm_content
    assert any(isinstance(part, Blob) and part.media_type == "image/png" for part in image)
    assert (await text_of(runtime, "get-structured-content", location="New York")).startswith("{")
    assert "Link to" in await text_of(runtime, "get-resource-links", count=2)
    long = await text_of(runtime, "trigger-long-running-operation", duration=0.4, steps=2)
    assert "completed" in long
    (resource, *_) = servers.resources
    assert (await servers.read_resource("peer", resource.uri, print)).error is None
    prompts = {prompt.name: prompt for prompt in servers.prompts}
    said = await servers.get_prompt(prompts["args-prompt"], {"city": "Tokyo"})
    assert "Tokyo" in str(said)


async def test_everything_works_over_standard_streams(tmp_path: Path):
    async with opened(tmp_path, program(peers().everything, "stdio")) as (runtime, servers):
        await try_everything(runtime, servers)
        assert (tmp_path / "root").as_uri() in await text_of(runtime, "get-roots-list")
        assert "Ann" in await text_of(runtime, "trigger-elicitation-request")
        assert "an answer" in await text_of(runtime, "trigger-sampling-request", prompt="?", maxTokens=10)


async def test_everything_works_over_streamable_http(tmp_path: Path):
    with everything_over_http("streamableHttp") as address:
        async with opened(tmp_path, {"httpUrl": address}) as (runtime, servers):
            await try_everything(runtime, servers)


async def test_everything_works_over_sse(tmp_path: Path):
    with everything_over_http("sse") as address:
        async with opened(tmp_path, {"url": address}) as (runtime, servers):
            await try_everything(runtime, servers)


async def test_the_filesystem_server_works_and_keeps_to_the_roots_it_is_told(tmp_path: Path):
    row = program(peers().filesystem, str(tmp_path / "root"))
    async with opened(tmp_path, row) as (runtime, _):
        path = str(tmp_path / "root" / "a.txt")
        assert "some text" in await text_of(runtime, "read_text_file", path=path)
        await text_of(runtime, "write_file", path=str(tmp_path / "root" / "b.txt"), content="new")
        assert (tmp_path / "root" / "b.txt").read_text() == "new"
        refused = (await runtime.call("peer__read_text_file", {"path": "/etc/hostname"})).result
        assert refused.error is not None
