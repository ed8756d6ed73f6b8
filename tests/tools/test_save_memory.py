"""save_memory: asked with a diff, kept in the user's file, known at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dogu
from dogu.agent.context.files import DEFAULT_NAMES
from dogu.contract import ErrorKind, FileDiff
from dogu.runtime.events import ToolCall
from dogu.runtime.questions import Approved, ApprovedAlways, Declined, Outcome, Question
from dogu.testing.scripted_model import ScriptedModel
from dogu.testing.turn import Turn, call
from dogu.testing.workspace import executor_for, run_tool
from dogu.tools.save_memory import SaveMemory
from dogu.workspace.memory_file import MemoryFile

pytestmark = pytest.mark.anyio


def tool(tmp_path: Path, saved: list[str] | None = None) -> SaveMemory:
    def told() -> None:
        if saved is not None:
            saved.append("saved")

    return SaveMemory(lambda: MemoryFile(str(tmp_path / ".gemini" / "GEMINI.md"), "~/.gemini/GEMINI.md"), told)


@pytest.mark.requirement("api.builtin.memory")
async def test_a_fact_is_shown_as_a_diff_and_then_kept(tmp_path: Path):
    asked: list[Question] = []

    async def yes(question: Question) -> Outcome:
        asked.append(question)
        assert not (tmp_path / ".gemini").exists()
        return Approved()

    saved: list[str] = []
    result = await run_tool(tool(tmp_path, saved), confirm=yes, fact="The person likes tabs.")
    assert result.llm_content == 'Okay, I\'ve remembered that: "The person likes tabs."'
    assert (tmp_path / ".gemini" / "GEMINI.md").read_text() == "## Gemini Added Memories\n- The person likes tabs.\n"
    assert isinstance(asked[0].confirmation.display, FileDiff)
    assert "+- The person likes tabs." in asked[0].confirmation.display.unified
    assert asked[0].always_rule is not None
    assert saved == ["saved"]


async def test_declined_nothing_is_kept(tmp_path: Path):
    async def no(_question: Question) -> Outcome:
        return Declined("not that")

    result = await run_tool(tool(tmp_path), confirm=no, fact="x is y")
    assert result.error
    assert result.error.kind is ErrorKind.DECLINED
    assert not (tmp_path / ".gemini").exists()


async def test_a_user_may_edit_the_fact_first_or_allow_it_for_always(tmp_path: Path):
    asked = 0

    async def edited_then_always(question: Question) -> Outcome:
        nonlocal asked
        asked += 1
        return Approved("what I mean\n# really") if asked == 1 else ApprovedAlways()

    executor = executor_for(tool(tmp_path), confirm=edited_then_always)
    for number in range(3):
        answer = await executor.run(ToolCall(str(number), "save_memory", {"fact": f"fact {number}"}))
        assert answer.result.error is None
    text = (tmp_path / ".gemini" / "GEMINI.md").read_text()
    assert text == "## Gemini Added Memories\n- what I mean # really\n- fact 1\n- fact 2\n"
    assert asked == 2


@pytest.mark.parametrize(("mode", "asks"), [("auto_edit", True), ("yolo", False)])
async def test_it_asks_where_edits_do_not(tmp_path: Path, mode: str, asks: bool):
    result = await executor_for(tool(tmp_path), confirm=None, mode=mode).run(
        ToolCall("1", "save_memory", {"fact": "x is y"})
    )
    assert (result.result.error is not None) is asks


@pytest.mark.requirement("api.builtin.memory")
async def test_what_is_remembered_is_told_at_once_and_stands_first_in_the_next_session_only(tmp_path: Path):
    options = dogu.Options(root=str(tmp_path / "root"), home=str(tmp_path / "home"), approval_mode="yolo")
    (tmp_path / "root").mkdir()
    model = ScriptedModel([Turn(calls=[call("save_memory", fact="The person likes tabs.")]), "done"])
    async with dogu.open_agent(options, model=model) as opened:
        await opened.agent.run("remember: tabs")
    assert "likes tabs" not in model.requests[0].system
    assert model.requests[1].system == model.requests[0].system  # a provider's cache of it holds
    assert "likes tabs" in str(model.requests[1].responses)
    later = ScriptedModel(["hello"])
    async with dogu.open_agent(options, model=later) as opened:
        await opened.agent.run("hi")
    assert "likes tabs" in later.requests[0].system


async def test_another_file_name_is_a_setting(tmp_path: Path):
    settings = tmp_path / "settings.json"
    settings.write_text('{"context": {"fileName": ["AGENTS.md", "GEMINI.md"]}}')
    options: dict[str, Any] = {"root": str(tmp_path), "home": str(tmp_path / "home"), "settings_file": str(settings)}
    async with dogu.open_runtime(dogu.Options(approval_mode="yolo", **options)) as runtime:
        await runtime.call("save_memory", fact="x is y")
    assert (tmp_path / "home" / ".gemini" / "AGENTS.md").exists()
    assert DEFAULT_NAMES[0] == "GEMINI.md"
