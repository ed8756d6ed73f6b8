"""Links that lie in the workspace: what is written by their names is judged as what they lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

from dogu.policy.commands.effects import Surroundings
from dogu.policy.commands.judge import judge_command
from dogu.policy.rules import Rules
from dogu.workspace.nearby import Nearby
from policy.judging import entries

_LISTED = "echo tee cp mv ln rm touch mkdir chmod tar unzip gcc git sed cat zip make cd curl pytest".split()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace with links out of it, to its own repository and to its makefile, and an honest one."""
    found = tmp_path / "work"
    for folder in (".git/hooks", "src", "dist/js", "vendor", "elsewhere"):
        (found / folder).mkdir(parents=True)
    (tmp_path / "outside" / "dir").mkdir(parents=True)
    for name, target in {
        "build": "../outside",
        "logs": "/nowhere/at/all",
        "coverage": ".git",
        "out": ".",
        "vendor/l": "..",
        "a.log": "../outside/a",
        "dist/app.js": "../Makefile",
        "src/data": "../../outside",
        "target": "dist",
    }.items():
        (found / name).symlink_to(target)
    return found


def gate(work: Path, command: str, *, may_edit: bool = False) -> str:
    around = Surroundings(place=Nearby(str(work)), may_edit=may_edit)
    return str(judge_command(command, Rules.from_lists(entries(_LISTED)).shell_core(), (), around).gate)


@pytest.mark.parametrize(
    "command",
    [
        "echo x > build/x",
        "echo x >> a.log",
        "echo x > coverage/hooks/pre-commit",
        "echo x | tee logs/x.log",
        "echo x > out/Makefile",
        "echo x > dist/app.js",
        "f=build; echo x > $f/x",
        "cd src && echo x > ../build/x",
        "cp a.txt build/a.txt",
        "cp a.txt src/data",
        "cp hooks/pre-commit coverage",
        "cp app.js dist",
        "cp -t build a.txt",
        "mv a.txt build/",
        "ln -s ../src build/src",
        "ln -s ../../x src/x",
        "ln -s ../.git src/git",
        "ln -s .git/hooks src2",
        "ln -s ../x ../y",
        "rm -rf build/dir",
        "rm -rf build/",
        "rm -rf build/*",
        "rm -rf coverage/objects",
        "touch logs/new",
        "mkdir -p build/x",
        "chmod 777 build/x",
        "tar cf build/x.tar src",
        "tar xf a.tar -C vendor",
        "unzip -qo a.zip -d vendor",
        "tar xf a.tar -C vendor/l",
        "tar xf a.tar -C build",
        "unzip -q a.zip -d build",
        "gcc -o build/a a.c",
        "git worktree add build/w feature",
        "git clone https://example.com/x build/x",
        "zip -r build/a.zip src",
        "curl -o build/a.json https://example.com/a.json",
        "pytest --junitxml=build/junit.xml",
    ],
)
def test_what_a_link_leads_elsewhere_is_asked_about(work: Path, command: str) -> None:
    assert gate(work, command) == "ask"


@pytest.mark.parametrize("command", ["sed -i s/a/b/ build/x", "echo x > src/data/x", "cp a.txt coverage/config"])
def test_it_is_where_files_may_be_edited_too(work: Path, command: str) -> None:
    assert gate(work, command, may_edit=True) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "echo x > dist/js/x.map",
        "echo x > target/x.map",
        "cp a.txt target/js/a.txt",
        "rm build",
        "rm -rf target",
        "rm -rf dist/js",
        "cat build/x",
        "tar cf dist/x.tar build",
        "tar xf a.tar -C third_party",
        "gcc -o target/a a.c",
        "touch src/new.py",
        "ln -s ../data src/js",
        "ln -sfn ../dist src/",
    ],
)
def test_what_stays_where_its_name_says_is_not(work: Path, command: str) -> None:
    assert gate(work, command) == "allow"
