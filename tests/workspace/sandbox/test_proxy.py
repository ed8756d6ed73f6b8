"""The proxy between a sandbox and the hosts it may reach: loopback servers, names of our own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from dogu.workspace.sandbox.hosts import AllowedHosts
from dogu.workspace.sandbox.proxy import HostProxy

NAMES = {"good.example": ["127.0.0.1"], "inside.example": ["10.0.0.5"], "localhost": ["127.0.0.1"], "none.example": []}


def resolve(host: str, _port: int) -> list[str]:
    if host not in NAMES:
        raise OSError(f"no address for {host}")
    return NAMES[host]


class Upstream:
    """A server that answers with what it was sent, after the sender's last word."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client:
                while data := client.recv(65_536):
                    client.sendall(data)

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


Start = Callable[..., tuple[HostProxy, int]]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:

        def started(*hosts: str) -> tuple[HostProxy, int]:
            listener = socket.create_server(("127.0.0.1", 0))
            port: int = listener.getsockname()[1]
            proxy = HostProxy(listener, AllowedHosts(hosts), resolve)
            stack.callback(proxy.close)
            return proxy, port

        yield started


def ask(port: int, request: str) -> bytes:
    """Send a request and its end; return all that comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(request.encode())
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while data := client.recv(65_536):
            answer += data
        return answer


def test_connect_to_a_listed_host_is_a_tunnel(start: Start, upstream: Upstream) -> None:
    proxy, port = start("good.example", "127.0.0.1")
    answer = ask(port, f"CONNECT good.example:{upstream.port} HTTP/1.1\r\nHost: x\r\n\r\nhello")
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\nhello"
    assert proxy.refused_since(0) == ()


def test_plain_http_is_passed_on_for_the_host_it_names(start: Start, upstream: Upstream) -> None:
    _, port = start("localhost")
    answer = ask(
        port,
        f"POST http://localhost:{upstream.port}/a?b HTTP/1.1\r\nHost: evil.example\r\nProxy-Connection: keep-alive\r\n"
        "Connection: keep-alive\r\nX-Kept: 1\r\n\r\nbody",
    )
    assert answer.decode() == (
        f"POST /a?b HTTP/1.1\r\nHost: localhost:{upstream.port}\r\nX-Kept: 1\r\nConnection: close\r\n\r\nbody"
    )


@pytest.mark.parametrize(
    "request_",
    [
        "CONNECT evil.example:443 HTTP/1.1\r\n\r\n",
        "CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n",
        "CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n",
        "GET http://evil.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n",
        "GET http://good.example@evil.example/ HTTP/1.1\r\n\r\n",
        "GET http://good.example:81/ HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_not_listed_is_refused_and_remembered_by_name(start: Start, request_: str) -> None:
    proxy, port = start("good.example:80")
    answer = ask(port, request_)
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    (refused,) = proxy.refused_since(0)
    assert refused in request_
    assert refused.encode() in answer


def test_a_listed_name_does_not_lead_to_a_private_network(start: Start) -> None:
    proxy, port = start("good.example", "inside.example")
    for name in ("good.example", "inside.example"):
        answer = ask(port, f"CONNECT {name}:80 HTTP/1.1\r\n\r\n")
        assert b"must be listed itself" in answer
    assert proxy.refused_since(1) == ("inside.example",)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("GET / HTTP/1.1\r\n\r\n", b"400"),
        ("GET ftp://good.example/ HTTP/1.1\r\n\r\n", b"400"),
        ("nonsense\r\n\r\n", b"400"),
        ("GET http://[x/ HTTP/1.1\r\n\r\n", b"400"),
        ("GET http://localhost/ HTTP/1.1\r\nX: 1\nHost: y\r\n\r\n", b"400"),
        ("CONNECT localhost:x HTTP/1.1\r\n\r\n", b"400"),
        ("CONNECT localhost:0 HTTP/1.1\r\n\r\n", b"400"),
        ("CONNECT unknown.example:80 HTTP/1.1\r\n\r\n", b"502"),
        ("CONNECT none.example:80 HTTP/1.1\r\n\r\n", b"502"),
        ("X: " + "y" * 80_000, b"431"),
        ("CONNECT \x1b]0;x\x07:80 HTTP/1.1\r\n\r\n", b"400"),
        ("CONNECT ..:80 HTTP/1.1\r\n\r\n", b"400"),
        (f"CONNECT {'y' * 64}.open.example:80 HTTP/1.1\r\n\r\n", b"400"),
    ],
)
def test_what_is_no_request_is_answered(start: Start, request_: str, status: bytes) -> None:
    proxy, port = start("localhost", "unknown.example", "none.example", "*.open.example")
    assert ask(port, request_).split()[1] == status
    assert "\x1b" not in "".join(proxy.refused_since(0))


def test_closing_cuts_what_is_open(start: Start, upstream: Upstream) -> None:
    proxy, port = start("localhost")
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(f"CONNECT localhost:{upstream.port} HTTP/1.1\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        proxy.close()
        assert client.recv(100) == b""


def test_both_ends_may_talk_at_once(start: Start, upstream: Upstream) -> None:
    _, port = start("localhost")
    much = b"x" * 3_000_000
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(f"CONNECT localhost:{upstream.port} HTTP/1.1\r\n\r\n".encode())
        assert client.recv(39) == b"HTTP/1.1 200 Connection established\r\n\r\n"
        sender = threading.Thread(target=client.sendall, args=(much,))
        sender.start()
        received = 0
        while received < len(much):
            received += len(client.recv(65_536))
        sender.join()
