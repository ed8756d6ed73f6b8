"""Makes a tool's schema what a provider takes: inline, typed everywhere, in the words that its dialect knows.

Others' tools come with any JSON Schema there is; one field that a provider doesn't know costs the whole request. So
what can be said in fewer words is, what can't is left out where that only loosens, and what is left costs its tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec

JsonObject: TypeAlias = dict[str, Any]

_KNOWN = frozenset(
    "type description title enum items properties required additionalProperties anyOf format default minimum maximum "
    "exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems pattern prefixItems".split()
)
# Source: ai.google.dev/api/generate-content, FunctionDeclaration.parametersJsonSchema.
_GEMINI = frozenset(
    "type description title enum items properties required additionalProperties anyOf format minimum maximum minItems "
    "maxItems prefixItems".split()
)
_GEMINI_FORMATS = frozenset(("int32", "int64", "float", "double", "date-time", "enum"))
_JSON_TYPES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
_ANY = [{"type": name} for name in ("string", "number", "boolean", "object")]
_DEEPEST = 24


class Dialect(msgspec.Struct, frozen=True):
    """What a provider takes: its fields, its formats (None: any), and which names parameters may have."""

    fields: frozenset[str] = _KNOWN
    formats: frozenset[str] | None = None
    names: str = r".+"


PLAIN = Dialect()
GEMINI = Dialect(_GEMINI, _GEMINI_FORMATS)
# Source: the servers' refusal of `tools.N.custom.input_schema.properties`.
ANTHROPIC = Dialect(names=r"[a-zA-Z0-9_.-]{1,64}")


class SchemaProblem(ValueError):  # noqa: N818  (told as what is wrong with a tool; nothing of ours failed)
    """A schema that no provider would understand; the text says why."""


def parameters_for(dialect: Dialect, schema: Mapping[str, Any]) -> JsonObject:
    """Return a tool's parameters in a dialect: an object whose properties all have a type. Raises `SchemaProblem`."""
    cleaned = _Cleaning(dialect, schema).clean(dict(schema) or {"type": "object"}, ())
    if cleaned.get("type") == "object" or "properties" in cleaned or "anyOf" in cleaned:
        cleaned = _one_object(cleaned)
    else:
        raise SchemaProblem(f"its parameters are no object but {cleaned.get('type')}")
    if odd := next((name for name in cleaned["properties"] if not re.fullmatch(dialect.names, name)), None):
        raise SchemaProblem(f"this provider takes no parameter named {odd!r}")
    return cleaned


def _one_object(schema: JsonObject) -> JsonObject:
    """Make an object with properties of what may be a choice of objects: what only some demand isn't demanded."""
    properties = dict(schema.get("properties") or {})
    required = set(schema.get("required") or ())
    branches = [cast("JsonObject", branch) for branch in schema.get("anyOf") or ()]
    if branches:
        if any(branch.get("type") != "object" for branch in branches):
            raise SchemaProblem("its parameters may be something else than an object")
        for branch in branches:
            properties |= branch.get("properties") or {}
        demanded: list[set[str]] = [set(branch.get("required") or ()) for branch in branches]
        required |= demanded[0].intersection(*demanded[1:])
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "properties", "required", "type")}
    needed = {"required": [name for name in properties if name in required]} if required & properties.keys() else {}
    return {"type": "object", "properties": properties, **needed, **rest}


class _Cleaning:
    def __init__(self, dialect: Dialect, root: Mapping[str, Any]) -> None:
        self._dialect = dialect
        self._root = root

    def clean(self, schema: object, within: tuple[str, ...]) -> JsonObject:
        """Clean a schema; `within` are the references that it was reached by."""
        if schema is True or schema == {}:
            return {"anyOf": _ANY}
        if not isinstance(schema, dict):
            raise SchemaProblem(f"{schema!r} stands where a schema should")
        if len(within) > _DEEPEST:
            return {"type": "object"}
        node = cast("JsonObject", schema)
        if "$ref" in node:
            return self._referred(node, within)
        for part in cast("Sequence[object]", node.get("allOf") or ()):
            node = _both(node, self.clean(part, within))
        known = {key: value for key, value in _in_known_words(node).items() if key in self._dialect.fields}
        made = {key: self._value(key, value, within) for key, value in known.items()}
        return _typed({key: value for key, value in made.items() if value is not None})

    def _value(self, key: str, value: Any, within: tuple[str, ...]) -> Any:
        match key:
            case "properties":
                if not isinstance(value, dict):
                    raise SchemaProblem("its properties are no object")
                return {name: self.clean(each, within) for name, each in cast("JsonObject", value).items()}
            case "items":
                return self.clean(value[0] if isinstance(value, list) and value else value or True, within)  # pyright: ignore[reportUnknownArgumentType]  (foreign JSON)
            case "anyOf" | "prefixItems":
                found = [self.clean(each, within) for each in value if each != {"type": "null"}]
                return found or None
            case "additionalProperties":
                return value if isinstance(value, bool) else self.clean(value, within)
            case "type":
                return _one_type(value)
            case "format" if self._dialect.formats is not None:
                return value if value in self._dialect.formats else None
            case _:
                return value

    def _referred(self, node: JsonObject, within: tuple[str, ...]) -> JsonObject:
        """Put what a reference names in its place; what holds itself is cut where it does so again."""
        reference = str(node["$ref"])
        rest = {key: value for key, value in node.items() if key in ("description", "title", "default")}
        if reference in within:
            return {"type": "object", **rest}
        found: object = self._root
        if not reference.startswith("#"):
            raise SchemaProblem(f"it refers to {reference}, which isn't part of it")
        for step in filter(None, reference[1:].split("/")):
            name = step.replace("~1", "/").replace("~0", "~")
            found = cast("JsonObject", found).get(name) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            raise SchemaProblem(f"it refers to {reference}, which it doesn't have")
        return {**self.clean({**cast("JsonObject", found)}, (*within, reference)), **rest}


def _in_known_words(node: JsonObject) -> JsonObject:
    """Say `const`, `oneOf` and lists of types in words that all dialects have."""
    said = dict(node)
    if "const" in said:
        said["enum"] = [said.pop("const")]
    if "oneOf" in said:
        said["anyOf"] = [*said.pop("oneOf"), *said.get("anyOf", ())]
    if isinstance(said.get("enum"), list):
        said["enum"] = [value for value in said["enum"] if value is not None]
        if not said["enum"]:
            del said["enum"]
    types = said.get("type")
    if isinstance(types, list):
        names = [name for name in cast("list[object]", types) if name != "null"]
        if len(names) > 1 and "anyOf" not in said:
            del said["type"]
            said["anyOf"] = [{"type": name} for name in names]
    return said


def _typed(node: JsonObject) -> JsonObject:
    """Give a schema its type: at a choice in its branches and nowhere else, as Moonshot wants it."""
    branches = node.get("anyOf")
    if branches:
        if len(branches) == 1:
            return {**branches[0], **{key: value for key, value in node.items() if key not in ("anyOf", "type")}}
        outer = node.pop("type", None)
        if outer is not None:
            node["anyOf"] = [branch if "type" in branch else {"type": outer, **branch} for branch in branches]
        return node
    if "type" not in node:
        node = {"type": _type_of(node), **node} if _type_of(node) else {**node, "anyOf": _ANY}
    if node.get("type") == "array" and "items" not in node:
        node["items"] = {"type": "string"}
    if "required" in node:
        names: list[object] = [name for name in node["required"] or () if name in (node.get("properties") or {})]
        node = {**node, "required": names} if names else {key: node[key] for key in node if key != "required"}
    return node


def _type_of(node: JsonObject) -> str:
    kinds = {
        next((name for kind, name in _JSON_TYPES.items() if type(value) is kind), "")
        for value in node.get("enum") or ()
    }
    if kinds == {"integer", "number"}:
        return "number"
    if len(kinds) == 1:
        return kinds.pop()
    if "properties" in node or "additionalProperties" in node or "required" in node:
        return "object"
    return "array" if "items" in node or "prefixItems" in node else ""


def _one_type(value: object) -> str | None:
    if isinstance(value, list):
        named = [name for name in cast("list[object]", value) if name != "null"]
        value = named[0] if named else "string"
    if value == "null":
        return "string"
    if value not in _JSON_TYPES.values():
        raise SchemaProblem(f"{value!r} is no type")
    return cast("str", value)


def _both(first: JsonObject, second: JsonObject) -> JsonObject:
    """Join two schemas that both hold."""
    made = {**second, **{key: value for key, value in first.items() if key != "allOf"}}
    if "properties" in first and "properties" in second:
        made["properties"] = {**second["properties"], **first["properties"]}
    if "required" in first and "required" in second:
        made["required"] = [*first["required"], *second["required"]]
    return made
