"""Tools and results in the words of the Model Context Protocol."""

from __future__ import annotations

import base64
import json
import os
from typing import Any, cast
from urllib.parse import quote

import mcp_types

from dogu.contract.content import Blob, Part, Text, parts_of, text_of
from dogu.contract.display import FileDiff, PatchDiff, TerminalOutput
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind
from dogu.runtime.registry import AnyTool
from dogu.serve.private_streams import text_to_bytes
from dogu.serve.wire import display_json
from dogu.workspace.truncation import middle_left_out

DISPLAY_KEY = "dogu/returnDisplay"
ERROR_KEY = "dogu/error"

# Each holds all of the text: some clients give the model the structured content instead.
_TEXT = {"type": "string", "description": "The whole result, as the model reads it."}
_COMMAND_SCHEMA = {
    "type": "object",
    "properties": {"result": _TEXT, "exitCode": {"type": ["integer", "null"], "description": "Null after a signal."}},
    "required": ["result", "exitCode"],
}
_CHANGE_SCHEMA = {
    "type": "object",
    "properties": {
        "result": _TEXT,
        "path": {"type": "string", "description": "Relative to its root."},
        "diff": {"type": "string", "description": "Unified; of a very long one the middle is left out."},
        "notes": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["result", "path", "diff", "notes"],
}
_OUTPUT_SCHEMAS = {"run_shell_command": _COMMAND_SCHEMA, "replace": _CHANGE_SCHEMA, "write_file": _CHANGE_SCHEMA}


def tool_of(tool: AnyTool) -> mcp_types.Tool:
    """Declare a tool, with hints about what it does to the world."""
    reaches_out = tool.kind in (Kind.EXECUTE, Kind.FETCH, Kind.OTHER)
    annotations = mcp_types.ToolAnnotations(
        title=tool.display_name,
        read_only_hint=tool.kind.changes_nothing,
        destructive_hint=not tool.kind.changes_nothing,
        open_world_hint=reaches_out,
    )
    return mcp_types.Tool(
        name=tool.name,
        title=writable(tool.display_name),
        description=writable(tool.description),
        input_schema={"type": "object", "properties": {}, **tool.parameter_schema},
        output_schema=_OUTPUT_SCHEMAS.get(tool.name) if type(tool).__module__.startswith("dogu.tools.") else None,
        annotations=annotations,
    )


def result_of(result: ToolResult) -> mcp_types.CallToolResult:
    """Return a result: content for the model, the display and a failure's kind under `_meta` for the client.

    Commands and changes of files are told as an object too, as their tools declare. A failure never is: clients check
    an object against the declared schema, also of a failure, and would tell the model of that instead of the reason.
    """
    failure = result.error
    meta: dict[str, Any] = {DISPLAY_KEY: _writable_json(display_json(result.return_display))}
    if failure is not None:  # some clients show the model all of this: nothing twice
        shown = {} if result.return_display in (result.llm_content, failure.message) else meta
        meta = {**shown, ERROR_KEY: {"kind": str(failure.kind)}}
    return mcp_types.CallToolResult(
        content=[block_of(part) for part in parts_of(result.llm_content or (failure.message if failure else ""))],
        structured_content=_structured(result) if failure is None else None,
        is_error=failure is not None,
        _meta=meta,
    )


def _structured(result: ToolResult) -> dict[str, Any] | None:
    text = writable(text_of(result.llm_content))
    match result.return_display:
        case TerminalOutput(exit_code=exit_code):
            return {"result": text, "exitCode": exit_code}
        case FileDiff(path=path, unified=unified, notes=notes):
            diff, _ = middle_left_out(writable(unified))
            return {"result": text, "path": writable(path), "diff": diff, "notes": [writable(note) for note in notes]}
        case PatchDiff(files=files):
            diff, _ = middle_left_out(writable("".join(file.unified for file in files)))
            return {"result": text, "paths": [writable(file.path) for file in files], "diff": diff}
        case _:
            return None


def writable(text: str) -> str:
    """Return the text as UTF-8 can carry it: a lone surrogate (a byte that is no text) becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def readable(message: bytes) -> str:
    """Return a message as the SDK can read it, '' for what is no message: what is no character becomes U+FFFD."""
    text = message.decode("utf-8-sig", "replace")
    try:
        taken = mcp_types.jsonrpc_message_adapter.validate_json(text, by_name=False)
        is_notice = isinstance(taken, mcp_types.JSONRPCNotification)
        return "" if is_notice and has_id(message) else text  # its sender would wait for an answer
    except ValueError:
        pass
    try:
        mended = text_to_bytes(json.dumps(json.loads(text), ensure_ascii=False)).decode()
        mcp_types.jsonrpc_message_adapter.validate_json(mended, by_name=False)
    except (ValueError, RecursionError):
        return ""
    return mended


def has_id(message: bytes) -> bool:
    """Whether it is a request by its id, which may be of a kind that the protocol has not."""
    if b'"id"' not in message:
        return False
    try:
        read = json.loads(message)
    except (ValueError, RecursionError):
        return False
    return isinstance(read, dict) and "id" in read and isinstance(cast("dict[str, Any]", read).get("method"), str)


def block_of(part: Part) -> mcp_types.ContentBlock:
    """Return a part of a content as a block; a blob that is neither image nor audio is an embedded resource."""
    if isinstance(part, Text):
        return mcp_types.TextContent(text=writable(part.text))
    data = base64.b64encode(part.data).decode()
    match part.media_type.partition("/")[0]:
        case "image":
            return mcp_types.ImageContent(data=data, mime_type=part.media_type)
        case "audio":
            return mcp_types.AudioContent(data=data, mime_type=part.media_type)
        case _:
            return mcp_types.EmbeddedResource(resource=_resource(part, data))


def _resource(blob: Blob, data: str) -> mcp_types.BlobResourceContents | mcp_types.TextResourceContents:
    uri = _uri_of(blob.name)
    if blob.media_type.startswith("text/") or blob.media_type in _TEXT_TYPES:
        try:
            return mcp_types.TextResourceContents(uri=uri, mime_type=blob.media_type, text=blob.data.decode())
        except UnicodeDecodeError:
            pass  # text in another encoding goes as it is
    return mcp_types.BlobResourceContents(uri=uri, mime_type=blob.media_type, blob=data)


_TEXT_TYPES = ("application/json", "application/xml", "application/yaml", "application/javascript")


def _uri_of(name: str) -> str:
    """The address of a blob by its name, which may be one already."""
    scheme, colon, _ = name.partition("://")
    if colon and scheme.isalnum():
        return name
    path = os.fsencode(name) if name else b"result"
    return f"file://{quote(path)}" if path.startswith(b"/") else f"dogu:///{quote(path)}"


def _writable_json(value: Any) -> Any:
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, list):
        return [_writable_json(item) for item in value]  # pyright: ignore[reportUnknownVariableType]  (any JSON)
    if isinstance(value, dict):
        return {key: _writable_json(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]  (any JSON)
    return value
