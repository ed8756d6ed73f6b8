"""The chat-completions wire, without a connection: history translated into messages, and the shapes of answers.

Source: platform.openai.com/docs/api-reference/chat; the servers of Ollama, llama.cpp and vLLM.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.contents import RawContent, enclosed

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class Translation:
    """Contents as messages, each translated once; what a request no longer holds is forgotten."""

    def __init__(self) -> None:
        self._known: dict[RawContent, bytes] = {}

    def request_body(
        self,
        system: str,
        history: Sequence[RawContent],
        declarations: Sequence[FunctionDeclaration],
        fields: dict[str, Any],
    ) -> bytes:
        """Join the messages into the body of a request; `fields` are the others, such as `model`."""
        known = self._known
        self._known = {content: known.get(content) or messages_of(content) for content in history}
        messages = [message for content in history if (message := self._known[content])]
        if system:
            messages.insert(0, msgspec.json.encode({"role": "system", "content": system}))
        rest = dict(fields)
        if declarations:
            rest["tools"] = [_tool(declaration) for declaration in declarations]
        return enclosed(b'{"messages":[', messages, b"]," + msgspec.json.encode(rest)[1:])


def messages_of(content: RawContent) -> bytes:
    """Translate one content into messages, encoded and joined by commas."""
    decoded = msgspec.json.decode(content)
    parts = cast("list[dict[str, Any]]", decoded.get("parts") or [])
    messages = [_assistant(parts)] if decoded.get("role") == "model" else _from_user(parts)
    return b",".join(msgspec.json.encode(message) for message in messages)


def _tool(declaration: FunctionDeclaration) -> dict[str, Any]:
    parameters = declaration.parameters or {"type": "object", "properties": {}}
    function = {"name": declaration.name, "description": declaration.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _assistant(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Make the model's message; thoughts stay behind."""
    text = "".join(part["text"] for part in parts if part.get("text") and not part.get("thought"))
    calls = [_tool_call(part["functionCall"]) for part in parts if "functionCall" in part]
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = calls
    return message


def _tool_call(call: dict[str, Any]) -> dict[str, Any]:
    arguments = msgspec.json.encode(call.get("args") or {}).decode()
    function = {"name": _NOT_IN_NAMES.sub("_", call["name"])[:64], "arguments": arguments}
    return {"id": call.get("id") or call["name"], "type": "function", "function": function}


def _from_user(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make a message of each answer, then one of what the user says and of the answers' media."""
    answers: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    for part in parts:
        response = part.get("functionResponse")
        if response is not None:
            answers.append(_answer(response))
            said += [_piece(inner) for inner in response.get("parts") or ()]
        else:
            said.append(_piece(part))
    if not said:
        return answers
    is_text = all(piece["type"] == "text" for piece in said)
    content: object = "\n".join(piece["text"] for piece in said) if is_text else said
    return [*answers, {"role": "user", "content": content}]


def _answer(response: dict[str, Any]) -> dict[str, Any]:
    result = cast("dict[str, Any]", response.get("response") or {})
    text = f"Error: {result['error']}" if "error" in result else str(result.get("output", ""))
    return {"role": "tool", "tool_call_id": response.get("id") or response["name"], "content": text}


def _piece(part: dict[str, Any]) -> dict[str, Any]:
    blob = part.get("inlineData")
    if blob is None:
        return {"type": "text", "text": str(part.get("text", ""))}
    media_type, data = str(blob.get("mimeType", "")), str(blob.get("data", ""))
    if media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}"}}
    if media_type in _AUDIO_FORMATS:
        return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO_FORMATS[media_type]}}
    size_bytes = len(base64.b64decode(data + "=="))
    return {"type": "text", "text": f"[{media_type}, {size_bytes} bytes: this wire can't carry it]"}


class WireFunction(msgspec.Struct):
    """A function call, or a piece of it; `arguments` is a string, or with some servers the object."""

    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()


class WireToolCall(msgspec.Struct):
    """A tool call, or a piece of it."""

    index: int | None = None
    id: str | None = None
    function: WireFunction | None = None


class WireMessage(msgspec.Struct):
    """A message, or what a chunk adds to it."""

    content: str | list[dict[str, Any]] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[WireToolCall] | None = None
    function_call: WireFunction | None = None


class WireChoice(msgspec.Struct):
    """An answer (`message`), or the next piece of it (`delta`)."""

    delta: WireMessage | None = None
    message: WireMessage | None = None
    finish_reason: str | None = None


class WireDetails(msgspec.Struct):
    """Counts within counts."""

    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class WireUsage(msgspec.Struct):
    """Tokens."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: WireDetails | None = None
    completion_tokens_details: WireDetails | None = None


class WireCompletion(msgspec.Struct):
    """One event of a stream, or a whole answer."""

    choices: list[WireChoice] | None = None
    usage: WireUsage | None = None
    error: msgspec.Raw = msgspec.Raw()
