"""The shipped program as the client of one conformance scenario: `client.py URL`, told by the suite's variables which.

It writes the settings that a user would, logs in by `dogu mcp-servers login` and calls each tool by `dogu call`, at a
terminal of its own, where it says yes to what is asked. The suite judges what comes over the wire; a call that fails is
no failure of this program.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2
import pexpect

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
_BY_TYPE: dict[Any, Any] = {"string": "x", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}
_DOCUMENT = "https://conformance-test.local/client-metadata.json"  # the suite's own; it is never fetched
_BROWSER = "import sys, httpx2; httpx2.get(sys.argv[1], follow_redirects=True, timeout=60)"
_DOGU = [sys.executable, "-m", "dogu"]


def _own_login(address: str, home: str) -> dict[str, Any]:
    """What a user writes who knows the authorization server; the suite gives it away in the server's own metadata."""
    if SCENARIO.startswith("auth/dpop"):
        return {"dpop": True}
    files = {
        name: os.path.join(home, name) for name in ("private_key_pem", "idp_id_token", "valid_jwt") if name in CONTEXT
    }
    if not files and "client-credentials" not in SCENARIO:
        return {}
    for name, file in files.items():
        with open(file, "w", encoding="utf-8") as written:
            written.write(CONTEXT[name])
    base = httpx2.URL(address)
    found = httpx2.get(base.copy_with(raw_path=b"/.well-known/oauth-protected-resource" + base.raw_path)).json()
    return {
        "grant": "client_credentials" if "client-credentials" in SCENARIO else "jwt_bearer",
        "issuer": found["authorization_servers"][0],
        "privateKeyFile": files.get("private_key_pem"),
        "signingAlgorithm": CONTEXT.get("signing_algorithm"),
        "assertionFile": files.get("idp_id_token") or files.get("valid_jwt"),
        "idpTokenEndpoint": CONTEXT.get("idp_token_endpoint"),
        "idpClientId": CONTEXT.get("idp_client_id"),
    }


def _row(address: str, home: str) -> dict[str, Any]:
    row: dict[str, Any] = {"httpUrl": address, "timeout": 90_000}
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
    if SCENARIO == "json-schema-ref-no-deref" or version < "2026":
        row["protocol"] = "2025-11-25"  # the suite's server of this scenario refuses any other word
    if SCENARIO.startswith("auth/"):
        keys = {"clientId": CONTEXT.get("client_id"), "clientSecret": CONTEXT.get("client_secret")}
        row["oauth"] = {name: value for name, value in {**keys, **_own_login(address, home)}.items() if value}
        if not CONTEXT.get("client_id"):
            row["oauth"]["clientMetadataUrl"] = _DOCUMENT
    return row


def _calls(schemas: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every tool there is, or what the scenario wants called."""
    if wanted := CONTEXT.get("toolCalls"):
        return [(f"peer__{call['name']}", call.get("arguments") or {}) for call in wanted]
    if "peer__json_schema_echo" in schemas:
        return [("peer__json_schema_echo", {"schema": schemas["peer__json_schema_2020_12_tool"]})]
    return [(name, _arguments(schema)) for name, schema in schemas.items()]


def _arguments(schema: dict[str, Any]) -> dict[str, Any]:
    if {"a", "b"} <= schema.get("properties", {}).keys():
        return {"a": 5, "b": 3}
    return {name: _BY_TYPE.get(schema["properties"].get(name, {}).get("type")) for name in schema.get("required", [])}


def _call(name: str, arguments: dict[str, Any]) -> None:
    """Call a tool at a terminal. Take the first choice of whatever is asked, and open the address that is shown."""
    words = [*_DOGU, "call", "--approval-mode", "yolo", name, json.dumps(arguments)]
    child: pexpect.spawn[str] = pexpect.spawn(words[0], words[1:], encoding="utf-8", timeout=90, dimensions=(50, 2000))
    child.logfile_read = sys.stderr
    answers = {0: "1\r", 1: "\r"}
    while (which := child.expect(["whole answer: $", r"\]: $", pexpect.EOF])) in answers:
        addresses = re.findall(r"^  (http\S+)", child.before or "", re.MULTILINE)
        child.send(answers[which])
        for address in addresses:
            httpx2.get(address, follow_redirects=True, timeout=60)
    child.close()


def main(address: str) -> None:
    """Play the scenario."""
    with tempfile.TemporaryDirectory() as home:
        settings = Path(home, ".dogu", "settings.json")
        settings.parent.mkdir()
        settings.write_text(json.dumps({"mcpServers": {"peer": _row(address, home)}}))
        browser = Path(home, "browser")
        browser.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{_BROWSER}' \"$1\"\n")
        browser.chmod(0o755)
        os.environ.update(HOME=home, BROWSER=f"{browser} %s")
        os.chdir(home)
        if SCENARIO.startswith("auth/"):
            subprocess.run([*_DOGU, "mcp-servers", "login", "peer"], timeout=100, check=False)
        found = subprocess.run([*_DOGU, "tools", "--declarations"], stdout=subprocess.PIPE, timeout=100, check=True)
        schemas = {each["name"]: each["parameters"] for each in json.loads(found.stdout)}
        for name, arguments in _calls({name: schemas[name] for name in schemas if name.startswith("peer__")}):
            _call(name, arguments)


if __name__ == "__main__":
    main(sys.argv[1])
