"""The faults of the wire: how each ends for the user, and what the next request may build on."""

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
import msgspec
import pytest

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
    Usage,
)
from dogu.models.gemini import Gemini, KeyAccess
from dogu.models.options import ModelOptions
from dogu.models.retry import RetryPolicy
from dogu.models.transport_errors import Timeouts, mapped
from dogu.testing.fake_gemini import FakeGemini, GeminiTurn
from dogu.testing.turn import Turn
from dogu.testing.wire_server import Reply, WireRequest, WireServer

pytestmark = pytest.mark.anyio
KEY = "secret-key-4711"
RETRY = RetryPolicy(tries=6, first_delay_s=0.01, longest_delay_s=0.02)
QUICK = ModelOptions(retry=RETRY)
IMPATIENT = ModelOptions(retry=RETRY, timeouts=Timeouts(first_byte_s=0.5, idle_s=0.5))
HISTORY = [user_content("hi")]


@dataclass
class Outcome:
    events: list[ModelEvent] = field(default_factory=list)
    error: ModelError | None = None
    asked: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def kind(self) -> ModelErrorKind | None:
        return self.error.kind if self.error else None

    @property
    def retries(self) -> list[Retrying]:
        return [event for event in self.events if isinstance(event, Retrying)]

    @property
    def text(self) -> str:
        """What stands in the end: text before a retry is void."""
        text = ""
        for event in self.events:
            if isinstance(event, TextDelta):
                text += event.text
            elif isinstance(event, Retrying):
                text = ""
        return text

    @property
    def calls(self) -> list[FunctionCallEvent]:
        return [event for event in self.events if isinstance(event, FunctionCallEvent)]

    @property
    def finished(self) -> Finished:
        last = self.events[-1]
        assert isinstance(last, Finished)
        return last

    @property
    def parts(self) -> list[dict[str, Any]]:
        return msgspec.json.decode(self.finished.content)["parts"]


def is_silence(fault: str) -> bool:
    return fault == "no-headers" or fault.startswith("stall")


async def ask(
    model_name: str = "gemini-2.0-flash", turns: Sequence[GeminiTurn] = (), options: ModelOptions = QUICK
) -> Outcome:
    outcome = Outcome()
    if any(is_silence(turn.fault if isinstance(turn, Turn) else model_name) for turn in [*turns, ""]):
        options = IMPATIENT
    with FakeGemini(turns) as fake:
        model = Gemini(model_name, KeyAccess(KEY, fake.base_url), options)
        try:
            async with model.stream("", HISTORY, []) as events:
                async for event in events:
                    outcome.events.append(event)
        except ModelError as error:
            outcome.error = error
        finally:
            await model.aclose()
        outcome.asked = len(fake.requests)
        outcome.problems = fake.problems
    return outcome


async def test_a_rate_limit_is_waited_for_as_the_server_tells_and_told_each_time() -> None:
    outcome = await ask("e429")
    assert outcome.kind is ModelErrorKind.RATE_LIMIT
    assert [(retry.attempt, retry.of) for retry in outcome.retries] == [(1, 6), (2, 6), (3, 6), (4, 6), (5, 6)]
    assert all(0.02 <= retry.delay_s < 0.0221 for retry in outcome.retries)
    assert outcome.error
    assert "Tried 6 times" in outcome.error.message


async def test_a_retry_after_of_no_time_hurries_nobody() -> None:
    outcome = await ask("e429-header")
    assert all(0.005 <= retry.delay_s <= 0.02 for retry in outcome.retries)


async def test_a_used_up_quota_is_told_apart_and_not_retried() -> None:
    outcome = await ask("e429-quota")
    assert (outcome.kind, outcome.asked, outcome.retries) == (ModelErrorKind.QUOTA, 1, [])


async def test_a_wait_of_hours_is_told_not_waited() -> None:
    outcome = await ask("e429-long")
    assert (outcome.kind, outcome.asked) == (ModelErrorKind.QUOTA, 1)
    assert outcome.error
    assert "2 hours" in outcome.error.message


async def test_a_wait_can_be_cancelled() -> None:
    slow = ModelOptions(retry=RetryPolicy(first_delay_s=60, longest_delay_s=60))
    with anyio.fail_after(30):
        with FakeGemini() as fake:
            model = Gemini("e503", KeyAccess(KEY, fake.base_url), slow)
            async with model.stream("", HISTORY, []) as events:
                async for event in events:
                    assert isinstance(event, Retrying)
                    break
            with anyio.move_on_after(0.05) as scope:
                async with model.stream("", HISTORY, []) as events:
                    async for _ in events:
                        pass
            assert scope.cancelled_caught
            await model.aclose()


async def test_two_rate_limits_and_then_an_answer_cost_only_time() -> None:
    outcome = await ask("e429-then-ok")
    assert (outcome.text, len(outcome.retries), outcome.error) == ("ok", 2, None)


@pytest.mark.parametrize("fault", ["e503", "e500", "e500-html", "error-event"])
async def test_a_failing_server_is_tried_with_back_off_then_explained(fault: str) -> None:
    outcome = await ask(fault)
    assert (outcome.kind, outcome.asked) == (ModelErrorKind.OVERLOADED, 6)
    assert all(0.005 <= retry.delay_s <= 0.02 for retry in outcome.retries)
    assert outcome.error
    assert "Try again later" in outcome.error.message
    assert not any("Try again" in retry.reason for retry in outcome.retries)
    assert "<html>" not in outcome.error.message


@pytest.mark.parametrize(
    ("fault", "kind", "word"),
    [
        ("e400", ModelErrorKind.AUTH, "GEMINI_API_KEY"),
        ("e403", ModelErrorKind.AUTH, "GEMINI_API_KEY"),
        ("e404", ModelErrorKind.NOT_FOUND, "model.name"),
        ("e400-too-long", ModelErrorKind.TOO_LONG, "longer"),
        ("web-page", ModelErrorKind.BAD_REQUEST, "web page"),
    ],
)
async def test_a_refusal_is_not_retried_and_says_what_to_do(fault: str, kind: ModelErrorKind, word: str) -> None:
    outcome = await ask(fault)
    assert (outcome.kind, outcome.asked) == (kind, 1)
    assert outcome.error
    assert word in outcome.error.message


async def test_the_key_is_in_no_message_and_no_repr() -> None:
    with FakeGemini(key="another") as fake:
        access = KeyAccess(KEY, fake.base_url)
        model = Gemini("gemini-2.0-flash", access, QUICK)
        with pytest.raises(ModelError) as caught:
            async with model.stream("", HISTORY, []) as events:
                await anext(aiter(events))
        await model.aclose()
    assert KEY not in f"{caught.value!r} {caught.value.message} {model!r} {access!r}"
    assert access.redact(f"echo {KEY}") == "echo [key]"


async def test_a_key_that_an_error_in_a_stream_repeats_is_not_told() -> None:
    def answer(_request: WireRequest, reply: Reply) -> None:
        reply.begin()
        error = {"code": 400, "message": f"No such project for {KEY}.", "status": "INVALID_ARGUMENT"}
        reply.chunk(b"data: " + msgspec.json.encode({"error": error}) + b"\n\n")
        reply.end()

    server = WireServer(answer)
    server.start()
    try:
        model = Gemini("gemini-2.0-flash", KeyAccess(KEY, server.url), QUICK)
        with pytest.raises(ModelError, match=r"No such project for \[key\]"):
            async with model.stream("", HISTORY, []) as events:
                await anext(aiter(events))
        await model.aclose()
    finally:
        server.close()


async def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert (await ask(turns=["hello"])).text == "hello"


async def test_the_key_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        await ask("e503")
    assert "HTTP Request" in caplog.text
    assert KEY not in caplog.text


async def test_no_key_is_said_before_anything_is_sent() -> None:
    with FakeGemini() as fake:
        model = Gemini("gemini-2.0-flash", KeyAccess(" ", fake.base_url))
        with pytest.raises(ModelError, match="GEMINI_API_KEY") as caught:
            async with model.stream("", HISTORY, []) as events:
                await anext(aiter(events))
        assert (caught.value.kind, fake.requests) == (ModelErrorKind.AUTH, [])


@pytest.mark.parametrize(
    ("fault", "kind", "asked"),
    [
        ("no-headers", ModelErrorKind.TIMEOUT, 4),
        ("stall-mid-stream", ModelErrorKind.TIMEOUT, 4),
        ("rst-at-start", ModelErrorKind.NETWORK, 6),
        ("cut-mid-stream", ModelErrorKind.INCOMPLETE, 5),
        ("rst-mid-stream", ModelErrorKind.INCOMPLETE, 5),
        ("cut-mid-event", ModelErrorKind.INCOMPLETE, 5),
        ("cut-after-call", ModelErrorKind.INCOMPLETE, 5),
        ("clean-end-no-finish", ModelErrorKind.INCOMPLETE, 4),
        ("bad-json-event", ModelErrorKind.MALFORMED, 4),
        ("empty-stream", ModelErrorKind.INCOMPLETE, 3),
        ("empty-candidates", ModelErrorKind.INCOMPLETE, 3),
        ("empty-stop", ModelErrorKind.INCOMPLETE, 3),
        ("thought-only", ModelErrorKind.INCOMPLETE, 3),
        ("malformed-call", ModelErrorKind.MALFORMED, 3),
    ],
)
async def test_what_is_no_whole_answer_is_retried_and_never_gives_a_call(
    fault: str, kind: ModelErrorKind, asked: int
) -> None:
    outcome = await ask(fault)
    assert (outcome.kind, outcome.asked, outcome.calls) == (kind, asked, [])
    assert len(outcome.retries) == asked - 1
    assert outcome.error
    assert outcome.error.is_retryable


@pytest.mark.parametrize(
    "fault",
    [
        "e503",
        "rst-at-start",
        "no-headers",
        "cut-mid-stream",
        "cut-mid-event",
        "cut-after-call",
        "clean-end-no-finish",
        "stall-mid-stream",
        "bad-json-event",
        "error-event",
        "empty-stream",
        "empty-candidates",
        "malformed-call",
    ],
)
async def test_after_a_fault_the_next_try_answers_and_the_text_before_is_void(fault: str) -> None:
    outcome = await ask(turns=[Turn(fault=fault), Turn(text="whole answer", pieces=3)])
    assert (outcome.error, outcome.text, outcome.asked) == (None, "whole answer", 2)
    assert outcome.parts == [{"text": "whole answer"}]
    assert outcome.problems == []


@pytest.mark.parametrize("fault", ["cut-after-finish", "stall-after-finish"])
async def test_an_answer_that_has_finished_needs_no_tidy_end(fault: str) -> None:
    outcome = await ask(fault)
    assert (outcome.error, outcome.text, outcome.asked) == (None, "hello", 1)


@pytest.mark.parametrize(
    ("fault", "kind", "word"),
    [
        ("safety", ModelErrorKind.SAFETY, "safety filters"),
        ("prompt-block", ModelErrorKind.BLOCKED, "Change the last message"),
    ],
)
async def test_a_block_is_explained_and_not_retried(fault: str, kind: ModelErrorKind, word: str) -> None:
    outcome = await ask(fault)
    assert (outcome.kind, outcome.asked) == (kind, 1)
    assert outcome.error
    assert word in outcome.error.message


async def test_an_answer_too_close_to_a_published_text_is_asked_for_once_more() -> None:
    outcome = await ask("recitation")
    assert (outcome.kind, outcome.asked) == (ModelErrorKind.SAFETY, 2)
    assert outcome.error
    assert "published" in outcome.error.message


async def test_a_stream_of_comments_without_data_ends() -> None:
    timeouts = Timeouts(silent_s=0.2)
    quick = ModelOptions(retry=RetryPolicy(tries=2, first_delay_s=0.01), timeouts=timeouts)
    outcome = await ask("comments-only", options=quick)
    assert (outcome.kind, outcome.asked) == (ModelErrorKind.TIMEOUT, 2)
    assert outcome.error
    assert "sent no data for 0.2 s" in outcome.error.message


async def test_an_answer_that_takes_too_long_ends_though_data_comes() -> None:
    quick = ModelOptions(retry=RetryPolicy(tries=1), timeouts=Timeouts(total_s=0.2))
    outcome = await ask(turns=[Turn(text="and " * 100, pieces=100, pace_s=0.05)], options=quick)
    assert outcome.kind is ModelErrorKind.TIMEOUT
    assert outcome.error
    assert "did not finish within 0.2 s" in outcome.error.message


async def test_the_tokens_of_a_failed_try_are_counted() -> None:
    outcome = await ask(turns=[Turn(fault="malformed-call"), Turn(fault="malformed-call"), Turn(text="ok")])
    counted = [event.prompt for event in outcome.events if isinstance(event, Usage)]
    assert counted == [1000, 1000, 10]


async def test_an_overload_is_waited_out_by_time_and_not_by_a_count_of_tries() -> None:
    patient = ModelOptions(retry=RetryPolicy(first_delay_s=0.001, longest_delay_s=0.001))
    outcome = await ask(turns=[*[Turn(fault="e503")] * 30, Turn(text="ok")], options=patient)
    assert (outcome.error, outcome.text, outcome.asked) == (None, "ok", 31)
    assert {retry.of for retry in outcome.retries} == {0}


async def test_a_server_that_goes_away_in_mid_session_is_waited_for() -> None:
    patient = ModelOptions(retry=RetryPolicy(first_delay_s=0.001, longest_delay_s=0.001, retry_for_s=0.2))
    with FakeGemini(["ok"]) as fake:
        model = Gemini("gemini-2.0-flash", KeyAccess(KEY, fake.base_url), patient)
        async with model.stream("", HISTORY, []) as events:
            assert [event async for event in events]
    with pytest.raises(ModelError, match="Cannot connect") as raised:
        async with model.stream("", HISTORY, []) as events:
            assert [event async for event in events]
    await model.aclose()
    tried = re.search(r"Tried (\d+) times", raised.value.message)
    assert tried
    assert int(tried[1]) > 5


@pytest.mark.parametrize(
    ("cause", "advice"),
    [(socket.gaierror(-2, "Name or service not known"), "Check the network"), (OSError(), "that its server runs")],
)
def test_a_name_that_leads_nowhere_may_be_for_want_of_a_network(cause: OSError, advice: str) -> None:
    error = httpx2.ConnectError(str(cause))
    error.__cause__ = cause
    told = mapped(error, "https://a.test/v1", Timeouts(), began=False)
    assert "Errno" not in told.message
    assert advice in told.advice


async def test_a_malformed_call_is_retried_with_a_hint_to_the_model() -> None:
    with FakeGemini([Turn(fault="malformed-call"), "ok"]) as fake:
        model = Gemini("gemini-2.0-flash", KeyAccess(KEY, fake.base_url), QUICK)
        async with model.stream("", HISTORY, []) as events:
            assert [event.text async for event in events if isinstance(event, TextDelta)] == ["ok"]
        await model.aclose()
        assert fake.requests[0].prompt == "hi"
        assert "Your last answer was dropped" in fake.requests[1].prompt
        assert "Malformed: f(x" in fake.requests[1].prompt


async def test_an_unknown_finish_reason_counts_as_stop_and_is_told() -> None:
    outcome = await ask("new-finish-reason")
    assert (outcome.text, outcome.finished.reason) == ("x", FinishReason.OTHER)
    assert "SOMETHING_NEW_2030" in outcome.finished.note


async def test_an_answer_cut_by_the_token_limit_says_so() -> None:
    outcome = await ask("max-tokens")
    assert (outcome.text, outcome.finished.reason) == ("cut he", FinishReason.LENGTH)


async def test_an_unknown_part_stays_in_the_history_byte_for_byte() -> None:
    outcome = await ask("unknown-part")
    assert outcome.text == "hi"
    assert b'{"hologram":{"depth":1.5},"partId":"p"}' in outcome.finished.content


async def test_arguments_in_a_string_are_parsed_and_stand_as_an_object_in_the_history() -> None:
    outcome = await ask("args-string")
    assert outcome.calls[0].args == {"path": "."}
    assert outcome.parts[0]["functionCall"]["args"] == {"path": "."}


@pytest.mark.parametrize("fault", ["args-bad-string", "args-list"])
async def test_arguments_that_are_no_object_are_a_problem_for_the_model(fault: str) -> None:
    outcome = await ask(fault)
    assert outcome.calls[0].args is None
    assert "send an object" in outcome.calls[0].problem
    assert outcome.parts[0]["functionCall"]["args"] == {}


async def test_missing_arguments_are_none() -> None:
    outcome = await ask("args-missing")
    assert (outcome.calls[0].args, outcome.calls[0].problem) == ({}, "")


async def test_a_call_without_a_name_is_a_problem_that_the_wire_takes_back() -> None:
    outcome = await ask("name-empty")
    assert outcome.calls[0].args is None
    assert "no function name" in outcome.calls[0].problem
    assert outcome.parts[0]["functionCall"]["name"] == outcome.calls[0].name != ""


async def test_two_calls_with_one_id_get_ids_of_their_own() -> None:
    outcome = await ask("dup-call-ids")
    ids = [call.call_id for call in outcome.calls]
    assert ids[0] == "one"
    assert len(set(ids)) == 2
    assert [part["functionCall"]["id"] for part in outcome.parts] == ids


@pytest.mark.parametrize(
    "fault", ["args-string", "args-bad-string", "args-list", "args-missing", "name-empty", "dup-call-ids"]
)
async def test_whatever_a_call_looked_like_its_answer_is_accepted(fault: str) -> None:
    with FakeGemini([Turn(fault=fault), "done"]) as fake:
        model = Gemini("gemini-2.0-flash", KeyAccess(KEY, fake.base_url), QUICK)
        async with model.stream("", HISTORY, []) as events:
            last = [event async for event in events][-1]
        assert isinstance(last, Finished)
        answers = [(call.call_id, call.name, ToolResult(call.problem or "ok")) for call in last.calls]
        history = [*HISTORY, last.content, function_response_content(answers)]
        async with model.stream("", history, []) as events:
            assert [event.text async for event in events if isinstance(event, TextDelta)] == ["done"]
        await model.aclose()
        assert fake.problems == []


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("split-utf8", "日本語"),
        ("lf-only", "ok"),
        ("cr-only", "ok"),
        ("multi-data-lines", "ok"),
        ("comments", "ok"),
        ("line-separator", "a\u2028b\x85c"),
        ("no-final-blank", "ok"),
        ("bom", "ok"),
    ],
)
async def test_every_way_to_write_the_stream_is_read(fault: str, text: str) -> None:
    outcome = await ask(fault)
    assert (outcome.error, outcome.text, outcome.asked) == (None, text, 1)


async def test_an_event_of_20_mb_is_read() -> None:
    outcome = await ask("huge-event")
    assert len(outcome.text) == 20_000_000


async def test_twenty_thousand_chunks_become_one_part() -> None:
    outcome = await ask("flood")
    assert outcome.text == "x" * 20_000 + "end"
    assert outcome.parts == [{"text": outcome.text}]
