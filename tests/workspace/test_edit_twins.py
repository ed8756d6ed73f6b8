"""A few of the random edits of `python -m bench edit_twins`: what would be written is what is meant, or nothing is."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_random_edits_garbled_as_models_do_leave_what_is_meant_or_nothing() -> None:
    library = Path(sysconfig.get_paths()["stdlib"])
    sources = os.pathsep.join(str(library / name) for name in ("asyncio", "email", "json", "unittest"))
    chosen = {"DOGU_TWINS": "100", "DOGU_SEED": "14", "DOGU_SOURCES": sources, "DOGU_SHOW": "wrong,severe"}
    command = [sys.executable, "-m", "bench", "edit_twins"]
    environment = {**os.environ, **chosen}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert "all (100)" in done.stdout, done.stderr
    assert "SEVERE" not in done.stdout, done.stdout
    assert "WRONG" not in done.stdout, done.stdout
