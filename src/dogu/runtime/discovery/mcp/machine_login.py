"""Logins to MCP servers without a user: by a secret, a key, or what somebody vouches for; and tokens bound to a key.

The grants are the SDK's, as far as it has them. Their tokens aren't kept: a new session logs in anew. Imported where
an entry says so, for it costs 25 ms. Source: RFC 7523, 8693, 9449; the protocol's extensions SEP-990, 1046, 1932, 1933.
"""

from __future__ import annotations

import hashlib
import os
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator
from typing import Any, cast
from urllib.parse import parse_qs

import httpx2
import jwt
import msgspec
from anyio import to_thread
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from dogu.contract import JsonObject
from dogu.language import told
from dogu.runtime.discovery.mcp.entries import ServerEntry
from dogu.runtime.discovery.mcp.oauth import OwnScopes

_BASIC = "client_secret_basic"  # Source: RFC 6749, 2.3.1: the one way that every server takes a secret in
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class _Fleeting:
    """The SDK's `TokenStorage`, which ends with the session: to get other tokens needs nobody."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> None:
        """None: the entry says which client it is."""

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Nothing: the entry says which client it is."""


def machine_login(entry: ServerEntry) -> httpx2.Auth:
    """Return what logs in without a user, at the issuer that the entry names and nowhere else."""
    oauth, address = entry.oauth, entry.http_url or entry.url
    kept, scope = _Fleeting(), " ".join(oauth.scopes) or None
    client, issuer = oauth.client_id, oauth.issuer

    async def assertion(_audience: str) -> str:
        return await to_thread.run_sync(_text_of, oauth.assertion_file)

    async def signed(audience: str) -> str:
        key = await to_thread.run_sync(_text_of, oauth.private_key_file)
        claims = SignedJWTParameters(
            issuer=client, subject=client, signing_key=key, signing_algorithm=oauth.signing_algorithm
        )
        try:
            return await claims.create_assertion_provider()(audience)
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            what = told(
                "{file} holds no key for {algorithm}", file=oauth.private_key_file, algorithm=claims.signing_algorithm
            )
            raise OAuthFlowError(what) from error

    async def exchanged(audience: str, resource: str) -> str:
        return await _identity_assertion(entry, await assertion(audience), audience, resource)

    if oauth.grant == "client_credentials" and oauth.client_secret:
        return _Secret(address, kept, client, oauth.client_secret, scope=scope, issuer=issuer)
    if oauth.grant == "client_credentials":
        return _Key(address, kept, client, signed, scope, issuer)
    if oauth.idp_token_endpoint:
        return IdentityAssertionOAuthProvider(
            address, kept, client, oauth.client_secret, issuer, exchanged, scope, _BASIC
        )
    return _Workload(address, kept, client, assertion, scope, issuer)


def _text_of(file: str) -> str:
    with open(os.path.expanduser(file), encoding="utf-8") as opened:
        return opened.read().strip()


class _Secret(OwnScopes, ClientCredentialsOAuthProvider):
    """Shows a client's secret."""


class _Key(OwnScopes, PrivateKeyJWTOAuthProvider):
    """Signs with a client's key."""


class _Workload(_Key):
    """Presents what the workload's platform says of it as the grant itself (SEP-1933), not as the client's proof."""

    async def _perform_authorization(self) -> httpx2.Request:
        request = await super()._perform_authorization()
        fields = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        fields["assertion"] = fields.pop("client_assertion")
        del fields["client_assertion_type"]
        fields |= {"grant_type": _JWT_BEARER, "client_id": self._fixed_client_info.client_id or ""}
        return httpx2.Request("POST", request.url, data=fields)


async def _identity_assertion(entry: ServerEntry, id_token: str, audience: str, resource: str) -> str:
    """Have the enterprise's identity provider exchange the user's token for one that is for this server."""
    oauth = entry.oauth
    fields = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "subject_token": id_token,
        "audience": audience,
        "resource": resource,
        "client_id": oauth.idp_client_id,
    }
    async with httpx2.AsyncClient(timeout=30) as client:
        answer = await client.post(oauth.idp_token_endpoint, data=fields)
    token = answer.json().get("access_token") if answer.is_success else None
    if not isinstance(token, str):
        raise OAuthFlowError(told("the identity provider gave no token (HTTP {status})", status=answer.status_code))
    return token


class Possession(httpx2.Auth):
    """Binds the tokens of another login to a key, and proves with each request that it is here.

    The key stands in `kept` with the tokens that it binds, where a login is kept. What the SDK sends and reads stays
    as it is for bearers; a server may ask for a nonce once more. Source: RFC 9449.
    """

    requires_response_body = True

    def __init__(self, login: httpx2.Auth, kept: JsonObject) -> None:
        self._login = login
        self._kept = kept
        found = _key_in(kept)
        self._key = found or ec.generate_private_key(ec.SECP256R1())
        self._nonces: dict[str, str] = {}
        self._is_bound = found is not None

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send what the login sends, each with a proof of its own."""
        flow = self._login.async_auth_flow(request)
        try:
            sent = await anext(flow)
            while True:
                response = yield self._proved(sent)
                if self._wants_nonce(response):
                    response = yield self._proved(sent)
                    self._wants_nonce(response)
                sent = await flow.asend(await self._as_bearer(response))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    def _proved(self, request: httpx2.Request) -> httpx2.Request:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        is_for_token = request.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded")
        has_token = self._is_bound and scheme in ("Bearer", "DPoP")
        if not (is_for_token or has_token):
            return request
        claims: dict[str, str | int] = {
            "jti": os.urandom(16).hex(),
            "htm": request.method,
            "htu": str(request.url.copy_with(query=None, fragment=None)),
            "iat": int(time.time()),
        }
        if has_token:
            request.headers["Authorization"] = f"DPoP {token}"
            claims["ath"] = urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()
        if nonce := self._nonces.get(_origin(request)):
            claims["nonce"] = nonce
        public = ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        headers = {"typ": "dpop+jwt", "jwk": public}
        request.headers["DPoP"] = jwt.encode(claims, self._key, "ES256", headers=headers)
        return request

    def _wants_nonce(self, response: httpx2.Response) -> bool:
        """Take note of the nonce that a server gives; whether it refused the request for want of it."""
        nonce = response.headers.get("DPoP-Nonce")
        if not nonce:
            return False
        origin = _origin(response.request)
        was_known, self._nonces[origin] = self._nonces.get(origin) == nonce, nonce
        return response.status_code in (400, 401) and not was_known

    async def _as_bearer(self, response: httpx2.Response) -> httpx2.Response:
        """Give a token that is bound to the key as the SDK knows tokens."""
        if not response.is_success or "DPoP" not in response.request.headers:
            return response
        try:
            answer: Any = msgspec.json.decode(await response.aread())
        except msgspec.DecodeError:
            return response
        token = cast("JsonObject", answer) if isinstance(answer, dict) else {}
        if str(token.get("token_type")).lower() != "dpop":
            return response
        self._is_bound = True
        self._kept[_KEY] = ECAlgorithm.to_jwk(self._key, as_dict=True)
        plain = {**token, "token_type": "Bearer"}
        return httpx2.Response(response.status_code, json=plain, request=response.request)


_KEY = "dpop_key"


def _key_in(kept: JsonObject) -> ec.EllipticCurvePrivateKey | None:
    try:
        key = ECAlgorithm.from_jwk(kept[_KEY])
    except (KeyError, TypeError, jwt.InvalidKeyError):
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey) else None


def _origin(request: httpx2.Request) -> str:
    return str(request.url.copy_with(raw_path=b"/"))
