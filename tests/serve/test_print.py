"""The headless door: what is printed, and what the exit status says."""

from __future__ import annotations

import json
import signal

import anyio
import anyio.lowlevel
import pytest

from dogu.agent.loop import Agent
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.function_tool import function_tool
from dogu.contract.tool import Kind
from dogu.models.events import ModelError, ModelErrorKind
from dogu.serve.exit_codes import ExitCode
from dogu.serve.print import HeadlessRun, OutputFormat
from dogu.serve.run_printers import RunFacts
from dogu.serve.run_rows import Change
from dogu.testing.scripted_model import ScriptedModel, ScriptedTurn
from dogu.testing.turn import Turn, call
from dogu.testing.workspace import executor_for

pytestmark = pytest.mark.anyio


def look(name: str) -> str:
    """Look."""
    return f"saw {name}"


def burn() -> str:
    """Burn."""
    raise ToolError(ErrorKind.IO_ERROR, "The disk is full.")


async def answer(*turns: ScriptedTurn, output_format: str = "text", max_steps: int = 10) -> ExitCode:
    tools = executor_for(function_tool(look, kind=Kind.READ), function_tool(burn), confirm=None)
    if any(isinstance(turn, Turn) and turn.calls and turn.calls[0].name == "burn" for turn in turns):
        tools = executor_for(function_tool(burn), mode="yolo")
    agent = Agent(ScriptedModel(turns), tools, "system", max_steps=max_steps)
    return await print_answer(agent, OutputFormat(output_format))


async def print_answer(agent: Agent, output_format: OutputFormat = OutputFormat.TEXT) -> ExitCode:
    with HeadlessRun(output_format) as run:
        with run.bounded():
            run.opened(RunFacts("session-1", agent.model.name, agent.services.meter))
            await run.answer(agent, "the prompt")
        return run.code


async def test_text_is_the_answer_alone(capsys: pytest.CaptureFixture[str]):
    code = await answer(Turn(text="Let me look.", calls=[call("look", name="a")]), Turn(text="It is a.", pieces=4))
    assert code is ExitCode.DONE
    assert capsys.readouterr().out == "Let me look.\nIt is a.\n"


async def test_json_is_one_object(capsys: pytest.CaptureFixture[str]):
    await answer(Turn(calls=[call("look", name="a")]), "It is a.", output_format="json")
    row = json.loads(capsys.readouterr().out)
    assert row["response"] == "It is a."
    assert row["toolCalls"][0]["output"] == "saw a"
    assert row["stats"]["tool_calls"] == 1
    assert row["stats"]["tools"]["byName"]["look"]["success"] == 1
    assert row["exitCode"] == 0
    assert row["session_id"] == "session-1"


async def test_a_stream_of_json_tells_each_event_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]):
    await answer(Turn(calls=[call("look", name="a\u2028b")]), "It is a.", output_format="stream-json")
    rows = [json.loads(line) for line in capsys.readouterr().out.split("\n")[:-1]]
    assert [row["type"] for row in rows] == ["init", "message", "tool_use", "tool_result", "message", "result"]
    assert rows[2]["parameters"] == {"name": "a\u2028b"}
    assert rows[3]["status"] == "success"
    assert rows[-1]["status"] == "success"


async def test_what_needs_a_user_is_refused_and_told_by_the_status(capsys: pytest.CaptureFixture[str]):
    def write() -> str:
        """Write."""
        return "written"

    agent = Agent(
        ScriptedModel([Turn(calls=[call("write")]), "I could not."]),
        executor_for(function_tool(write), confirm=None),
        "system",
    )
    assert await print_answer(agent) is ExitCode.NOBODY_TO_ASK
    assert "nobody is here to ask" in capsys.readouterr().err


async def test_a_tool_that_failed_for_good_is_told_by_the_status(capsys: pytest.CaptureFixture[str]):
    assert await answer(Turn(calls=[call("burn")]), "It failed.") is ExitCode.TOOL_FAILED
    assert "The disk is full." in capsys.readouterr().err


async def test_the_turn_limit_is_told_by_the_status():
    turns = [Turn(calls=[call("look", name=str(n))]) for n in range(5)]
    assert await answer(*turns, max_steps=2) is ExitCode.TURN_LIMIT


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ModelErrorKind.AUTH, ExitCode.NO_CREDENTIALS),
        (ModelErrorKind.BLOCKED, ExitCode.BAD_INPUT),
        (ModelErrorKind.OVERLOADED, ExitCode.TRY_AGAIN),
        (ModelErrorKind.NOT_FOUND, ExitCode.BAD_INPUT),
    ],
)
async def test_a_model_without_an_answer_is_told_and_not_dumped(
    kind: ModelErrorKind, code: ExitCode, capsys: pytest.CaptureFixture[str]
):
    assert await answer(Turn(error=ModelError(kind, "Do this and that."))) is code
    assert capsys.readouterr().err == "Do this and that.\n"


async def test_a_model_error_as_json_is_an_object_too(capsys: pytest.CaptureFixture[str]):
    await answer(Turn(error=ModelError(ModelErrorKind.AUTH, "No key.")), output_format="json")
    assert json.loads(capsys.readouterr().out)["error"] == {"type": "auth", "message": "No key."}


async def test_what_a_run_changed_is_told_when_it_is_ended_as_it_tidies_up(capsys: pytest.CaptureFixture[str]):
    agent = Agent(ScriptedModel(["Done."]), executor_for(), "system")
    with HeadlessRun(OutputFormat.JSON) as run, run.bounded() as scope:

        async def settle() -> tuple[()]:
            if not scope.cancel_called:
                run.signalled(signal.SIGTERM)
                scope.cancel()
                await anyio.lowlevel.checkpoint()
            return ()

        changes = [Change("/a", "created")]
        run.opened(RunFacts("s", "m", agent.services.meter, changes=lambda: changes, settle_jobs=settle))
        await run.answer(agent, "the prompt")
    row = json.loads(capsys.readouterr().out)
    assert (row["exit_code"], row["response"], row["changes"]) == (143, "Done.", [{"path": "/a", "change": "created"}])
