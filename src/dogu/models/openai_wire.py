"""The chat-completions wire, without a connection: a content as messages, and what of an answer goes back with it.

Source: platform.openai.com/docs/api-reference/chat; the servers of Ollama, llama.cpp and vLLM; for what goes back:
api-docs.deepseek.com/guides/thinking_mode, openrouter.ai/docs/use-cases/reasoning-tokens, and for `extra_content`
ai.google.dev/gemini-api/docs/openai.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dogu.models.translation import HistoryBlob, HistoryContent, HistoryPart, wire_name

_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_MISSED = ("must be passed", "missing", "required")


class Echo:
    """What a server was found to want back of thoughts, and which media it takes; the documented until it says else."""

    def __init__(self) -> None:
        self.gives_thoughts_back = True
        self.wants_thoughts = ""  # a field that each message with calls must have
        self.takes_files = True

    def learns(self, said: str, forget: Callable[[], None]) -> bool:
        """Take a refusal as a lesson; whether it was one."""
        before = (self.gives_thoughts_back, self.wants_thoughts, self.takes_files)
        if "reasoning_content" in said and any(sign in said for sign in _MISSED):
            self.wants_thoughts = "reasoning_content"
            self.gives_thoughts_back = True
        elif "reasoning" in said and not self.wants_thoughts and "reasoning_effort" not in said:
            self.gives_thoughts_back = False
        elif "'file'" in said or '"file"' in said or "file_data" in said:
            self.takes_files = False
        if before == (self.gives_thoughts_back, self.wants_thoughts, self.takes_files):
            return False
        forget()
        return True


def messages_of(content: HistoryContent, origin: str, echo: Echo) -> list[dict[str, Any]]:
    """Translate one content into messages."""
    if content.role == "model":
        return [_assistant(content.parts, origin, echo)]
    return _from_user(content.parts, echo)


def _assistant(parts: Sequence[HistoryPart], origin: str, echo: Echo) -> dict[str, Any]:
    """Make the model's message; thoughts go back to the server that had them."""
    text = "".join(part.text for part in parts if part.text and not part.thought)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    for part in parts:
        given = part.given(origin)
        if part.function_call is None and given is not None and echo.gives_thoughts_back:
            if field := given.get("field"):
                message[field] = part.text or ""
            message |= given.get("fields") or {}
    calls = [_tool_call(part, origin) for part in parts if part.function_call is not None]
    if calls:
        message["tool_calls"] = calls
        if echo.wants_thoughts:
            message.setdefault(echo.wants_thoughts, " ")  # Moonshot takes an empty one for a missing one
    return message


def _tool_call(part: HistoryPart, origin: str) -> dict[str, Any]:
    call = part.function_call
    assert call is not None
    given = part.given(origin) or {}
    function = {"name": wire_name(call.name), "arguments": given.get("arguments") or call.arguments}
    return {"id": call.call_id, "type": "function", "function": function, **(given.get("call") or {})}


def _from_user(parts: Sequence[HistoryPart], echo: Echo) -> list[dict[str, Any]]:
    """Make a message of each answer, then one of what the user says and of the answers' media."""
    answers: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    for part in parts:
        answer = part.function_response
        if answer is not None:
            text = f"Error: {answer.text}" if answer.is_error else answer.text
            answers.append({"role": "tool", "tool_call_id": answer.call_id, "content": text})
            said += [_piece(inner, echo) for inner in answer.parts]
        else:
            said.append(_piece(part, echo))
    if not said:
        return answers
    is_text = all(piece["type"] == "text" for piece in said)
    content: object = "\n".join(piece["text"] for piece in said) if is_text else said
    return [*answers, {"role": "user", "content": content}]


def _piece(part: HistoryPart, echo: Echo) -> dict[str, Any]:
    blob = part.inline_data
    if blob is None:
        return {"type": "text", "text": part.text or ""}
    return _medium(blob, echo) or {"type": "text", "text": blob.note}


def _medium(blob: HistoryBlob, echo: Echo) -> dict[str, Any] | None:
    if blob.mime_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": blob.url}}
    if blob.mime_type in _AUDIO_FORMATS:
        return {"type": "input_audio", "input_audio": {"data": blob.data, "format": _AUDIO_FORMATS[blob.mime_type]}}
    if blob.mime_type == "application/pdf" and echo.takes_files:
        return {"type": "file", "file": {"filename": "document.pdf", "file_data": blob.url}}
    return None
