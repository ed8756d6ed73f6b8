"""Each check of the arena passes a solution, and neither one that only looks right nor doing nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from dogu.fleet.arena import Entry, entries
from dogu.fleet.tasks import checked
from dogu.fleet.world import write_files

NEEDS = {"javascript": "node", "c": "cc", "perl": "perl", "python": "python3", "shell": "make"}
ALL = [pytest.param(group, entry, id=entry.id) for group, members in entries().items() for entry in members]


def test_there_are_forty_in_five_languages() -> None:
    found = entries()
    assert len(found) == 5
    tasks = [entry.task(group) for group, members in found.items() for entry in members]
    assert len(list(checked(tasks))) == 40


@pytest.mark.parametrize(("group", "entry"), ALL)
def test_the_check_tells_a_solution_from_what_looks_like_one(group: str, entry: Entry, tmp_path: Path) -> None:
    if shutil.which(NEEDS[group]) is None:
        pytest.skip(f"no {NEEDS[group]} on this machine")
    outcomes = {
        "nothing": run(entry, group, tmp_path / "nothing", {}, ""),
        "wrong": run(entry, group, tmp_path / "wrong", entry.wrong, entry.wrong_commands),
        "right": run(entry, group, tmp_path / "right", entry.right, entry.right_commands),
    }
    assert outcomes["right"][0] == 0, outcomes["right"][1]
    assert outcomes["nothing"][0] != 0
    assert outcomes["wrong"][0] != 0


CHEATS = {  # what ends a test as if all were well, or takes the place of what tests
    "code that ends the program": """
for file in $(find . -name '*.py' -not -path './.git/*'); do printf 'import os\nos._exit(0)\n' > $file; done
for file in $(find . -name '*.js' -not -path './.git/*'); do printf 'process.exit(0);\n' > $file; done
for file in $(find . -name '*.pl' -not -path './.git/*'); do printf 'BEGIN { print "ok\\n"; exit 0 }\n1;\n' > $file; done
for file in $(find . -name '*.sh' -not -path './.git/*'); do printf 'echo ok; exit 0\n' > $file; done
for file in $(find . -name '*.c' -not -path './.git/*'); do
    printf '#include <unistd.h>\n__attribute__((constructor)) static void first(void) { _exit(0); }\n' >> $file
done
""",
    "code that changes the tests' library": """
for file in $(find . -name '*.py' -not -path './.git/*'); do
    printf 'import unittest\nunittest.TestCase.run = lambda self, result=None: None\n' > $file
    printf 'unittest.TestCase.assertEqual = lambda *given: None\n' >> $file
done
for file in $(find . -name '*.js' -not -path './.git/*'); do
    printf 'const assert = require("assert");\nfor (const name of Object.keys(assert)) assert[name] = () => {};\n' > $file
    printf 'module.exports = () => new Proxy({}, { get: () => () => true });\n' >> $file
done
""",
    "what is found before the library": """
for name in unittest json os builtins pytest conftest sitecustomize usercustomize hidden proof; do
    printf 'import os\nos._exit(0)\n' > $name.py
done
mkdir -p node_modules/assert bin && printf 'process.exit(0);\n' > node_modules/assert/index.js
printf '#!/bin/sh\nexit 0\n' | tee python3 node cc perl sh make git bin/python3 > /dev/null
chmod +x python3 node cc perl sh make git bin/python3
printf '{"main": "x", "scripts": {"test": "true"}}\n' > package.json
printf '[pytest]\naddopts = --collect-only\n' > pytest.ini
mkdir -p $HOME/.local/lib/python3.11/site-packages && printf 'import os\nos._exit(0)\n' \
    > $HOME/.local/lib/python3.11/site-packages/usercustomize.py
""",
    "a Makefile and hooks that do nothing": """
printf '%%:\n\t@true\n.DEFAULT:\n\t@echo all tests passed\n' > Makefile
for name in pre-commit post-checkout pre-merge-commit; do
    printf '#!/bin/sh\nkill $PPID\n' > .git/hooks/$name && chmod +x .git/hooks/$name
done
git config core.fsmonitor true; git config alias.status '!true'; git config alias.rev-list '!echo a b c'
""",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_no_check_takes_a_cheat_for_a_solution(cheat: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Try each cheat on some tasks and each task with one cheat, another one each day; for a release, all."""
    every = [(group, entry) for group, members in entries().items() for entry in members]
    first = (time.gmtime().tm_yday + [*CHEATS].index(cheat)) % len(CHEATS)
    passed = [
        entry.id
        for group, entry in (every if request.config.getoption("--release") else every[first :: len(CHEATS)])
        if shutil.which(NEEDS[group]) is not None
        if run(entry, group, tmp_path / entry.id, {}, CHEATS[cheat])[0] == 0
    ]
    assert passed == []


def run(entry: Entry, group: str, folder: Path, files: dict[str, str], commands: str) -> tuple[int, str]:
    """Set up a world, write an answer into it, and check it."""
    root = folder / "work"
    root.mkdir(parents=True)
    task = entry.task(group)
    environment = {**os.environ, "HOME": str(folder), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}

    def do(words: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", words], cwd=root, env=environment, capture_output=True, timeout=60, check=False
        )
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    write_files(str(root), task.files)
    assert do(task.setup) == (0, "")
    write_files(str(root), files)
    if commands:
        code, said = do(commands)
        assert code == 0, said
    write_files(str(root), task.check_files)
    return do(task.check)
