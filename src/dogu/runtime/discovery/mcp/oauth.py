"""Logins to MCP servers by OAuth, on the SDK's provider. Imports the SDK: import it late.

Discovery (RFC 9728, 8414), registration (RFC 7591), PKCE and refresh are the SDK's. Kept beside the tokens is what a
later session needs to refresh them: when they end, and where the authorization server is.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
from anyio import to_thread
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
from dogu.language import told
from dogu.runtime.discovery.mcp.entries import ServerEntry
from dogu.runtime.discovery.mcp.loopback import Callback, free_port, listening
from dogu.runtime.discovery.mcp.tokens import TokenStore

ShowAddress = Callable[[str], Awaitable[bool]]
"""Shows the person the address at which they log in; False when they don't want to, or nobody is there."""


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


class _Provider(OAuthClientProvider):
    """The SDK's provider, which goes on where an earlier session left off."""

    def __init__(
        self, kept: _Kept, show: ShowAddress, address: str, metadata: OAuthClientMetadata, **more: Any
    ) -> None:
        super().__init__(address, metadata, kept, self._show_address, self._wait_for_browser, **more)
        self._kept = kept
        self._show = show
        self._listening: AbstractAsyncContextManager[Callback] | None = None
        self._callback: Callback | None = None

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
            raise LoginNeededError(told("it wants a login"))

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


def provider_of(
    entry: ServerEntry, store: TokenStore, show: ShowAddress, *, may_begin: bool
) -> OAuthClientProvider | None:
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
