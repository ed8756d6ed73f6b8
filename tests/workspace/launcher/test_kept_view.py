"""A kept view is what would be made now, or it isn't used; and what a command leaves in it, the next doesn't find."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

import pytest

from dogu.workspace.process.command import ShellCommand
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.sandbox.ladder import Sandbox, SandboxSettings, Step

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bubblewrap is Linux's"),
]


class Place:
    """A project that is the home too, so that secrets lie in it."""

    def __init__(self, root: Path, sandbox: Sandbox, processes: LocalProcesses) -> None:
        self.root = root
        self._sandbox = sandbox
        self._processes = processes

    async def run(self, text: str, protected: Sequence[str] = ()) -> str:
        """Run a command and return what it printed, in both streams."""
        environment = {"PATH": os.defpath, "HOME": str(self.root)}
        confined = self._sandbox.confine([str(self.root)], environment, [str(self.root / each) for each in protected])
        result = await self._processes.run(
            ShellCommand(text, str(self.root), confined.environment, confinement=confined.order)
        )
        return result.stdout + result.stderr

    async def has_kept(self, protected: Sequence[str] = ()) -> None:
        """Let there be a kept view: the second command that sees the same has it made."""
        for _ in range(3):
            assert await self.run("echo $PWD", protected) == f"{self.root}\n"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    sandbox = Sandbox.detect(SandboxSettings(), best=Step.BUBBLEWRAP)
    if sandbox.step is not Step.BUBBLEWRAP:
        pytest.skip("no bubblewrap here")
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text("theirs\n")
    (root / ".ssh").mkdir()
    (root / ".ssh" / "id").write_text("secret\n")
    async with LocalProcesses() as processes:
        yield Place(root.resolve(), sandbox, processes)


async def test_what_a_command_writes_among_devices_is_gone_for_the_next(place: Place) -> None:
    await place.has_kept()
    assert await place.run("echo x > /dev/shm/left; cat /dev/shm/left") == "x\n"
    assert await place.run("ls -A /dev/shm; ls /dev/pts") == "ptmx\n"
    assert "Read-only file system" in await place.run("echo x > /dev/left")


def replaced(root: Path) -> None:
    (root / ".git" / "config.lock").write_text("theirs\n")
    (root / ".git" / "config.lock").rename(root / ".git" / "config")


def replaced_and_back(root: Path) -> None:
    os.link(root / ".git" / "config", root / "aside")
    replaced(root)
    (root / "aside").rename(root / ".git" / "config")


def moved_and_back(root: Path) -> None:
    (root / ".git" / "config").rename(root / ".git" / "aside")
    (root / ".git" / "aside").rename(root / ".git" / "config")


def folder_moved_and_back(root: Path) -> None:
    (root / ".git").rename(root / "aside")
    (root / "aside").rename(root / ".git")


def folder_copied(root: Path) -> None:
    (root / ".git").rename(root / "aside")
    (root / ".git").mkdir()
    os.link(root / "aside" / "config", root / ".git" / "config")


@pytest.mark.parametrize("change", [replaced, replaced_and_back, moved_and_back, folder_moved_and_back, folder_copied])
async def test_what_is_fixed_stays_so_whatever_is_done_to_it_between_commands(
    place: Place, change: Callable[[Path], None]
) -> None:
    await place.has_kept([".git/config"])
    change(place.root)
    for _ in range(3):
        assert "Read-only file system" in await place.run("echo mine >> .git/config", [".git/config"])
    assert (place.root / ".git" / "config").read_text() == "theirs\n"


async def test_what_is_to_be_fixed_now_is_fixed_now(place: Place) -> None:
    await place.has_kept()
    assert "Read-only file system" in await place.run("echo mine >> .git/config", [".git/config"])


async def test_a_secret_stays_hidden_whatever_is_done_to_its_folder_between_commands(place: Place) -> None:
    assert "secret" not in await place.run("cat .ssh/id")
    await place.has_kept()
    (place.root / ".ssh").rename(place.root / "aside")
    (place.root / ".ssh").mkdir()
    (place.root / ".ssh" / "id").write_text("secret\n")
    for _ in range(3):
        assert "secret" not in await place.run("cat .ssh/id")


async def test_a_secret_that_comes_is_hidden_from_the_next_command(place: Place) -> None:
    await place.has_kept()
    (place.root / ".netrc").write_text("secret\n")
    for _ in range(3):
        assert "secret" not in await place.run("cat .netrc")


async def test_another_folder_in_the_roots_place_is_the_one_that_is_seen(place: Place) -> None:
    await place.has_kept()
    former = place.root.rename(place.root.with_name("former"))
    shutil.copytree(former, place.root)
    (place.root / "new").touch()
    for _ in range(3):
        assert await place.run("ls") == "new\n"
