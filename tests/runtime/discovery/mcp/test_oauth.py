"""Logins to MCP servers, against an authorization server of our own."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

import dogu
from dogu.contract import ErrorKind, ToolError, ToolResult
from dogu.runtime.discovery.mcp.entries import ServerEntry, read_entries
from dogu.runtime.discovery.mcp.host import Elicit, Host, ask_nobody
from dogu.runtime.discovery.mcp.login import log_in
from dogu.runtime.discovery.mcp.servers import mcp_tools
from dogu.runtime.discovery.mcp.tokens import TokenStore
from dogu.runtime.questions import Elicitation, Given
from dogu.runtime.runtime import Runtime
from runtime.discovery.authorization import Authorization, authorization

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Generator[Authorization]:
    with authorization() as state:
        yield state


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own keyring is not for tests."""
    monkeypatch.setitem(sys.modules, "keyring", None)


def entry_of(server: Authorization, **oauth: Any) -> ServerEntry:
    entries, problems = read_entries({"far": {"httpUrl": f"{server.address}/mcp", "oauth": oauth}})
    assert problems == []
    return entries[0]


async def browse(address: str) -> bool:
    """Be the user's browser."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        return (await browser.get(address)).is_success


def host_of(folder: Path, elicit: Elicit = ask_nobody) -> Host:
    return Host((str(folder),), dict, elicit, state_folder=str(folder / "home" / ".dogu"))


async def login(server: Authorization, folder: Path, **oauth: Any) -> int:
    with anyio.fail_after(30):
        return (await log_in(entry_of(server, **oauth), host_of(folder), browse, print)).tools


@asynccontextmanager
async def opened(
    server: Authorization, folder: Path, elicit: Elicit = ask_nobody, oauth: Mapping[str, Any] | None = None
) -> AsyncGenerator[Runtime]:
    (folder / "root").mkdir(exist_ok=True)
    options = dogu.Options(root=str(folder / "root"), home=str(folder / "home"), approval_mode="yolo")
    host = host_of(folder, elicit)
    with anyio.fail_after(30):
        async with (
            dogu.open_runtime(options) as runtime,
            mcp_tools([entry_of(server, **(oauth or {}))], runtime, host, wait_s=20),
        ):
            yield runtime


async def echo(runtime: Runtime, **args: Any) -> ToolResult:
    return (await runtime.call("far__echo", **args)).result


async def test_without_a_login_it_is_told_how_to_log_in_and_nothing_is_registered(
    server: Authorization, tmp_path: Path
):
    async with opened(server, tmp_path) as runtime:
        assert "dogu mcp-servers login far" in runtime.notes[0]
        assert "far__echo" not in runtime.registry
    assert server.registered == []


async def test_a_login_discovers_registers_and_proves_itself_and_then_tools_are_there(
    server: Authorization, tmp_path: Path
):
    assert await login(server, tmp_path) == 1
    assert server.registered[0]["client_name"] == "dogu"
    assert server.registered[0]["redirect_uris"][0].startswith("http://127.0.0.1:")
    assert server.granted[0]["grant_type"] == "authorization_code"
    assert server.granted[0]["resource"] == f"{server.address}/mcp"
    async with opened(server, tmp_path) as runtime:
        assert (await echo(runtime)).llm_content == "hello"
        assert runtime.notes == ()
    assert len(server.granted) == 1


async def test_the_tokens_are_in_a_file_of_the_users_alone(server: Authorization, tmp_path: Path):
    await login(server, tmp_path)
    file = tmp_path / "home" / ".dogu" / "mcp_logins.json"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert json.loads(file.read_text())[f"{server.address}/mcp"]["tokens"]["access_token"] == "access-1"


async def test_a_later_session_refreshes_a_token_that_ended(server: Authorization, tmp_path: Path):
    await login(server, tmp_path)
    store = TokenStore(str(tmp_path / "home" / ".dogu"))
    store.save(f"{server.address}/mcp", {**store.load(f"{server.address}/mcp"), "ends_at": 1.0})
    async with opened(server, tmp_path) as runtime:
        assert (await echo(runtime)).llm_content == "hello"
    assert [form["grant_type"] for form in server.granted] == ["authorization_code", "refresh_token"]
    assert store.load(f"{server.address}/mcp")["tokens"]["access_token"] == "access-2"


async def test_a_login_that_can_t_be_refreshed_is_asked_for_anew(server: Authorization, tmp_path: Path):
    await login(server, tmp_path)
    server.revoked |= {"access-1", "refresh-1"}
    async with opened(server, tmp_path) as runtime:
        assert "dogu mcp-servers login far" in runtime.notes[0]
    assert await login(server, tmp_path) == 1
    assert len(server.registered) == 1  # the client it was registered as is used again


async def test_a_token_revoked_in_a_session_is_asked_for_at_the_door(server: Authorization, tmp_path: Path):
    asked: list[Elicitation] = []

    async def elicit(elicitation: Elicitation) -> Given:
        asked.append(elicitation)
        assert await browse(elicitation.url)
        return Given()

    await login(server, tmp_path)
    async with opened(server, tmp_path, elicit) as runtime:
        server.revoked.add("access-1")
        assert (await echo(runtime)).llm_content == "hello"
    assert asked[0].title == "The MCP server far wants you to log in. Open its address?"


async def test_a_token_revoked_in_a_session_without_a_user_fails_the_call_and_says_what_to_do(
    server: Authorization, tmp_path: Path
):
    await login(server, tmp_path)
    async with opened(server, tmp_path) as runtime:
        server.revoked.add("access-1")
        error = (await echo(runtime)).error
    assert error is not None
    assert error.kind is ErrorKind.REMOTE_FAILED
    assert "dogu mcp-servers login far" in error.message


async def test_a_login_that_the_user_refused_says_so(server: Authorization, tmp_path: Path):
    server.declines = True
    with pytest.raises(ToolError, match="the login was refused: access_denied"):
        await login(server, tmp_path)


async def test_a_client_of_one_s_own_is_not_registered(server: Authorization, tmp_path: Path):
    assert await login(server, tmp_path, clientId="mine", scopes=["a", "b"]) == 1
    assert server.wanted == ["a b"]
    assert server.registered == []
    assert server.granted[0]["client_id"] == "mine"


async def test_a_header_of_one_s_own_is_used_instead_of_a_login(server: Authorization, tmp_path: Path):
    row = {"httpUrl": f"{server.address}/mcp", "headers": {"Authorization": "Bearer mine"}}
    (entry,), _ = read_entries({"far": row})
    options = dogu.Options(root=str(tmp_path), home=str(tmp_path / "home"), approval_mode="yolo")
    async with dogu.open_runtime(options) as runtime, mcp_tools([entry], runtime, host_of(tmp_path), wait_s=20):
        assert (await echo(runtime)).llm_content == "hello"


def test_a_login_is_bound_to_the_address(tmp_path: Path):
    store = TokenStore(str(tmp_path))
    store.save("http://a/mcp", {"tokens": {"access_token": "x"}})
    assert store.load("http://b/mcp") == {}
    assert store.forget("http://a/mcp")
    assert not store.forget("http://a/mcp")
    assert store.load("http://a/mcp") == {}


class Keyring:
    """A keyring that works; as a module it is what `import keyring` finds."""

    def __init__(self, *, priority: float = 5) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.priority = priority

    def get_keyring(self) -> Keyring:
        return self

    def set_password(self, service: str, name: str, text: str) -> None:
        self.kept[service, name] = text

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


def test_a_keyring_that_works_keeps_the_tokens_and_the_file_holds_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    errors = type(sys)("keyring.errors")
    errors.__dict__["KeyringError"] = type("KeyringError", (Exception,), {})
    keyring = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    store = TokenStore(str(tmp_path))
    store.save("http://a/mcp", {"tokens": {"access_token": "secret"}})
    assert "secret" not in (tmp_path / "mcp_logins.json").read_text()
    assert "secret" in keyring.kept["dogu", "http://a/mcp"]
    assert store.load("http://a/mcp") == {"tokens": {"access_token": "secret"}}
    assert store.forget("http://a/mcp")
    assert keyring.kept == {}


def test_a_keyring_that_doesn_t_work_leaves_them_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    errors = type(sys)("keyring.errors")
    errors.__dict__["KeyringError"] = type("KeyringError", (Exception,), {})
    monkeypatch.setitem(sys.modules, "keyring", Keyring(priority=0))
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    store = TokenStore(str(tmp_path))
    store.save("http://a/mcp", {"tokens": {"access_token": "secret"}})
    assert store.load("http://a/mcp") == {"tokens": {"access_token": "secret"}}


def by_secret(server: Authorization, **more: Any) -> dict[str, Any]:
    keys = {"clientId": "robot", "clientSecret": "s3cret", "issuer": server.address}
    return {"grant": "client_credentials", **keys, **more}


async def test_a_secret_logs_in_without_a_user_and_again_when_its_token_is_refused(
    server: Authorization, tmp_path: Path
):
    async with opened(server, tmp_path, oauth=by_secret(server, scopes=["read"])) as runtime:
        assert (await echo(runtime)).llm_content == "hello"
        server.revoked.add("access-1")
        assert (await echo(runtime)).llm_content == "hello"
    asked = {"grant_type": "client_credentials", "scope": "read", "resource": f"{server.address}/mcp"}
    assert server.granted == [asked, asked]
    assert not (tmp_path / "home" / ".dogu" / "mcp_logins.json").exists()


async def test_a_secret_goes_to_the_issuer_that_was_named_alone(server: Authorization, tmp_path: Path):
    async with opened(server, tmp_path, oauth=by_secret(server, issuer="https://elsewhere.example")) as runtime:
        assert "issuer" in "\n".join(runtime.notes)
    assert server.granted == []


async def test_half_a_character_in_a_call_is_sent_over_http_too(server: Authorization, tmp_path: Path):
    async with opened(server, tmp_path, oauth=by_secret(server)) as runtime:
        assert (await echo(runtime, text="\ud83d")).llm_content == "hello"


async def test_an_own_login_that_is_refused_is_told_as_that(server: Authorization, tmp_path: Path):
    server.declines = True
    async with opened(server, tmp_path, oauth=by_secret(server)) as runtime:
        (note,) = runtime.notes
    assert "invalid_client" in note
    assert "mcp-servers login" not in note


@pytest.mark.parametrize(("written", "why"), [("", "No such file or directory"), ("no key", "holds no key for ES256")])
async def test_a_key_that_is_none_is_told_by_its_file(server: Authorization, tmp_path: Path, written: str, why: str):
    file = tmp_path / "key.pem"
    if written:
        file.write_text(written)
    keys = by_secret(server, privateKeyFile=str(file)) | {"clientSecret": ""}
    async with opened(server, tmp_path, oauth=keys) as runtime:
        (note,) = runtime.notes
    assert why in note
    assert str(file) in note


async def test_an_assertion_is_read_anew_for_each_token(server: Authorization, tmp_path: Path):
    file = tmp_path / "token"
    file.write_text("first\n")
    keys = {"grant": "jwt_bearer", "clientId": "pod", "issuer": server.address, "assertionFile": str(file)}
    async with opened(server, tmp_path, oauth=keys) as runtime:
        file.write_text("second\n")
        server.revoked.add("access-1")
        assert (await echo(runtime)).llm_content == "hello"
    assert [form["assertion"] for form in server.granted] == ["first", "second"]
    assert {form["client_id"] for form in server.granted} == {"pod"}


@pytest.mark.parametrize(
    ("oauth", "problem"),
    [
        ({"grant": "password"}, "there is no grant 'password'"),
        ({"grant": "client_credentials", "clientId": "a", "clientSecret": "b"}, "needs clientId and issuer"),
        ({"grant": "client_credentials", "clientId": "a", "issuer": "https://a.example"}, "needs one of clientSecret"),
        ({"grant": "jwt_bearer", "clientId": "a", "issuer": "https://a.example"}, "needs assertionFile"),
        ({"issuer": "http://a.example"}, "issuer takes an https address"),
        ({"idpTokenEndpoint": "https://idp.example/token"}, "needs clientSecret and idpClientId"),
        ({"signingAlgorithm": "none"}, "signingAlgorithm takes one of"),
    ],
)
def test_a_login_that_lacks_something_costs_its_server(oauth: dict[str, Any], problem: str):
    entries, problems = read_entries({"far": {"httpUrl": "https://far.example/mcp", "oauth": oauth}})
    assert entries == []
    assert problem in problems[0]
