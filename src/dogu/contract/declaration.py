"""What the model is sent of a tool; derived from the tool's arguments, never written by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, cast

import msgspec

JsonObject: TypeAlias = dict[str, Any]


class FunctionDeclaration(msgspec.Struct, frozen=True, omit_defaults=True):
    """Name, description and JSON Schema of the parameters.

    One that `is_answer` takes the run's final answer: a provider may be asked for that in its own way instead, and in
    the other way when it `is_asked_again`.
    """

    name: str
    description: str
    parameters: JsonObject
    is_answer: bool = False
    is_asked_again: bool = False


@lru_cache(maxsize=256)
def schema_of(args_type: type) -> JsonObject:
    """Derive the JSON Schema of an arguments struct: inline, without what a model has no use for.

    Raises `TypeError` for a type that JSON has nothing for.
    """
    schemas, components = msgspec.json.schema_components(
        [args_type], schema_hook=_schema_of_path, ref_template="#/$defs/{name}"
    )
    root = cast("JsonObject", _inline(schemas[0], components))
    root.pop("title", None)
    root.pop("description", None)
    root.pop("additionalProperties", None)
    if not root.get("required"):
        root.pop("required", None)
    return root


def value_of(wanted: type, value: object) -> object:
    """Make what JSON has no type for: a path of its text. For `msgspec.convert`."""
    if hasattr(wanted, "__fspath__") and isinstance(value, str):
        return cast("Callable[[str], object]", wanted)(value)
    raise NotImplementedError


def _schema_of_path(wanted: type) -> JsonObject:
    if hasattr(wanted, "__fspath__"):
        return {"type": "string"}
    raise NotImplementedError


def with_default_values(schema: JsonObject, values: Mapping[str, Any]) -> JsonObject:
    """Return the schema with other defaults, which the parameters' descriptions (`Default: 500.`) say too."""
    properties = {
        name: _with_default(property_, values[name]) if name in values else property_
        for name, property_ in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _with_default(property_: JsonObject, value: Any) -> JsonObject:
    said = msgspec.json.encode(value).decode()
    described = re.sub(r"Default: [^.]*\.", lambda _match: f"Default: {said}.", property_.get("description", ""))
    return {**property_, "description": described, "default": value}


def _inline(node: object, components: dict[str, Any], within: tuple[str, ...] = ()) -> object:
    """Replace references by what they name, and `anyOf: [X, null]` by X: an optional argument is one left out.

    What is `within` itself is any object there.
    """
    if isinstance(node, list):
        return [_inline(item, components, within) for item in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("JsonObject", node)
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return {"type": "object"} if name in within else _inline(components[name], components, (*within, name))
    branches = [branch for branch in schema.get("anyOf", ()) if branch != {"type": "null"}]
    if len(branches) == 1:
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
        return _inline({**branches[0], **rest}, components, within)
    made = {
        key: _inline(value, components, within) for key, value in schema.items() if (key, value) != ("default", None)
    }
    if (
        isinstance(made.get("enum"), list) and "type" not in made
    ):  # a choice of words: some providers want a type everywhere
        return {"type": "string", **made}
    return made


def structure_in(text: str) -> list[Any] | dict[str, Any] | None:
    """Return the list or object that a text is the JSON of; None for any other text."""
    try:
        value = msgspec.json.decode(text) if text.lstrip()[:1] in ("[", "{") else None
    except (msgspec.DecodeError, RecursionError):
        return None
    return cast("list[Any] | dict[str, Any]", value) if isinstance(value, list | dict) else None
