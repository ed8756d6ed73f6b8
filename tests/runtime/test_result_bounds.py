"""Whatever a tool gives, a model gets at most 40,000 characters of it unless it asks for more; the rest is in a file."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import dogu
from dogu.contract import Blob, Text, ToolError, ToolResult, text_of
from dogu.contract.errors import ErrorKind
from dogu.runtime.events import ToolCall
from dogu.runtime.result_bounds import LIMIT_CHARS, ResultBounds
from dogu.testing.workspace import run_tool
from dogu.tools.web_fetch import WebFetch
from dogu.workspace.web.reader import WebReader
from runtime.discovery.hostile import opened
from workspace.web.server import LoopbackWeb, page

pytestmark = pytest.mark.anyio

_NOTICES = 600  # of what was left out, and where it is
_LONG = "some words of a line\n" * 10_000
_PRINTS = (
    f'#!{sys.executable}\nimport sys\nif len(sys.argv) == 1: print(\'[{{"name": "long"}}, {{"name": "fails"}}]\')\n'
)


def prepared(folder: Path) -> Path:
    """A workspace that has much of everything."""
    root = folder / "root"
    (root / "many").mkdir(parents=True)
    for number in range(1_500):
        (root / "many" / f"{number:04}-{'x' * 60}.txt").write_text("words\n")
    (root / "long.txt").write_text(_LONG)
    (root / "notebook.ipynb").write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    (root / "tools").write_text(
        f"{_PRINTS}elif sys.argv[1] == 'long': print({_LONG!r})\nelse: print({_LONG!r}); sys.exit(3)\n"
    )
    (root / "tools").chmod(0o755)
    return root


CALLS: Mapping[str, dict[str, Any]] = {
    "list_directory": {"path": "many"},
    "read_file": {"file_path": "long.txt"},
    "read_many_files": {"paths": ["**/*.txt"]},
    "glob": {"pattern": "many/*"},
    "grep_search": {"pattern": "words", "max_matches": 5_000},
    "replace": {"file_path": "long.txt", "old_string": "y" * 200_000, "new_string": "z"},
    "write_file": {"file_path": "new.txt", "content": _LONG},
    "edit_notebook": {"file_path": "notebook.ipynb", "cell": "x" * 200_000, "new_source": "y"},
    "run_shell_command": {"command": "cat long.txt"},
    "background_jobs": {"job_id": "x" * 200_000},
    "send_input": {"job_id": "x" * 200_000, "text": "y"},
    "stop_background_job": {"job_id": "x" * 200_000},
    "google_web_search": {"query": "x" * 200_000},
    "write_todos": {"todos": [{"description": "x" * 5_000, "status": "pending"}] * 100},
    "ask_user": {"question": "x" * 200_000},
    "run_subagent": {"task": "x" * 200_000},
    "save_memory": {"fact": "x" * 200_000},
    "long": {},
    "fails": {},
}


async def test_no_tool_gives_a_model_more_than_the_bound(tmp_path: Path) -> None:
    root = prepared(tmp_path)
    (tmp_path / "settings.json").write_text('{"tools": {"discoveryCommand": "./tools", "callCommand": "./tools"}}')
    chosen = dogu.Options(
        root=str(root),
        home=str(tmp_path / "home"),
        settings_file=str(tmp_path / "settings.json"),
        approval_mode="yolo",
    )
    lengths: dict[str, int] = {}
    async with dogu.open_runtime(chosen) as runtime:
        assert {tool.name for tool in runtime.registry} == {*CALLS, "web_fetch"}
        for name, args in CALLS.items():
            lengths[name] = len(text_of((await runtime.call(name, **args)).result.llm_content))
    assert {name: length for name, length in lengths.items() if length > LIMIT_CHARS + _NOTICES} == {}
    long = (
        "list_directory",
        "read_file",
        "read_many_files",
        "glob",
        "grep_search",
        "run_shell_command",
        "long",
        "fails",
    )
    assert {name: lengths[name] for name in long if lengths[name] < LIMIT_CHARS * 0.8} == {}


async def test_who_asks_for_more_is_given_more(tmp_path: Path) -> None:
    root = prepared(tmp_path)
    async with dogu.open_runtime(dogu.Options(root=str(root), home=str(tmp_path / "home"))) as runtime:
        read = await runtime.call("read_many_files", paths=["many/*"], max_chars=150_000)
    assert len(text_of(read.result.llm_content)) > 100_000


@pytest.mark.parametrize("fault", ["long", "long-error", "long-between-pictures"])
async def test_no_server_gives_a_model_more_than_the_bound(tmp_path: Path, fault: str) -> None:
    async with opened(tmp_path, fault) as runtime:
        said = text_of((await runtime.call("bad__echo")).result.llm_content)
    assert LIMIT_CHARS * 0.9 < len(said) < LIMIT_CHARS + _NOTICES + 10_000
    kept = re.search(r"is kept in (\S+):", said)
    assert kept is not None
    assert Path(kept[1]).stat().st_size > 1_000_000  # noqa: ASYNC240  (one stat)


async def test_pages_beside_a_picture_have_the_bound_together() -> None:
    pages = {f"/{number}": page(f"<p>{'word ' * 7_000}") for number in range(5)}
    picture = page(b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "image/png")
    with LoopbackWeb({**pages, "/picture": picture}) as web:
        tool = WebFetch(lambda: WebReader(web.client()))
        asked = " ".join(f"http://public.test{path}" for path in (*pages, "/picture"))
        content = (await run_tool(tool, prompt=f"Compare {asked} please")).llm_content
    assert not isinstance(content, str)
    assert any(isinstance(part, Blob) for part in content)
    assert LIMIT_CHARS * 0.9 < sum(len(part.text) for part in content if isinstance(part, Text)) < LIMIT_CHARS + 2_000


def test_short_texts_stay_whole_where_a_long_one_beside_them_is_cut() -> None:
    content = [Text("short"), Blob("image/png", b"x"), Text("y" * 100_000), Text("short, too")]
    parts = ResultBounds().apply(ToolCall("1", "t", {}), ToolResult(content)).llm_content
    assert [part for part in parts if part != parts[2]] == [part for part in content if part != content[2]]


def test_more_texts_than_there_is_room_for_are_left_out_and_kept() -> None:
    kept: list[str] = []

    def keep(_call_id: str, text: str) -> str:
        kept.append(text)
        return "/kept.txt"

    content = [Text("some words, many times over"), Blob("image/png", b"x")] * 3_000
    parts = ResultBounds(keep).apply(ToolCall("1", "t", {}), ToolResult(content)).llm_content
    assert sum(len(part.text) for part in parts if isinstance(part, Text)) < LIMIT_CHARS
    assert "kept in /kept.txt" in text_of(parts)
    assert len(kept[0]) > 3_000 * 27


async def test_a_failure_of_a_tool_of_ones_own_is_bounded_too() -> None:
    @dogu.function_tool
    async def fails() -> str:
        """Fail at length."""
        raise ToolError(ErrorKind.TOOL_FAILED, "z" * 500_000)

    result = await run_tool(fails)
    assert len(text_of(result.llm_content)) < LIMIT_CHARS + _NOTICES
    assert result.error is not None
    assert len(result.error.message) < LIMIT_CHARS + _NOTICES
