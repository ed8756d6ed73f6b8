"""What save_memory and /memory write is undone like everything else, as long as the file is what we made of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

import dogu
from dogu.agent.slash import Said
from dogu.app import Opened
from dogu.app.undoing import UndoRequest, opened_for_undo
from dogu.runtime.journal.choice import Consent
from dogu.testing.scripted_model import ScriptedModel
from dogu.testing.turn import Turn, call

pytestmark = pytest.mark.anyio

BEFORE = "# Mine\n"


def remember(fact: str) -> Turn:
    return Turn(calls=[call("save_memory", fact=fact)])


def options_in(tmp_path: Path) -> dogu.Options:
    return dogu.Options(root=str(tmp_path / "root"), home=str(tmp_path / "home"), approval_mode="yolo")


@asynccontextmanager
async def remembering(tmp_path: Path, *turns: Turn | str) -> AsyncGenerator[tuple[Opened, ScriptedModel, Path]]:
    """An agent that was asked once, its model, and the user's file, which held something before."""
    file = tmp_path / "home" / ".gemini" / "GEMINI.md"
    (tmp_path / "root").mkdir()
    file.parent.mkdir(parents=True)
    file.write_text(BEFORE)
    model = ScriptedModel([*turns, "done", "done"])
    async with dogu.open_agent(options_in(tmp_path), model=model) as opened:
        await opened.agent.run("remember")
        yield opened, model, file


async def said(opened: Opened, text: str) -> str:
    answer = await opened.slash.run(text)
    assert isinstance(answer, Said)
    return answer.text


@contextmanager
def locked(file: Path) -> Generator[None]:
    """Have another program hold a lock on an empty file."""
    lock = f"import fcntl, sys; f = open({str(file)!r}, 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"
    words = [sys.executable, "-c", lock]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        yield
        other.communicate(b"\n")


async def test_what_another_program_locks_in_the_home_has_nothing_to_do_with_a_memory(tmp_path: Path):
    async with remembering(tmp_path, remember("The person likes tabs.")) as (opened, _, file):
        with locked(tmp_path / "home" / ".lock"):
            assert f"restored: {file}" in await said(opened, "undo")


async def test_undo_takes_a_memory_back_and_the_model_forgets_it(tmp_path: Path):
    async with remembering(tmp_path, remember("The person likes tabs.")) as (opened, model, file):
        assert "likes tabs" in file.read_text()
        assert "+- The person likes tabs." in await said(opened, "diff")
        assert f"restored: {file}" in await said(opened, "undo")
        await opened.agent.run("hi")
        assert file.read_text() == BEFORE
        assert "likes tabs" not in model.requests[-1].system
        told = str(model.requests[-1].contents[-1])
        assert "have changed" in told
        assert "likes tabs" not in told
        assert "restored" in await said(opened, "undo 2")  # undone itself: redone
        assert "likes tabs" in file.read_text()


async def test_rewinding_takes_memories_of_the_turn_back_too(tmp_path: Path):
    async with remembering(tmp_path, remember("a is b"), remember("c is d")) as (opened, _model, file):
        assert "restored" in await said(opened, "rewind 1")
        assert file.read_text() == BEFORE


async def test_a_memory_file_that_others_changed_since_stays_even_when_undo_is_forced(tmp_path: Path):
    write = Turn(calls=[call("write_file", file_path="a.txt", content="x\n")])
    async with remembering(tmp_path, remember("a is b"), write) as (opened, _model, file):
        others = file.read_text() + "- of another session\n"
        file.write_text(others)
        refused = await said(opened, "undo turn")
        assert "Left as they are" in refused
        assert str(file) in refused
        assert not (tmp_path / "root" / "a.txt").exists()
        forced = await said(opened, "undo turn --force")
        assert "Nothing was undone" in forced
        assert file.read_text() == others


async def test_what_the_user_had_remembered_is_undone_by_itself_and_belongs_to_no_turn(tmp_path: Path):
    async with remembering(tmp_path, "ok") as (opened, _model, file):
        assert "Remembered" in await said(opened, "memory add I like tea")
        assert "/memory add I like tea" in await said(opened, "done")
        await said(opened, "rewind 1")
        assert "tea" in file.read_text()
        assert "restored" in await said(opened, "undo")
        assert file.read_text() == BEFORE


async def test_a_link_to_elsewhere_is_followed_and_undo_works_from_outside_of_the_session(tmp_path: Path):
    dotfiles = tmp_path / "dotfiles" / "gemini.md"
    dotfiles.parent.mkdir()
    dotfiles.write_text(BEFORE)
    file = tmp_path / "home" / ".gemini" / "GEMINI.md"
    file.parent.mkdir(parents=True)
    file.symlink_to(dotfiles)
    (tmp_path / "root").mkdir()
    async with dogu.open_agent(options_in(tmp_path), model=ScriptedModel([remember("a is b"), "done"])) as opened:
        await opened.agent.run("remember")
    assert "a is b" in dotfiles.read_text()
    with opened_for_undo(options_in(tmp_path), "", UndoRequest()) as session:
        assert session.do(Consent()).done
    assert dotfiles.read_text() == BEFORE
    assert file.is_symlink()


async def test_a_file_that_was_made_is_removed_again(tmp_path: Path):
    (tmp_path / "root").mkdir()
    file = tmp_path / "home" / ".gemini" / "GEMINI.md"
    async with dogu.open_agent(options_in(tmp_path), model=ScriptedModel([remember("a is b"), "done"])) as opened:
        await opened.agent.run("remember")
        assert file.exists()
        assert "removed" in await said(opened, "undo")
        assert not file.exists()
