"""The official SDK and our client against the same server: they must read the same answer out of it."""

from typing import Any

import msgspec
import pytest

from dogu.models.contents import user_content
from dogu.models.events import Finished, FunctionCallEvent, TextDelta, ThoughtDelta, Usage
from dogu.models.gemini import Gemini, KeyAccess
from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]

TURNS = {
    "text": Turn(text="Hello, 世界! 🎉", pieces=4),
    "thoughts": Turn(thought="Let me think. Longer.", text="Hello", pieces=3),
    "calls": Turn(
        calls=[call("glob", pattern="**/*.py"), call("read_file", path="a", offset=3, deep={"x": [1, None]})]
    ),
    "text and calls": Turn(text="Looking.", calls=[call("glob", pattern="*")]),
    "length": Turn(text="cut he", finish="MAX_TOKENS"),
}


async def by_us(base_url: str, model_name: str) -> dict[str, Any]:
    model = Gemini(model_name, KeyAccess("k", base_url))
    seen: dict[str, Any] = {"text": "", "thoughts": "", "calls": []}
    async with model.stream("Be brief.", [user_content("hi")], []) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                seen["text"] += event.text
            elif isinstance(event, ThoughtDelta):
                seen["thoughts"] += event.text
            elif isinstance(event, FunctionCallEvent):
                seen["calls"].append((event.name, event.args))
            elif isinstance(event, Usage):
                seen["usage"] = (event.prompt, event.output, event.thoughts, event.total)
            elif isinstance(event, Finished):
                seen["finish"] = {"stop": "STOP", "length": "MAX_TOKENS"}[event.reason]
    await model.aclose()
    return seen


async def by_sdk(base_url: str, model_name: str) -> dict[str, Any]:
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=base_url))
    config = types.GenerateContentConfig(system_instruction="Be brief.")
    seen: dict[str, Any] = {"text": "", "thoughts": "", "calls": []}
    async for chunk in await client.aio.models.generate_content_stream(model=model_name, contents="hi", config=config):
        counts = chunk.usage_metadata
        if counts:
            numbers = (counts.prompt_token_count, counts.candidates_token_count, counts.thoughts_token_count)
            seen["usage"] = (*numbers, counts.total_token_count)
        candidate = (chunk.candidates or [])[0]
        if candidate.finish_reason:
            seen["finish"] = candidate.finish_reason.value
        for part in (candidate.content.parts if candidate.content else None) or []:
            if part.text:
                seen["thoughts" if part.thought else "text"] += part.text
            if part.function_call:
                seen["calls"].append((part.function_call.name, part.function_call.args))
    await client.aio.aclose()
    return seen


@pytest.mark.parametrize("model_name", ["gemini-2.5-flash", "gemini-3-pro-preview"])
@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
async def test_both_read_the_same_answer(turn: Turn, model_name: str) -> None:
    with FakeGemini([turn, turn]) as fake:
        theirs = await by_sdk(fake.base_url, model_name)
        ours = await by_us(fake.base_url, model_name)
        assert fake.problems == []
    assert ours == theirs


@pytest.mark.parametrize("fault", ["split-utf8", "lf-only", "multi-data-lines", "line-separator", "no-final-blank"])
async def test_both_read_the_same_odd_stream(fault: str) -> None:
    with FakeGemini() as fake:
        theirs, ours = await by_sdk(fake.base_url, fault), await by_us(fake.base_url, fault)
    assert (ours["text"], ours["finish"]) == (theirs["text"], theirs["finish"])


async def test_the_sdk_goes_through_a_whole_session_with_its_own_function_calling() -> None:
    from google import genai
    from google.genai import types

    def weather(city: str) -> str:
        """Tell the weather."""
        return f"rain in {city}"

    def answer(request: GeminiRequest) -> Turn:
        if not request.responses:
            return Turn(calls=[call("weather", city="Kyoto")])
        return Turn(text=str(request.responses[0]["response"]))

    with FakeGemini(answer) as fake:
        client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=fake.base_url))
        config = types.GenerateContentConfig(tools=[weather])
        response = await client.aio.models.generate_content(model="gemini-2.5-flash", contents="hi", config=config)
        await client.aio.aclose()
        assert fake.problems == []
    assert "rain in Kyoto" in (response.text or "")


async def test_the_sdk_counts_tokens_there_too() -> None:
    from google import genai
    from google.genai import types

    with FakeGemini() as fake:
        client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=fake.base_url))
        assert (await client.aio.models.count_tokens(model="gemini-2.5-flash", contents="hi")).total_tokens
        await client.aio.aclose()
        assert fake.problems == []


async def test_the_history_that_we_send_is_what_the_sdk_would_send() -> None:
    from google import genai
    from google.genai import types

    from dogu.contract.content import Blob, Text
    from dogu.contract.result import ToolResult
    from dogu.models.contents import function_response_content

    ours = [
        user_content([Text("look"), Blob("image/png", b"\x89PNG\xff\xfe")]),
        msgspec.json.encode({"role": "model", "parts": [{"functionCall": {"id": "1", "name": "f", "args": {"a": 1}}}]}),
        function_response_content([("1", "f", ToolResult("fine"))]),
    ]
    theirs: list[Any] = [
        types.Content(
            role="user",
            parts=[types.Part(text="look"), types.Part.from_bytes(data=b"\x89PNG\xff\xfe", mime_type="image/png")],
        ),
        types.Content(
            role="model", parts=[types.Part(function_call=types.FunctionCall(id="1", name="f", args={"a": 1}))]
        ),
        types.Content(
            role="user",
            parts=[types.Part(function_response=types.FunctionResponse(id="1", name="f", response={"output": "fine"}))],
        ),
    ]
    with FakeGemini(["a", "b"]) as fake:
        client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=fake.base_url))
        await client.aio.models.generate_content(model="gemini-2.5-flash", contents=theirs)
        await client.aio.aclose()
        model = Gemini("gemini-2.5-flash", KeyAccess("k", fake.base_url))
        async with model.stream("", ours, []) as events:
            assert [event async for event in events]
        await model.aclose()
        sent = [_standard(request.contents) for request in fake.requests]
    assert sent[0] == sent[1]


def _standard(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both base64 alphabets are the wire's."""
    text = msgspec.json.encode(contents).decode().replace("-", "+").replace("_", "/")
    return msgspec.json.decode(text)
