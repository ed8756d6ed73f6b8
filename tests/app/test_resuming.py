"""What a resumed session resumes with besides its conversation."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from dogu.agent.slash import Said
from dogu.app import Options, open_agent
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.function_tool import function_tool
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.questions import Approved, ApprovedAlways, Outcome, Question
from dogu.testing.scripted_model import ScriptedModel
from dogu.testing.turn import Turn, call

pytestmark = pytest.mark.anyio


def write(name: str) -> str:
    """Write."""
    return name


@pytest.fixture
def options(tmp_path: Path) -> Options:
    for name in ("project", "home"):
        (tmp_path / name).mkdir()
    return Options(root=str(tmp_path / "project"), home=str(tmp_path / "home"))


def again(options: Options, approval_mode: str | None = None) -> Options:
    return Options(root=options.root, home=options.home, resume="", approval_mode=approval_mode)


async def test_what_was_always_allowed_stays_so_in_the_session_and_in_no_other(options: Options):
    asked: list[Question] = []

    async def always(question: Question) -> Outcome:
        asked.append(question)
        return ApprovedAlways()

    turns = [Turn(calls=[call("write", name="a")]), "ok"]
    tools = [function_tool(write)]
    async with open_agent(options, confirm=always, model=ScriptedModel(turns), tools=tools) as opened:
        await opened.agent.run("write")
    assert len(asked) == 1
    async with open_agent(again(options), confirm=None, model=ScriptedModel(turns), tools=tools) as opened:
        assert any("write" in note for note in opened.runtime.notes)
        end = await opened.agent.run("write")
    assert [answer.result.error for answer in end.answers] == [None]
    other = Options(root=options.root, home=options.home)
    async with open_agent(other, confirm=None, model=ScriptedModel(turns), tools=tools) as opened:
        end = await opened.agent.run("write")
    assert [answer.result.error and answer.result.error.kind for answer in end.answers] == [ErrorKind.NOBODY_TO_ASK]


async def test_the_mode_tokens_and_turns_resume(options: Options):
    async with open_agent(options, model=ScriptedModel(["one"])) as opened:
        opened.runtime.policy.mode = ApprovalMode.AUTO_EDIT
        await opened.agent.run("a")
        usage = opened.agent.usage
        opened.runtime.policy.mode = ApprovalMode.PLAN
    async with open_agent(again(options), model=ScriptedModel(["two"])) as opened:
        assert opened.runtime.policy.mode is ApprovalMode.PLAN
        assert opened.agent.usage == usage
        await opened.agent.run("b")
        assert opened.runtime.journal.turn == 2
        assert opened.agent.usage.prompt == 2 * usage.prompt
    async with open_agent(again(options, "default"), model=ScriptedModel(["x"])) as opened:
        assert opened.runtime.policy.mode is ApprovalMode.DEFAULT


async def test_yolo_does_not_resume_where_settings_have_switched_it_off_since(options: Options):
    async with open_agent(options, model=ScriptedModel(["one"])) as opened:
        opened.runtime.policy.mode = ApprovalMode.YOLO
        await opened.agent.run("a")
    settings = Path(options.home) / ".dogu" / "settings.json"
    settings.write_text('{"security": {"disableYoloMode": true}}')
    async with open_agent(again(options), model=ScriptedModel(["two"])) as opened:
        assert opened.runtime.policy.mode is ApprovalMode.DEFAULT


async def test_a_session_that_is_open_twice_becomes_two(options: Options):
    async def approve(_question: Question) -> Outcome:
        return Approved()

    async with open_agent(options, model=ScriptedModel(["one", "two"])) as first:
        await first.agent.run("a")
        async with open_agent(again(options), confirm=approve, model=ScriptedModel(["three"])) as second:
            assert second.session_id != first.session_id
            assert second.agent.history.contents == first.agent.history.contents
            await second.agent.run("b")
            await first.agent.run("c")
        assert second.agent.history.contents != first.agent.history.contents


async def test_an_empty_record_is_told_also_to_who_goes_on_unverified(options: Options):
    async with open_agent(options, model=ScriptedModel(["one"])) as opened:
        await opened.agent.run("hi")
        record = Path(opened.runtime.session_folder) / "record.jsonl"
    record.write_bytes(b"")
    with pytest.raises(ToolError, match="is empty: there is nothing to continue"):
        async with open_agent(replace(again(options), unverified=True), model=ScriptedModel([])):
            pass
    assert record.read_bytes() == b""


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("undo --nosuch", "/undo doesn't know --nosuch"),
        ("redo 1 --nosuch", "/redo doesn't know --nosuch"),
        ("model no such model", "contain spaces: no such model"),
        ("diff nosuch", "/diff takes no arguments: nosuch"),
        ("agents nosuch", "takes no arguments: nosuch"),
        ("memory list all", "/memory [show"),
    ],
)
async def test_what_a_command_has_no_use_for_is_refused(options: Options, typed: str, told: str):
    async with open_agent(options, model=ScriptedModel([])) as opened:
        answer = await opened.slash.run(typed)
    assert isinstance(answer, Said)
    assert told in answer.text
    assert answer.is_failure
