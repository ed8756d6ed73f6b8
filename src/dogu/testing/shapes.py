"""What real servers refuse of a shape that an answer is to have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_FIELDS = frozenset(("type", "name", "description", "schema", "strict", "json_schema"))


def shape_problem(form: Mapping[str, Any], *, demands: bool = True, is_closed: bool = True) -> str:
    """Return what is wrong with a format of the answer, '' where nothing is, or none is asked for.

    With `is_closed` objects hold nothing that they don't name; with `demands` all of that is required.
    """
    if not form or form.get("type") == "text":
        return ""
    schema = cast("Mapping[str, Any]", form.get("schema") or {})
    if form.get("type") != "json_schema" or form.keys() - _FIELDS or schema.get("type") != "object":
        return "a format is json_schema with a schema of 'type: \"object\"'"
    return _problem(schema, demands=demands) if is_closed else ""


def _problem(schema: Mapping[str, Any], *, demands: bool) -> str:
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    if odd := schema.keys() & {"allOf", "oneOf", "not", "if", "patternProperties", "default", "minLength"}:
        return f"{min(odd)!r} is not permitted"
    if "object" in str(schema.get("type")):
        if schema.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false"
        if demands and set(properties) != set(schema.get("required") or ()):
            return "'required' is required to be supplied and to be an array including every key in properties"
    named = cast("Mapping[str, Any]", schema.get("$defs") or {})
    inner: list[Any] = [*properties.values(), *named.values(), *(schema.get("anyOf") or ())]
    inner += [schema["items"]] if "items" in schema else []
    return next((problem for each in inner if (problem := _problem(each, demands=demands))), "")
