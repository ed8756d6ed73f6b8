"""Changes values in the text of a settings file and nothing else: comments, order and blanks stay."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from dogu.language import say
from dogu.settings.json import JsonError, parse_json_with_comments

_SKIPPED = re.compile(r"(?:[ \t\r\n,:]+|//[^\n]*|/\*(?s:.*?)\*/)*")
_SCALAR = re.compile(r'"(?:[^"\\\n]|\\.)*"|[^\s,:{}\[\]"/]+')


def with_values(text: str, group: str, values: Mapping[str, Any]) -> str:
    """Return the text with `group`'s keys set to these values: `{"model": {"name": "x"}}` for group `model`.

    An empty text isn't written where there was no value before.

    Raises `JsonError` when the text is no settings file, or can't be changed so.
    """
    parse_json_with_comments(text)
    if not text.strip():
        text = "{\n}\n"
    for key, value in values.items():
        text = _with_value(text, group, key, msgspec.json.encode(value).decode())
    after: Any = parse_json_with_comments(text).values.get(group)
    kept = cast("dict[str, Any]", after) if isinstance(after, dict) else {}
    if any(kept.get(key, "") != value for key, value in values.items()):
        raise JsonError(1, say("{group} can't be changed here", group=group))
    return text


def _with_value(text: str, group: str, key: str, written: str) -> str:
    top = text.index("{", _SKIPPED.match(text).end() if _SKIPPED.match(text) else 0)  # pyright: ignore[reportOptionalMemberAccess]  (it matches the empty text)
    span = _member(text, top, group)
    if span is None:
        return text if written == '""' else _inserted(text, top, f'"{group}": {{ "{key}": {written} }}', "\n  ")
    start, end = span
    if text[start] != "{":  # the old spelling, "model": "name"
        return f'{text[:start]}{{ "{key}": {written} }}{text[end:]}'
    inner = _member(text, start, key)
    if inner is None:
        return text if written == '""' else _inserted(text, start, f'"{key}": {written}', " ")
    return text[: inner[0]] + written + text[inner[1] :]


def _inserted(text: str, brace: int, member: str, before: str) -> str:
    after = _SKIPPED.match(text, brace + 1)
    is_empty = after is not None and text[after.end()] == "}"
    comma = "" if is_empty else ","
    return f"{text[: brace + 1]}{before}{member}{comma}{text[brace + 1 :]}"


def _member(text: str, brace: int, wanted: str) -> tuple[int, int] | None:
    """Return the half-open span of a member's value in the object that begins at `brace`."""
    at = brace + 1
    while True:
        at = _after_blanks(text, at)
        if text[at] == "}":
            return None
        name = _SCALAR.match(text, at)
        if name is None:
            return None
        start = _after_blanks(text, name.end())
        end = _value_end(text, start)
        if msgspec.json.decode(name[0]) == wanted:
            return start, end
        at = end


def _value_end(text: str, start: int) -> int:
    depth, at = 0, start
    while True:
        at = _after_blanks(text, at)
        if text[at] in "{[":
            depth, at = depth + 1, at + 1
        elif text[at] in "}]":
            depth, at = depth - 1, at + 1
        else:
            found = _SCALAR.match(text, at)
            at = found.end() if found else at + 1
        if depth <= 0:
            return at


def _after_blanks(text: str, at: int) -> int:
    found = _SKIPPED.match(text, at)
    return found.end() if found else at
