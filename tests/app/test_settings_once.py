"""A command reads each settings file once, its language among what it finds there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COUNTING = """
import sys
opened = []
sys.addaudithook(lambda name, args: opened.append(str(args[0])) if name == "open" else None)
from dogu.cli import main
status = main(sys.argv[1:])
print("opened", [path for path in opened if path.endswith("/settings.json")], file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.parametrize(
    "words",
    [
        ["call", "list_directory", "path=."],
        ["-p", "list files", "--model", "offline"],
        ["policy", "explain", "ls"],
        ["config"],
    ],
)
def test_each_file_is_read_once(tmp_path: Path, words: list[str]) -> None:
    files = [tmp_path / "home" / ".dogu" / "settings.json", tmp_path / "project" / ".gemini" / "settings.json"]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"ui": {"language": "ja"}} if "home" in str(file) else {}))
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, *words],
        cwd=tmp_path / "project",
        env={"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    opened = done.stderr.rpartition("opened ")[2]
    assert [opened.count(str(file)) for file in files] == [1, 1]
