"""The loop: what the model is sent, whatever it asks and whatever happens in between."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest

from dogu.agent.budget import Meter
from dogu.agent.events import EndReason, TurnEnded
from dogu.agent.history import History
from dogu.agent.housekeeping import AgentServices
from dogu.agent.loop import Agent
from dogu.contract.confirmation import CallContext
from dogu.contract.content import Blob, Text
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.function_tool import function_tool
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind, Tool
from dogu.models.contents import model_content, user_content
from dogu.models.events import ModelError, ModelErrorKind, TextDelta
from dogu.runtime.questions import Declined
from dogu.runtime.registry import AnyTool
from dogu.testing.scripted_model import ScriptedModel
from dogu.testing.turn import Turn, call
from dogu.testing.workspace import executor_for

pytestmark = pytest.mark.anyio


def look(name: str) -> str:
    """Look."""
    if name == "missing":
        raise ToolError(ErrorKind.NOT_FOUND, "No such name.")
    return f"saw {name}"


LOOK = function_tool(look, kind=Kind.READ)


def agent(model: ScriptedModel, *tools: AnyTool, **more: Any) -> Agent:
    return Agent(model, executor_for(*(tools or (LOOK,))), "system", **more)


def roles(model: ScriptedModel) -> list[str]:
    return [content["role"] for content in model.requests[-1].contents]


async def test_a_question_is_answered_and_streamed():
    model = ScriptedModel([Turn(text="Hello there.", pieces=3)])
    events: list[object] = []
    end = await agent(model).run("hi", events.append)
    assert (end.reason, end.text) == (EndReason.DONE, "Hello there.")
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello there."
    assert isinstance(events[-1], TurnEnded)


async def test_parallel_calls_are_answered_in_order_in_one_content():
    model = ScriptedModel([Turn(calls=[call("look", name="a"), call("look", name="missing")]), "done"])
    end = await agent(model).run("look")
    assert [response["response"] for response in model.requests[1].responses] == [
        {"output": "saw a"},
        {"error": "No such name."},
    ]
    assert roles(model) == ["user", "model", "user"]
    assert [answer.result.error is None for answer in end.answers] == [True, False]


async def test_an_unknown_tool_and_bad_arguments_are_answered_so_that_the_model_recovers():
    model = ScriptedModel([Turn(calls=[call("lok", name="a"), call("look", nam="a")]), "done"])
    await agent(model).run("look")
    errors = [response["response"]["error"] for response in model.requests[1].responses]
    assert "Did you mean 'look'?" in errors[0]
    assert "Did you mean 'name'?" in errors[1]


async def test_two_calls_without_ids_are_both_answered():
    model = ScriptedModel([Turn(calls=[call("look", name="a"), call("look", name="b")]), "done"])
    await agent(model).run("look")
    assert len(model.requests[1].responses) == 2


async def test_media_stand_beside_the_answer():
    def draw() -> ToolResult:
        """Draw."""
        return ToolResult([Text("a picture"), Blob("image/png", b"png")])

    model = ScriptedModel([Turn(calls=[call("draw")]), "nice"])
    await agent(model, function_tool(draw, kind=Kind.READ)).run("draw")
    parts = model.requests[1].contents[-1]["parts"]
    assert "functionResponse" in parts[0]
    assert parts[1] == {"inlineData": {"mimeType": "image/png", "data": "cG5n"}}


async def test_the_step_limit_ends_the_turn_and_says_so():
    model = ScriptedModel([Turn(calls=[call("look", name=str(n))]) for n in range(9)])
    end = await agent(model, max_steps=3).run("look")
    assert end.reason is EndReason.STEP_LIMIT
    assert len(model.requests) == 3


async def test_the_same_call_again_and_again_is_told_to_the_model_and_then_asked_of_the_user():
    asked: list[str] = []

    async def go_on(question: str) -> bool:
        asked.append(question)
        return len(asked) < 2

    model = ScriptedModel([Turn(calls=[call("look", name="a")]) for _ in range(20)])
    services = AgentServices(Meter(model), ask_to_go_on=go_on)
    end = await agent(model, services=services).run("look")
    assert end.reason is EndReason.LOOP
    assert len(model.requests) == 15
    told = [n for n, request in enumerate(model.requests) if "same calls five times" in str(request.responses)]
    assert told == [5]


async def test_a_model_that_was_told_of_its_loop_may_leave_it():
    model = ScriptedModel([*[Turn(calls=[call("look", name="a")])] * 5, Turn(calls=[call("look", name="b")]), "done"])
    end = await agent(model).run("look")
    assert (end.reason, end.text) == (EndReason.DONE, "done")


@pytest.mark.parametrize("length", [2, 5, 8])
async def test_a_cycle_of_some_calls_is_a_loop_and_without_a_user_it_ends(length: int):
    model = ScriptedModel([Turn(calls=[call("look", name="abcdefgh"[n % length])]) for n in range(15 * length)])
    end = await agent(model).run("look")
    assert (end.reason, len(model.requests)) == (EndReason.LOOP, 10 * length)


async def test_a_command_said_to_be_for_something_else_each_time_is_a_loop():
    def run_shell_command(command: str, description: str) -> str:
        """Run."""
        return "Stderr: no\nExit Code: 1"

    model = ScriptedModel(
        [Turn(calls=[call("run_shell_command", command="make", description=f"try {n}")]) for n in range(20)]
    )
    end = await agent(model, function_tool(run_shell_command, kind=Kind.READ)).run("make it")
    assert (end.reason, len(model.requests)) == (EndReason.LOOP, 10)


async def test_a_call_whose_answer_changes_is_no_loop():
    count = 0

    def poll() -> str:
        """Poll."""
        nonlocal count
        count += 1
        return str(count)

    model = ScriptedModel([*[Turn(calls=[call("poll")]) for _ in range(12)], "ready"])
    end = await agent(model, function_tool(poll, kind=Kind.READ)).run("wait")
    assert end.reason is EndReason.DONE


async def test_equal_calls_of_one_step_are_no_loop():
    model = ScriptedModel([Turn(calls=[call("look", name="a")] * 8), "done"])
    end = await agent(model).run("look")
    assert end.reason is EndReason.DONE
    assert "same calls" not in str(model.requests[1].responses)


@pytest.mark.parametrize(
    "printed",
    [
        "Stdout: ok in 0.{n} s\nExit Code: 0\nProcess Group PGID: 40{n}",
        "Stderr: 3 failed, seed {n}, at /tmp/pytest-{n}\nExit Code: 1",
        "Stdout: 2026-11-22 10:0{n}:00 waiting\nExit Code: 0",
    ],
)
async def test_what_differs_from_run_to_run_of_a_command_does_not_hide_a_loop(printed: str):
    count = 0

    def run() -> str:
        """Run."""
        nonlocal count
        count += 1
        return printed.format(n=count % 10)

    model = ScriptedModel([Turn(calls=[call("run")])] * 11)
    end = await agent(model, function_tool(run, kind=Kind.READ)).run("test it")
    assert (end.reason, len(model.requests)) == (EndReason.LOOP, 10)


async def test_without_a_limit_a_turn_takes_as_many_requests_as_it_needs():
    model = ScriptedModel([*[Turn(calls=[call("look", name=str(n))]) for n in range(300)], "done"])
    assert (await agent(model).run("look")).reason is EndReason.DONE


async def test_an_answer_cut_at_the_token_limit_goes_on_where_it_stopped():
    model = ScriptedModel([Turn(text="one, t", finish="MAX_TOKENS"), "wo, three"])
    end = await agent(model).run("count")
    assert (end.reason, end.text) == (EndReason.DONE, "one, two, three")
    assert "Go on exactly where it stopped" in str(model.requests[1].contents[-1])


async def test_an_answer_that_is_cut_again_and_again_ends_and_says_so():
    model = ScriptedModel([Turn(text=f"{n} ", finish="MAX_TOKENS") for n in range(9)])
    end = await agent(model).run("count")
    assert (end.reason, end.text, len(model.requests)) == (EndReason.CUT, "0 1 2 3 4 5 ", 6)


@pytest.mark.parametrize("piece", ["The test fails. Let me look again. ", "-", "I will now do it.\n" * 9])
async def test_endless_repeated_text_is_left_told_and_then_stopped(piece: str):
    endless = Turn(text=piece * (9_000 // len(piece)), pieces=400)
    model = ScriptedModel([endless, endless])
    events: list[object] = []
    end = await agent(model).run("go", events.append)
    assert (end.reason, len(model.requests)) == (EndReason.LOOP, 2)
    assert "without end" in str(model.requests[1].contents[-1])
    assert len("".join(event.text for event in events if isinstance(event, TextDelta))) < 2 * 6_000
    assert end.usage.output > 1_000


async def test_long_text_that_repeats_much_is_not_endless():
    rows = "".join(f"| {n:5} | {n * n:9} | the same words in every row of the table |\n" for n in range(500))
    end = await agent(ScriptedModel([Turn(text=rows, pieces=300)])).run("go")
    assert (end.reason, end.text) == (EndReason.DONE, rows)


async def test_stop_ends_the_turn_with_every_call_answered():
    def write(name: str) -> str:
        """Write."""
        return name

    async def stop(_question: object) -> Declined:
        return Declined(stop=True)

    model = ScriptedModel([Turn(calls=[call("write", name="a"), call("write", name="b")]), "sorry"])
    talk = Agent(model, executor_for(function_tool(write), confirm=stop), "system")
    assert (await talk.run("write")).reason is EndReason.STOPPED
    await talk.run("then do this")
    parts = model.requests[1].contents[-1]["parts"]
    assert [sorted(part) for part in parts] == [["functionResponse"], ["functionResponse"], ["text"]]
    assert roles(model) == ["user", "model", "user"]


async def test_cancelled_in_the_middle_of_a_call_the_next_prompt_works_and_what_was_done_is_known():
    inside = anyio.Event()

    class ActArgs(msgspec.Struct):
        how: str

    class Act(Tool[ActArgs]):
        """Act."""

        name = "act"
        display_name = "Act"
        kind = Kind.EDIT

        def get_description(self, args: ActArgs) -> str:
            return args.how

        async def execute(self, args: ActArgs, context: CallContext) -> ToolResult:
            if args.how == "slow":
                context.report("half of it\n")
                inside.set()
                await anyio.sleep_forever()
            return ToolResult("done fast")

    model = ScriptedModel([Turn(calls=[call("act", how="fast"), call("act", how="slow")]), "ok"])
    talk = Agent(model, executor_for(Act()), "system")
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(talk.run, "act")
            await inside.wait()
            group.cancel_scope.cancel()
    await talk.run("go on")
    first, second = model.requests[1].responses
    assert first["response"] == {"output": "done fast"}
    assert "Interrupted" in second["response"]["error"]
    assert "half of it" in second["response"]["error"]
    assert roles(model) == ["user", "model", "user"]


async def test_cancelled_in_the_middle_of_the_stream_the_half_answer_is_kept_and_marked():
    model = ScriptedModel([Turn(text="half an answer", pieces=2), "ok"])
    talk = agent(model)
    scope = anyio.CancelScope()

    def cancel_at_text(event: object) -> None:
        if isinstance(event, TextDelta):
            scope.cancel()

    with scope:
        await talk.run("ask", cancel_at_text)
    await talk.run("again")
    assert model.requests[1].contents[1]["parts"] == [{"text": "half an\n[interrupted by the user]"}]
    assert roles(model) == ["user", "model", "user"]


async def test_a_prompt_the_model_gave_no_answer_to_is_taken_back():
    blocked = ModelError(ModelErrorKind.BLOCKED, "Blocked: reword it.")
    model = ScriptedModel([Turn(error=blocked), "fine"])
    talk = agent(model)
    with pytest.raises(ModelError, match="reword"):
        await talk.run("bad words")
    await talk.run("good words")
    assert model.requests[1].contents == [{"role": "user", "parts": [{"text": "good words"}]}]


async def test_an_error_after_calls_keeps_what_was_done():
    down = ModelError(ModelErrorKind.OVERLOADED, "Overloaded.")
    model = ScriptedModel([Turn(calls=[call("look", name="a")]), Turn(error=down), "fine"])
    talk = agent(model)
    with pytest.raises(ModelError):
        await talk.run("look")
    await talk.run("go on")
    assert roles(model) == ["user", "model", "user"]
    assert model.requests[2].responses[0]["response"] == {"output": "saw a"}


async def test_a_record_that_a_crash_left_open_is_mended():
    calls = b'{"role":"model","parts":[{"functionCall":{"id":"x","name":"look","args":{}}}]}'
    orphan = b'{"role":"user","parts":[{"functionResponse":{"id":"y","name":"look","response":{"output":"?"}}}]}'
    history = History.restored([user_content("hi"), calls, orphan, model_content("well"), calls])
    model = ScriptedModel(["ok"])
    await agent(model, history=history).run("go on")
    assert roles(model) == ["user", "model", "user", "model", "user", "model", "user"][: len(roles(model))]
    answered = [
        part for content in model.requests[0].contents for part in content["parts"] if "functionResponse" in part
    ]
    assert [part["functionResponse"]["id"] for part in answered] == ["x", "x"]


async def test_tokens_are_counted_over_the_conversation():
    model = ScriptedModel([Turn(text="a" * 40), Turn(text="b" * 40)])
    talk = agent(model)
    await talk.run("one")
    end = await talk.run("two")
    assert end.usage.output == 10
    assert (talk.usage.prompt, talk.usage.output) == (20, 20)
