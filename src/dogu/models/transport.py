"""Posts JSON over HTTP and gives the events of the answer; knows no model's wire, and maps every failure to ModelError.

The one place that touches `httpx2`, which is imported with the first request.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast
from urllib.request import getproxies

import anyio
import httpx2

from dogu.models.events import MANY_TRIES, ModelError, ModelErrorKind
from dogu.models.sse import Body, EventTooLargeError
from dogu.models.transport_errors import (
    HearHeaders,
    HttpCall,
    HttpRefusal,
    Progress,
    Timeouts,
    check_ports,
    is_of_this_machine,
    mapped,
    origin_of,
    redirected,
    unsendable,
    web_page,
)

if TYPE_CHECKING:
    from ssl import SSLContext

_MAX_ERROR_BYTES = 256 * 1024
_MAX_JSON_BYTES = 64 * 1024 * 1024
_REFUSAL_S = 5.0  # how long a refusal's body is waited for


Explain: TypeAlias = Callable[[HttpRefusal], ModelError]


class Reader(Protocol):
    """What reads the events of an answer. `heard` counts those that said something new."""

    heard: int

    def is_complete(self) -> bool:
        """Whether nothing needful can follow."""
        ...

    def ended(self, *, is_framed: bool) -> None:
        """Take note that the stream came to its end; `is_framed`: HTTP itself says that nothing of it is missing."""
        ...


class Transport:
    """One client and its connections, kept for the session."""

    def __init__(
        self, timeouts: Timeouts | None = None, proxy: str = "", hear_headers: HearHeaders | None = None
    ) -> None:
        self.timeouts = timeouts or Timeouts()
        self._proxy = proxy
        self._hear_headers: HearHeaders = hear_headers or (lambda _: None)
        self._client: httpx2.AsyncClient | None = None
        self._has_answered = False

    async def events(self, call: HttpCall, explain: Explain, answer: Reader) -> AsyncGenerator[list[bytes], None]:
        """Post, and give the data of the answer's events, those that arrived together in one list.

        A JSON answer (an array, one object, or an object a line) counts as its elements; which it is, is seen from the
        body and not from its declared type. Once the answer is complete, the rest of the stream is waited for only
        briefly, and its failure is no failure.

        Raises:
            ModelError: `explain`'s for a refusal; NETWORK, TIMEOUT, INCOMPLETE or MALFORMED for the rest.
        """
        response: httpx2.Response | None = None
        progress = Progress(self.timeouts, anyio.current_time())
        try:
            response = await self._answer(call, explain)
            self._has_answered = True
            body = Body()
            async with aclosing(_chunks(response)) as chunks:
                while not body.is_over:
                    now = anyio.current_time()
                    with anyio.fail_after(max(0.0, progress.deadline(now, is_complete=answer.is_complete()) - now)):
                        chunk = await anext(chunks, None)
                    batch = body.feed(chunk)
                    if body.is_web_page:
                        raise web_page(call.url)
                    before = answer.heard
                    if batch:
                        yield batch
                    if body.grows or answer.heard != before:
                        progress.got_data(anyio.current_time())
            answer.ended(is_framed=_is_framed(response))
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, EventTooLargeError) as error:
            if not answer.is_complete():
                raise self._failure(error, call.url, "" if response is None else progress.why_late) from None
        finally:
            if response is not None:
                with anyio.move_on_after(2, shield=True):
                    await response.aclose()

    def _failure(self, error: Exception, url: str, why_late: str) -> ModelError:
        """Explain a failure; `why_late` is empty where no answer had begun."""
        is_proxied = bool(self._proxy or (getproxies() and not is_of_this_machine(url)))
        failure = mapped(error, url, self.timeouts, began=bool(why_late), why_late=why_late, is_proxied=is_proxied)
        if failure.kind is ModelErrorKind.NETWORK and self._has_answered:
            failure.most_tries = MANY_TRIES  # the address is right: the network will come back
        return failure

    async def post(self, call: HttpCall, explain: Explain) -> bytes:
        """Post, and return the whole body of the answer. Raises `ModelError`."""
        try:
            response = await self._answer(call, explain)
            try:
                return await self._body(response, _MAX_JSON_BYTES)
            finally:
                with anyio.move_on_after(2, shield=True):
                    await response.aclose()
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
            raise self._failure(error, call.url, "") from None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            with anyio.move_on_after(2, shield=True):
                await client.aclose()

    async def _answer(self, call: HttpCall, explain: Explain) -> httpx2.Response:
        """Send, and return the answer's head; a refusal is read and raised as explained."""
        try:
            client = self._opened(call.url)
            request = client.build_request("POST", call.url, headers=dict(call.headers), content=call.body)
            check_ports(call.url, self._proxy)
        except httpx2.InvalidURL:
            raise
        except (ValueError, ImportError, OSError) as error:  # a proxy's address, certificates, headers
            raise unsendable(error, call.url) from error
        try:
            with anyio.fail_after(self.timeouts.first_byte_s):
                response = await client.send(request, stream=True)
        except (httpx2.LocalProtocolError, ImportError, OverflowError, ValueError) as error:
            raise unsendable(error, call.url) from error
        if response.is_success:
            self._hear_headers(response.headers)
            return response
        if response.has_redirect_location:
            await response.aclose()
            raise redirected(call.url, response.status_code, response.headers["location"])
        body: list[bytes] = []
        try:
            with anyio.move_on_after(min(_REFUSAL_S, self.timeouts.idle_s)):
                await self._body(response, _MAX_ERROR_BYTES, body)
        except (httpx2.HTTPError, TimeoutError):
            pass  # what came of it has to do: the status is known
        finally:
            with anyio.move_on_after(2, shield=True):
                await response.aclose()
        raise explain(HttpRefusal(response.status_code, dict(response.headers), b"".join(body)))

    async def _body(self, response: httpx2.Response, max_bytes: int, pieces: list[bytes] | None = None) -> bytes:
        """Return the body; its pieces are also put into `pieces` as they come."""
        pieces = [] if pieces is None else pieces
        size = 0
        progress = Progress(self.timeouts, anyio.current_time())
        async with aclosing(_chunks(response)) as chunks:
            while size <= max_bytes:
                now = anyio.current_time()
                progress.got_data(now)
                with anyio.fail_after(progress.deadline(now, is_complete=False) - now):
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                pieces.append(chunk)
                size += len(chunk)
        return b"".join(pieces)[:max_bytes]

    def _opened(self, url: str) -> httpx2.AsyncClient:
        if self._client is None:
            is_http = origin_of(url)[0] == "http"
            self._client = httpx2.AsyncClient(
                verify=not is_http and _certificates(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR"))),
                proxy=self._proxy or None,
                trust_env=not (is_http and is_of_this_machine(url)),  # a proxy can't reach this machine's own servers
                timeout=httpx2.Timeout(None, connect=self.timeouts.connect_s),
                headers={"accept-encoding": "identity", "content-type": "application/json"},
            )
        return self._client


@cache
def _certificates(_file: str | None, _folder: str | None) -> SSLContext:
    """Read the certificates that the machine trusts, or the variables name.

    That takes 20-40 ms: once for all clients and their proxies, and a server on http needs none.
    """
    return httpx2.create_ssl_context()


def _chunks(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """Give the body as it arrives; decompressed only where a server compresses unasked."""
    if "content-encoding" in response.headers:
        return response.aiter_bytes()
    return cast("AsyncGenerator[bytes, None]", aiter(cast("AsyncIterable[bytes]", response.stream)))


def _is_framed(response: httpx2.Response) -> bool:
    """Whether an end of the body that raises nothing is its whole end: HTTP/1 without a length just stops."""
    headers = response.headers
    return response.http_version == "HTTP/2" or "content-length" in headers or "transfer-encoding" in headers
