"""Answers over HTTP, mended before the SDK reads them: one odd byte must not cost everything it stands among.

Source: measured with the SDK 2.3, which drops a whole answer for a byte that is no UTF-8, for half a character or for
one schema nested deeper than 200 levels, and has no limit for a plain JSON answer.
"""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import AsyncIterator
from typing import Any, cast

import httpx2

from dogu.language import told

_DEEPEST = 100
_RECURSION = 5_000


def mend(response: httpx2.Response, max_bytes: int) -> None:
    """Have the body mended while it is read, and cut off past `max_bytes` a message, if it is JSON or events."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_encoded = response.headers.get("content-encoding", "identity").lower() != "identity"
    if is_encoded or kind not in ("application/json", "text/event-stream"):
        return
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Mended(response.stream, max_bytes, is_events=kind == "text/event-stream")


class _Mended(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int, *, is_events: bool) -> None:
        self._stream = stream
        self._max_bytes = max_bytes
        self._is_events = is_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        kept = bytearray()
        async for piece in self._stream:
            kept += piece
            if self._is_events and (end := kept.rfind(b"\n") + 1):
                yield b"\n".join(map(_mended_line, bytes(kept[:end]).split(b"\n")))
                del kept[:end]
            if len(kept) > self._max_bytes:
                raise httpx2.ReadError(told("it answered with more than {limit} MB", limit=self._max_bytes // 10**6))
        if kept:
            yield _mended_line(bytes(kept)) if self._is_events else mended(bytes(kept))

    async def aclose(self) -> None:
        await self._stream.aclose()


def _mended_line(line: bytes) -> bytes:
    return b"data: " + mended(line[5:].strip()) if line.startswith(b"data:") else line


def mended(text: bytes) -> bytes:
    """Return JSON that any reader can read; what is no JSON at all stays, with its bytes made UTF-8."""
    from pydantic_core import from_json

    if not text.startswith((b"{", b"[", b"\xef\xbb\xbf")):
        return text
    try:
        from_json(text)
    except ValueError:
        return _read_and_written(text.removeprefix(codecs.BOM_UTF8))
    return text


def _read_and_written(text: bytes) -> bytes:
    present = sys.getrecursionlimit()
    sys.setrecursionlimit(max(present, _RECURSION))
    try:
        value = _pruned(json.loads(text.decode("utf-8", "replace")), _DEEPEST)
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return text.decode("utf-8", "replace").encode()
    finally:
        sys.setrecursionlimit(present)


def _pruned(value: Any, levels: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if levels == 0:
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {key: _pruned(inner, levels - 1) for key, inner in cast("dict[str, Any]", value).items()}
    return [_pruned(inner, levels - 1) for inner in cast("list[Any]", value)]
