"""The Messages wire, without a connection: a content as a message of blocks.

Source: platform.claude.com/docs/en/api/messages; for thinking, .../build-with-claude/extended-thinking: blocks go back
as they came, in their order.
"""

from __future__ import annotations

from typing import Any

from dogu.models.translation import HistoryAnswer, HistoryBlob, HistoryContent, HistoryPart, wire_name

_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


def message_of(content: HistoryContent, origin: str) -> list[dict[str, Any]]:
    """Translate one content into one message; answers to calls stand before what the user says."""
    if content.role == "model":
        blocks = [block for part in content.parts for block in _said(part, origin)]
        return [{"role": "assistant", "content": blocks or [{"type": "text", "text": "(no answer)"}]}]
    answers = [_answer(part.function_response) for part in content.parts if part.function_response is not None]
    said = [_piece(part) for part in content.parts if part.function_response is None]
    said = [block for block in said if block.get("text") != ""]  # an empty text is refused
    return [{"role": "user", "content": [*answers, *said] or [{"type": "text", "text": "(nothing)"}]}]


def _said(part: HistoryPart, origin: str) -> list[dict[str, Any]]:
    given = part.given(origin)
    if part.function_call is not None:
        call = part.function_call
        return [{"type": "tool_use", "id": call.call_id, "name": wire_name(call.name), "input": call.args}]
    if given is not None and "block" in given:
        return [given["block"]]
    if part.thought:
        signature = given and given.get("signature")
        return [{"type": "thinking", "thinking": part.text or "", "signature": signature}] if signature else []
    return [{"type": "text", "text": part.text}] if part.text and part.text.strip() else []


def _answer(answer: HistoryAnswer) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text.strip() else []
    blocks += [_piece(part) for part in answer.parts]
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": answer.call_id, "content": blocks}
    return {**block, "is_error": True} if answer.is_error else block


def _piece(part: HistoryPart) -> dict[str, Any]:
    blob = part.inline_data
    if blob is None:
        return {"type": "text", "text": part.text or ""}
    return _medium(blob) or {"type": "text", "text": blob.note}


def _medium(blob: HistoryBlob) -> dict[str, Any] | None:
    source = {"type": "base64", "media_type": blob.mime_type, "data": blob.data}
    if blob.mime_type in _IMAGES:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source} if blob.mime_type == "application/pdf" else None
