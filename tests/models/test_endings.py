"""How answers end: what a server says of it on each wire, and what only looks like an end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import msgspec
import pytest

from dogu.models.anthropic import Anthropic, AnthropicAnswer
from dogu.models.contents import user_content
from dogu.models.events import Finished, FinishReason, ModelError, ModelErrorKind, ModelEvent, TextDelta, Usage
from dogu.models.gemini import GeminiAnswer
from dogu.models.http_model import Answer, HttpModel
from dogu.models.key import Key
from dogu.models.openai_answer import Habits, OpenAIAnswer
from dogu.models.openai_compatible import OpenAICompatible
from dogu.models.options import ModelOptions
from dogu.models.providers import Choice, named
from dogu.models.responses import ResponsesAnswer
from dogu.models.retry import RetryPolicy
from dogu.models.transport_errors import Timeouts
from dogu.testing.wire_server import Reply, WireRequest, WireServer

HISTORY = [user_content("hi")]
ONCE = ModelOptions(retry=RetryPolicy(tries=2, first_delay_s=0.01))


def chat(text: str, finish: str) -> Answer:
    answer = OpenAIAnswer()
    answer.absorb([msgspec.json.encode({"choices": [{"delta": {"content": text}, "finish_reason": finish}]})])
    return answer


def responses(text: str, finish: str) -> Answer:
    answer = ResponsesAnswer()
    item = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    reason = {"status": "incomplete", "incomplete_details": {"reason": finish}, "output": [item] if text else []}
    answer.absorb([msgspec.json.encode({"type": "response.incomplete", "response": reason})])
    return answer


def messages(text: str, finish: str) -> Answer:
    answer = AnthropicAnswer()
    blocks = [{"type": "text", "text": text}] if text else []
    answer.absorb([msgspec.json.encode({"type": "message", "content": blocks, "stop_reason": finish})])
    return answer


def gemini(text: str, finish: str) -> Answer:
    answer = GeminiAnswer()
    parts = [{"text": text}] if text else []
    answer.absorb([msgspec.json.encode({"candidates": [{"content": {"parts": parts}, "finishReason": finish}]})])
    return answer


WIRES = pytest.mark.parametrize("wire", [chat, responses, messages, gemini])
Wire = Callable[[str, str], Answer]


def finished(events: list[ModelEvent]) -> Finished:
    assert isinstance(events[-1], Finished)
    return events[-1]


@WIRES
@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length"])
def test_a_limit_of_tokens_is_one_in_any_wires_words(wire: Wire, finish: str) -> None:
    assert finished(wire("half", finish).finish()).reason is FinishReason.LENGTH


@WIRES
def test_a_limit_that_thoughts_used_up_is_an_end_of_its_own_and_not_tried_again(wire: Wire) -> None:
    end = finished(wire("", "length").finish())
    assert (end.reason, "thought until its limit" in end.note) == (FinishReason.LENGTH, True)


@WIRES
@pytest.mark.parametrize("finish", ["model_context_window_exceeded", "context_length_exceeded"])
def test_a_context_that_is_full_cuts_an_answer_and_is_too_long_for_none(wire: Wire, finish: str) -> None:
    end = finished(wire("half", finish).finish())
    assert (end.reason, "context is full" in end.note) == (FinishReason.LENGTH, True)
    with pytest.raises(ModelError, match="no room for an answer") as caught:
        wire("", finish).finish()
    assert (caught.value.kind, caught.value.is_retryable) == (ModelErrorKind.TOO_LONG, False)


@WIRES
@pytest.mark.parametrize("finish", ["error", "abort", "network_error", "insufficient_system_resource", "failed"])
def test_a_server_that_failed_gave_half_an_answer(wire: Wire, finish: str) -> None:
    with pytest.raises(ModelError) as caught:
        wire("half", finish).finish()
    assert (caught.value.kind, caught.value.is_retryable) == (ModelErrorKind.INCOMPLETE, True)


@WIRES
@pytest.mark.parametrize("finish", ["content_filter", "sensitive", "SAFETY", "refusal"])
def test_what_was_withheld_is_no_answer_and_not_tried_again(wire: Wire, finish: str) -> None:
    with pytest.raises(ModelError) as caught:
        wire("half", finish).finish()
    assert (caught.value.kind, caught.value.is_retryable) == (ModelErrorKind.SAFETY, False)


@pytest.mark.parametrize("wire", [chat, messages, gemini])
def test_an_unknown_reason_is_told(wire: Wire) -> None:
    end = finished(wire("whole", "weird").finish())
    assert (end.reason, "weird" in end.note) == (FinishReason.OTHER, True)


@WIRES
def test_white_space_is_no_answer(wire: Wire) -> None:
    with pytest.raises(ModelError, match="empty answer"):
        wire(" \n", "stop").finish()


def test_a_refusal_has_its_own_field_on_openais_wires() -> None:
    answer = OpenAIAnswer()
    answer.absorb([msgspec.json.encode({"choices": [{"delta": {"refusal": "I can't."}, "finish_reason": "stop"}]})])
    with pytest.raises(ModelError, match="I can't") as caught:
        answer.finish()
    assert caught.value.kind is ModelErrorKind.SAFETY


def test_a_failed_response_that_says_it_is_completed_failed() -> None:
    answer = ResponsesAnswer()
    answer.absorb([msgspec.json.encode({"type": "response.completed", "response": {"status": "failed"}})])
    with pytest.raises(ModelError):
        answer.finish()


def test_calls_that_are_told_and_not_sent_are_asked_for_once_more() -> None:
    habits = Habits()

    def read() -> list[ModelEvent]:
        answer = OpenAIAnswer(habits=habits)
        delta = {"content": "I will now read"}
        answer.absorb([msgspec.json.encode({"choices": [{"delta": delta, "finish_reason": "tool_calls"}]})])
        return answer.finish()

    with pytest.raises(ModelError, match="no call"):
        read()
    assert finished(read()).reason is FinishReason.STOP


def event(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def said(text: str, finish: str | None = None) -> bytes:
    return event({"choices": [{"delta": {"content": text}, "finish_reason": finish}]})


async def ask(
    serve: Callable[[WireRequest, Reply], None], options: ModelOptions = ONCE, wire: str = "chat"
) -> list[ModelEvent]:
    server = WireServer(serve)
    server.start()
    model: HttpModel = (
        OpenAICompatible("m", server.url, options=options)
        if wire == "chat"
        else Anthropic("claude-sonnet-5", "k", server.url, options)
    )
    try:
        async with model.stream("", HISTORY, []) as events:
            return [event async for event in events]
    finally:
        await model.aclose()
        server.close()


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.anyio
@pytest.mark.parametrize("bodies", [("I changed", "I changed one and now I will"), ("half", "a whole other")])
async def test_two_answers_that_just_stop_are_not_believed(bodies: tuple[str, str]) -> None:
    texts = iter(bodies)

    def serve(request: WireRequest, reply: Reply) -> None:
        reply.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        reply.raw(said(next(texts)))
        reply.cut()

    with pytest.raises(ModelError) as caught:
        await ask(serve)
    assert caught.value.kind is ModelErrorKind.INCOMPLETE


@pytest.mark.anyio
@pytest.mark.parametrize("keep_alive", [b": still here\n\n", event({"choices": []})])
async def test_after_the_end_of_an_answer_nothing_is_waited_for_long(keep_alive: bytes) -> None:
    def serve(request: WireRequest, reply: Reply) -> None:
        reply.begin()
        reply.chunk(said("hello", "stop"))
        for _ in range(200):
            reply.chunk(keep_alive)
            reply.wait(0.02)
        reply.end()

    options = ModelOptions(retry=RetryPolicy(tries=1), timeouts=Timeouts(idle_s=0.3))
    with anyio.fail_after(3):
        assert text_of(await ask(serve, options)) == "hello"


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/event-stream", "application/x-ndjson", ""])
@pytest.mark.parametrize("form", ["events", "whole", "lines"])
async def test_a_body_is_what_it_is_and_not_what_its_type_says(kind: str, form: str) -> None:
    whole: dict[str, Any] = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    bodies = {
        "events": b"\xef\xbb\xbf\n" + said("hi", "stop"),
        "whole": msgspec.json.encode(whole),
        "lines": b'{"choices":[{"delta":{"content":"hi"}}]}\n{"choices":[{"delta":{},"finish_reason":"stop"}]}\n',
    }
    assert text_of(await ask(lambda _, reply: reply.send(201, bodies[form], {"content-type": kind}))) == "hi"


@pytest.mark.anyio
async def test_a_refusal_whose_body_never_ends_is_that_refusal() -> None:
    def serve(request: WireRequest, reply: Reply) -> None:
        reply.raw(b'HTTP/1.1 401 No\r\nContent-Length: 500\r\n\r\n{"error":{"message":"bad key"}}')
        reply.stall()

    with pytest.raises(ModelError) as caught:
        await ask(serve, ModelOptions(retry=RetryPolicy(tries=1), timeouts=Timeouts(idle_s=0.2)))
    assert caught.value.kind is ModelErrorKind.AUTH


@pytest.mark.anyio
@pytest.mark.parametrize("provider", ["gemini", "openai_responses", "openai_compatible", "anthropic"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_takes_the_key_and_the_conversation_elsewhere(provider: str, status: int) -> None:
    elsewhere: list[WireRequest] = []
    other = WireServer(lambda request, _: elsewhere.append(request))
    first = WireServer(lambda _, reply: reply.send(status, b"", {"location": f"{other.url}/v1?key=x"}))
    row = named(provider)
    assert row is not None
    model = row.open(Choice(name="m", base_url=first.url, key=Key("secret"), options=ModelOptions()))
    other.start()
    first.start()
    try:
        with pytest.raises(ModelError, match=f"to {other.url}\\)") as caught:
            async with model.stream("", [user_content("hi")], []) as events:
                _ = [event async for event in events]
    finally:
        await model.aclose()
        first.close()
        other.close()
    assert (caught.value.kind, elsewhere) == (ModelErrorKind.BAD_REQUEST, [])


@pytest.mark.anyio
async def test_an_answer_that_was_paused_goes_on() -> None:
    bodies: list[list[dict[str, Any]]] = []
    texts = iter([("One, ", "pause_turn"), ("two.", "end_turn")])

    def serve(request: WireRequest, reply: Reply) -> None:
        bodies.append(msgspec.json.decode(request.body)["messages"])
        text, stop = next(texts)
        content = [{"type": "text", "text": text}]
        usage = {"input_tokens": 3, "output_tokens": 2}
        whole = {"type": "message", "content": content, "stop_reason": stop, "usage": usage}
        reply.send(200, msgspec.json.encode(whole), {"content-type": "application/json"})

    events = await ask(serve, wire="messages")
    assert text_of(events) == "One, two."
    assert [message["role"] for message in bodies[1]] == ["user", "assistant"]
    assert bodies[1][1]["content"] == [{"type": "text", "text": "One, "}]
    assert len([event for event in events if isinstance(event, Usage)]) == 2
    assert [part["text"] for part in msgspec.json.decode(finished(events).content)["parts"]] == ["One, ", "two."]


@pytest.mark.anyio
async def test_what_was_counted_of_an_answer_that_is_cancelled_is_told() -> None:
    def serve(request: WireRequest, reply: Reply) -> None:
        reply.begin()
        begun = {"type": "message_start", "message": {"usage": {"input_tokens": 1000, "output_tokens": 1}}}
        reply.chunk(event(begun))
        reply.chunk(event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "wo"}}))
        reply.stall()

    server = WireServer(serve)
    server.start()
    model = Anthropic("claude-sonnet-5", "k", server.url, ONCE)
    seen: list[ModelEvent] = []
    with anyio.CancelScope() as scope:
        async with model.stream("", HISTORY, []) as events:
            async for each in events:
                seen.append(each)
                scope.cancel()
    await model.aclose()
    server.close()
    assert scope.cancelled_caught
    assert [each.prompt for each in seen if isinstance(each, Usage)] == [1000]
