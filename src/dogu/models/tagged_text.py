"""Text of models whose server leaves their tags in it: `<think>` at the beginning, calls between `<tool_call>` tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

_THINK, _THOUGHT = "<think>", "</think>"
_CALL, _CALLED = "<tool_call>", "</tool_call>"
_FUNCTION = re.compile(r"<function=([^>\s]+)>(.*?)(?:</function>|$)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)

SchemaOf = Callable[[str], Mapping[str, Any] | None]


class TaggedText:
    """Sorts a text that grows into thoughts, text and calls; what may become a tag is held back until it is known.

    `<think>` counts at the very beginning only, a call only where it names a declared tool: else both are text.
    """

    def __init__(self, schema_of: SchemaOf) -> None:
        self._schema_of = schema_of
        self._held = ""
        self._in_thought = False
        self._has_begun = False
        self._follows_thought = False
        self.calls: list[tuple[str, str]] = []  # names, and arguments as a text of JSON

    def feed(self, piece: str, *, is_last: bool = False) -> tuple[str, str]:
        """Take more text and return the thought and the text that are known by now."""
        held = self._held + piece
        thought, text = "", ""
        if not self._has_begun and held.strip():
            start = held.lstrip()
            if _THINK.startswith(start) and start != _THINK and not is_last:
                self._held = held
                return "", ""
            self._has_begun = True
            if start.startswith(_THINK):
                self._in_thought, held = True, start.removeprefix(_THINK)
        if self._in_thought:
            thought, found, held = held.partition(_THOUGHT)
            if not found:
                kept = "" if is_last else _beginning_of(_THOUGHT, thought)
                self._held = kept
                return thought.removesuffix(kept) if kept else thought, ""
            self._in_thought, self._follows_thought = False, True
        if self._follows_thought:  # the line breaks after a thought may come in pieces of their own
            held = held.lstrip("\n")
            self._follows_thought = not held
        text, self._held = self._sorted(held, is_last=is_last)
        return thought, text

    def _sorted(self, held: str, *, is_last: bool) -> tuple[str, str]:
        """Return the text without its calls, and what is held back."""
        text = ""
        while True:
            before, found, rest = held.partition(_CALL)
            if not found:
                kept = "" if is_last else _beginning_of(_CALL, held)
                return text + (held.removesuffix(kept) if kept else held), kept
            inner, ended, after = rest.partition(_CALLED)
            if not ended and not is_last:
                return text + before, _CALL + rest
            if self._take_call(inner):
                text, held = text + before, after
            else:
                text, held = text + before + _CALL + inner + ended, after

    def _take_call(self, inner: str) -> bool:
        call = self._json_call(inner) or self._xml_call(inner)
        if call is not None:
            self.calls.append(call)
        return call is not None

    def _json_call(self, inner: str) -> tuple[str, str] | None:
        try:
            decoded: object = msgspec.json.decode(inner.strip())
        except (msgspec.DecodeError, RecursionError):
            return None
        if not isinstance(decoded, dict):
            return None
        fields = cast("dict[str, Any]", decoded)
        name = fields.get("name")
        arguments = fields.get("arguments", fields.get("parameters", {}))
        if not isinstance(name, str) or self._schema_of(name) is None:
            return None
        return name, arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()

    def _xml_call(self, inner: str) -> tuple[str, str] | None:
        """Read a call as Qwen3-Coder writes it, a tag a parameter: what is no text by its schema is JSON."""
        found = _FUNCTION.search(inner)
        schema = self._schema_of(found[1]) if found else None
        if found is None or schema is None:
            return None
        properties = cast("dict[str, dict[str, Any]]", schema.get("properties") or {})
        arguments = {name: _value(value, properties.get(name) or {}) for name, value in _PARAMETER.findall(found[2])}
        return found[1], msgspec.json.encode(arguments).decode()


def _value(text: str, schema: Mapping[str, Any]) -> object:
    if schema.get("type", "string") == "string":
        return text
    try:
        return msgspec.json.decode(text.strip())
    except (msgspec.DecodeError, RecursionError):
        return text


def _beginning_of(tag: str, text: str) -> str:
    """Return the end of the text that may be the beginning of the tag."""
    return next((tag[:size] for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), "")
