"""`/rewind` within a session: files and conversation together, or nothing at all."""

from __future__ import annotations

from pathlib import Path

import anyio
import msgspec
import pytest
from anyio import to_thread

from agent.session.recorded import Recorded
from dogu.agent.slash.session import RewindCommand
from dogu.contract.confirmation import CallContext
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind, Tool
from dogu.models.contents import user_content
from dogu.runtime.events import Notes
from dogu.runtime.runtime import Runtime
from dogu.testing.turn import Turn, call
from dogu.workspace.files import LocalFiles

pytestmark = pytest.mark.anyio


class PutArgs(msgspec.Struct):
    text: str


class Put(Tool[PutArgs]):
    """Put a text into the file `f`."""

    name, display_name, kind = "put", "Put", Kind.EDIT

    def __init__(self) -> None:
        self.files: LocalFiles | None = None

    def get_description(self, args: PutArgs) -> str:
        return args.text

    async def execute(self, args: PutArgs, context: CallContext) -> ToolResult:
        assert self.files is not None
        await to_thread.run_sync(self.files.write, "f", args.text.encode(), None)
        return ToolResult(f"put {args.text}")


def session_with(tmp_path: Path, texts: list[str]) -> tuple[Recorded, RewindCommand]:
    turns = [turn for text in texts for turn in (Turn(calls=[call("put", text=text)]), f"It is {text}.")]
    tool = Put()
    recorded = Recorded(tmp_path, [*turns, Turn(hangs=True)], [tool]).begin()
    tool.files = recorded.files
    runtime = Runtime(recorded.agent.executor, recorded.roots.all, recorded.journal, Notes())
    return recorded, RewindCommand(recorded.agent, runtime, recorded.session)


async def test_each_turn_can_be_gone_back_to_in_any_order(tmp_path: Path):
    recorded, rewind = session_with(tmp_path, ["one", "two", "three"])
    stood: list[list[bytes]] = []
    for number in range(3):
        stood.append(list(recorded.agent.history.contents))
        await recorded.agent.run(f"prompt {number}")
    assert [*rewind.complete("")] == ["1", "2", "3"]
    await rewind("3")
    assert recorded.agent.history.contents == stood[2]
    assert (recorded.root / "f").read_text() == "two"
    await rewind("1")
    assert recorded.agent.history.contents == stood[0]
    assert not (recorded.root / "f").exists()
    assert "no turn" in (await rewind("")).text


async def test_behind_a_compaction_the_conversation_of_before_comes_back(tmp_path: Path):
    recorded, rewind = session_with(tmp_path, ["one", "two"])
    await recorded.agent.run("a")
    stood = list(recorded.agent.history.contents)
    await recorded.agent.run("b")
    recorded.agent.history.replace([user_content("In short: a, b.")])
    await rewind("2")
    assert recorded.agent.history.contents == stood
    recorded.session.close()
    assert recorded.resume().agent.history.contents == stood


async def test_where_somebody_else_changed_a_file_nothing_is_done_unless_forced(tmp_path: Path):
    recorded, rewind = session_with(tmp_path, ["one", "two"])
    for prompt in ("a", "b"):
        await recorded.agent.run(prompt)
    stood = list(recorded.agent.history.contents)
    (recorded.root / "f").write_text("mine")
    refused = (await rewind("2")).text
    assert "stays where it is" in refused
    assert "restore f\n" in refused or "  f: " in refused, "named as it is called within the folder"
    assert recorded.agent.history.contents == stood
    assert (recorded.root / "f").read_text() == "mine"
    await rewind("2 --force")
    assert (recorded.root / "f").read_text() == "one"
    assert len(recorded.agent.history.contents) == 4


async def test_while_a_turn_is_under_way_nothing_is_gone_back_to(tmp_path: Path):
    recorded, rewind = session_with(tmp_path, ["one"])
    await recorded.agent.run("a")
    async with anyio.create_task_group() as group:
        group.start_soon(recorded.agent.run, "b")
        while not recorded.agent.is_in_turn:
            await anyio.lowlevel.checkpoint()
        assert "A turn is running" in (await rewind("1")).text
        group.cancel_scope.cancel()
    assert not recorded.agent.is_in_turn


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("9", "There is no turn 9. /rewind lists"),
        ("x", "There is no turn x."),
        ("1 2", "There is no turn 1 2."),
        ("1 --farce", "/rewind TURN ["),
    ],
)
async def test_what_is_no_turn_is_told(tmp_path: Path, words: str, told: str):
    recorded, rewind = session_with(tmp_path, ["one"])
    await recorded.agent.run("a")
    assert told in (await rewind(words)).text
    assert (recorded.root / "f").read_text() == "one"
