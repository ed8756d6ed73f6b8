"""A full file system, a file that is a mount, and one that is mounted read-only: nothing is lost, nothing left behind."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_CASES = Path(__file__).with_name("mounted_writes.py")
_UNSHARE = shutil.which("unshare")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    if _UNSHARE is None:
        pytest.skip("there is no unshare")
    trial = subprocess.run([_UNSHARE, "-rm", "true"], capture_output=True, text=True, check=False)
    if trial.returncode:
        pytest.skip(f"no mount namespace here: {trial.stderr.strip()}")
    folder = tmp_path_factory.mktemp("mounts")
    done = subprocess.run(
        [_UNSHARE, "-rm", sys.executable, str(_CASES), str(folder)], capture_output=True, text=True, check=False
    )
    if "mount" in done.stderr and not done.stdout:
        pytest.skip(f"no mounting here: {done.stderr.strip().splitlines()[-1]}")
    return {each["case"]: each for each in map(json.loads, done.stdout.splitlines())}


def test_a_full_disk_keeps_the_old_content(reports: dict[str, dict[str, Any]]) -> None:
    assert reports["full"]["ended"] == "io_error"
    assert reports["full"]["is_old"]
    assert reports["full"]["left"] == []


def test_a_file_that_is_a_mount_is_written_in_place(reports: dict[str, dict[str, Any]]) -> None:
    assert reports["bound"]["ended"] == "done"
    assert reports["bound"]["is_new"]
    assert reports["bound"]["left"] == []
    assert reports["elsewhere"]["is_new"]


def test_a_read_only_mount_is_told_and_nothing_changes(reports: dict[str, dict[str, Any]]) -> None:
    assert reports["read_only"]["ended"] == "permission_denied"
    assert reports["read_only"]["is_old"]
    assert reports["read_only"]["left"] == []
