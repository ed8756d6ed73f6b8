"""Making room: what is shortened, what becomes a summary, and that the conversation stays one the API takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogu.agent.context.compaction import Compaction, WindowLimits
from dogu.agent.context.window import ContextFill, estimated_tokens, window_of
from dogu.agent.history import History
from dogu.agent.loop import Agent
from dogu.contract.result import ToolResult
from dogu.models.contents import function_response_content, user_content
from dogu.models.events import ModelError, ModelErrorKind, Usage
from dogu.testing.scripted_model import ScriptedModel
from dogu.testing.turn import Turn
from dogu.testing.workspace import executor_for

pytestmark = pytest.mark.anyio


def model_said(*calls: str, text: str = "", signature: str = "") -> bytes:
    parts: list[dict[str, Any]] = [{"text": text, "thoughtSignature": signature}] if text else []
    parts += [
        {
            "functionCall": {"id": call, "name": "look", "args": {"path": f"src/{call}.py"}},
            "thoughtSignature": signature,
        }
        for call in calls
    ]
    return msgspec.json.encode({"role": "model", "parts": parts})


def answered(*calls: str, size: int = 10) -> bytes:
    return function_response_content([(call, "look", ToolResult(f"begin {'x' * size} end")) for call in calls])


def conversation(
    contents: Sequence[bytes], turns: Sequence[Any], window: int | None, pinned: Sequence[str] = (), **more: Any
) -> tuple[Agent, Compaction, ScriptedModel]:
    model = ScriptedModel(turns)
    history = History.restored(contents)
    assert history.contents == list(contents)
    agent = Agent(model, executor_for(), "system", history=history)
    compaction = Compaction(agent, ContextFill(history, lambda: 0), WindowLimits(window, **more), lambda _kept: pinned)
    return agent, compaction, model


def exchanges(count: int, size: int) -> list[bytes]:
    contents = [user_content("Make it work. Never touch main.c.")]
    for number in range(count):
        contents += [model_said(f"c{number}", signature=f"s{number}"), answered(f"c{number}", size=size)]
    return contents


def check(contents: Sequence[bytes]) -> None:
    """Check what the API demands: roles alternate from the user on, each call is answered right after it."""
    decoded = [msgspec.json.decode(content) for content in contents]
    waiting: list[str] = []
    for index, content in enumerate(decoded):
        assert content["role"] == ("user", "model")[index % 2]
        given = [part["functionResponse"]["id"] for part in content["parts"] if "functionResponse" in part]
        assert given == waiting
        waiting = [part["functionCall"]["id"] for part in content["parts"] if "functionCall" in part]
    assert not waiting


async def test_nothing_is_due_below_the_threshold_or_without_a_known_window():
    for window in (100_000, None):
        _, compaction, _ = conversation(exchanges(10, 1_000), [], window)
        assert not compaction.is_due


async def test_old_results_are_shortened_first_without_asking_the_model():
    agent, compaction, model = conversation(exchanges(20, 4_000), [], 24_000)
    before = list(agent.history.contents)
    assert compaction.is_due
    done = await compaction.run()
    assert (done.summarised, done.problem, model.requests) == (0, "", [])
    assert done.shortened > 5
    assert done.after_tokens < done.before_tokens
    check(agent.history.contents)
    assert agent.history.contents[-4:] == before[-4:]
    assert b"characters were left out by dogu to make room" in agent.history.contents[2]
    assert b"begin xxx" in agent.history.contents[2]
    assert b"xxx end" in agent.history.contents[2]
    assert "older results of calls were shortened" in done.note
    assert not compaction.is_due


async def test_then_the_older_part_becomes_a_summary_and_the_newest_stays_byte_for_byte():
    contents = exchanges(60, 900)
    agent, compaction, model = conversation(contents, ["## Goal\nIt works."], 14_000, ["<context file='x'>"])
    done = await compaction.run("the colors")
    check(agent.history.contents)
    assert done.problem == ""
    assert done.summarised + done.kept == len(contents)
    assert agent.history.contents[1:] == contents[-done.kept :]
    first = msgspec.json.decode(agent.history.contents[0])["parts"]
    assert "It works." in first[0]["text"]
    assert "src/c0.py" in first[0]["text"]
    assert "Make it work. Never touch main.c." in first[1]["text"]
    assert first[2]["text"] == "<context file='x'>"
    asked = model.requests[0].contents[-1]["parts"][0]["text"]
    assert "PERSON: Make it work. Never touch main.c." in asked
    assert asked.endswith("Above all, keep this: the colors")
    assert "Rules the person gave" in model.requests[0].system
    assert f"the newest {done.kept} and the session's record are unchanged" in done.note
    assert agent.usage.prompt == 10


async def test_a_summary_is_summarised_again_with_the_request_still_word_for_word():
    agent, compaction, _ = conversation(exchanges(60, 900), ["first", "second"], 14_000)
    await compaction.run()
    for number in range(100, 160):
        agent.history.replace([*agent.history.contents, model_said(f"c{number}"), answered(f"c{number}", size=900)])
    done = await compaction.run()
    assert done.problem == ""
    check(agent.history.contents)
    first = msgspec.json.decode(agent.history.contents[0])["parts"]
    assert "second" in first[0]["text"]
    assert first[1]["text"].endswith("word for word:]\nMake it work. Never touch main.c.")


@pytest.mark.parametrize(
    "turn",
    [
        Turn(error=ModelError(ModelErrorKind.OVERLOADED, "busy")),
        Turn(text="cut", finish="MAX_TOKENS"),
        Turn(text=" "),
        Turn(text="long " * 40_000),
    ],
)
async def test_a_summary_that_fails_or_is_longer_leaves_the_conversation_as_it_was(turn: Turn):
    contents = exchanges(60, 900)
    agent, compaction, _ = conversation(contents, [turn], 14_000)
    done = await compaction.run()
    assert agent.history.contents == contents
    assert done.note.startswith("The conversation wasn't compacted.")
    assert not compaction.is_due


async def test_it_is_tried_again_only_when_more_was_added():
    failing = Turn(error=ModelError(ModelErrorKind.OVERLOADED, "busy"))
    agent, compaction, model = conversation(exchanges(60, 900), [failing] * 20, 20_000, threshold=0.5)
    for number in range(100, 130):
        agent.history.replace([*agent.history.contents, model_said(f"c{number}"), answered(f"c{number}", size=900)])
        if compaction.is_due:
            await compaction.run()
    assert 2 <= len(model.requests) <= 6


async def test_a_conversation_that_the_model_refused_is_made_much_shorter():
    contents = [user_content("look"), model_said("c"), answered("c", size=50_000)]
    agent, compaction, model = conversation(contents, [], None)
    done = await compaction.run(is_too_long=True)
    assert done.problem == ""
    assert model.requests == []
    check(agent.history.contents)
    assert len(agent.history.contents[-1]) < 12_000
    assert agent.history.contents[:2] == contents[:2]


async def test_where_there_is_nothing_to_shorten_or_to_summarise_nothing_is_done():
    contents = [user_content("x" * 50_000)]
    agent, compaction, model = conversation(contents, [], 1_000)
    done = await compaction.run(is_too_long=True)
    assert done.problem
    assert (agent.history.contents, model.requests) == (contents, [])


async def test_cancelled_it_leaves_the_conversation_as_it_was():
    contents = exchanges(60, 900)
    agent, compaction, model = conversation(contents, [Turn(hangs=True)], 14_000)
    async with anyio.create_task_group() as group:
        group.start_soon(compaction.run)
        while not model.requests:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert agent.history.contents == contents


async def test_media_of_older_messages_are_left_out_and_told():
    picture = msgspec.json.encode(
        {"role": "user", "parts": [{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": "A" * 40_000}}]}
    )
    contents = [picture, model_said(text="nice"), *exchanges(60, 900)]
    agent, compaction, _ = conversation(contents, ["summary"], 14_000)
    await compaction.run()
    assert not any(b"inlineData" in content for content in agent.history.contents)


def test_what_the_server_counted_is_what_counts():
    history = History.restored(exchanges(3, 400))
    fill = ContextFill(history, lambda: 100)
    assert fill.tokens == 100 + sum(estimated_tokens(content) for content in history.contents)
    fill.measured(Usage(prompt=5_000))
    assert fill.tokens == 5_000
    history.add_prompt("y" * 400)
    assert 5_000 < fill.tokens < 6_000
    fill.measured(Usage())
    assert fill.tokens > 5_000
    history.replace(history.contents[:1])
    assert fill.tokens < 4_000


def test_a_picture_counts_as_a_picture_and_not_as_its_letters():
    picture = b'{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"' + b"A" * 400_000 + b'"}}]}'
    assert estimated_tokens(picture) < 2_000


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gemini-2.5-pro", 1_048_576),
        ("gemini-1.5-pro-002", 2_097_152),
        ("qwen/qwen3-coder:30b", 262_144),
        ("x", None),
        ("gpt-5.4", 922_000),
        ("gpt-5.4-mini", 272_000),
        ("gpt-5", 272_000),
        ("claude-sonnet-4-5", 200_000),
        ("claude-sonnet-5", 1_000_000),
        ("anthropic/claude-opus-4.6", 1_000_000),
        ("deepseek-v4-pro", 1_000_000),
        ("kimi-k2.5", 262_144),
    ],
)
def test_a_models_window_is_known_by_its_family(model: str, tokens: int | None):
    assert window_of(model) == tokens


_STEP = st.tuples(st.integers(0, 3), st.integers(0, 6_000), st.booleans(), st.sampled_from(["", "sig", "é" * 50]))


@settings(max_examples=80)
@given(
    st.lists(_STEP, min_size=1, max_size=25),
    st.integers(200, 20_000),
    st.booleans(),
    st.booleans(),
    st.sampled_from([5, 0, 45_000]),
)
def test_whatever_the_conversation_calls_keep_their_answers_and_the_newest_stays(
    steps: list[tuple[int, int, bool, str]], window: int, too_long: bool, summarises: bool, summary: int
):
    contents = [user_content("begin")]
    for number, (calls, size, joins, signature) in enumerate(steps):
        names = [f"c{number}-{index}" for index in range(calls)]
        contents.append(model_said(*names, text="" if names else "said", signature=signature))
        if names and not joins:
            contents.append(answered(*names, size=size))
        elif names:
            response = msgspec.json.decode(answered(*names, size=size))
            response["parts"].append({"text": "and a new prompt"})
            contents.append(msgspec.json.encode(response))
        else:
            contents.append(user_content("prompt " * (size // 100)))

    async def run() -> None:
        agent, compaction, _ = conversation(contents, ["x" * summary], window)
        done = await compaction.run(is_too_long=too_long, summarises=summarises)
        new = agent.history.contents
        check(new)
        if done.problem:
            assert new == contents
            return
        assert sum(map(estimated_tokens, new)) < sum(map(estimated_tokens, contents))
        signed = [content for content in contents if b"thoughtSignature" in content]
        kept = [content for content in new if b"thoughtSignature" in content]
        assert kept == signed[len(signed) - len(kept) :]
        if not too_long:
            assert new[-1] == contents[-1] or len(new) == 1

    anyio.run(run)
