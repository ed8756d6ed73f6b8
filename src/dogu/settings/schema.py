"""The JSON Schema of settings.json, made of the table of keys: for editors, which complete and check by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dogu.settings import values as takes
from dogu.settings.keys import KEYS, Combine, Key, KeyReach

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_OBJECTS = {"type": "object", "additionalProperties": {"type": "object"}}
_ROOM = r"^\s*[0-9]+(\.[0-9]+)? *(%|[kKmMgGtT]?[bB])?\s*$"
_SANDBOX = {
    "type": "object",
    "properties": {
        "enabled": {"type": ["boolean", "null"]},
        "command": {"enum": [*takes.OTHER_SANDBOXES, None]},
        "image": {"type": ["string", "null"]},
        "allowedPaths": {"anyOf": [_TEXTS, {"type": "null"}]},
        "networkAccess": {"type": ["boolean", "null"]},
    },
    "additionalProperties": False,
}
_SCHEMAS: Mapping[Any, Mapping[str, Any]] = {
    takes.text: _TEXT,
    takes.texts: _TEXTS,
    takes.texts_or_any: _TEXTS,
    takes.tools: _TEXTS,
    takes.hosts: _TEXTS,
    takes.text_or_texts: {"anyOf": [_TEXT, _TEXTS]},
    takes.flag: {"type": "boolean"},
    takes.theme: _TEXT,
    takes.sandbox: {"anyOf": [{"enum": [*takes.SANDBOX_MODES, *takes.OTHER_SANDBOXES, True, False]}, _SANDBOX]},
    takes.room: {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1e15}, {"type": "string", "pattern": _ROOM}]},
    takes.turns: takes.TURNS.schema,
    takes.time_limit: takes.TIME.schema,
    takes.table: _OBJECTS,
    takes.prices: _OBJECTS,
    takes.headers: {"type": "object", "additionalProperties": _TEXT},
    takes.json_object: {"type": "object"},
}
_REACHES = {
    KeyReach.ALWAYS: "A folder's own settings may always set it.",
    KeyReach.STRICTER: "The settings of a folder that isn't trusted can only make it stricter.",
    KeyReach.WAITS: "The settings of a folder that isn't trusted can't set it.",
}
_PAGE = "docs/settings.md"


def settings_schema() -> dict[str, Any]:
    """Return the schema: keys nested and in their flat spellings; other programs' keys are allowed beside them."""
    whole: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dogu: settings.json",
        "description": f"Settings of dogu; {_PAGE} says what each does.",
        "type": "object",
        "properties": {"$schema": _TEXT},
    }
    for key in KEYS:
        _put(whole, key.name, _property(key))
        for spelling in key.also:
            _put(whole, spelling, {**_property(key), "description": f"Another spelling of {key.name}."})
    return whole


def _put(schema: dict[str, Any], name: str, found: Mapping[str, Any]) -> None:
    """Put a key where its dotted name says; a name that is a key and a group, as `model`, may be either."""
    *groups, last = name.split(".")
    for group in groups:
        inner = schema.setdefault("properties", {}).setdefault(group, {"type": "object"})
        if "anyOf" in inner:
            inner = inner["anyOf"][-1]
        schema = inner
    properties = schema.setdefault("properties", {})
    if last in properties:
        properties[last] = {"anyOf": [{**found}, properties[last]]}
    else:
        properties[last] = {**found}


def _property(key: Key) -> dict[str, Any]:
    convert = key.convert
    schema = (
        convert.schema if isinstance(convert, takes.Takes) else _SCHEMAS.get(convert, {})
    )  # one that says nothing takes anything
    adds = "" if key.combine is Combine.REPLACE else f" Over several files: {key.combine.value}."
    if schema and not key.restricts:  # null says nothing
        schema = {"anyOf": [schema, {"type": "null"}]}
    found = {**schema, "description": f"{_REACHES[key.reach]}{adds}"}
    if isinstance(key.default, bool | int | float | str) and key.default != "":
        found["default"] = key.default
    return found
