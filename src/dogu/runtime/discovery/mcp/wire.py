"""Answers over HTTP, mended before the SDK reads them: one odd byte must not cost everything it stands among.

Source: measured with the SDK 2.3, which drops a whole answer for a byte that is no UTF-8, for half a character or for
one schema nested deeper than 200 levels, has no limit for a plain JSON answer or for what a compressed one becomes, and
loses the whole connection to an answer that breaks off.
"""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import httpx2

from dogu.language import told
from dogu.workspace.web.inflate import ACCEPTED, InflateError, Inflating, encoding_of

ASKED_FOR = {"Accept-Encoding": ACCEPTED}
"""The header that says which compressed answers can be read: those whose size is bounded while they are."""

_DEEPEST = 100
_RECURSION = 5_000


class AnswerError(httpx2.SSEError, httpx2.StreamError):
    """An answer that can't be read to its end. Both kinds of error: the SDK lets each cost one answer somewhere."""


def mend(response: httpx2.Response, max_bytes: int) -> None:
    """Have the body decompressed and mended while it is read, and cut off past `max_bytes` a message."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    encoding = encoding_of(response.headers.pop("content-encoding", ""))  # or httpx would decode it once more
    response.stream = _Mended(response.stream, kind, encoding, max_bytes)


class _Mended(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, kind: str, encoding: str, max_bytes: int) -> None:
        self._stream = stream
        self._is_events = kind == "text/event-stream"
        self._is_json = kind == "application/json"
        self._encoding = encoding
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        kept = bytearray()
        async for piece in self._inflated():
            end = piece.rfind(b"\n") + 1 if self._is_events else 0
            if end:
                kept += piece[:end]
                yield b"\n".join(map(_mended_line, bytes(kept).split(b"\n")))
                kept.clear()
            kept += piece[end:]
            if len(kept) > self._max_bytes:
                raise AnswerError(told("it answered with more than {limit} MB", limit=self._max_bytes // 10**6))
        if kept:
            yield self._mended_rest(bytes(kept))

    def _mended_rest(self, rest: bytes) -> bytes:
        if self._is_events:
            return _mended_line(rest)
        return mended(rest) if self._is_json else rest

    async def _inflated(self) -> AsyncIterator[bytes]:
        try:
            inflating = Inflating(self._encoding)
            async for data in self._stream:
                for piece in inflating.feed(data):
                    yield piece
                    await anyio.lowlevel.checkpoint()  # a small piece may become a very long answer
            inflating.check_whole()
        except InflateError as error:
            what = told(
                "its answer is compressed ({encoding}) and can't be read: {error}",
                encoding=ascii(self._encoding)[1:-1][:60],
                error=error,
            )
            raise AnswerError(what) from error

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
