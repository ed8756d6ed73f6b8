"""Gemini's client on a healthy wire."""

from collections.abc import Sequence
from typing import Any

import anyio
import msgspec
import pytest

from cancelling import cancelled_when
from dogu.contract.content import Blob
from dogu.contract.declaration import FunctionDeclaration
from dogu.contract.result import ToolResult
from dogu.models.contents import Kept, function_response_content, user_content
from dogu.models.events import (
    Finished,
    FunctionCallEvent,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.models.gemini import Gemini, GeminiAnswer, KeyAccess
from dogu.models.gemini_wire import request_body
from dogu.models.options import ModelOptions
from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call

pytestmark = pytest.mark.anyio
HISTORY = [user_content("hi")]
GLOB = FunctionDeclaration("glob", "Finds files.", {"type": "object", "properties": {"pattern": {"type": "string"}}})
NOW = FunctionDeclaration("now", "Tells the time.", {"type": "object", "properties": {}})


async def ask(
    model: Gemini, history: Sequence[bytes] = HISTORY, tools: Sequence[FunctionDeclaration] = ()
) -> list[ModelEvent]:
    async with model.stream("Be brief.", history, tools) as events:
        return [event async for event in events]


def finished(events: list[ModelEvent]) -> Finished:
    assert isinstance(events[-1], Finished)
    return events[-1]


@pytest.mark.requirement("api.flow.1_request")
async def test_a_request_holds_the_system_instruction_the_history_and_the_declarations() -> None:
    with FakeGemini(["hello"], key="k") as fake:
        model = Gemini("gemini-2.5-flash", KeyAccess("k", fake.base_url), ModelOptions(temperature=0))
        await ask(model, tools=[GLOB, NOW])
        await model.aclose()
        assert msgspec.json.decode(fake.requests[0].raw) == {
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [
                {
                    "functionDeclarations": [
                        {"name": "glob", "description": "Finds files.", "parametersJsonSchema": GLOB.parameters},
                        {"name": "now", "description": "Tells the time."},
                    ]
                }
            ],
            "generationConfig": {"temperature": 0, "thinkingConfig": {"includeThoughts": True}},
        }
        assert fake.requests[0].version == "v1beta"
        assert "k" not in fake.requests[0].raw.decode().split('"')


def test_contents_are_joined_byte_for_byte() -> None:
    odd = b'{"role":"model","parts":[{"hologram":1.50,  "x":"\\u00e9"}]}'
    assert request_body("", Kept(bytes).joined([odd, odd]), {}) == b'{"contents":[' + odd + b"," + odd + b"]}"


@pytest.mark.requirement("api.flow.2_received")
async def test_thoughts_text_calls_and_counts_come_as_events() -> None:
    turn = Turn(thought="Hm, let me see.", text="Looking.", calls=[call("glob", pattern="*"), call("now")], pieces=2)
    with FakeGemini([turn]) as fake:
        model = Gemini("gemini-2.5-flash", KeyAccess("k", fake.base_url))
        events = await ask(model, tools=[GLOB, NOW])
        await model.aclose()
    assert "".join(event.text for event in events if isinstance(event, ThoughtDelta)) == "Hm, let me see."
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Looking."
    calls = [event for event in events if isinstance(event, FunctionCallEvent)]
    assert [(item.name, item.args) for item in calls] == [("glob", {"pattern": "*"}), ("now", {})]
    assert events[-2] == Usage(prompt=10, output=2, thoughts=3, total=15)
    parts = msgspec.json.decode(finished(events).content)["parts"]
    assert parts[:2] == [{"text": "Hm, let me see.", "thought": True}, {"text": "Looking."}]
    assert [part["functionCall"]["id"] for part in parts[2:]] == [item.call_id for item in calls]


async def test_a_thought_signature_stays_on_its_part_through_the_next_request() -> None:
    with FakeGemini([Turn(text="Looking.", calls=[call("glob", pattern="*")], pieces=3), "Done."]) as fake:
        model = Gemini("gemini-3-pro", KeyAccess("k", fake.base_url))
        first = finished(await ask(model, tools=[GLOB]))
        assert model.takes_media_in_answers
        image = ToolResult([Blob("image/png", b"png")])
        answer = function_response_content([(first.calls[0].call_id, "glob", image)], media_inside=True)
        last = finished(await ask(model, [*HISTORY, first.content, answer], [GLOB]))
        await model.aclose()
        assert fake.problems == []
        assert b"thoughtSignature" in first.content
        assert first.content in fake.requests[1].raw
    assert msgspec.json.decode(last.content)["parts"] == [
        {"text": "Done."},
        {"text": "", "thoughtSignature": "c2lnbmVkIHRleHQ="},
    ]


async def test_a_signed_piece_of_text_is_not_merged_with_its_neighbours() -> None:
    signed: list[dict[str, Any]] = [{"text": "a"}, {"text": "b", "thoughtSignature": "cw=="}, {"text": "c"}]
    with FakeGemini([Turn(parts=signed)]) as fake:
        model = Gemini("gemini-2.5-flash", KeyAccess("k", fake.base_url))
        events = await ask(model)
        await model.aclose()
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "abc"
    assert msgspec.json.decode(finished(events).content)["parts"] == signed


async def test_a_call_that_came_unsigned_is_taken_back_by_a_model_that_wants_signatures() -> None:
    unsigned: list[dict[str, Any]] = [
        {"functionCall": {"id": str(number), "name": "now", "args": {}}} for number in (1, 2)
    ]
    with FakeGemini([Turn(fault="args-missing"), "Done."]) as fake:
        model = Gemini("gemini-3-pro", KeyAccess("k", fake.base_url))
        first = finished(await ask(model))
        answer = function_response_content([(item.call_id, item.name, ToolResult("x")) for item in first.calls])
        await ask(model, [*HISTORY, first.content, answer])
        await model.aclose()
        assert fake.problems == []
    old = GeminiAnswer()
    old.absorb([msgspec.json.encode({"candidates": [{"content": {"parts": unsigned}, "finishReason": "STOP"}]})])
    assert msgspec.json.decode(finished(old.finish()).content)["parts"] == unsigned


async def test_an_answer_in_one_piece_gives_the_same_events() -> None:
    turn = Turn(thought="Hm.", text="Looking.", calls=[call("now")])
    with FakeGemini([turn, turn]) as fake:
        whole = Gemini("gemini-2.5-flash", KeyAccess("k", fake.base_url), ModelOptions(streams=False))
        streamed = Gemini("gemini-2.5-flash", KeyAccess("k", fake.base_url))
        first, second = await ask(whole), await ask(streamed)
        await whole.aclose()
        await streamed.aclose()
        assert [request.method for request in fake.requests] == ["generateContent", "streamGenerateContent"]
    assert [type(event) for event in first] == [type(event) for event in second]
    assert [event for event in first if isinstance(event, TextDelta | Usage)] == [
        event for event in second if isinstance(event, TextDelta | Usage)
    ]


async def test_one_connection_serves_the_session() -> None:
    with FakeGemini(["a", "b", "c"]) as fake:
        model = Gemini("gemini-2.0-flash", KeyAccess("k", fake.base_url))
        for _ in range(3):
            await ask(model)
        await model.aclose()
        assert fake.server.connections_made == 1


async def test_leaving_in_mid_stream_closes_the_connection() -> None:
    with FakeGemini() as fake:
        model = Gemini("stall-mid-stream", KeyAccess("k", fake.base_url))
        async with model.stream("", HISTORY, []) as events:
            async for event in events:
                assert event == TextDelta("hel")
                break
        await closed(fake)
        await cancelled_when(lambda: fake.server.connections_open, lambda: ask(model))
        await closed(fake)
        await model.aclose()


async def closed(fake: FakeGemini) -> None:
    with anyio.fail_after(30):
        while fake.server.connections_open:
            await anyio.lowlevel.checkpoint()


async def test_tokens_are_counted_for_the_whole_request() -> None:
    with FakeGemini(key="k") as fake:
        model = Gemini("gemini-2.5-flash", KeyAccess("k", fake.base_url))
        assert await model.count_tokens("Be brief.", HISTORY, [GLOB]) > 10
        assert fake.requests[0].system == "Be brief."
        assert fake.requests[0].tool_names == ["glob"]
        await model.aclose()
        refused = Gemini("gemini-2.5-flash", KeyAccess("wrong", fake.base_url))
        with pytest.raises(ModelError) as caught:
            await refused.count_tokens("", HISTORY, [])
        assert caught.value.kind is ModelErrorKind.AUTH
        await refused.aclose()


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "http://[", "ftp://127.0.0.1"])
async def test_an_address_without_a_server_is_told(address: str) -> None:
    model = Gemini("gemini-2.5-flash", KeyAccess("k", address))
    with pytest.raises(ModelError) as caught:
        await model.count_tokens("", HISTORY, [])
    assert caught.value.kind in (ModelErrorKind.NETWORK, ModelErrorKind.BAD_REQUEST)
    await model.aclose()


@pytest.mark.parametrize(
    ("name", "inside"), [("gemini-2.5-pro", False), ("gemini-3-pro-preview", True), ("gemma-3-27b-it", False)]
)
def test_media_stand_in_the_answer_for_gemini_3_only(name: str, inside: bool) -> None:
    assert Gemini(name, KeyAccess("k")).takes_media_in_answers is inside


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("gemini-2.5-pro", "models/gemini-2.5-pro"),
        ("models/gemini-2.5-pro", "models/gemini-2.5-pro"),
        ("tunedModels/mine", "tunedModels/mine"),
        ("a b?c", "models/a%20b%3Fc"),
    ],
)
def test_a_models_name_is_made_safe_for_its_address(name: str, path: str) -> None:
    url = KeyAccess("k").url(Gemini(name, KeyAccess("k")).name, "v1beta", "generateContent")
    assert url == f"https://generativelanguage.googleapis.com/v1beta/{path}:generateContent"
