"""Prints what each wire's client costs in CPU time: import, first answer, a hundred turns, late turns and early ones.

The server runs in a process of its own, and its time isn't counted. Run: `python bench/model.py`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dogu.models.model import Model

# What the fake says first is said again and again, in one piece: reading a long request takes no time of the server's,
# so that late requests and early ones are answered alike.
_SERVER = """
import itertools, socket, sys, threading
import dogu.testing as fakes
from dogu.testing.turn import Turn, call
from dogu.testing.wire_server import WireServer
turn = Turn(text="Looking.", calls=[call("tool1", p0="x")])
said_at = {}

def answer(request, reply):
    if not (said := said_at.setdefault(request.path, bytearray())):
        with socket.create_connection(("127.0.0.1", int(fake.server.url.rpartition(":")[2]))) as asked:
            query = "&".join("=".join(pair) for pair in request.query.items())
            lines = [f"POST {request.path}?{query} HTTP/1.1", *map(": ".join, request.headers.items()), "", ""]
            asked.sendall("\\r\\n".join(lines).encode() + request.body)
            while not said.endswith(b"\\r\\n0\\r\\n\\r\\n"):
                said.extend(asked.recv(65536))
    reply.raw(bytes(said))

again = WireServer(answer)
again.start()
with getattr(fakes, sys.argv[1])(itertools.repeat(turn)) as fake:
    print(fake.base_url.replace(fake.server.url, again.url), flush=True)
    threading.Event().wait()
"""
_START_S = time.process_time()


def _tell(what: str, seconds: float) -> None:
    print(f"{what:<44} {seconds * 1000:8.1f} ms")


def _model(wire: str, base_url: str) -> Model:
    from dogu.models.anthropic import Anthropic
    from dogu.models.gemini import Gemini, KeyAccess
    from dogu.models.openai_compatible import OpenAICompatible
    from dogu.models.responses import Responses

    match wire:
        case "FakeMessages":
            return Anthropic("claude-sonnet-5", "k", base_url)
        case "FakeResponses":
            return Responses("gpt-5.1", "k", base_url)
        case "FakeOpenAI":
            return OpenAICompatible("any", base_url, "k")
        case _:
            return Gemini("gemini-2.5-flash", KeyAccess("k", base_url))


async def measure(wire: str, base_url: str) -> None:
    from dogu.contract.declaration import FunctionDeclaration
    from dogu.contract.result import ToolResult
    from dogu.models.contents import function_response_content, user_content
    from dogu.models.events import Finished

    properties = {f"p{number}": {"type": "string", "description": "x" * 80} for number in range(4)}
    schema = {"type": "object", "properties": properties}
    tools = [FunctionDeclaration(f"tool{number}", "does " * 40, schema) for number in range(10)]
    history = [user_content("hi")]
    model = _model(wire, base_url)

    async def ask(asked: Model, said: Sequence[bytes]) -> Finished:
        async with asked.stream("system " * 500, said, tools) as events:
            last = [event async for event in events][-1]
        assert isinstance(last, Finished)
        return last

    marks = [time.process_time()]
    for turn in range(1000):
        last = await ask(model, history)
        [given] = last.calls
        own = f"{given.call_id[:8]}{turn}"
        content = last.content.replace(given.call_id.encode(), own.encode())
        history += [content, function_response_content([(own, given.name, ToolResult("x" * 100))])]
        marks.append(time.process_time())
    await model.aclose()
    _tell("first answer, everything included", marks[1] - _START_S)
    _tell("100 turns", marks[100] - marks[0])
    early, late = await _measure_beside(lambda: _model(wire, base_url), ask, history)
    _tell("a turn, turns 10 to 110", early)
    _tell("a turn, turns 900 to 1,000, beside them", late)
    print(f"{'late turns beside early ones':<44} {late / early:8.2f} x")
    if wire == "FakeGemini":
        await _measure_flood(base_url, history)
    print(f"{'peak memory':<44} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.1f} MB")


async def _measure_beside(
    make: Callable[[], Model], ask: Callable[[Model, Sequence[bytes]], Awaitable[object]], history: Sequence[bytes]
) -> tuple[float, float]:
    """Take an early turn and a late one by turns, so that the machine is as busy for both; return what each costs."""
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(3):
        models = (make(), make())
        for turn in range(100):
            for model, first, costs in zip(models, (10, 900), took, strict=True):
                said = history[: 2 * (first + turn) + 1]
                before = time.process_time()
                await ask(model, said)
                if turn:  # the first one translates all that there is
                    costs.append(time.process_time() - before)
        for model in models:
            await model.aclose()
    return median(took[0]), median(took[1])


async def _measure_flood(base_url: str, history: Sequence[bytes]) -> None:
    from dogu.models.gemini import Gemini, KeyAccess

    before = time.process_time()
    flood = Gemini("flood", KeyAccess("k", base_url))
    async with flood.stream("", history[:1], []) as events:
        deltas = [event async for event in events]
    await flood.aclose()
    _tell(f"20,001 chunks as {len(deltas)} events", time.process_time() - before)


def main() -> None:
    """Print the rows of each wire, measured in a process of its own."""
    for wire in ("FakeGemini", "FakeOpenAI", "FakeResponses", "FakeMessages"):
        print(f"-- {wire}", flush=True)
        with subprocess.Popen([sys.executable, "-c", _SERVER, wire], stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                url = server.stdout.readline().strip()
                script = f"import anyio; from bench.model import measure; anyio.run(measure, {wire!r}, {url!r})"
                subprocess.run([sys.executable, "-c", script], check=True)
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
