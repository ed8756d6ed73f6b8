"""Prints what each wire's client costs in CPU time: import, first answer, a hundred turns, late turns and early ones.

The server runs in a process of its own, and its time isn't counted. Run: `python bench/model.py`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dogu.models.model import Model

_SERVER = """
import itertools, sys, threading
import dogu.testing as fakes
from dogu.testing.turn import Turn, call
turn = Turn(text="Looking.", calls=[call("tool1", p0="x")])
fake = getattr(fakes, sys.argv[1])(itertools.repeat(turn))
class Nothing(list):
    count = 0
    def append(self, item): self.count += 1
    def __len__(self): return self.count
fake.requests = Nothing()
with fake:
    print(fake.base_url, flush=True)
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
    marks = [time.process_time()]
    for _ in range(1000):
        async with model.stream("system " * 500, history, tools) as events:
            last = [event async for event in events][-1]
        assert isinstance(last, Finished)
        answers = [(call.call_id, call.name, ToolResult("x" * 100)) for call in last.calls]
        history += [last.content, function_response_content(answers)]
        marks.append(time.process_time())
    await model.aclose()
    _tell("first answer, everything included", marks[1] - _START_S)
    _tell("100 turns", marks[100] - marks[0])
    early, late = (marks[110] - marks[10]) / 100, (marks[1000] - marks[900]) / 100
    _tell("a turn, turns 10 to 110", early)
    _tell("a turn, turns 900 to 1,000", late)
    print(f"{'late turns beside early ones':<44} {late / early:8.2f} x")
    if wire == "FakeGemini":
        await _measure_flood(base_url, history)
    print(f"{'peak memory':<44} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.1f} MB")


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
