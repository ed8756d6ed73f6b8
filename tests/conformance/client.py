"""A dogu runtime as the client of one conformance scenario: `client.py URL`, told by the suite's variables which.

It logs in as `dogu mcp-servers login` does, opens a runtime as the program does, and calls tools through its executor.
The suite judges what comes over the wire; a call that fails is no failure of this program.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

import anyio
import httpx2

import dogu
from dogu.contract import ToolError
from dogu.runtime.discovery.mcp.entries import ServerEntry, read_entries
from dogu.runtime.discovery.mcp.host import Host, Sampled, SamplingRequest
from dogu.runtime.discovery.mcp.login import log_in
from dogu.runtime.discovery.mcp.servers import mcp_tools
from dogu.runtime.questions import Elicitation, Given
from dogu.runtime.runtime import Runtime

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
_BY_TYPE: dict[Any, Any] = {"string": "x", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}
_DOCUMENT = "https://conformance-test.local/client-metadata.json"  # the suite's own; it is never fetched


async def _open_address(address: str) -> bool:
    """Be the user's browser: go where the authorization server sends it."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        try:
            return (await browser.get(address)).is_success
        except httpx2.HTTPError:
            return False


async def _answer(elicitation: Elicitation) -> Given:
    """Say yes to everything, and leave every field as the server filled it in."""
    if elicitation.url:
        await _open_address(elicitation.url)
    return Given()


async def _sample(_request: SamplingRequest) -> Sampled:
    return Sampled("An answer.", "a-model")


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


def _entry(address: str, home: str) -> ServerEntry:
    row: dict[str, Any] = {"httpUrl": address, "timeout": 90_000}
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
    if SCENARIO == "json-schema-ref-no-deref" or version < "2026":
        row["protocol"] = "2025-11-25"  # the suite's server of this scenario refuses any other word
    if SCENARIO.startswith("auth/"):
        keys = {"clientId": CONTEXT.get("client_id"), "clientSecret": CONTEXT.get("client_secret")}
        row["oauth"] = {name: value for name, value in {**keys, **_own_login(address, home)}.items() if value}
        if not CONTEXT.get("client_id"):
            row["oauth"]["clientMetadataUrl"] = _DOCUMENT
    entries, problems = read_entries({"peer": row})
    assert not problems, problems
    return entries[0]


async def _call_tools(runtime: Runtime) -> None:
    """Call every tool there is, as the scenario wants."""
    wanted = CONTEXT.get("toolCalls")
    if wanted:
        for call in wanted:
            await runtime.call(f"peer__{call['name']}", call.get("arguments") or {})
        return
    if "peer__json_schema_echo" in runtime.registry:
        schema = runtime.registry.get("peer__json_schema_2020_12_tool").parameter_schema
        await runtime.call("peer__json_schema_echo", {"schema": schema})
        return
    for tool in [tool for tool in runtime.registry if tool.name.startswith("peer__")]:
        await runtime.call(tool.name, _arguments(tool.parameter_schema))


def _arguments(schema: dict[str, Any]) -> dict[str, Any]:
    if {"a", "b"} <= schema.get("properties", {}).keys():
        return {"a": 5, "b": 3}
    return {name: _BY_TYPE.get(schema["properties"].get(name, {}).get("type")) for name in schema.get("required", [])}


async def main(address: str) -> None:
    """Play the scenario."""
    with tempfile.TemporaryDirectory() as home:
        entry = _entry(address, home)
        options = dogu.Options(root=home, home=home, approval_mode="yolo")
        async with dogu.open_runtime(options, elicit=_answer) as runtime:
            host = Host(runtime.roots, dict, runtime.executor.approval.elicit, _sample, options.state_folder)
            if SCENARIO.startswith("auth/"):
                try:
                    await log_in(entry, host, _open_address, print)
                except ToolError as error:
                    print(error.message, file=sys.stderr)
                    return
            async with mcp_tools([entry], runtime, host, wait_s=90):
                await _call_tools(runtime)
            print(runtime.notes, file=sys.stderr)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
