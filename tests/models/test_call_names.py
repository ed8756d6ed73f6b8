"""A model may ask for a tool by any name: the wire must take it back, and the answer says what was asked for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.agent.history import History
from dogu.agent.loop import Agent
from dogu.contract.function_tool import function_tool
from dogu.models.call_arguments import sound_name
from dogu.models.gemini import Gemini, KeyAccess
from dogu.models.model import Model
from dogu.models.openai_compatible import OpenAICompatible
from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.fake_openai import FakeOpenAI
from dogu.testing.turn import Call, Turn
from dogu.testing.workspace import executor_for

NAMES = ["rm -rf /", "道具", "9lives", "a.b:c-d", "look\nup", "x" * 300, "default_api.look()"]


def look() -> str:
    """Look."""
    return "seen"


async def ask_with(model: Model) -> History:
    agent = Agent(model, executor_for(function_tool(look)), "system")
    end = await agent.run("look")
    assert end.text == "done"
    await model.aclose()
    for answer, name in zip(end.answers, NAMES, strict=True):
        assert answer.result.error is not None
        assert answer.call.name == name
        assert repr(name)[1:20] in answer.result.error.message
    return agent.history


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["gemini-2.5-flash", "gemini-3-pro-preview"])
async def test_gemini_takes_back_whatever_it_called(name: str):
    calls = [Call(wrong, {"a": 1}) for wrong in NAMES]
    with FakeGemini([Turn(calls=calls), "done"]) as fake:
        history = await ask_with(Gemini(name, KeyAccess("k", fake.base_url)))
    assert History.restored(history.contents).contents == history.contents


@pytest.mark.anyio
async def test_the_openai_wire_takes_it_back_too():
    with FakeOpenAI([Turn(calls=[Call(wrong) for wrong in NAMES]), "done"]) as fake:
        await ask_with(OpenAICompatible("any", fake.base_url))
        sent = [
            call["function"]["name"]
            for message in fake.requests[1].messages
            for call in message.get("tool_calls") or ()
        ]
    assert len(sent) == len(NAMES)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", each) for each in sent)


@given(st.text(max_size=200))
def test_any_name_becomes_one_that_is_sound_and_stays_it(name: str):
    sound = sound_name(name)
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}", sound)
    assert sound_name(sound) == sound
