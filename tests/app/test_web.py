"""The web wired: by the settings and by what the model's server offers, through the doors."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import dogu
from dogu.contract import ErrorKind
from dogu.models.gemini import Gemini, KeyAccess
from dogu.runtime.events import ToolAnswer
from dogu.runtime.questions import approve
from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.fake_gemini_web import grounding, url_context
from dogu.testing.scripted_model import ScriptedModel
from dogu.testing.turn import Turn, call
from dogu.testing.wire_server import Reply, WireRequest, WireServer

pytestmark = pytest.mark.anyio
TEXT = "京都は雨。"
SEARCHED = Turn(
    text=TEXT, metadata=grounding(TEXT, [("天気", "https://a.example/")], [(TEXT, [0])]), prompt_tokens=1000
)


@pytest.fixture(autouse=True)
def no_keys_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_PROXY", "_proxy")) or name.startswith("GOOGLE_"):
            monkeypatch.delenv(name)


def options(home: Path, **web: Any) -> dogu.Options:
    (home / ".dogu").mkdir(exist_ok=True)
    (home / ".dogu" / "settings.json").write_text(json.dumps({"web": web}))
    (home / "ws").mkdir(exist_ok=True)
    return dogu.Options(root=str(home / "ws"), home=str(home))


async def called(home: Path, tool: str, settings: Mapping[str, Any] = {}, **args: Any) -> ToolAnswer:
    async with dogu.open_runtime(options(home, **settings), confirm=approve) as runtime:
        return await runtime.call(tool, **args)


@pytest.mark.requirement("api.builtin.web_search")
async def test_a_session_with_gemini_searches_by_its_model_and_counts_the_tokens(tmp_path: Path) -> None:
    def answer(request: GeminiRequest) -> Turn | str:
        if request.server_tools == ["googleSearch"]:
            assert request.prompt == "天気"
            return SEARCHED
        if request.responses:
            return str(request.responses[0]["response"]["output"])
        return Turn(calls=[call("google_web_search", query="天気")])

    with FakeGemini(answer) as fake:
        model = Gemini("gemini-2.5-pro", KeyAccess("k", fake.base_url))
        async with dogu.open_agent(options(tmp_path), model=model) as opened:
            end = await opened.agent.run("how is the weather?")
            assert opened.agent.usage.prompt == 1020
        assert fake.problems == []
    assert end.text == 'Web search results for "天気":\n\n京都は雨。[1]\n\nSources:\n[1] 天気 (https://a.example/)'


@pytest.mark.requirement("api.builtin.web_fetch")
async def test_a_session_with_gemini_lets_its_server_read_addresses(tmp_path: Path) -> None:
    def answer(request: GeminiRequest) -> Turn | str:
        if request.server_tools == ["urlContext"]:
            return Turn(text="A page.", metadata=url_context(["https://a.example/"]))
        if request.responses:
            return str(request.responses[0]["response"]["output"])
        return Turn(calls=[call("web_fetch", prompt="https://a.example/")])

    with FakeGemini(answer) as fake:
        model = Gemini("gemini-2.5-pro", KeyAccess("k", fake.base_url))
        async with dogu.open_agent(options(tmp_path), model=model, confirm=approve) as opened:
            end = await opened.agent.run("what is there?")
        assert fake.problems == []
    assert end.text == "A page.\n\nSources:\n[1] Untitled (https://a.example/)"


async def test_a_call_without_a_model_asks_the_gemini_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeGemini([SEARCHED]) as fake:
        monkeypatch.setenv("GEMINI_API_KEY", "k")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        answer = await called(tmp_path, "google_web_search", query="天気")
    assert "京都は雨。[1]" in str(answer.result.llm_content)


async def test_a_failing_gemini_is_a_failure_of_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeGemini([], key="other") as fake:
        monkeypatch.setenv("GEMINI_API_KEY", "k")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        answer = await called(tmp_path, "google_web_search", query="天気")
    assert answer.result.error is not None
    assert answer.result.error.kind is ErrorKind.REMOTE_FAILED


async def test_without_anybody_who_searches_the_model_hears_how_to_set_one_up(tmp_path: Path) -> None:
    for settings in ({}, {"search": "gemini"}, {"search": "brave"}, {"search": "searxng"}):
        answer = await called(tmp_path, "google_web_search", settings, query="x")
        assert answer.result.error is not None
        assert "searxngUrl" in str(answer.result.llm_content)


def searxng(request: WireRequest, reply: Reply) -> None:
    found = {"title": request.query["q"], "url": "https://a.example/", "content": "found"}
    reply.send(200, json.dumps({"results": [found]}).encode())


@pytest.mark.parametrize("search", ["auto", "searxng"])
async def test_a_searxng_server_of_this_machine_is_asked_where_it_is_set(tmp_path: Path, search: str) -> None:
    server = WireServer(searxng)
    server.start()
    try:
        chosen = options(tmp_path, searxngUrl=server.url, search=search)
        async with dogu.open_agent(chosen, model=ScriptedModel([])) as opened:
            answer = await opened.runtime.call("google_web_search", query="why")
            fetched = await opened.runtime.call("web_fetch", prompt=f"{server.url}/search")
    finally:
        server.close()
    assert "why: found[1]" in str(answer.result.llm_content)
    assert fetched.result.error is not None
    assert fetched.result.error.kind is ErrorKind.REFUSED


@pytest.mark.requirement("api.builtin.web_fetch", "api.capabilities.web")
async def test_a_host_that_the_settings_allow_is_fetched(tmp_path: Path) -> None:
    server = WireServer(lambda _request, reply: reply.send(200, b"<p>local", {"content-type": "text/html"}))
    server.start()
    try:
        answer = await called(tmp_path, "web_fetch", {"allowedHosts": ["127.0.0.1"]}, prompt=f"{server.url}/")
    finally:
        server.close()
    assert "local" in str(answer.result.llm_content)


async def test_a_folders_own_settings_allow_no_host_until_it_is_trusted(tmp_path: Path) -> None:
    chosen = options(tmp_path)
    (tmp_path / "ws" / ".dogu").mkdir()
    wider = {"web": {"allowedHosts": ["127.0.0.1"], "trustProxy": True}}
    (tmp_path / "ws" / ".dogu" / "settings.json").write_text(json.dumps(wider))
    async with dogu.open_runtime(chosen, confirm=approve) as runtime:
        answer = await runtime.call("web_fetch", prompt="http://127.0.0.1/")
    assert answer.result.error is not None
    assert answer.result.error.kind is ErrorKind.REFUSED


async def test_a_page_may_take_the_time_that_the_settings_say(tmp_path: Path) -> None:
    server = WireServer(lambda _request, reply: reply.stall())
    server.start()
    try:
        settings = {"allowedHosts": ["127.0.0.1"], "timeout": 0.2}
        answer = await called(tmp_path, "web_fetch", settings, prompt=f"{server.url}/")
    finally:
        server.close()
    assert answer.result.error is not None
    assert answer.result.error.kind is ErrorKind.TIMED_OUT


async def test_without_a_user_a_fetch_is_refused_as_every_question_is(tmp_path: Path) -> None:
    async with dogu.open_runtime(options(tmp_path)) as runtime:
        answer = await runtime.call("web_fetch", prompt="https://example.com/")
    assert answer.result.error is not None
    assert answer.result.error.kind is ErrorKind.NOBODY_TO_ASK
