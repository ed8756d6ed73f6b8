"""A command is parsed once from the model's call to its end, however often it is judged on the way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import pytest

import dogu
from dogu.runtime.calls import ToolCall
from dogu.workspace import shell_syntax

pytestmark = pytest.mark.anyio


@contextmanager
def counted(function: Callable[..., object]) -> Generator[list[CodeType]]:
    """Give a list that grows with each call of the function on this thread."""
    calls: list[CodeType] = []

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is function.__code__:
            calls.append(frame.f_code)

    sys.setprofile(see)
    try:
        yield calls
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("mode", ["default", "plan", "auto_edit", "yolo"])
@pytest.mark.parametrize("rules", ["{}", '{"tools": {"allowed": ["run_shell_command(true)"]}}'])
async def test_a_command_is_parsed_once(tmp_path: Path, mode: str, rules: str) -> None:
    (tmp_path / ".dogu").mkdir()
    (tmp_path / ".dogu" / "settings.json").write_text(rules)
    root = tmp_path / "root"
    root.mkdir()
    options = dogu.Options(root=str(root), home=str(tmp_path), approval_mode=mode)
    async with dogu.open_runtime(options) as runtime:
        with counted(shell_syntax.parse) as calls:
            await runtime.run(ToolCall("1", "run_shell_command", {"command": "true | true"}))
    assert len(calls) == 1
