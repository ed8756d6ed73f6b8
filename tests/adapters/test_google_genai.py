"""Our tools in a chat of Google's SDK, against the fake server."""

from pathlib import Path
from typing import Any

import pytest

import dogu
from dogu.testing import FakeGemini, Turn, call

pytest.importorskip("google.genai", reason="google-genai isn't installed")

from google import genai
from google.genai import types

from dogu.adapters.google_genai import config, send

pytestmark = pytest.mark.anyio


@pytest.fixture
def options(tmp_path: Path) -> dogu.Options:
    (tmp_path / "a.txt").write_text("alpha\n")
    return dogu.Options(root=str(tmp_path), home=str(tmp_path / "home"))


async def chat_with(server: FakeGemini, runtime: dogu.Runtime, message: str) -> str:
    client = genai.Client(api_key="key", http_options=types.HttpOptions(base_url=server.base_url))
    async with client.aio as aio:
        chat = aio.chats.create(model="gemini-2.5-pro", config=config(runtime, system_instruction="Be short."))
        return await send(chat, runtime, message)


def answered(server: FakeGemini) -> list[dict[str, Any]]:
    return server.requests[-1].responses


async def test_calls_are_run_and_answered(options: dogu.Options) -> None:
    turns = [Turn(calls=[call("read_file", path="a.txt"), call("list_directory", path=".")]), "It says alpha."]
    with FakeGemini(turns) as server:
        async with dogu.open_runtime(options) as runtime:
            assert await chat_with(server, runtime, "What is in a.txt?") == "It says alpha."
        first, second = answered(server)
        declared = server.requests[0].tool_names
    assert "alpha" in first["response"]["output"]
    assert "a.txt" in second["response"]["output"]
    assert {"read_file", "run_shell_command"} <= set(declared)


async def test_the_policy_and_the_confirmation_hold(options: dogu.Options) -> None:
    async def confirm(_question: dogu.Question) -> dogu.Declined:
        return dogu.Declined("not today")

    with FakeGemini([Turn(calls=[call("write_file", path="b.txt", content="x")]), "Well."]) as server:
        async with dogu.open_runtime(options, confirm=confirm) as runtime:
            await chat_with(server, runtime, "Write.")
        assert "not today" in answered(server)[0]["response"]["error"]
    assert not (Path(options.root) / "b.txt").exists()
