"""An MCP server's question, answered by the session's model."""

from __future__ import annotations

import pytest

from dogu.agent.mcp import ModelSampling
from dogu.contract import ErrorKind, Text, ToolError
from dogu.models.events import ModelError, ModelErrorKind, Usage
from dogu.runtime.discovery.mcp.host import Sampled, SamplingRequest
from dogu.testing import ScriptedModel, Turn

pytestmark = pytest.mark.anyio


async def test_the_model_gets_the_server_s_words_alone_and_no_tools():
    counted: list[Usage] = []
    model = ScriptedModel(["42"])
    request = SamplingRequest(
        "Be short.", (("user", "a"), ("user", [Text("b")]), ("assistant", "c"), ("user", "d")), 100
    )
    assert await ModelSampling(model, counted.append)(request) == Sampled("42", "scripted")
    (asked,) = model.requests
    assert (asked.system, asked.declarations) == ("Be short.", ())
    assert [(content["role"], [part["text"] for part in content["parts"]]) for content in asked.contents] == [
        ("user", ["a", "b"]),
        ("model", ["c"]),
        ("user", ["d"]),
    ]
    assert len(counted) == 1


async def test_an_answer_past_the_tokens_asked_for_is_cut():
    sampled = await ModelSampling(ScriptedModel(["x" * 500]), lambda _usage: None)(SamplingRequest("", (), 10))
    assert sampled == Sampled("x" * 40, "scripted", was_cut=True)


async def test_a_model_that_fails_is_told_as_that():
    model = ScriptedModel([Turn(error=ModelError(ModelErrorKind.QUOTA, "Used up."))])
    with pytest.raises(ToolError, match=r"Used up\.") as caught:
        await ModelSampling(model, lambda _usage: None)(SamplingRequest("", (), 10))
    assert caught.value.kind is ErrorKind.REMOTE_FAILED


async def test_a_model_that_never_answers_has_a_time_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dogu.agent.mcp.TIMEOUT_S", 0.05)
    with pytest.raises(ToolError, match="did not answer"):
        await ModelSampling(ScriptedModel([Turn(hangs=True)]), lambda _usage: None)(SamplingRequest("", (), 10))
