"""An edit put right by the model: at most one request, and never trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dogu.agent.edit_repair import EditRepair
from dogu.contract import ErrorKind, ToolResult
from dogu.models.events import ModelError, ModelErrorKind, Usage
from dogu.testing.scripted_model import ModelRequest, ScriptedModel, ScriptedTurn
from dogu.testing.turn import Turn, call
from dogu.testing.workspace import run_tool
from dogu.tools.replace import Replace
from dogu.workspace.files import LocalFiles
from dogu.workspace.roots import Roots

pytestmark = pytest.mark.anyio

TEXT = "def total(values):\n    return sum(values)\n\n\ndef mean(values):\n    return total(values) / len(values)\n"
GARBLED = "def average(numbers):\n    return compute(numbers) / size(numbers)"
WANTED = "def mean(values):\n    if not values:\n        return 0\n    return total(values) / len(values)"
PLACE = "def mean(values):\n    return total(values) / len(values)"


class Case:
    def __init__(self, folder: Path, *turns: ScriptedTurn, timeout_s: float = 5.0) -> None:
        self.path = folder / "a.py"
        self.path.write_text(TEXT)
        self.model = ScriptedModel(turns)
        self.usage: list[Usage] = []
        roots = Roots(str(folder))
        repair = EditRepair(self.model, self.usage.append, timeout_s)
        self.tool = Replace(LocalFiles(roots), roots, repair)

    async def edit(self) -> ToolResult:
        return await run_tool(self.tool, file_path=str(self.path), old_string=GARBLED, new_string=WANTED)


def repaired(**args: Any) -> Turn:
    return Turn(calls=[call("repaired_edit", **args)])


@pytest.mark.requirement("fs.replace.correction.model")
async def test_a_right_answer_is_written_and_told(tmp_path: Path):
    case = Case(tmp_path, repaired(old_string=PLACE, new_string=WANTED))
    result = await case.edit()
    assert result.error is None
    assert "Successfully modified file" in str(result.llm_content)
    assert "repair" in str(result.llm_content)
    assert case.path.read_text() == TEXT.replace(PLACE, WANTED)
    assert len(case.model.requests) == 1
    assert GARBLED in case.model.requests[0].contents[0]["parts"][0]["text"]
    assert case.usage


@pytest.mark.parametrize(
    "turn",
    [
        repaired(old_string="not in the file at all", new_string="x"),
        repaired(old_string="values", new_string="x"),
        repaired(old_string=TEXT[: TEXT.index("\n\n\n")], new_string=WANTED),
        repaired(old_string=PLACE, new_string=f"import shutil\nshutil.rmtree('/')\n{WANTED}"),
        repaired(old_string=PLACE, new_string="if"),
        repaired(old_string=TEXT, new_string=WANTED),
        repaired(no_change_needed=True),
        repaired(old_string=5),
        repaired(),
        Turn(calls=[call("another_tool", old_string=PLACE, new_string=WANTED)]),
        Turn(text="I can't."),
        Turn(error=ModelError(ModelErrorKind.OVERLOADED, "Overloaded.")),
    ],
)
async def test_any_other_answer_changes_nothing_and_is_asked_for_once(tmp_path: Path, turn: Turn):
    case = Case(tmp_path, turn)
    result = await case.edit()
    assert result.error is not None
    assert result.error.kind is ErrorKind.NO_MATCH
    assert "0 occurrences found" in result.error.message
    assert case.path.read_text() == TEXT
    assert len(case.model.requests) == 1


async def test_a_model_that_hangs_is_not_waited_for(tmp_path: Path):
    case = Case(tmp_path, Turn(hangs=True), timeout_s=0.05)
    assert (await case.edit()).error is not None
    assert case.path.read_text() == TEXT


async def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path):
    def answer_late(_request: ModelRequest) -> Turn:
        case.path.write_text(TEXT.replace("len(values)", "count(values)"))
        return repaired(old_string=PLACE, new_string=WANTED)

    case = Case(tmp_path, answer_late)
    result = await case.edit()
    assert result.error is not None
    assert result.error.kind is ErrorKind.STALE
    assert "count(values)" in case.path.read_text()
