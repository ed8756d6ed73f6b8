"""Makes a tool's schema what a provider takes: inline, typed everywhere, in the words that its dialect knows.

Others' tools come with any JSON Schema there is; one field that a provider doesn't know costs the whole request. So
what can be said in fewer words is, what can't is left out where that only loosens, and what is left costs its tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias, cast
from urllib.parse import unquote, urljoin

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
_DEEPEST = 64
_MOST_REPEATED_BYTES = 32_000  # what references may say more than once, in one tool
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_KINDS = {  # of the words whose values must be of one
    **dict.fromkeys(("description", "title", "format"), "text"),
    **dict.fromkeys(_BOUNDS, "number"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), "count"),
    **dict.fromkeys(("enum", "anyOf", "oneOf", "prefixItems"), "values"),
    "pattern": "pattern",
    "required": "names",
}
_LOOK_BEHIND = re.compile(r"\?<(?=[=!])")
_JAVASCRIPT = re.compile(r"\\[pP]\{[^}]*\}|\\u\{[0-9a-fA-F]+\}|\\c[A-Za-z]|\\k<\w+>|\\/")


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


def parameters_for(dialect: Dialect, schema: Mapping[str, Any]) -> tuple[JsonObject, bool]:
    """Return a tool's parameters in a dialect, and whether some were too many to be told: their kind is all there is.

    They are an object whose properties all have a type. Raises `SchemaProblem`.
    """
    cleaning = _Cleaning(dialect, schema)
    cleaned = cleaning.clean(dict(schema) or {"type": "object"})
    if cleaned.get("type") == "object" or "properties" in cleaned or "anyOf" in cleaned:
        cleaned = _one_object(cleaned)
    else:
        raise SchemaProblem(f"its parameters are no object but {cleaned.get('type')}")
    if odd := next((name for name in cleaned["properties"] if not re.fullmatch(dialect.names, name)), None):
        raise SchemaProblem(f"this provider takes no parameter named {odd!r}")
    return cleaned, cleaning.has_cut


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
    """Cleans one tool's schema. What is referred to is cleaned once, and said again only while that stays short."""

    def __init__(self, dialect: Dialect, root: Mapping[str, Any]) -> None:
        self.has_cut = False
        self._dialect = dialect
        self._references = _References(root)
        self._open: set[str] = set()
        self._known: dict[str, tuple[JsonObject, int]] = {}
        self._left_bytes = _MOST_REPEATED_BYTES
        self._depth = 0

    def clean(self, schema: object) -> JsonObject:
        """Clean a schema: it has a type, or a choice of schemas that have."""
        return _typed(self._untyped(schema))

    def _untyped(self, schema: object) -> JsonObject:
        if schema is True:
            return {}
        if not isinstance(schema, dict):
            raise SchemaProblem(f"{schema!r} stands where a schema should")
        node = cast("JsonObject", schema)
        if self._depth >= _DEEPEST:
            self.has_cut = True
            return _stub(node)
        self._depth += 1
        try:
            made = self._own(node)
            reference = next((node[name] for name in ("$ref", "$dynamicRef") if isinstance(node.get(name), str)), None)
            if reference is not None:
                made = _both(made, self._referred(cast("str", reference)))
            for part in _schemas(node.get("allOf")):
                made = _both(made, self._untyped(part))
        finally:
            self._depth -= 1
        return made

    def _own(self, node: JsonObject) -> JsonObject:
        """Clean what a schema says itself; a word that isn't used as it should be is as if it weren't there."""
        said = {key: value for key, value in _in_known_words(node).items() if key in self._dialect.fields}
        made = {key: self._value(key, value) for key, value in said.items()}
        return {key: value for key, value in made.items() if value is not None}

    def _value(self, key: str, value: Any) -> Any:
        match key:
            case "properties":
                if not isinstance(value, dict):
                    raise SchemaProblem("its properties are no object")
                named = cast("JsonObject", value).items()
                return {name: self.clean(each) for name, each in named if each is not False}
            case "items":
                return self._items(value)
            case "anyOf" | "prefixItems":
                found = [self.clean(each) for each in _schemas(value) if each != {"type": "null"}]
                return found or None
            case "additionalProperties":
                return value if isinstance(value, bool) else self.clean(value)
            case "format" if self._dialect.formats is not None:
                return value if value in self._dialect.formats else None
            case _:
                return value

    def _items(self, value: object) -> JsonObject | None:
        """Of a list of places, as older drafts have it, any may be what stands there."""
        if value is False:
            return None
        if not isinstance(value, list):
            return self.clean(value)
        kinds: list[JsonObject] = []
        for each in _schemas(cast("object", value)):
            kind = self.clean(each)
            kinds += [kind] if kind not in kinds else []
        return _typed({"anyOf": kinds}) if kinds else None

    def _referred(self, reference: str) -> JsonObject:
        """Return what a reference names; what holds itself is cut where it does so again."""
        found = self._references.find(reference)
        if reference in self._open:
            return _stub(found)
        if known := self._known.get(reference):
            cleaned, size_bytes = known
            if size_bytes > self._left_bytes:
                self.has_cut = True
                return _stub(cleaned)
            self._left_bytes -= size_bytes
            return dict(cleaned)
        self._open.add(reference)
        cleaned = self.clean(found)
        self._open.remove(reference)
        self._known[reference] = cleaned, len(msgspec.json.encode(cleaned))
        return dict(cleaned)


class _References:
    """Finds what the references of a schema name: by a pointer, an anchor, or an address within the schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._base = next((root[name] for name in ("$id", "id") if isinstance(root.get(name), str)), "")

    def find(self, reference: str) -> JsonObject:
        """Return what a reference names. Raises `SchemaProblem`."""
        address, _, fragment = reference.partition("#")
        found: object = self._root if self._is_root(address) else self._named.get(address)
        if found is None:
            raise SchemaProblem(f"it refers to {reference}, which isn't part of it")
        if fragment and not fragment.startswith("/"):
            found = self._named.get(f"#{unquote(fragment)}")
        for step in fragment.split("/")[1:] if fragment.startswith("/") else ():
            found = _step(found, step)
        if found is True or found == {}:
            return {}
        if not isinstance(found, Mapping):
            raise SchemaProblem(f"it refers to {reference}, which it doesn't have")
        return {**cast("JsonObject", found)}

    def _is_root(self, address: str) -> bool:
        base = self._base.partition("#")[0]
        return address in ("", base) or (bool(base) and _joined(base, address) == base)

    @cached_property
    def _named(self) -> dict[str, object]:
        """What has an anchor, or an address of its own."""
        named: dict[str, object] = {}
        nodes: list[object] = [self._root]
        while nodes:
            node = nodes.pop()
            if isinstance(node, list):
                nodes += cast("list[object]", node)
            if not isinstance(node, Mapping):
                continue
            fields = cast("Mapping[str, object]", node)
            for name in ("$anchor", "$dynamicAnchor", "$id", "id"):
                if isinstance(word := fields.get(name), str):
                    for said in (f"#{word}",) if "nchor" in name else (word, _joined(self._base, word)):
                        named.setdefault(said, fields)
            nodes += fields.values()
        return named


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:  # brackets that hold no IPv6 address
        return address


def _step(found: object, step: str) -> object:
    """Take one step of a pointer, as it is written or as it is meant in an address."""
    for word in (unquote(step), step):
        name = word.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            return cast("Mapping[str, object]", found)[name]
        if isinstance(found, list) and name.isdecimal() and int(name) < len(cast("list[object]", found)):
            return cast("list[object]", found)[int(name)]
    return None


def _schemas(value: object) -> list[object]:
    """Return the schemas of what should be a list of them; what can never be fits nothing."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if item is not False and item is not None]


def _stub(node: JsonObject) -> JsonObject:
    """Return of a schema what kind of thing it is."""
    kind = _one_type(node.get("type")) or _type_of(node)
    if kind == "array":
        return {"type": "array", "items": {"anyOf": _ANY}}
    if kind in ("", "object"):
        return {"type": "object"} if kind or not node.keys() & {"anyOf", "oneOf"} else {"anyOf": _ANY}
    return {key: node[key] for key in ("type", "enum", "description") if key in node}


def _in_known_words(node: JsonObject) -> JsonObject:
    """Say `const`, `oneOf`, lists of types and the words of older drafts in words that all dialects have."""
    said = {key: value for key, value in node.items() if key not in _KINDS or _is_kind(value, _KINDS[key])}
    said = _with_bounds(said)
    if "const" in said:
        said["enum"] = [said.pop("const")]
    if "enum" in said:
        said["enum"] = [value for value in said["enum"] if value is not None]
        if not said["enum"]:
            del said["enum"]
    if choices := _schemas(said.pop("oneOf", None)):
        said["anyOf"] = [*choices, *_schemas(said.get("anyOf"))]
    demanding = [name for name, each in _named_schemas(said.get("properties")) if each.get("required") is True]
    if demanding:  # draft 3 says of a property that it is required
        said["required"] = [*said.get("required", ()), *demanding]
    return _with_one_type(said)


def _with_bounds(said: JsonObject) -> JsonObject:
    """Draft 4 says of a bound that it is exclusive."""
    for bound in ("Minimum", "Maximum"):
        if isinstance(said.get(f"exclusive{bound}"), bool):
            is_exclusive = said.pop(f"exclusive{bound}")
            if is_exclusive and bound.lower() in said:
                said[f"exclusive{bound}"] = said[bound.lower()]
    return {key: value for key, value in said.items() if not (isinstance(value, bool) and key in _BOUNDS)}


def _named_schemas(properties: object) -> list[tuple[str, JsonObject]]:
    named = cast("JsonObject", properties).items() if isinstance(properties, dict) else ()
    return [(name, cast("JsonObject", each)) for name, each in named if isinstance(each, dict)]


def _with_one_type(said: JsonObject) -> JsonObject:
    """Make a choice of several types."""
    types = cast("list[object]", said["type"]) if isinstance(said.get("type"), list) else [said.get("type")]
    names = [name for name in types if isinstance(name, str) and _one_type(name) and name != "null"]
    rest = {key: value for key, value in said.items() if key != "type"}
    if len(names) > 1 and "anyOf" not in said:
        return {**rest, "anyOf": [{"type": name} for name in names]}
    kind = _one_type(names[0] if names else "null" if "null" in types else None)
    return {**said, "type": kind} if kind else rest


def _is_kind(value: object, kind: str) -> bool:
    """Whether a word's value is of a kind that it may have."""
    match kind:
        case "text":
            return isinstance(value, str)
        case "number":
            return isinstance(value, int | float)  # draft 4's true among them
        case "pattern":
            return isinstance(value, str) and _is_pattern(value)
        case "count":
            return isinstance(value, int) and not isinstance(value, bool) and value >= 0
        case "names":
            return isinstance(value, list) and all(isinstance(name, str) for name in cast("list[object]", value))
        case _:
            return isinstance(value, list)


def _is_pattern(pattern: str) -> bool:
    """Whether a pattern can be read; what only JavaScript has is read as a letter."""
    try:
        re.compile(_LOOK_BEHIND.sub("", _JAVASCRIPT.sub("x", pattern)).replace("(?<", "(?P<"))
    except (re.error, RecursionError, OverflowError):
        return False
    return True


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
    if "enum" in node:
        return _with_fitting_values(node)
    if "type" not in node:
        node = {"type": _type_of(node), **node} if _type_of(node) else {**node, "anyOf": _ANY}
    if node.get("type") == "array" and "items" not in node:
        node["items"] = {"type": "string"}
    if "required" in node:
        names: list[object] = [name for name in node["required"] if name in (node.get("properties") or {})]
        node = {**node, "required": names} if names else {key: node[key] for key in node if key != "required"}
    return node


def _with_fitting_values(node: JsonObject) -> JsonObject:
    """Give values of a list their type; of several types it is a choice."""
    kinds: dict[str, list[Any]] = {}
    for value in cast("list[object]", node["enum"]):
        kinds.setdefault(_JSON_TYPES.get(type(value), "string"), []).append(value)
    if "integer" in kinds and (node.get("type") == "number" or "number" in kinds):
        kinds["number"] = [value for value in node["enum"] if type(value) in (int, float)]
        del kinds["integer"]
    if node.get("type") in kinds:
        return {**node, "enum": kinds[node["type"]]}
    rest = {key: value for key, value in node.items() if key not in ("type", "enum")}
    choices = [{"type": kind, "enum": values} for kind, values in kinds.items()]
    return {**choices[0], **rest} if len(choices) == 1 else {**rest, "anyOf": choices}


def _type_of(node: JsonObject) -> str:
    if node.keys() & {"properties", "additionalProperties", "required"}:
        return "object"
    return "array" if node.keys() & {"items", "prefixItems"} else ""


def _one_type(value: object) -> str:
    """Return a type by its name; "" for what is none."""
    if isinstance(value, list):
        value = next((name for name in cast("list[object]", value) if name != "null"), "null")
    return "string" if value == "null" else value if isinstance(value, str) and value in _JSON_TYPES.values() else ""


def _both(first: JsonObject, second: JsonObject) -> JsonObject:
    """Join two schemas that both hold."""
    made = {**second, **first}
    if "properties" in first and "properties" in second:
        made["properties"] = {**second["properties"], **first["properties"]}
    if "required" in first and "required" in second:
        made["required"] = [*first["required"], *second["required"]]
    return made
