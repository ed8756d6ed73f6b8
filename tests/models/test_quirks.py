"""What models and servers write that is no clean protocol, and what becomes of it."""

from typing import Any

import msgspec
import pytest

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.anthropic import AnthropicAnswer
from dogu.models.call_arguments import read_arguments
from dogu.models.events import Finished, FunctionCallEvent, ModelEvent, TextDelta, ThoughtDelta, Usage
from dogu.models.gemini import GeminiAnswer
from dogu.models.openai_answer import OpenAIAnswer
from dogu.models.openai_compatible import OpenAICompatible
from dogu.models.options import ModelOptions
from dogu.models.prices import ANTHROPIC, price_of
from dogu.models.schemas import PLAIN
from dogu.models.translation import Tools
from dogu.testing.wire_server import Reply, WireRequest, WireServer

GLOB = FunctionDeclaration("glob", "Finds files.", {"type": "object", "properties": {"pattern": {"type": "string"}}})
STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def read(*chunks: dict[str, Any]) -> list[ModelEvent]:
    """Return the events of an answer on the chat-completions wire, to a request that declares `glob`."""
    tools = Tools(PLAIN)
    tools.encoded([GLOB])
    answer = OpenAIAnswer("here", tools)
    shown = [event for chunk in (*chunks, STOP) for event in answer.absorb([msgspec.json.encode(chunk)])]
    return [*shown, *answer.finish()]


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"delta": fields}]}


def piece(index: int, name: str = "", arguments: str = "", **more: Any) -> dict[str, Any]:
    function = {**({"name": name} if name else {}), "arguments": arguments}
    return delta(tool_calls=[{"index": index, "function": function, **more}])


def calls_in(events: list[ModelEvent]) -> list[tuple[str, dict[str, Any] | None]]:
    return [(event.name, event.args) for event in events if isinstance(event, FunctionCallEvent)]


def text_in(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize(
    ("raw", "args"),
    [
        ('{"content": "one\ntwo\tthree"}', {"content": "one\ntwo\tthree"}),
        ('{"a": {"b": 1}', {"a": {"b": 1}}),
        ('{"a": [1, {"b": 2', {"a": [1, {"b": 2}]}),
        ('{"a": 1}}', {"a": 1}),
        ('{"a": 1}{"a": 1}', {"a": 1}),
        ('{}{"a": 1}', {"a": 1}),
        ('```json\n{"a": "```"}\n```', {"a": "```"}),
        ('{"a": [1, 2,], "b": ",}",}', {"a": [1, 2], "b": ",}"}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ("None", {}),
    ],
    ids=[
        "raw breaks",
        "one too few",
        "two too few",
        "one too many",
        "twice the same",
        "an empty one first",
        "a fence",
        "commas at ends",
        "as Python writes it",
        "none",
    ],
)
def test_a_slip_that_can_mean_one_thing_is_put_right(raw: str, args: dict[str, Any]) -> None:
    assert read_arguments(raw) == (args, "")


@pytest.mark.parametrize("raw", ['{"a": 1}{"a": 2}', '{"a": "unended', '{"a" 1}', '{"a": 1} and so on'])
def test_what_can_mean_two_things_is_shown_to_the_model_where_it_broke(raw: str) -> None:
    args, problem = read_arguments(raw)
    assert args is None
    assert "send an object" in problem


def test_the_place_where_arguments_broke_is_shown() -> None:
    _, problem = read_arguments('{"pattern" "*.py"}')
    assert "'{\"pattern\" '" in problem
    assert '"*.py"' in problem


def test_an_answer_that_was_cut_is_not_closed_for_the_model() -> None:
    assert read_arguments('{"a": 1', is_whole=False)[0] is None


def test_arguments_that_cannot_be_read_stay_in_the_history_as_they_were_written() -> None:
    events = read(piece(0, "glob", '{"pattern" "*.py"}', id="1"))
    assert calls_in(events) == [("glob", None)]
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert '{"pattern" "*.py"}' in str(msgspec.json.decode(finished.content))


def test_calls_with_index_0_and_without_ids_are_calls_of_their_own() -> None:
    events = read(piece(0, "glob", '{"pattern":"a"}'), piece(0, "glob", '{"pattern":"b"}'))
    assert calls_in(events) == [("glob", {"pattern": "a"}), ("glob", {"pattern": "b"})]
    assert len({event.call_id for event in events if isinstance(event, FunctionCallEvent)}) == 2


def test_names_in_fragments_and_names_said_again_are_one_name() -> None:
    fragments = read(piece(0, "gl", id="1"), piece(0, "ob"), piece(0, arguments='{"pattern":"a"}'))
    again = read(piece(0, "glob", '{"pattern":', id="1"), piece(0, "glob", '"a"}', id="1"))
    assert calls_in(fragments) == calls_in(again) == [("glob", {"pattern": "a"})]


def test_tokens_counted_in_floats_are_tokens() -> None:
    usage = {"prompt_tokens": 10.0, "completion_tokens": 2.0, "total_tokens": 12.0}
    events = read(delta(content="hi"), {"choices": [], "usage": usage})
    assert Usage(prompt=10, output=2, total=12) in events


def test_a_thought_in_tags_is_no_text_however_it_is_cut() -> None:
    events = read(*(delta(content=char) for char in "<think>Hm.</think>\n\nHello, <think> is a tag."))
    assert text_in(events) == "Hello, <think> is a tag."
    assert "".join(event.text for event in events if isinstance(event, ThoughtDelta)) == "Hm."


@pytest.mark.parametrize(
    "written",
    [
        '{"name": "glob", "arguments": {"pattern": "*.py"}}',
        "<function=glob>\n<parameter=pattern>\n*.py\n</parameter>\n</function>",
    ],
    ids=["json", "tags"],
)
def test_a_call_in_tags_is_a_call(written: str) -> None:
    events = read(*(delta(content=char) for char in f"Looking.<tool_call>\n{written}\n</tool_call>"))
    assert (text_in(events), calls_in(events)) == ("Looking.", [("glob", {"pattern": "*.py"})])


def test_a_call_in_tags_of_a_tool_that_is_not_declared_is_told_to_the_model_and_not_printed() -> None:
    events = read(delta(content='<tool_call>{"name": "rm", "arguments": {}}</tool_call>'))
    assert (text_in(events), calls_in(events)) == ("", [("rm", {})])


def test_a_byte_that_is_not_utf_8_is_replaced_and_costs_no_answer() -> None:
    chunk = b'{"candidates":[{"content":{"parts":[{"text":"caf\xe9"}]},"finishReason":"STOP"}]}'
    assert text_in(GeminiAnswer().absorb([chunk])) == "caf\ufffd"


@pytest.mark.anyio
@pytest.mark.parametrize("field", ["stream_options", "max_tokens"])
async def test_a_field_that_a_server_refuses_is_not_sent_again(field: str) -> None:
    bodies: list[dict[str, Any]] = []

    def serve(request: WireRequest, reply: Reply) -> None:
        bodies.append(msgspec.json.decode(request.body))
        if field in bodies[-1]:
            said = f"Unsupported parameter: '{field}'. Use 'max_completion_tokens' instead."
            reply.send(400, msgspec.json.encode({"error": {"message": said}}))
            return
        chunks = [delta(content="ok"), STOP]
        stream = b"".join(b"data: %b\n\n" % msgspec.json.encode(chunk) for chunk in chunks)
        reply.send(200, stream, {"content-type": "text/event-stream"})

    server = WireServer(serve)
    server.start()
    try:
        model = OpenAICompatible("qwen", server.url, options=ModelOptions(max_output_tokens=99))
        for _ in range(2):
            async with model.stream("", [b'{"role":"user","parts":[{"text":"hi"}]}'], []) as events:
                assert text_in([event async for event in events]) == "ok"
        await model.aclose()
    finally:
        server.close()
    assert [field in body for body in bodies][-1] is False
    assert len(bodies) <= 4
    assert bodies[-1].get("max_completion_tokens", bodies[-1].get("max_tokens")) == 99


def test_what_claude_puts_into_its_cache_is_counted_and_costs_a_quarter_more() -> None:
    counts = {"input_tokens": 100_000, "cache_creation_input_tokens": 400_000, "cache_read_input_tokens": 500_000}
    answer = AnthropicAnswer("here", Tools(PLAIN))
    message = {"type": "message", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}
    answer.absorb([msgspec.json.encode({**message, "usage": {**counts, "output_tokens": 0}})])
    usage = next(event for event in answer.finish() if isinstance(event, Usage))
    assert (usage.prompt, usage.cached, usage.written) == (1_000_000, 500_000, 400_000)
    price = price_of("claude-sonnet-4-5", {}, ANTHROPIC)
    assert price is not None
    assert price.of(usage) == pytest.approx(0.1 * 3 + 0.4 * 3 * 1.25 + 0.5 * 0.3)


def test_a_call_said_in_both_generations_words_at_once_is_one_call() -> None:
    arguments = ('{"pat', 'tern": "*"}')
    chunks = [
        delta(
            function_call={"name": "glob", "arguments": part},
            tool_calls=[{"index": 0, "id": "a", "function": {"name": "glob", "arguments": part}}],
        )
        for part in arguments
    ]
    assert calls_in(read(*chunks)) == [("glob", {"pattern": "*"})]
