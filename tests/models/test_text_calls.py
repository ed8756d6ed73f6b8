"""Tags and calls that a server leaves in its text: what is read as what, and what stays the text that it is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.events import FunctionCallEvent, ModelEvent, Retrying, TextDelta, ThoughtDelta
from dogu.models.openai_answer import Habits, OpenAIAnswer
from dogu.models.schemas import PLAIN
from dogu.models.text_calls import _FORMATS
from dogu.models.translation import Tools

F = FunctionDeclaration("f", "Does.", {"type": "object", "properties": {"a": {"type": "string"}}})
CALL = '<tool_call>{"name": "f", "arguments": {"a": "b"}}</tool_call>'
STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
SAMPLES = [sample for _, _, samples in _FORMATS for sample in samples]


def read(text: str, *, size: int = 3, habits: Habits | None = None, declared: bool = True) -> list[ModelEvent]:
    """Return the events of an answer whose text comes in pieces."""
    tools = Tools(PLAIN)
    tools.encoded([F] if declared else [])
    answer = OpenAIAnswer("here", tools, habits or Habits())
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    chunks = [*({"choices": [{"delta": {"content": piece}}]} for piece in pieces), STOP]
    shown = [event for chunk in chunks for event in answer.absorb([msgspec.json.encode(chunk)])]
    return [*shown, *answer.finish()]


def text_in(events: list[ModelEvent]) -> str:
    """Return the text that stands in the end."""
    text = ""
    for event in events:
        text = "" if isinstance(event, Retrying) else text + (event.text if isinstance(event, TextDelta) else "")
    return text


def thoughts_in(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ThoughtDelta))


def calls_in(events: list[ModelEvent]) -> list[tuple[str, dict[str, Any] | None]]:
    return [(event.name, event.args) for event in events if isinstance(event, FunctionCallEvent)]


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("written", SAMPLES)
def test_a_call_at_the_end_is_read_in_each_format(written: str, size: int) -> None:
    events = read(f"I look.\n{written}", size=size)
    assert (text_in(events).strip(), calls_in(events)) == ("I look.", [("f", {"a": "b"})])


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("token", ["<|im_end|>", "<|eot_id|>\n", "<｜end▁of▁sentence｜>"])
def test_a_token_that_ends_an_answer_is_no_text_and_is_one_elsewhere(token: str, size: int) -> None:
    assert text_in(read(f"Done.{token}", size=size)) == "Done."
    for said in (f"It ends by {token} always.", f"It ends by `{token}`"):
        assert text_in(read(said, size=size)) == said


@pytest.mark.parametrize("written", SAMPLES)
@pytest.mark.parametrize(
    "around",
    [
        "Write it so:\n```\n{}\n```\nThat is all.",
        "Write it so:\n~~~xml\n{}\n~~~",
        "It is `{}`.",
        "> {}",
        '"{}" is one.',
    ],
    ids=["fence", "fence at the end", "code", "quote", "quotation marks"],
)
def test_an_example_of_a_call_is_text(written: str, around: str) -> None:
    line = written.replace("\n", " ") if "\n" not in around else written
    if "```" in line and "```" in around:
        return
    said = around.format(line)
    events = read(said)
    assert (text_in(events), calls_in(events)) == (said, [])


@pytest.mark.parametrize("after", [" is how it is done.", "\n\nThat would delete it. I won't.", "\n</details>"])
def test_a_call_with_words_after_it_is_text(after: str) -> None:
    events = read(CALL + after)
    assert (text_in(events), calls_in(events)) == (CALL + after, [])


def test_a_call_of_a_server_that_makes_its_own_is_text() -> None:
    habits = Habits()
    habits.calls_natively = True
    assert calls_in(read(CALL, habits=habits)) == []
    assert text_in(read(CALL, habits=habits)) == CALL


def test_where_no_tool_was_offered_nothing_is_a_call() -> None:
    assert (text_in(read(CALL, declared=False)), calls_in(read(CALL, declared=False))) == (CALL, [])


def test_an_example_in_the_middle_does_not_hide_the_call_at_the_end() -> None:
    events = read(f"Not\n```\n{CALL}\n```\nand not `{CALL}` but:\n{CALL}\n{CALL}")
    assert calls_in(events) == [("f", {"a": "b"})] * 2


@pytest.mark.parametrize(
    "written",
    ["<tool_call>{broken: json</tool_call>", "<function=f><parameter=a>unclosed</function>", "[TOOL_CALLS][{]"],
)
def test_a_call_that_nobody_understands_is_told_to_the_model_and_not_printed(written: str) -> None:
    events = read(f"Now.\n{written}")
    assert (text_in(events).strip(), [args for _, args in calls_in(events)]) == ("Now.", [None])
    problem = next(event.problem for event in events if isinstance(event, FunctionCallEvent))
    assert "can't be read" in problem


@pytest.mark.parametrize("said", ["A call begins with <tool_call>", "The tags <tool_call> and </tool_call> mark one."])
def test_words_about_calls_are_text(said: str) -> None:
    assert (text_in(read(said)), calls_in(read(said))) == (said, [])


@pytest.mark.parametrize(
    ("said", "thought", "text"),
    [
        ("<thinking>one</thinking>end", "one", "end"),
        ("<thought>one</thought>end", "one", "end"),
        ("[THINK]one[/THINK]end", "one", "end"),
        ("<seed:think>one</seed:think>end", "one", "end"),
        ("◁think▷one◁/think▷end", "one", "end"),
        ("<think>one</think>mid<think>two</think>end", "onetwo", "midend"),
        ("Sure.\n<think>two</think>end", "two", "Sure.\nend"),
        ("<|channel|>analysis<|message|>one<|end|><|start|>assistant<|channel|>final<|message|>end", "one", "end"),
        ("secret</think>\n\nThe answer is 4.", "secret", "The answer is 4."),
        ("<think> is a tag, and `</think>` ends it", " is a tag, and `", "` ends it"),
        ("Write <think> and </think> around it.", "", "Write <think> and </think> around it."),
        ("```\n<think>x</think>\n```\nSo.", "", "```\n<think>x</think>\n```\nSo."),
        ("Done </think> is the end.", "", "Done </think> is the end."),
    ],
)
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_thoughts_are_told_from_text(said: str, thought: str, text: str, size: int) -> None:
    events = read(said, size=size)
    assert (thoughts_in(events), text_in(events)) == (thought, text)


def test_a_thought_whose_beginning_stands_in_the_prompt_is_known_the_next_time() -> None:
    habits = Habits()
    read("secret</think>\n\nOne.", habits=habits)
    events = read("more</think>\n\nTwo.", habits=habits)
    assert not [event for event in events if isinstance(event, Retrying)]
    assert (thoughts_in(events), text_in(events)) == ("more", "Two.")
    assert text_in(read("No thought this time.", habits=habits)) == "No thought this time."


def test_json_that_is_no_call_is_text() -> None:
    said = '{"name": "Ada", "born": 1815}'
    assert (text_in(read(said)), calls_in(read(said))) == (said, [])


def test_code_that_is_indented_is_an_example() -> None:
    said = f"Qwen writes:\n\n    {CALL}"
    assert (text_in(read(said)), calls_in(read(said))) == (said, [])


def test_what_a_model_takes_for_the_answer_to_its_call_is_dropped() -> None:
    events = read(f"{CALL}\n<tool_response>\nmade up\n</tool_response>\nSo it is made up.")
    assert (text_in(events), calls_in(events)) == ("", [("f", {"a": "b"})])


def test_a_call_in_text_that_was_cut_is_told_to_be_one() -> None:
    tools = Tools(PLAIN)
    tools.encoded([F])
    answer = OpenAIAnswer("here", tools)
    delta = {"content": '<tool_call>{"name": "f", "arguments": {"a": "b'}
    answer.absorb([msgspec.json.encode({"choices": [{"delta": delta, "finish_reason": "length"}]})])
    events = answer.finish()
    assert calls_in(events) == [("f", None)]
    assert "limit of output tokens" in next(each.problem for each in events if isinstance(each, FunctionCallEvent))


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>f\n" + "<arg_key>a</arg_key><arg_value>b</arg_value>" * 2_000 + "c</tool_call>",
        "<tool_call>f\n" + "<arg_key>" * 5_000 + "</arg_key><arg_value>" * 5_000,
        "<|channel|>o" + "si" * 50_000,
    ],
)
def test_a_call_that_does_not_end_takes_no_time(text: str) -> None:
    assert not calls_in(read(text, size=len(text)))
