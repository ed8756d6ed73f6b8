"""What goes wrong below a model's wire, in words for the user, and what refusals have in common."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import urljoin, urlsplit

import msgspec

from dogu.language import told
from dogu.models.events import MANY_TRIES, ModelError, ModelErrorKind
from dogu.models.sse import EventTooLargeError

_ERRNO = re.compile(r"^\[Errno -?\d+\] ")
HearHeaders: TypeAlias = Callable[[Mapping[str, str]], None]


class Timeouts(msgspec.Struct, frozen=True):
    """How long to wait for a connection, the first byte of an answer, and the next byte of it.

    `silent_s` bounds the time without an event, for servers that send nothing but comments to keep a connection open;
    `total_s` bounds one answer, whatever comes.
    """

    connect_s: float = 15.0
    first_byte_s: float = 180.0
    idle_s: float = 120.0
    silent_s: float = 600.0
    total_s: float = 3600.0

    @classmethod
    def of(cls, wait_s: float) -> Timeouts:
        """Return those in which each next byte is waited for so long."""
        return cls(first_byte_s=wait_s, idle_s=wait_s, silent_s=5 * wait_s, total_s=max(3600.0, 5 * wait_s))


_AFTERWARDS_S = 2.0


class Progress:
    """How an answer's stream gets on, and until when it must have got further: what says nothing new is no data."""

    def __init__(self, timeouts: Timeouts, now: float) -> None:
        self._timeouts = timeouts
        self._began = self._data_at = now
        self._complete_at: float | None = None
        self.why_late = told("stopped in the middle")

    def deadline(self, now: float, *, is_complete: bool) -> float:
        """Return until when the next byte is waited for, and say in `why_late` what it means if none comes."""
        timeouts = self._timeouts
        if is_complete:  # whatever still comes, and however often, isn't waited for longer
            self._complete_at = now if self._complete_at is None else self._complete_at
            return self._complete_at + min(_AFTERWARDS_S, timeouts.idle_s)
        ends = (
            (now + timeouts.idle_s, told("stopped in the middle for {idle_s:g} s", idle_s=timeouts.idle_s)),
            (self._data_at + timeouts.silent_s, told("sent no data for {silent_s:g} s", silent_s=timeouts.silent_s)),
            (self._began + timeouts.total_s, told("did not finish within {total_s:g} s", total_s=timeouts.total_s)),
        )
        deadline, self.why_late = min(ends)
        return deadline

    def got_data(self, now: float) -> None:
        """Take note that the answer has grown."""
        self._data_at = now


class HttpCall(msgspec.Struct, frozen=True):
    """A POST. The headers may hold a key: never shown."""

    url: str
    headers: Mapping[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"HttpCall({self.url!r}, {len(self.body)} bytes)"


class HttpRefusal(msgspec.Struct, frozen=True):
    """An answer that is no success, with the beginning of its body; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def web_page(url: str) -> ModelError:
    """Explain an answer that a portal or a wrong address gave."""
    message = told(
        "{url} answered with a web page: check the address, and whether the network needs a login.",
        url=origin_of(url)[1],
    )
    return ModelError(ModelErrorKind.BAD_REQUEST, message)


def redirected(url: str, status: int, location: str) -> ModelError:
    """Explain a redirect: neither the key nor the conversation is sent where its user hasn't said."""
    try:
        target = urljoin(url, location)
    except ValueError:
        target = location
    scheme, where = origin_of(target)
    message = told(
        "{url} sends requests elsewhere (HTTP {status}, to {scheme}://{where}), and dogu doesn't "
        "follow: set the address of the server that answers.",
        url=origin_of(url)[1],
        status=status,
        scheme=line_of(scheme),
        where=line_of(where),
    )
    return ModelError(ModelErrorKind.BAD_REQUEST, message)


def is_of_this_machine(url: str) -> bool:
    """Whether a proxy would look for the server in the wrong place."""
    try:
        return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
    except ValueError:
        return False


def origin_of(url: str) -> tuple[str, str]:
    """Return scheme and host, without a user's name or password; both may be nonsense."""
    try:
        parts = urlsplit(url)
    except ValueError:
        scheme, _, rest = url.partition("://")
        return scheme, rest.partition("/")[0]
    return parts.scheme, parts.netloc.rpartition("@")[2]


def mapped(
    error: Exception, url: str, timeouts: Timeouts, *, began: bool, why_late: str = "", is_proxied: bool = False
) -> ModelError:
    """Turn a failure of HTTP into words for the user; `began` when the answer had begun."""
    import httpx2  # not before something has gone wrong: a model is opened at every start

    where = origin_of(url)[1]
    by_proxy = told("Check the network, the proxy and the address.")
    if isinstance(error, httpx2.ConnectTimeout):
        message = told("No connection to {where} within {connect_s:g} s.", where=where, connect_s=timeouts.connect_s)
        return ModelError(ModelErrorKind.TIMEOUT, message, most_tries=3, advice=by_proxy)
    if isinstance(error, (TimeoutError, httpx2.TimeoutException)):
        never = told("did not begin to answer within {first_byte_s:g} s", first_byte_s=timeouts.first_byte_s)
        waited = (
            (why_late or told("stopped in the middle for {idle_s:g} s", idle_s=timeouts.idle_s)) if began else never
        )
        return ModelError(ModelErrorKind.TIMEOUT, told("{where} {waited}.", where=where, waited=waited), most_tries=4)
    if isinstance(error, EventTooLargeError):
        return ModelError(
            ModelErrorKind.MALFORMED, told("{where} sent something too large: {error}.", where=where, error=error)
        )
    if isinstance(error, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
        return _no_address(error, url)
    if isinstance(error, httpx2.ConnectError):
        message = told("Cannot connect to {where} ({error}).", where=where, error=_ERRNO.sub("", str(error)))
        if "CERTIFICATE" in str(error):
            advice = told("Check the machine's clock and certificates (SSL_CERT_FILE names more of them).")
            return ModelError(ModelErrorKind.BAD_REQUEST, message, advice=advice)
        here = told("Check that the address is right, and that its server runs.")
        advice = by_proxy if is_proxied or _is_of_name(error) else here
        return ModelError(ModelErrorKind.NETWORK, message, most_tries=3, advice=advice)
    if began:
        return ModelError(
            ModelErrorKind.INCOMPLETE, told("The answer from {where} was cut off.", where=where), most_tries=5
        )
    return ModelError(
        ModelErrorKind.NETWORK,
        told("The connection to {where} broke before an answer came.", where=where),
        most_tries=MANY_TRIES,
    )


def _is_of_name(error: BaseException | None) -> bool:
    """Whether a host's name leads nowhere: without a network, none does."""
    from socket import gaierror

    while error is not None and not isinstance(error, gaierror):
        error = error.__cause__ or error.__context__
    return error is not None


def _no_address(error: Exception, url: str) -> ModelError:
    if _is_address(url):
        return unsendable(error, url)  # then it is the proxy's
    scheme, where = origin_of(url)
    shown = f"{scheme}://{where}" if "://" in url else url.rpartition("@")[2].partition("/")[0]
    message = told("{url} isn't a server's address: {error}.", url=shown, error=str(error).rstrip("."))
    return ModelError(ModelErrorKind.BAD_REQUEST, message)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def check_ports(*addresses: str) -> None:
    """Raise `ValueError` for a port that there can't be; "" is no address."""
    for address in addresses:
        if urlsplit(address).port == 0:
            raise ValueError("there is no port 0")


def unsendable(error: Exception, url: str) -> ModelError:
    """Say what kept a request from being sent: settings, never the network."""
    reason = str(error).rstrip(".")
    if isinstance(error, ImportError) and "socks" in reason.lower():
        command = f"{sys.executable} -m pip install socksio"
        reason = told("a SOCKS proxy needs the package {name}: {command}", name="socksio", command=command)
    message = told("The request can't be sent to {where}: {reason}.", where=origin_of(url)[1], reason=reason)
    advice = told(
        "Check the address, model.headers, the proxy (model.proxy, HTTPS_PROXY, ALL_PROXY) and SSL_CERT_FILE."
    )
    return ModelError(ModelErrorKind.BAD_REQUEST, message, advice=advice)


def line_of(text: str) -> str:
    """Return a server's words as one line of at most 500 characters, without controls."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= 500 else line[:500] + "…"
