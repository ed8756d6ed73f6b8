"""What it costs to go on with a session of 10,000 calls, against one of ten, each resumed in its own process."""

from __future__ import annotations

import os
import sys
import tempfile

import msgspec

from bench.measure import Run, row, several
from dogu.agent.events import PromptGiven
from dogu.agent.history import History
from dogu.agent.session.live import Session
from dogu.contract.result import ToolResult
from dogu.models.events import Finished, FinishReason, FunctionCallEvent, TextDelta, Usage
from dogu.runtime.events import CallFinished, CallStarted, ToolCall
from dogu.runtime.session_folder import SessionFolder

_CALLS = 10_000
_CALLS_A_TURN = 10
_RESULT_CHARS = 2_000
_RESUME = """\
import anyio
from dogu.app import Options, open_agent
async def main():
    async with open_agent(Options(model="offline", resume="")) as opened:
        assert len(opened.agent.history.contents) == %d, len(opened.agent.history.contents)
anyio.run(main)
"""


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as base:
        home = os.path.realpath(base)
        few, _, _ = _resumed(os.path.join(home, "few"), 10)
        many, history_mb, record_mb = _resumed(os.path.join(home, "many"), _CALLS)
        row(f"resume a session of {_CALLS:,} calls", f"{many.wall_s:.2f} s (status {many.status})", "1 s")
        row(
            "of that, beyond a session of ten", f"{many.wall_s - few.wall_s:.2f} s for {record_mb:.0f} MB of record", ""
        )
        reached = f"{many.peak_mb - few.peak_mb:.0f} MB for {history_mb:.0f} MB of history"
        row("memory beyond a session of ten", reached, "by the history")


def _resumed(home: str, calls: int) -> tuple[Run, float, float]:
    root = os.path.join(home, "project")
    os.makedirs(root)
    history, record_bytes = _record(home, root, calls)
    code = _RESUME % len(history.contents)
    reached = several([sys.executable, "-c", code], environ={"HOME": home}, cwd=root)
    return reached, sum(map(len, history.contents)) / 1e6, record_bytes / 1e6


def _record(home: str, root: str, calls: int) -> tuple[History, int]:
    folder = SessionFolder(os.path.join(home, ".dogu"), [root])
    session = Session(folder.path, [root])
    history = History()
    session.watch(history)
    for number in range(calls):
        if number % _CALLS_A_TURN == 0:
            session.event(PromptGiven(f"prompt {number}", number // _CALLS_A_TURN + 1))
            history.add_prompt(f"prompt {number}")
        _step(session, history, number)
        if number % _CALLS_A_TURN == _CALLS_A_TURN - 1:
            text = msgspec.json.encode({"role": "model", "parts": [{"text": "Done."}]})
            history.add_model(Finished(FinishReason.STOP, text))
    session.close()
    return history, os.path.getsize(session.record_path)


def _step(session: Session, history: History, number: int) -> None:
    call = ToolCall(f"c{number}", "read_file", {"path": f"/some/folder/file{number}.py"})
    for piece in ("Now I ", "look at ", f"file {number}."):
        session.event(TextDelta(piece))
    session.event(Usage(1000, 20, 0, 0, 1020))
    parts = [{"text": f"Now I look at file {number}."}, {"functionCall": _wire(call)}]
    content = msgspec.json.encode({"role": "model", "parts": parts})
    asked = FunctionCallEvent(call.call_id, call.name, dict(call.args or {}))
    history.add_model(Finished(FinishReason.STOP, content, (asked,)))
    session.event(CallStarted(call, "ReadFile", f"file{number}.py"))
    result = ToolResult(f"{number} some text of a file\n" * (_RESULT_CHARS // 25), "Read 80 lines.")
    session.event(CallFinished(call, "ReadFile", result))
    history.answer({call.call_id: result})


def _wire(call: ToolCall) -> dict[str, object]:
    return {"id": call.call_id, "name": call.name, "args": call.args}
