"""Hooks around the model, by Gemini CLI's protocol: they limit tools, answer, refuse, judge and replace."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from agent.extensions.test_turn_hooks import Place, asked, printed
from cancelling import cancelled_when
from dogu.app import open_agent
from dogu.models.events import ModelError, ModelErrorKind, TextDelta
from dogu.testing import ScriptedModel, Turn, call

pytestmark = pytest.mark.anyio


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def response(text: str) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [text]}, "finishReason": "STOP"}]}


def specific(**fields: Any) -> str:
    return printed(hookSpecificOutput=fields)


def told_of(place: Place) -> dict[str, Any]:
    return json.loads((place.folder / "told").read_text())


def telling(place: Place, then: str = "true") -> str:
    return f"cat > {shlex.quote(str(place.folder / 'told'))}; {then}"


async def test_a_hook_is_told_the_request_in_texts(place: Place) -> None:
    place.hooks(BeforeModel=telling(place))
    await place.run(ScriptedModel(["Hello."]), "hi")
    request = told_of(place)["llm_request"]
    assert request["model"] == "scripted"
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["messages"][1]["content"] == "hi"


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel"])
@pytest.mark.parametrize("answer", ["echo 'Not today.' >&2; exit 2", printed(decision="deny", reason="Not today.")])
async def test_a_hook_may_stop_the_turn_and_nothing_of_the_answer_is_seen(
    place: Place, event: str, answer: str
) -> None:
    place.hooks(**{event: f"cat > /dev/null; {answer}"})
    write = Turn(text="The secret.", calls=[call("write_file", file_path="a.txt", content="x")])
    model = ScriptedModel([write])
    with pytest.raises(ModelError, match="Not today") as raised:
        await place.run(model, "hi")
    assert raised.value.kind is ModelErrorKind.BLOCKED
    assert len(model.requests) == (1 if event == "AfterModel" else 0)
    assert not (place.root / "a.txt").exists()


async def test_a_hook_may_answer_in_the_models_place(place: Place) -> None:
    place.hooks(BeforeModel=specific(llm_response=response("From the cache.")))
    model = ScriptedModel([])
    (end,) = await place.run(model, "hi")
    assert (end.text, model.requests) == ("From the cache.", [])
    assert "answered instead of the model" in place.notes[0]


async def test_a_hook_may_replace_what_the_model_said_before_anybody_sees_it(place: Place) -> None:
    place.hooks(AfterModel=telling(place, specific(llm_response=response("The key is ***."))))
    looks = Turn(text="The key is sesame.", pieces=3, thought="It is sesame.", calls=[call("list_directory", path=".")])
    model = ScriptedModel([looks, "Done: sesame."])
    seen: list[object] = []
    async with open_agent(place.options, model=model) as opened:
        end = await opened.agent.run("hi", seen.append)
    assert [event.text for event in seen if isinstance(event, TextDelta)] == ["The key is ***."] * 2
    assert end.text == "The key is ***."
    assert [answer.call.name for answer in end.answers] == ["list_directory"]
    assert "sesame" not in asked(model)
    assert "functionCall" in asked(model)
    told = told_of(place)["llm_response"]
    assert told["candidates"][0]["content"]["parts"] == ["Done: sesame."]


async def test_an_answer_that_hooks_leave_is_the_very_same(place: Place) -> None:
    place.hooks(AfterModel=telling(place))
    model = ScriptedModel([Turn(text="one two", pieces=2, thought="Hm."), "again"])
    await place.run(model, "hi", "more")
    assert asked(model).count("one two") == 1
    assert '"thought": true' in asked(model)


@pytest.mark.parametrize(
    ("config", "offered"),
    [
        ({"mode": "NONE"}, []),
        ({"mode": "AUTO", "allowedFunctionNames": ["read_file", "glob", "no_such"]}, ["glob", "read_file"]),
        ({"mode": "AUTO", "allowedFunctionNames": ["no_such"]}, []),
    ],
)
async def test_a_hook_may_take_tools_away(place: Place, config: dict[str, Any], offered: list[str]) -> None:
    place.hooks(BeforeToolSelection=specific(toolConfig=config))
    model = ScriptedModel(["Hello."])
    await place.run(model, "hi")
    assert sorted(each.name for each in model.requests[0].declarations) == offered


@pytest.mark.parametrize(
    ("event", "output", "told"),
    [
        ("BeforeModel", {"llm_request": {"model": "other"}}, "tried to change the request"),
        ("BeforeModel", {"llm_response": {"candidates": "none"}}, "can't be understood"),
        ("BeforeToolSelection", {"toolConfig": {"mode": "ANY"}}, "can't be forced"),
        ("BeforeToolSelection", {"toolConfig": {"allowedFunctionNames": "glob"}}, "can't be understood"),
    ],
)
async def test_what_a_hook_cant_have_is_told_and_the_turn_goes_on(
    place: Place, event: str, output: dict[str, Any], told: str
) -> None:
    place.hooks(**{event: specific(**output)})
    (end,) = await place.run(ScriptedModel(["Hello."]), "hi")
    assert end.text == "Hello."
    assert told in place.notes[0]


async def test_a_hook_that_hangs_before_the_model_is_cancelled_with_its_turn(place: Place) -> None:
    place.hooks(BeforeModel=f"touch {shlex.quote(str(place.folder / 'begun'))}; exec tail -f /dev/null")
    model = ScriptedModel([])
    begun = place.folder / "begun"
    await cancelled_when(begun.exists, lambda: place.run(model, "hi"))
    assert model.requests == []
