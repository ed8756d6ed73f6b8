"""Whatever a server sends, an answer is read or refused as a ModelError, never anything else."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.models.call_arguments import call_id_of, read_arguments
from dogu.models.events import Finished, ModelError, ModelErrorKind
from dogu.models.gemini import GeminiAnswer
from dogu.models.openai_answer import OpenAIAnswer
from dogu.testing.fake_gemini_rules import check_request

SCALARS: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
KEYS = st.sampled_from(
    ["candidates", "content", "parts", "text", "thought", "functionCall", "name", "args", "id", "finishReason", "error"]
)
OPENAI_KEYS = st.sampled_from(
    ["choices", "delta", "content", "tool_calls", "function", "name", "arguments", "index", "id", "finish_reason"]
)


def values(keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
    )


@given(st.lists(values(KEYS), max_size=3))
def test_any_json_is_an_answer_of_gemini_or_a_model_error(chunks: list[Any]) -> None:
    answer = GeminiAnswer()
    try:
        answer.absorb([msgspec.json.encode(chunk) for chunk in chunks])
        answer.finish()
    except ModelError:
        return


@given(st.lists(values(KEYS), min_size=1, max_size=4))
def test_any_parts_give_a_content_that_the_wire_takes_back(parts: list[Any]) -> None:
    answer = GeminiAnswer()
    chunk = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    try:
        answer.absorb([msgspec.json.encode(chunk)])
        finished = answer.finish()[-1]
    except ModelError:
        return
    assert isinstance(finished, Finished)
    content = msgspec.json.decode(finished.content)
    assert content["role"] == "model"
    assert len([part for part in content["parts"] if part.get("functionCall") is not None]) == len(finished.calls)
    answers = [{"functionResponse": {"id": call.call_id, "name": call.name, "response": {}}} for call in finished.calls]
    if finished.calls and all(call.name.isidentifier() and call.name.isascii() for call in finished.calls):
        user: dict[str, Any] = {"role": "user", "parts": [{"text": "hi"}]}
        parts = [part for part in content["parts"] if part.get("functionCall") is not None]
        calls = {"role": "model", "parts": parts}
        are_known = all(set(part) <= {"functionCall", "thought"} for part in parts)
        if are_known and all(set(part["functionCall"]) <= {"name", "args", "id"} for part in parts):
            check_request({"contents": [user, calls, {"role": "user", "parts": answers}]}, generation=2)


@given(st.lists(values(OPENAI_KEYS), max_size=3))
def test_any_json_is_an_answer_of_chat_completions_or_a_model_error(chunks: list[Any]) -> None:
    answer = OpenAIAnswer()
    try:
        answer.absorb([msgspec.json.encode(chunk) for chunk in chunks])
        answer.finish()
    except ModelError:
        return


@pytest.mark.parametrize("answer", [GeminiAnswer(), OpenAIAnswer()], ids=["gemini", "openai"])
def test_json_nested_without_end_is_refused(answer: GeminiAnswer | OpenAIAnswer) -> None:
    with pytest.raises(ModelError) as caught:
        answer.absorb([b'{"candidates":' + b"[" * 100_000, b'{"choices":' + b"[" * 100_000])
    assert caught.value.kind is ModelErrorKind.MALFORMED


@pytest.mark.parametrize(
    ("raw", "args"), [("", {}), ("null", {}), ('""', {}), ("{}", {}), ('"{}"', {}), ('{"a":1}', {"a": 1}), ("[]", None)]
)
def test_arguments_are_an_object_or_a_problem(raw: str, args: dict[str, Any] | None) -> None:
    assert read_arguments(raw)[0] == args
    assert bool(read_arguments(raw)[1]) is (args is None)


def test_arguments_nested_without_end_are_a_problem() -> None:
    args, problem = read_arguments('{"a":' + "[" * 100_000)
    assert args is None
    assert "send an object" in problem
    cut = '{"content": "' + 'say \\"so\\"\\n' * 30_000
    assert read_arguments(cut, is_whole=False)[0] is None


def test_an_id_that_is_missing_or_taken_is_replaced_by_one_of_ours() -> None:
    assert call_id_of("a", []) == "a"
    assert call_id_of("a", ["a"]) != "a"
    assert call_id_of(None, []) != call_id_of("", [])
