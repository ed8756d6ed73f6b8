"""A program in a workspace and a home of its own, and terminals for it; what still runs there ends with the test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dogu.testing.fake_gemini import FakeGemini
from e2e.program import Program, program_in
from processes import end_all_in

if TYPE_CHECKING:
    from e2e.screens import Tmux

Panes = Callable[..., "Tmux"]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    yield program_in(tmp_path)
    end_all_in(tmp_path)


@pytest.fixture(scope="module")
def shared_program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A program for all tests of a module that leave its workspace as they may find it."""
    folder = tmp_path_factory.mktemp("shared")
    yield program_in(folder)
    end_all_in(folder)


@pytest.fixture
def short_program(tmp_path: Path) -> Iterator[Program]:
    """A program whose workspace has a path of 17 characters, as `Tmux.since` shows it, wherever the tests run."""
    home = tmp_path / "home"
    home.mkdir()
    with tempfile.TemporaryDirectory(prefix="dogu", dir="/tmp") as root:
        yield Program(Path(root), home)
        end_all_in(root)
        end_all_in(home)


@pytest.fixture
def panes() -> Iterator[Panes]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux isn't installed (scripts/system_packages.sh)")
    from e2e.screens import Tmux  # its pexpect isn't for Windows

    opened: list[Tmux] = []

    def start(program: Program, server: FakeGemini | None = None, *words: str, **more: object) -> Tmux:
        environ = {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url} if server else {}
        known = {"COLORFGBG": "15;0", **environ, **more}
        opened.append(Tmux(program, words, **known))  # pyright: ignore[reportArgumentType]  (size and environment)
        return opened[-1]

    yield start
    for pane in opened:
        pane.close()
