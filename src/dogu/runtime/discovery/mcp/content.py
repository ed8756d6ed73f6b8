"""What an MCP server answered, as a result, and what it offers beside tools: prompts and resources.

All of it is others' data: nothing in it can be relied on, and it is made visible here.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from dogu.contract import Blob, Content, ErrorKind, JsonObject, Part, Text, ToolFailure, ToolResult
from dogu.workspace.truncation import middle_left_out
from dogu.workspace.visible import make_visible

_MAX_BLOB_BYTES = 10_000_000
_LONGEST_SHOWN_CHARS = 20_000
_LONGEST_UNKNOWN_CHARS = 2_000
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+")


def result_of(server: str, answer: JsonObject) -> ToolResult:
    """Make a result of a raw answer to `tools/call`; whatever isn't understood becomes text.

    Binary data past 10 MB in all is left out and named; `isError` is a failure of kind REMOTE_FAILED.
    """
    blocks = answer.get("content")
    if answer.get("resultType", "complete") != "complete":
        return _failed(server, f"it answered with something that dogu doesn't know: {_shown(answer)}")
    if not isinstance(blocks, list) and "structuredContent" not in answer:
        return _failed(server, f"it answered without content: {_shown(answer)}")
    parts = _joined(_parts(cast("list[object]", blocks) if isinstance(blocks, list) else []))
    structured = answer.get("structuredContent")
    if structured is not None and not any(isinstance(part, Text) for part in parts):
        parts.append(Text(_shown(structured, limit=None)))
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    content = text if all(isinstance(part, Text) for part in parts) else parts
    error = None
    if answer.get("isError") not in (None, False):  # whatever it is otherwise: it isn't said that all went well
        error = ToolFailure(ErrorKind.REMOTE_FAILED, text or f"The MCP server {server} said that the call failed.")
        content = content or error.message
    return ToolResult(content or "(The tool answered nothing.)", _display(parts), error)


def _failed(server: str, what: str) -> ToolResult:
    message = f"The MCP server {server} failed: {what}."
    return ToolResult(message, message, ToolFailure(ErrorKind.REMOTE_FAILED, message))


def _parts(blocks: Iterable[object]) -> Iterator[Part]:
    left = _MAX_BLOB_BYTES
    for block in blocks:
        part = part_of(block)
        if isinstance(part, Blob):
            if len(part.data) > left:
                part = Text(f"[{part.media_type}, {len(part.data)} bytes: left out, a result holds 10 MB at most]")
            else:
                left -= len(part.data)
        yield part


def joined_content(parts: Iterable[Part]) -> Content:
    """Join neighbouring texts; texts alone become one."""
    joined = _joined(parts)
    return joined[0].text if len(joined) == 1 and isinstance(joined[0], Text) else joined


def resource_of(server: str, answer: JsonObject) -> ToolResult:
    """Make a result of a raw answer to `resources/read`."""
    found = answer.get("contents")
    if not isinstance(found, list) or not found:
        return _failed(server, "it answered without contents")
    blocks = [{"type": "resource", "resource": contents} for contents in cast("list[object]", found)]
    parts = _joined(_parts(blocks))
    return ToolResult(joined_content(parts), _display(parts))


def part_of(block: object) -> Part:
    """Make a part of one raw block; whatever isn't understood becomes text."""
    if not isinstance(block, dict):
        return Text(f"[A block that is no object: {_shown(block)}]")
    fields = cast("JsonObject", block)
    match fields:
        case {"type": "text", "text": str(text)}:
            return Text(_writable(text))
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            return _blob(data, fields.get("mimeType"), str(kind), "")
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return Text(f"[{_writable(uri)}]\n{_writable(text)}")
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)} as resource}:
            return _blob(data, cast("JsonObject", resource).get("mimeType"), "resource", _writable(uri))
        case {"type": "resource_link", "uri": str(uri)}:
            about = [fields.get(key) for key in ("title", "name", "description")]
            told = ", ".join(text for text in about if isinstance(text, str))
            return Text(_writable(f"[Link to {uri}{f': {told}' if told else ''}]"))
        case _:
            return Text(f"[A block of a type that dogu doesn't know: {_shown(fields)}]")


def _blob(data: str, media_type: object, kind: str, name: str) -> Part:
    try:
        raw = base64.b64decode(re.sub(r"\s", "", data), validate=True)
    except (binascii.Error, ValueError):
        return Text(f"[The server sent an {kind} that is no valid base64: left out.]")
    if not isinstance(media_type, str) or not _MEDIA_TYPE.fullmatch(media_type):
        media_type = "application/octet-stream"
    if kind in ("image", "audio") and not media_type.startswith(f"{kind}/"):
        return Text(f"[The server sent an {kind} of the type {media_type}: left out.]")
    return Blob(media_type, raw, name)


def _joined(parts: Iterable[Part]) -> list[Part]:
    """Join neighbouring texts: an answer of many small blocks costs no more than a long one."""
    joined: list[Part] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(part, Text):
            texts.append(part.text)
            continue
        if texts:
            joined.append(Text("\n".join(texts)))
            texts = []
        joined.append(part)
    if texts:
        joined.append(Text("\n".join(texts)))
    return joined


def _display(parts: Iterable[Part]) -> str:
    shown = [part.text if isinstance(part, Text) else f"[{part.media_type}, {len(part.data)} bytes]" for part in parts]
    return make_visible(middle_left_out("\n".join(shown), _LONGEST_SHOWN_CHARS)[0])


def _shown(value: Any, limit: int | None = _LONGEST_UNKNOWN_CHARS) -> str:
    try:
        text = _writable(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        text = "(nested too deeply to be shown)"
    return text if limit is None or len(text) <= limit else f"{text[:limit]}..."


def _writable(text: str) -> str:
    """Replace lone surrogates, which no file and no wire can hold."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


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
