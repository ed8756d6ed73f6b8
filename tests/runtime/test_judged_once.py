"""A command is parsed and judged once from the model's call to its end, however often its verdict is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import pytest

import dogu
from dogu.policy.commands.judge import judge_command
from dogu.runtime.events import ToolCall
from dogu.workspace import shell_syntax

pytestmark = pytest.mark.anyio


@contextmanager
def counted(*functions: Callable[..., object]) -> Generator[list[CodeType]]:
    """Give a list that grows with each call of the functions on this thread."""
    calls: list[CodeType] = []
    codes = {function.__code__ for function in functions}

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in codes:
            calls.append(frame.f_code)

    sys.setprofile(see)
    try:
        yield calls
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("mode", ["default", "plan", "auto_edit", "yolo"])
@pytest.mark.parametrize("rules", ["{}", '{"tools": {"allowed": ["run_shell_command(true)"]}}'])
async def test_a_command_is_parsed_and_judged_once(tmp_path: Path, mode: str, rules: str) -> None:
    (tmp_path / ".dogu").mkdir()
    (tmp_path / ".dogu" / "settings.json").write_text(rules)
    root = tmp_path / "root"
    root.mkdir()
    options = dogu.Options(root=str(root), home=str(tmp_path), approval_mode=mode)
    async with dogu.open_runtime(options) as runtime:
        with counted(shell_syntax.parse, judge_command) as calls:
            await runtime.run(ToolCall("1", "run_shell_command", {"command": "true | true"}))
    assert sorted(each.co_name for each in calls) == ["judge_command", "parse"]
