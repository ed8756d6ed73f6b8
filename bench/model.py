"""Prints what Gemini's client costs in CPU time: import, first answer, a hundred turns, late turns, a flood of chunks.

The server runs in a process of its own, and its time isn't counted. Run: `python bench/model.py`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

_SERVER = """
import threading
from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call
with FakeGemini(lambda request: Turn(text="Looking.", calls=[call("tool1", p0="x")])) as fake:
    class Nothing(list):
        def append(self, item): pass
    fake.requests = Nothing()
    print(fake.base_url, flush=True)
    threading.Event().wait()
"""
_START_S = time.process_time()


def _tell(what: str, seconds: float) -> None:
    print(f"{what:<44} {seconds * 1000:8.1f} ms")


async def _measure(base_url: str) -> None:
    from dogu.contract.declaration import FunctionDeclaration
    from dogu.contract.result import ToolResult
    from dogu.models.contents import function_response_content, user_content
    from dogu.models.events import Finished
    from dogu.models.gemini import Gemini, KeyAccess

    properties = {f"p{number}": {"type": "string", "description": "x" * 80} for number in range(4)}
    schema = {"type": "object", "properties": properties}
    tools = [FunctionDeclaration(f"tool{number}", "does " * 40, schema) for number in range(10)]
    history = [user_content("hi")]
    model = Gemini("gemini-2.5-flash", KeyAccess("k", base_url))
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
    _tell("a turn, turns 10 to 110", (marks[110] - marks[10]) / 100)
    _tell("a turn, turns 900 to 1,000", (marks[1000] - marks[900]) / 100)
    before = time.process_time()
    flood = Gemini("flood", KeyAccess("k", base_url))
    async with flood.stream("", history[:1], []) as events:
        deltas = [event async for event in events]
    await flood.aclose()
    _tell(f"20,001 chunks as {len(deltas)} events", time.process_time() - before)
    print(f"{'peak memory':<44} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.1f} MB")


def main() -> None:
    import anyio

    with subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            anyio.run(_measure, server.stdout.readline().strip())
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
