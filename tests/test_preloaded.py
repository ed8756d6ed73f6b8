"""A script that is run by `preloaded.py` can't tell the difference, and neither can who started it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from processes import running_in, wait_for

TELLS = """
import os, sys
print(sys.argv[1:], sys.stdin.read(), os.getcwd(), os.environ.get("A"), "HOME" in os.environ, __name__, "mcp" in sys.modules)
sys.exit(int(sys.argv[1]))
"""


def script(folder: Path, text: str) -> str:
    (folder / "script.py").write_text(text)
    return str(folder / "script.py")


def test_streams_words_folder_environment_and_status_are_those_of_the_one_started(
    tmp_path: Path, python_with_mcp: list[str]
) -> None:
    words = [*python_with_mcp, script(tmp_path, TELLS), "7", "b c"]
    done = subprocess.run(
        words, input="given", cwd=tmp_path, env={"A": "1"}, text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == f"['7', 'b c'] given {tmp_path} 1 False __main__ True\n"


def test_a_script_that_fails_says_so(tmp_path: Path, python_with_mcp: list[str]) -> None:
    words = [*python_with_mcp, script(tmp_path, "raise ValueError('why')")]
    done = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: why\n")
    words = [*python_with_mcp, script(tmp_path, "import sys; sys.exit('no')")]
    done = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, "no\n")


def test_a_script_ends_with_the_one_started(tmp_path: Path, python_with_mcp: list[str]) -> None:
    words = [*python_with_mcp, script(tmp_path, "import time; print('on', flush=True); time.sleep(1000)")]
    with subprocess.Popen(words, cwd=tmp_path, env={**os.environ}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        assert len(running_in(tmp_path)) == 2
        process.kill()
    wait_for(lambda: running_in(tmp_path) == [])
