"""The wires beside Gemini's: what a provider must be given back is, and its official SDK reads the same of its server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from dogu.agent.context.compaction import Compacting, Compaction, WindowLimits
from dogu.agent.context.window import ContextFill
from dogu.agent.history import History
from dogu.contract.content import Blob, Text
from dogu.contract.declaration import FunctionDeclaration
from dogu.contract.result import ToolResult
from dogu.models.anthropic import Anthropic
from dogu.models.contents import RawContent, function_response_content, user_content
from dogu.models.events import Finished, FinishReason, ModelError, ModelErrorKind, TextDelta, ThoughtDelta, Usage
from dogu.models.gemini import Gemini, KeyAccess
from dogu.models.http_model import HttpModel
from dogu.models.model import Model
from dogu.models.openai_compatible import OpenAICompatible
from dogu.models.options import ModelOptions
from dogu.models.responses import Responses
from dogu.models.retry import RetryPolicy
from dogu.testing import FakeGemini, FakeMessages, FakeOpenAI, FakeResponses
from dogu.testing.scripted_model import ScriptedModel
from dogu.testing.turn import Turn, call

pytestmark = pytest.mark.anyio
QUICK = RetryPolicy(tries=3, first_delay_s=0.01, longest_delay_s=0.02)
GLOB = FunctionDeclaration("glob", "Finds files.", {"type": "object", "properties": {"pattern": {"type": "string"}}})
ODD = FunctionDeclaration("mcp__a.b", "Dotted.", {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"x": {}}}}})
TOOLS = [GLOB, ODD]
CALLS = [call("glob", pattern="**/*.py"), call("mcp__a_b", x=[1, {"y": "日本"}])]
THINKING = [
    Turn(thought="First, look.", text="Looking.", calls=CALLS, pieces=3, cached_tokens=4),
    Turn(thought="Again.", calls=[call("glob", pattern="*.md")]),
    Turn(thought="Once more.", calls=[call("glob", pattern="*.txt")]),
    Turn(thought="Enough.", text="Done."),
]
KINDS = [
    "messages",
    "messages-budget",
    "responses",
    "reasoning_content",
    "reasoning_details",
    "extra_content",
    "gemini",
]
Fake = FakeMessages | FakeResponses | FakeOpenAI | FakeGemini


def fake_of(kind: str, turns: Sequence[Turn] = THINKING) -> Fake:
    match kind:
        case "messages" | "messages-budget":
            return FakeMessages(turns)
        case "responses":
            return FakeResponses(turns)
        case "gemini":
            return FakeGemini(turns)
        case _:
            return FakeOpenAI(turns, thinks_as=kind)


def model_of(kind: str, fake: Fake, *, streams: bool = True) -> Model:
    options = ModelOptions(retry=QUICK, streams=streams)
    match kind:
        case "messages":
            return Anthropic("claude-sonnet-5", "k", fake.base_url, options)
        case "messages-budget":
            budget = ModelOptions(retry=QUICK, streams=streams, effort="low")
            return Anthropic("claude-sonnet-4-5", "k", fake.base_url, budget)
        case "responses":
            return Responses("gpt-5.4", "k", fake.base_url, options)
        case "gemini":
            return Gemini("gemini-3-pro", KeyAccess("k", fake.base_url), options)
        case _:
            return OpenAICompatible("any", fake.base_url, "k", options)


async def answer(model: Model, history: Sequence[RawContent]) -> tuple[Finished, str, str, Usage]:
    text, thoughts, usage, finished = "", "", Usage(), None
    async with model.stream("Be brief.", history, TOOLS) as events:
        async for event in events:
            match event:
                case TextDelta(text=piece):
                    text += piece
                case ThoughtDelta(text=piece):
                    thoughts += piece
                case Usage():
                    usage = event
                case Finished():
                    finished = event
                case _:
                    pass
    assert finished is not None
    return finished, text, thoughts, usage


def results_of(finished: Finished) -> RawContent:
    result = ToolResult([Text("found"), Blob("image/png", b"png")])
    return function_response_content([(each.call_id, each.name, result) for each in finished.calls], media_inside=False)


@asynccontextmanager
async def opened(model: Model) -> AsyncGenerator[Model]:
    try:
        yield model
    finally:
        await model.aclose()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_session_that_thinks_goes_three_rounds_of_calls(kind: str) -> None:
    history: list[RawContent] = [user_content("hi")]
    with fake_of(kind) as fake:
        async with opened(model_of(kind, fake)) as model:
            for number in range(4):
                finished, text, thoughts, usage = await answer(model, history)
                assert finished.reason is FinishReason.STOP
                assert text == THINKING[number].text
                assert thoughts == THINKING[number].thought
                history.append(finished.content)
                if finished.calls:
                    history.append(results_of(finished))
                if number == 0 and kind != "gemini":
                    names = [(each.name, each.args) for each in finished.calls]
                    assert names == [("glob", {"pattern": "**/*.py"}), ("mcp__a.b", {"x": [1, {"y": "日本"}]})]
                if number == 0 and kind in ("messages", "responses"):
                    assert (usage.prompt, usage.cached, usage.thoughts) == (10, 4, 3)
        assert fake.problems == []
        assert len(fake.requests) == 4


def given_back_in(content: RawContent) -> list[str]:
    """Return what of a model's content is its provider's alone: signatures, and thoughts that it wants back."""

    def texts(value: object, name: str = "") -> list[str]:
        if isinstance(value, dict):
            return [text for key, each in value.items() for text in texts(each, str(key))]
        if isinstance(value, list):
            return [text for each in value for text in texts(each, name)]
        signs = ("signature", "thought_signature", "encrypted_content", "data")
        return [value] if isinstance(value, str) and name in signs else []

    parts = msgspec.json.decode(content)["parts"]
    thoughts = [part["text"] for part in parts if "field" in part.get("wire", {})]
    signatures = [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]
    return [*thoughts, *signatures, *(text for part in parts for text in texts(part.get("wire")))]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_provider_wants_back_outlives_compaction(kind: str) -> None:
    """The fakes refuse a call that comes back without what came with it."""
    history = History.reopened([user_content("hi " * 4000)])
    with fake_of(kind) as fake:
        async with opened(model_of(kind, fake)) as model:
            for number in range(4):
                if number == 3:
                    summing_up = Compacting(ScriptedModel(["What was done."]), history, lambda _usage: None)
                    fill = ContextFill(history, lambda: 0)
                    done = await Compaction(summing_up, fill, WindowLimits(400), lambda _kept: ()).run(summarises=True)
                    assert (done.problem, done.summarised > 0) == ("", True)
                finished, *_ = await answer(model, history.contents)
                if finished.calls:
                    history.add_model(finished)
                history.answer({each.call_id: ToolResult("found") for each in finished.calls})
        assert fake.problems == []
        sent = msgspec.json.encode(fake.requests[-1].body)
    assert b"What was done." in sent
    given = given_back_in(history.contents[-2])
    assert given
    assert all(msgspec.json.encode(each)[1:-1] in sent for each in given)


@pytest.mark.parametrize("before", KINDS)
@pytest.mark.parametrize("after", ["messages", "messages-budget", "responses", "reasoning_content", "gemini"])
async def test_another_provider_goes_on_with_what_one_has_said(before: str, after: str) -> None:
    history: list[RawContent] = [user_content("hi")]
    with fake_of(before) as fake:
        async with opened(model_of(before, fake)) as model:
            finished, *_ = await answer(model, history)
            inside = function_response_content(
                [
                    (each.call_id, each.name, ToolResult([Text("a"), Blob("image/png", b"png")]))
                    for each in finished.calls
                ],
                media_inside=model.takes_media_in_answers,
            )
            history += [finished.content, inside]
    with fake_of(after, THINKING[1:]) as fake:
        async with opened(model_of(after, fake)) as model:
            finished, *_ = await answer(model, history)
            history += [finished.content, results_of(finished)]
            await answer(model, history)
        assert fake.problems == []


@pytest.mark.parametrize("kind", ["messages", "responses"])
async def test_an_answer_in_one_piece_is_read_as_a_streamed_one(kind: str) -> None:
    with fake_of(kind, [THINKING[0]] * 2) as fake:
        async with opened(model_of(kind, fake)) as streamed, opened(model_of(kind, fake, streams=False)) as whole:
            one, text, *_ = await answer(streamed, [user_content("hi")])
            other, same, *_ = await answer(whole, [user_content("hi")])
    assert text == same == "Looking."
    assert [each.args for each in one.calls] == [each.args for each in other.calls]


@pytest.mark.parametrize(
    ("kind", "fault", "expected"),
    [
        ("messages", "e401", ModelErrorKind.AUTH),
        ("messages", "e404", ModelErrorKind.NOT_FOUND),
        ("messages", "e429", ModelErrorKind.RATE_LIMIT),
        ("messages", "e529", ModelErrorKind.OVERLOADED),
        ("messages", "e400-too-long", ModelErrorKind.TOO_LONG),
        ("messages", "error-event", ModelErrorKind.OVERLOADED),
        ("messages", "no-finish", ModelErrorKind.INCOMPLETE),
        ("messages", "cut", ModelErrorKind.INCOMPLETE),
        ("responses", "e401", ModelErrorKind.AUTH),
        ("responses", "e404", ModelErrorKind.NOT_FOUND),
        ("responses", "e429", ModelErrorKind.RATE_LIMIT),
        ("responses", "e429-quota", ModelErrorKind.QUOTA),
        ("responses", "e503", ModelErrorKind.OVERLOADED),
        ("responses", "e400-too-long", ModelErrorKind.TOO_LONG),
        ("responses", "error-event", ModelErrorKind.OVERLOADED),
        ("responses", "no-finish", ModelErrorKind.INCOMPLETE),
        ("responses", "cut", ModelErrorKind.INCOMPLETE),
    ],
)
async def test_a_fault_is_told_as_what_it_is(kind: str, fault: str, expected: ModelErrorKind) -> None:
    with fake_of(kind, [Turn(text="part", fault=fault)] * 6) as fake:
        async with opened(model_of(kind, fake)) as model:
            with pytest.raises(ModelError) as caught:
                await answer(model, [user_content("hi")])
    assert caught.value.kind is expected


@pytest.mark.parametrize(
    ("kind", "fault"), [("messages", "e400-max-tokens"), ("responses", "e400-summary"), ("responses", "e400-encrypted")]
)
async def test_what_a_server_does_not_take_is_left_out_and_not_tried_again(kind: str, fault: str) -> None:
    with fake_of(kind, [Turn(fault=fault), Turn(text="one"), Turn(text="two")]) as fake:
        async with opened(model_of(kind, fake)) as model:
            assert (await answer(model, [user_content("hi")]))[1] == "one"
            assert (await answer(model, [user_content("hi")]))[1] == "two"
        assert len(fake.requests) == 3


async def test_thoughts_that_claudes_server_cannot_verify_stay_behind() -> None:
    turns = [THINKING[0], Turn(fault="e400-signature"), Turn(text="one"), Turn(text="two")]
    with FakeMessages(turns) as fake:
        async with opened(model_of("messages", fake)) as model:
            first = (await answer(model, [user_content("hi")]))[0]
            history = [user_content("hi"), first.content, results_of(first)]
            assert [(await answer(model, history))[1] for _ in range(2)] == ["one", "two"]
        sent = [[block["type"] for block in request.messages[1]["content"]] for request in fake.requests[1:]]
    whole = ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]
    assert sent == [whole, whole[2:], whole[2:]]


@pytest.mark.parametrize(("kind", "limit"), [("messages", "max_tokens"), ("responses", "max_output_tokens")])
async def test_options_are_said_in_the_wires_words(kind: str, limit: str) -> None:
    options = ModelOptions(max_output_tokens=99, effort="high", headers={"x-mine": "1"}, body={"metadata": {"a": "b"}})
    with fake_of(kind, [Turn(text="ok")]) as fake:
        assert isinstance(fake, FakeMessages | FakeResponses)
        wire = Anthropic if kind == "messages" else Responses
        name = "claude-opus-5" if kind == "messages" else "gpt-5.4"
        async with opened(wire(name, "k", fake.base_url, options)) as model:
            await answer(model, [user_content("hi")])
        request = fake.requests[0]
    assert (request.body[limit], request.headers["x-mine"], request.body["metadata"]) == (99, "1", {"a": "b"})
    assert "high" in msgspec.json.encode(request.body).decode()


async def test_what_requests_have_in_common_is_marked_for_the_cache() -> None:
    with FakeMessages(["ok"]) as fake:
        async with opened(model_of("messages", fake)) as model:
            await answer(model, [user_content("hi")])
        body = fake.requests[0].body
    assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


async def test_media_stand_in_the_answers_of_calls() -> None:
    media = ToolResult([Text("see"), Blob("image/png", b"png"), Blob("application/pdf", b"pdf")])
    history: list[RawContent] = [user_content("hi")]
    for kind, names in (("messages", {"image", "document"}), ("responses", {"input_image", "input_file"})):
        with fake_of(kind, [THINKING[1], Turn(text="ok")]) as fake:
            async with opened(model_of(kind, fake)) as model:
                finished, *_ = await answer(model, history)
                call_id, name = finished.calls[0].call_id, finished.calls[0].name
                given = function_response_content([(call_id, name, media)], media_inside=True)
                await answer(model, [*history, finished.content, given])
            assert isinstance(fake, FakeMessages | FakeResponses)
            sent = msgspec.json.encode(fake.requests[1].body).decode()
            assert all(f'"type":"{word}"' in sent for word in names)
            assert fake.problems == []


async def test_a_withheld_answer_of_claude_is_a_refusal() -> None:
    with FakeMessages([Turn(text="x", finish="SAFETY")]) as fake:
        async with opened(model_of("messages", fake)) as model:
            with pytest.raises(ModelError, match="refused") as caught:
                await answer(model, [user_content("hi")])
    assert caught.value.kind is ModelErrorKind.SAFETY


async def test_no_key_is_in_a_message_or_a_repr() -> None:
    with FakeMessages(["hi"], key="right") as fake:
        model = Anthropic("claude-sonnet-5", "sk-ant-12345678", fake.base_url)
        with pytest.raises(ModelError) as caught:
            await answer(model, [user_content("hi")])
        await model.aclose()
    assert "sk-ant-12345678" not in f"{caught.value.message} {model!r}"
    assert isinstance(model, HttpModel)


@pytest.mark.filterwarnings("ignore")
async def test_anthropics_sdk_reads_the_same_and_takes_the_same_history() -> None:
    import anthropic

    with FakeMessages(THINKING[:2] * 2) as fake:
        async with opened(model_of("messages", fake)) as model:
            ours, text, thoughts, usage = await answer(model, [user_content("hi")])
            await answer(model, [user_content("hi"), ours.content, results_of(ours)])
        body: dict[str, Any] = {key: value for key, value in fake.requests[1].body.items() if key != "stream"}
        async with anthropic.AsyncAnthropic(api_key="k", base_url=fake.base_url) as client:
            async with client.messages.stream(**{**body, "messages": body["messages"][:1]}) as stream:
                theirs = await stream.get_final_message()
            async with client.messages.stream(**body) as stream:
                await stream.get_final_message()
        assert fake.problems == []
        assert len({request.headers["anthropic-version"] for request in fake.requests}) == 1
    blocks = {block.type: block for block in theirs.content}
    assert getattr(blocks["text"], "text", "") == text
    assert getattr(blocks["thinking"], "thinking", "") == thoughts
    assert [block.input for block in theirs.content if block.type == "tool_use"] == [each.args for each in ours.calls]
    assert theirs.usage.cache_read_input_tokens == usage.cached
    assert theirs.usage.output_tokens == usage.output + usage.thoughts


@pytest.mark.filterwarnings("ignore")
async def test_openais_sdk_reads_the_same_and_takes_the_same_history() -> None:
    import openai

    with FakeResponses(THINKING[:2] * 2) as fake:
        async with opened(model_of("responses", fake)) as model:
            ours, text, thoughts, usage = await answer(model, [user_content("hi")])
            await answer(model, [user_content("hi"), ours.content, results_of(ours)])
        body: dict[str, Any] = {key: value for key, value in fake.requests[1].body.items() if key != "stream"}
        async with (
            openai.AsyncOpenAI(api_key="k", base_url=fake.base_url) as client,
            client.responses.stream(**{**body, "input": body["input"][:1]}) as stream,
        ):
            theirs = await stream.get_final_response()
        assert fake.problems == []
    assert theirs.output_text == text
    assert [item.type for item in theirs.output] == ["reasoning", "message", "function_call", "function_call"]
    assert "".join(part.text for part in getattr(theirs.output[0], "summary", ())) == thoughts
    assert theirs.usage
    assert (theirs.usage.input_tokens, theirs.usage.input_tokens_details.cached_tokens) == (usage.prompt, usage.cached)
    assert theirs.usage.output_tokens == usage.output + usage.thoughts
