"""Content in the protocol's blocks: ours into theirs, and a prompt's into ours."""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from dogu.contract.content import Blob, Content, Part, Text, parts_of
from dogu.contract.display import Display, FileDiff, PatchDiff, TodoList, markdown_of
from dogu.workspace.visible import make_visible

Json = dict[str, Any]

_PATH_KEYS = ("file_path", "absolute_path", "path", "directory", "dir_path")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)", re.MULTILINE)
_MOST_PLACES = 50


def text_content(text: str) -> Json:
    """Return a text as content of a tool call."""
    return {"type": "content", "content": {"type": "text", "text": text}}


def blocks_of_content(content: Content) -> Iterator[Json]:
    """Give our content as blocks."""
    for part in parts_of(content):
        yield _block(part)


def _block(part: Part) -> Json:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    data = base64.b64encode(part.data).decode()
    kind = part.media_type.partition("/")[0]
    if kind in ("image", "audio"):
        return {"type": kind, "data": data, "mimeType": part.media_type}
    resource = {"uri": f"dogu:///{part.name or 'file'}", "mimeType": part.media_type, "blob": data}
    return {"type": "resource", "resource": resource}


def display_content(display: Display, root: str, path: str = "") -> Iterator[Json]:
    """Give what a user is shown, as content of a tool call; `path` is the absolute one of a diff's file.

    Paths of a patch are below `root`, absolute.
    """
    match display:
        case FileDiff(old_text=old_text, new_text=new_text, notes=notes):
            diff: Json = {"type": "diff", "path": path or display.path, "newText": new_text}
            if old_text is not None:
                diff["oldText"] = old_text
            yield diff
            if notes:
                yield text_content(make_visible("\n".join(notes)))
        case PatchDiff(files=files):
            for file in files:
                yield from display_content(file, root, os.path.join(root, file.path))
        case TodoList():
            return
        case _:
            text = make_visible(markdown_of(display))
            if text:
                yield text_content(text)


def plan_of(todos: TodoList) -> list[Json]:
    """Return a plan's entries; what was cancelled is left out, as the protocol knows no such state."""
    return [
        {"content": todo.text, "priority": "medium", "status": todo.status}
        for todo in todos.todos
        if todo.status != "cancelled"
    ]


def locations_of(args: Mapping[str, Any], root: str, display: Display = "") -> Iterator[Json]:
    """Give the places that a call names, absolute, with the line (from 1) where one is known."""
    line = _line(args, display)
    for path in _paths(args)[:_MOST_PLACES]:
        place: Json = {"path": os.path.normpath(os.path.join(root, path))}
        if line is not None:
            place["line"] = line
        yield place


def _paths(args: Mapping[str, Any]) -> list[str]:
    for key in _PATH_KEYS:
        value = args.get(key)
        if isinstance(value, str) and value:
            return [value]
    several: object = args.get("paths")
    if isinstance(several, list):
        return [path for path in several if isinstance(path, str) and not set(path) & set("*?[{")]  # pyright: ignore[reportUnknownVariableType]  (a model's JSON)
    return []


def _line(args: Mapping[str, Any], display: Display) -> int | None:
    if isinstance(display, FileDiff):
        found = _HUNK.search(display.unified)
        return int(found[1]) if found else None
    offset = args.get("offset")
    return offset + 1 if isinstance(offset, int) else None


def prompt_parts(blocks: Sequence[Any]) -> tuple[str, list[Part]]:
    """Read a prompt's blocks (the SDK's models): its text, and what comes with it.

    A link to a file becomes `@path` in the text, which is read by the same rules as when a user types it.
    Raises `ValueError` in words for a user.
    """
    words: list[str] = []
    parts: list[Part] = []
    for number, block in enumerate(blocks, 1):
        match block.type:
            case "text":
                words.append(block.text)
            case "image" | "audio":
                parts.append(Blob(block.mime_type, _decoded(block.data, number)))
            case "resource_link":
                words.append(_linked(block.uri, block.name))
            case _:
                parts.append(_embedded(block.resource, number))
    return "".join(words), parts


def _decoded(data: str, number: int) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"Block {number} of the prompt is no base64: {error}.") from error


def _linked(uri: str, name: str) -> str:
    path = path_of_uri(uri)
    if path is None:
        return f"[{name}]({uri})"
    quote = "'" if '"' in path else '"'
    return f" @{quote}{path}{quote} "


def path_of_uri(uri: str) -> str | None:
    """Return the path that a `file:` address names."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return unquote(parts.path, errors="surrogateescape")


def _embedded(resource: Any, number: int) -> Part:
    named = path_of_uri(resource.uri) or resource.uri
    text = getattr(resource, "text", None)
    if text is not None:
        return Text(f"--- {named} ---\n{text}\n--- end of {named} ---\n")
    data = _decoded(resource.blob, number)
    return Blob(resource.mime_type or "application/octet-stream", data, os.path.basename(named))
