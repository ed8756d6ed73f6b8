"""Reads an answer that Gemini grounded: by its search, or by the addresses in the prompt that its server read.

Source: ai.google.dev/api/generate-content, GroundingMetadata and UrlContextMetadata; a segment's ends count bytes
of UTF-8 within its part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dogu.language import told
from dogu.models.counts import Counts
from dogu.models.events import ModelError, ModelErrorKind, Usage
from dogu.models.gemini_wire import WireFeedback
from dogu.workspace.web.grounding import Citation, Grounded, Source, character_offset

_READ = "URL_RETRIEVAL_STATUS_SUCCESS"


class _Part(msgspec.Struct):
    text: str | None = None
    thought: bool | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Page(msgspec.Struct):
    uri: str | None = None
    title: str | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    web: _Page | None = None
    retrieved_context: _Page | None = None


class _Segment(msgspec.Struct, rename="camel"):
    part_index: int | None = None
    end_index: int | None = None


class _Support(msgspec.Struct, rename="camel"):
    segment: _Segment | None = None
    grounding_chunk_indices: list[int] | None = None


class _Grounding(msgspec.Struct, rename="camel"):
    grounding_chunks: list[_Chunk] | None = None
    grounding_supports: list[_Support] | None = None


class _Retrieved(msgspec.Struct, rename="camel"):
    retrieved_url: str | None = None
    url_retrieval_status: str | None = None


class _UrlContext(msgspec.Struct, rename="camel"):
    url_metadata: list[_Retrieved] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    grounding_metadata: _Grounding | None = None
    url_context_metadata: _UrlContext | None = None


class _Answer(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: WireFeedback | None = None
    usage_metadata: Any = None


def read_grounded(answer: bytes) -> tuple[Grounded, Usage]:
    """Return the text with its sources, and the tokens. Raises `ModelError` (MALFORMED, BLOCKED)."""
    try:
        decoded = msgspec.json.decode(answer, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ModelError(
            ModelErrorKind.MALFORMED, told("The server's answer can't be read ({error}).", error=error)
        ) from None
    if decoded.prompt_feedback and decoded.prompt_feedback.block_reason:
        reason = decoded.prompt_feedback.block_reason
        raise ModelError(ModelErrorKind.BLOCKED, told("The server refused this prompt ({reason}).", reason=reason))
    counts = Counts()
    counts.take(decoded.usage_metadata)
    usage = counts.usage()
    candidate = (decoded.candidates or [_Candidate()])[0]
    parts = (candidate.content and candidate.content.parts) or []
    grounding = candidate.grounding_metadata or _Grounding()
    retrieved = (candidate.url_context_metadata or _UrlContext()).url_metadata or []
    sources = tuple(_source(chunk) for chunk in grounding.grounding_chunks or ())
    if not sources:
        sources = tuple(Source("", page.retrieved_url or "") for page in retrieved if _is_read(page))
    unread = tuple(page.retrieved_url or "" for page in retrieved if not _is_read(page))
    text, citations = _cited(parts, grounding.grounding_supports or [])
    return Grounded(text, sources, citations, unread), usage


def _source(chunk: _Chunk) -> Source:
    page = chunk.web or chunk.retrieved_context or _Page()
    return Source(page.title or "", page.uri or "")


def _is_read(page: _Retrieved) -> bool:
    return page.url_retrieval_status == _READ


def _cited(parts: Sequence[_Part], supports: Sequence[_Support]) -> tuple[str, tuple[Citation, ...]]:
    """Join the parts that are text, and say where in it the supported stretches end."""
    text = ""
    starts: dict[int, tuple[int, bytes]] = {}
    for index, part in enumerate(parts):
        if part.text and not part.thought:
            starts[index] = len(text), part.text.encode("utf-8", "replace")
            text += part.text
    first = min(starts, default=0)
    citations: list[Citation] = []
    for support in supports:
        segment = support.segment
        if segment is None or segment.end_index is None or not support.grounding_chunk_indices:
            continue
        # Without a part's number, the first part that is text is meant.
        start, encoded = starts.get(segment.part_index or 0, starts.get(first, (0, b"")))
        end = start + character_offset(encoded, segment.end_index)
        citations.append(Citation(end, tuple(support.grounding_chunk_indices)))
    return text, tuple(citations)
