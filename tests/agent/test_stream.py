"""A turn as a stream of events."""

from pathlib import Path

import anyio
import pytest

from dogu.agent.events import EndReason, TurnEnded
from dogu.agent.stream import TurnStream
from dogu.app import Options, open_agent
from dogu.models.events import ModelError, ModelErrorKind, TextDelta
from dogu.runtime.events import CallFinished
from dogu.testing import ScriptedModel, Turn, call

pytestmark = pytest.mark.anyio


@pytest.fixture
def options(tmp_path: Path) -> Options:
    (tmp_path / "a.txt").write_text("alpha\n")
    return Options(root=str(tmp_path), home=str(tmp_path / "home"))


async def all_of(stream: TurnStream) -> list[object]:
    async with stream as events:
        return [event async for event in events]


async def test_events_come_in_order_and_the_end_is_there_after_them(options: Options) -> None:
    model = ScriptedModel([Turn(text="Look.", calls=[call("read_file", path="a.txt")]), "alpha"])
    async with open_agent(options, model=model) as opened, opened.agent.stream("What?") as events:
        seen = [event async for event in events]
    kinds = [type(event) for event in seen if isinstance(event, TextDelta | CallFinished | TurnEnded)]
    assert kinds == [TextDelta, CallFinished, TextDelta, TurnEnded]
    assert events.end is not None
    assert events.end.reason is EndReason.DONE


async def test_a_model_s_failure_is_raised_as_itself(options: Options) -> None:
    model = ScriptedModel([Turn(error=ModelError(ModelErrorKind.AUTH, "no key"))])
    async with open_agent(options, model=model) as opened:
        with pytest.raises(ModelError, match="no key"):
            await all_of(opened.agent.stream("What?"))


async def test_leaving_early_cancels_the_turn_and_the_next_one_works(options: Options) -> None:
    model = ScriptedModel([Turn(text="a b c d", pieces=4), "next"])
    async with open_agent(options, model=model) as opened:
        async with opened.agent.stream("One.") as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        with anyio.fail_after(20):
            end = await opened.agent.run("Two.")
    assert end.text == "next"


async def test_what_the_body_raises_is_raised_as_it_is(options: Options) -> None:
    async with open_agent(options, model=ScriptedModel([Turn(hangs=True)])) as opened:
        with pytest.raises(KeyError):
            async with opened.agent.stream("One."):
                raise KeyError("mine")
