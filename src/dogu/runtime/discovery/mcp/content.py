"""What an MCP server answered, as a result. The answer is others' data: nothing in it can be relied on."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

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
    if answer.get("isError") is True:
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


def content_of(blocks: Iterable[object]) -> Content:
    """Make content of raw blocks, bounded as results are."""
    return joined_content(_parts(blocks))


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
