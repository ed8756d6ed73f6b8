import msgspec
import pytest

from cancelling import cancelled_when
from dogu.contract.result import ToolResult
from dogu.models.contents import function_response_content, user_content
from dogu.models.events import Finished, FunctionCallEvent, ModelError, ModelErrorKind, ModelEvent, TextDelta
from dogu.models.model import Model
from dogu.testing.scripted_model import ModelRequest, ScriptedModel
from dogu.testing.turn import Call, Turn, call

pytestmark = pytest.mark.anyio


async def ask(model: Model, *history: bytes, seen: list[ModelEvent] | None = None) -> list[ModelEvent]:
    seen = [] if seen is None else seen
    async with model.stream("system", history, []) as events:
        async for event in events:
            seen.append(event)
    return seen


async def test_text_comes_in_pieces_and_ends_with_the_whole_content() -> None:
    events = await ask(ScriptedModel([Turn(text="hello", pieces=2)]), user_content("hi"))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["hel", "lo"]
    assert isinstance(events[-1], Finished)
    assert msgspec.json.decode(events[-1].content) == {"role": "model", "parts": [{"text": "hello"}]}


async def test_calls_get_unique_ids_unless_the_script_names_them() -> None:
    model = ScriptedModel([Turn(calls=[call("glob", pattern="*"), Call("glob", {}, id="mine")])])
    events = await ask(model, user_content("hi"))
    calls = [event for event in events if isinstance(event, FunctionCallEvent)]
    assert [item.call_id for item in calls] == ["call-1-1", "mine"]
    assert calls[0].args == {"pattern": "*"}


async def test_a_function_answers_from_the_request_and_requests_are_recorded() -> None:
    def answer(request: ModelRequest) -> str:
        return str(request.responses[0]["response"]["output"])

    model = ScriptedModel([Turn(calls=[call("f")]), answer])
    await ask(model, user_content("hi"))
    response = function_response_content([("call-1-1", "f", ToolResult("42"))])
    events = await ask(model, user_content("hi"), response)
    assert TextDelta("42") in events
    assert len(model.requests) == 2


async def test_an_error_of_the_script_is_raised_after_its_text() -> None:
    model = ScriptedModel([Turn(text="par", error=ModelError(ModelErrorKind.INCOMPLETE, "cut"))])
    seen: list[ModelEvent] = []
    with pytest.raises(ModelError):
        await ask(model, seen=seen)
    assert seen == [TextDelta("par")]


async def test_a_turn_that_hangs_can_be_cancelled() -> None:
    model = ScriptedModel([Turn(hangs=True)])
    await cancelled_when(lambda: model.requests, lambda: ask(model))


async def test_one_turn_too_many_says_so() -> None:
    with pytest.raises(AssertionError, match="0 turns"):
        await ask(ScriptedModel([]))
