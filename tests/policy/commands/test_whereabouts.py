"""Where a text goes by `cd`: what would touch another folder's files or repository is asked about, what comes back isn't."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from dogu.policy.commands.effects import Surroundings
from dogu.policy.commands.judge import judge_command
from dogu.policy.rules import Rules
from dogu.workspace.nearby import Nearby
from policy.judging import entries, gate

_BASH = shutil.which("bash") or ""
_LISTED = "git npm cp rm mkdir cmake make touch tee ls cat cd pushd popd eval exit printf ln set f [ echo".split()
_PLACES = ["a", "b", "a/b", "nope", "..", "./a", '"a"', "../b", "-", "b extra"]


@pytest.mark.parametrize(
    "command",
    [
        "cd node_modules/.bin && cp evil tsc",
        "cd .cargo && cp evil config.toml",
        "cd .cargo && cp ../evil/config.toml .",
        "cp evil/config.toml .cargo/",
        "mkdir -p .cargo && cd .cargo && touch config.toml",
        "cd .yarn && mkdir releases",
        "cd x.git; cd hooks; cp evil post-commit",
        "for d in x.git hooks; do cd $d; done; cp evil post-commit",
        "pushd .cargo; printf x | tee config.toml",
        "d=.cargo; cd $d && cp evil config.toml",
        "cd .carg[o] && cp evil config.toml",
        "eval 'cd .cargo'; cp evil config.toml",
        "f() { cd .cargo; }; f; cp evil config.toml",
        "for i in 1 2; do git status; cd evil; done",
        "until git status; do cd evil; done",
        "while ls; do { git status; cd evil; }; done",
        "cd evil x; git status",
        "cd build | rm -rf *",
        "cd build & rm -rf *",
        "cd build; rm -rf *",
        "cd build || rm -rf *",
        "! cd build && rm -rf *",
        "if cd a; then ls; fi; cd .. && rm -rf x",
        "cd a || exit x; cd .. && rm -rf x",
        "exit() { ls; }; cd a || exit; cd .. && rm -rf x",
        "cd a && cd ../.. && rm x",
        "set -P; cd link && cd .. && rm x",
    ],
)
def test_what_reaches_more_than_its_text_says_is_asked_about(command: str) -> None:
    assert gate(command, _LISTED) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cd web && npm run build && cd .. && git add -A && git status",
        "(cd web && npm run build) && git add -A",
        "mkdir -p build && cd build && cmake .. && make -j4 && cd ..",
        "cd build && rm -rf * && cmake ..",
        "cd web || exit 1; npm test; cd .. && git status",
        "cd web || { echo none; exit 1; }; npm test; cd ..; git status",
        "for d in a b; do (cd $d && npm test) || exit 1; done; git status",
        "if [ -d web ]; then cd web && npm ci && cd ..; fi",
        "cd evil | git status",
        "x=$(cd src && ls); git status",
    ],
)
def test_what_comes_back_or_stays_in_a_subshell_is_not(command: str) -> None:
    assert gate(command, _LISTED) == "allow"


def _text(chance: random.Random, depth: int = 0) -> str:
    def command() -> str:
        kind = chance.randrange(10)
        if kind < 5:
            return f"cd {chance.choice(_PLACES)}{chance.choice(('', '', ' >/dev/null', ' >/nope/x'))}"
        if kind < 9 or depth > 2:
            return chance.choice(("git status", "git status", "ls", "[ x ]", "[ ]", "exit", "exit x", "eval 'cd a'"))
        inner = _text(chance, depth + 1)
        form = chance.choice(("( {} )", "{{ {}; }}", "for i in 1 2; do {}; done", "if ls; then {}; else {}; fi"))
        return form.format(inner, inner)

    joints = ("; ", "; ", " && ", " && ", " || ", " | ", " & ")
    return "".join(f"{command()}{chance.choice(joints)}" for _ in range(chance.randrange(1, 6))) + command()


@pytest.mark.skipif(not _BASH, reason="there is no bash")
def test_git_runs_unasked_only_in_the_folder_that_a_text_begins_in(tmp_path: Path) -> None:
    for folder in ("work/a/a/b", "work/a/b/a", "work/b/a", "work/a/.git", "work/b/.git", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    git = tmp_path / "bin" / "git"
    git.write_text(f'#!/bin/sh\npwd >> "{tmp_path}/ran"\n')
    git.chmod(0o755)
    work, ran = tmp_path / "work", tmp_path / "ran"
    core = Rules.from_lists(entries(_LISTED)).shell_core()
    chance = random.Random(20251101)
    texts = [_text(chance) for _ in range(600)]
    around = Surroundings(place=Nearby(str(work)))
    passed = [each for each in texts if judge_command(each, core, (), around).gate == "allow" and "git" in each]
    for text in passed[:60]:
        ran.write_text("")
        environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": "/"}
        subprocess.run([_BASH, "-c", f"{text}; wait"], cwd=work, env=environment, capture_output=True, check=False)
        assert set(ran.read_text().split()) <= {str(work.resolve())}, text
    assert len(passed) > 30


def listed(tmp_path: Path, command: str) -> str:
    for name in ("src/a.py", "src/b/c.py", "lib/x y.py", "t/AGENTS.md", ".github/workflows/x.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("foo")
    (tmp_path / "out").symlink_to("/etc")
    core = Rules.from_lists(entries(["rg", "grep", "find", "xargs", "sed", "cat", "which", "touch"])).shell_core()
    return str(judge_command(command, core, (), Surroundings(Nearby(str(tmp_path)), may_edit=True)).gate)


@pytest.mark.parametrize(
    "command",
    [
        "rg -l foo src | xargs sed -i 's/foo/bar/g'",
        "rg -l -t py foo src 2>/dev/null | xargs -r sed -i -e s/foo/bar/",
        "grep -rl --include='*.py' foo src/ | xargs -n 1 sed -i s/foo/bar/",
        "find src -type f -name '*.py' -print0 | xargs -0 sed -i s/foo/bar/",
        "rg -l foo src/b | xargs -I{} sed -i s/foo/bar/ {}",
    ],
)
def test_where_files_may_be_edited_so_may_those_that_a_search_of_a_folder_lists(tmp_path: Path, command: str) -> None:
    assert listed(tmp_path, command) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "rg -l foo | xargs sed -i s/foo/bar/",
        "rg -l foo lib | xargs sed -i s/foo/bar/",
        "rg -l foo t | xargs sed -i s/foo/bar/",
        "rg -l foo .github | xargs sed -i s/foo/bar/",
        "rg -l foo out | xargs sed -i s/foo/bar/",
        "rg -l foo ../x | xargs sed -i s/foo/bar/",
        "rg foo src | xargs sed -i s/foo/bar/",
        "rg -l foo src -r x | xargs sed -i s/foo/bar/",
        "rg -l foo src | xargs -a x sed -i s/foo/bar/",
        "rg -l foo src | xargs sed -i s/foo/bar/ < x",
        "rg -l foo src | xargs sed -i",
        "rg -l foo src | xargs sed -i s/foo/bar/e",
        "rg() { cat x; }; rg -l foo src | xargs sed -i s/foo/bar/",
        "touch 'src/a -e1e'; rg -l foo src | xargs sed -i s/foo/bar/",
        "{ rg -l foo src; cat x; } | xargs sed -i s/foo/bar/",
        "which ls | xargs sed -i s/foo/bar/",
        "find -L src | xargs sed -i s/foo/bar/",
    ],
)
def test_but_not_what_else_may_be_among_them(tmp_path: Path, command: str) -> None:
    assert listed(tmp_path, command) == "ask"


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("python3 scripts/x.py", "cd web && python3 scripts/x.py", "ask"),
        ("bash x.sh", "cd web; bash x.sh", "ask"),
        ("node -r ./x app", "(cd web && node -r ./x app)", "ask"),
        ("python3 scripts/x.py", "cd web && ls && cd .. && python3 scripts/x.py", "allow"),
        ("python3 -m pytest", "cd web && python3 -m pytest", "allow"),
        ("python3", "cd web && python3 scripts/x.py", "allow"),
        ("bash", "cd web && bash x.sh", "allow"),
    ],
)
def test_a_rule_that_names_a_script_means_the_one_where_a_text_begins(rule: str, command: str, expected: str) -> None:
    assert gate(command, [rule, "cd", "ls"]) == expected
