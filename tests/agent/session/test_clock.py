"""A clock that jumps, backward too: nothing depends on it but what is shown to people."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import dogu
from dogu.agent.slash import Said
from dogu.app import Opened
from dogu.runtime.session_expiry import expire
from dogu.runtime.session_folder import stored_sessions
from dogu.serve.session_export import export_html
from dogu.testing.scripted_model import ScriptedModel
from dogu.testing.turn import Turn, call

pytestmark = pytest.mark.anyio


def write(text: str) -> Turn:
    return Turn(calls=[call("write_file", file_path="a.txt", content=text)])


async def said(opened: Opened, words: str) -> str:
    answer = await opened.slash.run(words)
    assert isinstance(answer, Said)
    return answer.text


async def test_a_session_whose_clock_jumps_back_and_forth_goes_on_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    jumps = iter(range(10_000))
    monkeypatch.setattr(time, "time", lambda: 1.7e9 + (-1) ** next(jumps) * 4e8)
    (tmp_path / "root").mkdir()
    given: dict[str, Any] = {"root": str(tmp_path / "root"), "home": str(tmp_path / "home"), "approval_mode": "yolo"}
    model = ScriptedModel([write("one\n"), "done", write("two\n"), "done"])
    async with dogu.open_agent(dogu.Options(**given), model=model) as opened:
        await opened.agent.run("first")
        await opened.agent.run("second")
        contents = [*opened.agent.history.contents]
    async with dogu.open_agent(dogu.Options(**given), model=ScriptedModel(["hello"])) as other:
        await other.agent.run("another session")
    first, second = (kept.session_id for kept in reversed(stored_sessions(str(tmp_path / "home" / ".dogu"))))
    assert (first, second) == (opened.session_id, other.session_id)
    model = ScriptedModel([write("three\n"), "done"])
    async with dogu.open_agent(dogu.Options(**given, resume=first), model=model) as resumed:
        assert resumed.agent.history.contents == contents
        await resumed.agent.run("third")
        assert "restored" in await said(resumed, "undo")
        assert (tmp_path / "root" / "a.txt").read_text() == "two\n"
        listed = await said(resumed, "rewind")
        assert [line.split()[0] for line in listed.splitlines()[:3]] == ["1", "2", "3"]
        await said(resumed, "rewind 2")
        assert (tmp_path / "root" / "a.txt").read_text() == "one\n"
    page: list[str] = []
    export_html(stored_sessions(str(tmp_path / "home" / ".dogu"))[0], page.append)
    shown = "".join(page)
    assert shown.index("first") < shown.index("second") < shown.index("third")
    expire(str(tmp_path / "home" / ".dogu"), 30, 10**9)
    assert len(stored_sessions(str(tmp_path / "home" / ".dogu"))) == 2
