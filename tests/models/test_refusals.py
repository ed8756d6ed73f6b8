"""What errors mean: the same on every wire, in an answer's head and in its stream."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dogu.models.anthropic import AnthropicAnswer
from dogu.models.delays import delay_told
from dogu.models.events import ModelError, ModelErrorKind
from dogu.models.gemini import GeminiAnswer
from dogu.models.openai_answer import OpenAIAnswer
from dogu.models.refusals import refusal_of, refused_field, stream_error_of
from dogu.models.responses import ResponsesAnswer
from dogu.models.transport_errors import HttpRefusal

Kind = ModelErrorKind


def error(message: str = "no", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def details(**fields: Any) -> dict[str, Any]:
    return error("You exceeded your current quota.", status="RESOURCE_EXHAUSTED", details=[{"violations": [fields]}])


HEADS: list[tuple[int, object, ModelErrorKind]] = [
    (429, error(code="insufficient_quota"), Kind.QUOTA),
    (402, error("Insufficient Balance", code="invalid_request_error"), Kind.QUOTA),
    (429, error("Insufficient balance. Please recharge.", code="1113"), Kind.QUOTA),
    (400, {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low."}}, Kind.QUOTA),
    (429, details(quotaId="RequestsPerDay"), Kind.QUOTA),
    (429, details(quotaId="RequestsPerMinute"), Kind.RATE_LIMIT),
    (429, error("Rate limit reached. Add a payment method at account/billing."), Kind.RATE_LIMIT),
    (429, error("Request too large for gpt on tokens per min", code="rate_limit_exceeded"), Kind.TOO_LONG),
    (401, "not json", Kind.AUTH),
    (403, error("no access to model", type="permission_error"), Kind.AUTH),
    (403, "<html>Just a moment</html>", Kind.BAD_REQUEST),
    (403, error("Input flagged", metadata={"reasons": ["violence"], "flagged_input": "x"}), Kind.BLOCKED),
    (400, error("API key expired. Please renew it.", status="INVALID_ARGUMENT"), Kind.AUTH),
    (400, error("filtered", code="content_filter"), Kind.BLOCKED),
    (400, error("Invalid 'tools[0].name': string too long", code="string_above_max_length"), Kind.BAD_REQUEST),
    (400, error("max_tokens is too large: 99 > 10"), Kind.BAD_REQUEST),
    (413, "<html>Request Entity Too Large</html>", Kind.TOO_LONG),
    (400, error("the request exceeds the available context size (4096 tokens)"), Kind.TOO_LONG),
    (400, error("The input token count (1200000) exceeds the maximum number of tokens allowed"), Kind.TOO_LONG),
    (404, {"detail": "Not Found"}, Kind.NOT_FOUND),
    (501, "no", Kind.BAD_REQUEST),
    (500, error("Cannot use tools with this chat template"), Kind.BAD_REQUEST),
    (503, error("Loading model"), Kind.OVERLOADED),
    (529, ["boom"], Kind.OVERLOADED),
    (504, "", Kind.TIMEOUT),
    (500, error("Incorrect API key provided", code="invalid_api_key"), Kind.AUTH),
    (400, error("Rate limit exceeded", code=429), Kind.RATE_LIMIT),
    (425, "", Kind.OVERLOADED),
    (409, error("Another request holds the lock"), Kind.OVERLOADED),
    (422, {"detail": [{"loc": ["body"], "msg": "extra"}]}, Kind.BAD_REQUEST),
]


@pytest.mark.parametrize(("status", "body", "kind"), HEADS)
def test_an_answer_that_is_no_success_is_told_apart(status: int, body: object, kind: ModelErrorKind) -> None:
    raw = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
    assert refusal_of(HttpRefusal(status, {}, raw)).kind is kind


STREAMED: list[tuple[object, ModelErrorKind]] = [
    ({"message": "rl", "code": "rate_limit_exceeded"}, Kind.RATE_LIMIT),
    ({"message": "gone", "code": "insufficient_quota"}, Kind.QUOTA),
    ({"message": "bad", "type": "invalid_request_error"}, Kind.BAD_REQUEST),
    ({"message": "flagged by our usage policy", "code": "invalid_prompt"}, Kind.BLOCKED),
    ({"message": "Incorrect API key", "code": "invalid_api_key"}, Kind.AUTH),
    ({"message": "o", "status": "UNAVAILABLE"}, Kind.OVERLOADED),
    ({"message": "o", "code": "503"}, Kind.OVERLOADED),
    ({"type": "billing_error", "message": "credit"}, Kind.QUOTA),
    ({"type": "request_too_large", "message": "Request exceeds the maximum size"}, Kind.TOO_LONG),
    ("model crashed", Kind.OVERLOADED),
]


@pytest.mark.parametrize(("told", "kind"), STREAMED)
def test_an_error_in_a_stream_is_told_apart_on_every_wire(told: object, kind: ModelErrorKind) -> None:
    assert stream_error_of(msgspec.json.encode(told)).kind is kind
    payload = msgspec.json.encode({"error": told})
    for answer in (OpenAIAnswer(), ResponsesAnswer(), AnthropicAnswer(), GeminiAnswer()):
        with pytest.raises(ModelError) as caught:
            answer.absorb([payload])
        assert caught.value.kind is kind
        assert caught.value.is_retryable is (kind in (Kind.RATE_LIMIT, Kind.OVERLOADED))


def test_the_delay_of_a_limit_is_read_wherever_it_stands() -> None:
    body = error("slow", details=[{"violations": "no"}, {"retryDelay": "1.2s"}])
    assert refusal_of(HttpRefusal(429, {"retry-after": "9"}, msgspec.json.encode(body))).retry_after_s == 1.2


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"retry-after": "3"}, {}),
        ({"retry-after": "3s"}, {}),
        ({"retry-after": "3, 3"}, {}),
        ({"retry-after": "3; x"}, {}),
        ({"retry-after": "PT3S"}, {}),
        ({"retry-after": "9", "retry-after-ms": "3000"}, {}),
        ({"x-ms-retry-after-ms": "3000"}, {}),
        ({"retry-after": "soon", "x-ratelimit-reset-requests": "3s"}, {}),
        ({"x-ratelimit-reset-requests": "1d", "x-ratelimit-reset-tokens": "2.5s500ms"}, {}),
        (
            {
                "x-ratelimit-reset-requests": "3000ms",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "1ms",
                "x-ratelimit-remaining-tokens": "99",
            },
            {},
        ),
        ({}, error("Rate limit reached. Please retry after 3 seconds.")),
        ({}, error("Limit 30000, Used 29000. Please try again in 0m3s. Visit https://x/7s")),
        ({}, error("Please try again in 3000ms.")),
        ({}, error("x", retry_after=3)),
        ({}, error("x", retry_after_seconds="3")),
        ({}, error("x", metadata={"headers": {"Retry-After": "3"}})),
        ({}, error("x", details=[{"retryDelay": "3s"}])),
    ],
)
def test_a_delay_is_read_in_every_form(headers: dict[str, str], body: object) -> None:
    assert refusal_of(HttpRefusal(429, headers, msgspec.json.encode(body))).retry_after_s == 3.0
    if not headers:
        assert stream_error_of(msgspec.json.encode(body)).retry_after_s == 3.0


@pytest.mark.parametrize("scale", [1, 1000])
def test_a_time_at_which_a_limit_is_renewed_is_the_time_until_then(scale: int) -> None:
    at = str(int((time.time() + 30) * scale))
    nested = error("x", code=429, metadata={"headers": {"X-RateLimit-Reset": at}})
    told_s = refusal_of(HttpRefusal(429, {}, msgspec.json.encode(nested))).retry_after_s
    assert told_s is not None
    assert 25 < told_s <= 30
    in_iso = (datetime.now(UTC) + timedelta(seconds=30)).isoformat()
    told_s = delay_told({"anthropic-ratelimit-requests-reset": in_iso}, [], "")
    assert told_s is not None
    assert 25 < told_s <= 30


@pytest.mark.parametrize(
    "value",
    [
        "1e400",
        "nan",
        "1_0",
        "\u0662",
        "Wed, 21 Oct 2015 07:28:00 +99999999999999",
        "Wed, 21 Oct 99999 07:28:00 GMT",
        "Mon, 01 Jan 0001 00:00:00 +2359",
        "9999-12-31T23:59:59-23:59:59",
        "0x2",
        "PT",
        "",
    ],
)
def test_a_delay_that_makes_no_sense_is_none_and_never_fails(value: str) -> None:
    headers = {"retry-after": value, "retry-after-ms": value, "x-ratelimit-reset": value}
    body = msgspec.json.encode(error("wait " + value, retry_after=value, details=[{"retryDelay": value}]))
    assert refusal_of(HttpRefusal(429, headers, body)).retry_after_s in (None, 0.0) or value.startswith("9999")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (error("'temperature' is not supported with reasoning models.", param="temperature"), "temperature"),
        (error("'temperature' is not supported with reasoning models."), "temperature"),
        (error("temperature is not supported with reasoning models."), "temperature"),
        (error("Use 'seed' instead of reasoning.", param="temperature"), "temperature"),
        (error("no reasoning today, the temperature and the seed are fine"), ""),
        (error("Invalid value: 'seed'", param="model"), ""),
        (error("Extra inputs are not permitted", param="messages.[2].temperature"), ""),
        ({"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs"}]}, "seed"),
        ({"detail": [{"loc": ["body", "messages", 1, "assistant", "reasoning"], "msg": "seed"}]}, ""),
        (error("Unrecognized request argument supplied: reasoning_effort"), "reasoning_effort"),
        (error("[{'type': 'extra_forbidden', 'loc': ('body', 'seed')}]"), "seed"),
        (error("output.temperature: Extra inputs are not permitted"), "temperature"),
        ("seed is unsupported", "seed"),
    ],
)
def test_the_field_that_a_server_refuses_is_told_from_its_prose(body: object, field: str) -> None:
    said = body if isinstance(body, str) else msgspec.json.encode(body).decode()
    assert refused_field(said, ("temperature", "seed", "reasoning", "reasoning_effort")) == field
