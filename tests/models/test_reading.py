"""One odd field costs no answer: what servers send beside the protocol, on each wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from dogu.contract.declaration import FunctionDeclaration
from dogu.contract.result import ToolResult
from dogu.models.addresses import endpoint
from dogu.models.anthropic import AnthropicAnswer, message_of
from dogu.models.contents import Kept, function_response_content
from dogu.models.counts import Counts
from dogu.models.events import Finished, FunctionCallEvent, ModelEvent, TextDelta, Usage
from dogu.models.gemini import GeminiAnswer
from dogu.models.http_model import Answer
from dogu.models.openai_answer import OpenAIAnswer
from dogu.models.openai_compatible import Echo, messages_of
from dogu.models.prices import Price
from dogu.models.responses import ResponsesAnswer, items_of
from dogu.models.schemas import PLAIN
from dogu.models.translation import HistoryContent, IdRule, Tools, Translation

CHAT: list[Any] = [{"choices": [{"delta": {"content": "hi"}}]}, {"choices": [{"finish_reason": "stop"}]}]
RESPONSES: list[Any] = [
    {"type": "response.output_text.delta", "delta": "hi"},
    {"type": "response.completed", "response": {"status": "completed"}},
]
MESSAGES: list[Any] = [
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
]
GEMINI: list[Any] = [
    {"candidates": [{"content": {"parts": [{"text": "hi"}]}}]},
    {"candidates": [{"finishReason": "STOP"}]},
]
WIRES: list[tuple[type[Any], list[Any]]] = [
    (OpenAIAnswer, CHAT),
    (ResponsesAnswer, RESPONSES),
    (AnthropicAnswer, MESSAGES),
    (GeminiAnswer, GEMINI),
]


def events_of(answer: Answer, payloads: Sequence[object]) -> list[ModelEvent]:
    raw = [each if isinstance(each, bytes) else msgspec.json.encode(each) for each in payloads]
    return [*(event for each in raw for event in answer.absorb([each])), *answer.finish()]


def text_in(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def content_of(events: list[ModelEvent]) -> HistoryContent:
    assert isinstance(events[-1], Finished)
    return msgspec.json.decode(events[-1].content, type=HistoryContent)


@pytest.mark.parametrize(("answer", "payloads"), WIRES)
@pytest.mark.parametrize(
    "odd", [b"", b"ping", b'"ping"', b"null", b'{"foo":1}', b'{"x":NaN}', b'{"x":"\xff"}', b'{"x":"\\ud83d"}']
)
def test_what_says_nothing_is_passed_over(answer: type[Any], payloads: list[Any], odd: bytes) -> None:
    assert text_in(events_of(answer(), [odd, *payloads])) == "hi"


@pytest.mark.parametrize(("answer", "payloads"), WIRES)
@pytest.mark.parametrize("late", [b"[DONE]", b'"[DONE]"', b"{bad", b'{"error":{"message":"late"}}', b"null"])
def test_a_complete_answer_can_not_fail(answer: type[Any], payloads: list[Any], late: bytes) -> None:
    assert text_in(events_of(answer(), [*payloads, late])) == "hi"


@pytest.mark.parametrize(
    ("answer", "payloads"),
    [
        (OpenAIAnswer, [{"choices": [None, {"index": "0", "delta": {"content": 42}, "logprobs": 1}]}, CHAT[1]]),
        (OpenAIAnswer, [{"choices": {"delta": {"content": "42"}}, "usage": []}, CHAT[1]]),
        (OpenAIAnswer, [{"choices": [{"text": "42", "finish_reason": "eos"}], "error": ""}]),
        (ResponsesAnswer, [{"type": "response.output_text.delta", "delta": {"text": "42"}}, RESPONSES[1]]),
        (ResponsesAnswer, [{"type": "x", "delta": 1, "item": "y"}, {**RESPONSES[0], "delta": "42"}, RESPONSES[1]]),
        (
            AnthropicAnswer,
            [{"type": "content_block_start", "index": None, "content_block": {"text": "42"}}, MESSAGES[1]],
        ),
        (GeminiAnswer, [{"candidates": [None, {"content": {"parts": ["x", {"text": 42}]}, "finishReason": "STOP"}]}]),
    ],
)
def test_each_field_is_taken_by_itself(answer: type[Any], payloads: list[Any]) -> None:
    assert text_in(events_of(answer(), payloads)) == "42"


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ([{"prompt_tokens": "10", "completion_tokens": 5.0}], Usage(10, 5, total=15)),
        ([{"input_tokens": 10, "output_tokens": 5}], Usage(10, 5, total=15)),
        (
            [{"prompt_tokens": 9, "completion_tokens": 3}, {"prompt_tokens": 0, "completion_tokens": 0}],
            Usage(9, 3, total=12),
        ),
        ([{"total_tokens": 15}], Usage(15, total=15)),
        ([{"prompt_tokens": 10, "prompt_tokens_details": []}], Usage(10, total=10)),
        ([{"prompt_tokens": 10, "cached_tokens": 99}], Usage(10, cached=10, total=10)),
        ([{"prompt_tokens": -10, "completion_tokens": 1e300}], Usage(uncounted=1)),
        ([{"prompt_tokens": float("inf")}, [], "x"], Usage(uncounted=1)),
        ([{"promptTokenCount": 4, "candidatesTokenCount": 2, "thoughtsTokenCount": 1}], Usage(4, 2, 1, total=7)),
    ],
)
def test_counts_are_read_under_any_name_and_in_any_type(told: list[object], usage: Usage) -> None:
    counts = Counts()
    for each in told:
        counts.take(each)
    assert counts.usage() == usage


def test_kimis_counts_stand_in_its_choice() -> None:
    choice = {
        "delta": {"content": "hi"},
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 7, "completion_tokens": 1},
    }
    assert Usage(7, 1, total=8) in events_of(OpenAIAnswer(), [{"choices": [choice]}])


def test_what_was_not_counted_costs_nobody_knows_what() -> None:
    from dogu.agent.budget import Ledger

    ledger = Ledger(lambda _name: Price(1.0, 0.1, 2.0))
    ledger.add("m", Usage(10, 5, total=15))
    ledger.add("m", Usage(uncounted=1))
    assert ledger.unpriced == ["m"]
    free = Ledger(lambda _name: Price(0.0, 0.0, 0.0))
    free.add("m", Usage(uncounted=1))
    assert (free.unpriced, free.cost_usd) == ([], 0.0)


@pytest.mark.parametrize("index", [None, 0])
def test_items_without_places_of_their_own_are_all_there(index: int | None) -> None:
    def done(call_id: str) -> dict[str, Any]:
        item = {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}
        return {"type": "response.output_item.done", "item": item, **({} if index is None else {"output_index": index})}

    events = events_of(ResponsesAnswer(), [done("a"), done("b"), RESPONSES[1]])
    assert [event.call_id for event in events if isinstance(event, FunctionCallEvent)] == ["a", "b"]
    blocks = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": each, "name": "f"}}
        for each in "ab"
    ]
    events = events_of(AnthropicAnswer(), [*blocks, MESSAGES[1]])
    assert [event.call_id for event in events if isinstance(event, FunctionCallEvent)] == ["a", "b"]


def test_calls_of_responses_that_are_never_said_to_be_done_are_calls() -> None:
    def begun(index: int, name: str) -> dict[str, Any]:
        item = {"type": "function_call", "call_id": f"c{index}", "name": name, "arguments": ""}
        return {"type": "response.output_item.added", "output_index": index, "item": item}

    def piece(index: int, text: str) -> dict[str, Any]:
        return {"type": "response.function_call_arguments.delta", "output_index": index, "delta": text}

    pieces = [piece(0, '{"path":'), piece(1, '{"pattern": "*"}'), piece(0, ' "a"}')]
    events = events_of(ResponsesAnswer(), [begun(0, "list_directory"), begun(1, "glob"), *pieces, RESPONSES[1]])
    calls = [(event.name, event.args) for event in events if isinstance(event, FunctionCallEvent)]
    assert calls == [("list_directory", {"path": "a"}), ("glob", {"pattern": "*"})]


def test_a_message_of_responses_goes_back_as_it_came() -> None:
    pieces = [
        {"type": "output_text", "text": "look", "annotations": [{"type": "url_citation", "url": "u"}]},
        {"type": "output_text", "text": "more"},
    ]
    item = {"type": "message", "id": "m", "role": "assistant", "phase": "commentary", "content": pieces}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    content = content_of(events_of(ResponsesAnswer("here"), [done, RESPONSES[1]]))
    assert items_of(content, "here") == [item]
    assert items_of(content, "elsewhere") == [{"role": "assistant", "content": "lookmore"}]


def test_blocks_of_claude_go_back_as_they_came() -> None:
    def begin(index: int, block: dict[str, Any]) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def delta(index: int, **fields: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": fields}

    payloads = [
        begin(0, {"type": "thinking", "thinking": "", "signature": ""}),
        delta(0, type="thinking_delta", thinking="mé"),
        delta(0, type="signature_delta", signature="SIG=="),
        begin(1, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        delta(1, type="input_json_delta", partial_json='{"query":"x"}'),
        begin(2, {"type": "text", "text": ""}),
        delta(2, type="text_delta", text="cited"),
        delta(2, type="citations_delta", citation={"cited_text": "q"}),
        MESSAGES[1],
    ]
    content = content_of(events_of(AnthropicAnswer("here"), payloads))
    assert message_of(content, "here")[0]["content"] == [
        {"type": "thinking", "thinking": "mé", "signature": "SIG=="},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "text", "text": "cited", "citations": [{"cited_text": "q"}]},
    ]


@pytest.mark.parametrize(
    ("first", "second", "back"),
    [
        ({"reasoning_content": ""}, {"reasoning": "mm"}, {"reasoning": "mm"}),
        ({"reasoning_content": "mm", "reasoning": "mm"}, {}, {"reasoning_content": "mm", "reasoning": "mm"}),
    ],
)
def test_thoughts_go_back_in_the_fields_they_came_in(
    first: dict[str, str], second: dict[str, str], back: dict[str, str]
) -> None:
    payloads = [{"choices": [{"delta": each}]} for each in (first, second, {"content": "hi"})]
    content = content_of(events_of(OpenAIAnswer("here"), [*payloads, CHAT[1]]))
    assert messages_of(content, "here", Echo()) == [{"role": "assistant", "content": "hi", **back}]


def test_arguments_over_several_lines_go_back_as_they_were_written() -> None:
    written = '{\n  "a": 1.50\n}'
    piece = {"index": 0, "id": "c", "function": {"name": "f", "arguments": written}}
    content = content_of(events_of(OpenAIAnswer("here"), [{"choices": [{"delta": {"tool_calls": [piece]}}]}, CHAT[1]]))
    (message,) = messages_of(content, "here", Echo())
    assert message["tool_calls"][0]["function"]["arguments"] == written
    assert b"\n" not in msgspec.json.encode(content)


def test_what_contents_come_to_is_made_once_and_joined() -> None:
    made: list[bytes] = []

    def make(content: bytes) -> bytes:
        made.append(content)
        return b"" if content.startswith(b"-") else content.upper()

    kept = Kept(make)
    assert (bytes(kept.joined([])), kept.last_at()) == (b"", 0)
    assert (bytes(kept.joined([b"-", b"a"])), kept.last_at()) == (b"A", 0)
    assert (bytes(kept.joined([b"-", b"a", b"b", b"-"])), kept.last_at()) == (b"A,B", 2)
    assert bytes(kept.joined([b"-", b"a", b"b", b"-", b"c"])) == b"A,B,C"
    assert len(made) == 5
    assert (bytes(kept.joined([b"-", b"a", b"x", b"y"])), kept.last_at()) == (b"A,X,Y", 4)
    assert made[5:] == [b"x", b"y"]
    assert bytes(kept.joined([b"-"])) == b""
    assert bytes(kept.joined([b"z", b"a"])) == b"Z,A"


def test_contents_after_one_that_could_not_be_made_are_made_when_it_can() -> None:
    refused = {b"b"}

    def make(content: bytes) -> bytes:
        if content in refused:
            raise ValueError("refused")
        return content

    kept = Kept(make)
    with pytest.raises(ValueError, match="refused"):
        kept.joined([b"a", b"b", b"c"])
    refused.clear()
    assert bytes(kept.joined([b"a", b"b", b"c"])) == b"a,b,c"


def rounds(*ids: str) -> list[bytes]:
    history: list[bytes] = []
    for call_id in ids:
        call = {"functionCall": {"id": call_id, "name": "f", "args": {}}}
        history.append(msgspec.json.encode({"role": "model", "parts": [call]}))
        history.append(function_response_content([(call_id, "f", ToolResult("ok"))]))
    return history


def ids_sent(rule: IdRule, history: list[bytes]) -> list[tuple[str, str]]:
    translation = Translation(lambda content: messages_of(content, "here", Echo()), rule, "here")
    sent = msgspec.json.decode(b"[" + translation.joined(history) + b"]")
    assert msgspec.json.decode(b"[" + translation.joined(history) + b"]") == sent
    calls = [message["tool_calls"][0]["id"] for message in sent[::2]]
    return list(zip(calls, [message["tool_call_id"] for message in sent[1::2]], strict=True))


def test_ids_are_what_a_wire_takes_and_each_once() -> None:
    history = rounds("a.b", "a:b", "t", "t", "c" * 300, "t")
    for rule in (IdRule(), IdRule(40), IdRule(9, is_exact=True)):
        sent = ids_sent(rule, history)
        assert all(call == answer for call, answer in sent)
        assert len({call for call, _ in sent}) == 6
        assert all(len(call) <= rule.longest and call.replace("-", "").replace("_", "").isalnum() for call, _ in sent)
    assert ids_sent(IdRule(), rounds("t", "u")) == [("t", "t"), ("u", "u")]


def test_what_was_translated_stays_and_what_follows_a_change_is_done_anew() -> None:
    seen: list[str] = []

    def translate(content: HistoryContent) -> list[dict[str, Any]]:
        seen.append(content.role)
        return messages_of(content, "here", Echo())

    def ids() -> list[str]:
        rows = msgspec.json.decode(b"[" + translation.joined(history) + b"]")
        return [row["tool_calls"][0]["id"] for row in rows[::2]]

    translation, history = Translation(translate, IdRule(), "here"), rounds("t", "u", "t", "t")
    first = ids()
    assert len({*first}) == 4
    history += rounds("t")
    assert ids()[:4] == first
    assert len(seen) == 10
    del history[2:4]  # as a compaction or a rewinding does
    assert ids()[:3] == [first[0], *first[2:]]
    assert len(seen) == 16


@pytest.mark.parametrize(
    "written", ["functions.glob:0", "default_api.glob", " glob ", "glob<|channel|>commentary", "Glob", "`glob`"]
)
def test_a_tool_is_known_by_the_names_that_templates_give_it(written: str) -> None:
    tools = Tools(PLAIN)
    tools.encoded([FunctionDeclaration("glob", "Finds.", {"type": "object", "properties": {}})])
    assert tools.name_of(written) == "glob"
    assert tools.name_of("blob") == "blob"


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://x/v1", "/chat/completions", "https://x/v1/chat/completions"),
        ("https://x/v1/chat/completions/", "/chat/completions", "https://x/v1/chat/completions"),
        ("https://x/d?api-version=1", "/chat/completions", "https://x/d/chat/completions?api-version=1"),
        ("https://x/v1/messages", "/v1/messages", "https://x/v1/messages"),
        ("https://x/anthropic/", "/v1/messages", "https://x/anthropic/v1/messages"),
        ("https://x/v1beta", "/v1beta/models/m:go?alt=sse", "https://x/v1beta/models/m:go?alt=sse"),
        ("https://x/?k=v", "/v1beta/models/m:go?alt=sse", "https://x/v1beta/models/m:go?k=v&alt=sse"),
    ],
)
def test_an_address_says_nothing_twice_and_keeps_its_query(base: str, path: str, url: str) -> None:
    assert endpoint(base, path) == url


def test_a_name_said_again_at_the_end_is_no_second_call() -> None:
    pieces = [("f", '{"a":'), ("f", '"b"}'), ("f", "")]
    payloads = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": name, "arguments": text}}]}}]}
        for name, text in pieces
    ]
    events = events_of(OpenAIAnswer(), [*payloads, CHAT[1]])
    assert [event.args for event in events if isinstance(event, FunctionCallEvent)] == [{"a": "b"}]


def test_of_several_choices_the_one_that_comes_first_is_the_answer() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": "stop"}]}
    assert text_in(events_of(OpenAIAnswer(), [CHAT[0], other, *CHAT[1:]])) == "hi"
    assert text_in(events_of(OpenAIAnswer(), [other, *CHAT])) == "B"
    second = {"candidates": [{"index": 1, "content": {"parts": [{"text": "B"}]}, "finishReason": "STOP"}]}
    assert text_in(events_of(GeminiAnswer(), [GEMINI[0], second, *GEMINI[1:], second])) == "hi"
    assert text_in(events_of(GeminiAnswer(), [second, *GEMINI])) == "B"


def thought_back(*deltas: dict[str, Any]) -> dict[str, Any]:
    """Return the model's message as it goes back to a chat server that answered so."""
    call = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "glob", "arguments": "{}"}}]}
    chunks = [{"choices": [{"delta": each}]} for each in (*deltas, call)]
    content = content_of(events_of(OpenAIAnswer("here"), [*chunks, CHAT[1]]))
    return messages_of(content, "here", Echo())[0]


def test_thinking_blocks_in_pieces_without_an_index_are_one_until_the_signature() -> None:
    def block(thinking: str, signature: str = "") -> dict[str, Any]:
        return {"type": "thinking", "thinking": thinking, "signature": signature}

    message = thought_back(
        {"thinking_blocks": [block("a")]},
        {"thinking_blocks": [block("b")]},
        {"thinking_blocks": [block("", "S1")]},
        {"thinking_blocks": [block("c"), {"type": "redacted_thinking", "data": "D"}]},
        {"thinking_blocks": [{"type": "redacted_thinking", "data": "E"}]},
    )
    assert message["thinking_blocks"] == [
        block("ab", "S1"),
        block("c"),
        {"type": "redacted_thinking", "data": "D"},
        {"type": "redacted_thinking", "data": "E"},
    ]


def test_mistrals_thoughts_go_back_within_the_content() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    text = {"type": "text", "text": "Look."}
    assert thought_back({"content": [thought]}, {"content": [text]})["content"] == [thought, text]


@pytest.mark.parametrize("has_calls", [True, False])
def test_a_server_that_wants_thoughts_gets_them_with_every_message_of_the_models(has_calls: bool) -> None:
    echo = Echo()
    said = '{"error":{"message":"The `reasoning_content` in the thinking mode must be passed back to the API."}}'
    assert echo.learns(said, list[None]().clear)
    call: list[Any] = [{"functionCall": {"name": "glob", "args": {}}}] if has_calls else []
    said_before = msgspec.json.encode({"role": "model", "parts": [{"text": "hi"}, *call]})
    content = msgspec.json.decode(said_before, type=HistoryContent)
    assert messages_of(content, "here", echo)[0]["reasoning_content"].strip() == ""
    assert messages_of(content, "here", echo)[0]["reasoning_content"]


def test_a_foreign_refusal_teaches_nothing_about_thoughts() -> None:
    echo = Echo()
    for said in (
        '{"error":{"message":"Unsupported parameter: \'temperature\' is not supported with reasoning models."}}',
        '{"error":{"message":"no reasoning_effort here", "param":"reasoning_effort"}}',
        "reasoning models cost more",
    ):
        assert not echo.learns(said, list[None]().clear)
    assert echo.learns('{"error":{"message":"property \'reasoning\' is unsupported"}}', list[None]().clear)
    assert not echo.gives_thoughts_back


def test_reasoning_that_led_to_nothing_stays_behind() -> None:
    reasoning = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "E"}
    events = [
        {"type": "response.output_item.done", "output_index": 0, "item": reasoning},
        {
            "type": "response.incomplete",
            "response": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        },
    ]
    content = content_of(events_of(ResponsesAnswer("here"), events))
    assert items_of(content, "here") == []
