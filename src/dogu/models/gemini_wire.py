"""Gemini's REST wire, without a connection: the body of a request, and the shapes of an answer's chunks.

Source: ai.google.dev/api/generate-content.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.contents import RawContent, enclosed, join_user_contents, user_content
from dogu.models.events import Usage


def request_body(
    system: str,
    history: Sequence[RawContent],
    declarations: Sequence[FunctionDeclaration],
    config: dict[str, Any],
    server_tool: str = "",
) -> bytes:
    """Join what is already encoded into the body of a request; only the rest is encoded here.

    `server_tool` is one of the server's own (`googleSearch`), which stands alone: it doesn't go with declarations.
    """
    rest: dict[str, Any] = {}
    if system:
        rest["systemInstruction"] = {"parts": [{"text": system}]}
    if declarations:
        rest["tools"] = [{"functionDeclarations": [_declared(declaration) for declaration in declarations]}]
    if server_tool:
        rest["tools"] = [{server_tool: {}}]
    if config:
        rest["generationConfig"] = config
    fields = msgspec.json.encode(rest)[1:-1]
    return enclosed(b'{"contents":[', history, (b"]," + fields if fields else b"]") + b"}")


def with_hint(history: Sequence[RawContent], hint: str) -> Sequence[RawContent]:
    """Return the history with the hint said to the model after the user's last words, for one request."""
    if not hint or not history:
        return history
    return [*history[:-1], join_user_contents(history[-1], user_content(hint))]


def _declared(declaration: FunctionDeclaration) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": declaration.name, "description": declaration.description}
    if declaration.parameters.get("properties"):
        declared["parametersJsonSchema"] = declaration.parameters
    return declared


class WireContent(msgspec.Struct):
    """A candidate's content; its parts stay encoded."""

    parts: list[msgspec.Raw] | None = None


class WireCandidate(msgspec.Struct, rename="camel"):
    """An answer, or the next piece of it."""

    content: WireContent | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class WireFeedback(msgspec.Struct, rename="camel"):
    """What the server thinks of the prompt."""

    block_reason: str | None = None
    block_reason_message: str | None = None


class WireCounts(msgspec.Struct, rename="camel"):
    """Tokens; each chunk holds the counts so far."""

    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    total_token_count: int | None = None

    def usage(self) -> Usage:
        """Return the counts as an event."""
        return Usage(
            prompt=(self.prompt_token_count or 0) + (self.tool_use_prompt_token_count or 0),
            output=self.candidates_token_count or 0,
            thoughts=self.thoughts_token_count or 0,
            cached=self.cached_content_token_count or 0,
            total=self.total_token_count or 0,
        )


class WireChunk(msgspec.Struct, rename="camel"):
    """One event of a stream, or a whole answer: a GenerateContentResponse."""

    candidates: list[WireCandidate] | None = None
    prompt_feedback: WireFeedback | None = None
    usage_metadata: WireCounts | None = None
    error: msgspec.Raw = msgspec.Raw()


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
