"""A few of the random commands of `python -m bench twins`: what dogu leaves is what bash leaves, undone and redone whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dogu.workspace.system import IS_LINUX

REPOSITORY = Path(__file__).parents[3]


@pytest.mark.skipif(not IS_LINUX, reason="only there it is known what a command changed, and not somebody else")
def test_random_commands_leave_what_they_leave_without_dogu_and_are_undone_and_redone() -> None:
    environment = {**os.environ, "DOGU_TWINS": "1", "DOGU_SEED": "14"}
    command = [sys.executable, "-m", "bench", "twins"]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert "1 runs watched" in done.stdout, done.stderr
    assert done.returncode == 0, done.stdout
