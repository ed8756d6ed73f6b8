"""What Gemini's server says of the pages that it searched or read: metadata for a `Turn`, as on the wire.

Source: ai.google.dev/api/generate-content, GroundingMetadata and UrlContextMetadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


def grounding(
    text: str, sources: Sequence[tuple[str, str]], cited: Sequence[tuple[str, Sequence[int]]], *, part: int = 0
) -> JsonObject:
    """Make the metadata of an answer that search grounded: `sources` are titles and addresses.

    `cited` are stretches of `text` with the numbers of their sources, from 0; the ends are counted in bytes of UTF-8,
    and zeros left out, as the server does. `part` is the number of the part that the text is.
    """
    supports: list[JsonObject] = []
    for stretch, numbers in cited:
        start = len(text[: text.index(stretch)].encode())
        segment: JsonObject = {"startIndex": start, "endIndex": start + len(stretch.encode()), "text": stretch}
        segment |= {"partIndex": part} if part else {}
        segment = {name: value for name, value in segment.items() if value != 0}
        supports.append({"segment": segment, "groundingChunkIndices": list(numbers)})
    return {
        "groundingMetadata": {
            "webSearchQueries": ["query"],
            "searchEntryPoint": {"renderedContent": "<div>search</div>"},
            "groundingChunks": [{"web": {"uri": address, "title": title}} for title, address in sources],
            "groundingSupports": supports,
        }
    }


def url_context(read: Sequence[str], unread: Mapping[str, str] | Sequence[str] = ()) -> JsonObject:
    """Make the metadata of an answer for which addresses were read; `unread` with a status each, or `ERROR`."""
    failed = unread if isinstance(unread, Mapping) else dict.fromkeys(unread, "URL_RETRIEVAL_STATUS_ERROR")
    statuses = {**dict.fromkeys(read, "URL_RETRIEVAL_STATUS_SUCCESS"), **failed}
    return {
        "urlContextMetadata": {
            "urlMetadata": [
                {"retrievedUrl": address, "urlRetrievalStatus": status} for address, status in statuses.items()
            ]
        }
    }
