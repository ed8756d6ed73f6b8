"""A program in a workspace and a home of its own."""

from pathlib import Path

import pytest

from e2e.program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    root, home = tmp_path / "project", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    return Program(root, home)
