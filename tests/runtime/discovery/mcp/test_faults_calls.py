"""MCP servers whose answers to calls are wrong, late or too large; each with the number of its fault."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import anyio
import pytest

from dogu.contract import ErrorKind, Text, ToolFailure
from dogu.runtime.discovery.mcp.host import Sampled, SamplingRequest
from dogu.runtime.events import CallOutput, ToolCall
from dogu.runtime.questions import Declined, Elicitation, Given
from runtime.discovery.hostile import becomes_true, failure_of, good_works, note_of, opened, result_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("crash-mid-call", id="FM072-exits-during-a-call"),
        pytest.param("crash-half-line", id="FM073-dies-after-half-a-line"),
    ],
)
async def test_a_server_that_dies_in_a_call_fails_it_at_once_and_never_repeats_it(tmp_path: Path, fault: str):
    async with opened(tmp_path, fault) as runtime:
        message = failure_of(await result_of(runtime))
        assert "not known" in message
        if fault == "crash-mid-call":
            assert "about to die" in message
            assert (tmp_path / "calls").read_text() == "x"
        await good_works(runtime)


async def test_a_server_that_died_is_started_again_by_the_next_call(tmp_path: Path):
    """FM072: restarted on the next use."""
    async with opened(tmp_path, "crash-once") as runtime:
        failure_of(await result_of(runtime))
        assert (await result_of(runtime)).llm_content == "hello"


async def test_a_server_that_dies_again_and_again_is_started_less_and_less_often(tmp_path: Path):
    """FM072: restarted with a delay that grows."""
    async with opened(tmp_path, "crash-mid-call") as runtime:
        messages = [failure_of(await result_of(runtime)) for _ in range(6)]
        assert "may start again in" in messages[-1]
        await good_works(runtime)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("hang-call", id="FM074-never-answered"),
        pytest.param("not-json", id="FM076-plain-text"),
        pytest.param("wrong-id", id="FM078-unknown-id"),
        pytest.param("no-newline", id="FM084-no-newline"),
        pytest.param("slow-drip", id="FM085-one-byte-every-0.2-s"),
    ],
)
async def test_a_call_that_isn_t_answered_has_a_time_limit_and_is_cancelled(tmp_path: Path, fault: str):
    async with opened(tmp_path, fault, timeout_ms=1000) as runtime:
        assert "within 1 s" in failure_of(await result_of(runtime), ErrorKind.TIMED_OUT)
        await good_works(runtime)
        if fault == "hang-call":
            assert await becomes_true((tmp_path / "cancelled").exists)
        warned = {"not-json": "aren't messages, which are ignored", "wrong-id": "what nobody had asked (id 987654)"}
        assert warned.get(fault, "") in "\n".join(runtime.notes)


async def test_a_server_that_hangs_is_pinged_ended_and_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dogu.runtime.discovery.mcp.session._PINGED_S", 0.5)
    async with opened(tmp_path, "block-once", timeout_ms=1000) as runtime:
        late = failure_of(await result_of(runtime), ErrorKind.TIMED_OUT)
        assert "doesn't answer a ping either" in late
        before = anyio.current_time()
        assert (await result_of(runtime)).llm_content == "hello"
        assert anyio.current_time() - before < 10
        await good_works(runtime)


async def test_after_a_cancelled_call_a_server_that_hangs_costs_the_next_call_a_ping_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dogu.runtime.discovery.mcp.session._PINGED_S", 0.5)
    async with opened(tmp_path, "block-once", timeout_ms=60_000) as runtime:
        async with anyio.create_task_group() as group:
            group.start_soon(result_of, runtime)
            assert await becomes_true((tmp_path / "blocked").exists)
            group.cancel_scope.cancel()
        assert (await result_of(runtime)).llm_content == "hello"


async def test_a_long_silence_says_how_long_it_may_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dogu.runtime.discovery.mcp.work._SILENT_S", 0.1)
    heard: list[object] = []
    async with opened(tmp_path, "hang-call", timeout_ms=1000) as runtime:
        await runtime.call("bad__echo", emit=heard.append)
    told = [event.text for event in heard if isinstance(event, CallOutput)]
    assert told == ["Waiting for the MCP server bad, 1 s at most.\n"]


async def test_progress_extends_the_time_limit_but_not_for_ever(tmp_path: Path):
    """FM074: progress extends the limit."""
    async with opened(tmp_path, "progress-for-ever", timeout_ms=300) as runtime:
        before = anyio.current_time()
        assert "it told progress" in failure_of(await result_of(runtime), ErrorKind.TIMED_OUT)
        assert anyio.current_time() - before > 1.5


async def test_an_answer_that_is_no_json_fails_its_call_at_once_and_the_next_is_read(tmp_path: Path):
    """FM075: malformed JSON."""
    async with opened(tmp_path, "malformed-json") as runtime:
        assert "not valid JSON" in failure_of(await result_of(runtime))
        assert (await result_of(runtime)).llm_content == "hello"


async def test_a_stray_print_that_begins_like_a_message_costs_no_call(tmp_path: Path):
    async with opened(tmp_path, "stray-print") as runtime:
        assert (await result_of(runtime)).llm_content == "hello"
        assert "aren't messages, which are ignored" in note_of(runtime)


async def test_a_broken_line_that_names_no_call_is_told_where_no_answer_comes(tmp_path: Path):
    async with opened(tmp_path, "broken-nameless", timeout_ms=1000) as runtime:
        late = failure_of(await result_of(runtime), ErrorKind.TIMED_OUT)
    assert "It wrote a line that may have been its answer, and is not valid JSON" in late


async def test_bytes_that_are_no_text_are_replaced(tmp_path: Path):
    """FM077: invalid UTF-8."""
    async with opened(tmp_path, "invalid-utf8") as runtime:
        assert (await result_of(runtime)).llm_content == "hel\ufffdlo"


async def test_a_result_with_an_error_is_an_error(tmp_path: Path):
    """FM081: result and error together."""
    async with opened(tmp_path, "result-and-error") as runtime:
        assert "both" in failure_of(await result_of(runtime))


async def test_a_huge_result_is_cut_for_the_model_and_whole_on_disk(tmp_path: Path):
    """FM082: 100 MB of text."""
    async with opened(tmp_path, "100mb-result") as runtime:
        text = str((await result_of(runtime)).llm_content)
        assert len(text) < 50_000
        path = re.search(r"is kept in (\S+):", text)
        assert path is not None
        assert os.path.getsize(path[1]) == 100_000_000  # noqa: ASYNC240  (one stat)


async def test_a_line_that_never_ends_is_not_kept(tmp_path: Path):
    async with opened(tmp_path, "endless-line") as runtime:
        assert "128 MB" in failure_of(await result_of(runtime))
        await good_works(runtime)


CALLS_ONCE = """
import sys, time
from pathlib import Path
import anyio
from runtime.discovery.hostile import becomes_true, opened, result_of

async def main():
    folder, fault = Path(sys.argv[1]), sys.argv[2]
    async with opened(folder, fault) as runtime:
        before = time.process_time()
        result = await result_of(runtime)
        assert fault != "stderr-flood" or await becomes_true((folder / "flooded").exists)
        worked = time.process_time() - before
        # Not by `getrusage`, which counts the most that the parent had.
        most_kb = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
        print(len(result.llm_content), most_kb, worked)

anyio.run(main)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="nothing tells how much memory it had at most")
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("100mb-result", id="FM082-100-MB"),
        pytest.param("million-parts", id="FM083-300000-parts"),
        pytest.param("stderr-flood", id="FM056-256-MB-of-errors"),
    ],
)
async def test_a_flood_costs_bounded_memory_and_little_work(tmp_path: Path, fault: str):
    """Measured in a process of its own: 400 MB at most, and 5 s of work, however busy the machine is."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = await anyio.run_process([sys.executable, "-c", CALLS_ONCE, str(tmp_path), fault], env=environment)
    chars, most_kb, work_s = map(float, done.stdout.split())
    assert chars < 50_000
    assert most_kb < 400_000
    assert work_s < 5


async def test_a_flood_of_progress_is_thinned_out_and_leaves_others_their_turn(tmp_path: Path):
    """FM090: 20,000 notifications. The server tells all of it as fast as it can; a user sees twenty a second."""
    reports: list[object] = []
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with opened(tmp_path, "progress-flood") as runtime, anyio.create_task_group() as group:
        group.start_soon(take_turns)
        began = anyio.current_time()
        answer = await runtime.executor.run(ToolCall("1", "bad__echo", {}), reports.append)
        took_s = anyio.current_time() - began
        group.cancel_scope.cancel()
        assert answer.result.llm_content == "hello"
        told = [report for report in reports if isinstance(report, CallOutput)]
        assert 1 <= len(told) <= 20 * took_s + 2
        assert turns > 20


async def test_unknown_blocks_are_described_and_known_ones_kept(tmp_path: Path):
    """FM086: an unknown content type."""
    async with opened(tmp_path, "unknown-content") as runtime:
        text = str((await result_of(runtime)).llm_content)
    assert text.startswith("known\n")
    assert '"hologram"' in text
    assert "no object: 5" in text


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        pytest.param("bad-image", "no valid base64", id="FM087-invalid-base64"),
        ("structured-only", '{"n": 5}'),
    ],
)
async def test_odd_content_becomes_text(tmp_path: Path, fault: str, told: str):
    async with opened(tmp_path, fault) as runtime:
        result = await result_of(runtime)
    assert result.error is None
    assert isinstance(result.llm_content, str)  # nothing but text reaches the model
    assert told in result.llm_content


@pytest.mark.parametrize(
    "fault", [pytest.param("null-content", id="FM089-content-null"), "no-content", "asks-for-input"]
)
async def test_an_answer_without_content_is_a_failure(tmp_path: Path, fault: str):
    async with opened(tmp_path, fault) as runtime:
        failure_of(await result_of(runtime))


async def test_half_a_character_in_a_call_does_not_end_the_connection(tmp_path: Path):
    async with opened(tmp_path, "none") as runtime:
        assert (await runtime.call("bad__echo", text="\ud83d")).result.llm_content == "hello"
        assert runtime.notes == ()


async def test_an_answer_in_a_list_of_messages_is_taken(tmp_path: Path):
    async with opened(tmp_path, "batch") as runtime:
        assert (await result_of(runtime)).llm_content == "hello"


@pytest.mark.parametrize("fault", [pytest.param("is-error", id="FM088-is-error"), "is-error-text"])
async def test_is_error_is_given_to_the_model_as_a_failure(tmp_path: Path, fault: str):
    async with opened(tmp_path, fault) as runtime:
        result = await result_of(runtime)
    assert result.error == ToolFailure(ErrorKind.REMOTE_FAILED, "hello")


async def test_escapes_in_a_result_are_shown_not_obeyed(tmp_path: Path):
    async with opened(tmp_path, "escapes") as runtime:
        result = await result_of(runtime)
    assert result.return_display == "␛[2J‹U+202E›gone ?"
    assert Text(str(result.llm_content)).text.encode()


async def test_without_a_user_what_a_server_asks_is_declined_and_told(tmp_path: Path):
    """FM091: the server asks the client to sample and to elicit."""
    async with opened(tmp_path, "sampling-request") as runtime:
        assert (await result_of(runtime)).llm_content == "answered"
        assert "nobody is here to ask: declined" in note_of(runtime)
    answers = [json.loads(line) for line in (tmp_path / "answers").read_text().splitlines()]
    by_id = {answer["id"]: answer for answer in answers}
    assert by_id["s-elicitation/create"]["result"] == {"action": "decline"}
    assert "error" in by_id["s-sampling/createMessage"]
    assert "error" in by_id["s-no/such/method"]


async def test_sampling_with_tools_which_was_not_offered_is_an_error(tmp_path: Path):
    async def sample(_request: SamplingRequest) -> Sampled:
        raise AssertionError("the model was asked")

    async with opened(tmp_path, "sampling-tools", sample=sample) as runtime:
        assert (await result_of(runtime)).llm_content == "answered"
    answers = [json.loads(line) for line in (tmp_path / "answers").read_text().splitlines()]
    assert {answer["id"]: answer["error"]["code"] for answer in answers} == {"s-tools": -32602, "s-choice": -32602}
    assert "sampling.tools" in answers[0]["error"]["message"]


async def test_a_server_that_asks_the_user_in_a_loop_is_stopped(tmp_path: Path):
    asked: list[Elicitation] = []

    async def elicit(elicitation: Elicitation) -> Given | Declined:
        asked.append(elicitation)
        return Declined()

    async with opened(tmp_path, "elicitation-loop", elicit=elicit) as runtime:
        assert "more than 10 times" in failure_of(await result_of(runtime))
        await good_works(runtime)
    assert len(asked) == 10
    assert asked[0].title == "The MCP server bad asks:"
    assert "\x1b" in asked[0].message  # as it came: a door shows it escaped


async def test_a_user_who_closed_a_question_is_not_asked_again_by_that_call(tmp_path: Path):
    asked: list[Elicitation] = []

    async def elicit(elicitation: Elicitation) -> Given | Declined:
        asked.append(elicitation)
        return Declined(stop=True)

    async with opened(tmp_path, "elicitation-loop", elicit=elicit) as runtime:
        for count in (1, 2):
            assert "had closed its question" in failure_of(await result_of(runtime))
            assert len(asked) == count


@pytest.mark.parametrize(
    ("answer", "told"), [(Given(), "call it again when they say that they are done"), (Declined(), "they declined")]
)
async def test_an_address_that_a_call_needs_opened_is_put_before_the_user(
    tmp_path: Path, answer: Given | Declined, told: str
):
    asked: list[Elicitation] = []

    async def elicit(elicitation: Elicitation) -> Given | Declined:
        asked.append(elicitation)
        return answer

    async with opened(tmp_path, "wants-address", elicit=elicit) as runtime:
        assert told in failure_of(await result_of(runtime))
    assert asked == [
        Elicitation("The MCP server bad asks you to open an address:", "Pay first.", url="https://example.org/pay")
    ]


async def test_what_is_no_web_address_is_never_put_before_the_user(tmp_path: Path):
    async def elicit(_elicitation: Elicitation) -> Given:
        raise AssertionError("the person was asked")

    async with opened(tmp_path, "bad-address", elicit=elicit) as runtime:
        assert (await result_of(runtime)).llm_content == "answered"
        assert "isn't a web address: declined" in note_of(runtime)
    assert json.loads((tmp_path / "answers").read_text())["result"] == {"action": "decline"}
