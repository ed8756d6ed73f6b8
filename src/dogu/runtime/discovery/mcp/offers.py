"""What MCP servers offer beside tools: prompts and resources. What they say of them is data, made visible here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import cast

import msgspec

from dogu.contract import Content, JsonObject, Part, Text
from dogu.runtime.discovery.mcp.content import joined_content, part_of
from dogu.workspace.visible import make_visible

_LONGEST_TEXT_CHARS = 1_000
_NOT_IN_A_COMMAND = re.compile(r"[^\w.:/-]")


class PromptArgument(msgspec.Struct, frozen=True):
    """One argument of a prompt; values are texts."""

    name: str
    description: str = ""
    is_required: bool = False


class Prompt(msgspec.Struct, frozen=True):
    """A prompt of a server. `command` is what it is called by: `alias:name` without blanks."""

    alias: str
    name: str
    command: str
    description: str
    arguments: tuple[PromptArgument, ...] = ()


class Resource(msgspec.Struct, frozen=True):
    """A resource that a server listed."""

    alias: str
    uri: str
    name: str
    description: str = ""
    media_type: str = ""


def prompts_of(alias: str, rows: Iterable[object]) -> list[Prompt]:
    """Make prompts of raw rows; what has no name is left out, and of two with one command the first is taken."""
    found: dict[str, Prompt] = {}
    for row in rows:
        fields = _object(row)
        name = fields.get("name")
        if not isinstance(name, str) or not name.strip():
            continue
        command = f"{alias}:{_NOT_IN_A_COMMAND.sub('_', name)[:80]}"
        arguments = tuple(_arguments(fields.get("arguments")))
        found.setdefault(command, Prompt(alias, name, command, _said(fields), arguments))
    return [*found.values()]


def resources_of(alias: str, rows: Iterable[object]) -> list[Resource]:
    """Make resources of raw rows, those of resource templates too; what has no URI is left out."""
    found: dict[str, Resource] = {}
    for row in rows:
        fields = _object(row)
        uri = fields.get("uri", fields.get("uriTemplate"))
        if isinstance(uri, str) and uri:
            name, media_type = _visible(fields.get("name")), _visible(fields.get("mimeType"))
            found.setdefault(uri, Resource(alias, uri, name, _said(fields), media_type))
    return [*found.values()]


def prompt_content(answer: JsonObject) -> Content:
    """Make content of a raw answer to `prompts/get`: what the assistant is said to have said is marked as that."""
    messages = answer.get("messages")
    parts: list[Part] = []
    for message in cast("list[object]", messages) if isinstance(messages, list) else []:
        fields = _object(message)
        blocks = fields.get("content")
        if fields.get("role") == "assistant":
            parts.append(Text("[assistant]"))
        parts += [part_of(block) for block in (cast("list[object]", blocks) if isinstance(blocks, list) else [blocks])]
    return joined_content(parts)


def _arguments(rows: object) -> Iterable[PromptArgument]:
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        fields = _object(row)
        name = fields.get("name")
        if isinstance(name, str) and name:
            yield PromptArgument(name, _visible(fields.get("description")), fields.get("required") is True)


def _said(fields: Mapping[str, object]) -> str:
    return _visible(fields.get("description")) or _visible(fields.get("title"))


def _visible(text: object) -> str:
    return make_visible(text[:_LONGEST_TEXT_CHARS]) if isinstance(text, str) else ""


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}
