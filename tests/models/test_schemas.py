"""A tool's schema in what a provider takes: whatever a server wrote, the model gets it, and nothing hangs."""

import time
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.schemas import ANTHROPIC, GEMINI, PLAIN, Dialect, SchemaProblem, parameters_for
from dogu.models.translation import Tools

Schema = dict[str, Any]


def of_a(schema: object, **more: Any) -> Schema:
    return {"type": "object", "properties": {"a": schema}, **more}


def told_of_a(schema: object, **more: Any) -> Any:
    return parameters_for(PLAIN, of_a(schema, **more))[0]["properties"].get("a")


def mutual(count: int) -> Schema:
    def each_other(own: int) -> Schema:
        return {f"p{other}": {"$ref": f"#/$defs/T{other}"} for other in range(count) if other != own}

    defs = {f"T{own}": {"type": "object", "properties": each_other(own)} for own in range(count)}
    return of_a({"$ref": "#/$defs/T0"}, **{"$defs": defs})


def doubling(depth: int) -> Schema:
    def twice(at: int) -> Schema:
        return {"type": "object", "properties": {name: {"$ref": f"#/$defs/T{at + 1}"} for name in "xy"}}

    return of_a({"$ref": "#/$defs/T0"}, **{"$defs": {f"T{at}": twice(at) for at in range(depth)} | {f"T{depth}": {}}})


def nested_choices(depth: int) -> Schema:
    schema: Schema = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"n": {"allOf": [schema, {"description": "d"}]}}}
    return schema


@pytest.mark.parametrize("schema", [mutual(9), mutual(40), doubling(20), doubling(60)], ids=["9", "40", "20", "60"])
def test_what_refers_to_one_another_is_told_in_bounds_at_once(schema: Schema) -> None:
    began = time.process_time()
    cleaned, has_cut = parameters_for(PLAIN, schema)
    assert time.process_time() - began < 2
    assert has_cut
    assert len(msgspec.json.encode(cleaned)) < 3 * len(msgspec.json.encode(schema)) + 40_000


def test_what_holds_itself_is_cut_where_it_does_so_and_that_is_no_loss_to_tell() -> None:
    tree = of_a({"type": "array", "items": {"$ref": "#"}}, description="a tree")
    cleaned, has_cut = parameters_for(PLAIN, tree)
    inner = cleaned["properties"]["a"]["items"]
    assert inner["properties"]["a"] == {"type": "array", "items": {"type": "object"}}
    assert not has_cut


def test_parts_that_hold_together_are_cleaned_once() -> None:
    began = time.process_time()
    cleaned, _ = parameters_for(PLAIN, nested_choices(30))
    assert time.process_time() - began < 1
    assert cleaned["properties"]["n"]["description"] == "d"


def test_a_tool_whose_parameters_were_cut_is_told_to_the_user_once() -> None:
    tools = Tools(PLAIN)
    tools.encoded([FunctionDeclaration("big", "", mutual(12))])
    assert "big" in tools.problem()
    assert not tools.problem()


@pytest.mark.parametrize(
    ("reference", "more"),
    [
        ("#/$defs/a%20b", {"$defs": {"a b": {"type": "number"}}}),
        ("#/$defs/Page%3CUser%3E", {"$defs": {"Page<User>": {"type": "number"}}}),
        ("#/$defs/x~1y", {"$defs": {"x/y": {"type": "number"}}}),
        ("#here", {"$defs": {"x": {"$anchor": "here", "type": "number"}}}),
        ("http://x/s#/$defs/x", {"$id": "http://x/s", "$defs": {"x": {"type": "number"}}}),
        ("http://x/s#/$defs/x", {"id": "http://x/s#", "$defs": {"x": {"type": "number"}}}),
        ("item", {"$id": "http://x/s", "$defs": {"x": {"$id": "item", "type": "number"}}}),
        ("#/$defs/x/anyOf/1", {"$defs": {"x": {"anyOf": [{"type": "string"}, {"type": "number"}]}}}),
        ("#/$defs/x", {"$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"type": "number"}}}),
    ],
)
def test_a_reference_is_found_however_it_is_written(reference: str, more: Schema) -> None:
    assert told_of_a({"$ref": reference}, **more) == {"type": "number"}
    assert told_of_a({"allOf": [{"$ref": reference}], "title": "t"}, **more) == {"title": "t", "type": "number"}


def test_what_stands_beside_a_reference_holds_too() -> None:
    told = told_of_a({"$ref": "#/$defs/x", "description": "d", "minimum": 3}, **{"$defs": {"x": {"type": "integer"}}})
    assert told == {"type": "integer", "description": "d", "minimum": 3}


@pytest.mark.parametrize(
    "reference", ["#/$defs/none", "#nowhere", "http://elsewhere/x", "#/$defs/x/anyOf/9", "http://[x"]
)
def test_a_reference_to_nothing_costs_its_tool(reference: str) -> None:
    with pytest.raises(SchemaProblem, match="refers to"):
        parameters_for(PLAIN, of_a({"$ref": reference}, **{"$defs": {"x": {"anyOf": [{"type": "string"}]}}}))


@pytest.mark.parametrize("address", ["http://[x", "http://good/x"])
def test_an_address_of_a_schema_that_is_none_costs_nothing(address: str) -> None:
    schema = {**of_a({"$ref": "#/$defs/x"}, **{"$defs": {"x": {"$id": "http://[y", "type": "string"}}}), "$id": address}
    assert parameters_for(PLAIN, schema)[0]["properties"]["a"]["type"] == "string"


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {"minimum": 0, "exclusiveMinimum": 0}),
        ({"type": "integer", "maximum": 9, "exclusiveMaximum": False}, {"maximum": 9}),
        ({"type": "integer", "exclusiveMinimum": True}, {}),
        ({"type": "integer", "minimum": True}, {}),
        ({"type": "integer", "minimum": "0"}, {}),
        ({"type": "integer", "enum": [1, 2]}, {"enum": [1, 2]}),
        ({"type": "string", "enum": [1, 2]}, {"type": "integer", "enum": [1, 2]}),
        ({"type": "string", "oneOf": None, "anyOf": {}}, {}),
        ({"type": [["string"], "integer"]}, {"type": "integer"}),
        ({"type": ["integer", {"type": "array"}, "null"]}, {"type": "integer"}),
        ({"type": "integer", "description": 5, "title": None, "pattern": "(?<!"}, {}),
        ({"type": "integer", "required": True}, {}),
        ({"type": "integer", "pattern": r"^\p{L}(?<x>a)(?<=b)$"}, {"pattern": r"^\p{L}(?<x>a)(?<=b)$"}),
    ],
)
def test_words_of_older_drafts_and_odd_ones_cost_no_tool(schema: Schema, told: Schema) -> None:
    assert told_of_a(schema) == {"type": schema["type"], **told}


def test_a_property_says_of_itself_that_it_is_required() -> None:
    assert parameters_for(PLAIN, of_a({"type": "string", "required": True}))[0]["required"] == ["a"]
    assert "required" not in parameters_for(PLAIN, {**of_a({"type": "string"}), "required": True})[0]


def test_what_can_never_be_is_left_out() -> None:
    cleaned, _ = parameters_for(PLAIN, {"properties": {"a": False, "b": True}, "required": ["a", "b"]})
    assert list(cleaned["properties"]) == cleaned["required"] == ["b"]


def test_values_of_several_types_are_a_choice_and_so_are_the_places_of_a_list() -> None:
    assert told_of_a({"enum": ["x", 1]}) == {
        "anyOf": [{"type": "string", "enum": ["x"]}, {"type": "integer", "enum": [1]}]
    }
    places = {"type": "array", "items": [{"type": "string"}, {"type": "number"}, {"type": "string"}]}
    assert told_of_a(places)["items"] == {"anyOf": [{"type": "string"}, {"type": "number"}]}


ODD: list[object] = [
    {"type": "string", "minLength": -1},
    {"type": "string", "format": 3},
    {"type": "array", "items": False},
    {"type": "array", "items": []},
    {"type": "array", "prefixItems": {}},
    {"type": "any"},
    {"type": None},
    {"type": "null"},
    {"anyOf": [{"type": "null"}]},
    {"anyOf": [False, None, {"type": "string"}]},
    {"enum": "abc"},
    {"enum": [None]},
    {"allOf": None},
    {"additionalProperties": {"type": "integer", "exclusiveMaximum": True, "maximum": 3}},
    {"type": "object", "properties": {"$ref": {"type": "string"}}},
    {"$ref": "#"},
    {"const": None},
    {"required": ["x", 3]},
]


@pytest.mark.parametrize("dialect", [PLAIN, GEMINI, ANTHROPIC])
@pytest.mark.parametrize("schema", ODD, ids=str)
def test_what_is_told_is_a_schema_of_the_newest_draft(schema: object, dialect: Dialect) -> None:
    cleaned, _ = parameters_for(dialect, of_a(schema))
    jsonschema_rs.validator_for({"$schema": "https://json-schema.org/draft/2020-12/schema", **cleaned})
    assert cleaned["properties"]["a"].keys() & {"type", "anyOf"}


@pytest.mark.parametrize("schema", [3, None, "string", [], {"properties": []}, {"anyOf": [3]}], ids=str)
def test_what_is_no_schema_costs_its_tool_in_words(schema: object) -> None:
    with pytest.raises(SchemaProblem):
        parameters_for(PLAIN, of_a(schema))
