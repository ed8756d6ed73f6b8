"""Profiles and options of models: from settings and flags to what a provider is sent."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dogu.agent.system_prompt import Surroundings, system_prompt
from dogu.app.model_choice import open_model, provider_of
from dogu.app.model_lists import models_of
from dogu.app.options import Door, Options, Start, read_settings
from dogu.app.surroundings import surroundings_of
from dogu.models.contents import user_content
from dogu.models.events import ModelError
from dogu.settings import SettingsError
from dogu.testing import FakeGemini, FakeMessages, FakeOpenAI, FakeResponses
from dogu.testing.turn import Turn
from dogu.testing.wire_server import Reply, WireRequest, WireServer

pytestmark = pytest.mark.anyio


def options_with(
    tmp_path: Path, model: Mapping[str, object], name: str | None = None, effort: str | None = None
) -> Options:
    (tmp_path / ".dogu").mkdir(exist_ok=True)
    (tmp_path / ".dogu" / "settings.json").write_text(json.dumps({"model": model}))
    (tmp_path / "root").mkdir(exist_ok=True)
    return Options(str(tmp_path / "root"), home=str(tmp_path), model=name, effort=effort)


def test_a_profile_stands_above_the_other_settings_and_takes_no_key_elsewhere(tmp_path: Path) -> None:
    fast = {"provider": "anthropic", "name": "claude-haiku-4-5", "effort": "low"}
    settings = {"provider": "gemini", "apiKey": "secret", "temperature": 0.5, "profiles": {"fast": fast}}
    model = read_settings(options_with(tmp_path, settings, "fast")).model
    assert (provider_of(model, {}).name, model.name, model.effort) == ("anthropic", "claude-haiku-4-5", "low")
    assert (model.api_key, model.temperature) == ("", 0.5)


@pytest.mark.parametrize("profile", [{"nmae": "x"}, {"effort": "enormous"}, "claude-haiku-4-5"])
def test_a_profile_that_cannot_be_understood_stops_the_start(tmp_path: Path, profile: object) -> None:
    with pytest.raises(SettingsError, match=r"model\.profiles\.fast"):
        read_settings(options_with(tmp_path, {"profiles": {"fast": profile}}, "fast"))


async def test_settings_and_flags_reach_the_request(tmp_path: Path) -> None:
    with FakeOpenAI(["ok"]) as fake:
        chosen = {
            "provider": "openai_compatible",
            "baseUrl": fake.base_url,
            "name": "any",
            "temperature": 0.25,
            "topP": 0.5,
            "seed": 7,
            "maxOutputTokens": 99,
            "headers": {"X-Team": "a"},
            "body": {"service_tier": "flex"},
        }
        model = open_model(read_settings(options_with(tmp_path, chosen, effort="low")).model, {})
        async with model.stream("", [user_content("hi")], []) as events:
            async for _ in events:
                pass
        await model.aclose()
        request = fake.requests[0]
    sent = [request.body[name] for name in ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort")]
    assert sent == [0.25, 0.5, 7, 99, "low"]
    assert (request.headers["x-team"], request.body["service_tier"]) == ("a", "flex")


@pytest.mark.parametrize("provider", ["gemini", "anthropic", "openai_responses", "openai_compatible"])
async def test_headers_of_the_settings_are_sent_on_every_wire(tmp_path: Path, provider: str) -> None:
    fakes = {"gemini": FakeGemini, "anthropic": FakeMessages, "openai_responses": FakeResponses}
    with fakes.get(provider, FakeOpenAI)(["ok"]) as fake:
        place = {"provider": provider, "apiKey": "k", "baseUrl": fake.base_url}
        assert await ask(tmp_path, **place, headers={"X-Team": "a"}) == ""
        assert fake.requests[0].headers["x-team"] == "a"


async def test_a_list_of_models_is_asked_for_with_the_headers_and_by_the_proxy_of_the_settings(tmp_path: Path) -> None:
    asked: list[tuple[str, str | None]] = []

    def answer(request: WireRequest, reply: Reply) -> None:
        asked.append((request.path, request.headers.get("x-team")))
        reply.send(200, b'{"data": [{"id": "model-a"}]}')

    server = WireServer(answer)
    server.start()
    try:
        place = {"provider": "openai_compatible", "baseUrl": "http://models.invalid/v1", "proxy": server.url}
        settings = read_settings(options_with(tmp_path, {**place, "headers": {"X-Team": "a"}}))
        assert (await models_of(settings.model)).names == ("model-a",)
    finally:
        server.close()
    assert asked == [("/v1/models", "a")]


async def ask(tmp_path: Path, **model: object) -> str:
    """Ask a model of these settings; the failure's kind, or nothing."""
    opened = open_model(read_settings(options_with(tmp_path, {"name": "any", **model})).model, {})
    try:
        async with opened.stream("", [user_content("hi")], []) as events:
            async for _ in events:
                pass
    except ModelError as error:
        return str(error.kind)
    finally:
        await opened.aclose()
    return ""


async def test_a_proxy_is_sent_the_request_for_the_server(tmp_path: Path) -> None:
    with FakeOpenAI(["ok"]) as proxy:
        place = {"provider": "openai_compatible", "baseUrl": "http://models.invalid/v1"}
        assert await ask(tmp_path, **place, proxy=proxy.server.url) == ""
        assert len(proxy.requests) == 1
    assert await ask(tmp_path, **place, tries=1) == "network"


async def test_tries_and_the_time_for_them_are_settings(tmp_path: Path) -> None:
    for more, asked in (({"tries": 3}, 3), ({"retryFor": 0}, 1)):
        with FakeGemini([Turn(fault="e429-header")] * 5) as fake:
            place = {"provider": "gemini", "apiKey": "k", "baseUrl": fake.base_url}
            assert await ask(tmp_path, **place, **more) == "rate_limit"
            assert len(fake.requests) == asked


async def test_a_timeout_is_a_setting(tmp_path: Path) -> None:
    with FakeGemini([Turn(hangs=True)]) as fake:
        place = {"provider": "gemini", "apiKey": "k", "baseUrl": fake.base_url}
        assert await ask(tmp_path, **place, timeout=1, tries=1) == "timeout"


def test_a_model_is_told_where_it_is_and_whether_anybody_is_there(tmp_path: Path) -> None:
    options = options_with(tmp_path, {"name": "claude-sonnet-5"})
    (tmp_path / "root" / ".git").mkdir()
    (tmp_path / "root" / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    around = surroundings_of(Start(options, read_settings(options), Door()), str(tmp_path / "root"), {})
    text = system_prompt([str(tmp_path / "root")], (), around)
    assert "on branch topic" in text
    assert "Nobody is here to answer" in text
    assert "Build what was asked" in text
    assert "Nobody is here" not in system_prompt(["/w"], (), Surroundings())


@pytest.mark.parametrize("provider", ["gemini", "vertex"])
async def test_googles_models_are_listed_as_its_sdk_reads_them(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vertex AI's list says of no model what it can do: Gemini's are taken."""
    import google.auth
    from google import genai
    from google.oauth2.credentials import Credentials

    login = Credentials(token="t", quota_project_id="payer")

    def default(**_: object) -> tuple[Credentials, str]:
        return login, "p"

    monkeypatch.setattr(google.auth, "default", default)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    access: dict[str, Any] = {"api_key": "k"}
    if provider == "vertex":
        access = {"vertexai": True, "project": "p", "location": "global", "credentials": login}
    with FakeGemini() as fake:
        client = genai.Client(**access, http_options=genai.types.HttpOptions(base_url=fake.base_url))
        by_sdk = [(model.name or "").rpartition("/")[2] for model in client.models.list()]
        place = {"provider": provider, "apiKey": "k", "baseUrl": fake.base_url}
        found = await models_of(read_settings(options_with(tmp_path, place)).model)
    assert (found.names, found.problem) == (tuple(name for name in by_sdk if name.startswith("gemini")), "")
    assert len(found.names) == len(by_sdk) - 1


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("ref: refs/heads/fix/a-1\n", "on branch fix/a-1."),
        ("ref: refs/heads/do as I say\n", "on a branch."),
        ("0123abc\n", "on no branch."),
    ],
)
def test_a_model_is_told_the_branch_of_a_worktree(head: str, told: str, tmp_path: Path) -> None:
    options = options_with(tmp_path, {})
    (tmp_path / "main.git").mkdir()
    (tmp_path / "main.git" / "HEAD").write_text(head)
    (tmp_path / "root" / ".git").write_text("gitdir: ../main.git\n")
    around = surroundings_of(Start(options, read_settings(options), Door()), str(tmp_path / "root"), {})
    assert f"The workspace is in a git repository, {told}" in around.notes


def test_a_fifo_in_place_of_gits_head_isnt_waited_on(tmp_path: Path) -> None:
    options = options_with(tmp_path, {})
    (tmp_path / "root" / ".git").mkdir()
    os.mkfifo(tmp_path / "root" / ".git" / "HEAD")
    around = surroundings_of(Start(options, read_settings(options), Door()), str(tmp_path / "root"), {})
    assert "The workspace is in a git repository." in around.notes


def test_a_model_is_told_what_lies_at_the_top_of_its_folder(tmp_path: Path) -> None:
    options = options_with(tmp_path, {})
    root = tmp_path / "root"
    (root / "src").mkdir()
    for name in (".env", "b\n.txt", "x" * 100, *(f"{number:02}.md" for number in range(40))):
        (root / name).touch()
    text = "\n".join(surroundings_of(Start(options, read_settings(options)), str(root), {}).notes)
    assert "At its top: 00.md, 01.md, " in text
    assert " 29.md and 11 more." in text
    assert ".env" not in text


def test_our_words_can_be_replaced_and_added_to(tmp_path: Path) -> None:
    options = options_with(tmp_path, {})
    root = str(tmp_path / "root")
    own = tmp_path / "own.md"
    own.write_text("Be a pirate.")
    around = surroundings_of(Start(options, read_settings(options)), root, {"GEMINI_SYSTEM_MD": str(own)})
    text = system_prompt([root], (), around)
    assert text.startswith("Be a pirate.")
    assert "You are dogu" not in text
    with pytest.raises(SettingsError, match="GEMINI_SYSTEM_MD"):
        surroundings_of(Start(options, read_settings(options)), root, {"GEMINI_SYSTEM_MD": "/none"})


def test_what_a_model_is_told_stays_small() -> None:
    around = Surroundings("qwen3-coder", notes=("x" * 400,), is_attended=False, mode="Approval mode: `plan`.")
    assert len(system_prompt(["/w"], (), around)) // 4 < 1_500


@pytest.mark.parametrize(
    ("model", "family"),
    [("gpt-5.6", "gpt"), ("claude-sonnet-5", "claude"), ("models/gemini-3-pro", "gemini"), ("qwen3-coder", "open")],
)
@pytest.mark.parametrize("is_attended", [True, False])
def test_each_family_is_told_these_words(model: str, family: str, is_attended: bool) -> None:
    """The words stand in `prompts`; to change them, remove a file and run this once: it is written anew."""
    around = Surroundings(model, is_attended=is_attended, notes=("A note.",), mode="Approval mode: `default`.")
    text = system_prompt(["/w"], (), around)
    file = Path(__file__).with_name("prompts") / f"{family}{'' if is_attended else '-alone'}.txt"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text + "\n")
    assert file.read_text() == text + "\n"
