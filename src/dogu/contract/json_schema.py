"""Others' JSON Schemas: checked without ever fetching a remote reference, in linear time; Gemini's dialect read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import jsonschema_rs

from dogu.contract.declaration import JsonObject, structure_in
from dogu.contract.errors import ErrorKind, ToolError


def schema_problem(name: str, schema: JsonObject) -> str:
    """Say what is wrong with the schema of a tool's parameters; '' when arguments can be checked against it."""
    try:
        _validator(schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        return f"the parameters of {name!r} are no valid JSON Schema: {str(error).splitlines()[0][:200]}"
    return ""


def check_arguments(name: str, schema: JsonObject, arguments: Mapping[str, Any]) -> None:
    """Raise `ToolError` (INVALID_ARGUMENTS) that names each argument which doesn't fit, at most five."""
    problems: list[str] = []
    for error in _validator(schema).iter_errors(dict(arguments)):
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path).lstrip(".")
        problems.append(f"{path or 'the arguments'}: {error.message[:300]}")
        if len(problems) == 5:
            break
    if problems:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for {name}: {'; '.join(problems)}.")


def fitting_arguments(name: str, schema: JsonObject, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as they fit the schema: a null that it doesn't take stands for nothing given.

    So does a text for the list or object that it is the JSON of. Raises `ToolError` as `check_arguments` does.
    """
    try:
        check_arguments(name, schema, raw)
    except ToolError:
        required = schema.get("required") or ()
        given = {name: value for name, value in raw.items() if value is not None or name in required}
        properties = cast("Mapping[str, Any]", schema.get("properties") or {})
        given = {name: _restored(value, properties.get(name)) for name, value in given.items()}
        if given == raw:
            raise
        check_arguments(name, schema, given)
        return given
    return dict(raw)


def _restored(value: Any, schema: Any) -> Any:
    named: Any = cast("Mapping[str, Any]", schema).get("type") if isinstance(schema, Mapping) else None
    kinds = cast("list[object]", named) if isinstance(named, list) else [named]
    if not isinstance(value, str) or "string" in kinds or not ("array" in kinds or "object" in kinds):
        return value
    structure = structure_in(value)
    return value if structure is None else structure


def unchecked_patterns(schema: JsonObject) -> list[str]:
    """Return the patterns in a schema that look around or back: no engine runs them in linear time, so none does."""
    try:
        _linear(schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        found: list[str] = []
        _runnable(schema, found)
        return list(dict.fromkeys(found))
    return []


def _validator(schema: JsonObject) -> Any:
    """Make what checks arguments; a pattern that can't be run in linear time is left out of it."""
    try:
        return _linear(schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        left_out: list[str] = []
        runnable = _runnable(schema, left_out)
        if not left_out:
            raise
        return _linear(cast("JsonObject", runnable))


def _linear(schema: JsonObject) -> Any:
    options = jsonschema_rs.RegexOptions()  # a linear-time engine
    try:
        return jsonschema_rs.validator_for(schema, retriever=_refuse, pattern_options=options)
    except jsonschema_rs.ValidationError:
        if "$schema" in schema:
            raise
        # Of a draft that it doesn't name: `exclusiveMinimum: true`, lists of `items`.
        for draft in (jsonschema_rs.Draft7Validator, jsonschema_rs.Draft4Validator):
            try:
                return draft(schema, retriever=_refuse, pattern_options=options)
            except (jsonschema_rs.ValidationError, ValueError):
                continue
        raise


def _runnable(node: object, left_out: list[str]) -> object:
    """Return a schema without the patterns that only an engine without a bound could run; they join `left_out`."""
    if isinstance(node, list):
        return [_runnable(each, left_out) for each in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    made = {key: _runnable(value, left_out) for key, value in cast("JsonObject", node).items() if key not in _LITERAL}
    made |= {key: value for key, value in cast("JsonObject", node).items() if key in _LITERAL}
    pattern = made.get("pattern")
    if isinstance(pattern, str) and _looks_around(pattern):
        left_out.append(pattern)
        del made["pattern"]
    if isinstance(made.get("patternProperties"), dict):
        by_pattern = cast("JsonObject", made["patternProperties"])
        around = [key for key in by_pattern if _looks_around(key)]
        left_out += around
        made["patternProperties"] = {key: value for key, value in by_pattern.items() if key not in around}
        if around:  # what it would have allowed can't be told from what nothing allows
            made.pop("additionalProperties", None)
            made.pop("unevaluatedProperties", None)
    return made


def _looks_around(pattern: str) -> bool:
    """Whether the pattern is one, but not one for a linear-time engine."""
    schema = {"type": "string", "pattern": pattern}
    try:
        _linear(schema)
    except (jsonschema_rs.ValidationError, ValueError):
        try:
            jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.FancyRegexOptions())
        except (jsonschema_rs.ValidationError, ValueError):
            return False
        return True
    return False


def _refuse(uri: str) -> Any:
    raise ValueError(f"remote references are not fetched: {uri}")


_LITERAL = frozenset(("const", "default", "enum", "examples", "description", "title"))
_GEMINI_TYPES = frozenset(("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"))
_COUNTS = frozenset(("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"))
_SPELLINGS = {
    "any_of": "anyOf",
    "additional_properties": "additionalProperties",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "property_ordering": "propertyOrdering",
    "defs": "$defs",
    "ref": "$ref",
}
"""How Google's SDK prints what the API calls otherwise; none of them is a word of JSON Schema."""


def plain_json_schema(schema: JsonObject) -> JsonObject:
    """Return a schema without what only Gemini's dialect of OpenAPI has: what it says in JSON Schema's words.

    Types in capitals, `nullable`, counts as strings (64-bit integers are, in its JSON), `propertyOrdering`, `example`.
    A plain JSON Schema comes back as it is. Source: the Gemini API's `Schema`.
    """
    spelled = {_SPELLINGS.get(key, key): value for key, value in schema.items() if value != "TYPE_UNSPECIFIED"}
    made = {key: _plain_value(key, value) for key, value in spelled.items()}
    if "example" in made:
        made["examples"] = [made.pop("example")]
    return _ordered(_with_null(made) if made.pop("nullable", False) is True else made)


def _plain_value(key: str, value: Any) -> Any:
    match key, value:
        case "type", str() if value in _GEMINI_TYPES:
            return value.lower()
        case _, str() if key in _COUNTS and value.isascii() and value.isdigit():
            return int(value)
        case "$ref", str():
            return value.replace("#/defs/", "#/$defs/")
        case (("items" | "additionalProperties" | "not"), _):
            return _plain(value)
        case (("anyOf" | "oneOf" | "allOf" | "prefixItems"), list()):
            return [_plain(branch) for branch in cast("list[object]", value)]
        case (("properties" | "$defs"), dict()):
            return {name: _plain(node) for name, node in cast("JsonObject", value).items()}
        case _:
            return value


def _plain(node: object) -> object:
    return plain_json_schema(cast("JsonObject", node)) if isinstance(node, dict) else node


def _ordered(schema: JsonObject) -> JsonObject:
    """Put the properties in the order that was asked for."""
    order: object = schema.pop("propertyOrdering", None)
    properties: object = schema.get("properties")
    if isinstance(order, list) and isinstance(properties, dict):
        known = cast("JsonObject", properties)
        first = [name for name in cast("list[object]", order) if isinstance(name, str) and name in known]
        schema["properties"] = {name: known[name] for name in dict.fromkeys([*first, *known])}
    return schema


def _with_null(schema: JsonObject) -> JsonObject:
    kind: object = schema.get("type")
    if isinstance(kind, str) and kind != "null":
        schema["type"] = [kind, "null"]
    elif isinstance(schema.get("anyOf"), list):
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema
