"""What models and servers write that is no clean protocol, and what becomes of it."""

from typing import Any

import msgspec
import pytest

from dogu.contract.declaration import FunctionDeclaration
from dogu.contract.result import ToolResult
from dogu.models.anthropic import AnthropicAnswer
from dogu.models.call_arguments import read_arguments
from dogu.models.contents import function_response_content, user_content
from dogu.models.events import (
    Finished,
    FinishReason,
    FunctionCallEvent,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.models.gemini import Gemini, GeminiAnswer, KeyAccess
from dogu.models.gemini_wire import NO_SIGNATURE
from dogu.models.openai_answer import OpenAIAnswer
from dogu.models.openai_compatible import OpenAICompatible
from dogu.models.options import ModelOptions
from dogu.models.prices import ANTHROPIC, price_of
from dogu.models.reading import Mending
from dogu.models.responses import ResponsesAnswer
from dogu.models.retry import RetryPolicy
from dogu.models.schemas import PLAIN
from dogu.models.translation import Tools
from dogu.models.transport_errors import Timeouts
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
        ('{"a": "x\\ud83d", "\\ude00": ["\\ud83d\\ude00"]}', {"a": "x\ufffd", "\ufffd": ["\U0001f600"]}),
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
        "half of a character",
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


def test_pieces_of_calls_in_turn_with_one_index_and_ids_of_their_own_are_those_calls() -> None:
    begun = (piece(0, "glob", '{"pat', id="1"), piece(0, "glob", '{"pattern":', id="2"))
    events = read(*begun, piece(0, arguments='tern":"a"}', id="1"), piece(0, arguments='"b"}', id="2"))
    assert calls_in(events) == [("glob", {"pattern": "a"}), ("glob", {"pattern": "b"})]


@pytest.mark.parametrize("written", ['{"pattern": "\\ud83d"}', '{"pattern": "\\ud83d"'], ids=["whole", "unclosed"])
def test_half_of_a_character_in_arguments_goes_into_the_history_as_one_that_is_whole(written: str) -> None:
    in_text = read(
        delta(content=f'<tool_call>{{"name": "glob", "arguments": {written.removesuffix("}")}}}}}</tool_call>')
    )
    for events in (read(piece(0, "glob", written, id="a")), in_text):
        assert calls_in(events) == [("glob", {"pattern": "\ufffd"})]
        assert isinstance(events[-1], Finished)
        content = msgspec.json.decode(events[-1].content)
        assert content["parts"][-1]["functionCall"]["args"] == {"pattern": "\ufffd"}


def test_an_empty_call_is_none() -> None:
    events = read(delta(tool_calls={}), delta(content="Hi.", tool_calls=[{}]))
    assert (text_in(events), calls_in(events)) == ("Hi.", [])


def numbered(number: int, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": number, **fields}]}


@pytest.mark.parametrize("number", [0, 1, -1])
def test_the_answer_that_came_first_is_read_whatever_its_number(number: int) -> None:
    chunks = [numbered(number, delta={"content": "It "}), numbered(number + 2, delta={"content": "no"})]
    chunks += [numbered(number, delta={"content": "is."}, finish_reason="stop")]
    assert text_in(read(*chunks)) == "It is."
    part = {"candidates": [{"index": number, "content": {"parts": [{"text": "It is."}]}, "finishReason": "STOP"}]}
    answer = GeminiAnswer()
    assert text_in(answer.absorb([msgspec.json.encode(part)])) == "It is."
    assert isinstance(answer.finish()[-1], Finished)


def test_an_answer_that_is_said_whole_beside_its_pieces_is_said_once_and_ends_with_the_last() -> None:
    answer = OpenAIAnswer("here")
    shown: list[ModelEvent] = []
    for so_far, said in (("It", "It"), ("It is", " is")):
        whole = {"role": "assistant", "content": so_far}
        shown += answer.absorb([msgspec.json.encode(numbered(0, delta={"content": said}, message=whole))])
        assert not answer.is_complete()
    last = numbered(0, message={"content": "It is.", "tool_calls": None}, finish_reason="stop")
    shown += answer.absorb([msgspec.json.encode(last)])
    assert text_in([*shown, *answer.finish()]) == "It is."


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


def begun(block: dict[str, Any], *deltas: dict[str, Any]) -> list[ModelEvent]:
    """Return the events of an answer of Claude whose first block begins as `block`."""
    answer = AnthropicAnswer("here", Tools(PLAIN))
    events: list[dict[str, Any]] = [{"type": "content_block_start", "index": 0, "content_block": block}]
    events += [{"type": "content_block_delta", "index": 0, "delta": each} for each in deltas]
    events += [{"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "."}}]
    events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}]
    return [*answer.absorb([msgspec.json.encode(event) for event in events]), *answer.finish()]


@pytest.mark.parametrize("odd", [None, 3, [], {}])
def test_a_block_begins_with_any_value_in_its_fields(odd: object) -> None:
    assert text_in(begun({"type": "text", "text": odd}, {"type": "text_delta", "text": "hi"})) == "hi."
    thought = ({"type": "thinking_delta", "thinking": "m"}, {"type": "signature_delta", "signature": "S"})
    for block in ({"type": "thinking", "thinking": odd, "signature": odd}, {"type": odd, "citations": odd}):
        finished = begun(block, *thought)[-1]
        assert isinstance(finished, Finished)
        first = msgspec.json.decode(finished.content)["parts"][0]
        assert (first["text"], first["wire"].get("signature") or first["wire"]["block"]["signature"]) == ("m", "S")
    used = begun({"type": "tool_use", "id": odd, "name": odd, "input": odd})
    assert calls_in(used)[0][0] == "unnamed_function"


@pytest.mark.parametrize("bad", [b"\xc4", b"\\ud83d"])
@pytest.mark.parametrize(
    "part",
    [
        b'{"functionCall":{"name":"gl@ob","args":{}}}',
        b'{"functionCall":{"name":"glob","args":{"pattern":"@"}}}',
        b'{"functionCall":{"name":"glob","id":"@","args":{"@":1}},"x":"@"}',
        b'{"text":"hi","thoughtSignature":"S@"}',
        b'{"text":"hi","thought":true,"x@":"@"}',
        b'{"executableCode":{"code":"@"}}',
    ],
)
def test_nothing_that_is_no_character_passes_a_gemini_answer(part: bytes, bad: bytes) -> None:
    answer = GeminiAnswer()
    answer.absorb([b'{"candidates":[{"content":{"parts":[' + part.replace(b"@", bad) + b"]}}]}"])
    answer.absorb([b'{"candidates":[{"content":{"parts":[{"text":"end"}]},"finishReason":"STOP"}]}'])
    finished = answer.finish()[-1]
    assert isinstance(finished, Finished)
    assert "end" in msgspec.json.encode(msgspec.json.decode(finished.content)).decode()


def test_a_character_in_two_events_is_one() -> None:
    mending = Mending()
    first, second = b'{"text":"a\\ud83d","x":1}', b'{"text":"\\ude00b \\ud83d\\ude00 \\\\ud83d"}'
    said = [msgspec.json.decode(mending.mend(payload))["text"] for payload in (first, second)]
    assert "".join(said) == "a\U0001f600b \U0001f600 \\ud83d"
    assert msgspec.json.decode(mending.mend(b'["\\ude00","\\ud83dx","\\ud83d"]')) == ["\ufffd", "\ufffdx", ""]


def feed(answer: Any, payload: bytes, times: int) -> None:
    for _ in range(times):
        answer.absorb([payload])


@pytest.mark.parametrize("piece_of_it", ["  \n", "\\\\n", "0,"])
@pytest.mark.parametrize("wire", [OpenAIAnswer, AnthropicAnswer, ResponsesAnswer])
def test_arguments_without_end_are_left_and_the_model_is_told(wire: type[Any], piece_of_it: str) -> None:
    events = {
        OpenAIAnswer: piece(0, "glob", piece_of_it),
        AnthropicAnswer: {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": piece_of_it},
        },
        ResponsesAnswer: {"type": "response.function_call_arguments.delta", "delta": piece_of_it},
    }
    answer, payload = wire(), msgspec.json.encode(events[wire])
    with pytest.raises(ModelError, match="without end") as caught:
        feed(answer, payload, 10_000)
    assert caught.value.kind is ModelErrorKind.LOOP
    assert "repeated" in caught.value.hint
    assert caught.value.is_retryable


def test_long_arguments_that_come_whole_or_do_not_repeat_are_taken() -> None:
    answer = OpenAIAnswer()
    answer.absorb([msgspec.json.encode(piece(0, "glob", '{"pattern": "' + "x" * 20_000 + '"}'))])
    for number in range(4_000):
        answer.absorb([msgspec.json.encode(piece(1, "glob", f"{number},"))])


KEPT_ALIVE: list[tuple[type[Any], dict[str, Any], dict[str, Any]]] = [
    (OpenAIAnswer, delta(content="", role="assistant"), delta(content="x")),
    (OpenAIAnswer, delta(tool_calls=[{"index": 0, "id": "c", "function": {"arguments": ""}}]), piece(0, "glob")),
    (AnthropicAnswer, {"type": "ping"}, {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}}),
    (
        ResponsesAnswer,
        {"type": "response.in_progress", "response": {"status": "in_progress"}},
        {"type": "response.output_text.delta", "delta": "x"},
    ),
    (
        GeminiAnswer,
        {"candidates": [{"content": {"parts": [{"text": ""}]}}], "usageMetadata": {"promptTokenCount": 3}},
        {"candidates": [{"content": {"parts": [{"text": "x"}]}}]},
    ),
]


@pytest.mark.parametrize(("wire", "silent", "saying"), KEPT_ALIVE)
def test_only_an_event_that_says_something_new_is_heard(
    wire: type[Any], silent: dict[str, Any], saying: dict[str, Any]
) -> None:
    answer = wire()
    answer.absorb([msgspec.json.encode(silent)] * 3)
    assert answer.heard == 0
    answer.absorb([msgspec.json.encode(saying)])
    assert answer.heard == 1


async def drained(model: OpenAICompatible) -> None:
    async with model.stream("", [b'{"role":"user","parts":[{"text":"hi"}]}'], []) as events:
        async for _ in events:
            pass


@pytest.mark.anyio
async def test_a_stream_that_is_only_kept_alive_ends() -> None:
    def serve(_request: WireRequest, reply: Reply) -> None:
        reply.begin()
        while True:
            reply.chunk(b'data: {"choices":[{"delta":{"content":""}}]}\n\n')
            reply.wait(0.02)

    server = WireServer(serve)
    server.start()
    options = ModelOptions(retry=RetryPolicy(tries=1), timeouts=Timeouts(silent_s=0.2))
    try:
        model = OpenAICompatible("qwen", server.url, options=options)
        with pytest.raises(ModelError, match="no data for"):
            await drained(model)
        await model.aclose()
    finally:
        server.close()


def test_a_call_whose_arguments_are_counted_as_the_next_one_is_one_call() -> None:
    parts = [
        delta(tool_calls=[{"index": 1, "id": None, "function": {"name": None, "arguments": text}}])
        for text in ('{"pat', 'tern": "*"}')
    ]
    assert calls_in(read(piece(0, "glob", id="c1"), *parts)) == [("glob", {"pattern": "*"})]


def test_what_arrived_with_an_error_is_said_before_it() -> None:
    payloads = [delta(content="half"), {"error": {"code": 500, "message": "x"}}]
    with pytest.raises(ModelError) as caught:
        OpenAIAnswer().absorb([msgspec.json.encode(payload) for payload in payloads])
    assert caught.value.said == [TextDelta("half")]


@pytest.mark.anyio
async def test_signatures_that_geminis_server_cannot_verify_stay_behind() -> None:
    bodies: list[bytes] = []

    def serve(request: WireRequest, reply: Reply) -> None:
        bodies.append(request.body)
        if b"ABCD" in request.body:
            said = {"code": 400, "message": "Thought signature is not valid.", "status": "INVALID_ARGUMENT"}
            reply.send(400, msgspec.json.encode({"error": said}))
            return
        chunk = {"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]}
        reply.send(200, b"data: " + msgspec.json.encode(chunk) + b"\n\n", {"content-type": "text/event-stream"})

    called = {"functionCall": {"name": "glob", "id": "a", "args": {}}, "thoughtSignature": "ABCD"}
    more = {"functionCall": {"name": "glob", "id": "b", "args": {}}}
    history = [
        user_content("hi"),
        msgspec.json.encode({"role": "model", "parts": [{"text": "Hm.", "thoughtSignature": "ABCD"}, called, more]}),
        function_response_content([(name, "glob", ToolResult("none")) for name in "ab"]),
    ]
    server = WireServer(serve)
    server.start()
    try:
        model = Gemini("gemini-3-pro", KeyAccess("k", server.url))
        for _ in range(2):
            async with model.stream("", history, []) as events:
                assert "hi" in [event.text async for event in events if isinstance(event, TextDelta)]
        await model.aclose()
    finally:
        server.close()
    assert len(bodies) == 3
    parts = msgspec.json.decode(bodies[-1])["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [None, NO_SIGNATURE, None]


@pytest.mark.parametrize(("why", "kind"), [("stream_incomplete", ModelErrorKind.INCOMPLETE), ("", None)])
def test_an_answer_that_the_server_left_for_a_reason_of_its_own_is_no_answer(
    why: str, kind: ModelErrorKind | None
) -> None:
    details = {"incomplete_details": {"reason": why}} if why else {}
    item = {"type": "message", "content": [{"type": "output_text", "text": "half"}]}
    answer = ResponsesAnswer()
    ended = {"type": "response.incomplete", "response": {"status": "incomplete", "output": [item], **details}}
    answer.absorb([msgspec.json.encode(ended)])
    if kind is None:
        finished = answer.finish()[-1]
        assert isinstance(finished, Finished)
        assert finished.reason is FinishReason.LENGTH
        return
    with pytest.raises(ModelError) as caught:
        answer.finish()
    assert (caught.value.kind, caught.value.is_retryable) == (kind, True)


@pytest.mark.parametrize(
    ("written", "args"),
    [("*** Begin Patch", {"pattern": "*** Begin Patch"}), ('{"pattern": "*"}', {"pattern": "*"})],
)
def test_a_custom_call_in_free_text_is_one_of_a_tool_that_takes_a_text(written: str, args: object) -> None:
    tools = Tools(PLAIN)
    schema = {"type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]}
    tools.encoded([FunctionDeclaration("glob", "Finds.", schema)])
    item = {"type": "custom_tool_call", "call_id": "c", "name": "glob", "input": written}
    answer = ResponsesAnswer("here", tools)
    ended = {"type": "response.completed", "response": {"status": "completed", "output": [item]}}
    answer.absorb([msgspec.json.encode(ended)])
    assert calls_in(answer.finish()) == [("glob", args)]


def test_what_groq_counts_is_counted_where_it_says_it() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    answer = OpenAIAnswer()
    answer.absorb([msgspec.json.encode({"choices": [{"delta": {"content": "hi"}}]})])
    answer.absorb([msgspec.json.encode({**STOP, "x_groq": {"id": "r", "usage": usage}})])
    answer.finish()
    assert (answer.usage().prompt, answer.usage().output) == (7, 3)


def test_why_claude_refused_is_told() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It may do harm."}
    answer = AnthropicAnswer()
    delta = {"stop_reason": "refusal", "stop_details": details}
    answer.absorb([msgspec.json.encode({"type": "message_delta", "delta": delta})])
    with pytest.raises(ModelError, match=r"refused to answer \(It may do harm\.\)"):
        answer.finish()


WRITTEN = "<tool_call>\n<function=glob>\n<parameter=pattern>\n*\n</parameter>\n</function>\n</tool_call>"


@pytest.mark.parametrize("said", [WRITTEN, f"So: {WRITTEN}", WRITTEN.replace("glob", "rm")])
@pytest.mark.parametrize("wire", [ResponsesAnswer, AnthropicAnswer])
def test_a_whole_answer_that_is_a_call_in_text_is_one_on_wires_with_calls_of_their_own(wire: Any, said: str) -> None:
    tools = Tools(PLAIN)
    tools.encoded([GLOB])
    answer = wire("here", tools)
    item = {"type": "message", "content": [{"type": "output_text", "text": said}]}
    ended: dict[type[Any], dict[str, Any]] = {
        ResponsesAnswer: {"type": "response.completed", "response": {"status": "completed", "output": [item]}},
        AnthropicAnswer: {"type": "message", "content": [{"type": "text", "text": said}], "stop_reason": "end_turn"},
    }
    answer.absorb([msgspec.json.encode(ended[wire])])
    events = answer.finish()
    assert calls_in(events) == ([("glob", {"pattern": "*"})] if said == WRITTEN else [])
    assert (b"functionCall" in events[-1].content) == (said == WRITTEN)


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ('[glob(pattern="*")]', [("glob", {"pattern": "*"})]),
        ("[glob(pattern='a'), glob()]", [("glob", {"pattern": "a"}), ("glob", {})]),
        ('[rm(path="/")]', []),
        ("[glob(x)]", []),
        ("[glob](https://example.com)", []),
        ("[1, 2]", []),
    ],
)
def test_a_list_of_calls_as_python_writes_them_is_read(said: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    events = read(*(delta(content=char) for char in said))
    assert calls_in(events) == calls
    assert text_in(events) == ("" if calls else said)
