"""Our tools in an agent of pydantic-ai's."""

from pathlib import Path
from typing import Any

import pytest

import dogu
from dogu.contract.content import Blob

pytest.importorskip("pydantic_ai", reason="pydantic-ai isn't installed")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from dogu.adapters.pydantic_ai import RuntimeToolset

pytestmark = pytest.mark.anyio


@pytest.fixture
def options(tmp_path: Path) -> dogu.Options:
    (tmp_path / "a.txt").write_text("alpha\n")
    return dogu.Options(root=str(tmp_path), home=str(tmp_path / "home"))


def returns(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    parts: list[Any] = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart)]


async def run(runtime: dogu.Runtime, name: str, **args: Any) -> str:
    """Have a model make one call and return what it was answered."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if returns(messages):
            return ModelResponse([TextPart("done")])
        assert any(tool.name == name for tool in info.function_tools)
        return ModelResponse([ToolCallPart(name, args)])

    result = await Agent(FunctionModel(answer), toolsets=[RuntimeToolset(runtime)]).run("Work.")
    assert result.output == "done"
    return str(returns(result.all_messages())[0].content)


async def test_a_call_is_answered(options: dogu.Options) -> None:
    async with dogu.open_runtime(options) as runtime:
        assert "alpha" in await run(runtime, "read_file", path="a.txt")


async def test_the_policy_and_the_confirmation_hold(options: dogu.Options) -> None:
    asked: list[dogu.Question] = []

    async def confirm(question: dogu.Question) -> dogu.Declined:
        asked.append(question)
        return dogu.Declined("not today")

    async with dogu.open_runtime(options, confirm=confirm) as runtime:
        assert "not today" in await run(runtime, "write_file", path="b.txt", content="x")
    assert len(asked) == 1
    assert not (Path(options.root) / "b.txt").exists()


async def test_wrong_arguments_are_told_in_our_words(options: dogu.Options) -> None:
    async with dogu.open_runtime(options) as runtime:
        assert "nonsense" in await run(runtime, "read_file", nonsense=1)


async def test_pydantic_ai_s_own_test_model_can_call_what_only_reads(options: dogu.Options) -> None:
    async with dogu.open_runtime(options) as runtime:
        model = TestModel(call_tools=["list_directory", "read_file"])
        result = await Agent(model, toolsets=[RuntimeToolset(runtime)]).run("Work.")
    assert len(returns(result.all_messages())) == 2


async def test_an_image_goes_along(options: dogu.Options) -> None:
    def picture() -> Blob:
        """Give a picture."""
        return Blob("image/png", b"\x89PNG")

    async with dogu.open_runtime(options, tools=[dogu.function_tool(picture, kind=dogu.Kind.READ)]) as runtime:
        assert "image/png" in await run(runtime, "picture")
