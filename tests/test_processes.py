"""The tests' own promises about processes: signals are heard, what is found is the test's own, and it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from processes import end_all_in, running_in, wait_for

TESTS = os.path.dirname(__file__)
TELLS = "import signal, processes; processes.hear_signals(); import subprocess; print(subprocess.run(['sh', '-c', 'kill -{} $$']).returncode)"
SLEEPS = ["sh", "-c", "setsid sleep 987 & echo; wait"]


def started(folder: Path, home: Path) -> subprocess.Popen[bytes]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
    process = subprocess.Popen(SLEEPS, cwd=folder, env=environ, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def sleeps_in(folder: Path) -> int:
    return [process.command for process in running_in(folder)].count("sleep 987")


def test_signals_ignored_by_the_script_that_runs_the_tests_are_heard_by_what_they_start() -> None:
    for name in ("INT", "QUIT", "HUP", "TERM"):
        words = ["sh", "-c", f'trap "" {name}; exec "$@"', "-", sys.executable, "-c", TELLS.format(name)]
        environ = {**os.environ, "PYTHONPATH": TESTS}
        done = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
        assert int(done.stdout) < 0, name


def test_a_process_is_found_by_its_folder_or_its_home_and_by_no_other(tmp_path: Path) -> None:
    (ours := tmp_path / "a").mkdir()
    (others := tmp_path / "ab").mkdir()
    with started(ours, others) as one, started(others, ours) as two, started(others, others) as three:
        wait_for(lambda: sleeps_in(ours) == 2 and sleeps_in(others) == 3)
        found = running_in(ours)
        assert {one.pid, two.pid} < {process.pid for process in found}
        assert three.pid not in {process.pid for process in found}
        assert len(end_all_in(ours)) == 4
        assert running_in(ours) == []
        assert three.poll() is None
        assert len(end_all_in(others)) == 2
