"""The proxy that sandboxed commands reach the allowed hosts through: `CONNECT`, and plain HTTP.

Threads of its own, one a connection: it goes on while a tool blocks, and asks nothing of the program's loop. A name is
resolved once, and connected to is the address that was judged, so that a name can't change its mind in between.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from urllib.parse import urlsplit

from dogu.workspace.sandbox.hosts import (
    AllowedHosts,
    is_host,
    is_metadata,
    is_public,
    is_this_machine,
    plain_name,
    split_host,
)

Resolve = Callable[[str, int], list[str]]

_MOST_CONNECTIONS = 200
_LONGEST_HEAD_BYTES = 65_536
_HEAD_TAKES_S = 30.0
_CONNECT_TAKES_S = 20.0
_COPIED_BYTES = 65_536
_MOST_REMEMBERED = 10_000
_OWN_FIELDS = ("proxy-", "connection:", "keep-alive:", "host:")
_TELLABLE = re.compile(r"[\w.:\[\]-]{1,253}")


class _RefusedError(Exception):
    """Why a request isn't carried out: an HTTP status and a sentence."""

    def __init__(self, status: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class HostRequest:
    """A host that a command wants to reach and that isn't listed: answered once, from any thread.

    `private` are its addresses that aren't the open internet's.
    """

    def __init__(self, host: str, port: int, private: Sequence[str] = ()) -> None:
        self.host, self.port, self.private = host, port, tuple(private)
        self.is_granted = False
        self._is_answered = threading.Event()

    def answer(self, is_granted: bool) -> None:
        """Let the request go on, or refuse it; a second answer changes nothing."""
        if not self._is_answered.is_set():
            self.is_granted = is_granted
            self._is_answered.set()

    def wait(self) -> bool:
        """Wait for the answer."""
        self._is_answered.wait()
        return self.is_granted


Ask = Callable[[HostRequest], None]


class HostProxy:
    """Answers a listener until it is closed; `refused` tells which hosts were asked for in vain.

    A host that isn't listed is refused, but for those that somebody has asked for (`asking`).
    """

    def __init__(self, listener: socket.socket, hosts: AllowedHosts, resolve: Resolve | None = None) -> None:
        self._listener = listener
        self._hosts = hosts
        self._resolve = resolve or _resolve
        self._asks: list[Ask] = []
        self._asked: dict[tuple[str, int], HostRequest] = {}
        self._refused: list[str] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._is_closed = False
        listener.setblocking(True)
        self._thread = threading.Thread(target=self._accept, name="dogu-proxy", daemon=True)
        self._thread.start()

    @property
    def refused_count(self) -> int:
        """How many requests were refused so far: a mark for `refused_since`."""
        return len(self._refused)

    def refused_since(self, mark: int) -> tuple[str, ...]:
        """Return the hosts refused after a mark, each once, in order."""
        return tuple(dict.fromkeys(self._refused[mark:]))

    @contextmanager
    def asking(self, ask: Ask) -> Generator[None]:
        """Have hosts that aren't listed asked for, once each: `ask`, in a thread of the proxy's, sees to the answer.

        Answers hold until nobody asks any more; what is open then is refused.
        """
        self._asks.append(ask)
        try:
            yield
        finally:
            self._asks.remove(ask)
            if not self._asks:
                with self._lock:
                    asked, self._asked = self._asked, {}
                for request in asked.values():
                    request.answer(False)

    def close(self) -> None:
        """Stop answering and cut every connection."""
        self._is_closed = True
        _shut(self._listener)
        self._thread.join(5)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                _shut(connection)

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            if not self._room.acquire(blocking=False):
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,), name="dogu-proxy-connection", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        opened = [client]
        self._remember(client)
        try:
            client.settimeout(_HEAD_TAKES_S)
            head, body = _read_head(client)
            upstream, first, answer = self._connected(head)
            opened.append(upstream)
            self._remember(upstream)
            client.sendall(answer)
            upstream.sendall(first + body)
            _copy_both_ways(client, upstream)
        except _RefusedError as refusal:
            _answer(client, refusal.status, str(refusal))
        except OSError:  # either end went away, or was cut: nobody is left to tell
            pass
        finally:
            with self._lock:
                self._open.difference_update(opened)
            for connection in opened:
                connection.close()
            self._room.release()

    def _remember(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)
            if self._is_closed:
                _shut(connection)

    def _connected(self, head: bytes) -> tuple[socket.socket, bytes, bytes]:
        """Return the connection a request is for, what to send first there, and what to answer first here."""
        method, target, version, fields = _parsed(head)
        if method == "CONNECT":
            host, port = _host_of(target, 443)
            return self._connect(host, port), b"", b"HTTP/1.1 200 Connection established\r\n\r\n"
        try:
            url = urlsplit(target)
        except ValueError:
            raise _RefusedError("400 Bad Request", "This is no address.") from None
        if url.scheme != "http" or not url.netloc:
            raise _RefusedError("400 Bad Request", "This is a proxy: it takes CONNECT and http:// only.")
        host, port = _host_of(url.netloc.rpartition("@")[2], 80)
        path = target.split("://", 1)[1][len(url.netloc) :] or "/"
        kept = [line for line in fields if not line.lower().startswith(_OWN_FIELDS)]
        name = url.netloc.rpartition("@")[2]
        lines = [f"{method} {path if path.startswith('/') else '/' + path} {version}", f"Host: {name}", *kept]
        return self._connect(host, port), "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1"), b""

    def _connect(self, host: str, port: int) -> socket.socket:
        is_listed = self._hosts.allows(host, port)
        asks = self._asks[-1:]
        if not is_listed and not asks:
            raise self._refusal(host)
        try:
            found = self._resolve(host, port)
        except OSError as error:
            raise _RefusedError("502 Bad Gateway", f"{host} has no address: {error}.") from error
        addresses = [each for each in found if not is_metadata(each)]
        if found and not addresses:
            raise self._refusal(host, " is where a machine's own keys are handed out, which nothing may ask")
        allowed = self._hosts.allowed_addresses(host, port, addresses)
        if not is_listed:
            allowed = self._granted(host, port, addresses, asks[0])
        if addresses and not allowed:
            raise self._refusal(host, " is an address of a private network, which must be listed itself")
        for address in allowed:
            try:
                return socket.create_connection((address, port), timeout=_CONNECT_TAKES_S)
            except OSError:
                continue
        raise _RefusedError("502 Bad Gateway", f"{host} can't be reached.")

    def _granted(self, host: str, port: int, addresses: Sequence[str], ask: Ask) -> list[str]:
        """Have the user asked, once for a host however often it is wanted. Raises `_RefusedError`."""
        reachable = [each for each in addresses if not is_this_machine(each)]
        private = [each for each in reachable if not is_public(ip_address(each.partition("%")[0]))]
        if not reachable:
            raise self._refusal(host)
        with self._lock:
            known = self._asked.get((host, port))
            request = known or HostRequest(plain_name(host), port, private)
            self._asked[host, port] = request
        if known is None:
            ask(request)
        # A name may have come to mean another, private address meanwhile: only what was shown is granted.
        if not request.wait() or not set(private) <= set(request.private):
            raise self._refusal(host)
        return reachable

    def _refusal(self, host: str, why: str = " is not among the hosts that commands may reach") -> _RefusedError:
        told = host if _TELLABLE.fullmatch(host) else "(no host's name)"
        if len(self._refused) < _MOST_REMEMBERED:
            self._refused.append(told)
        return _RefusedError("403 Forbidden", f"The sandbox refused this: {told}{why}.")


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """Return a request's head, and what came after it. Raises `_RefusedError`, `OSError`."""
    data = b""
    while b"\r\n\r\n" not in data:
        if len(data) > _LONGEST_HEAD_BYTES:
            raise _RefusedError("431 Request Header Fields Too Large", "The request's head is too long.")
        more = client.recv(_COPIED_BYTES)
        if not more:
            raise ConnectionError("closed before its request was complete")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    return head, body


def _parsed(head: bytes) -> tuple[str, str, str, list[str]]:
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or any("\n" in line or "\r" in line for line in lines):
        raise _RefusedError("400 Bad Request", "This is no request that a proxy understands.")
    return words[0], words[1], words[2], lines[1:]


def _host_of(text: str, default_port: int) -> tuple[str, int]:
    try:
        host, port = split_host(text, default_port)
    except ValueError as error:
        raise _RefusedError("400 Bad Request", f"{error}.") from error
    if not is_host(host):
        raise _RefusedError("400 Bad Request", "This names no host.")
    return host, port or default_port


def _resolve(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _copy_both_ways(one: socket.socket, other: socket.socket) -> None:
    """Copy until both ends have said their last; an end that only stops sending still hears."""
    for each in (one, other):
        each.settimeout(None)
    back = threading.Thread(target=_copy, args=(other, one), name="dogu-proxy-answers", daemon=True)
    back.start()
    _copy(one, other)
    back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(_COPIED_BYTES):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # one of them is gone: then the other has nobody to talk to
        _shut(source)
        _shut(target)


def _answer(client: socket.socket, status: str, sentence: str) -> None:
    body = sentence.encode() + b"\n"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    try:
        client.sendall(head.encode() + b"Connection: close\r\n\r\n" + body)
    except OSError:  # it didn't wait for the answer
        pass


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # closed already
        pass
