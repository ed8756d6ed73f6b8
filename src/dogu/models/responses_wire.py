"""The Responses wire, without a connection: a content as items.

Source: developers.openai.com/api/docs/guides/conversation-state: output items go back as they came, in their order; a
reasoning item right before the item that it led to.
"""

from __future__ import annotations

from typing import Any

from dogu.models.translation import HistoryAnswer, HistoryBlob, HistoryContent, HistoryPart, wire_name


def items_of(content: HistoryContent, origin: str, *, gives_reasoning_back: bool = True) -> list[dict[str, Any]]:
    """Translate one content into items; without `gives_reasoning_back` the model's own are as another's would be."""
    if content.role == "model":
        by = origin if gives_reasoning_back else ""
        return [item for part in content.parts for item in _said(part, by)]
    items = [_answer(part.function_response) for part in content.parts if part.function_response is not None]
    said = [_piece(part) for part in content.parts if part.function_response is None]
    return [*items, {"type": "message", "role": "user", "content": said}] if said else items


def _said(part: HistoryPart, origin: str) -> list[dict[str, Any]]:
    given = part.given(origin) or {}
    fields: dict[str, Any] = given.get("fields") or {}
    if part.function_call is not None:
        call = part.function_call
        arguments = given.get("arguments") or call.arguments
        named = {"call_id": call.call_id, "name": wire_name(call.name), "arguments": arguments}
        return [{"type": "function_call", **fields, **named}]
    if "item" in given:
        return [given["item"]]
    if part.thought or not (part.text or "").strip():
        return []
    if not fields:
        return [{"role": "assistant", "content": part.text}]
    text = {"type": "output_text", "text": part.text, "annotations": list[Any]()}
    return [{"type": "message", "role": "assistant", **fields, "content": [text]}]


def _answer(answer: HistoryAnswer) -> dict[str, Any]:
    text = f"Error: {answer.text}" if answer.is_error else answer.text
    output: object = text
    if answer.parts:
        output = [{"type": "input_text", "text": text}, *map(_piece, answer.parts)]
    return {"type": "function_call_output", "call_id": answer.call_id, "output": output}


def _piece(part: HistoryPart) -> dict[str, Any]:
    blob = part.inline_data
    if blob is None:
        return {"type": "input_text", "text": part.text or ""}
    return _medium(blob) or {"type": "input_text", "text": blob.note}


def _medium(blob: HistoryBlob) -> dict[str, Any] | None:
    if blob.mime_type.startswith("image/"):
        return {"type": "input_image", "image_url": blob.url, "detail": "auto"}
    if blob.mime_type == "application/pdf":
        return {"type": "input_file", "filename": "document.pdf", "file_data": blob.url}
    return None
