"""A task that names an image runs its commands in containers of it: docker's exact calls, by a docker that records them.

What is called `docker` here does what it is told on this machine, in the folder that it is told. The same calls were
tried with podman.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import msgspec
import pytest

from dogu.fleet.driver import run
from dogu.fleet.plan import Plan
from dogu.fleet.rows import Reason, Row
from dogu.fleet.store import Fleet
from dogu.fleet.tasks import Task
from dogu.testing import FakeGemini, Turn, call
from dogu.testing.fake_gemini import GeminiRequest

_DOCKER = f"""#!{sys.executable} -IS
import json, os, shutil, subprocess, sys
here = os.path.dirname(os.path.abspath(__file__))
words = sys.argv[1:]
with open(here + "/calls", "a") as file:
    file.write(json.dumps(words) + "\\n")
match words:
    case ["run" | "create", *_, "sh", "gone"] | ["run", *_, "sh", "gone", "-c", _]:
        sys.exit("Unable to find image 'gone' locally\\ndocker: Error response from daemon: pull access denied for gone.")
    case ["container", "inspect", *_]:
        print("/app")
    case ["cp", _, target]:
        shutil.copytree(here + "/app", target, dirs_exist_ok=True)
    case ["exec", "--user", _, _, "sh", "-c", "kill -9 -1"]:
        pass
    case ["exec", "--user", _, "--workdir", folder, _, *command]:
        sys.exit(subprocess.run(command, cwd=folder).returncode)
    case ["exec", _, "stat", *command]:
        sys.exit(subprocess.run(["stat", *command]).returncode)
    case _:
        pass
"""
_LIVES = "until sleep 86400; do :; done"
_BASH = 'command -v bash > /dev/null && exec bash "$@"; exec sh "$@"'


def answer(request: GeminiRequest) -> Turn:
    if len(request.contents) > 1:
        return Turn(text="done")
    return Turn(calls=(call("run_shell_command", command=str(request.contents[0]["parts"][0]["text"])),))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "home").mkdir()
    (tmp_path / "bin" / "app").mkdir(parents=True)
    (tmp_path / "bin" / "app" / "main.py").write_text("one\n")
    (tmp_path / "bin" / "docker").write_text(_DOCKER)
    (tmp_path / "bin" / "docker").chmod(0o755)
    with FakeGemini(answer) as fake:
        monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
        monkeypatch.setenv("GEMINI_API_KEY", "key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        yield tmp_path


def rows_of(tasks: list[Task], place: Path, check_timeout_s: float = 60.0) -> dict[str, Row]:
    out = str(place / "out")
    anyio.run(run, tasks, out, Plan(jobs=1, workers=1, check_timeout_s=check_timeout_s))
    with Fleet.open(out) as fleet:
        return {row.id: row for row in fleet.rows()}


def calls_of(place: Path) -> list[list[str]]:
    return [msgspec.json.decode(line, type=list[str]) for line in (place / "bin" / "calls").read_bytes().splitlines()]


def test_setup_agent_and_check_run_in_containers_and_nothing_is_left_of_them(place: Path) -> None:
    words = "cat main.py; echo two >> main.py"
    row = rows_of([Task("t", words, image="a.b/c:1", setup="touch set", check="grep two main.py")], place)["t"]
    assert (row.passed, row.reason) == (True, Reason.DONE)
    assert row.check is not None
    assert row.check.output.strip() == "two"
    assert "+two" in Path(place, "out", row.patch.file).read_text()
    calls = calls_of(place)
    name = calls[-1][-1]
    world, user = f"{place}/out/tasks/t", f"{os.getuid()}:{os.getgid()}"
    root, home = f"{world}/work", f"{world}/home"

    def begun(called: str, image: str) -> list[list[str]]:
        mounts = [("work", root), ("home", home), ("work", "/app")]
        return [
            ["rm", "--force", called],
            [
                *("run", "--detach", "--rm", "--name", called, "--user", "0", "--workdir", root, "--network", "none"),
                *("--security-opt", "no-new-privileges", "--pids-limit", "4096"),
                *(
                    word
                    for source, target in mounts
                    for word in ("--mount", f"type=bind,source={world}/{source},target={target}")
                ),
                *("--env", "CI=1", "--env", "GIT_CONFIG_COUNT=1", "--env", "GIT_CONFIG_KEY_0=safe.directory"),
                *("--env", "GIT_CONFIG_VALUE_0=*", "--env", f"HOME={home}"),
                *("--entrypoint", "sh", image, "-c", _LIVES),
            ],
            ["exec", called, "stat", "-c", "%u:%g", root],
        ]

    def ran(called: str, who: str, text: str) -> list[str]:
        return ["exec", "--user", who, "--workdir", root, called, "sh", "-c", _BASH, "sh", "-c", text, "bash"]

    owned = ["exec", "--user", "0", name, "chown", "-R", user, root, home]
    assert calls == [
        ["rm", "--force", f"{name}-copied"],
        ["create", "--name", f"{name}-copied", "--entrypoint", "sh", "a.b/c:1"],
        ["container", "inspect", "--format", "{{.Config.WorkingDir}}", f"{name}-copied"],
        ["cp", f"{name}-copied:/app/.", root],
        ["rm", "--force", f"{name}-copied"],
        *begun(name, "a.b/c:1"),
        ran(name, "0", "touch set"),
        *([owned] if user != "0:0" else []),
        ["commit", name, name],
        ran(name, user, words),
        ["exec", "--user", "0", name, "sh", "-c", "kill -9 -1"],
        *begun(f"{name}-check", name),
        ran(f"{name}-check", user, "grep two main.py"),
        ["rm", "--force", f"{name}-check"],
        ["rmi", "--force", name],
        ["rm", "--force", name],
    ]


def test_what_hangs_in_a_container_is_ended_there(place: Path) -> None:
    folder = place / "folder"
    folder.mkdir()
    row = rows_of([Task("t", "true", image="a", folder=str(folder), check="sleep 60")], place, 5.0)["t"]
    assert (row.passed, row.reason) == (False, Reason.CHECK)
    calls = calls_of(place)
    asked = next(number for number, words in enumerate(calls) if words[-2:] == ["sleep 60", "bash"])
    assert calls[asked + 1][-1] == "kill -9 -1"
    assert not any(words[0] == "cp" for words in calls)  # the folder is what it works in


def test_an_image_that_cant_be_had_is_the_rows_reason_and_the_rest_goes_on(place: Path) -> None:
    rows = rows_of([Task("gone", "x", image="gone"), Task("plain", "echo x", check="true")], place)
    assert (rows["gone"].passed, rows["gone"].reason) == (False, Reason.WORLD)
    assert rows["gone"].message == "docker: Error response from daemon: pull access denied for gone."
    assert rows["plain"].passed is True


def test_without_docker_or_podman_each_task_with_an_image_says_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "few").mkdir()
    for program in ("git", "cp", "bash", "sh"):
        (place / "few" / program).symlink_to(shutil.which(program) or program)
    monkeypatch.setenv("PATH", str(place / "few"))
    rows = rows_of([Task("a", "x", image="a"), Task("b", "x", image="b"), Task("plain", "echo x", check="true")], place)
    for name in ("a", "b"):
        assert (rows[name].passed, rows[name].reason) == (False, Reason.WORLD)
        assert rows[name].message == "an image needs docker, podman, and none of them is installed"
    assert rows["plain"].passed is True
