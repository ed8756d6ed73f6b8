"""Connections to checked addresses: a name is looked up once, and what was judged is what is connected to.

Or through the proxy that the environment names, as curl and its kin read it. Loads httpx2: import it where a page is
fetched, not before.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import anyio
import httpcore2
import httpx2

from dogu.contract import ErrorKind, ToolError
from dogu.workspace.web.address import HostRules
from dogu.workspace.web.url import WebUrl


def environment_proxy(url: WebUrl, environ: Mapping[str, str]) -> str:
    """Return the proxy for an address (`http://proxy:3128`), empty when it is reached directly.

    `HTTP_PROXY` counts in lower case only where a web server could have set it from a request's header.
    """
    if url.host == "localhost" or url.host.startswith("127.") or url.host == "::1":
        return ""  # a proxy can't reach this machine's own servers
    if _is_excepted(url, environ.get("no_proxy") or environ.get("NO_PROXY") or ""):
        return ""
    names = [f"{url.scheme}_proxy", f"{url.scheme}_proxy".upper(), "all_proxy", "ALL_PROXY"]
    if "REQUEST_METHOD" in environ:
        names.remove(f"{url.scheme}_proxy".upper())
    proxy = next((environ[name] for name in names if environ.get(name)), "")
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


def _is_excepted(url: WebUrl, exceptions: str) -> bool:
    for written in exceptions.split(","):
        name, _, port = written.strip().lower().partition(":")
        if name == "*":
            return True
        name = name.removeprefix("*").lstrip(".")
        if name and (url.host == name or url.host.endswith(f".{name}")) and port in ("", str(url.port)):
            return True
    return False


Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
Dial: TypeAlias = Callable[[str, int, float | None], Awaitable[httpcore2.AsyncNetworkStream]]

_MOST_TRIED = 4


async def resolve_by_system(name: str, port: int) -> list[str]:
    """Look a name up as the system does. Raises `OSError`."""
    found = await anyio.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


async def dial_by_system(address: str, port: int, timeout_s: float | None) -> httpcore2.AsyncNetworkStream:
    """Connect to an address, which is no name: nothing is looked up."""
    backend = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())
    return await backend.connect_tcp(address, port, timeout=timeout_s)


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Connects only where `rules` allow. A name with one address that is refused is refused altogether."""

    def __init__(self, rules: HostRules, resolver: Resolver, dial: Dial) -> None:
        self._rules = rules
        self._resolver = resolver
        self._dial = dial

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (the signature is httpcore's)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Look the host up once, judge every address, and connect to the first that answers."""
        with anyio.move_on_after(timeout):
            addresses = await self._addresses(host, port)
            failure: Exception | None = None
            for number, address in enumerate(addresses[:_MOST_TRIED]):
                is_last = number + 1 == min(len(addresses), _MOST_TRIED)
                share_s = timeout if timeout is None or is_last else timeout / 3
                try:
                    return await self._dial(address, port, share_s)
                except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                    failure = error
            raise failure or httpcore2.ConnectError("the name has no address")
        raise httpcore2.ConnectTimeout

    async def check_where_known(self, host: str, port: int) -> None:
        """Judge the addresses of a host that a proxy will look up; a name that this machine can't resolve passes.

        Raises `ToolError` (REFUSED).
        """
        try:
            await self._addresses(host, port)
        except ToolError as error:
            if error.kind is not ErrorKind.NOT_FOUND:
                raise

    async def _addresses(self, host: str, port: int) -> list[str]:
        if ":" in host or host.replace(".", "").isdigit():
            found: Sequence[str] = [host]
        else:
            try:
                found = await self._resolver(host, port)
            except (OSError, UnicodeError) as error:
                message = f"The name {host} can't be resolved ({error}): check how it is written, and the network."
                raise ToolError(ErrorKind.NOT_FOUND, message) from error
        addresses = list(dict.fromkeys(found))
        for address in addresses:
            if reason := self._rules.why_address_is_refused(host, address):
                raise ToolError(ErrorKind.REFUSED, refusal(host, address, reason))
        return addresses


class CheckedTransport(httpx2.AsyncHTTPTransport):
    """httpx2's own transport over a `CheckedBackend`; TLS is still for the name in the address."""

    def __init__(self, backend: CheckedBackend, tls: ssl.SSLContext) -> None:
        super().__init__(verify=tls, trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(ssl_context=tls, network_backend=backend, max_connections=4)


def refusal(host: str, address: str, reason: str) -> str:
    """Say to the model why an address isn't asked."""
    at = f"{host} leads to {address}: " if address and address != host else f"{host}: "
    return f"{at}{reason}. It isn't asked: web_fetch reaches public addresses, and hosts named in web.allowedHosts."
