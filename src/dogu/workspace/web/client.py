"""Fetches one address of the web within limits: of time, size, redirects, and of where it may lead."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING

import anyio
import httpx2
import msgspec
from anyio import to_thread

from dogu.contract import ErrorKind, ToolError
from dogu.workspace.text.media import HEAD_BYTES, sniff
from dogu.workspace.web.address import HostRules
from dogu.workspace.web.connect import CheckedBackend, CheckedTransport, dial_by_system, resolve_by_system
from dogu.workspace.web.inflate import ACCEPTED, InflateError, Inflating, UnaskedError, encoding_of
from dogu.workspace.web.page import REDIRECTS, WebAnswer, explained, told_wait_s, unanswered
from dogu.workspace.web.url import WebUrl, join_url

if TYPE_CHECKING:
    from dogu.workspace.web.connect import Dial, Resolver

_MEDIA = ("image/", "audio/", "application/pdf")
_MOST_ERROR_BYTES = 64 * 1024


class WebLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one fetch may take; sizes are of what was decompressed. `most_wait_s`: for a server that says "later"."""

    total_s: float = 30.0
    connect_s: float = 10.0
    max_bytes: int = 5_000_000
    max_media_bytes: int = 20_000_000
    max_redirects: int = 10
    most_wait_s: float = 10.0


class WebClient:
    """Fetches. Nothing is kept between fetches: no cookies, no connections, no cache.

    `resolver` and `dial` replace the system's for tests; `proxy_for` names the proxy that an address goes through.
    """

    def __init__(
        self,
        rules: HostRules,
        limits: WebLimits | None = None,
        *,
        proxy_for: Callable[[WebUrl], str] = lambda _url: "",
        resolver: Resolver | None = None,
        dial: Dial | None = None,
    ) -> None:
        self.rules = rules
        self.limits = limits or WebLimits()
        self.proxy_for = proxy_for
        self._resolver = resolver
        self._dial = dial
        self._tls: ssl.SSLContext | None = None
        self._not_before: dict[str, float] = {}
        self._turns: dict[str, anyio.Lock] = {}

    def check(self, url: WebUrl) -> None:
        """Judge an address before anything is looked up. Raises `ToolError` (REFUSED)."""
        if reason := self.rules.why_host_is_refused(url.host):
            message = f"{url.host}: {reason}. It isn't asked: only public addresses, and hosts in web.allowedHosts."
            raise ToolError(ErrorKind.REFUSED, message)

    async def fetch(self, url: WebUrl, headers: dict[str, str] | None = None) -> WebAnswer:
        """Return what the address answers, redirects followed; one request at a time for each host.

        Raises:
            ToolError: REFUSED, NOT_FOUND, TOO_LARGE, TIMED_OUT, or REMOTE_FAILED for the rest.
        """
        turn = self._turns.setdefault(url.host, anyio.Lock())
        async with turn:
            try:
                with anyio.fail_after(self.limits.total_s):
                    return await self._patiently(url, headers or {})
            except TimeoutError:
                message = f"{url.host} did not answer whole within {self.limits.total_s:g} s. Nothing of it is shown."
                raise ToolError(ErrorKind.TIMED_OUT, message) from None

    async def _patiently(self, url: WebUrl, headers: dict[str, str]) -> WebAnswer:
        """Ask; a server that says "later" is asked once more, if it doesn't ask for too long a wait."""
        self._check_wait(url)
        answer = await self._follow(url, headers)
        wait_s = told_wait_s(answer)
        if wait_s is None:
            return explained(answer)
        if wait_s > self.limits.most_wait_s:
            self._not_before[url.host] = anyio.current_time() + wait_s
            self._check_wait(url)
        await anyio.sleep(wait_s)
        return explained(await self._follow(url, headers))

    def _check_wait(self, url: WebUrl) -> None:
        wait_s = self._not_before.get(url.host, 0.0) - anyio.current_time()
        if wait_s > 0:
            message = f"{url.host} asks not to be asked again for {wait_s:.0f} s. Go on without it, or try later."
            raise ToolError(ErrorKind.REMOTE_FAILED, message)

    async def _follow(self, url: WebUrl, headers: dict[str, str]) -> WebAnswer:
        hops: list[str] = []
        while True:
            answer = await self._ask_plainly(url, headers)
            location = answer.headers.get("location")
            if answer.status not in REDIRECTS or not location:
                return msgspec.structs.replace(answer, redirects=tuple(hops))
            hops.append(url.text)
            if len(hops) > self.limits.max_redirects:
                message = f"{hops[0]} redirects more than {self.limits.max_redirects} times: it isn't followed further."
                raise ToolError(ErrorKind.REFUSED, message)
            url = self._next(url, location)
            if url.host != answer.url.host:
                headers = {}

    def _next(self, url: WebUrl, location: str) -> WebUrl:
        """Return where a redirect leads, checked."""
        try:
            target = join_url(url, location)
        except ToolError as error:
            message = f"{url.text} redirects to an address that isn't followed: {error.message}"
            raise ToolError(ErrorKind.REFUSED, message) from None
        if url.scheme == "https" and target.scheme != "https":
            message = f"{url.text} redirects from https to http ({target.text}), which isn't followed."
            raise ToolError(ErrorKind.REFUSED, message)
        return target

    async def _ask_plainly(self, url: WebUrl, headers: dict[str, str]) -> WebAnswer:
        """Ask; a server that compresses as nobody asked it to is asked once more, for no compression at all."""
        try:
            return await self._ask(url, headers)
        except UnaskedError:
            pass
        try:
            return await self._ask(url, {**headers, "accept-encoding": "identity"})
        except UnaskedError as error:
            raise unanswered(url, error) from None

    async def _ask(self, url: WebUrl, headers: dict[str, str]) -> WebAnswer:
        """Send one request, and read its answer. Raises `UnaskedError` for a page that can't be decompressed."""
        self.check(url)
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(await self._client(url))
                request = client.build_request("GET", url.text, headers=headers)
                response = await client.send(request, stream=True)
                stack.push_async_callback(response.aclose)
                body = await self._body(url, response)
        except UnaskedError:
            raise
        except (httpx2.HTTPError, httpx2.InvalidURL, InflateError) as error:
            raise unanswered(url, error) from None
        return WebAnswer(url, response.status_code, dict(response.headers), body)

    async def _client(self, url: WebUrl) -> httpx2.AsyncClient:
        """Make a client for one request: through the proxy if there is one, else to checked addresses only."""
        tls = await self._certificates(url)
        resolver, dial = self._resolver or resolve_by_system, self._dial or dial_by_system
        backend = CheckedBackend(self.rules, resolver, dial)
        proxy = self.proxy_for(url)
        transport: httpx2.AsyncBaseTransport
        if proxy:
            await backend.check_where_known(url.host, url.port)
            transport = httpx2.AsyncHTTPTransport(verify=tls, proxy=proxy)
        else:
            transport = CheckedTransport(backend, tls)
        return httpx2.AsyncClient(
            transport=transport,
            trust_env=False,
            timeout=httpx2.Timeout(None, connect=self.limits.connect_s),
            headers={
                "user-agent": "Mozilla/5.0 (compatible; dogu; reading for a person)",
                "accept-encoding": ACCEPTED,
                "accept": "text/html,application/xhtml+xml,text/markdown,text/*;q=0.9,*/*;q=0.8",
            },
        )

    async def _certificates(self, url: WebUrl) -> ssl.SSLContext:
        """Return what TLS is checked by, read once: it takes 20-40 ms, which a page on http doesn't need."""
        if url.scheme == "http":
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self._tls is None:
            self._tls = await to_thread.run_sync(httpx2.create_ssl_context)
        return self._tls

    async def _body(self, url: WebUrl, response: httpx2.Response) -> bytes:
        """Read the body, decompressed, within the limit of its kind, which its bytes or its header say."""
        encoding = encoding_of(response.headers.get("content-encoding", ""))
        if not 200 <= response.status_code < 300:
            return await _beginning(response, encoding)
        is_media = response.headers.get("content-type", "").strip().lower().startswith(_MEDIA)
        limit = self.limits.max_media_bytes if is_media else self.limits.max_bytes
        told = response.headers.get("content-length", "")
        if encoding == "identity" and told.isdecimal() and int(told) > self.limits.max_media_bytes:
            raise too_large(url, limit)
        body = bytearray()
        async with aclosing(_inflated(response, encoding, self.limits.max_media_bytes)) as chunks:
            async for piece in chunks:
                body += piece
                if len(body) > limit and not is_media and sniff(bytes(body[:HEAD_BYTES]), ""):
                    is_media, limit = True, self.limits.max_media_bytes
                if len(body) > limit:
                    raise too_large(url, limit)
        return bytes(body)


async def _beginning(response: httpx2.Response, encoding: str) -> bytes:
    """Read what an error or a redirect says; one that can't be decompressed says nothing, its status counts."""
    body = bytearray()
    try:
        async with aclosing(_inflated(response, encoding, _MOST_ERROR_BYTES)) as chunks:
            async for piece in chunks:
                body += piece
                if len(body) > _MOST_ERROR_BYTES:
                    break
    except InflateError:
        return b""
    return bytes(body)


async def _inflated(response: httpx2.Response, encoding: str, most_bytes: int) -> AsyncGenerator[bytes]:
    """Give the body, decompressed; what would take more than `most_bytes` compressed is left."""
    inflating = Inflating(encoding)
    async with aclosing(response.aiter_raw()) as chunks:
        async for chunk in chunks:
            if encoding != "identity" and response.num_bytes_downloaded > most_bytes:
                raise InflateError("it is larger compressed than it may be unpacked")
            for piece in inflating.feed(chunk):
                yield piece
    inflating.check_whole()


def too_large(url: WebUrl, limit: int) -> ToolError:
    """Say that a page is larger than what is read."""
    message = f"{url.text} is larger than {limit // 1_000_000} MB, which is the limit. Nothing of it is shown."
    return ToolError(ErrorKind.TOO_LARGE, message)
