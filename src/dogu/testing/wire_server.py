"""A small HTTP/1.1 server on loopback whose answers may also go wrong: cut, reset, stalled, one byte at a time."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import msgspec

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


class WireRequest(msgspec.Struct, frozen=True):
    """A request as it came; header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class ConnectionEndedError(Exception):
    """The connection is over, by the client's doing or by ours."""


class Reply:
    """Where the answer to one request is written."""

    def __init__(self, connection: socket.socket, closing: threading.Event) -> None:
        self._connection = connection
        self._closing = closing

    def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole answer; JSON unless the headers say otherwise."""
        self._head(
            status, {"content-type": "application/json", **(headers or {}), "content-length": str(len(body))}, body
        )

    def begin(self, content_type: str = "text/event-stream", headers: Mapping[str, str] | None = None) -> None:
        """Begin an answer that comes in chunks."""
        self._head(200, {"content-type": content_type, **(headers or {}), "transfer-encoding": "chunked"}, b"")

    def chunk(self, data: bytes) -> None:
        """Send a chunk; empty data is none."""
        if data:
            self._write(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self) -> None:
        """End an answer that came in chunks as it should end."""
        self._write(b"0\r\n\r\n")

    def raw(self, data: bytes) -> None:
        """Send bytes as they are, a status line and headers among them."""
        self._write(data)

    def cut(self) -> None:
        """Close the connection where the answer stands."""
        raise ConnectionEndedError

    def reset(self) -> None:
        """Close the connection with a RST."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise ConnectionEndedError

    def stall(self) -> None:
        """Send nothing more until the client goes away or the server closes."""
        while not self._closing.is_set() and not self._is_abandoned():
            pass
        raise ConnectionEndedError

    def wait(self, seconds: float) -> None:
        """Let time pass, unless the server closes."""
        if self._closing.wait(seconds):
            raise ConnectionEndedError

    def _is_abandoned(self) -> bool:
        if not select.select([self._connection], [], [], 0.02)[0]:
            return False
        try:
            return not self._connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _head(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}", *(f"{key}: {headers[key]}" for key in headers)]
        self._write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    def _write(self, data: bytes) -> None:
        try:
            self._connection.sendall(data)
        except OSError:
            raise ConnectionEndedError from None


Answer: TypeAlias = Callable[[WireRequest, Reply], None]


class WireServer:
    """Serves on a free port of 127.0.0.1 from `start` to `close`, each connection in a thread."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections_made = 0

    @property
    def connections_open(self) -> int:
        """How many connections are open now."""
        with self._lock:
            return len(self._connections)

    def start(self) -> None:
        """Begin to serve."""
        self._run(self._accept)

    def close(self) -> None:
        """Stop, ending every connection, and wait for the threads."""
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _run(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._connections.add(connection)
                self.connections_made += 1
            self._run(lambda connection=connection: self._serve(connection))

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                while (request := _read_request(stream.readline, stream.read)) is not None:
                    self._answer(request, Reply(connection, self._closing))
        except (ConnectionEndedError, OSError):
            pass
        finally:
            with self._lock:
                self._connections.discard(connection)


class Served:
    """What answers by its `server` while its context is open."""

    server: WireServer

    def __enter__(self) -> Self:
        self.server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.close()


def _read_request(read_line: Callable[[], bytes], read: Callable[[int], bytes]) -> WireRequest | None:
    """Read the next request; None at the end of the connection."""
    words = read_line().decode("latin-1").split()
    if len(words) != 3:
        return None
    headers: dict[str, str] = {}
    while line := read_line().strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    body = (
        _read_chunks(read_line, read) if "transfer-encoding" in headers else read(int(headers.get("content-length", 0)))
    )
    target = urlsplit(words[1])
    return WireRequest(words[0], target.path, dict(parse_qsl(target.query)), headers, body)


def _read_chunks(read_line: Callable[[], bytes], read: Callable[[int], bytes]) -> bytes:
    pieces: list[bytes] = []
    while size := int(read_line() or b"0", 16):
        pieces.append(read(size))
        read_line()
    read_line()
    return b"".join(pieces)
