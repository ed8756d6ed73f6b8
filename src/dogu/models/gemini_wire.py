"""Gemini's REST wire, without a connection: the body of a request, and the shapes of an answer's chunks.

Source: ai.google.dev/api/generate-content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dogu.models.contents import RawContent

# What Gemini 3 takes for the signature of a call that came without one.
# Source: ai.google.dev/gemini-api/docs/thought-signatures, "history from other models".
NO_SIGNATURE = "skip_thought_signature_validator"


def request_body(system: str, contents: bytes | bytearray, rest: Mapping[str, Any]) -> bytes:
    """Put contents, encoded and joined by commas, into the body of a request; only the rest is encoded here."""
    said = {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
    fields = msgspec.json.encode({**said, **rest})[1:-1]
    return b"".join((b'{"contents":[', contents, b"]," if fields else b"]", fields, b"}"))


def declared(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Make a function's declaration."""
    function: dict[str, Any] = {"name": name, "description": description}
    return {**function, "parametersJsonSchema": parameters} if parameters.get("properties") else function


def taken_back(content: RawContent, *, needs_signature: bool, keeps_signatures: bool = True) -> RawContent:
    """Return a content as this wire takes it back: its own byte for byte, what others added left out.

    Summaries of thoughts stay behind too: they are for people, and the model's thoughts are in the signatures. With
    `needs_signature` a call that another model made is marked as one; media within answers stand beside them without.
    A server that can't read signatures is sent none of them: without `keeps_signatures` every model is another one.
    """
    is_signed = b'"thoughtSignature"' in content
    is_stripped = is_signed and not keeps_signatures
    is_foreign_call = needs_signature and b'"functionCall"' in content and (is_stripped or not is_signed)
    has_media_inside = not needs_signature and b'"functionResponse"' in content and b'"inlineData"' in content
    if not (is_stripped or b'"wire"' in content or b'"thought"' in content or is_foreign_call or has_media_inside):
        return content
    decoded = msgspec.json.decode(content, type=_RawContent)
    parts = [
        {
            name: value
            for name, value in part.items()
            if name != "wire" and not (is_stripped and name == "thoughtSignature")
        }
        for part in decoded.parts
        if not _is_summary(part)
    ]
    if is_foreign_call:
        first = next((part for part in parts if "functionCall" in part), None)
        if first is not None:
            first["thoughtSignature"] = msgspec.Raw(msgspec.json.encode(NO_SIGNATURE))
    if has_media_inside:
        parts += [medium for part in parts for medium in _media_taken_out(part)]
    encoded = msgspec.json.encode(parts or [{"text": ""}])
    return b'{"role":' + msgspec.json.encode(decoded.role) + b',"parts":' + encoded + b"}"


def _is_summary(part: dict[str, msgspec.Raw]) -> bool:
    return bytes(part.get("thought", b"")) == b"true" and not part.keys() - {"thought", "text", "wire"}


def _media_taken_out(part: dict[str, msgspec.Raw]) -> list[dict[str, msgspec.Raw]]:
    if "functionResponse" not in part:
        return []
    response = msgspec.json.decode(part["functionResponse"], type=dict[str, msgspec.Raw])
    media = msgspec.json.decode(response.pop("parts", b"[]"), type=list[dict[str, msgspec.Raw]])
    part["functionResponse"] = msgspec.Raw(msgspec.json.encode(response))
    return media


class _RawContent(msgspec.Struct):
    role: str
    parts: list[dict[str, msgspec.Raw]] = []


class WireContent(msgspec.Struct):
    """A candidate's content; its parts stay encoded."""

    parts: list[msgspec.Raw] | None = None


class WireCandidate(msgspec.Struct, rename="camel"):
    """An answer, or the next piece of it."""

    index: int | None = None
    content: WireContent | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class WireFeedback(msgspec.Struct, rename="camel"):
    """What the server thinks of the prompt."""

    block_reason: str | None = None
    block_reason_message: str | None = None


class WireChunk(msgspec.Struct, rename="camel"):
    """One event of a stream, or a whole answer: a GenerateContentResponse."""

    candidates: list[WireCandidate] | None = None
    prompt_feedback: WireFeedback | None = None
    usage_metadata: Any = None
    error: Any = None


class PlainText(msgspec.Struct, forbid_unknown_fields=True):
    """A part that is text and nothing else: the only kind that may be merged with its like."""

    text: str
    thought: bool = False


class WireFunctionCall(msgspec.Struct):
    """A call, as trusting as need be."""

    id: str | None = None
    name: str | None = None
    args: msgspec.Raw = msgspec.Raw()


class WirePart(msgspec.Struct, rename="camel"):
    """Any other part; fields that aren't named here are kept in its bytes."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: WireFunctionCall | None = None


class TokenCount(msgspec.Struct, rename="camel"):
    """The answer of countTokens."""

    total_tokens: int
