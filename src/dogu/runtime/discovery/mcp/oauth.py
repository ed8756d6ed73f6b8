"""Logins to MCP servers by OAuth, on the SDK's provider. Imports the SDK: import it late.

Discovery (RFC 9728, 8414), registration (RFC 7591), PKCE and refresh are the SDK's. Kept beside the tokens is what a
later session needs to refresh them: when they end, and where the authorization server is. It sends the browser back to
an address on this machine.

Source: RFC 8252, section 7.3.
"""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import msgspec
from anyio import to_thread
from anyio.abc import SocketStream
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl

from dogu.contract import JsonObject
from dogu.language import say, told
from dogu.runtime.discovery.mcp.entries import ServerEntry
from dogu.runtime.discovery.mcp.tokens import TokenStore

_PATIENCE_S = 300.0
_LONGEST_REQUEST_BYTES = 16_384


class Callback:
    """What came back: `parameters` is filled in once `came` is set."""

    def __init__(self) -> None:
        self.came = anyio.Event()
        self.parameters: dict[str, str] = {}

    async def wait(self) -> dict[str, str]:
        """Wait for the browser, five minutes at most. Raises `TimeoutError`."""
        with anyio.fail_after(_PATIENCE_S):
            await self.came.wait()
        return self.parameters


def free_port() -> int:
    """Return a port that nothing listens at, for now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def listening(redirect_uri: str) -> AsyncGenerator[Callback]:
    """Listen at the address's port while the context is open. Raises `OSError` when the port is taken."""
    wanted = urlsplit(redirect_uri)
    callback = Callback()

    async def serve(stream: SocketStream) -> None:
        async with stream:
            with anyio.move_on_after(10):
                await _answer(stream, wanted.path, callback)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=wanted.port or 80)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        try:
            yield callback
        finally:
            group.cancel_scope.cancel()


async def _answer(stream: SocketStream, path: str, callback: Callback) -> None:
    request = b""
    try:
        while b"\r\n\r\n" not in request and len(request) < _LONGEST_REQUEST_BYTES:
            request += await stream.receive()
        target = urlsplit(request.split(b" ", 2)[1].decode("ascii", "replace"))
        found = {name: values[0] for name, values in parse_qs(target.query).items()}
        is_it = target.path == path and ("code" in found or "error" in found)
        text = say("dogu has what it needs: you can close this page.") if is_it else say("There is nothing here.")
        body = text.encode()
        status = b"200 OK" if is_it else b"404 Not Found"
        head = b"HTTP/1.1 " + status + b"\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
        await stream.send(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    except (IndexError, ValueError, anyio.EndOfStream, anyio.BrokenResourceError):
        return
    if is_it:
        callback.parameters = found
        callback.came.set()


ShowAddress = Callable[[str], Awaitable[bool]]
"""Shows the user the address at which they log in; False when they don't want to, or nobody is there."""


class LoginNeededError(OAuthFlowError):
    """The server wants a login, and nobody is here to give one."""


class _Kept:
    """The SDK's `TokenStorage` for one address, over what was loaded when it was made."""

    def __init__(self, store: TokenStore, address: str, login: JsonObject) -> None:
        self._store = store
        self._address = address
        self.login = login

    async def get_tokens(self) -> OAuthToken | None:
        tokens = self.login.get("tokens")
        return OAuthToken.model_validate(tokens) if tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await self.keep(
            tokens=tokens.model_dump(mode="json", exclude_none=True),
            ends_at=None if tokens.expires_in is None else time.time() + tokens.expires_in,
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        client = self.login.get("client")
        return OAuthClientInformationFull.model_validate(client) if client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self.keep(client=client_info.model_dump(mode="json", exclude_none=True))

    async def keep(self, **values: Any) -> None:
        self.login.update(values)
        await to_thread.run_sync(self._store.save, self._address, dict(self.login))


class OwnScopes(OAuthClientProvider):
    """Asks for the scopes that the entry names, if any, and not for those that the server would have."""

    async def _initialize(self) -> None:
        self._named = self.context.client_metadata.scope
        await super()._initialize()

    async def _perform_authorization(self) -> httpx2.Request:
        self.context.client_metadata.scope = self._named or self.context.client_metadata.scope
        return await super()._perform_authorization()


class _Provider(OwnScopes):
    """The SDK's provider, which goes on where an earlier session left off."""

    def __init__(
        self, kept: _Kept, show: ShowAddress, address: str, metadata: OAuthClientMetadata, **more: Any
    ) -> None:
        super().__init__(address, metadata, kept, self._show_address, self._wait_for_browser, **more)
        self._kept = kept
        self._show = show
        self._listening: AbstractAsyncContextManager[Callback] | None = None
        self._callback: Callback | None = None

    @property
    def kept(self) -> JsonObject:
        """What is kept with the tokens, from when the next ones come."""
        return self._kept.login

    async def _initialize(self) -> None:
        await super()._initialize()
        login, context = self._kept.login, self.context
        context.token_expiry_time = login.get("ends_at")
        if login.get("server"):
            context.oauth_metadata = OAuthMetadata.model_validate(login["server"])
            context.auth_server_url = str(login.get("issuer") or context.oauth_metadata.issuer)
        if login.get("resource"):
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(login["resource"])

    async def _handle_token_response(self, response: Any) -> None:
        await super()._handle_token_response(response)
        context = self.context
        server, resource = context.oauth_metadata, context.protected_resource_metadata
        await self._kept.keep(
            server=server.model_dump(mode="json", exclude_none=True) if server else None,
            resource=resource.model_dump(mode="json", exclude_none=True) if resource else None,
            issuer=context.auth_server_url,
        )

    async def _show_address(self, address: str) -> None:
        uris = self.context.client_metadata.redirect_uris or []
        opened = listening(str(uris[0]))
        try:
            self._callback = await opened.__aenter__()
        except OSError as error:
            raise OAuthFlowError(
                told(
                    "{address} is needed for the login, and can't be used: {reason}",
                    address=uris[0],
                    reason=error.strerror,
                )
            ) from error
        self._listening = opened
        if not await self._show(address):
            await self._stop_listening()
            raise LoginNeededError(told("it needs a login"))

    async def _wait_for_browser(self) -> AuthorizationCodeResult:
        assert self._callback is not None
        try:
            found = await self._callback.wait()
        except TimeoutError as error:
            raise OAuthFlowError(told("nobody logged in within five minutes")) from error
        finally:
            await self._stop_listening()
        if "error" in found:
            raise OAuthFlowError(
                told("the login was refused: {reason}", reason=found.get("error_description") or found["error"])
            )
        return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss"))

    async def _stop_listening(self) -> None:
        if self._listening is not None:
            await self._listening.__aexit__(None, None, None)
            self._listening = None


def provider_of(entry: ServerEntry, store: TokenStore, show: ShowAddress, *, may_begin: bool) -> _Provider | None:
    """Return what logs requests in; None without a login that is kept, unless one `may_begin`. Blocks."""
    address = entry.http_url or entry.url
    login = store.load(address)
    if not may_begin and not login.get("tokens"):
        return None
    oauth = entry.oauth
    redirect = oauth.redirect_uri or _kept_redirect(login) or f"http://127.0.0.1:{free_port()}/callback"
    if oauth.client_id:
        secret = oauth.client_secret or None
        client = OAuthClientInformationFull(
            client_id=oauth.client_id,
            client_secret=secret,
            redirect_uris=[AnyUrl(redirect)],
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
        )
        login["client"] = client.model_dump(mode="json", exclude_none=True)
    metadata = OAuthClientMetadata(
        client_name="dogu",
        redirect_uris=[AnyUrl(redirect)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        scope=" ".join(oauth.scopes) or None,
    )
    more = {"client_metadata_url": oauth.client_metadata_url} if oauth.client_metadata_url else {}
    return _Provider(_Kept(store, address, login), show, address, metadata, **more)


def _kept_redirect(login: JsonObject) -> str:
    """The address that the client was registered with: another one would be refused."""
    try:
        return str(msgspec.convert(login["client"]["redirect_uris"], list[str])[0])
    except (KeyError, TypeError, IndexError, msgspec.ValidationError):
        return ""
