"""The final answer's shape: asked for as each provider's structured output where that can say it, else as a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, cast

import pydantic
import pytest

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.answer_shape import CLAUDE, GEMINI, STRICT, in_dialect
from dogu.models.anthropic import Anthropic
from dogu.models.contents import user_content
from dogu.models.events import Finished, ModelError, ModelErrorKind, TextDelta
from dogu.models.gemini import Gemini, KeyAccess
from dogu.models.model import Model
from dogu.models.openai_compatible import OpenAICompatible
from dogu.models.responses import Responses
from dogu.serve.final_answer import FinalAnswer
from dogu.testing import FakeGemini, FakeMessages, FakeOpenAI, FakeResponses
from dogu.testing.turn import Turn, call

pytestmark = pytest.mark.anyio
JsonObject: TypeAlias = dict[str, Any]
GLOB = FunctionDeclaration("glob", "Finds files.", {"type": "object", "properties": {"pattern": {"type": "string"}}})
COUNT: JsonObject = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
CLOSED = {**COUNT, "additionalProperties": False}
OPEN: JsonObject = {"type": "object", "properties": {"count": {"type": "integer", "not": {"const": 3}}}}
Fake = FakeMessages | FakeResponses | FakeOpenAI | FakeGemini
Case: TypeAlias = tuple[Callable[[Sequence[Turn | str]], Fake], Callable[[str], Model]]
TURN = Turn(text='{"count": 2}')
CASES: dict[str, Case] = {
    "responses": (FakeResponses, lambda url: Responses("gpt-5.4", "k", url)),
    "messages": (FakeMessages, lambda url: Anthropic("claude-sonnet-5", "k", url)),
    "gemini-3": (FakeGemini, lambda url: Gemini("gemini-3-pro", KeyAccess("k", url))),
    "gemini-2.5": (FakeGemini, lambda url: Gemini("gemini-2.5-pro", KeyAccess("k", url))),
    "chat": (FakeOpenAI, lambda url: OpenAICompatible("any", url, "k")),
    "claude-3": (FakeMessages, lambda url: Anthropic("claude-3-7-sonnet", "k", url)),
}
AT_ONCE = ("responses", "messages", "gemini-3")


def asked_in(body: JsonObject) -> JsonObject | None:
    """Return the schema of the answer that a request asks for in its provider's own way."""
    for form in (
        body.get("text", {}).get("format"),
        body.get("output_config", {}).get("format"),
        body.get("response_format", {}).get("json_schema"),
    ):
        if form is not None:
            return form["schema"]
    return body.get("generationConfig", {}).get("responseJsonSchema")


def tools_in(body: JsonObject) -> list[str]:
    tools: list[JsonObject] = body.get("tools") or []
    if tools and "functionDeclarations" in tools[0]:
        tools = tools[0]["functionDeclarations"]
    return [tool.get("function", tool)["name"] for tool in tools]


async def say(model: Model, tools: Sequence[FunctionDeclaration]) -> tuple[str, Finished]:
    text, finished = "", None
    async with model.stream("Be brief.", [user_content("Count.")], tools) as events:
        async for event in events:
            text += event.text if isinstance(event, TextDelta) else ""
            finished = event if isinstance(event, Finished) else finished
    assert finished is not None
    return text, finished


@pytest.mark.parametrize("name", CASES)
async def test_a_provider_is_asked_in_its_own_way_or_by_a_tool_and_the_other_way_when_asked_again(name: str) -> None:
    answer = FinalAnswer(COUNT)
    fake_of, model_of = CASES[name]
    with fake_of([TURN] * 3) as fake:
        model = model_of(fake.base_url)
        for _ in range(3):
            assert (await say(model, [GLOB, answer.declaration]))[0] == TURN.text
            answer.ask_again()
        await model.aclose()
        assert fake.problems == []
        bodies = [request.body for request in fake.requests]
    schemas, tools = [asked_in(body) for body in bodies], [tools_in(body) for body in bodies]
    as_tool = ["glob", "final_answer"]
    schema = COUNT if name in ("chat", "gemini-3", "gemini-2.5") else CLOSED
    if name in AT_ONCE:
        assert (schemas, tools) == ([schema, None, schema], [["glob"], as_tool, ["glob"]])
    else:
        assert (schemas, tools) == ([None, schema, None], [as_tool, [], as_tool])


@pytest.mark.parametrize("name", AT_ONCE)
async def test_a_schema_outside_of_the_dialect_is_a_tools(name: str) -> None:
    fake_of, model_of = CASES[name]
    with fake_of([TURN]) as fake:
        model = model_of(fake.base_url)
        await say(model, [GLOB, FinalAnswer(OPEN).declaration])
        await model.aclose()
        body = fake.requests[0].body
    assert (asked_in(body), tools_in(body)) == (None, ["glob", "final_answer"])


@pytest.mark.parametrize("name", AT_ONCE)
async def test_a_shape_that_the_server_refuses_is_a_tools_from_then_on(name: str, monkeypatch: pytest.MonkeyPatch):
    def refuse(form: JsonObject, **_rules: bool) -> str:
        return "this model has no structured output" if form else ""

    for wire in ("fake_messages", "fake_responses"):
        monkeypatch.setattr(f"dogu.testing.{wire}.shape_problem", refuse)
    fake_of, model_of = CASES[name]
    with fake_of([Turn(calls=[call("final_answer", count=2)])] * 2) as fake:
        model = model_of(fake.base_url)
        if name == "gemini-3":  # an old model under a new name
            monkeypatch.setattr("dogu.testing.fake_gemini._generation", lambda _model: 2)  # pyright: ignore
        for _ in range(2):
            _, finished = await say(model, [GLOB, FinalAnswer(COUNT).declaration])
            assert [each.name for each in finished.calls] == ["final_answer"]
        await model.aclose()
        assert len(fake.problems) == 1
        asked = [asked_in(request.body) is not None for request in fake.requests]
    assert asked == [True, False, False]


async def test_a_request_that_is_wrong_in_itself_is_still_refused() -> None:
    with FakeResponses([]) as fake:
        model = Responses("gpt-5.4", "k", fake.base_url)
        with pytest.raises(ModelError) as caught:
            await say(model, [FinalAnswer(COUNT).declaration])
        await model.aclose()
        assert len(fake.requests) == 2
    assert caught.value.kind is ModelErrorKind.BAD_REQUEST


@pytest.mark.parametrize(
    ("schema", "takers"),
    [
        (COUNT, "STRICT CLAUDE GEMINI"),
        ({"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]}, "all"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "CLAUDE GEMINI"),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, ""),
        ({"type": "object", "properties": {"a": {"enum": ["x", 1]}}, "required": ["a"]}, "all"),
        ({"type": "object", "properties": {"a": {"enum": [["x"]]}}, "required": ["a"]}, ""),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "GEMINI"),
        (
            {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]},
            "STRICT GEMINI",
        ),
        ({"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}, "required": ["a"]}, ""),
        ({"type": "object", "properties": {"a": {"type": "string", "format": "date"}}, "required": ["a"]}, "all"),
        ({"type": "object", "properties": {"a": {"type": "string", "format": "odd"}}, "required": ["a"]}, ""),
        ({"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]}, ""),
        (
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/A"}]}},
                "required": ["a", "b"],
                "$defs": {"A": {**COUNT, "examples": [{"count": 1}], "default": {"count": 1}}},
            },
            "all",
        ),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}, "required": ["a"]}, ""),
        ({"type": "object", "properties": {"a": True}, "required": ["a"]}, ""),
        ({"type": "object", "properties": ["a"], "required": ["a"]}, ""),
        ({"type": "object", "properties": {"a": {"allOf": [{"type": "string"}]}}, "required": ["a"]}, ""),
    ],
)
def test_a_dialect_takes_what_it_documents(schema: JsonObject, takers: str) -> None:
    dialects = {"STRICT": STRICT, "CLAUDE": CLAUDE, "GEMINI": GEMINI}
    taken = [name for name, dialect in dialects.items() if in_dialect(dialect, schema) is not None]
    assert taken == (list(dialects) if takers == "all" else takers.split())


class Place(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    name: str
    kind: Literal["city", "river"]


class Places(pydantic.BaseModel):
    """A list of places."""

    model_config = pydantic.ConfigDict(extra="forbid")
    places: list[Place]
    best: Place | None
    note: str = pydantic.Field(description="What else there is to say.")


def bare(value: Any) -> Any:
    if isinstance(value, list):
        return [bare(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    node = cast("JsonObject", value)
    left_out = ("title", "type") if "enum" in node else ("title",)  # the SDK leaves out a type that the values tell
    return {key: bare(each) for key, each in node.items() if key not in left_out}


@pytest.mark.filterwarnings("ignore")
def test_the_official_sdks_say_the_same_of_a_shape() -> None:
    import anthropic
    from openai.lib._pydantic import to_strict_json_schema

    schema = Places.model_json_schema()
    assert in_dialect(STRICT, schema) == to_strict_json_schema(Places)
    assert bare(in_dialect(CLAUDE, schema)) == bare(anthropic.transform_schema(Places))
