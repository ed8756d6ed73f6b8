"""Connecting a model: keys are kept where only the user reads them, servers are found, the choice is remembered."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import keyring
import keyring.backend
import pytest

from dogu.agent.slash import Said
from dogu.agent.slash.model import KeyCheck, KeyProvider, LocalServer, ModelList, model_commands
from dogu.app import Options, open_agent, read_settings
from dogu.app.checks import checks_of
from dogu.app.credentials import KEYRING, keep_key, kept_key, key_in_keyring
from dogu.app.model_lists import check_of, local_servers
from dogu.serve.doctor import Health
from dogu.settings.edit import with_values
from dogu.settings.json import JsonError, parse_json_with_comments
from dogu.testing.fake_gemini import FakeGemini

pytestmark = pytest.mark.anyio


class RamKeyring(keyring.backend.KeyringBackend):
    priority = 5  # pyright: ignore[reportAssignmentType]  (the base declares a computed one)

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


class NoKeyring(RamKeyring):
    priority = 0


@pytest.fixture
def no_keyring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def ram_keyring() -> Iterator[RamKeyring]:
    before, backend = keyring.get_keyring(), RamKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "w").mkdir()
    return Options(root=str(tmp_path / "w"), home=str(tmp_path))


@pytest.mark.usefixtures("no_keyring")
def test_a_key_is_kept_in_a_file_for_its_owner_alone(options: Options):
    where = keep_key(options.state_folder, "gemini", "secret-key")
    assert stat.S_IMODE(os.stat(where).st_mode) == 0o600
    assert kept_key(options.state_folder, "gemini") == "secret-key"
    assert read_settings(options).model.api_key == "secret-key"


def test_without_the_keyring_extra_a_key_is_kept_in_a_file_too(options: Options, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert os.path.isfile(keep_key(options.state_folder, "gemini", "secret-key"))
    assert read_settings(options).model.api_key == "secret-key"
    assert key_in_keyring(f"{KEYRING}gemini") == ""


def test_where_there_is_a_keyring_no_file_holds_the_key(options: Options, ram_keyring: RamKeyring):
    assert keep_key(options.state_folder, "gemini", "secret-key") == "keyring"
    assert list(ram_keyring.kept.values()) == ["secret-key"]
    for folder, _, names in os.walk(options.home):
        assert all(b"secret-key" not in Path(folder, name).read_bytes() for name in names)
    assert key_in_keyring(kept_key(options.state_folder, "gemini")) == "secret-key"


@pytest.mark.usefixtures("no_keyring")
def test_the_environment_s_key_goes_before_the_kept_one(options: Options, monkeypatch: pytest.MonkeyPatch):
    keep_key(options.state_folder, "gemini", "kept")
    monkeypatch.setenv("GEMINI_API_KEY", "of the environment")
    assert read_settings(options).model.api_key == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "model": { "name": "x" }\n}\n'),
        ('{"a": 1}', '{\n  "model": { "name": "x" },"a": 1}'),
        ('{ // c\n  "model": "old", /* d */\n}', '{ // c\n  "model": { "name": "x" }, /* d */\n}'),
        (
            '{"model": {"name": "old", // mine\n "maxSessionTurns": 3,},}',
            '{"model": {"name": "x", // mine\n "maxSessionTurns": 3,},}',
        ),
        ('{"ui": {"model": {"name": 1}}, "model": {}}', '{"ui": {"model": {"name": 1}}, "model": { "name": "x"}}'),
    ],
)
def test_only_the_value_changes_in_a_settings_file(before: str, after: str):
    assert with_values(before, "model", {"name": "x"}) == after
    assert parse_json_with_comments(after).values["model"]["name"] == "x"


def test_a_file_that_is_no_settings_is_left_alone():
    for text in ("[]", "{", '{"model": 1 2}'):
        with pytest.raises(JsonError):
            with_values(text, "model", {"name": "x"})


class Lists(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"data": [{"id": "qwen3-coder"}, {"id": "gemma\x1b[2J"}]}).encode()
        self.send_response(200 if self.path == "/v1/models" else 404)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Lists)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.server_port}")
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_server_on_this_machine_is_found_and_remembered(options: Options, ollama: str):
    found = [server for server in await local_servers() if server.name == "Ollama"]
    assert found == [LocalServer("Ollama", ollama, ("qwen3-coder", "gemma\x1b[2J"))]
    async with open_agent(options) as opened:
        assert opened.agent.model.name == "offline"
        told = await opened.connections.use_server(found[0], "qwen3-coder")
        assert opened.agent.model.name == "qwen3-coder"
        assert (await opened.connections.models()).names == found[0].models
    assert os.path.join(options.state_folder, "settings.json") in told
    model = read_settings(options).model
    assert (model.provider, model.base_url, model.name) == ("openai_compatible", ollama, "qwen3-coder")


async def test_nothing_answers_where_no_server_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    assert not [server for server in await local_servers() if server.name == "Ollama"]


@pytest.mark.usefixtures("no_keyring")
async def test_a_key_is_checked_before_it_is_kept(options: Options, monkeypatch: pytest.MonkeyPatch):
    with FakeGemini(["Hello."], key="right-key") as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.base_url)
        async with open_agent(options) as opened:
            refused = await opened.connections.check_key("wrong-key")
            assert refused.works is False
            assert "wrong-key" not in refused.reason
            assert await opened.connections.check_key("right-key") == KeyCheck(works=True)
            await opened.connections.use_key("right-key")
            end = await opened.agent.run("hi")
            assert end.text == "Hello."
    assert read_settings(options).model.provider == "gemini"


async def test_a_key_that_nobody_can_check_is_neither_right_nor_wrong(
    options: Options, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
    async with open_agent(options) as opened:
        assert (await opened.connections.check_key("some-key")).works is None


class Guarded(BaseHTTPRequestHandler):
    """Lists models to who has the right key."""

    def do_GET(self) -> None:
        is_right = self.headers.get("x-api-key") == "right-key" and self.path == "/v1/models?limit=1000"
        self.send_response(200 if is_right else 401)
        self.end_headers()
        self.wfile.write(b'{"data":[{"id":"claude-x"},{"id":"claude-y"}]}')

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.mark.usefixtures("no_keyring")
async def test_another_providers_key_is_checked_by_its_list_and_kept(options: Options, monkeypatch: pytest.MonkeyPatch):
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    server = HTTPServer(("127.0.0.1", 0), Guarded)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_port}")
    try:
        async with open_agent(options) as opened:
            connections = opened.connections
            assert {"anthropic", "openai", "deepseek"} < {each.name for each in connections.key_providers()}
            assert (await connections.check_key("wrong-key", "anthropic")).works is False
            assert (await connections.check_key("right-key", "anthropic")).works is True
            assert (await connections.models_with("right-key", "anthropic")).names == ("claude-x", "claude-y")
            await connections.use_key("right-key", "anthropic", "claude-y")
            assert (opened.agent.model.name, connections.provider()) == ("claude-y", "anthropic")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    model = read_settings(options).model
    assert (model.provider, model.name, model.api_key) == ("anthropic", "claude-y", "right-key")


def test_a_list_that_anybody_sees_tells_nothing_of_a_key():
    assert check_of(ModelList(("a",), is_open=True)).works is None
    assert check_of(ModelList((), "HTTP 401")).works is False
    assert check_of(ModelList((), "ConnectError")).works is None


class Listed:
    """Connections that list three models."""

    def __init__(self) -> None:
        self.chosen = "one"

    def present(self) -> str:
        return self.chosen

    def provider(self) -> str:
        return "gemini"

    async def models(self) -> ModelList:
        return ModelList(("one", "two", "three"))

    async def servers(self) -> list[LocalServer]:
        return []

    async def use_model(self, name: str) -> str:
        self.chosen = name
        return f"Model: {name}."

    def profiles(self) -> list[str]:
        return []

    def choose(self, name: str) -> None:
        self.chosen = name

    async def use_server(self, server: LocalServer, model: str) -> str:
        return f"{server.name} {model}"

    def key_providers(self) -> list[KeyProvider]:
        return [KeyProvider("gemini", "Gemini", "GEMINI_API_KEY"), KeyProvider("anthropic", "Claude", "CLAUDE_KEY")]

    async def models_with(self, key: str, provider: str) -> ModelList:
        return ModelList((f"{provider}-a", f"{provider}-b"))

    async def check_key(self, key: str, provider: str = "gemini") -> KeyCheck:
        return KeyCheck(works=bool(key))

    async def use_key(self, key: str, provider: str = "gemini", model: str = "") -> str:
        return f"{key} {provider} {model}"


async def test_model_lists_changes_and_completes():
    listed = Listed()
    command = model_commands(listed)[0]
    said = await command.run("")
    assert isinstance(said, Said)
    assert "The model is one (gemini)." in said.text
    assert "  two\n  three" in said.text
    assert command.complete("t") == ["two", "three"]
    assert await command.run("two") == Said("Model: two.")
    assert listed.chosen == "two"


@pytest.mark.usefixtures("no_keyring")
async def test_doctor_checks_the_key_and_who_can_read_it(options: Options, monkeypatch: pytest.MonkeyPatch):
    where = keep_key(options.state_folder, "gemini", "wrong-key")
    os.chmod(where, 0o644)
    with FakeGemini([], key="right-key") as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.base_url)
        checks = {check.name: check async for check in checks_of(options, read_settings(options))}
    assert checks["network"].health is Health.GOOD
    assert checks["key"].health is Health.BAD
    assert "/connect" in checks["key"].advice
    assert checks["key file"].health is Health.BAD
    assert checks["key file"].advice == f"Run: chmod 600 {where}"
    assert {"sandbox", "ripgrep", "terminal", "settings"} <= set(checks)
    assert all(check.advice for check in checks.values() if check.health is Health.BAD)
