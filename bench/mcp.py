"""What MCP costs: a call over the SDK's own, ten servers at the first prompt, an answer of 100 MB, our own start.

The start is set beside `claude mcp serve`, where `DOGU_BENCH_PEERS` names a folder that npm installed
`@anthropic-ai/claude-code` in.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

from bench.measure import row
from bench.startup import time_to_prompt
from dogu.app.opening import open_runtime
from dogu.app.options import Options

_CALLS = 50
_ROUNDS = 20
_PROMPTS = 9
_STARTS = 15
_HOSTILE = str(Path(__file__).parent.parent / "tests" / "hostile_mcp.py")


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(_calls, folder)
        _prompts(folder)
        anyio.run(_large, folder)
        if "DOGU_BENCH_PEERS" in os.environ:
            _start(os.path.join(os.environ["DOGU_BENCH_PEERS"], "node_modules", ".bin", "claude"), folder)


def _server(fault: str, folder: str) -> dict[str, object]:
    return {"command": sys.executable, "args": [_HOSTILE, fault, folder]}


def _options(folder: str, servers: dict[str, dict[str, object]]) -> Options:
    home = os.path.join(folder, "home")
    os.makedirs(os.path.join(home, ".dogu"), exist_ok=True)
    Path(home, ".dogu", "settings.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return Options(root=folder, home=home, approval_mode="yolo")


async def _calls(folder: str) -> None:
    from mcp import Client, StdioServerParameters

    server = _server("none", folder)
    parameters = StdioServerParameters(command=sys.executable, args=[_HOSTILE, "none", folder])
    ours: list[float] = []
    sdks: list[float] = []
    async with open_runtime(_options(folder, {"one": server})) as runtime, Client(parameters, mode="legacy") as client:
        await client.list_tools()
        for _ in range(_ROUNDS):
            started = time.perf_counter()
            for _ in range(_CALLS):
                assert (await runtime.call("one__echo")).result.error is None
            ours.append((time.perf_counter() - started) / _CALLS)
            started = time.perf_counter()
            for _ in range(_CALLS):
                assert not (await client.call_tool("echo", {})).is_error
            sdks.append((time.perf_counter() - started) / _CALLS)
    own = min(ours) - min(sdks)  # the quietest rounds: what others did to the machine is no cost of ours
    reached = f"{own * 1000:.2f} ms ({min(ours) * 1000:.2f} / {min(sdks) * 1000:.2f} ms)"
    row("own cost of an MCP call over the SDK's", reached, "2 ms")


def _prompts(folder: str) -> None:
    """Time the first prompt with ten servers, one of which hangs, and with none, in turn."""
    bare, full = os.path.join(folder, "bare"), os.path.join(folder, "full")
    os.mkdir(bare)
    names = [f"server{number}" for number in range(10)]
    servers = {name: _server("hang-init" if name == "server9" else "none", folder) for name in names}
    os.makedirs(os.path.join(full, ".dogu"))
    Path(full, ".dogu", "settings.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    differences: list[float] = []
    for _ in range(_PROMPTS):
        with_none = time_to_prompt({"HOME": bare}, bare)
        differences.append(time_to_prompt({"HOME": full}, bare) - with_none)
    differences.sort()
    reached = (
        f"{statistics.median(differences) * 1000:+.0f} ms ({differences[0] * 1000:+.0f}..{differences[-1] * 1000:+.0f})"
    )
    row("time to the first prompt that ten servers add", reached, "0 ms")


async def _large(folder: str) -> None:
    async with open_runtime(_options(folder, {"one": _server("100mb-result", folder)})) as runtime:
        started = time.perf_counter()
        assert (await runtime.call("one__echo")).result.error is None
        took = time.perf_counter() - started
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row("an answer of 100 MB", f"{took:.1f} s, {peak_mb:.0f} MB at the most", "5 s, 400 MB")


def _start(claude: str, folder: str) -> None:
    """Take the CPU from the start to the list of tools and the end, of each in turn; compare the quietest."""
    dogu = os.path.join(os.path.dirname(sys.executable), "dogu")
    pairs = [(_served([dogu, "mcp"], folder), _served([claude, "mcp", "serve"], folder)) for _ in range(_STARTS)]
    ours, theirs = (min(costs) for costs in zip(*pairs, strict=True))
    reached = f"{ours / theirs:.2f} x CPU ({ours * 1000:.0f} / {theirs * 1000:.0f} ms)"
    row("dogu mcp to its list of tools / claude mcp serve", reached, "1 x")


def _served(command: list[str], home: str) -> float:
    """Return the seconds of CPU that a server took for a handshake and its list of tools."""
    client: dict[str, object] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    requests: list[tuple[str, int | None, dict[str, object]]] = [
        ("initialize", 1, client),
        ("notifications/initialized", None, {}),
        ("tools/list", 2, {}),
    ]
    environment = {**os.environ, "HOME": home}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment, cwd=home
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for method, number, params in requests:
            request = {"jsonrpc": "2.0", "method": method, "params": params}
            process.stdin.write(json.dumps(request if number is None else {**request, "id": number}).encode() + b"\n")
            process.stdin.flush()
            if number is not None:
                assert b'"result"' in process.stdout.readline()
        process.stdin.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
