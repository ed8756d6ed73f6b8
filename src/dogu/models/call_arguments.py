"""Reads what models write as a call's name and arguments, and makes call ids; shared by the wires."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import Any, cast

import msgspec

UNNAMED = "unnamed_function"
NO_NAME = "The call has no function name: call one of the declared functions by its name."

_LONGEST_NAME = 128
_UNSOUND = re.compile(r"[^A-Za-z0-9_.:-]")


def sound_name(name: str) -> str:
    """Return the name as a wire takes it back in the history: a model may have asked for anything.

    A sound name stays; equal names become equal ones.
    Source: ai.google.dev/api/caching#FunctionDeclaration: letters, digits, `_:.-`, at most 128; a letter or `_` first.
    """
    sound = _UNSOUND.sub("_", name) or UNNAMED
    return (sound if sound[0].isalpha() or sound[0] == "_" else f"_{sound}")[:_LONGEST_NAME]


def read_arguments(raw: bytes | str) -> tuple[dict[str, Any] | None, str]:
    """Return the arguments, or None and what was wrong, for the model.

    Missing ones (empty, `null`) are none; a JSON string may hold the object.
    """
    try:
        value: object = msgspec.json.decode(raw) if raw.strip() else None
        if isinstance(value, str):
            value = msgspec.json.decode(value) if value.strip() else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, f"The arguments of the call are no JSON object ({error}): send an object."
    if value is None:
        return {}, ""
    if not isinstance(value, dict):
        return None, f"The arguments of the call are no JSON object but a JSON {_json_name(value)}: send an object."
    return cast("dict[str, Any]", value), ""


def call_id_of(given: str | None, taken: Collection[str]) -> str:
    """Return the id the model gave, or one of our own where it gave none or one twice."""
    return given if given and given not in taken else f"call-{os.urandom(8).hex()}"


def _json_name(value: object) -> str:
    names: dict[type, str] = {str: "string", list: "array", bool: "boolean"}
    return names.get(type(value), "number")
