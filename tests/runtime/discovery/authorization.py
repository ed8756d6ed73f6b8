"""An authorization server and an MCP server that wants its tokens, at one loopback address."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

ECHO = {"name": "echo", "description": "Echo.", "inputSchema": {"type": "object"}}


class Authorization:
    """What was asked of the servers, and how they behave. `revoked` tokens are refused, `lives_s` is a token's life."""

    def __init__(self) -> None:
        self.address = ""
        self.registered: list[dict[str, Any]] = []
        self.granted: list[dict[str, str]] = []
        self.wanted: list[str] = []
        self.challenges: dict[str, str] = {}
        self.revoked: set[str] = set()
        self.lives_s = 3600
        self.declines = False
        self.number = 0

    def get(self, path: str, query: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        """Answer a GET: metadata, or the user's browser."""
        if path.startswith("/.well-known/oauth-protected-resource"):
            return (
                200,
                {},
                {
                    "resource": f"{self.address}/mcp",
                    "authorization_servers": [self.address],
                    "scopes_supported": ["read", "admin"],
                },
            )
        if path.startswith("/.well-known/oauth-authorization-server"):
            ends = {name: f"{self.address}/{name.partition('_')[0]}" for name in _ENDPOINTS}
            supported = {"code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"]}
            return 200, {}, {"issuer": self.address, **ends, **supported}
        if path == "/authorization":
            return self.authorize(query)
        return 404, {}, {}

    def authorize(self, query: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        """Be the user who says yes, or no."""
        assert query["code_challenge_method"] == "S256"
        self.number += 1
        self.wanted.append(query.get("scope", ""))
        code = f"code-{self.number}"
        self.challenges[code] = query["code_challenge"]
        said = {"error": "access_denied"} if self.declines else {"code": code}
        answer = urlencode({**said, "state": query["state"]})
        return 302, {"Location": f"{query['redirect_uri']}?{answer}"}, {}

    def post(self, path: str, body: bytes, token: str) -> tuple[int, dict[str, str], Any]:
        """Answer a POST: registration, tokens, MCP."""
        if path == "/registration":
            self.registered.append(json.loads(body))
            return 201, {}, {**self.registered[-1], "client_id": f"client-{len(self.registered)}"}
        if path == "/token":
            return self.grant({name: values[0] for name, values in parse_qs(body.decode()).items()})
        if not token or token in self.revoked:
            where = f'Bearer resource_metadata="{self.address}/.well-known/oauth-protected-resource/mcp"'
            return 401, {"WWW-Authenticate": where}, {}
        return self.speak(json.loads(body))

    def grant(self, form: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        """Give tokens for a code with its verifier, or for a refresh token."""
        if form["grant_type"] == "authorization_code":
            verified = hashlib.sha256(form["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(verified).decode().rstrip("=") == self.challenges[form["code"]]
        elif self.declines:
            return 401, {}, {"error": "invalid_client"}
        elif form["grant_type"] == "refresh_token" and form["refresh_token"] in self.revoked:
            return 400, {}, {"error": "invalid_grant"}
        self.granted.append(form)
        number = len(self.granted)
        tokens = {"access_token": f"access-{number}", "refresh_token": f"refresh-{number}"}
        return 200, {}, {**tokens, "token_type": "Bearer", "expires_in": self.lives_s}

    def speak(self, message: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        """Speak the least of MCP."""
        if "id" not in message:
            return 202, {}, {}
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            },
            "tools/list": {"tools": [ECHO]},
            "tools/call": {"content": [{"type": "text", "text": "hello"}]},
        }
        found = results.get(message["method"])
        failed = {"error": {"code": -32601, "message": "no such method"}}
        return 200, {}, {"jsonrpc": "2.0", "id": message["id"], **({"result": found} if found else failed)}


_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "registration_endpoint")


@contextmanager
def authorization() -> Generator[Authorization]:
    """Run both servers."""
    state = Authorization()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            target = urlsplit(self.path)
            self._answer(*state.get(target.path, {name: values[0] for name, values in parse_qs(target.query).items()}))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            self._answer(*state.post(urlsplit(self.path).path, body, token))

        def _answer(self, status: int, headers: dict[str, str], body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Type": "application/json", "Content-Length": len(data)}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
