from collections.abc import Sequence

import msgspec
import pytest

from dogu.contract.content import Blob, Text
from dogu.contract.declaration import FunctionDeclaration
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.models.contents import function_response_content, user_content
from dogu.models.events import (
    Finished,
    FinishReason,
    FunctionCallEvent,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    Retrying,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.models.openai_compatible import Echo, OpenAICompatible, messages_of
from dogu.models.openai_errors import explain_refusal
from dogu.models.options import ModelOptions
from dogu.models.retry import RetryPolicy
from dogu.models.translation import HistoryContent
from dogu.models.transport_errors import HttpRefusal, unsendable
from dogu.testing.fake_openai import FakeOpenAI, OpenAITurn
from dogu.testing.turn import Call, Turn, call

pytestmark = pytest.mark.anyio
HISTORY = [user_content("hi")]
QUICK = ModelOptions(retry=RetryPolicy(tries=4, first_delay_s=0.01, longest_delay_s=0.02))
GLOB = FunctionDeclaration("glob", "Finds files.", {"type": "object", "properties": {"pattern": {"type": "string"}}})
CALLS = [call("glob", pattern="**/*.py"), call("glob", pattern="日本")]


async def ask(
    turns: Sequence[OpenAITurn],
    *,
    style: str = "openai",
    options: ModelOptions = QUICK,
    history: Sequence[bytes] = HISTORY,
    seen: list[ModelEvent] | None = None,
) -> list[ModelEvent]:
    seen = [] if seen is None else seen
    with FakeOpenAI(turns, style=style) as fake:
        model = OpenAICompatible("qwen", fake.base_url, options=options)
        try:
            async with model.stream("Be brief.", history, [GLOB]) as events:
                async for event in events:
                    seen.append(event)
        finally:
            await model.aclose()
    return seen


def finished(events: list[ModelEvent]) -> Finished:
    assert isinstance(events[-1], Finished)
    return events[-1]


@pytest.mark.parametrize("streams", [True, False])
async def test_thoughts_text_and_counts_come_as_events(streams: bool) -> None:
    turn = Turn(thought="Hm, well." if streams else "", text="Hello, 世界", pieces=3)
    events = await ask([turn], options=ModelOptions(streams=streams))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello, 世界"
    assert "".join(event.text for event in events if isinstance(event, ThoughtDelta)) == turn.thought
    thoughts = 2 if streams else 0
    assert events[-2] == Usage(prompt=10, output=2, thoughts=thoughts, total=12 + thoughts)
    assert finished(events).reason is FinishReason.STOP


@pytest.mark.parametrize("style", ["openai", "ollama", "object", "no-index", "index-0"])
async def test_calls_are_read_however_a_server_writes_them(style: str) -> None:
    events = await ask([Turn(text="Looking.", calls=CALLS)], style=style)
    calls = [event for event in events if isinstance(event, FunctionCallEvent)]
    assert [item.args for item in calls] == [{"pattern": "**/*.py"}, {"pattern": "日本"}]
    assert len({item.call_id for item in calls}) == 2
    parts = msgspec.json.decode(finished(events).content)["parts"]
    assert parts[0] == {"text": "Looking."}
    assert [part["functionCall"]["id"] for part in parts[1:]] == [item.call_id for item in calls]


@pytest.mark.parametrize("style", ["openai", "object"])
async def test_a_session_with_calls_is_sent_back_as_the_server_wants_it(style: str) -> None:
    with FakeOpenAI([Turn(calls=CALLS), lambda request: " ".join(request.answers)], style=style) as fake:
        model = OpenAICompatible("qwen", fake.base_url + "/chat/completions", "k")
        async with model.stream("Be brief.", HISTORY, [GLOB]) as events:
            first = finished([event async for event in events])
        failed = ToolResult.failed(ToolError(ErrorKind.NOT_FOUND, "gone"))
        results = zip(first.calls, (ToolResult("a.py"), failed), strict=True)
        answer = function_response_content([(item.call_id, item.name, result) for item, result in results])
        async with model.stream("Be brief.", [*HISTORY, first.content, answer], [GLOB]) as events:
            texts = [event.text async for event in events if isinstance(event, TextDelta)]
        await model.aclose()
        assert texts == ["a.py Error: gone"]
        assert fake.problems == []
        assert fake.requests[0].headers["authorization"] == "Bearer k"
        assert fake.requests[0].body["tools"][0]["function"]["parameters"] == GLOB.parameters
        assert [message["role"] for message in fake.requests[1].messages] == [
            "system",
            "user",
            "assistant",
            "tool",
            "tool",
        ]


def test_media_become_pieces_of_a_message_after_the_answers() -> None:
    result = ToolResult([Text("see"), Blob("image/png", b"png"), Blob("application/pdf", b"12345")])
    content = function_response_content([("1", "read_file", result)], media_inside=True)
    messages = messages_of(msgspec.json.decode(content, type=HistoryContent), "here", Echo())
    assert messages[0]["role"] == "tool"
    assert messages[1] == {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
            {
                "type": "file",
                "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,MTIzNDU="},
            },
        ],
    }


def test_thoughts_of_other_servers_stay_behind() -> None:
    content = b"""{"role":"model","parts":[{"text":"hm","thought":true,"wire":{"by":"there","field":"reasoning"}},
        {"text":"hi"}]}"""
    decoded = msgspec.json.decode(content, type=HistoryContent)
    assert messages_of(decoded, "here", Echo()) == [{"role": "assistant", "content": "hi"}]
    assert messages_of(decoded, "there", Echo()) == [{"role": "assistant", "content": "hi", "reasoning": "hm"}]


@pytest.mark.parametrize(
    ("fault", "kind", "word", "tries"),
    [
        ("e401", ModelErrorKind.AUTH, "OPENAI_API_KEY", 1),
        ("e404", ModelErrorKind.NOT_FOUND, "ollama pull qwen", 1),
        ("e429", ModelErrorKind.RATE_LIMIT, "Rate limit reached", 4),
        ("e429-quota", ModelErrorKind.QUOTA, "used up", 1),
        ("e503", ModelErrorKind.OVERLOADED, "Loading model", 4),
        ("e400-too-long", ModelErrorKind.TOO_LONG, "longer", 1),
        ("e400-no-tools", ModelErrorKind.BAD_REQUEST, "can't call tools", 1),
        ("cut", ModelErrorKind.INCOMPLETE, "cut off", 4),
        ("error-event", ModelErrorKind.OVERLOADED, "out of memory", 4),
    ],
)
async def test_a_fault_is_retried_where_that_helps_and_explained(
    fault: str, kind: ModelErrorKind, word: str, tries: int
) -> None:
    seen: list[ModelEvent] = []
    with pytest.raises(ModelError) as caught:
        await ask([Turn(text="part", calls=CALLS, fault=fault)] * tries, seen=seen)
    assert caught.value.kind is kind
    assert word in caught.value.message
    assert len([event for event in seen if isinstance(event, Retrying)]) == tries - 1
    assert not [event for event in seen if isinstance(event, FunctionCallEvent)]


async def test_a_server_that_never_says_that_it_finished_is_asked_twice_and_believed() -> None:
    events = await ask([Turn(text="part", fault="no-finish")] * 2)
    assert len([event for event in events if isinstance(event, Retrying)]) == 1
    assert finished(events).reason is FinishReason.STOP


async def test_an_end_that_is_only_marked_as_done_is_an_end() -> None:
    assert finished(await ask([Turn(text="hi", fault="done-only")])).reason is FinishReason.STOP


async def test_an_empty_answer_is_retried() -> None:
    events = await ask(["", "hello"])
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["hello"]


async def test_a_call_cut_by_the_token_limit_is_a_problem_for_the_model() -> None:
    half = {
        "choices": [{"delta": {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f", "arguments": '{"a'}}]}}]
    }
    end = {"choices": [{"delta": {}, "finish_reason": "length"}]}
    from dogu.models.openai_answer import OpenAIAnswer

    answer = OpenAIAnswer()
    answer.absorb([msgspec.json.encode(half), msgspec.json.encode(end), b"[DONE]"])
    call_event = answer.finish()[0]
    assert isinstance(call_event, FunctionCallEvent)
    assert (call_event.args, "limit of output tokens" in call_event.problem) == (None, True)


async def test_a_withheld_answer_is_explained() -> None:
    with pytest.raises(ModelError, match="content filter") as caught:
        await ask([Turn(text="x", finish="SAFETY")])
    assert caught.value.kind is ModelErrorKind.SAFETY


async def test_the_key_is_in_no_message_and_no_repr() -> None:
    with FakeOpenAI(["hi"], key="right") as fake:
        model = OpenAICompatible("qwen", fake.base_url, "sk-x-12345", QUICK)
        with pytest.raises(ModelError) as caught:
            async with model.stream("", HISTORY, []) as events:
                await anext(aiter(events))
        await model.aclose()
    assert "sk-x-12345" not in f"{caught.value.message} {model!r}"


async def test_a_model_without_a_name_is_said() -> None:
    with pytest.raises(ModelError, match="No model is named"):
        async with OpenAICompatible("").stream("", HISTORY, []) as events:
            await anext(aiter(events))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "turn",
    [Turn(text="Hello, 世界", pieces=4), Turn(text="Looking.", calls=[*CALLS, Call("glob", {}, id="mine")])],
    ids=["text", "calls"],
)
async def test_the_official_sdk_reads_the_same_answer(turn: Turn) -> None:
    import openai

    with FakeOpenAI([turn]) as fake:
        async with openai.AsyncOpenAI(api_key="k", base_url=fake.base_url) as client:
            text, calls, usage = "", [], None
            stream = await client.chat.completions.create(
                model="qwen",
                messages=[{"role": "user", "content": "hi"}],
                stream=True,
                stream_options={"include_usage": True},
            )
            arguments: dict[int, str] = {}
            async for chunk in stream:
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    for piece in choice.delta.tool_calls or []:
                        arguments[piece.index] = arguments.get(piece.index, "") + (
                            (piece.function and piece.function.arguments) or ""
                        )
            calls = [msgspec.json.decode(value) for value in arguments.values()]
    events = await ask([turn])
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == text
    assert [event.args for event in events if isinstance(event, FunctionCallEvent)] == calls
    assert usage
    assert events[-2] == Usage(prompt=usage.prompt_tokens, output=usage.completion_tokens, total=usage.total_tokens)


async def test_a_missing_model_is_looked_for_where_it_may_be() -> None:
    refusal = HttpRefusal(404, {}, b"{}")
    assert "ollama" not in explain_refusal(refusal, "m").message
    assert "ollama pull m" in explain_refusal(refusal, "m", is_chat=True).message


async def test_a_socks_proxy_without_its_package_names_the_package() -> None:
    error = unsendable(ImportError("Using SOCKS proxy, but the 'socksio' package is not installed."), "http://x/")
    assert "socksio" in error.message
    assert "httpx" not in error.message
