"""Reads the body of an answer, from bytes in any cut to the data of each event: server-sent events, or JSON.

Source: HTML Living Standard §9.2.6. Lines end with LF, CRLF or CR and nothing else: U+2028 and U+0085 are data.
"""

from __future__ import annotations

import msgspec

_BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 64 * 1024 * 1024


def without_bom(text: bytes) -> bytes:
    """Return it without the marks before it: a file that was marked, sent by a server that marks, has two."""
    while text.startswith(_BOM):
        text = text[len(_BOM) :]
    return text


class EventTooLargeError(Exception):
    """An event passed the limit."""


class SseParser:
    """Holds what is left of the stream between chunks. Time is linear in the bytes, however they are cut."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._line: list[bytes] = []  # pieces of the line not yet ended
        self._data: list[bytes] = []  # data lines of the event not yet ended
        self._held_bytes = 0
        self._max_event_bytes = max_event_bytes
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes and return the data of each event they end, its data lines joined by LF.

        Raises:
            EventTooLargeError: when one event grows past the limit.
        """
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = False if chunk else self._after_cr
        self._held_bytes += len(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            self._line.append(chunk)
            self._check_size()
            return []
        self._line.append(chunk)
        text = b"".join(self._line)
        lines = text.splitlines()
        self._after_cr = text.endswith(b"\r")
        self._line = [] if text.endswith((b"\n", b"\r")) else [lines.pop()]
        return self._take(lines)

    def close(self) -> list[bytes]:
        """End the stream where it should end: an event whose blank line is missing counts."""
        lines, self._line = b"".join(self._line).splitlines(), []
        return self._take([*lines, b""])

    def _take(self, lines: list[bytes]) -> list[bytes]:
        if self._at_start and lines:
            self._at_start = False
            lines[0] = without_bom(lines[0])
        events: list[bytes] = []
        for line in lines:
            if not line:
                if self._data:
                    events.append(b"\n".join(self._data))
                    self._data = []
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif line == b"data":
                self._data.append(b"")
        if events or not self._data:
            self._held_bytes = sum(map(len, self._data)) + sum(map(len, self._line))
        self._check_size()
        return events

    def _check_size(self) -> None:
        if self._held_bytes > self._max_event_bytes:
            raise EventTooLargeError(f"one event of the stream is larger than {self._max_event_bytes} bytes")


class Body:
    """A body whose first character tells what it is: servers declare it wrongly, or not at all."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size_bytes = 0
        self._first = b""
        self._parser = SseParser()
        self.is_over = False
        self.grows = False  # what came last belongs to something that isn't whole yet

    @property
    def is_web_page(self) -> bool:
        """Whether it is HTML."""
        return self._first == b"<"

    def feed(self, chunk: bytes | None) -> list[bytes]:
        """Take the next bytes, None at the end, and return the data of the events that are whole by now.

        Raises:
            EventTooLargeError: when one grows past the limit.
        """
        self.is_over = chunk is None
        if not self._first:
            self._held.append(chunk or b"")
            start = without_bom(b"".join(self._held)).lstrip()
            if not start and not self.is_over:
                return []
            self._first = start[:1] or b":"
            if self._first in b"{[":
                return self._json()
            chunk, self._held = b"".join(self._held), []
            return self._parser.feed(chunk) + (self._parser.close() if self.is_over else [])
        if self._first in b"{[":
            self._held.append(chunk or b"")
            return self._json()
        return self._parser.close() if chunk is None else self._parser.feed(chunk)

    def _json(self) -> list[bytes]:
        self.grows = bool(self._held[-1].strip())  # blanks are what some servers keep a connection open with
        self._size_bytes += len(self._held[-1])
        if self._size_bytes > MAX_EVENT_BYTES:
            raise EventTooLargeError(f"the answer is larger than {MAX_EVENT_BYTES} bytes")
        return _elements(b"".join(self._held)) if self.is_over else []


def _elements(body: bytes) -> list[bytes]:
    """Return the elements of a JSON array, the objects of its lines, or the one value there is."""
    body = without_bom(body.strip())
    try:
        if body.startswith(b"["):
            return [bytes(element) for element in msgspec.json.decode(body, type=list[msgspec.Raw])]
    except msgspec.DecodeError:
        return [body]
    lines = [line for line in body.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}") for line in lines):
        return lines
    return [body]
