"""The final answer's shape, asked for as a provider's own structured output where its dialect can say it.

Else, and where a server refuses it, the answer stays a last tool call. Models are freest where both go together; a
server that takes a shape only without tools is asked so once the answer didn't come as a call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from dogu.contract.declaration import FunctionDeclaration, JsonObject

_NOTES = frozenset("$schema $id $comment examples default deprecated readOnly writeOnly".split())
_SAID = frozenset("type title description enum properties required additionalProperties items anyOf $ref $defs".split())
_BOUNDS = frozenset("minimum maximum minItems maxItems".split())
_TIMES = frozenset(("date-time", "time", "date"))
_FORMATS = _TIMES | frozenset("duration email hostname ipv4 ipv6 uuid".split())
_TYPES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


class ShapeDialect(msgspec.Struct, frozen=True):
    """What a provider's structured output takes: its words and formats; `demands` that every property is required.

    `is_closed`: objects hold what they name and nothing else. Without words anything is taken as it is.
    """

    words: frozenset[str] = frozenset()
    formats: frozenset[str] = _FORMATS
    is_closed: bool = False
    demands: bool = False


ANY = ShapeDialect()
# Source: developers.openai.com/api/docs/guides/structured-outputs, "Supported schemas".
STRICT = ShapeDialect(
    _SAID
    | _BOUNDS
    | frozenset("const definitions pattern format multipleOf exclusiveMinimum exclusiveMaximum".split()),
    is_closed=True,
    demands=True,
)
# Source: platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema limitations".
CLAUDE = ShapeDialect(_SAID | {"const", "definitions", "format"}, _FORMATS | {"uri"}, is_closed=True)
# Source: ai.google.dev/gemini-api/docs/structured-output, "JSON Schema support".
GEMINI = ShapeDialect(_SAID | _BOUNDS | {"format", "prefixItems"}, _TIMES)


class _OutsideError(Exception):
    """The dialect can't say it."""


class AnswerShape:
    """Asks a server for the answer's shape in its own words, until it refuses them."""

    def __init__(self, dialect: ShapeDialect, *, goes_with_tools: bool) -> None:
        self._dialect = dialect
        self._goes_with_tools = goes_with_tools
        self._is_refused = False
        self._is_asked = False
        self._known: tuple[JsonObject, JsonObject | None] | None = None

    def split(
        self, declarations: Sequence[FunctionDeclaration]
    ) -> tuple[JsonObject | None, Sequence[FunctionDeclaration]]:
        """Return the schema to ask for, and the tools beside it; None, and all tools, where one takes the answer.

        An answer that is asked for again didn't come the first way, so that it is asked for the other way.
        """
        self._is_asked = False
        answer = next((each for each in declarations if each.is_answer), None)
        if answer is None or self._is_refused:
            return None, declarations
        tools = [each for each in declarations if not each.is_answer]
        if tools and self._goes_with_tools == answer.is_asked_again:
            return None, declarations
        schema = self._schema(answer.parameters)
        if schema is None:
            return None, declarations
        self._is_asked = True
        return schema, tools if self._goes_with_tools else ()

    def is_lesson(self) -> bool:
        """Take the refusal of the last request as one of the shape, if it had one; the tool takes the answer then."""
        was_asked, self._is_asked = self._is_asked, False
        self._is_refused = self._is_refused or was_asked
        return was_asked

    def _schema(self, parameters: JsonObject) -> JsonObject | None:
        if self._known is None or self._known[0] is not parameters:
            self._known = (parameters, in_dialect(self._dialect, parameters))
        return self._known[1]


def in_dialect(dialect: ShapeDialect, schema: JsonObject) -> JsonObject | None:
    """Return a schema that a dialect takes and that allows nothing more, None where there is none."""
    if not dialect.words:
        return schema
    try:
        return _said(dialect, schema)
    except (_OutsideError, RecursionError):
        return None


def _said(dialect: ShapeDialect, schema: object) -> JsonObject:
    node = {name: value for name, value in _dict(schema).items() if name not in _NOTES}
    if node.keys() - dialect.words:
        raise _OutsideError
    made = {name: _word(dialect, name, value) for name, value in node.items()}
    if "$ref" in made or "anyOf" in made:
        kept = {name: made[name] for name in ("$ref", "anyOf", "$defs", "definitions") if name in made}
        if made.keys() - kept.keys() - {"title", "description"} or {"$ref", "anyOf"} <= kept.keys():
            raise _OutsideError
        return kept
    made = {"type": _type_of(made), **made}
    kinds = str(made["type"])
    if "object" in kinds:
        return _object(dialect, made)
    if "array" in kinds and "items" not in made and "prefixItems" not in made:
        raise _OutsideError
    return made


def _word(dialect: ShapeDialect, name: str, value: Any) -> Any:
    """Return a word's value in the dialect."""
    if name in ("properties", "$defs", "definitions"):
        return {key: _said(dialect, each) for key, each in _dict(value).items()}
    if name in ("anyOf", "prefixItems"):
        return [_said(dialect, each) for each in _list(value)]
    if name == "items" or (name == "additionalProperties" and not isinstance(value, bool)):
        return _said(dialect, value)
    is_odd = (
        (name == "format" and value not in dialect.formats)
        or (name == "$ref" and not str(value).startswith("#"))
        or (name == "enum" and "" in map(_kind_of, _list(value)))
    )
    if is_odd:
        raise _OutsideError
    return value


def _type_of(node: JsonObject) -> object:
    """Return the type that a schema has or means."""
    if "type" in node:
        return node["type"]
    if "properties" in node:
        return "object"
    values: list[Any] = node.get("enum") or ([node["const"]] if "const" in node else [])
    kinds = list(dict.fromkeys(map(_kind_of, values)))
    if not kinds or "" in kinds:
        raise _OutsideError
    return kinds[0] if len(kinds) == 1 else kinds


def _kind_of(value: object) -> str:
    return _TYPES.get(type(value), "")


def _object(dialect: ShapeDialect, node: JsonObject) -> JsonObject:
    if not dialect.is_closed:
        return node
    properties = _dict(node.get("properties"))
    if not properties or node.get("additionalProperties", False) is not False:
        raise _OutsideError
    if dialect.demands and {*_list(node.get("required"))} != properties.keys():
        raise _OutsideError
    return {**node, "additionalProperties": False}


def _dict(value: object) -> JsonObject:
    if not isinstance(value, dict):
        raise _OutsideError
    return cast("JsonObject", value)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise _OutsideError
    return cast("list[Any]", value)
