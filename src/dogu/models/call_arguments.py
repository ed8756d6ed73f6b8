"""Reads what models write as a call's name and arguments, and makes call ids; shared by the wires."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Collection
from typing import Any, cast

import msgspec

from dogu.models.reading import whole
from dogu.workspace.python_text import python_expression

UNNAMED = "unnamed_function"
NO_NAME = "The call has no function name: call one of the declared functions by its name."

_LONGEST_NAME = 128
_UNSOUND = re.compile(r"[^A-Za-z0-9_.:-]")
_SHOWN_CHARS = 40
_FENCED = re.compile(r"```\w*+\n?(.*?)\n?```", re.DOTALL)
_STRING = re.compile(r'("(?>(?:[^"\\]|\\.)*)(?:"|\\?\Z))', re.DOTALL)
_WHOLE_STRING = re.compile(r'"(?>(?:[^"\\]|\\.)*)"', re.DOTALL)
_LAST_COMMA = re.compile(r",(\s*[}\]])")
_NONE = frozenset(("None", "nil", "undefined", "NULL"))
_CLOSERS = {"{": "}", "[": "]"}


def sound_name(name: str) -> str:
    """Return the name as a wire takes it back in the history: a model may have asked for anything.

    A sound name stays; equal names become equal ones.
    Source: ai.google.dev/api/caching#FunctionDeclaration: letters, digits, `_:.-`, at most 128; a letter or `_` first.
    """
    sound = _UNSOUND.sub("_", name) or UNNAMED
    return (sound if sound[0].isalpha() or sound[0] == "_" else f"_{sound}")[:_LONGEST_NAME]


def read_arguments(raw: bytes | str, *, is_whole: bool = True) -> tuple[dict[str, Any] | None, str]:
    """Return the arguments, or None and what was wrong, for the model.

    Missing ones (empty, `null`) are none; a JSON string may hold the object. Slips that leave no doubt about what was
    meant are put right: raw line breaks in a string, a bracket too many or too few at the end, a comma before it, a
    fence around it, half of a character, an object as Python writes it. Where the answer was cut
    (not `is_whole`), a missing bracket is missing text: nothing is added then.
    """
    try:
        value: object = msgspec.json.decode(raw) if raw.strip() else None
        if isinstance(value, str):
            value = msgspec.json.decode(value) if value.strip() else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
        value = _mended(text, is_whole=is_whole)
        if value is None:
            return None, f"The arguments of the call are no JSON object ({error}{_place(text, error)}): send an object."
    if value is None:
        return {}, ""
    if not isinstance(value, dict):
        return None, f"The arguments of the call are no JSON object but a JSON {_json_name(value)}: send an object."
    return cast("dict[str, Any]", value), ""


def is_complete(raw: str) -> bool:
    """Whether the arguments that have come so far are a whole JSON object."""
    try:
        return isinstance(msgspec.json.decode(raw), dict)
    except (msgspec.DecodeError, RecursionError):
        return False


def call_id_of(given: str | None, taken: Collection[str]) -> str:
    """Return the id the model gave, or one of our own where it gave none or one twice."""
    return given if given and given not in taken else f"call-{os.urandom(8).hex()}"


def _mended(text: str, *, is_whole: bool) -> object | None:
    """Read JSON with a slip that can mean one thing only; None where it could mean two."""
    lenient = json.JSONDecoder(strict=False)  # takes raw line breaks and tabs within strings
    text = without_fence(text)
    if text in _NONE:
        return {}
    for candidate in (text, *_repaired(text)) if is_whole else (text,):
        try:
            value, end = lenient.raw_decode(candidate)
            rest = candidate[end:].strip()
            if value == {} and rest.startswith("{"):  # some servers begin with an empty object
                value, end = lenient.raw_decode(rest)
                rest = rest[end:].strip()
            value = whole(value)
        except (json.JSONDecodeError, RecursionError):
            continue
        if not rest.strip("}] \r\n\t") or rest == candidate[:end]:
            return value
    return _of_python(text) if is_whole else None


def _repaired(text: str) -> list[str]:
    """Return what the text may have been meant to be: with the brackets that it lacks, without commas before them."""
    closed = text + _missing_brackets(text)
    pieces = _STRING.split(closed)  # strings stand at the odd places
    pieces[::2] = [_LAST_COMMA.sub(r"\1", piece) for piece in pieces[::2]]
    return [closed, "".join(pieces)]


def _of_python(text: str) -> object | None:
    """Read a dict as Python writes it; None for anything else."""
    try:
        value: object = ast.literal_eval(python_expression(text)) if text.startswith("{") else None
        return msgspec.json.decode(msgspec.json.encode(value)) if isinstance(value, dict) else None
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def without_fence(text: str) -> str:
    """Return the text within a Markdown fence around all of it, or as it is."""
    match = _FENCED.fullmatch(text.strip())
    return (match[1] if match else text).strip()


def _missing_brackets(text: str) -> str:
    """Return the brackets that are open at the end; none where a string is, whose end nobody knows."""
    open_: list[str] = []
    pieces = _STRING.split(text)  # strings stand at the odd places
    if len(pieces) > 1 and not pieces[-1] and not _WHOLE_STRING.fullmatch(pieces[-2]):
        return ""
    outside = "".join(pieces[::2])
    for char in outside:
        if char in _CLOSERS:
            open_.append(_CLOSERS[char])
        elif open_ and char == open_[-1]:
            open_.pop()
    return "".join(reversed(open_))


def _place(text: str, error: Exception) -> str:
    """Show the text around the byte that an error names."""
    at = re.search(r"byte (\d+)", str(error))
    if at is None:
        return ""
    start = len(text.encode()[: int(at[1])].decode("utf-8", "replace"))
    return f", after {text[max(0, start - _SHOWN_CHARS) : start]!r} and before {text[start : start + _SHOWN_CHARS]!r}"


def _json_name(value: object) -> str:
    names: dict[type, str] = {str: "string", list: "array", bool: "boolean"}
    return names.get(type(value), "number")
